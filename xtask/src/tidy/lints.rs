//! Every crate takes the workspace's lints.

use super::tree::{Tree, Violation};

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files
        .iter()
        .filter(|file| file.name() == "Cargo.toml" && file.text.contains("[package]"))
        .filter(|file| !file.text.contains("[lints]\nworkspace = true"))
        .map(|file| file.violation(0, "lacks `[lints]` with `workspace = true`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn a_crate_without_the_lints_is_told() {
        let path = "crates/a/Cargo.toml";
        let with = "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n";
        assert!(found(check, &[(path, with), ("Cargo.toml", "[workspace]")]).is_empty());
        assert_eq!(found(check, &[(path, "[package]\nname = \"a\"\n")]).len(), 1);
    }
}
