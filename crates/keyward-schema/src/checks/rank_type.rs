//! KW0510: rows cannot be ranked by this field.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::shape::Field;
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0510",
    level: Level::Error,
    title: "rows cannot be ranked by this field",
    why: "
A rank is a score, and a score is a number. A `timestamp` counts too, in
milliseconds since 1970.
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

[key."ranked"]
type = "zset"
rank = { of = "user:{user_id}", by = "email" }
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

[key."ranked"]
type = "zset"
rank = { of = "user:{user_id}", by = "seen_at" }
"#,
};

pub(crate) fn found(field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "not a number or a time")
        .saying(format!("`{}` is {}, which is no score", field.name, field.shape.ty.in_words()))
        .see(field.at, "declared here")
        .help(format!(
            "{} = \"{}\"",
            name_form(&field.name),
            if field.required { "timestamp" } else { "timestamp?" }
        ))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn a_score_is_a_number_or_a_time() {
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."top"]
type = "zset"
rank = { of = "u:{id}", by = "free" }
"#,
            r#"free = "string?""#,
            r#"free = "timestamp?""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."top"]
type = "zset"
rank = { of = "u:{id}", by = "t" }
[key."top2"]
type = "zset"
rank = { of = "u:{id}", by = "n" }
"#,
            "",
        );
        check(
            r#"
[key."u:{id}"]
type = "json"
fields = { n = "int | null" }
[key."top"]
type = "zset"
rank = { of = "u:{id}", by = "n" }
"#,
            "",
        );
    }
}
