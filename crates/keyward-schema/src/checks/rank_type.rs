//! KW0510: rows cannot be ranked by this.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::{Kind, Pattern};
use crate::read::table::Located;
use crate::shape::Field;
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0510",
    level: Level::Error,
    title: "rows cannot be ranked by this",
    why: "
A rank is a score, and a score is a number: a field that is one, or a `{placeholder}`
of the key that is ranked, of the kind `int` or `uint`. A `timestamp` counts too,
in milliseconds since 1970.
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

/// A placeholder that is not there, or is of another kind.
pub(crate) fn placeholder(by: Located<&str>, kind: Option<&Kind>, target: &Pattern) -> Diagnostic {
    let message = match kind {
        Some(kind) => {
            format!("`{}` of `{target}` is {}, which is no score", by.value, kind.in_words())
        }
        None => format!("`{target}` has no placeholder `{}`", by.value),
    };
    let numbers = target.placeholders().iter().filter(|known| known.kind.is_within(&Kind::Int));
    let forms: Vec<String> = numbers.map(|known| format!("by = \"{{{}}}\"", known.name)).collect();
    RULE.at(by.at, "not a number")
        .saying(message)
        .maybe_help((!forms.is_empty()).then(|| forms.join(", or ")))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn a_placeholder_that_is_a_number_is_a_score() {
        let schema = |by: &str| {
            format!(
                "[key.\"m:{{c}}:{{id:uint}}\"]\ntype = \"json\"\nfields = {{ s = \"string?\" }}\n\
                 [key.\"open:{{c}}\"]\ntype = \"zset\"\n\
                 rank = {{ of = \"m:{{c}}:{{id}}\", by = \"{by}\", when = \"s != done\" }}\n"
            )
        };
        check(&schema("{id}"), "");
        check_help(&schema("{c}"), r#"by = "{c}""#, r#"by = "{id}""#);
        check_help(&schema("{ids}"), r#"by = "{ids}""#, r#"by = "{id}""#);
        check(
            &schema("{c}"),
            r#"KW0510 6:34 `{c}` of `m:{c}:{id:uint}` is anything without a colon, which is no score [not a number] | help: by = "{id}""#,
        );
    }

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
