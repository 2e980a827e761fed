//! What a schema's text says, without what is said to people alone.
//!
//! Owns a normal form of such a text: two texts with the same one mean the same to a server.
//! Comments, white space and how values are written are not in it, nor `doc` and `owner` of the
//! keyspace, of keys and of functions, and notes. Whatever else differs counts as another meaning,
//! be it that it has none.
//! Not here: how two schemas differ (`keyward-rules`).

use toml::de::{DeTable, DeValue};

use crate::read::table::{Entry, Value, entries};

/// What is said to people alone.
const FOR_PEOPLE: [&str; 2] = ["doc", "owner"];

/// Whether two texts of schemas mean the same.
pub fn means_the_same(one: &str, other: &str) -> bool {
    one == other || matches!((form(one), form(other)), (Some(one), Some(other)) if one == other)
}

/// The normal form of a text, if it is TOML.
fn form(text: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut form = String::new();
    for Entry { name, value, .. } in entries(document.get_ref()) {
        match (name, value.get_ref()) {
            ("note", _) => {}
            ("keyspace", DeValue::Table(table)) => push_settings(name, table, &mut form),
            ("key" | "function", DeValue::Table(tables)) => {
                for own in entries(tables) {
                    let heading = format!("{name} {:?}", own.name);
                    match own.value.get_ref() {
                        DeValue::Table(table) => push_settings(&heading, table, &mut form),
                        _ => push(&heading, own.value, &mut form),
                    }
                }
            }
            _ => push(name, value, &mut form),
        }
    }
    Some(form)
}

fn push_settings(heading: &str, table: &DeTable<'_>, form: &mut String) {
    form.push_str(heading);
    form.push('{');
    let is_meant = |entry: &Entry<'_>| !FOR_PEOPLE.contains(&entry.name);
    for Entry { name, value, .. } in entries(table).into_iter().filter(is_meant) {
        push(&format!("{name:?}"), value, form);
    }
    form.push('}');
}

fn push(name: &str, value: &Value<'_>, form: &mut String) {
    form.push_str(name);
    form.push('=');
    push_value(value, form);
    form.push(';');
}

fn push_value(value: &Value<'_>, form: &mut String) {
    match value.get_ref() {
        DeValue::String(text) => form.push_str(&format!("{text:?}")),
        DeValue::Integer(number) => {
            form.push_str(&format!("{}'{}", number.radix(), number.as_str()));
        }
        DeValue::Float(number) => form.push_str(number.as_str()),
        DeValue::Boolean(value) => form.push_str(&value.to_string()),
        DeValue::Datetime(time) => form.push_str(&time.to_string()),
        DeValue::Array(items) => {
            form.push('[');
            for item in items.iter() {
                push_value(item, form);
                form.push(',');
            }
            form.push(']');
        }
        DeValue::Table(table) => {
            form.push('{');
            for Entry { name, value, .. } in entries(table) {
                push(&format!("{name:?}"), value, form);
            }
            form.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::means_the_same;

    const TEXT: &str = "[keyspace]\nname = \"shop\"\n\n[key.\"user:{id}\"]\ntype = \"hash\"\n\
                        ttl = \"1h\"\nfields = { doc = \"str\", owner = \"str\" }\n";

    #[test]
    fn what_is_said_to_people_means_nothing() {
        for (from, to) in [
            ("[keyspace]", "# A shop.\n[keyspace]"),
            ("name = \"shop\"", "name='shop' # ours"),
            ("name = \"shop\"", "name = \"shop\"\ndoc = \"A shop.\"\nowner = \"team\""),
            ("ttl = \"1h\"", "doc = \"A user.\"\nowner = \"us\"\nttl = \"1h\""),
            ("[keyspace]", "[[note]]\ntitle = \"t\"\ntext = \"x\"\n[keyspace]"),
            (
                "fields = { doc = \"str\", owner = \"str\" }",
                "[key.\"user:{id}\".fields]\ndoc = \"str\"\nowner = \"str\"",
            ),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let other = TEXT.replacen(from, to, 1);
            assert!(means_the_same(TEXT, &other), "{other}");
        }
    }

    #[test]
    fn whatever_else_differs_is_another_meaning() {
        for (from, to) in [
            ("\"1h\"", "\"2h\""),
            ("doc = \"str\"", "doc = \"int\""),
            ("doc = \"str\", ", ""),
            ("owner = \"str\"", "owner = \"str\", more = \"str\""),
            ("\"user:{id}\"", "\"user:{name}\""),
            ("[keyspace]\n", "[keyspace]\nmode = \"warn\"\n"),
            ("type = \"hash\"\n", "type = \"hash\"\nmax_fields = 3\n"),
            ("[keyspace]", "[keyspace"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            assert!(!means_the_same(TEXT, &TEXT.replacen(from, to, 1)), "{from} -> {to}");
        }
        // What cannot be read is what it is.
        assert!(means_the_same("[", "[") && !means_the_same("[", "[["));
    }
}
