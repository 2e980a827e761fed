//! The repository's own rules, each of which a reader may rely on.
//!
//! Owns the list of rules and the tree they look at. A rule is a function of
//! the tree, so a test of it is a tree of one or two files that break it.
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
mod unfinished;
mod unsafe_modules;

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

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

/// The text files of the repository.
pub(crate) struct Tree {
    pub(crate) files: Vec<TextFile>,
}

/// A file of the repository.
pub(crate) struct TextFile {
    /// From the root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    path: String,
    /// Counted from one; zero speaks of the whole file.
    line: usize,
    message: String,
}

impl Tree {
    /// The files that git knows or would add. What is not text is left out.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Tree> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("cannot run git")?;
        ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
        let paths = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
        let read = |path: &str| {
            let text = std::fs::read_to_string(root.join(path)).ok()?;
            Some(TextFile { path: path.to_owned(), text })
        };
        Ok(Tree { files: paths.split_terminator('\0').filter_map(read).collect() })
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Tree { files: files.iter().map(file).collect() }
    }

    fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl TextFile {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Lines with their numbers, without comments. A `//` in a string cuts its
    /// line, which hides the rest of that line from the rules.
    fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = |line| str::split(line, "//").next().unwrap_or_default();
        self.text.lines().enumerate().map(move |(index, line)| (index + 1, code(line)))
    }

    fn violation(&self, line: usize, message: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// For tests of rules: `path:line: message` of all that a rule finds.
#[cfg(test)]
fn found(rule: fn(&Tree) -> Vec<Violation>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent");
        let tree = Tree::read(root).expect("a repository");
        assert!(tree.file("ARCHITECTURE.md").is_some());
        let violations: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(violations, Vec::<String>::new());
    }

    #[test]
    fn comments_are_not_code() {
        let file = TextFile { path: "a.rs".into(), text: "a // b\n//! c\nd".into() };
        assert_eq!(file.code_lines().collect::<Vec<_>>(), [(1, "a "), (2, ""), (3, "d")]);
    }
}
