//! The schemas that a server runs.
//!
//! Owns putting them and their functions into the engine before the first client
//! comes, and the words for them in the banner. Reading files is the caller's.

use crate::host::ServerHost;
use keyward_engine::Engine;
use keyward_schema::Schema;

/// A schema and what belongs to it.
#[derive(Debug)]
pub struct ServedSchema {
    /// The schema.
    pub schema: Schema,
    /// The database it governs.
    pub db: usize,
    /// The libraries of functions beside it.
    pub libraries: Vec<Library>,
}

/// A library of functions.
#[derive(Debug)]
pub struct Library {
    /// What messages call the file.
    pub name: String,
    /// Its code.
    pub code: Vec<u8>,
}

/// Why a schema cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// There is no such database.
    #[error("{schema} wants database {db}, and there are {databases}; see the setting databases")]
    NoDatabase {
        /// The name of the keyspace.
        schema: String,
        /// What it wants.
        db: usize,
        /// How many there are.
        databases: usize,
    },
    /// The engine does not take the library.
    #[error("{file}: {problem}")]
    Library {
        /// The file.
        file: String,
        /// What the engine says.
        problem: String,
    },
}

/// Puts databases under their schemas; answers the libraries to load once the rows
/// of a snapshot are there.
pub(crate) fn govern(
    engine: &mut Engine,
    served: Vec<ServedSchema>,
) -> Result<Vec<Library>, SchemaError> {
    let mut all = Vec::new();
    for ServedSchema { schema, db, libraries } in served {
        let databases = engine.keyspace().database_count();
        if db >= databases {
            let schema = schema.keyspace.name.to_string();
            return Err(SchemaError::NoDatabase { schema, db, databases });
        }
        let declared = schema.functions.len();
        if declared > 0 && libraries.is_empty() {
            let name = &schema.keyspace.name;
            tracing::warn!("{name} declares {declared} functions, and there is no library of them");
        }
        engine.govern(db, schema);
        all.extend(libraries);
    }
    Ok(all)
}

/// Loads libraries, each in place of what a snapshot had of it.
pub(crate) fn load_libraries(
    engine: &mut Engine,
    host: &mut ServerHost,
    libraries: Vec<Library>,
) -> Result<(), SchemaError> {
    for Library { name, code } in libraries {
        let reply = engine.call_trusted(host, &[b"FUNCTION", b"LOAD", b"REPLACE", &code]);
        if let [b'-', problem @ ..] = reply.as_slice() {
            let problem = String::from_utf8_lossy(problem).trim_end().to_owned();
            return Err(SchemaError::Library { file: name, problem });
        }
    }
    Ok(())
}

/// The schemas in words: `calls-bot in 0, events in 1`.
pub(crate) fn describe(served: &[ServedSchema]) -> String {
    if served.is_empty() {
        return "no schema".to_owned();
    }
    let name = |served: &ServedSchema| format!("{} in {}", served.schema.keyspace.name, served.db);
    served.iter().map(name).collect::<Vec<_>>().join(", ")
}
