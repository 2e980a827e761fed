//! From the tables of one schema to those of another.
//!
//! Owns the statements of a migration. Invariant: none destroys a row or a value: what a schema
//! no longer has is written as a comment, for whoever wants it gone.

use keyward_schema::{Column, ColumnType, Key, Schema, Sink};

use crate::ddl::{
    self, Month, check_name, check_words, column_names, index_name, indexes, plain_definition,
    sinks,
};
use crate::names::name;

/// The statements that bring the tables of `old` to what `new` wants, with partitions for
/// these months where a table is new.
pub fn statements(old: &Schema, new: &Schema, months: &[Month]) -> Vec<String> {
    let mut statements = Vec::new();
    let before: Vec<(&Key, &Sink)> = sinks(old).collect();
    for (key, sink) in sinks(new) {
        match before.iter().find(|(_, other)| other.table == sink.table) {
            None => {
                // It may be there, from a migration the other way: nothing is dropped.
                let made = ddl::of_table(key, sink, months).into_iter();
                statements.extend(made.map(|statement| unless_there(&statement)));
            }
            Some((_, other)) => statements.extend(of_table(other, sink)),
        }
    }
    for (_, sink) in before {
        if !sinks(new).any(|(_, other)| other.table == sink.table) {
            let new = sinks(new).filter(|(_, other)| {
                !sinks(old).any(|(_, known)| known.table == other.table)
                    && other.columns.len() == sink.columns.len()
                    && other.columns.iter().zip(&sink.columns).all(|(is, was)| is.name == was.name)
            });
            for (_, other) in new {
                statements.push(format!(
                    "-- {0} is made anew, and {1} stays with its rows; if {0} is another name of it, \
                     run this before all others: ALTER TABLE {1} RENAME TO {2}",
                    other.table,
                    name(&sink.table),
                    name(ddl::short_name(other))
                ));
            }
            statements.push(format!("-- DROP TABLE {}", name(&sink.table)));
        }
    }
    statements
}

