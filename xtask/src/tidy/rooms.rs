//! Rooms of a crate use only the rooms that ARCHITECTURE.md lets them use.
//!
//! The table under its heading "Rooms" is the declaration: a row names a crate, one of its
//! folders (or a file beside them), and the rooms of the same crate it may use. A crate
//! with a row has one for each of its rooms.

use super::imports::CrateFiles;
use super::tree::{TextFile, Tree, Violation};

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Rooms";

/// A row of the table.
struct Row {
    package: String,
    room: String,
    uses: Vec<String>,
}

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let rows = tree.file(DOCUMENT).map(read_rows).unwrap_or_default();
    let mut packages: Vec<&str> = rows.iter().map(|row| row.package.as_str()).collect();
    packages.dedup();
    packages.into_iter().flat_map(|package| check_crate(tree, &rows, package)).collect()
}

fn check_crate(tree: &Tree, rows: &[Row], package: &str) -> Vec<Violation> {
    let files = CrateFiles::below(tree, &format!("crates/{package}/src/"));
    let row_of = |room: &str| rows.iter().find(|row| row.package == package && row.room == room);
    let mut violations = Vec::new();
    // The root is in no room.
    for (module, file) in files.iter().filter(|(module, _)| !module.is_empty()) {
        let Some(row) = row_of(&module[0]) else {
            let message = format!("{DOCUMENT} has no row for the room {} of {package}", module[0]);
            violations.push(file.violation(0, message));
            continue;
        };
        for (target, line) in files.imports(module) {
            let Some(room) = target.first() else { continue };
            if *room != row.room && !row.uses.contains(room) {
                let message =
                    format!("{} may not use {}, says {DOCUMENT}", row.room, target.join("::"));
                violations.push(file.violation(line, message));
            }
        }
    }
    violations
}

fn read_rows(document: &TextFile) -> Vec<Row> {
    let lines = document.text.lines().skip_while(|line| *line != HEADING).skip(1);
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", package, rooms, _, uses, ..] = cells[..] else { continue };
        let names = |cell: &str| -> Vec<String> {
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        for room in names(rooms) {
            let package = match names(package).pop() {
                Some(package) => package,
                None => rows.last().map(|row| row.package.clone()).unwrap_or_default(),
            };
            rows.push(Row { package, room, uses: names(uses) });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const TABLE: &str = "## Rooms\n\
        | crate | room | what | → |\n\
        | --- | --- | --- | --- |\n\
        | `keyward-store` | `values` | rows | – |\n\
        | | `tables` | tables | `values` |\n\
        ## Next\n";

    #[test]
    fn a_room_may_use_those_it_is_let_to() {
        let check_uses = |path: &str, code: &str, expected: &[&str]| {
            let row = ("crates/keyward-store/src/values/row.rs", "struct Row;");
            let table = ("crates/keyward-store/src/tables/table.rs", "struct Table;");
            let rooms =
                ["values", "tables"].map(|room| format!("crates/keyward-store/src/{room}.rs"));
            let mut files: Vec<(&str, &str)> = vec![("ARCHITECTURE.md", TABLE), row, table];
            files.extend(rooms.iter().map(|path| (path.as_str(), "")));
            let mut files: Vec<_> = files.into_iter().filter(|file| file.0 != path).collect();
            files.push((path, code));
            assert_eq!(found(check, &files), expected, "{code}");
        };
        let tables = "crates/keyward-store/src/tables/table.rs";
        let values = "crates/keyward-store/src/values/row.rs";
        check_uses(tables, "use crate::values::row::Row;\n", &[]);
        check_uses(tables, "use super::super::values::{row::Row};\n", &[]);
        let refusal = "values may not use tables::table, says ARCHITECTURE.md";
        let refused = format!("{values}:1: {refusal}");
        check_uses(values, "use crate::tables::table::Table;\n", &[&refused]);
        check_uses(values, "use crate::{tables::{table::{Table}}};\n", &[&refused]);
        let second = format!("{values}:2: {refusal}");
        check_uses(values, "fn f() {\n    crate::tables::table::f();\n}\n", &[&second]);
        check_uses(
            values,
            "#[cfg(test)]\nmod tests {\n    use crate::tables::table::Table;\n}\n",
            &[],
        );
        let other = "crates/keyward-store/src/other.rs";
        let unknown =
            format!("{other}: ARCHITECTURE.md has no row for the room other of keyward-store");
        check_uses(other, "", &[&unknown]);
    }
}
