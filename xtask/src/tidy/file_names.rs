//! A file is named after its concept, and a parent stands beside its folder.

use super::tree::{Tree, Violation};

const FORBIDDEN: [(&str, &str); 5] = [
    ("mod.rs", "a parent stands beside its folder, as `hash.rs` beside `hash/`"),
    ("utils.rs", "name the concept"),
    ("util.rs", "name the concept"),
    ("helpers.rs", "name the concept"),
    ("common.rs", "name the concept"),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let forbidden = |name: &str| FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name);
    tree.rust_files()
        .filter_map(|file| Some(file.violation(0, forbidden(file.name())?.1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn names_that_say_nothing_are_told() {
        for name in ["mod.rs", "utils.rs", "util.rs", "helpers.rs", "common.rs"] {
            assert_eq!(found(check, &[(&format!("crates/a/src/{name}"), "")]).len(), 1, "{name}");
        }
        assert!(found(check, &[("crates/a/src/model.rs", ""), ("docs/common.md", "")]).is_empty());
    }
}