/// A statement that makes a table or an index, unless there is one of that name.
fn unless_there(statement: &str) -> String {
    let lines = statement.split('\n').map(|line| {
        let made = ["CREATE TABLE ", "CREATE INDEX "].iter().find(|made| line.starts_with(**made));
        match made {
            Some(made) => format!("{made}IF NOT EXISTS {}", &line[made.len()..]),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The statements that change one table.
fn of_table(old: &Sink, new: &Sink) -> Vec<String> {
    let table = name(&new.table);
    let alter = |change: String| format!("ALTER TABLE {table} {change}");
    let mut statements = Vec::new();
    if old.partitioned_by().is_some() != new.partitioned_by().is_some() {
        let to = if new.partitioned_by().is_some() { "partitioned" } else { "not partitioned" };
        statements.push(format!("-- {table} is to be {to}: make it anew and copy its rows"));
    }
    let key = |sink: &Sink| column_names(sink, &sink.key);
    let is_keyed_anew = key(old) != key(new);
    if is_keyed_anew {
        // A column of a primary key cannot lack a value.
        let constraint = format!("{}_pkey", crate::names::bare(&new.table));
        statements.push(alter(format!("DROP CONSTRAINT {constraint}")));
    }
    for column in &new.columns {
        let Some(was) = old.columns.iter().find(|other| other.name == column.name) else {
            // The rows that are there have no value for it.
            statements.push(alter(format!(
                "ADD COLUMN IF NOT EXISTS {}{}",
                plain_definition(column),
                check_words(column)
            )));
            continue;
        };
        let named = name(&column.name);
        if was.ty != column.ty {
            let ty = column.ty;
            let value = value_as(&named, was.ty, ty);
            let change = alter(format!("ALTER COLUMN {named} TYPE {ty} USING {value}"));
            let text =
                if was.ty == ColumnType::Bytea { "text".to_owned() } else { was.ty.to_string() };
            let read = if was.ty == ColumnType::Bytea { as_text(&named) } else { named.clone() };
            let is_to_bytes = ty == ColumnType::Bytea;
            let loss = if is_to_bytes { None } else { loss(&read, &text, &ty.to_string()) };
            statements.push(match loss {
                None => change,
                Some(loss) => guarded(new, &column.name, (&loss, &ty.to_string()), &change),
            });
        }
        if was.required && !column.required {
            statements.push(alter(format!("ALTER COLUMN {named} DROP NOT NULL")));
        }
        if was.words != column.words {
            let constraint = name(&check_name(new, column));
            if !was.words.is_empty() {
                statements.push(alter(format!("DROP CONSTRAINT {constraint}")));
            }
            if !column.words.is_empty() {
                statements
                    .push(alter(format!("ADD CONSTRAINT {constraint}{}", check_words(column))));
            }
        }
    }
    let gone = old.columns.iter().filter(|was| !new.columns.iter().any(|is| is.name == was.name));
    for column in gone {
        let named = name(&column.name);
        let is_new = |is: &&Column| !old.columns.iter().any(|was| was.name == is.name);
        for other in new.columns.iter().filter(is_new).filter(|is| is.ty == column.ty) {
            statements.push(format!(
                "-- {0} is added, and {1} stays with its values; if {0} is another name of it, run \
                 this before all others: ALTER TABLE {table} RENAME COLUMN {1} TO {0}",
                name(&other.name),
                named
            ));
        }
        if column.required {
            statements.push(alter(format!("ALTER COLUMN {named} DROP NOT NULL")));
        }
        statements.push(format!("-- ALTER TABLE {table} DROP COLUMN {named}"));
    }
    if is_keyed_anew {
        statements.push(alter(format!("ADD PRIMARY KEY ({})", key(new))));
    }
    for columns in indexes(new) {
        let named = index_name(new, &columns);
        if !indexes(old).iter().any(|columns| index_name(old, columns) == named) {
            let columns = column_names(new, &columns);
            statements.push(format!("CREATE INDEX IF NOT EXISTS {named} ON {table} ({columns})"));
        }
    }
    statements
}

/// Bytes of a column as the text that they are; an error where they are none.
fn as_text(named: &str) -> String {
    format!("convert_from({named}, 'UTF8')")
}

/// The value of a column as one of another type.
fn value_as(named: &str, was: ColumnType, ty: ColumnType) -> String {
    match (was, ty) {
        (_, ColumnType::Bytea) => format!("convert_to({named}::text, 'UTF8')"),
        (ColumnType::Bytea, ty) => format!("{}::{ty}", as_text(named)),
        _ => format!("{named}::{ty}"),
    }
}

/// When a value would not be the same any longer as one of another type; nothing where that cannot
/// be, or the cast itself refuses it.
fn loss(named: &str, from: &str, to: &str) -> Option<String> {
    let is_text = |ty: &str| ty == "text" || ty.starts_with("varchar");
    match (is_text(from), to) {
        (_, "text") => None,
        (_, "numeric") if ["bigint", "integer", "smallint"].contains(&from) => None,
        (_, to) if is_text(to) => Some(format!("{named}::{to}::text <> {named}::text")),
        (true, to) if to.starts_with("numeric(") => {
            Some(format!("{named}::{to} <> {named}::numeric"))
        }
        (true, "date") => Some(format!("{named}::date::timestamp <> {named}::timestamp")),
        (true, _) => None,
        (false, to) => Some(format!("{named}::{to}::{from} IS DISTINCT FROM {named}")),
    }
}

/// A change of a column that is refused as long as a row would lose something.
fn guarded(sink: &Sink, column: &str, (loss, to): (&str, &str), change: &str) -> String {
    let table = name(&sink.table);
    let what = format!("{}.{column} would lose something in type {to}", sink.table);
    let what = crate::names::text(&what.replace('%', "%%"));
    format!(
        "DO $keyward$ BEGIN\n  LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE;\n  \
         IF EXISTS (SELECT 1 FROM {table} WHERE {loss}) THEN\n    RAISE EXCEPTION {what};\n  \
         END IF;\n  {change};\nEND $keyward$"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(keys: &str) -> Schema {
        let text = format!("[keyspace]\nname = 'test'\n{keys}");
        let checked = keyward_schema::check("test.toml", text.as_bytes());
        let Some(schema) = checked.schema else { panic!("{:#?}", checked.diagnostics) };
        schema
    }

    fn user(fields: &str, sink: &str) -> Schema {
        schema(&format!(
            "[key.\"u:{{id:int}}\"]\ntype = 'hash'\nfields = {{ {fields} }}\nsink = {{ {sink} }}"
        ))
    }

    #[test]
    fn columns_come_change_and_are_not_dropped() {
        let old = user("a = 'int', b = 'string', c = 'x | y'", "mirror = 'u'");
        let new = user("a = 'decimal', c = 'x | y | z', d = 'bool'", "mirror = 'u'");
        let expected = [
            "ALTER TABLE u ALTER COLUMN a TYPE numeric USING a::numeric",
            "ALTER TABLE u DROP CONSTRAINT u_c_check",
            "ALTER TABLE u ADD CONSTRAINT u_c_check CHECK (c IN ('x', 'y', 'z'))",
            "ALTER TABLE u ADD COLUMN IF NOT EXISTS d boolean",
            "ALTER TABLE u ALTER COLUMN b DROP NOT NULL",
            "-- ALTER TABLE u DROP COLUMN b",
        ];
        assert_eq!(statements(&old, &new, &[]), expected);
        assert_eq!(statements(&new, &new, &[]), Vec::<String>::new());
    }

    #[test]
    fn tables_and_keys_come_and_are_not_dropped() {
        let old = user("a = 'int'", "mirror = 'u'");
        let new = user("a = 'int'", "mirror = 'v'");
        let made = statements(&old, &new, &[]);
        assert!(made[0].contains("CREATE TABLE IF NOT EXISTS v"), "{made:?}");
        let renamed = "-- v is made anew, and u stays with its rows; if v is another name of it, run \
                       this before all others: ALTER TABLE u RENAME TO v";
        assert_eq!(made[1..], [renamed, "-- DROP TABLE u"]);
        let (old, keyed) = ("archive = 'u'", "archive = 'u', key = ['id', 'a']");
        let expected =
            ["ALTER TABLE u DROP CONSTRAINT u_pkey", "ALTER TABLE u ADD PRIMARY KEY (id, a)"];
        let made = statements(&user("a = 'int'", old), &user("a = 'int'", keyed), &[]);
        assert_eq!(made, expected);
    }

    #[test]
    fn a_column_that_may_be_another_ones_new_name_is_told() {
        let old = user("a = 'int', b = 'string?'", "mirror = 'u'");
        let new = user("a = 'int', c = 'string?'", "mirror = 'u'");
        let expected = [
            "ALTER TABLE u ADD COLUMN IF NOT EXISTS c text",
            "-- c is added, and b stays with its values; if c is another name of it, run this before \
             all others: ALTER TABLE u RENAME COLUMN b TO c",
            "-- ALTER TABLE u DROP COLUMN b",
        ];
        assert_eq!(statements(&old, &new, &[]), expected);
    }

    #[test]
    fn bytes_come_from_a_text_and_go_back_to_it() {
        let old = user("a = 'string'", "mirror = 'u'");
        let new = user("a = 'bytes'", "mirror = 'u'");
        let forth = ["ALTER TABLE u ALTER COLUMN a TYPE bytea USING convert_to(a::text, 'UTF8')"];
        assert_eq!(statements(&old, &new, &[]), forth);
        let back = ["ALTER TABLE u ALTER COLUMN a TYPE text USING convert_from(a, 'UTF8')::text"];
        assert_eq!(statements(&new, &old, &[]), back);
    }

    #[test]
    fn a_column_leaves_the_primary_key_before_it_may_lack_a_value() {
        let old = user("a = 'int', b = 'int'", "archive = 'u', key = ['id', 'b']");
        let new = user("a = 'int'", "archive = 'u', key = ['id', 'a']");
        let expected = [
            "ALTER TABLE u DROP CONSTRAINT u_pkey",
            "ALTER TABLE u ALTER COLUMN b DROP NOT NULL",
            "-- ALTER TABLE u DROP COLUMN b",
            "ALTER TABLE u ADD PRIMARY KEY (id, a)",
        ];
        assert_eq!(statements(&old, &new, &[]), expected);
    }
}
