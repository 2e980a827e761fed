//! Systems with their PostgreSQL: `postgres.toml` is served, and `postgres.py` or `postgres.js`
//! plays what reaches the tables, with the document's own tables and queries, until all that they
//! keep for some time is over.
//!
//! `keyward.toml` does without PostgreSQL, and everything else here is tried on that.

use crate::{System, all, scenario, text_of};
use keyward_testkit::{Postgres, Server};
use std::path::{Path, PathBuf};

/// The systems whose documents have a PostgreSQL.
const NAMES: [&str; 2] = ["api-billing", "social"];

/// `postgres.py` or `postgres.js`.
fn program(folder: &Path) -> PathBuf {
    let python = folder.join("postgres.py");
    if python.exists() { python } else { folder.join("postgres.js") }
}

/// What stands in it.
pub(crate) fn source(system: &System) -> String {
    text_of(&program(&system.folder))
}

fn serve(name: &str) -> Server {
    let schema = all().join(name).join("postgres.toml");
    let schema = schema.to_str().expect("the path is text");
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    Server::keyward(program, &[schema, "--save", "", "--enable-debug-command", "yes"])
}

/// Plays a system to the end of its retention; what was told.
fn plays(name: &str) -> String {
    let postgres = Postgres::start();
    let (server, cold) = (serve(name), serve(name));
    let mut command = scenario::command(&program(&all().join(name)), &server);
    command.env("KEYWARD_TEST_POSTGRES", postgres.url());
    command.env("KEYWARD_TEST_PSQL", postgres.program("psql"));
    command.env("KEYWARD_TEST_PROGRAM", env!("CARGO_BIN_EXE_keyward"));
    command.env("KEYWARD_TEST_COLD_PORT", cold.address().port().to_string());
    scenario::succeeded(&command.output().expect("the scenario is run"))
}

#[test]
fn api_billing_is_archived_to_the_end_of_its_retention() {
    let told = plays("api-billing");
    for line in [
        "the document's tables are those of the schema",
        "every transaction is a row, and every balance their sum",
        "an empty server was loaded from the tables",
        "a month's usage is in the archive before it is gone, a day's is kept for 90 days",
        "after a year transactions are in PostgreSQL alone",
        "after two years a month's usage is gone",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

#[test]
fn social_has_its_queues_drained_each_item_once() {
    let told = plays("social");
    for line in ["likes are rows", "views are added up", "comments are rows"] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

/// A file with tables says where rows go, and nothing else of the keyspace is otherwise there.
#[test]
fn a_schema_with_tables_is_that_of_the_system_and_nothing_else() {
    for name in NAMES {
        let plain = System::read(name).schema;
        let folder = all().join(name);
        let path = folder.join("postgres.toml");
        let bytes = std::fs::read(&path).expect("the schema is there");
        let checked = keyward_schema::check_file(&path, &bytes, &keyward_schema_files::SchemaFiles);
        assert!(checked.diagnostics.is_empty(), "{name}: {:#?}", checked.diagnostics);
        let schema = checked.schema.expect("it is sound");
        let patterns = |schema: &keyward_schema::Schema| -> Vec<String> {
            let own = schema.keys.iter().filter(|key| !key.is_changefeed);
            own.map(|key| key.pattern.text().to_owned()).collect()
        };
        assert_eq!(patterns(&schema), patterns(&plain), "{name}");
        assert!(plain.keys.iter().all(|key| key.sink.is_none()), "{name} needs no PostgreSQL");
        assert_eq!(schema.keyspace.db, plain.keyspace.db);
        assert_eq!(schema.functions.len(), plain.functions.len());
    }
}
