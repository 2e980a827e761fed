//! Which files of a crate import which others of it.
//!
//! Owns reading `use` trees and paths in code, as far as they stay within the crate:
//! `crate::`, `super::`, `self::`, and children by their names. A re-export is none: who
//! imports through it depends on what it names, not on the facade. What is `#[cfg(test)]` does
//! not count.

use std::collections::{BTreeMap, BTreeSet};

use super::{TextFile, Tree};

/// A module, by its path from the crate's root.
pub(super) type Module = Vec<String>;

/// The files of a crate.
pub(super) struct CrateFiles<'t> {
    files: BTreeMap<Module, &'t TextFile>,
}

impl<'t> CrateFiles<'t> {
    /// Those below a folder, which ends in `src/`.
    pub(super) fn below(tree: &'t Tree, folder: &str) -> CrateFiles<'t> {
        let module = |file: &'t TextFile| {
            let path = file.path.strip_prefix(folder)?.strip_suffix(".rs")?;
            let is_test = path == "tests" || path.ends_with("/tests") || path.contains("/tests/");
            let module = path.split('/').map(str::to_owned);
            let is_root = path == "lib" || path == "main";
            (!is_test && !is_root).then(|| (module.collect(), file))
        };
        CrateFiles { files: tree.rust_files().filter_map(module).collect() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Module, &'t TextFile)> {
        self.files.iter().map(|(module, file)| (module, *file))
    }

    /// What a module imports of its crate: the file, and the line.
    pub(super) fn imports(&self, module: &Module) -> Vec<(Module, usize)> {
        let mut found = BTreeMap::new();
        for (path, line) in paths(&code_of(self.files[module])) {
            let Some(absolute) = self.absolute(module, &path) else { continue };
            let parts = (1..=absolute.len()).rev().map(|len| absolute[..len].to_vec());
            let Some(target) = parts.into_iter().find(|part| self.files.contains_key(part)) else {
                continue;
            };
            if target != *module {
                found.entry(target).or_insert(line);
            }
        }
        found.into_iter().collect()
    }

    /// A path from the crate's root, if it stays within the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let rest = |from: usize| path[from..].iter().cloned();
        match path[0].as_str() {
            "crate" => Some(rest(1).collect()),
            "self" => Some(module.iter().cloned().chain(rest(1)).collect()),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let kept = module.len().checked_sub(up)?;
                Some(module[..kept].iter().cloned().chain(rest(up)).collect())
            }
            _ => {
                let child: Module = module.iter().cloned().chain(rest(0)).collect();
                self.files.contains_key(&child[..=module.len()]).then_some(child)
            }
        }
    }
}

/// The code without comments and without what only tests have. Other lines stay where they
/// are.
fn code_of(file: &TextFile) -> String {
    let mut lines = file.code_lines().map(|(_, code)| code).collect::<Vec<_>>();
    let mut at = 0;
    while at < lines.len() {
        let end = match lines[at].trim() == "#[cfg(test)]" {
            true => end_of_item(&lines, at),
            false => at,
        };
        if end > at {
            lines[at..end].fill("");
        }
        at = end.max(at + 1);
    }
    lines.join("\n")
}

/// Where the item ends that has an attribute at `start`: behind its only line, or behind the
/// brace that closes it, which rustfmt puts below where it begins.
fn end_of_item(lines: &[&str], start: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_attribute = |line: &&str| line.trim_start().starts_with("#[") || line.trim().is_empty();
    let first = start + lines[start..].iter().take_while(|line| is_attribute(line)).count();
    let is_end = |at: usize| {
        let line = lines[at].trim();
        let is_whole = line.ends_with([';', ',', '}']);
        is_whole && (at == first || indent(lines[at]) == indent(lines[start]))
    };
    (first..lines.len()).find(|at| is_end(*at)).map_or(lines.len(), |at| at + 1)
}

