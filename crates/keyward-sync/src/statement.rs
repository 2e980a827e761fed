//! The statements that store rows.
//!
//! Owns the SQL of each kind of sink. All values are given as texts, an array for each column,
//! and cast to the column's type: one statement stores thousands of rows. What a cast would cut
//! without a word (`varchar(n)`) is left to the assignment, which refuses it.

use keyward_schema::{
    Column, ColumnSource, ColumnType, Deletion, MAX_SQL_NAME_BYTES, Merge, Sink, SinkKind,
};

use crate::ddl::{self, column_names};
use crate::names::name;

/// Stores rows, an array of texts for each column.
pub(crate) fn insert(sink: &Sink) -> String {
    let table = name(&sink.table);
    let all: Vec<usize> = (0..sink.columns.len()).collect();
    let columns = column_names(sink, &all);
    let given = given(sink.columns.len());
    let key = column_names(sink, &sink.key);
    let others: Vec<usize> = all.iter().copied().filter(|at| !sink.key.contains(at)).collect();
    let values = |value: &dyn Fn(usize, &Column) -> String| {
        let values = all.iter().map(|at| value(*at, &sink.columns[*at]));
        values.collect::<Vec<_>>().join(", ")
    };
    let plain = values(&|at, column| cast(column, &given_column(at)));
    if sink.merge == Some(Merge::Add) {
        let summed = values(&|at, column| match sink.key.contains(&at) {
            true => cast(column, &given_column(at)),
            false if column.ty.is_number() => format!("sum({})", cast(column, &given_column(at))),
            false => {
                let own = cast(column, &given_column(at));
                format!(
                    "(array_agg({own} ORDER BY given.place DESC) FILTER (WHERE {} IS NOT NULL))[1]",
                    given_column(at)
                )
            }
        });
        let groups: Vec<String> = sink.key.iter().map(|at| given_column(*at)).collect();
        let sets = others.iter().map(|at| {
            let column = &sink.columns[*at];
            let own = name(&column.name);
            match column.ty.is_number() {
                true => {
                    format!("{own} = COALESCE(t.{own} + EXCLUDED.{own}, t.{own}, EXCLUDED.{own})")
                }
                false => format!("{own} = COALESCE(EXCLUDED.{own}, t.{own})"),
            }
        });
        let sets: Vec<String> = sets.collect();
        let conflict = conflict(&sets);
        return format!(
            "INSERT INTO {table} AS t ({columns}) SELECT {summed} FROM {given} GROUP BY {} \
             ON CONFLICT ({key}) {conflict}",
            groups.join(", ")
        );
    }
    let insert = format!(
        "INSERT INTO {table} AS t ({columns}) SELECT {plain} FROM {given} ORDER BY given.place"
    );
    if sink.kind != SinkKind::Mirror {
        return insert;
    }
    let sets = others.iter().map(|at| {
        let own = name(&sink.columns[*at].name);
        format!("{own} = EXCLUDED.{own}")
    });
    let sets: Vec<String> = sets.collect();
    let differs = others.iter().map(|at| is_other(&sink.columns[*at])).collect::<Vec<_>>();
    let differs = match &differs[..] {
        [] => String::new(),
        differs => format!(" WHERE {}", differs.join(" OR ")),
    };
    format!("{insert} ON CONFLICT ({key}) {}{differs}", conflict(&sets))
}

/// That a column would be another one: of numbers and JSON, in which equal values may be written
/// in several ways, by how it is written.
fn is_other(column: &Column) -> String {
    let own = name(&column.name);
    let text = match column.ty {
        ColumnType::Numeric(_) | ColumnType::Double | ColumnType::Jsonb => "::text",
        _ => "",
    };
    format!("t.{own}{text} IS DISTINCT FROM EXCLUDED.{own}{text}")
}

fn conflict(sets: &[String]) -> String {
    match sets {
        [] => "DO NOTHING".to_owned(),
        sets => format!("DO UPDATE SET {}", sets.join(", ")),
    }
}

