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
