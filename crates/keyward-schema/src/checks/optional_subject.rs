//! KW0303: the lifetime depends on a field that may be absent.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::shape::Field;
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0303",
    level: Level::Error,
    title: "the lifetime depends on a field that may be absent",
    why: "
A lifetime that hangs on a field is unknown where the field is absent or null.
Make the field required.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = { until = "valid_until" }
[key."coupon:{code}".fields]
valid_until = "timestamp?"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = { until = "valid_until" }
[key."coupon:{code}".fields]
valid_until = "timestamp"
"#,
};

pub(crate) fn found(setting: &str, field: &Field, at: Span) -> Diagnostic {
    let mut required = field.shape.clone();
    required.nullable = false;
    RULE.at(at, "may be absent")
        .saying(format!(
            "`{setting}` needs a field that is always there, and `{}` is not",
            field.name
        ))
        .see(field.at, "declared here")
        .help(format!("{} = \"{required}\"", name_form(&field.name)))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn by_and_until_need_a_field_that_is_there() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "open | done?" }
ttl = { by = "s", open = "1h", done = "1h" }
"#,
            r#"s = "open | done?""#,
            r#"s = "open | done""#,
        );
        check_help(
            r#"
[key."a:{x}"]
type = "json"
fields = { t = "timestamp | null" }
ttl = { until = "t" }
"#,
            r#"t = "timestamp | null""#,
            r#"t = "timestamp""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { t = "timestamp_ms" }
ttl = { until = "t" }
"#,
            "",
        );
    }
}
