//! Nothing unfinished, and no test that is passed over.

use super::tree::{TextFile, Tree, Violation};

/// Split, so that this file does not break its own rule.
const NEEDLES: [&str; 3] =
    [concat!("to", "do!"), concat!("unimple", "mented!"), concat!("#[ig", "nore")];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> impl Iterator<Item = Violation> {
    file.code_lines().filter_map(|(line, code)| {
        let needle = NEEDLES.iter().find(|needle| code.contains(**needle))?;
        Some(file.violation(line, format!("unfinished: {needle}")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn what_is_left_for_later_is_told() {
        for needle in NEEDLES {
            let text = format!("fn a() {{\n    {needle}\n}}\n");
            assert_eq!(found(check, &[("a.rs", &text)]), [format!("a.rs:2: unfinished: {needle}")]);
            let comment = format!("// never {needle}\n");
            assert!(found(check, &[("a.rs", &comment), ("a.md", needle)]).is_empty());
        }
    }
}
