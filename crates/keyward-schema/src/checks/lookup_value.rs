//! KW0516: a lookup that holds a field is named by its source.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Pattern;
use crate::shape::Field;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0516",
    level: Level::Error,
    title: "a lookup that holds a field is named by its source",
    why: "
With `value` a lookup holds a field of its source, one for each row: so the two
keys have the same placeholders, all of them, and there is no `field` to look up
by. The field is one that a string can hold.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."card:{card_id}"]
type = "hash"
[key."card:{card_id}".fields]
user_id = "uint"
status = "active | closed"

[key."users:by_card"]
type = "string"
lookup = { of = "card:{card_id}", value = "user_id" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."card:{card_id}"]
type = "hash"
[key."card:{card_id}".fields]
user_id = "uint"
status = "active | closed"

[key."users:by_card:{card_id}"]
type = "string"
lookup = { of = "card:{card_id}", value = "user_id" }
"#,
};

/// Placeholders of the source that the lookup does not have.
pub(crate) fn open(free: &[&str], own: &Pattern, at: Span) -> Diagnostic {
    let names = braced(free.iter().copied());
    RULE.at(at, "the source")
        .saying(format!("`{own}` must have every placeholder of its source, and lacks {names}"))
        .help(format!("add {names} to the name of the lookup"))
}

/// Placeholders of the lookup that the source does not have.
pub(crate) fn unnamed(own: &Pattern, unnamed: &[usize], at: Span) -> Diagnostic {
    let placeholders = own.placeholders();
    let names = braced(unnamed.iter().map(|index| &*placeholders[*index].name));
    RULE.at(at, "the source")
        .saying(format!("nothing of the source says what {names} is"))
        .help(format!("remove {names} from the name of the lookup, or leave `value` out"))
}

pub(crate) fn with_field(at: Span) -> Diagnostic {
    RULE.at(at, "nothing to look up by")
        .saying("with `value` a lookup is named by the placeholders of its source, not by a field")
        .help("remove `field`")
}

pub(crate) fn unfit(field: &Field, data: &str, at: Span) -> Diagnostic {
    RULE.at(at, "cannot hold it")
        .saying(format!(
            "`{}` is {}, which a lookup of type {data} cannot hold",
            field.name,
            field.shape.ty.in_words()
        ))
        .see(field.at, "declared here")
}

fn braced<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    const SOURCE: &str = r#"
[key."k:{a}:{b}"]
type = "hash"
fields = { user = "uint", name = "str", on = "yes | no", tags = "string[]" }
"#;

    fn lookup(key: &str, lookup: &str, expected: &str) {
        check(&format!("{SOURCE}[key.\"{key}\"]\n{lookup}\n"), expected);
    }

    #[test]
    fn a_lookup_of_a_field_has_the_placeholders_of_its_source() {
        let string = |of: &str| format!("type = \"string\"\nlookup = {{ {of} }}");
        lookup("u:{a}:{b}", &string(r#"of = "k:{a}:{b}", value = "user", when = "on = yes""#), "");
        lookup(
            "u:{b}:{a}",
            "type = \"int\"\nlookup = { of = \"k:{a}:{b}\", value = \"user\" }",
            "",
        );
        lookup(
            "u:{a}",
            &string(r#"of = "k:{a}:{b}", value = "user""#),
            "KW0516 6:17 `u:{a}` must have every placeholder of its source, and lacks `{b}` [the source] | see 4:6 this key | help: add `{b}` to the name of the lookup",
        );
        lookup(
            "u:{a}:{b}:{c}",
            &string(r#"of = "k:{a}:{b}", value = "user""#),
            "KW0516 6:17 nothing of the source says what `{c}` is [the source] | see 4:6 this key | help: remove `{c}` from the name of the lookup, or leave `value` out",
        );
        lookup(
            "u:{a}:{b}",
            &string(r#"of = "k:{a}:{b}", value = "user", field = "name""#),
            "KW0516 6:46 with `value` a lookup is named by the placeholders of its source, not by a field [nothing to look up by] | help: remove `field`",
        );
    }

    #[test]
    fn a_lookup_holds_what_a_string_can() {
        lookup(
            "u:{a}:{b}",
            "type = \"string\"\nlookup = { of = \"k:{a}:{b}\", value = \"tags\" }",
            "KW0516 6:38 `tags` is a JSON array, which a lookup of type string cannot hold [cannot hold it] | see 3:58 declared here",
        );
        lookup(
            "u:{a}:{b}",
            "type = \"int\"\nlookup = { of = \"k:{a}:{b}\", value = \"name\" }",
            "KW0516 6:38 `name` is text without a colon, which a lookup of type int cannot hold [cannot hold it] | see 3:27 declared here",
        );
        lookup(
            "u:{a}:{b}",
            "type = \"string\"\nlookup = { of = \"k:{a}:{b}\", value = \"usr\" }",
            "KW0507 6:38 `k:{a}:{b}` has no field `usr`; it has user, name, on, tags [no such field] | see 1:6 declared here | help: write `user`",
        );
        lookup(
            "u:{a}:{b}",
            "type = \"string\"\nlookup = { of = \"k:{a}:{b}\", value = \"user\", when = \"on = ye\" }",
            r#"KW0511 6:53 `on` must be yes or no and is never "ye" [never holds] | see 3:41 declared here | help: write `yes`"#,
        );
    }
}
