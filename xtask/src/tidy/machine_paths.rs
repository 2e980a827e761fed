//! No path or host of somebody's machine.

use super::tree::{TextFile, Tree, Violation};

/// Split, so that this file does not break its own rule.
const NEEDLES: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/tm", "p/"),
    concat!("arti", "factory"),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> impl Iterator<Item = Violation> {
    let lines = file.text.lines().enumerate();
    lines.filter_map(|(index, line)| {
        let needle = NEEDLES.iter().find(|needle| has_path(line, needle))?;
        Some(file.violation(index + 1, format!("a path or host of one machine: {needle}")))
    })
}

/// Whether a path that begins so stands in a line; `docs/home/` begins otherwise.
fn has_path(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        !needle.starts_with('/')
            || !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}~".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn paths_of_one_machine_are_told() {
        for needle in NEEDLES {
            let text = format!("first\nsee {needle}x\n");
            assert_eq!(found(check, &[("README.md", &text)]).len(), 1, "{needle}");
        }
        let inside = format!("docs{}x and $HOME/x", NEEDLES[0]);
        assert!(found(check, &[("README.md", &inside)]).is_empty());
    }
}
