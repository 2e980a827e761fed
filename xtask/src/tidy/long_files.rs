//! A file above 800 lines says in its module doc why it stays whole.

use super::tree::{TextFile, Tree, Violation};

const MAX_LINES: usize = 800;

/// The words by which the module doc gives its reason.
const REASON: &str = "stays whole";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust_files().filter_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Option<Violation> {
    let lines = file.text.lines().count();
    let doc = file.text.lines().take_while(|line| line.starts_with("//!"));
    let gives_reason = doc.map(|line| line.trim_start_matches("//!")).collect::<String>();
    let has_reason = gives_reason.contains(REASON);
    let message = format!("has {lines} lines; split it, or say why it {REASON}");
    (lines > MAX_LINES && !has_reason).then(|| file.violation(0, message))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn long_files_need_a_reason() {
        let long = "fn a() {}\n".repeat(MAX_LINES);
        let check_text = |text: &str, expected: usize| {
            assert_eq!(found(check, &[("a.rs", text)]).len(), expected);
        };
        check_text(&long, 0);
        check_text(&format!("{long}x\n"), 1);
        check_text(&format!("//! A table.\n{long}"), 1);
        check_text(&format!("//! A table, which stays whole:\n//! one row each.\n{long}"), 0);
        check_text(&format!("{long}// stays whole\n"), 1);
    }
}
