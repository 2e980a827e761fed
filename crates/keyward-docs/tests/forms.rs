//! One schema in the different ways that TOML can write it.

use keyward_schema::{Checked, Level, check};

const PLAIN: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = { after = "30m", renew = "access" }

[key."user:{id:uint}".fields]
email = "str"
plan = { type = "free | paid", doc = "What they pay." }

[key."plans:{plan:free|paid}"]
type = "set"
members = { of = "user:{id}" }
"#;

#[track_caller]
fn document(file: &str) -> String {
    let checked = check("shop.toml", file.as_bytes());
    let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    keyward_docs::markdown(&[&schema])
}

#[test]
fn other_forms_of_the_same_tables_mean_the_same() {
    let inline = r#"
keyspace = { name = "shop" }
[key]
"user:{id:uint}" = { type = "hash", ttl = { after = "30m", renew = "access" }, fields = { email = "str", plan = { type = "free | paid", doc = "What they pay." } } }
"plans:{plan:free|paid}" = { type = "set", members = { of = "user:{id}" } }
"#;
    let dotted = r#"
keyspace.name = "shop"
key."user:{id:uint}".type = "hash"
key."user:{id:uint}".ttl.after = "30m"
key."user:{id:uint}".ttl.renew = "access"
key."user:{id:uint}".fields.email = "str"
key."user:{id:uint}".fields.plan.type = "free | paid"
key."user:{id:uint}".fields.plan.doc = "What they pay."
key."plans:{plan:free|paid}".type = "set"
key."plans:{plan:free|paid}".members.of = "user:{id}"
"#;
    let apart = r#"
[key."user:{id:uint}".fields.plan]
type = "free | paid"
doc = "What they pay."

[key."user:{id:uint}".ttl]
after = "30m"
renew = "access"

[key."plans:{plan:free|paid}".members]
of = "user:{id}"

[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"

[key."plans:{plan:free|paid}"]
type = "set"
"#;
    let escaped = PLAIN.replace("user:", "\\u0075ser\\u003a");
    let literal = PLAIN.replace("\"user:{id:uint}\"", "'user:{id:uint}'");
    let windows = PLAIN.replace('\n', "\r\n");
    let marked = format!("\u{feff}{PLAIN}");
    for form in [inline, dotted, &escaped, &literal, &windows, &marked] {
        assert_eq!(document(form), document(PLAIN), "{form}");
    }
    // Here `email` is left out, so that the order of fields is no matter.
    assert_eq!(document(apart), document(&PLAIN.replace("email = \"str\"\n", "")));
}

#[test]
fn places_are_right_behind_a_byte_order_mark_and_umlauts() {
    let file = "\u{feff}# Größe\n[keyspace]\nname = \"ü\"\n[key.\"ä:{x\"]\ntype = \"hash\"\n";
    let Checked { diagnostics, source, .. } = check("x", file.as_bytes());
    let [found] = &diagnostics[..] else { panic!("{diagnostics:?}") };
    assert_eq!(found.rule.level, Level::Error);
    assert_eq!(source.slice(found.primary.span), "{x");
    let position = source.position(found.primary.span.start);
    assert_eq!((position.line, position.column), (4, 9));
}
