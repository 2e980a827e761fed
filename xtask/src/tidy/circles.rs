//! Only few files of a crate use each other in a circle.
//!
//! A circle is a set of files each of which depends on all others: none of them can be
//! understood, or moved, without the rest. A small one is a module in several files.

use super::imports::{CrateFiles, Module};
use super::tree::{Tree, Violation};

/// The most files in a circle.
const FILES_MAX: usize = 8;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| file.name() == "Cargo.toml") {
        let Some(folder) = file.path.strip_suffix("Cargo.toml") else { continue };
        let files = CrateFiles::below(tree, &format!("{folder}src/"));
        for circle in circles(&files).iter().filter(|circle| circle.len() > FILES_MAX) {
            let names: Vec<String> = circle.iter().map(name).collect();
            let message = format!("{} files import each other: {}", names.len(), names.join(", "));
            violations.push(file.violation(0, message));
        }
    }
    violations
}

fn name(module: &Module) -> String {
    if module.is_empty() { "the root".to_owned() } else { module.join("::") }
}

/// Strongly connected components of more than one file, by Tarjan's algorithm.
fn circles(files: &CrateFiles<'_>) -> Vec<Vec<Module>> {
    let modules: Vec<&Module> = files.iter().map(|(module, _)| module).collect();
    let index_of = |module: &Module| modules.binary_search(&module).ok();
    let arrows: Vec<Vec<usize>> = modules
        .iter()
        .map(|module| files.imports(module).iter().filter_map(|(to, _)| index_of(to)).collect())
        .collect();
    let mut search = Search {
        arrows: &arrows,
        numbers: vec![None; arrows.len()],
        least: vec![0; arrows.len()],
        open: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for start in 0..arrows.len() {
        search.visit(start);
    }
    let circles = search.found.into_iter();
    circles.map(|circle| circle.into_iter().map(|at| modules[at].clone()).collect()).collect()
}

struct Search<'a> {
    arrows: &'a [Vec<usize>],
    numbers: Vec<Option<usize>>,
    least: Vec<usize>,
    open: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, at: usize) {
        if self.numbers[at].is_some() {
            return;
        }
        self.numbers[at] = Some(self.count);
        self.least[at] = self.count;
        self.count += 1;
        self.open.push(at);
        for &to in &self.arrows[at] {
            match self.numbers[to] {
                None => {
                    self.visit(to);
                    self.least[at] = self.least[at].min(self.least[to]);
                }
                Some(number) if self.open.contains(&to) => {
                    self.least[at] = self.least[at].min(number);
                }
                Some(_) => {}
            }
        }
        if self.numbers[at] == Some(self.least[at]) {
            let place = self.open.iter().position(|open| *open == at).expect("it is open");
            let mut circle = self.open.split_off(place);
            circle.sort_unstable();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    /// A crate whose files import each other in a circle of this length.
    fn ring(length: usize) -> Vec<String> {
        let files: Vec<(String, String)> = (0..length)
            .map(|at| {
                let next = (at + 1) % length;
                let code = format!("use crate::m{next}::X{next};\nstruct X{at};\n");
                (format!("crates/a/src/m{at}.rs"), code)
            })
            .collect();
        let mut tree = vec![("crates/a/Cargo.toml", "[package]\nname = \"a\"\n")];
        tree.extend(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        found(check, &tree)
    }

    #[test]
    fn a_circle_of_many_files_is_found() {
        assert_eq!(ring(FILES_MAX), Vec::<String>::new());
        let found = ring(FILES_MAX + 1);
        let names = "m0, m1, m2, m3, m4, m5, m6, m7, m8";
        assert_eq!(found, [format!("crates/a/Cargo.toml: 9 files import each other: {names}")]);
    }
}
