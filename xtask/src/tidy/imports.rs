//! Which files of a crate use which others of it.
//!
//! Owns finding the file that has what a path names, as far as it stays within the crate: from
//! `crate`, `super`, `self`, a child, or a name that is imported; through re-exports, since who
//! imports by one depends on what it names and not on the facade. To import a module is
//! nothing by itself, and neither is `mod child;`: what is used of it counts.
//! Not here: methods, which are called without a path.

mod scopes;

use std::collections::BTreeMap;

use super::tree::{TextFile, Tree};
use scopes::{Scope, scopes_of};

/// A module, by its path from the crate's root, which is empty.
pub(super) type Module = Vec<String>;

/// Re-exports of re-exports that are followed.
const FACADES_MAX: usize = 16;

/// The files of a crate.
pub(super) struct CrateFiles<'t> {
    files: BTreeMap<Module, &'t TextFile>,
    scopes: BTreeMap<Module, Scope>,
}

/// What a path names.
enum Found {
    /// A module itself.
    Module(Module),
    /// Something in a module.
    Item(Module),
}

impl<'t> CrateFiles<'t> {
    /// Those below a folder, which ends in `src/`.
    pub(super) fn below(tree: &'t Tree, folder: &str) -> CrateFiles<'t> {
        let mut files = BTreeMap::new();
        for file in tree.rust_files() {
            let path = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs"));
            let Some(path) = path else { continue };
            let is_test = path == "tests" || path.ends_with("/tests") || path.contains("/tests/");
            // A program of its own.
            let is_binary = path.starts_with("bin/");
            let module: Module = match path {
                "lib" | "main" => Module::new(),
                path => path.split('/').map(str::to_owned).collect(),
            };
            if !is_test && !is_binary {
                files.entry(module).or_insert(file);
            }
        }
        let scopes = files.iter().flat_map(|(module, file)| scopes_of(module, file)).collect();
        CrateFiles { files, scopes }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Module, &'t TextFile)> {
        self.files.iter().map(|(module, file)| (module, *file))
    }

    /// What the file of a module uses of its crate: the file, and the line.
    pub(super) fn imports(&self, module: &Module) -> Vec<(Module, usize)> {
        let mut found = BTreeMap::new();
        let mut add = |target: &Module, line: usize| {
            let file = &self.scopes[target].file;
            if file != module {
                let first = found.entry(file.clone()).or_insert(line);
                *first = line.min(*first);
            }
        };
        let below = self.scopes.range(module.clone()..);
        let below = below.take_while(|(scope, _)| scope.starts_with(module));
        for (scope, own) in below.filter(|(_, scope)| scope.file == *module) {
            for import in own.imports.iter().filter(|import| !import.is_export) {
                match self.find(scope, without_star(&import.path), &import.name, 0) {
                    Some(Found::Item(target)) => add(&target, import.line),
                    Some(Found::Module(target)) if import.name == "*" => add(&target, import.line),
                    Some(Found::Module(_)) | None => {}
                }
            }
            for (path, line) in &own.paths {
                if let Some(Found::Item(target)) = self.find(scope, path, "", 0) {
                    add(&target, *line);
                }
            }
        }
        found.into_iter().collect()
    }

    /// What a path in a module names; `None` outside of the crate. `except` is the name that an
    /// import gives it: the import itself does not tell what it is.
    fn find(&self, scope: &Module, path: &[String], except: &str, depth: usize) -> Option<Found> {
        if depth > FACADES_MAX {
            return None;
        }
        let first = path.first()?;
        match first.as_str() {
            "crate" | "$crate" => self.walk(Module::new(), &path[1..], depth),
            "self" => self.walk(scope.clone(), &path[1..], depth),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let kept = scope.len().checked_sub(up)?;
                self.walk(scope[..kept].to_vec(), &path[up..], depth)
            }
            _ if self.child(scope, first).is_some() => self.walk(scope.clone(), path, depth),
            name if name != except => self.by_import(scope, path, depth),
            _ => None,
        }
    }

    /// What a path names whose first part is imported by a module.
    fn by_import(&self, scope: &Module, path: &[String], depth: usize) -> Option<Found> {
        let (name, behind) = path.split_first()?;
        let mut imports = self.scopes.get(scope)?.imports.iter();
        imports.by_ref().filter(|import| import.name == *name).find_map(|import| {
            let path: Module = import.path.iter().chain(behind).cloned().collect();
            self.find(scope, &path, name, depth + 1)
        })
    }

    /// What a path names from a module on.
    fn walk(&self, mut scope: Module, mut path: &[String], depth: usize) -> Option<Found> {
        while let Some((name, behind)) = path.split_first()
            && let Some(child) = self.child(&scope, name)
        {
            (scope, path) = (child, behind);
        }
        let own = self.scopes.get(&scope)?;
        let Some(name) = path.first() else { return Some(Found::Module(scope)) };
        if own.imports.iter().any(|import| import.name == *name) {
            return self.by_import(&scope, path, depth);
        }
        let by_star = own.imports.iter().filter(|import| import.name == "*").find_map(|import| {
            match self.find(&scope, without_star(&import.path), "*", depth + 1)? {
                Found::Module(other) if self.scopes[&other].has(name) => {
                    self.walk(other, path, depth + 1)
                }
                Found::Module(_) | Found::Item(_) => None,
            }
        });
        by_star.or(Some(Found::Item(scope)))
    }

