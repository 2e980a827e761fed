//! KW0005: the setting belongs elsewhere.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::settings::{SETTINGS, Scope, Setting, settings_of};
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

pub(crate) fn found(scope: Scope, name: &str, at: Span) -> Diagnostic {
    let known: Vec<&Setting> = SETTINGS.iter().filter(|known| known.name == name).collect();
    let scopes: Vec<&str> = known.iter().map(|known| known.scope.name()).collect();
    // `field` in a key is `fields` misspelt rather than a part of `lookup`.
    let near = nearest(name, settings_of(scope).map(|setting| setting.name));
    let help = match near {
        Some(near) => format!("write `{near}`"),
        None => known.iter().map(|known| in_place(known)).collect::<Vec<_>>().join(", or "),
    };
    RULE.at(at, format!("not in {}", scope.name()))
        .saying(format!("`{name}` is a setting of {}", scopes.join(" and ")))
        .help(help)
}

/// The setting where it belongs, with the table around it.
fn in_place(setting: &Setting) -> String {
    let written = format!("{} = {}", setting.name, setting.example);
    match setting.scope {
        Scope::File => format!("[{}]", setting.name),
        Scope::Keyspace | Scope::Key | Scope::Function | Scope::Note => {
            format!("{written} under {}", setting.scope.name())
        }
        Scope::Lifetime => format!("ttl = {{ {written} }}"),
        Scope::Shape => format!("a field = {{ type = \"…\", {written} }}"),
        Scope::Lookup | Scope::Rank | Scope::Members | Scope::Example => {
            format!("{} = {{ {written}, … }}", setting.scope.name())
        }
    }
}

/// A setting that only derived keys have.
pub(crate) fn not_derived(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "clients write this key")
        .saying(format!("`{name}` is a setting of derived keys"))
        .help(format!("remove `{name}`"))
}
