//! The schema files that the module is given.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use keyward_rules::RuleBook;
use keyward_rules::host::{Guarantee, HostKind, guarantees};
use keyward_schema::{Checked, Level, Schema, check_file, check_together};
use keyward_schema_files::SchemaFiles;

/// What a bad schema does to a server that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    /// The module is not loaded, and a server that has it in its settings does not start.
    Fail,
    /// The server comes up, and nothing is judged.
    Observe,
}

/// The arguments of the module.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) on_error: OnError,
}

impl Arguments {
    pub(crate) fn read<'a>(
        words: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Arguments, Vec<String>> {
        let mut arguments = Arguments { files: Vec::new(), on_error: OnError::Fail };
        for word in words {
            let Ok(word) = std::str::from_utf8(word) else {
                return Err(vec!["an argument is no text".to_owned()]);
            };
            match word.split_once('=') {
                Some(("on-error", "fail")) => arguments.on_error = OnError::Fail,
                Some(("on-error", "observe")) => arguments.on_error = OnError::Observe,
                Some(("on-error", other)) => {
                    return Err(vec![format!("on-error is fail or observe, not {other}")]);
                }
                _ => arguments.files.push(word.into()),
            }
        }
        match arguments.files.is_empty() {
            true => Err(vec!["name a schema file: loadmodule keyward.so FILE.toml".to_owned()]),
            false => Ok(arguments),
        }
    }
}

/// The book of each database, or all that is wrong with the files, a line each.
pub(crate) fn books(
    files: &[PathBuf],
    is_cluster: bool,
) -> Result<HashMap<usize, RuleBook>, Vec<String>> {
    let mut findings = Vec::new();
    let mut checked = Vec::new();
    for path in files {
        match SchemaFiles::read_own(path) {
            Ok(bytes) => checked.push(check_file(path, &bytes, &SchemaFiles)),
            Err(error) => findings.push(format!("{}: {error}", path.display())),
        }
    }
    check_together(&mut checked);
    findings.extend(checked.iter().flat_map(errors_of));
    if !findings.is_empty() {
        return Err(findings);
    }
    let mut by_db: BTreeMap<usize, Vec<Schema>> = BTreeMap::new();
    for schema in checked.into_iter().filter_map(|checked| checked.schema) {
        by_db.entry(usize::from(schema.keyspace.db)).or_default().push(schema);
    }
    let mut books = HashMap::new();
    for (db, schemas) in by_db {
        let schema = Schema::join(schemas);
        let host = HostKind::Module { is_cluster };
        for promise in guarantees(&schema, host) {
            if promise.guarantee == Guarantee::Impossible && promise.is_error {
                findings.push(promise.line(&schema));
            }
        }
        books.insert(db, RuleBook::new(schema));
    }
    if findings.is_empty() { Ok(books) } else { Err(findings) }
}

fn errors_of(checked: &Checked) -> impl Iterator<Item = String> {
    let errors = checked.diagnostics.iter().filter(|found| found.rule.level == Level::Error);
    errors.map(|found| {
        let place = checked.source.place(found.primary.span);
        format!("{place}: error[{}]: {}", found.rule.code, found.message)
    })
}
