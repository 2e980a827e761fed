//! KW0209: a field cannot be the same as this placeholder.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::{Pattern, Placeholder};
use crate::read::table::Located;
use crate::shape::Field;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0209",
    level: Level::Error,
    title: "a field cannot be the same as this placeholder",
    why: "
`same` names a placeholder of the field's own key, in braces: the field must hold
the text that the key has there. It must be able to: a whole number never equals
a UUID.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
key = { type = "str", same = "{userid}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
key = { type = "str", same = "{user_id}" }
"#,
};

pub(crate) fn malformed(same: Located<&str>) -> Diagnostic {
    let name = same.value.trim_matches(['{', '}']);
    RULE.at(same.at, "no placeholder")
        .saying("`same` wants a placeholder in braces")
        .help(format!("same = \"{{{name}}}\""))
}

pub(crate) fn no_placeholder(field: &Field, name: &str, pattern: &Pattern) -> Diagnostic {
    let near = nearest(name, pattern.placeholders().iter().map(|known| &*known.name));
    RULE.at(field.at, "is to equal it")
        .saying(format!("`{pattern}` has no placeholder `{{{name}}}`"))
        .maybe_help(near.map(|near| format!("same = \"{{{near}}}\"")))
}

pub(crate) fn never(field: &Field, placeholder: &Placeholder) -> Diagnostic {
    RULE.at(field.at, "never the same").saying(format!(
        "`{}` is {}, and `{{{}}}` is {}: they are never the same",
        field.name,
        field.shape.ty.in_words(),
        placeholder.name,
        placeholder.kind.in_words()
    ))
}

pub(crate) fn not_a_field(at: Span) -> Diagnostic {
    RULE.at(at, "not a field").saying("`same` is for fields of a hash or of a JSON object")
}

pub(crate) fn without_key(field: &Field) -> Diagnostic {
    RULE.at(field.at, "belongs to no key")
        .saying("`same` names a placeholder of a key, and this belongs to none")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn fields_at_any_depth_may_equal_a_placeholder() {
        check(
            r#"
[key."u:{id:uint}:{day:date}"]
type = "json"
[key."u:{id:uint}:{day:date}".fields]
id = { type = "uint", same = "{id}" }
day = { type = "string?", same = "{day}" }
inner = { fields = { id = { type = "int", same = "{id}" } } }
list = { type = "object[]", fields = { id = { type = "decimal", same = "{id}" } } }
"#,
            "",
        );
    }

    #[test]
    fn what_cannot_be_the_same_is_told() {
        let bad = |field: &str, expected: &str| {
            check(
                &format!("\n[key.\"u:{{id:uuid}}\"]\ntype = \"json\"\nfields = {{ {field} }}\n"),
                expected,
            );
        };
        bad(
            r#"n = { type = "uint", same = "{id}" }"#,
            "KW0209 3:12 `n` is a whole number not below zero, and `{id}` is a UUID: they are never the same [never the same]",
        );
        bad(
            r#"n = { type = "json", same = "{id}" }"#,
            "KW0209 3:12 `n` is JSON, and `{id}` is a UUID: they are never the same [never the same]",
        );
        bad(
            r#"n = { type = "str", same = "id" }"#,
            r#"KW0209 3:39 `same` wants a placeholder in braces [no placeholder] | help: same = "{id}""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "string"
value = { type = "str", same = "{id}" }
"#,
            "KW0209 3:32 `same` is for fields of a hash or of a JSON object [not a field]",
        );
        check(
            r#"
[key.k]
type = "string"
[function.f]
reply = { fields = { n = { type = "str", same = "{id}" } } }
"#,
            "KW0209 4:22 `same` names a placeholder of a key, and this belongs to none [belongs to no key]",
        );
    }

    #[test]
    fn the_nearest_placeholder_is_offered() {
        check_help(
            r#"
[key."k:{user_id}"]
type = "hash"
fields = { k = { type = "str", same = "{userid}" } }
"#,
            r#"same = "{userid}""#,
            r#"same = "{user_id}""#,
        );
    }
}