/// Takes rows away whose keys are gone, or marks them.
pub(crate) fn remove(sink: &Sink) -> String {
    let table = name(&sink.table);
    let given = given(sink.columns.len());
    let is_same = sink.columns.iter().enumerate().filter_map(|(at, column)| match column.from {
        ColumnSource::Placeholder(_) | ColumnSource::Key => {
            Some(format!("t.{} = {}", name(&column.name), cast(column, &given_column(at))))
        }
        _ => None,
    });
    let is_same: Vec<String> = is_same.collect();
    let is_same = is_same.join(" AND ");
    let time = sink.column_from(&ColumnSource::Time);
    match (sink.deletion, time) {
        (Deletion::Mark, Some(at)) => {
            let column = &sink.columns[at];
            let own = name(&column.name);
            let value = cast(column, &given_column(at));
            format!(
                "UPDATE {table} AS t SET {own} = {value} FROM {given} WHERE {is_same} AND t.{own} IS NULL"
            )
        }
        _ => format!("DELETE FROM {table} AS t USING {given} WHERE {is_same}"),
    }
}

/// The columns that name the key of a row.
pub(crate) fn name_columns(sink: &Sink) -> Vec<usize> {
    let is_name = |at: &usize| {
        matches!(sink.columns[*at].from, ColumnSource::Placeholder(_) | ColumnSource::Key)
    };
    (0..sink.columns.len()).filter(is_name).collect()
}

/// Which of the given rows the table has otherwise, or not at all; whether nothing that the table
/// has is lost by storing them: it has no such row, or no value where there is one; and whether it
/// has no such row.
pub(crate) fn differing(sink: &Sink) -> String {
    let given_value = |at: usize| cast(&sink.columns[at], &given_column(at));
    let own = |at: usize| format!("t.{}", name(&sink.columns[at].name));
    let is_same = sink.key.iter().map(|at| format!("{} = {}", own(*at), given_value(*at)));
    let is_same: Vec<String> = is_same.collect();
    let others = (0..sink.columns.len()).filter(|at| !sink.key.contains(at));
    let differs = others.map(|at| format!("{} IS DISTINCT FROM {}", own(at), given_value(at)));
    let differs: Vec<String> = differs.collect();
    let others = (0..sink.columns.len()).filter(|at| !sink.key.contains(at));
    let is_lost = differs
        .iter()
        .zip(others)
        .map(|(differs, at)| format!(" OR {} IS NOT NULL AND {differs}", own(at)));
    let is_lost: String = is_lost.collect();
    let differs: Vec<String> = ["t.ctid IS NULL".to_owned()].into_iter().chain(differs).collect();
    format!(
        "SELECT given.place, NOT (false{is_lost}), t.ctid IS NULL \
         FROM {} LEFT JOIN {} AS t ON {} WHERE {}",
        given(sink.columns.len()),
        name(&sink.table),
        is_same.join(" AND "),
        differs.join(" OR ")
    )
}

/// What an item says, as an array of texts: of a row of the table, or of what is given.
fn item_arrays(sink: &Sink) -> (String, String) {
    let columns = sink.columns.iter().enumerate();
    let says = columns
        .filter(|(_, column)| !matches!(column.from, ColumnSource::Time | ColumnSource::Entry));
    let (own, given): (Vec<String>, Vec<String>) = says
        .map(|(at, column)| {
            let given = format!("({})::text", cast(column, &given_column(at)));
            (format!("t.{}::text", name(&column.name)), given)
        })
        .unzip();
    (format!("ARRAY[{}]", own.join(", ")), format!("ARRAY[{}]", given.join(", ")))
}

/// The given items and those that their lists have in the table, which have no place: each with
/// what it says. All are sorted by that, so that the time goes with their number.
fn given_and_stored(sink: &Sink, condition: &str) -> String {
    let (own, item) = item_arrays(sink);
    let given = given(sink.columns.len());
    let names = name_columns(sink);
    let mut conditions: Vec<String> = Vec::new();
    if !names.is_empty() {
        let list = |part: &dyn Fn(usize) -> String| {
            names.iter().map(|at| part(*at)).collect::<Vec<_>>().join(", ")
        };
        let own = list(&|at| format!("t.{}", name(&sink.columns[at].name)));
        let asked = list(&|at| cast(&sink.columns[at], &given_column(at)));
        conditions.push(format!("({own}) IN (SELECT {asked} FROM {given})"));
    }
    conditions.extend((!condition.is_empty()).then(|| condition.to_owned()));
    let conditions = match &conditions[..] {
        [] => String::new(),
        conditions => format!(" WHERE {}", conditions.join(" AND ")),
    };
    format!(
        "SELECT given.place, {item} AS item FROM {given} \
         UNION ALL SELECT NULL, {own} FROM {} AS t{conditions}",
        name(&sink.table)
    )
}

