//! What a database has of a schema's tables.
//!
//! Owns the comparison of tables as they are with what a schema wants: what is lacking, what
//! is otherwise, and the statements that add what is lacking. Nothing here changes the
//! database but [`apply`]. What is more than a schema wants (columns, indexes, defaults,
//! constraints of somebody's own) is nobody's business, as long as rows can be stored.

mod constraints;
mod layout;

use std::collections::HashMap;

use keyward_schema::{Schema, Sink, SinkKind};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient};

use crate::database::DatabaseError;
use crate::ddl::{self, Month, check_words, column_names, plain_definition, sinks};
use crate::names::name;
use crate::own_tables;

/// How long a statement that alters a table waits for a lock: whoever comes to the table meanwhile
/// waits behind it.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '5s'";
/// What is said when that was not enough.
const LOCKED: &str = "somebody else has a lock for longer than 5 seconds, and nothing was altered; \
    try again";

/// How closely a database is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closeness {
    /// For what would keep rows from being stored.
    Hindrances,
    /// For all that a schema wants; rows may be looked through for it.
    All,
}

/// What a database lacks or has otherwise.
#[derive(Debug, Default)]
pub struct Inspection {
    /// A sentence each.
    pub differences: Vec<String>,
    /// The statements that add what is lacking.
    pub additions: Vec<String>,
}

/// What became of a database.
#[derive(Debug)]
pub struct Applied {
    /// How many statements were run.
    pub statements: usize,
    /// What is still otherwise, a sentence each.
    pub differences: Vec<String>,
    /// What is to be known of it besides, a sentence each.
    pub notes: Vec<String>,
}

/// A column as the database has it.
struct Found {
    ty: String,
    required: bool,
    has_default: bool,
}

/// Compares the tables of a database with what a schema wants. Tables that are made get
/// partitions for these months.
///
/// # Errors
/// If the database cannot be asked.
pub async fn inspect(
    client: &impl GenericClient,
    schema: &Schema,
    months: &[Month],
    closeness: Closeness,
) -> Result<Inspection, DatabaseError> {
    let mut inspection = Inspection::default();
    let keyspace = crate::names::text(&schema.keyspace.name);
    let own = "SELECT to_regclass('keyward_place') IS NOT NULL \
               AND to_regclass('keyward_fills') IS NOT NULL";
    let has_place: bool = client.query_one(own, &[]).await?.get(0);
    for (key, sink) in sinks(schema) {
        let columns = columns(client, &regclass(sink)).await?;
        if columns.is_empty() {
            inspection.differs(format!("there is no table {}", sink.table));
            inspection.additions.extend(ddl::of_table(key, sink, months));
            if has_place {
                // What it had before is told no more: rows and lists are looked at.
                let table = crate::names::text(&sink.table);
                inspection.additions.push(format!(
                    "DELETE FROM keyward_fills WHERE keyspace = {keyspace} AND table_name = {table}"
                ));
                inspection.additions.push(format!(
                    "UPDATE keyward_place SET compares = true WHERE keyspace = {keyspace}"
                ));
            }
            continue;
        }
        inspection.compare_columns(sink, &columns, closeness);
        layout::compare_key(client, sink, &columns, &mut inspection).await?;
        layout::compare_partitions(client, sink, closeness, &mut inspection).await?;
        if closeness == Closeness::All {
            inspection.compare_needs(client, sink, &columns).await?;
            constraints::compare(client, sink, &columns, &mut inspection).await?;
            layout::compare_indexes(client, sink, &columns, &mut inspection).await?;
        }
    }
    inspection.compare_own(client).await?;
    Ok(inspection)
}

/// What a database lacks of the tables that storing needs for itself.
///
/// # Errors
/// If the database cannot be asked.
pub(crate) async fn lacks_of_own(
    client: &impl GenericClient,
) -> Result<Option<String>, DatabaseError> {
    let mut inspection = Inspection::default();
    inspection.compare_own(client).await?;
    let differences = inspection.differences.join("; ");
    Ok((!differences.is_empty()).then_some(differences))
}

impl Inspection {
    /// What this statement mends.
    fn lacks(&mut self, what: String, addition: String) {
        self.differences.push(what);
        self.additions.push(addition);
    }