/// Paths of `use` trees that are no re-exports, and those in code that begin with `crate`
/// or `super`, each with its line.
fn paths(code: &str) -> Vec<(Module, usize)> {
    let mut found = Vec::new();
    let mut rest = BTreeSet::new();
    let mut tree: Option<(String, usize, bool)> = None;
    for (index, line) in code.lines().enumerate() {
        let trimmed = line.trim_start();
        if tree.is_none() {
            let is_export = trimmed.starts_with("pub ") || trimmed.starts_with("pub(");
            let after = if is_export { trimmed.split_once("use ") } else { None };
            let begun = trimmed.strip_prefix("use ").or(after.map(|(_, rest)| rest));
            match begun.filter(|_| !is_export || trimmed.contains(" use ")) {
                Some(begun) => tree = Some((begun.to_owned(), index + 1, is_export)),
                None => {
                    rest.insert((index + 1, line));
                }
            }
        } else if let Some((text, ..)) = &mut tree {
            text.push_str(trimmed);
        }
        if let Some((text, at, is_export)) = tree.take_if(|(text, ..)| text.contains(';')) {
            let text = text.split(';').next().unwrap_or_default();
            if !is_export {
                leaves(text, &mut Vec::new(), &mut |path| found.push((path.to_vec(), at)));
            }
        }
    }
    for (line, code) in rest {
        let starts = ["crate::", "super::"].into_iter().flat_map(|start| code.match_indices(start));
        for (at, _) in starts {
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if !code[..at].ends_with(is_word) {
                let path = code[at..].split(|c| !is_word(c)).next().unwrap_or_default();
                let parts = path.split("::").filter(|part| !part.is_empty());
                found.push((parts.map(str::to_owned).collect(), line));
            }
        }
    }
    found
}

/// The paths of a `use` tree.
fn leaves(tree: &str, prefix: &mut Module, receive: &mut impl FnMut(&[String])) {
    let tree = tree.trim();
    let before = prefix.len();
    let (head, inner) = match tree.split_once('{') {
        Some((head, inner)) => (head, inner.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree.split(" as ").next().unwrap_or_default(), None),
    };
    let parts = head.split("::").map(str::trim).filter(|part| !part.is_empty());
    prefix.extend(parts.map(str::to_owned));
    match inner {
        None if prefix.is_empty() => {}
        None => receive(prefix),
        Some(inner) => {
            let (mut depth, mut start) = (0, 0);
            for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        if !inner[start..at].trim().is_empty() {
                            leaves(&inner[start..at], prefix, receive);
                        }
                        start = at + 1;
                    }
                    _ => {}
                }
            }
        }
    }
    prefix.truncate(before);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_behind_what_only_tests_have_count() {
        let check = |code: &str, expected: &[&str]| {
            let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
            let files = [file("a/src/x.rs", code), file("a/src/y.rs", ""), file("a/src/z.rs", "")];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            let tree = Tree::of(&files);
            let module = vec!["x".to_owned()];
            let imports = CrateFiles::below(&tree, "a/src/").imports(&module);
            let found: Vec<String> =
                imports.iter().map(|(to, line)| format!("{}:{line}", to.join("::"))).collect();
            assert_eq!(found, expected, "{code}");
        };
        check("#[cfg(test)]\nuse crate::y::Y;\nuse crate::z::Z;\n", &["z:3"]);
        check("#[cfg(test)]\nmod tests {\n    use crate::y::Y;\n}\nuse crate::z::Z;\n", &["z:5"]);
        check("fn f() {\n    #[cfg(test)]\n    crate::y::f();\n    crate::z::f();\n}\n", &["z:4"]);
        check(
            "match a {\n    #[cfg(test)]\n    A => {\n        crate::y::f();\n    }\n    \
             B => crate::z::f(),\n}\n",
            &["z:6"],
        );
        check("#[cfg(test)]\n#[derive(Debug)]\nstruct A(crate::y::Y);\n", &[]);
    }
}
