//! Every module that may hold `unsafe` is listed in ARCHITECTURE.md.
//!
//! The workspace denies `unsafe_code`, so such a module says that it allows
//! it; this rule sees to the list.

use super::tree::{TextFile, Tree, Violation};

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Where `unsafe` is";
/// Split, so that this file does not break its own rule.
const PERMISSIONS: [&str; 2] =
    [concat!("allow(uns", "afe_code)"), concat!("expect(uns", "afe_code)")];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let listed = tree.file(DOCUMENT).map(listed_paths).unwrap_or_default();
    let is_listed = |file: &&TextFile| {
        listed
            .iter()
            .any(|path| file.path == *path || (path.ends_with('/') && file.path.starts_with(path)))
    };
    tree.rust_files()
        .filter(|file| !is_listed(file))
        .filter_map(|file| {
            let permits =
                |code: &str| PERMISSIONS.iter().any(|permission| code.contains(permission));
            let (line, _) = file.code_lines().find(|(_, code)| permits(code))?;
            Some(
                file.violation(
                    line,
                    format!("may hold unsafe code and is not listed in {DOCUMENT}"),
                ),
            )
        })
        .collect()
}

/// The paths in the section's first column: `` `a/row.rs`, `row/` `` names a
/// file and the folder beside it.
fn listed_paths(document: &TextFile) -> Vec<String> {
    let lines = document.text.lines().skip_while(|line| *line != HEADING).skip(1);
    let rows =
        lines.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let mut paths: Vec<String> = Vec::new();
    for row in rows {
        let cell = row.split('|').nth(1).unwrap_or_default();
        let mut folder = "";
        for path in cell.split('`').skip(1).step_by(2) {
            paths.push(match path.contains("crates/") {
                true => path.to_owned(),
                false => format!("{folder}{path}"),
            });
            if let Some(end) = path.rfind('/').filter(|_| path.contains("crates/")) {
                folder = &path[..=end];
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn modules_that_are_not_listed_are_told() {
        let document = format!(
            "{HEADING}\n| module | why |\n| --- | --- |\n| `crates/a/src/row.rs`, `row/` | bytes |\n"
        );
        let check_path = |path: &str, expected: usize| {
            let text = format!("//! Rows.\n#![{}]\n", PERMISSIONS[0]);
            let found = found(check, &[(DOCUMENT, &document), (path, &text)]);
            assert_eq!(found.len(), expected, "{path}: {found:?}");
        };
        check_path("crates/a/src/row.rs", 0);
        check_path("crates/a/src/row/bytes.rs", 0);
        check_path("crates/a/src/index.rs", 1);
        check_path("crates/b/src/row.rs", 1);
    }

    #[test]
    fn a_module_without_permission_need_not_be_listed() {
        assert!(found(check, &[("crates/a/src/a.rs", "fn is_unsafe() {}")]).is_empty());
    }
}
