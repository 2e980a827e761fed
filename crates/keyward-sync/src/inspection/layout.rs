//! How a table is keyed, indexed and partitioned.

use std::collections::HashMap;

use keyward_schema::Sink;
use tokio_postgres::GenericClient;

use super::{Closeness, Found, Inspection, has_all, in_parentheses, listed, regclass};
use crate::database::DatabaseError;
use crate::ddl;
use crate::names::name;

/// Compares the primary key, by which rows are told apart when they are stored.
pub(super) async fn compare_key(
    client: &impl GenericClient,
    sink: &Sink,
    columns: &HashMap<String, Found>,
    inspection: &mut Inspection,
) -> Result<(), DatabaseError> {
    let query = "SELECT array(SELECT a.attname::text \
                        FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place) \
                        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum \
                        ORDER BY k.place), c.condeferrable \
                 FROM pg_constraint c WHERE c.conrelid = to_regclass($1) AND c.contype = 'p'";
    let row = client.query_opt(query, &[&regclass(sink)]).await?;
    let (table, wanted) = (&sink.table, in_parentheses(sink, &sink.key));
    let Some(row) = row else {
        inspection.differs(format!("{table}: the primary key is none, not {wanted}"));
        if has_all(sink, &sink.key, columns) {
            let addition = format!("ALTER TABLE {} ADD PRIMARY KEY {wanted}", name(table));
            inspection.additions.push(addition);
        }
        return Ok(());
    };
    let found = format!("({})", listed(&row.get::<_, Vec<String>>(0)));
    if found != wanted {
        inspection.differs(format!("{table}: the primary key is {found}, not {wanted}"));
    } else if row.get(1) {
        inspection.differs(format!(
            "{table}: the primary key is DEFERRABLE, and rows cannot be told apart by it"
        ));
    }
    Ok(())
}

/// Compares how a table is partitioned. Partitions by hash, or with one for all that remains,
/// take every row; others may.
pub(super) async fn compare_partitions(
    client: &impl GenericClient,
    sink: &Sink,
    closeness: Closeness,
    inspection: &mut Inspection,
) -> Result<(), DatabaseError> {
    let query = "SELECT p.partstrat::text, p.partdefid <> 0, \
                        array(SELECT coalesce(a.attname::text, '') \
                        FROM unnest(p.partattrs) WITH ORDINALITY AS k(attnum, place) \
                        LEFT JOIN pg_attribute a \
                        ON a.attrelid = p.partrelid AND a.attnum = k.attnum ORDER BY k.place) \
                 FROM pg_partitioned_table p WHERE p.partrelid = to_regclass($1)";
    let row = client.query_opt(query, &[&regclass(sink)]).await?;
    let found = row.map(|row| {
        let (strategy, has_default): (String, bool) = (row.get(0), row.get(1));
        (strategy, has_default, row.get::<_, Vec<String>>(2))
    });
    let table = &sink.table;
    let wanted = sink.partitioned_by().map(|column| &*sink.columns[column].name);
    match (wanted, found) {
        (None, None) => {}
        (Some(wanted), None) => inspection
            .differs(format!("{table}: it is not partitioned, and is to be by RANGE ({wanted})")),
        (Some(wanted), Some((strategy, _, columns))) => {
            if strategy != "r" || columns != [wanted] {
                let found = in_words(&strategy, &columns);
                inspection.differs(format!(
                    "{table}: it is partitioned by {found}, not RANGE ({wanted})"
                ));
            }
        }
        (None, Some((strategy, has_default, columns))) => {
            if strategy != "h" && !has_default && closeness == Closeness::All {
                let found = in_words(&strategy, &columns);
                inspection.differs(format!(
                    "{table}: it is partitioned by {found}, and nobody makes partitions"
                ));
            }
        }
    }
    Ok(())
}

fn in_words(strategy: &str, columns: &[String]) -> String {
    let strategy = match strategy {
        "r" => "RANGE",
        "l" => "LIST",
        _ => "HASH",
    };
    format!("{strategy} ({})", listed(columns))
}

/// Compares indexes: whatever begins with the columns that are asked for serves.
pub(super) async fn compare_indexes(
    client: &impl GenericClient,
    sink: &Sink,
    columns: &HashMap<String, Found>,
    inspection: &mut Inspection,
) -> Result<(), DatabaseError> {
    let query = "SELECT c.relname::text, i.indisvalid AND i.indpred IS NULL, \
                        array(SELECT coalesce(a.attname::text, '') \
                        FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place) \
                        LEFT JOIN pg_attribute a \
                        ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
                        WHERE k.place <= i.indnkeyatts ORDER BY k.place) \
                 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
                 WHERE i.indrelid = to_regclass($1)";
    let rows = client.query(query, &[&regclass(sink)]).await?;
    let found: Vec<(String, bool, Vec<String>)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    for wanted in ddl::indexes(sink) {
        let names: Vec<String> =
            wanted.iter().map(|index| sink.columns[*index].name.to_string()).collect();
        if found.iter().any(|(_, serves, columns)| *serves && columns.starts_with(&names)) {
            continue;
        }
        let (table, asked) = (&sink.table, in_parentheses(sink, &wanted));
        let named = ddl::index_name(sink, &wanted);
        let other = found.iter().find(|(name, ..)| *name == named);
        inspection.differs(match other {
            None => format!("{table}: there is no index on {asked}"),
            Some((_, true, columns)) => format!(
                "{table}: there is no index on {asked}; {named} is on ({})",
                listed(columns)
            ),
            Some(_) => {
                format!("{table}: there is no index on {asked}; {named} is invalid or partial")
            }
        });
        if has_all(sink, &wanted, columns) {
            // A name that is taken is left to whoever has it.
            let named = if other.is_none() { format!("{named} ") } else { String::new() };
            inspection.additions.push(format!("CREATE INDEX {named}ON {} {asked}", name(table)));
        }
    }
    Ok(())
}
