//! Crates use only the crates that ARCHITECTURE.md lets them use.
//!
//! The table under its heading "Crates" is the declaration: a crate's row
//! names what it may use, `–` for nothing, `all above` for the rows before it,
//! `any` for all. Tests may use what they like.

use toml::de::{DeTable, DeValue};

use super::tree::{TextFile, Tree, Violation};

const DOCUMENT: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let manifests: Vec<&TextFile> =
        tree.files.iter().filter(|file| file.name() == "Cargo.toml").collect();
    if manifests.is_empty() {
        return Vec::new();
    }
    let rows = tree.file(DOCUMENT).map(read_rows).unwrap_or_default();
    manifests.into_iter().flat_map(|manifest| check_manifest(manifest, &rows)).collect()
}

/// A row of the table: a crate, and the crates it may use.
struct Row {
    name: String,
    uses: Vec<String>,
    uses_any: bool,
}

fn read_rows(document: &TextFile) -> Vec<Row> {
    let lines = document.text.lines().skip_while(|line| *line != "## Crates").skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", name, _, uses, ..] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let uses_named = match uses {
            "all above" => rows.iter().map(|row| row.name.clone()).collect(),
            named => named.split(',').map(|name| format!("keyward-{}", name.trim())).collect(),
        };
        rows.push(Row { name: name.to_owned(), uses: uses_named, uses_any: uses == "any" });
    }
    rows
}

fn check_manifest(manifest: &TextFile, rows: &[Row]) -> Vec<Violation> {
    let Ok(document) = DeTable::parse(&manifest.text) else {
        return vec![manifest.violation(0, "is not TOML")];
    };
    let document = document.get_ref();
    let name =
        table(document, "package").and_then(|package| match package.get("name")?.get_ref() {
            DeValue::String(name) => Some(name),
            _ => None,
        });
    // The workspace's own manifest is no crate.
    let Some(name) = name else { return Vec::new() };
    // Folders are named like their crates; some write `bench` for short.
    let folder = manifest.path.rsplit('/').nth(1).unwrap_or_default();
    let Some(row) = rows.iter().find(|row| row.name == **name || row.name == folder) else {
        return vec![manifest.violation(0, format!("{DOCUMENT} has no row for {name}"))];
    };
    let uses = ["dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|section| table(document, section))
        .flat_map(|section| section.keys())
        .filter(|used| used.get_ref().starts_with("keyward"));
    uses.filter(|used| !row.uses_any && !row.uses.iter().any(|allowed| allowed == used.get_ref()))
        .map(|used| {
            let line = manifest.text[..used.span().start].matches('\n').count() + 1;
            let used = used.get_ref();
            manifest.violation(line, format!("{name} may not use {used}, says {DOCUMENT}"))
        })
        .collect()
}

fn table<'t>(document: &'t DeTable<'t>, name: &str) -> Option<&'t DeTable<'t>> {
    match document.get(name)?.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const TABLE: &str = "## Crates\n| crate | owns | → | never |\n| - | - | - | - |\n\
        | `keyward-schema` | language | – | I/O |\n\
        | `keyward-engine` | core | schema | clocks |\n\
        | `keyward` | binary | all above | – |\n\
        | `bench` | figures | any | – |\n## Else\n";

    fn check_uses(name: &str, section: &str, used: &str, expected: &[&str]) {
        let manifest =
            format!("[package]\nname = \"{name}\"\n[{section}]\n{used}.workspace = true\n");
        let path = format!("crates/{name}/Cargo.toml");
        let files = [(DOCUMENT, TABLE), (&*path, &*manifest)];
        assert_eq!(found(check, &files), expected, "{name} → {used}");
    }

    #[test]
    fn arrows_that_are_not_in_the_table_are_told() {
        check_uses("keyward-engine", "dependencies", "keyward-schema", &[]);
        check_uses("keyward", "dependencies", "keyward-engine", &[]);
        check_uses("bench", "dependencies", "keyward", &[]);
        check_uses("keyward-schema", "dev-dependencies", "keyward-engine", &[]);
        check_uses("keyward-schema", "dependencies", "serde_json", &[]);
        check_uses(
            "keyward-schema",
            "dependencies",
            "keyward-engine",
            &[
                "crates/keyward-schema/Cargo.toml:4: keyward-schema may not use keyward-engine, says ARCHITECTURE.md",
            ],
        );
        check_uses(
            "keyward-schema",
            "build-dependencies",
            "keyward-engine",
            &[
                "crates/keyward-schema/Cargo.toml:4: keyward-schema may not use keyward-engine, says ARCHITECTURE.md",
            ],
        );
        check_uses(
            "keyward-new",
            "dependencies",
            "serde_json",
            &["crates/keyward-new/Cargo.toml: ARCHITECTURE.md has no row for keyward-new"],
        );
    }
}