    /// What no statement mends, or others do.
    fn differs(&mut self, what: String) {
        self.differences.push(what);
    }

    /// The tables that storing needs for itself.
    async fn compare_own(&mut self, client: &impl GenericClient) -> Result<(), DatabaseError> {
        for own in &own_tables::ALL {
            let found = columns(client, own.name).await?;
            if found.is_empty() {
                self.lacks(format!("there is no table {}", own.name), own.statement());
                continue;
            }
            for column in own.columns.iter().filter(|column| !found.contains_key(column.name)) {
                self.differs(format!(
                    "{}: there is no column {}; another version of Keyward made the table",
                    own.name, column.name
                ));
                self.additions.extend(own.addition_of(column));
            }
        }
        Ok(())
    }

    fn compare_columns(
        &mut self,
        sink: &Sink,
        found: &HashMap<String, Found>,
        closeness: Closeness,
    ) {
        let table = &sink.table;
        for column in &sink.columns {
            let wanted = column.ty.to_string();
            let Some(found) = found.get(&*column.name) else {
                let addition = format!(
                    "ALTER TABLE {} ADD COLUMN {}{}",
                    name(table),
                    plain_definition(column),
                    check_words(column)
                );
                let what = format!("{table}: there is no column {}, {wanted}", column.name);
                self.lacks(what, addition);
                continue;
            };
            if !is_same_type(&found.ty, &wanted) {
                self.differs(format!("{table}: {} is {}, not {wanted}", column.name, found.ty));
            }
            // What has a default is as often filled as not: it is told to who asks.
            let hinders = !found.has_default || closeness == Closeness::All;
            if found.required && !column.required && hinders {
                let named = name(&column.name);
                self.lacks(
                    format!("{table}: {} is NOT NULL, and a row may lack it", column.name),
                    format!("ALTER TABLE {} ALTER COLUMN {named} DROP NOT NULL", name(table)),
                );
            }
        }
        let mut foreign: Vec<&String> = found
            .iter()
            .filter(|(_, found)| found.required && !found.has_default)
            .map(|(name, _)| name)
            .filter(|name| !sink.columns.iter().any(|column| *column.name == ***name))
            .collect();
        foreign.sort();
        for name in foreign {
            self.differs(format!("{table}: {name} is NOT NULL, and nothing fills it"));
        }
    }

    /// Columns that every row has and the table does not insist on. As long as rows that are
    /// there lack one it cannot.
    async fn compare_needs(
        &mut self,
        client: &impl GenericClient,
        sink: &Sink,
        found: &HashMap<String, Found>,
    ) -> Result<(), DatabaseError> {
        for (at, column) in sink.columns.iter().enumerate() {
            let is_lax = found.get(&*column.name).is_some_and(|found| !found.required);
            if !is_lax || !column.required || sink.key.contains(&at) {
                continue;
            }
            let (table, named) = (name(&sink.table), name(&column.name));
            let query = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {named} IS NULL)");
            if !client.query_one(&query, &[]).await?.get::<_, bool>(0) {
                self.lacks(
                    format!("{}: {} lacks NOT NULL", sink.table, column.name),
                    format!("ALTER TABLE {table} ALTER COLUMN {named} SET NOT NULL"),
                );
            }
        }
        Ok(())
    }
}

/// Whether two names of types mean the same; `found` is as PostgreSQL writes them.
fn is_same_type(found: &str, wanted: &str) -> bool {
    let found = found
        .replace("character varying", "varchar")
        .replace("timestamp with time zone", "timestamptz")
        .replace(",0)", ")");
    found == wanted
}

/// The table's name as a text that PostgreSQL takes for a table.
fn regclass(sink: &Sink) -> String {
    ddl::quoted(&sink.table)
}

async fn columns(
    client: &impl GenericClient,
    table: &str,
) -> Result<HashMap<String, Found>, DatabaseError> {
    let rows = client
        .query(
            "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
                    a.atthasdef OR a.attidentity <> '' \
             FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 \
             AND NOT a.attisdropped",
            &[&table],
        )
        .await?;
    let found = rows.iter().map(|row| {
        let found = Found { ty: row.get(1), required: row.get(2), has_default: row.get(3) };
        (row.get(0), found)
    });
    Ok(found.collect())
}

