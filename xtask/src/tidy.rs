//! The repository's own rules, each of which a reader may rely on.
//!
//! Owns the list of rules. A rule is a function of the tree of files, so a test of it is a
//! tree of one or two files that break it.
//! Not here: what rustfmt and clippy see.

mod arrows;
mod circles;
mod determinism;
mod file_names;
mod imports;
mod lints;
mod long_files;
mod machine_paths;
mod rooms;
mod tree;
mod unfinished;
mod unsafe_modules;

pub(crate) use tree::Tree;
use tree::Violation;

/// Every rule.
const RULES: [fn(&Tree) -> Vec<Violation>; 10] = [
    arrows::check,
    circles::check,
    determinism::check,
    file_names::check,
    lints::check,
    long_files::check,
    machine_paths::check,
    rooms::check,
    unfinished::check,
    unsafe_modules::check,
];

/// All that breaks a rule, by file and line.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    violations.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    violations
}

/// For tests of rules: `path:line: message` of all that a rule finds.
#[cfg(test)]
fn found(rule: fn(&Tree) -> Vec<Violation>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn this_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent");
        let tree = Tree::read(root).expect("a repository");
        assert!(tree.file("ARCHITECTURE.md").is_some());
        let violations: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(violations, Vec::<String>::new());
    }
}
