//! KW0302: the lifetime depends on something that is not there.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::Pattern;
use crate::read::table::Located;
use crate::shape::Object;
use crate::source::Span;
use crate::toml_form::{name_form, text_form};

pub(crate) static RULE: Rule = Rule {
    code: "KW0302",
    level: Level::Error,
    title: "the lifetime depends on something that is not there",
    why: "
`by` names a field of this key, or one of its placeholders in braces; `until`
names a field. Only hashes and JSON objects with `fields` have any.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."claim:{id}"]
type = "json"
ttl = { by = "state", open = "1d", done = "1h" }
[key."claim:{id}".fields]
status = "open | done"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."claim:{id}"]
type = "json"
ttl = { by = "status", open = "1d", done = "1h" }
[key."claim:{id}".fields]
status = "open | done"
"#,
};

pub(crate) fn field(setting: &str, name: Located<&str>, object: &Object) -> Diagnostic {
    let names = || object.fields.iter().map(|field| &*field.name);
    let near = nearest(name.value, names());
    let known: Vec<&str> = names().collect();
    RULE.at(name.at, "no such field")
        .saying(format!("this key has no field `{}`; it has {}", name.value, known.join(", ")))
        .maybe_help(near.map(|near| format!("{setting} = {}", text_form(near))))
}

pub(crate) fn no_fields(setting: &str, name: Located<&str>) -> Diagnostic {
    RULE.at(name.at, "no field")
        .saying(format!("`{setting}` names a field, and this key has none"))
        .help(format!("fields = {{ {} = \"{}\" }}", name_form(name.value), wanted_type(setting)))
}

/// A type that the subject of this setting may have.
fn wanted_type(setting: &str) -> &'static str {
    if setting == "until" { "timestamp" } else { "open | done" }
}

pub(crate) fn placeholder(name: &str, pattern: &Pattern, at: Span) -> Diagnostic {
    let near = nearest(name, pattern.placeholders().iter().map(|known| &*known.name));
    RULE.at(at, "no such placeholder")
        .saying(format!("`{pattern}` has no placeholder `{{{name}}}`"))
        .maybe_help(near.map(|near| format!("by = \"{{{near}}}\"")))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn the_nearest_field_or_placeholder_is_offered() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { status = "open | done" }
ttl = { by = "state", open = "1h", done = "1h" }
"#,
            r#"KW0302 4:14 this key has no field `state`; it has status [no such field] | help: by = "status""#,
        );
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { expires_at = "timestamp" }
ttl = { until = "expire_at" }
"#,
            r#"until = "expire_at""#,
            r#"until = "expires_at""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = { until = "t" }
"#,
            r#"KW0302 3:17 `until` names a field, and this key has none [no field] | help: fields = { t = "timestamp" }"#,
        );
        check_help(
            r#"
[key."a:{window:day|hour}"]
type = "hash"
ttl = { by = "{windw}", day = "1d", hour = "1h" }
"#,
            r#"by = "{windw}""#,
            r#"by = "{window}""#,
        );
    }
}
