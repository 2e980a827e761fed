//! KW0007: a setting is missing.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::Table;
use crate::settings::{Scope, settings_of};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0007",
    level: Level::Error,
    title: "a setting is missing",
    why: "
Some settings have no sensible default: the name of the keyspace, the type of
a key, the source of a derived key.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
ttl = "30m"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
"#,
};

pub(crate) fn found(scope: Scope, name: &'static str, at: Span) -> Diagnostic {
    let help = match (scope, name) {
        (Scope::File, "keyspace") => "[keyspace]\nname = \"shop\"".to_owned(),
        (Scope::File, _) => "[key.\"user:{id}\"]\ntype = \"hash\"".to_owned(),
        _ => {
            let example = settings_of(scope).find(|setting| setting.name == name);
            format!("{name} = {}", example.map_or("\"…\"", |setting| setting.example))
        }
    };
    RULE.at(at, "missing here").saying(format!("`{name}` is missing")).help(help)
}

/// A key without a type; the settings it has suggest one.
pub(crate) fn key_type(table: &Table<'_>) -> Diagnostic {
    let has = |name: &str| table.entry(name).is_some();
    let guess = match () {
        () if has("rank") || has("score") => "zset",
        () if has("members") || has("inverse") || has("max_members") => "set",
        () if has("max_len") || has("items") => "list",
        () if has("fields") => "hash",
        () => "string",
    };
    RULE.at(table.at, "has no type")
        .saying("a key needs a `type`")
        .help(format!("type = \"{guess}\""))
}