    fn child(&self, scope: &Module, name: &str) -> Option<Module> {
        let child: Module = scope.iter().cloned().chain([name.to_owned()]).collect();
        self.scopes.contains_key(&child).then_some(child)
    }
}

impl Scope {
    fn has(&self, name: &str) -> bool {
        self.items.contains(name) || self.imports.iter().any(|import| import.name == name)
    }
}

fn without_star(path: &[String]) -> &[String] {
    match path {
        [module @ .., last] if last == "*" => module,
        path => path,
    }
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
        let text = "#[cfg(test)]\nmod tests {\n    const TEXT: &str = r\"\na = { b }\n\";\n    \
                    use crate::y::Y;\n}\nuse crate::z::Z;\n";
        check(text, &["z:8"]);
    }

    /// The files that one of a crate uses, each with the line.
    fn used(module: &str, files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<(String, &str)> =
            files.iter().map(|(path, code)| (format!("a/src/{path}.rs"), *code)).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().map(|(path, code)| (path.as_str(), *code)).collect();
        let tree = Tree::of(&files);
        let module: Module =
            module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let imports = CrateFiles::below(&tree, "a/src/").imports(&module);
        imports.iter().map(|(to, line)| format!("{}:{line}", to.join("::"))).collect()
    }

    #[test]
    fn a_path_by_an_imported_module_counts() {
        let room = [("room", "pub mod inner;\n"), ("room/inner", "pub fn f() {}\n")];
        let check = |code: &str, expected: &[&str]| {
            assert_eq!(used("x", &[room[0], room[1], ("x", code)]), expected, "{code}");
        };
        check("use crate::room;\nfn g() {\n    room::inner::f();\n}\n", &["room::inner:3"]);
        check("use crate::room::inner;\nfn g() {\n    inner::f();\n}\n", &["room::inner:3"]);
        check("use crate::room::inner as i;\nfn g() {\n    i::f();\n}\n", &["room::inner:3"]);
        check("use crate::room::{self};\nuse room::inner::f;\n", &["room::inner:2"]);
        check("use crate::room;\n", &[]);
        check("use crate::room::inner::*;\n", &["room::inner:1"]);
        check("use std::room;\nfn g() {\n    room::inner::f();\n}\n", &[]);
    }

    #[test]
    fn a_parent_uses_a_child_by_its_paths_and_a_child_its_parent_by_super() {
        let parent = "mod child;\nstruct P;\nfn g() {\n    child::f();\n}\n";
        let child = ("p/child", "use super::P;\npub fn f() {}\n");
        assert_eq!(used("p", &[("p", parent), child]), ["p::child:4"]);
        assert_eq!(used("p::child", &[("p", parent), child]), ["p:1"]);
        assert_eq!(used("p", &[("p", "mod child;\nstruct P;\n"), child]), [""; 0]);
        assert_eq!(used("p::child", &[("lib", ""), ("p/child", "use super::super::X;\n")]), [":1"]);
    }

    #[test]
    fn what_comes_by_a_facade_is_where_it_is_defined() {
        let files = |facade: &'static str, code: &'static str| {
            [
                ("lib", "mod facade;\npub use facade::Thing;\n"),
                ("facade", facade),
                ("facade/inner", "pub struct Thing;\n"),
                ("x", code),
            ]
        };
        let named = "mod inner;\npub use inner::Thing;\n";
        assert_eq!(used("x", &files(named, "use crate::facade::Thing;\n")), ["facade::inner:1"]);
        assert_eq!(used("x", &files(named, "use crate::Thing;\n")), ["facade::inner:1"]);
        let all = "mod inner;\npub use inner::*;\n";
        assert_eq!(used("x", &files(all, "use crate::facade::Thing;\n")), ["facade::inner:1"]);
        let other = "use crate::facade::Other;\n";
        assert_eq!(used("x", &files(all, other)), ["facade:1"]);
        let foreign = "pub use std::rc::Rc;\n";
        assert_eq!(used("x", &files(foreign, "use crate::facade::Rc;\n")), [""; 0]);
    }

    #[test]
    fn a_module_inside_a_file_is_a_part_of_it() {
        let file =
            "mod inner {\n    use super::P;\n    pub(crate) use crate::y::Y;\n}\nstruct P;\n";
        let files =
            |code| [("x", code), ("y", "pub struct Y;\n"), ("z", "use crate::x::inner::Y;\n")];
        assert_eq!(used("x", &files(file)), [""; 0]);
        assert_eq!(used("z", &files(file)), ["y:1"]);
        let behind = "mod inner {\n    struct I;\n}\nuse super::y::Y;\n";
        assert_eq!(used("x", &files(behind)), ["y:4"]);
    }
}