/// Which of the given items the table does not have, or has since a later time than the last
/// value says.
pub(crate) fn not_stored_before(sink: &Sink) -> String {
    let time = sink.column_from(&ColumnSource::Time).map_or("NULL", |at| &sink.columns[at].name);
    let before = format!("t.{} < ${}::text::timestamptz", name(time), sink.columns.len() + 1);
    format!(
        "SELECT place FROM (SELECT place, bool_or(place IS NULL) OVER (PARTITION BY item) \
         AS is_stored FROM ({}) AS a) AS b WHERE place IS NOT NULL AND NOT is_stored",
        given_and_stored(sink, &before)
    )
}

/// Which of the given items the table does not have, each as often as it is given.
pub(crate) fn lacking_items(sink: &Sink) -> String {
    format!(
        "SELECT place FROM (SELECT place, \
         row_number() OVER (PARTITION BY item, place IS NULL ORDER BY place) AS nth, \
         count(*) FILTER (WHERE place IS NULL) OVER (PARTITION BY item) AS stored \
         FROM ({}) AS a) AS b WHERE place IS NOT NULL AND nth > stored ORDER BY place",
        given_and_stored(sink, "")
    )
}

/// How often the table has each of the given items.
pub(crate) fn count_items(sink: &Sink) -> String {
    format!(
        "SELECT place, stored FROM (SELECT place, \
         count(*) FILTER (WHERE place IS NULL) OVER (PARTITION BY item) AS stored \
         FROM ({}) AS a) AS b WHERE place IS NOT NULL",
        given_and_stored(sink, "")
    )
}

/// Which of the given rows the table has otherwise, and in which columns; none of them where it
/// has no such row.
pub(crate) fn differing_columns(sink: &Sink) -> String {
    let given_value = |at: usize| cast(&sink.columns[at], &given_column(at));
    let own = |at: usize| format!("t.{}", name(&sink.columns[at].name));
    let is_same = sink.key.iter().map(|at| format!("{} = {}", own(*at), given_value(*at)));
    let is_same: Vec<String> = is_same.collect();
    let differs = (0..sink.columns.len()).filter(|at| !sink.key.contains(at)).map(|at| {
        let named = crate::names::text(&sink.columns[at].name);
        format!("CASE WHEN {} IS DISTINCT FROM {} THEN {named} END", own(at), given_value(at))
    });
    let differs: Vec<String> = differs.collect();
    let differs = match &differs[..] {
        [] => "''".to_owned(),
        differs => format!("concat_ws(', ', {})", differs.join(", ")),
    };
    format!(
        "SELECT given.place, CASE WHEN t.ctid IS NOT NULL THEN {differs} END AS named \
         FROM {} LEFT JOIN {} AS t ON {}",
        given(sink.columns.len()),
        name(&sink.table),
        is_same.join(" AND ")
    )
}

/// The columns that name the key of a row, as an array of texts.
fn name_array(sink: &Sink) -> String {
    let names = name_columns(sink).into_iter().map(|at| name(&sink.columns[at].name));
    let texts: Vec<String> = names.map(|own| format!("t.{own}::text")).collect();
    format!("ARRAY[{}]", texts.join(", "))
}

/// That `keyward fill` has loaded a row, or never tried; the first value is the keyspace, the
/// second the table.
fn is_loaded(sink: &Sink) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM keyward_unloaded AS u WHERE u.keyspace = $1 \
         AND u.table_name = $2 AND u.key = {})",
        name_array(sink)
    )
}

/// Forgets that rows were not loaded which have been seen on the server; values as of
/// [`is_loaded`].
pub(crate) fn forget_unloaded(sink: &Sink, seen: &str) -> String {
    format!(
        "DELETE FROM keyward_unloaded AS u USING {seen} AS t \
         WHERE u.keyspace = $1 AND u.table_name = $2 AND u.key = {}",
        name_array(sink)
    )
}

/// Notes the keys of the given rows in a table for that.
pub(crate) fn note_seen(sink: &Sink, seen: &str) -> String {
    let values =
        name_columns(sink).into_iter().map(|at| cast(&sink.columns[at], &given_column(at)));
    let values: Vec<String> = values.collect();
    format!("INSERT INTO {seen} SELECT {} FROM {}", values.join(", "), given(sink.columns.len()))
}