/// Runs statements in one transaction, and then what the schema still lacks and can be added:
/// all of it, or none. Comments are left out.
///
/// # Errors
/// If one fails.
pub async fn apply(
    client: &mut Client,
    schema: &Schema,
    months: &[Month],
    statements: &[String],
) -> Result<Applied, DatabaseError> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK_TIMEOUT).await?;
    let before = all_columns(&transaction, schema).await?;
    run(&transaction, statements).await?;
    let left = inspect(&transaction, schema, months, Closeness::All).await?;
    run(&transaction, &left.additions).await?;
    let differences = match left.additions.is_empty() {
        true => left.differences,
        false => inspect(&transaction, schema, months, Closeness::All).await?.differences,
    };
    let notes = note_new_columns(&transaction, schema, &before).await?;
    transaction.commit().await?;
    let is_run = |statement: &&String| !statement.lines().all(|line| line.starts_with("--"));
    let statements = statements.iter().chain(&left.additions).filter(is_run).count();
    Ok(Applied { statements, differences, notes })
}

/// The columns of each table of a schema, in the order of its sinks; none of one that is not there.
async fn all_columns(
    client: &impl GenericClient,
    schema: &Schema,
) -> Result<Vec<HashMap<String, Found>>, DatabaseError> {
    let mut all = Vec::new();
    for (_, sink) in sinks(schema) {
        all.push(columns(client, &regclass(sink)).await?);
    }
    Ok(all)
}

/// Has mirrored rows compared whose tables have more columns than before: what those lack is on the
/// server. Of other tables it is told that rows lack it for good.
async fn note_new_columns(
    client: &impl GenericClient,
    schema: &Schema,
    before: &[HashMap<String, Found>],
) -> Result<Vec<String>, DatabaseError> {
    let mut notes = Vec::new();
    let after = all_columns(client, schema).await?;
    for (((_, sink), before), after) in sinks(schema).zip(before).zip(&after) {
        let is_new = |name: &str| !before.contains_key(name) && after.contains_key(name);
        let added = sink.columns.iter().map(|column| &*column.name).filter(|name| is_new(name));
        let added: Vec<&str> = added.collect();
        if before.is_empty() || added.is_empty() {
            continue;
        }
        if sink.kind == SinkKind::Mirror {
            let mark = "UPDATE keyward_place SET compares = true WHERE keyspace = $1";
            client.execute(mark, &[&&*schema.keyspace.name]).await?;
            continue;
        }
        let query = format!("SELECT EXISTS (SELECT 1 FROM {})", name(&sink.table));
        if client.query_one(&query, &[]).await?.get(0) {
            let (table, added) = (&sink.table, added.join(", "));
            notes.push(format!("{table}: rows that were stored before have NULL in {added}"));
        }
    }
    Ok(notes)
}

async fn run(client: &impl GenericClient, statements: &[String]) -> Result<(), DatabaseError> {
    for statement in statements {
        client.batch_execute(statement).await.map_err(|error| {
            let about = statement.lines().find(|line| !line.starts_with("--")).unwrap_or_default();
            let why = match error.code() {
                Some(&SqlState::LOCK_NOT_AVAILABLE) => LOCKED.to_owned(),
                _ => crate::database::in_one_sentence(&error),
            };
            DatabaseError::Statement(format!("{}: {why}", about.trim_end_matches(" (")))
        })?;
    }
    Ok(())
}

/// The columns of a list of the catalogue, as they stand in statements.
fn listed(names: &[String]) -> String {
    names.iter().map(|part| name(part)).collect::<Vec<_>>().join(", ")
}

/// Whether a table has all of these columns.
fn has_all(sink: &Sink, columns: &[usize], found: &HashMap<String, Found>) -> bool {
    columns.iter().all(|index| found.contains_key(&*sink.columns[*index].name))
}

/// These columns in parentheses.
fn in_parentheses(sink: &Sink, columns: &[usize]) -> String {
    format!("({})", column_names(sink, columns))
}
