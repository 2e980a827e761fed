//! What a database has of a schema's tables.
//!
//! Owns the comparison of tables as they are with what a schema wants: what is lacking, what
//! is otherwise, and the statements that add what is lacking. Nothing here changes the
//! database. What is more than a schema wants (columns, indexes, defaults) is nobody's business,
//! as long as rows can be stored.

use std::collections::HashMap;

use keyward_schema::{Schema, Sink};
use tokio_postgres::Client;

use crate::database::DatabaseError;
use crate::ddl::{self, Month, check_words, column_names, plain_definition, sinks};
use crate::names::name;
use crate::own_tables;

/// What a database lacks or has otherwise.
#[derive(Debug, Default)]
pub struct Inspection {
    /// A sentence each.
    pub differences: Vec<String>,
    /// The statements that add what is lacking.
    pub additions: Vec<String>,
    /// Whether all differences would be gone then.
    pub is_mended: bool,
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
    client: &Client,
    schema: &Schema,
    months: &[Month],
) -> Result<Inspection, DatabaseError> {
    let mut inspection = Inspection { is_mended: true, ..Inspection::default() };
    let keyspace = crate::names::text(&schema.keyspace.name);
    let own = "SELECT to_regclass('keyward_place') IS NOT NULL \
               AND to_regclass('keyward_fills') IS NOT NULL";
    let has_place: bool = client.query_one(own, &[]).await?.get(0);
    for (key, sink) in sinks(schema) {
        let columns = columns(client, sink).await?;
        if columns.is_empty() {
            inspection.lacks(format!("there is no table {}", sink.table));
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
        inspection.compare_columns(sink, &columns);
        let (wanted, found) = (column_names(sink, &sink.key), primary_key(client, sink).await?);
        if wanted != found {
            let found = if found.is_empty() { "none".to_owned() } else { format!("({found})") };
            inspection
                .differs(format!("{}: the primary key is {found}, not ({wanted})", sink.table));
        }
    }
    for (own, statement) in own_tables::ALL {
        let row = client.query_one("SELECT to_regclass($1) IS NULL", &[&own]).await?;
        if row.get(0) {
            inspection.lacks(format!("there is no table {own}"));
            inspection.additions.push(statement.to_owned());
        }
    }
    Ok(inspection)
}

impl Inspection {
    fn lacks(&mut self, what: String) {
        self.differences.push(what);
    }

    /// What no addition mends.
    fn differs(&mut self, what: String) {
        self.differences.push(what);
        self.is_mended = false;
    }

    fn compare_columns(&mut self, sink: &Sink, found: &HashMap<String, Found>) {
        let table = &sink.table;
        for column in &sink.columns {
            let wanted = column.ty.to_string();
            match found.get(&*column.name) {
                None => {
                    self.lacks(format!("{table}: there is no column {}, {wanted}", column.name));
                    self.additions.push(format!(
                        "ALTER TABLE {} ADD COLUMN {}{}",
                        name(table),
                        plain_definition(column),
                        check_words(column)
                    ));
                }
                Some(found) if !is_same_type(&found.ty, &wanted) => {
                    self.differs(format!("{table}: {} is {}, not {wanted}", column.name, found.ty));
                }
                Some(found) if found.required && !column.required && !found.has_default => {
                    let named = &column.name;
                    self.differs(format!("{table}: {named} is NOT NULL, and a row may lack it"));
                }
                Some(_) => {}
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
    sink.table.split('.').map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".")
}

async fn columns(client: &Client, sink: &Sink) -> Result<HashMap<String, Found>, DatabaseError> {
    let rows = client
        .query(
            "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
                    a.atthasdef OR a.attidentity <> '' \
             FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 \
             AND NOT a.attisdropped",
            &[&regclass(sink)],
        )
        .await?;
    let found = rows.iter().map(|row| {
        let found = Found { ty: row.get(1), required: row.get(2), has_default: row.get(3) };
        (row.get(0), found)
    });
    Ok(found.collect())
}

async fn primary_key(client: &Client, sink: &Sink) -> Result<String, DatabaseError> {
    let rows = client
        .query(
            "SELECT a.attname::text FROM pg_index i \
             CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, place) \
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
             WHERE i.indrelid = to_regclass($1) AND i.indisprimary ORDER BY k.place",
            &[&regclass(sink)],
        )
        .await?;
    let names: Vec<String> = rows.iter().map(|row| name(row.get(0))).collect();
    Ok(names.join(", "))
}

/// Runs statements in one transaction: all of them, or none. Comments are left out.
///
/// # Errors
/// If one fails.
pub async fn apply(client: &mut Client, statements: &[String]) -> Result<(), DatabaseError> {
    let transaction = client.transaction().await?;
    for statement in statements {
        transaction.batch_execute(statement).await.map_err(|error| {
            let about = statement.lines().find(|line| !line.starts_with("--")).unwrap_or_default();
            let why = crate::database::in_one_sentence(&error);
            DatabaseError::Statement(format!("{}: {why}", about.trim_end_matches(" (")))
        })?;
    }
    transaction.commit().await?;
    Ok(())
}