/// The table in which keys are noted: tables of one name in two schemas have two, and so have names
/// that differ at their ends alone.
pub(crate) fn seen_table(sink: &Sink) -> String {
    let schema_bytes = sink.table.find('.').unwrap_or(0);
    let table = sink.table.replace('.', "_");
    ddl::shortened(&format!("keyward_seen_{schema_bytes}_{table}"), MAX_SQL_NAME_BYTES)
}

/// Makes that table, for the length of a transaction.
pub(crate) fn create_seen(sink: &Sink) -> String {
    let columns = name_columns(sink);
    let definitions = columns.iter().map(|at| ddl::plain_definition(&sink.columns[*at]));
    let definitions: Vec<String> = definitions.collect();
    let seen = seen_table(sink);
    let definitions = definitions.join(", ");
    format!("CREATE TEMPORARY TABLE IF NOT EXISTS {seen} ({definitions}) ON COMMIT DROP")
}

/// Which rows of the table have a key that nobody has noted.
fn is_surplus(sink: &Sink, seen: &str) -> String {
    let names = name_columns(sink).into_iter().map(|at| name(&sink.columns[at].name));
    let is_same: Vec<String> = names.map(|own| format!("s.{own} = t.{own}")).collect();
    let is_same = is_same.join(" AND ");
    format!("NOT EXISTS (SELECT 1 FROM {seen} AS s WHERE {is_same}){}", living(sink, "AND"))
}

/// That a row is not marked as deleted.
pub(crate) fn living(sink: &Sink, word: &str) -> String {
    let time = sink.column_from(&ColumnSource::Time);
    let is_null = |at: usize| format!(" {word} t.{} IS NULL", name(&sink.columns[at].name));
    time.map_or(String::new(), is_null)
}

/// How many rows the table has that are not marked as deleted.
pub(crate) fn count(sink: &Sink) -> String {
    format!("SELECT count(*) FROM {} AS t{}", name(&sink.table), living(sink, "WHERE"))
}

/// The keys of rows that the table has and nobody has noted, so many at most.
pub(crate) fn surplus(sink: &Sink, seen: &str, most: u64) -> String {
    let names = name_columns(sink).into_iter().map(|at| name(&sink.columns[at].name));
    let texts: Vec<String> = names.map(|own| format!("t.{own}::text")).collect();
    format!(
        "SELECT DISTINCT {} FROM {} AS t WHERE {} LIMIT {most}",
        texts.join(", "),
        name(&sink.table),
        is_surplus(sink, seen)
    )
}

/// The same without those that `keyward fill` did not load; the first value is the keyspace, the
/// second the table.
pub(crate) fn loaded_surplus(sink: &Sink, seen: &str, most: u64) -> String {
    let names = name_columns(sink).into_iter().map(|at| name(&sink.columns[at].name));
    let texts: Vec<String> = names.map(|own| format!("t.{own}::text")).collect();
    format!(
        "SELECT DISTINCT {} FROM {} AS t WHERE {} AND {} LIMIT {most}",
        texts.join(", "),
        name(&sink.table),
        is_surplus(sink, seen),
        is_loaded(sink)
    )
}

/// Takes those rows away, or marks them; values as of [`loaded_surplus`].
pub(crate) fn remove_surplus(sink: &Sink, seen: &str) -> String {
    let table = name(&sink.table);
    let is_surplus = format!("{} AND {}", is_surplus(sink, seen), is_loaded(sink));
    match (sink.deletion, sink.column_from(&ColumnSource::Time)) {
        (Deletion::Mark, Some(at)) => {
            let own = name(&sink.columns[at].name);
            format!("UPDATE {table} AS t SET {own} = now() WHERE {is_surplus}")
        }
        _ => format!("DELETE FROM {table} AS t WHERE {is_surplus}"),
    }
}

/// The arrays as a table.
fn given(columns: usize) -> String {
    let arrays: Vec<String> = (1..=columns).map(|at| format!("${at}::text[]")).collect();
    let names: Vec<String> = (0..columns).map(|at| format!("c{at}")).collect();
    format!("unnest({}) WITH ORDINALITY AS given({}, place)", arrays.join(", "), names.join(", "))
}

/// A column of that table, by a name that no column of another one can be taken for.
fn given_column(at: usize) -> String {
    format!("given.c{at}")
}

/// A text as a value of a column's type.
fn cast(column: &Column, text: &str) -> String {
    match column.ty {
        ColumnType::Text | ColumnType::Varchar(_) => text.to_owned(),
        ty => format!("{text}::{ty}"),
    }
}
