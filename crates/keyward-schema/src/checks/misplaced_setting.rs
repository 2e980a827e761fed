//! KW0005: the setting belongs elsewhere.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::settings::{SETTINGS, Scope, Setting};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0005",
    level: Level::Error,
    title: "the setting belongs elsewhere",
    why: "
The setting exists, but not in this table, where it would have no effect.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
persist = "none"
"#,
    right: r#"
[keyspace]
name = "shop"
persist = "none"

[key."user:{id}"]
type = "hash"
"#,
};

/// `setting` is the one of that name that stands first in the table.
pub(crate) fn found(scope: Scope, setting: &Setting, at: Span) -> Diagnostic {
    let name = setting.name;
    let scopes: Vec<&str> = SETTINGS
        .iter()
        .filter(|known| known.name == name)
        .map(|known| known.scope.name())
        .collect();
    RULE.at(at, format!("not in {}", scope.name()))
        .saying(format!("`{name}` is a setting of {}", scopes.join(" and ")))
        .help(format!("move it there: {name} = {}", setting.example))
}
