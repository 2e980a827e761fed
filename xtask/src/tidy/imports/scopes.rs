//! Modules as they are written: what each imports, defines and names by a path.
//!
//! Owns reading Rust's text, which rustfmt has laid out. A path in a string counts as one in
//! code. What is `#[cfg(test)]` does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::Module;
use crate::tidy::tree::TextFile;

/// A module: that of a file, or one that is written inside it.
pub(super) struct Scope {
    /// The module of the file it stands in.
    pub(super) file: Module,
    pub(super) imports: Vec<Import>,
    /// Paths of two parts or more, each with its first line.
    pub(super) paths: BTreeMap<Module, usize>,
    /// The names of what it defines, methods too.
    pub(super) items: BTreeSet<String>,
}

/// A leaf of a `use` tree.
pub(super) struct Import {
    pub(super) path: Module,
    /// What it is called here; `*` for all there is.
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) is_export: bool,
}

/// The modules of a file.
pub(super) fn scopes_of(file: &Module, text: &TextFile) -> BTreeMap<Module, Scope> {
    let scope = || Scope {
        file: file.clone(),
        imports: Vec::new(),
        paths: BTreeMap::new(),
        items: BTreeSet::new(),
    };
    let mut scopes = BTreeMap::from([(file.clone(), scope())]);
    // The modules around a line that are written inside the file, and how far each is indented.
    let mut inner: Vec<(String, usize)> = Vec::new();
    let mut tree: Option<(String, usize, bool)> = None;
    for (index, line) in code_of(text).lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if trimmed.starts_with('}') && inner.last().is_some_and(|(_, at)| *at == indent) {
            inner.pop();
        }
        let own: Module = file.iter().chain(inner.iter().map(|(name, _)| name)).cloned().collect();
        let scope = scopes.entry(own).or_insert_with(scope);
        if let Some((text, ..)) = &mut tree {
            text.push_str(trimmed);
        } else if let Some((begun, is_export)) = use_tree(trimmed) {
            tree = Some((begun.to_owned(), index + 1, is_export));
        } else {
            read_line(line, index + 1, scope);
            inner.extend(module_begun(trimmed).map(|name| (name.to_owned(), indent)));
        }
        if let Some((text, line, is_export)) = tree.take_if(|(text, ..)| text.contains(';')) {
            let text = text.split(';').next().unwrap_or_default();
            leaves(text, &mut Vec::new(), &mut |path, name| {
                let (path, name) = (path.to_vec(), name.to_owned());
                scope.imports.push(Import { path, name, line, is_export });
            });
        }
    }
    scopes
}

/// The tree of a `use`, and whether it is a re-export.
fn use_tree(line: &str) -> Option<(&str, bool)> {
    if let Some(tree) = line.strip_prefix("use ") {
        return Some((tree, false));
    }
    let behind = line.strip_prefix("pub")?;
    let behind = match behind.strip_prefix('(') {
        Some(behind) => behind.split_once(')')?.1,
        None => behind,
    };
    Some((behind.trim_start().strip_prefix("use ")?, true))
}

/// The name of a module that begins in this line and does not end there.
fn module_begun(line: &str) -> Option<&str> {
    let mut words = line.strip_suffix('{')?.split_whitespace().rev();
    let (name, word) = (words.next()?, words.next()?);
    (word == "mod").then_some(name)
}

/// Takes up what a line defines, and its paths.
fn read_line(line: &str, number: usize, scope: &mut Scope) {
    const DEFINING: [&str; 9] =
        ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules!"];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = line.split_whitespace().collect();
    for pair in words.windows(2).filter(|pair| DEFINING.contains(&pair[0])) {
        let name = pair[1].split(|c| !is_word(c)).next().unwrap_or_default();
        scope.items.insert(name.to_owned());
    }
    for run in line.split(|c| !is_word(c) && c != ':' && c != '$') {
        let parts: Module =
            run.split("::").take_while(|part| is_name(part)).map(str::to_owned).collect();
        if parts.len() > 1 {
            scope.paths.entry(parts).or_insert(number);
        }
    }
}

fn is_name(part: &str) -> bool {
    let word = part.strip_prefix('$').unwrap_or(part);
    let is_start = |c: char| c.is_alphabetic() || c == '_';
    word.starts_with(is_start) && word.chars().all(|c| c.is_alphanumeric() || c == '_')
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
    // A text in a test may have lines of any kind.
    let is_block = lines.get(first).is_some_and(|line| line.ends_with('{'));
    let is_end = |at: usize| {
        let line = lines[at].trim();
        let is_whole = line.ends_with([';', ',', '}']);
        let closes =
            indent(lines[at]) == indent(lines[start]) && (!is_block || line.starts_with('}'));
        is_whole && (at == first || closes)
    };
    (first..lines.len()).find(|at| is_end(*at)).map_or(lines.len(), |at| at + 1)
}

/// The leaves of a `use` tree: their paths, and what they are called here.
fn leaves(tree: &str, prefix: &mut Module, receive: &mut impl FnMut(&[String], &str)) {
    let tree = tree.trim();
    let before = prefix.len();
    let (head, inner) = match tree.split_once('{') {
        Some((head, inner)) => (head, inner.rsplit_once('}').map(|(inner, _)| inner)),
        None => (tree, None),
    };
    let (path, other_name) = match head.split_once(" as ") {
        Some((path, name)) => (path, Some(name.trim())),
        None => (head, None),
    };
    let parts = path.split("::").map(str::trim).filter(|part| !part.is_empty());
    prefix.extend(parts.map(str::to_owned));
    match inner {
        None => {
            if prefix.len() > 1 && prefix.last().is_some_and(|last| last == "self") {
                prefix.pop();
            }
            if let Some(last) = prefix.last() {
                receive(prefix, other_name.unwrap_or(last));
            }
        }
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
