//! The statements that make the tables of a schema's sinks (DDL).
//!
//! Owns how a sink becomes a table, its indexes and its partitions. Every statement stands by
//! itself. Invariant: the same schema and months give the same statements.
//! Not here: what a database has already (`inspection`), changes of a schema (`migration`).

mod month;

pub use month::Month;

use keyward_schema::{Column, ColumnSource, Key, MAX_SQL_NAME_BYTES, Schema, Sink, SinkKind};

use crate::names::{bare, name, text};
use crate::own_tables::{self, OwnTable};

/// The keys of a schema that have a sink, and it, in the order of the file.
pub fn sinks(schema: &Schema) -> impl Iterator<Item = (&Key, &Sink)> {
    schema.keys.iter().filter_map(|key| Some((key, key.sink.as_ref()?)))
}

/// All statements that make the tables of a schema, with partitions for these months, and those
/// that storing needs for itself.
pub fn statements(schema: &Schema, months: &[Month]) -> Vec<String> {
    let tables = sinks(schema).flat_map(|(key, sink)| of_table(key, sink, months));
    tables.chain(own_tables::ALL.iter().map(OwnTable::statement)).collect()
}

/// The statements that make one table, its indexes and its partitions.
pub fn of_table(key: &Key, sink: &Sink, months: &[Month]) -> Vec<String> {
    let mut statements = vec![create_table(key, sink)];
    statements.extend(indexes(sink).into_iter().map(|columns| create_index(sink, &columns)));
    if sink.partitioned_by().is_some() {
        statements.extend(months.iter().map(|month| create_partition(sink, *month)));
    }
    statements
}

/// Statements as the text of a file.
pub fn script(statements: &[String]) -> String {
    statements.iter().map(|statement| format!("{statement};\n")).collect::<Vec<_>>().join("\n")
}

fn create_table(key: &Key, sink: &Sink) -> String {
    let mut lines: Vec<String> = sink.columns.iter().map(column_definition).collect();
    lines.push(format!("PRIMARY KEY ({})", column_names(sink, &sink.key)));
    let what = match sink.kind {
        SinkKind::Mirror => "the rows of",
        SinkKind::Archive => "the rows that were at",
        SinkKind::Append | SinkKind::Drain => "the items of",
    };
    let partition = sink.partitioned_by().map_or(String::new(), |column| {
        format!(" PARTITION BY RANGE ({})", name(&sink.columns[column].name))
    });
    let pattern = key.pattern.text().escape_default();
    let table = name(&sink.table);
    format!("-- {what} {pattern}\nCREATE TABLE {table} (\n  {}\n){partition}", lines.join(",\n  "))
}

/// A column as CREATE TABLE has it.
pub(crate) fn column_definition(column: &Column) -> String {
    let required = if column.required { " NOT NULL" } else { "" };
    format!("{}{required}{}", plain_definition(column), check_words(column))
}

/// A column with its type alone.
pub(crate) fn plain_definition(column: &Column) -> String {
    format!("{} {}", name(&column.name), column.ty)
}

/// The words that an enum may hold.
pub(crate) fn check_words(column: &Column) -> String {
    if column.words.is_empty() {
        return String::new();
    }
    let words: Vec<String> = column.words.iter().map(|word| text(word)).collect();
    format!(" CHECK ({} IN ({}))", name(&column.name), words.join(", "))
}

/// What the CHECK of a column's words is called: as PostgreSQL calls it by itself.
pub(crate) fn check_name(sink: &Sink, column: &Column) -> String {
    format!("{}_{}_check", bare(&sink.table), column.name)
}

pub(crate) fn column_names(sink: &Sink, columns: &[usize]) -> String {
    let names: Vec<String> = columns.iter().map(|index| name(&sink.columns[*index].name)).collect();
    names.join(", ")
}

/// The columns that queries ask for and that do not begin the primary key: what a key is named
/// by, and the time by which rows go.
pub(crate) fn indexes(sink: &Sink) -> Vec<Vec<usize>> {
    let leads = |index: usize| sink.key.first() == Some(&index);
    let mut indexes: Vec<Vec<usize>> = Vec::new();
    for (index, column) in sink.columns.iter().enumerate() {
        let is_asked_for = match column.from {
            // Partitions are found without one.
            ColumnSource::Placeholder(_) => sink.partitioned_by() != Some(index),
            ColumnSource::Time => sink.retain.is_some() && sink.partitioned_by().is_none(),
            _ => false,
        };
        if is_asked_for && !leads(index) {
            indexes.push(vec![index]);
        }
    }
    indexes
}

fn create_index(sink: &Sink, columns: &[usize]) -> String {
    let on = name(&sink.table);
    format!("CREATE INDEX {} ON {on} ({})", index_name(sink, columns), column_names(sink, columns))
}

/// `transactions_user_id_idx`, as PostgreSQL would name it.
pub(crate) fn index_name(sink: &Sink, columns: &[usize]) -> String {
    let columns: Vec<&str> = columns.iter().map(|index| &*sink.columns[*index].name).collect();
    let named = format!("{}_{}", bare(&sink.table), columns.join("_"));
    shortened(&named, MAX_SQL_NAME_BYTES - "_idx".len()) + "_idx"
}

/// A name of at most so many bytes: of a longer one the beginning, and a number (FNV-1a) by which it
/// differs from others that begin so.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    if name.len() <= most {
        return name.to_owned();
    }
    let mut mark: u32 = 0x811c_9dc5;
    for byte in name.bytes() {
        mark = (mark ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    // Names of tables and columns have letters of one byte.
    format!("{}_{mark:08x}", &name[..most - 9])
}

/// A table's name as a text that PostgreSQL takes for a table.
pub(crate) fn quoted(table: &str) -> String {
    table.split('.').map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(".")
}

/// What a table is called without the schema of PostgreSQL that it is in.
pub(crate) fn short_name(sink: &Sink) -> &str {
    bare(&sink.table)
}

/// The key that a row of the table is of, given the columns that name it.
pub(crate) fn key_name(key: &Key, sink: &Sink, columns: &[usize], values: &[String]) -> Vec<u8> {
    let mut filled: Vec<Vec<u8>> = vec![Vec::new(); key.pattern.placeholders().len()];
    for (column, value) in columns.iter().zip(values) {
        match sink.columns[*column].from {
            ColumnSource::Placeholder(index) => {
                let is_month = sink.columns[*column].is_month;
                let value = if is_month { value.get(..7).unwrap_or(value) } else { value };
                filled[index] = value.as_bytes().to_vec();
            }
            _ => return value.clone().into_bytes(),
        }
    }
    key.pattern.fill(&filled)
}

/// The partition for the rows of a month.
pub fn create_partition(sink: &Sink, month: Month) -> String {
    let table = name(&sink.table);
    let (first, next) = (month.first_day(), month.next().first_day());
    format!(
        "CREATE TABLE {} PARTITION OF {table} FOR VALUES FROM ('{first}') TO ('{next}')",
        name(&partition_name(sink, month)),
    )
}

/// `usage_monthly_2025_12`.
pub fn partition_name(sink: &Sink, month: Month) -> String {
    let ending = month.to_string().replace('-', "_");
    let table = shortened(bare(&sink.table), MAX_SQL_NAME_BYTES - ending.len() - 1);
    match sink.table.rsplit_once('.') {
        Some((schema, _)) => format!("{schema}.{table}_{ending}"),
        None => format!("{table}_{ending}"),
    }
}

#[cfg(test)]
mod tests;
