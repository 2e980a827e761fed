//! The schemas that a server runs.
//!
//! Owns what is expected of the engine before the first client comes, reading
//! libraries of functions, and the words for schemas in the banner. Reading schemas
//! is the caller's; what they meet is the engine's.

pub use keyward_engine::Library;
use keyward_engine::{Engine, Expected};
use keyward_schema::{Mode, Schema, escape};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A schema and what belongs to it.
#[derive(Debug)]
pub struct ServedSchema {
    /// The schema.
    pub schema: Schema,
    /// The database it governs.
    pub db: usize,
    /// Its functions.
    pub functions: Functions,
    /// The file it came from, if it is to be read anew at SIGHUP.
    pub file: Option<PathBuf>,
}

/// Where the functions of a schema are.
#[derive(Debug, Clone)]
pub enum Functions {
    /// In the files of this folder, which need not be there.
    In(PathBuf),
    /// These.
    Given(Vec<Library>),
}

impl Functions {
    /// The libraries as they are now, in the order of their names.
    ///
    /// # Errors
    /// Says what cannot be read, and why.
    pub(crate) fn read(&self) -> Result<Vec<Library>, String> {
        match self {
            Functions::Given(libraries) => Ok(libraries.clone()),
            Functions::In(folder) if folder.is_dir() => read_libraries(folder),
            Functions::In(_) => Ok(Vec::new()),
        }
    }
}

/// The file of a schema that is served.
#[derive(Debug, Clone)]
pub(crate) struct SchemaFile {
    pub(crate) path: PathBuf,
    /// The database it governs, and the one that its text named at first.
    pub(crate) db: usize,
    /// Its place among the keyspaces of that database.
    pub(crate) keyspace: usize,
    pub(crate) db_named: usize,
    pub(crate) functions: Functions,
    /// What came into force from it last, with all that it includes.
    pub(crate) text: String,
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
    /// Libraries cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The engine does not take the libraries; which, and why.
    #[error("{0}")]
    Libraries(String),
}

/// What is to govern the rows that are loaded, and the functions of each database.
pub(crate) fn expect(
    engine: &mut Engine,
    served: Vec<ServedSchema>,
) -> Result<(Expected, Vec<(usize, Functions)>), SchemaError> {
    let (mut expected, mut all) = (Expected::default(), Vec::new());
    for ServedSchema { schema, db, functions, .. } in served {
        let databases = engine.keyspace().database_count();
        if db >= databases {
            let schema = schema.keyspace.name.to_string();
            return Err(SchemaError::NoDatabase { schema, db, databases });
        }
        // Those that share a database are one there.
        expected.schemas.entry(db).or_default().push(schema);
        all.push((db, functions));
    }
    Ok((expected, all))
}

/// How many functions a line of the log names.
const FUNCTIONS_TOLD: usize = 16;

/// Logs where the functions that schemas declare and those of the libraries are not the same: a
/// name that is misspelt in one of them is in both lines.
pub(crate) fn tell_functions(engine: &Engine) {
    let absent = engine.functions_absent();
    let mut rest = &absent[..];
    while let Some((keyspace, _)) = rest.first() {
        let count = rest.iter().take_while(|(other, _)| other == keyspace).count();
        let names = rest[..count].iter().map(|(_, name)| &**name);
        let told = listed(names);
        tracing::warn!("{keyspace} declares {told}, which no library registers");
        rest = &rest[count..];
    }
    let undeclared = engine.functions_undeclared();
    if !undeclared.is_empty() {
        let told = listed(undeclared.iter().map(|name| &**name));
        tracing::info!("The libraries register {told}, which no schema declares");
    }
}

/// `the function redeem`, `2 functions (redeem, refund)`.
fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let count = names.len();
    let names: Vec<String> =
        names.take(FUNCTIONS_TOLD).map(|name| escape(name).into_owned()).collect();
    let more = match count.saturating_sub(FUNCTIONS_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match count {
        1 => format!("the function {}", names.join(", ")),
        _ => format!("{count} functions ({}{more})", names.join(", ")),
    }
}

/// Libraries without those that are there already: schemas in one folder share them.
pub(crate) fn without_repeats(libraries: Vec<Library>) -> Vec<Library> {
    let mut known = HashSet::new();
    libraries.into_iter().filter(|library| known.insert(library.name.clone())).collect()
}

fn read_libraries(folder: &Path) -> Result<Vec<Library>, String> {
    let cannot = |path: &Path, error: io::Error| format!("cannot read {}: {error}", path.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| cannot(folder, error))? {
        let path = entry.map_err(|error| cannot(folder, error))?.path();
        if path.extension() == Some(OsStr::new("lua")) {
            paths.push(path);
        }
    }
    paths.sort();
    let library = |path: PathBuf| match fs::read(&path) {
        Ok(code) => Ok(Library { name: path.display().to_string(), code }),
        Err(error) => Err(cannot(&path, error)),
    };
    paths.into_iter().map(library).collect()
}

/// What is to be known of the files they came from.
pub(crate) fn files(served: &[ServedSchema]) -> Vec<SchemaFile> {
    let file = |(place, own): (usize, &ServedSchema)| {
        let before = served[..place].iter().filter(|before| before.db == own.db);
        let (keyspace, db) = (before.count(), own.db);
        // All files of a database are read together, or none.
        if served.iter().any(|other| other.db == db && other.file.is_none()) {
            return None;
        }
        let served = own;
        Some(SchemaFile {
            path: served.file.clone()?,
            db: served.db,
            keyspace,
            db_named: usize::from(served.schema.keyspace.db),
            functions: served.functions.clone(),
            text: served.schema.source.whole_text().to_owned(),
        })
    };
    served.iter().enumerate().filter_map(file).collect()
}

/// The schemas in force in words, with what does not enforce its own: `calls-bot in 0, events
/// in 1 (only observes)`.
pub(crate) fn describe(engine: &Engine) -> String {
    let names = engine.keyspaces_in_force().map(|(db, name, mode)| {
        let how = match mode {
            Mode::Enforce => "",
            Mode::Warn => " (only warns)",
            Mode::Observe => " (only observes)",
        };
        format!("{} in {db}{how}", escape(name))
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() { "no schema".to_owned() } else { names.join(", ") }
}
