//! The words that a column may hold: CHECKs as `keyward sql` makes them.
//!
//! A CHECK is known by its form, `column IN (words)` as PostgreSQL writes it, whatever it is
//! called. One of this form and of the name that `keyward sql` gives is Keyward's own, and is
//! replaced where words have come or gone; whatever else is checked is somebody's own.

use std::collections::{BTreeSet, HashMap};

use keyward_schema::{Column, Sink};
use tokio_postgres::GenericClient;

use super::{Found, Inspection, regclass};
use crate::database::DatabaseError;
use crate::ddl::{check_name, check_words};
use crate::names::{name, text};

/// A CHECK of one column.
struct Check {
    name: String,
    column: String,
    /// The words that it lets pass, if that is what it checks.
    words: Option<BTreeSet<String>>,
}

/// Compares the CHECKs of a table.
pub(super) async fn compare(
    client: &impl GenericClient,
    sink: &Sink,
    columns: &HashMap<String, Found>,
    inspection: &mut Inspection,
) -> Result<(), DatabaseError> {
    let query = "SELECT c.conname::text, a.attname::text, pg_get_constraintdef(c.oid) \
                 FROM pg_constraint c \
                 JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] \
                 WHERE c.conrelid = to_regclass($1) AND c.contype = 'c' \
                 AND cardinality(c.conkey) = 1 ORDER BY c.conname";
    let rows = client.query(query, &[&regclass(sink)]).await?;
    let checks: Vec<Check> = rows
        .iter()
        .map(|row| {
            let (column, definition): (String, String) = (row.get(1), row.get(2));
            let words = words_of(&column, &definition);
            Check { name: row.get(0), column, words }
        })
        .collect();
    // One that a column gets when it is added comes with it.
    let there = |column: &&Column| columns.contains_key(&*column.name);
    for column in sink.columns.iter().filter(there) {
        compare_column(sink, column, &checks, inspection);
    }
    Ok(())
}

fn compare_column(sink: &Sink, column: &Column, checks: &[Check], inspection: &mut Inspection) {
    let wanted: BTreeSet<String> = column.words.iter().map(|word| word.to_string()).collect();
    let mut own = checks.iter().filter(|check| check.column == *column.name);
    let own_name = check_name(sink, column);
    if !wanted.is_empty() && own.clone().any(|check| check.words.as_ref() == Some(&wanted)) {
        return;
    }
    let (table, named) = (name(&sink.table), name(&column.name));
    let former = own.find(|check| check.name == own_name && check.words.is_some());
    let is_taken = checks.iter().any(|check| check.name == own_name) && former.is_none();
    if let Some(former) = former {
        let found = former.words.iter().flatten().cloned();
        let found = in_words(found);
        inspection.differs(match wanted.is_empty() {
            true => format!(
                "{}: {} is checked to be {found}, and any value is wanted",
                sink.table, column.name
            ),
            false => format!(
                "{}: {} is checked to be {found}, not {}",
                sink.table,
                column.name,
                in_words(wanted.iter().cloned())
            ),
        });
        inspection
            .additions
            .push(format!("ALTER TABLE {table} DROP CONSTRAINT {}", name(&own_name)));
    } else if !wanted.is_empty() {
        let wanted = in_words(wanted.iter().cloned());
        inspection.differs(format!("{}: there is no CHECK that {named} is {wanted}", sink.table));
    }
    if !wanted.is_empty() {
        let called =
            if is_taken { String::new() } else { format!(" CONSTRAINT {}", name(&own_name)) };
        inspection
            .additions
            .push(format!("ALTER TABLE {table} ADD{called}{}", check_words(column)));
    }
}

fn in_words(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.map(|word| text(&word)).collect();
    words.join(" or ")
}

/// The words that a CHECK lets pass, if its definition is that a column is one of them:
/// `CHECK ((c = ANY (ARRAY['x'::text, 'y'::text])))`, or `CHECK ((c = 'x'::text))`, with other
/// casts where the column is no text.
fn words_of(column: &str, definition: &str) -> Option<BTreeSet<String>> {
    let (mut words, mut rest, mut form) = (BTreeSet::new(), definition, String::new());
    while let Some(at) = rest.find('\'') {
        form.push_str(&rest[..at]);
        let mut word = String::new();
        rest = &rest[at + 1..];
        loop {
            let end = rest.find('\'')?;
            word.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('\'') {
                Some(more) => {
                    word.push('\'');
                    rest = more;
                }
                None => break,
            }
        }
        words.insert(word);
        form.push('?');
    }
    form.push_str(rest);
    for noise in ["::text[]", "::text", "::character varying", "::bpchar", "(", ")", " ", "\""] {
        form = form.replace(noise, "");
    }
    let one_of = form.strip_prefix("CHECK")?.strip_prefix(column)?.strip_prefix('=')?;
    let list = one_of.strip_prefix("ANYARRAY[").and_then(|list| list.strip_suffix(']'));
    let is_list = list.is_some_and(|list| list.split(',').all(|item| item == "?"));
    (is_list || one_of == "?").then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(definition: &str, expected: Option<&[&str]>) {
        let found = words_of("state", definition);
        let expected = expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(found, expected, "{definition}");
    }

    #[test]
    fn a_check_of_words_is_known_by_its_form() {
        let two = &["on", "off"][..];
        check("CHECK ((state = ANY (ARRAY['on'::text, 'off'::text])))", Some(two));
        let cast = "CHECK (((state)::text = ANY ((ARRAY['on'::character varying, \
                    'off'::character varying])::text[])))";
        check(cast, Some(two));
        check("CHECK ((state = 'it''s'::text))", Some(&["it's"]));
        check("CHECK ((state = ANY (ARRAY['a, b'::text])))", Some(&["a, b"]));
        check("CHECK ((state <> 'on'::text))", None);
        check("CHECK ((length(state) > 3))", None);
        check("CHECK (((state = 'on'::text) OR (state IS NULL)))", None);
        check("CHECK ((states = 'on'::text))", None);
        check("CHECK ((state = 'on", None);
    }
}
