//! KW0511: the condition cannot be read, or never holds.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::Kind;
use crate::read::table::Located;
use crate::shape::{Field, Type};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0511",
    level: Level::Error,
    title: "the condition cannot be read, or never holds",
    why: "
`when` compares fields with values: `status = active`, `plan != free`,
`plan in (monthly, yearly)`, joined by `and`. A value with spaces or signs is
put in single quotes. It must be one that the field can have.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "str"
status = "active | closed"
seen_at = "timestamp?"

[key."active"]
type = "set"
members = { of = "user:{user_id}", when = "status = actve" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "str"
status = "active | closed"
seen_at = "timestamp?"

[key."active"]
type = "set"
members = { of = "user:{user_id}", when = "status = active" }
"#,
};

pub(crate) fn malformed(expected: &str, when: Located<&str>) -> Diagnostic {
    let example = "when = \"status = active and plan in (monthly, yearly)\"";
    let help = match when.value.to_ascii_lowercase().contains(" or ") {
        true => alternatives(when.value).map(|meant| format!("when = \"{meant}\"")).unwrap_or_else(
            || {
                "there is no `or`: one field is tested for several values by `in (…)`, and \
                 for tests of several fields there are several keys"
                    .to_owned()
            },
        ),
        false => example.to_owned(),
    };
    RULE.at(when.at, "cannot be read").saying(format!("expected {expected}")).help(help)
}

/// Tests of one field for several values, joined by `or`, as one test.
fn alternatives(when: &str) -> Option<String> {
    let tests = when.split(" or ").flat_map(|test| test.split(" OR "));
    let tests = tests.map(|test| test.split_once('=')).collect::<Option<Vec<_>>>()?;
    let field = tests.first()?.0.trim();
    let is_word = |word: &str| !word.is_empty() && !word.contains([' ', '=', '(']);
    let is_alike = |(own, value): &(&str, &str)| own.trim() == field && is_word(value.trim());
    let values: Vec<&str> = tests.iter().map(|(_, value)| value.trim()).collect();
    (is_word(field) && !field.ends_with('!') && tests.iter().all(is_alike))
        .then(|| format!("{field} in ({})", values.join(", ")))
}

pub(crate) fn of_json(field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "compares JSON")
        .saying(format!("`{}` is {} and cannot be compared", field.name, field.shape.ty.in_words()))
        .see(field.at, "declared here")
}

pub(crate) fn impossible(field: &Field, value: &str, at: Span) -> Diagnostic {
    let near = match &field.shape.ty {
        Type::Kind(Kind::Enum(words)) => nearest(value, words.iter().map(|word| &**word)),
        _ => None,
    };
    RULE.at(at, "never holds")
        .saying(format!(
            "`{}` must be {} and is never {value:?}",
            field.name,
            field.shape.ty.in_words()
        ))
        .see(field.at, "declared here")
        .maybe_help(near.map(|near| format!("write `{near}`")))
}

pub(crate) fn contradiction(field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "never holds")
        .saying(format!("no value of `{}` passes all tests of it", field.name))
        .see(field.at, "declared here")
        .help(format!("{} in (…) tests for one of several", field.name))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn conditions_that_cannot_be_read_or_never_hold() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "s" }
"#,
            r#"KW0511 6:35 expected `=`, `!=` or `in (…)` [cannot be read] | help: when = "status = active and plan in (monthly, yearly)""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "s = on or n = 1" }
"#,
            "KW0511 6:35 expected `and` or the end [cannot be read] | help: there is no `or`: one field is tested for several values by `in (…)`, and for tests of several fields there are several keys",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "n = 1 or n = 2 or n = 3" }
"#,
            r#"KW0511 6:35 expected `and` or the end [cannot be read] | help: when = "n in (1, 2, 3)""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "s = onn" }
"#,
            r#"KW0511 6:35 `s` must be on or off and is never "onn" [never holds] | see 3:35 declared here | help: write `on`"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "n = -1" }
"#,
            r#"KW0511 6:35 `n` must be a whole number not below zero and is never "-1" [never holds] | see 3:23 declared here"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "j = 1" }
"#,
            "KW0511 6:35 `j` is JSON and cannot be compared [compares JSON] | see 3:69 declared here",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "s = on and s = off" }
"#,
            "KW0511 6:35 no value of `s` passes all tests of it [never holds] | see 3:35 declared here | help: s in (…) tests for one of several",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "s in (on, off) and s != on" }
"#,
            "",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "s != on and s != off" }
"#,
            "KW0511 6:35 no value of `s` passes all tests of it [never holds] | see 3:35 declared here | help: s in (…) tests for one of several",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "n in (1, 2) and n in (3, 4)" }
"#,
            "KW0511 6:35 no value of `n` passes all tests of it [never holds] | see 3:23 declared here | help: n in (…) tests for one of several",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "free = 'a b' and n in (1, 2) and t != '2025-12-25T10:00:00Z'" }
"#,
            "",
        );
    }
}
