//! The files that the rules look at, and what breaks a rule.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

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
    pub(super) path: String,
    /// Counted from one; zero speaks of the whole file.
    pub(super) line: usize,
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
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Tree { files: files.iter().map(file).collect() }
    }

    pub(super) fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    pub(super) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl TextFile {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Lines with their numbers, without comments. A `//` in a string cuts its
    /// line, which hides the rest of that line from the rules.
    pub(super) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = |line| str::split(line, "//").next().unwrap_or_default();
        self.text.lines().enumerate().map(move |(index, line)| (index + 1, code(line)))
    }

    pub(super) fn violation(&self, line: usize, message: impl Into<String>) -> Violation {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_not_code() {
        let file = TextFile { path: "a.rs".into(), text: "a // b\n//! c\nd".into() };
        assert_eq!(file.code_lines().collect::<Vec<_>>(), [(1, "a "), (2, ""), (3, "d")]);
    }
}
