//! What a schema's text says, without what is said to people alone.
//!
//! Owns a normal form of such a text: two texts with the same one mean the same to a server.
//! Comments, white space, how texts and numbers are written and the order of settings are not in it,
//! nor what is said of the keyspace, of keys and of functions to people, to `keyward check` or to who
//! looks at figures ([`NO_ROWS`]), notes, and who is shown values ([`SHOWN`]). Lifetimes are in it in
//! milliseconds, and the database and `persist` only if they are not the usual ones. Whatever else differs counts as another
//! meaning, be it that it has none.
//! Not here: how two schemas differ (`keyward-rules`).

use toml::de::{DeTable, DeValue};

use crate::read::table::{Entry, Value, entries};
use crate::units::Duration;
use std::borrow::Cow;

/// Settings of which nothing follows for rows.
const NO_ROWS: [&str; 9] =
    ["alert", "allow", "doc", "example", "expect", "group", "owner", "readers", "writers"];

/// Settings of keys, fields and items that say who is shown them.
const SHOWN: [&str; 2] = ["personal", "secret"];
/// Settings that say what values look like.
const SHAPES: [&str; 4] = ["extra", "fields", "items", "value"];

/// Whether two texts of schemas mean the same.
pub fn means_the_same(one: &str, other: &str) -> bool {
    one == other || matches!((form(one), form(other)), (Some(one), Some(other)) if one == other)
}

/// What all texts have that mean the same, and no others; of what is no TOML the text itself.
pub fn meaning_of(text: &str) -> Cow<'_, str> {
    form(text).map_or(Cow::Borrowed(text), Cow::Owned)
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
    let is_meant = |entry: &Entry<'_>| !NO_ROWS.contains(&entry.name);
    let mut settings: Vec<Entry<'_>> = entries(table).into_iter().filter(is_meant).collect();
    settings.sort_by_key(|setting| setting.name);
    for Entry { name, value, .. } in settings {
        match (heading, name, value.get_ref()) {
            ("keyspace", "db", DeValue::Integer(number)) if number.as_str() == "0" => {}
            ("keyspace", "persist", DeValue::String(text)) if text == "aof" => {}
            (heading, name, _) if heading.starts_with("key ") && SHOWN.contains(&name) => {}
            (_, "ttl", DeValue::String(text)) => push_lifetime(text, form),
            (_, "ttl", DeValue::Table(table)) => match &entries(table)[..] {
                [Entry { name: "after", value, .. }] if is_text(value) => {
                    push_lifetime(value.get_ref().as_str().unwrap_or_default(), form);
                }
                _ => push(&format!("{name:?}"), value, form),
            },
            (heading, name, _) if heading.starts_with("key ") && SHAPES.contains(&name) => {
                form.push_str(&format!("{name:?}="));
                push_shape(value, form);
                form.push(';');
            }
            _ => push(&format!("{name:?}"), value, form),
        }
    }
    form.push('}');
}

fn is_text(value: &Value<'_>) -> bool {
    matches!(value.get_ref(), DeValue::String(_))
}

fn push_lifetime(text: &str, form: &mut String) {
    form.push_str(&match Duration::parse(text) {
        Some(lifetime) => format!("ttl={}ms;", lifetime.as_ms()),
        None => format!("ttl={text:?};"),
    });
}

/// What values look like, without who is shown them. A field of such a name has no truth value but
/// a type.
fn push_shape(value: &Value<'_>, form: &mut String) {
    let DeValue::Table(table) = value.get_ref() else { return push_value(value, form) };
    let is_shown = |entry: &Entry<'_>| {
        SHOWN.contains(&entry.name) && matches!(entry.value.get_ref(), DeValue::Boolean(_))
    };
    let mut own = entries(table);
    own.retain(|entry| !is_shown(entry));
    // A table that has nothing but a type is that type.
    if let [Entry { name: "type", value, .. }] = own[..]
        && is_text(value)
    {
        return push_value(value, form);
    }
    form.push('{');
    for Entry { name, value, .. } in own {
        form.push_str(&format!("{name:?}="));
        push_shape(value, form);
        form.push(';');
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
            ("ttl = \"1h\"", "group = \"g\"\nexample = \"user:1\"\nexpect = \"1k\"\nttl = \"60m\""),
            ("ttl = \"1h\"", "readers = [\"r\"]\nallow = [\"KW0310: x\"]\nttl = \"3600s\""),
            ("ttl = \"1h\"", "ttl = { after = \"60m\" }"),
            ("ttl = \"1h\"", "ttl = \"1h\"\nsecret = true\npersonal = [\"id\"]"),
            ("doc = \"str\"", "doc = { type = \"str\", secret = true }"),
            ("doc = \"str\"", "doc = { type = \"str\", personal = true }"),
            ("doc = \"str\"", "doc = { type = \"str\" }"),
            ("type = \"hash\"\nttl = \"1h\"", "ttl = \"1h\"\ntype = \"hash\""),
            ("name = \"shop\"", "persist = \"aof\"\ndb = 0\nname = \"shop\""),
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
            ("\"1h\"", "\"none\""),
            ("\"1h\"", "{ after = \"2h\" }"),
            ("\"1h\"", "{ after = \"1h\", renew = \"write\" }"),
            ("doc = \"str\"", "secret = \"str\""),
            ("doc = \"str\"", "doc = { type = \"int\", secret = true }"),
            ("name = \"shop\"", "name = \"shop\"\ndb = 1"),
            ("name = \"shop\"", "name = \"shop\"\npersist = \"rdb\""),
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
