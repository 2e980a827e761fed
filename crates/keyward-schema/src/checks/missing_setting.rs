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

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_whole_file};

    #[test]
    fn what_must_be_there_is_asked_for() {
        check_whole_file(
            r#"

"#,
            r#"
KW0007 1:1 `keyspace` is missing [missing here] | help: [keyspace]; name = "shop"
KW0007 1:1 `key` is missing [missing here] | help: [key."user:{id}"]; type = "hash"
"#,
        );
        check_whole_file(
            r#"
[keyspace]
doc = "x"
[key."a"]
type = "hash"
"#,
            r#"KW0007 1:2 `name` is missing [missing here] | help: name = "shop""#,
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
[key."a"]
type = "hash"
[[note]]
title = "x"
"#,
            r#"KW0007 5:1 `text` is missing [missing here] | help: text = "Watch the hit ratio.""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
lookup = { field = "x" }
"#,
            r#"KW0007 3:1 `of` is missing [missing here] | help: of = "user:{user_id}""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
example = { value = "x" }
"#,
            r#"KW0007 3:1 `key` is missing [missing here] | help: key = "user:42""#,
        );
    }

    #[test]
    fn the_other_settings_suggest_a_type() {
        check(
            r#"
[key."a:{x}"]
fields = { n = "int" }
"#,
            r#"KW0007 1:6 a key needs a `type` [has no type] | help: type = "hash""#,
        );
        check(
            r#"
[key."a:{x}"]
max_len = 3
"#,
            r#"KW0007 1:6 a key needs a `type` [has no type] | help: type = "list""#,
        );
        check(
            r#"
[key."a:{x}"]
max_members = 3
"#,
            r#"KW0007 1:6 a key needs a `type` [has no type] | help: type = "set""#,
        );
        check(
            r#"
[key."a:{x}"]
score = "int"
"#,
            r#"KW0007 1:6 a key needs a `type` [has no type] | help: type = "zset""#,
        );
        check(
            r#"
[key."a:{x}"]
ttl = "1h"
"#,
            r#"KW0007 1:6 a key needs a `type` [has no type] | help: type = "string""#,
        );
    }
}
