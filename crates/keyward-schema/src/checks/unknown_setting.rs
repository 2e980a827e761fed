//! KW0004: there is no such setting.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::settings::{Scope, settings_of};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0004",
    level: Level::Error,
    title: "there is no such setting",
    why: "
Each table of a schema knows its settings. One that does not exist would be
ignored silently, and what it was to say would not hold.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."recent:{user}"]
type = "list"
ttl = "7d"
maxlen = 20
"#,
    right: r#"
[keyspace]
name = "shop"

[key."recent:{user}"]
type = "list"
ttl = "7d"
max_len = 20
"#,
};

pub(crate) fn found(scope: Scope, name: &str, at: Span) -> Diagnostic {
    let near = nearest(name, settings_of(scope).map(|setting| setting.name));
    let help = match near {
        Some(near) => format!("write `{near}`"),
        None => {
            let names: Vec<&str> = settings_of(scope).map(|setting| setting.name).collect();
            format!("the settings of {} are {}", scope.name(), names.join(", "))
        }
    };
    RULE.at(at, "unknown").saying(format!("{} has no setting `{name}`", scope.name())).help(help)
}
