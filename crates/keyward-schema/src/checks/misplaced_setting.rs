//! KW0005: the setting belongs elsewhere.

use super::unknown_setting::{help_optional, known_elsewhere};
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::schema::DataType;
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
    let near = || nearest(name, settings_of(scope).map(|setting| setting.name));
    let help = match known_elsewhere(scope, name).or_else(near) {
        _ if let Some(help) = help_optional(scope, name) => help,
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
        Scope::File if setting.name == "include" => format!("{written} at the top of the file"),
        Scope::File => format!("[{}]", setting.name),
        Scope::Keyspace | Scope::Key | Scope::Function | Scope::Note => {
            format!("{written} under {}", setting.scope.name())
        }
        Scope::Lifetime => format!("ttl = {{ {written} }}"),
        Scope::Include => format!("include = [{{ file = \"…\", {written} }}]"),
        Scope::Shape => format!("a field = {{ type = \"…\", {written} }}"),
        Scope::Alert => format!("alert.hit_ratio = {{ when = \"< 70%\", {written} }}"),
        Scope::Check => format!("check = [{{ {written}, … }}]"),
        Scope::Column => format!("a column = {{ {written}, … }}"),
        Scope::Lookup
        | Scope::Rank
        | Scope::Members
        | Scope::Example
        | Scope::Expect
        | Scope::Sink => {
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

/// `items` of a key that has none.
pub(crate) fn no_items(data: DataType, at: Span) -> Diagnostic {
    RULE.at(at, "has no items")
        .saying(format!(
            "`items` is a setting of hashes, lists, sets, sorted sets and streams, not of type {}",
            data.name()
        ))
        .help("remove `items`")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_whole_file};

    #[test]
    fn only_what_has_items_expects_some() {
        check(
            r#"
[key."a:{x}"]
type = "list"
items = "string"
max_len = 9
expect = { keys = "10k", items = 5 }
"#,
            "",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
expect = { keys = "10k", items = 5 }
"#,
            "KW0005 3:34 `items` is a setting of hashes, lists, sets, sorted sets and streams, not of type string [has no items] | help: remove `items`",
        );
    }

    #[test]
    fn the_place_where_it_belongs_is_shown() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
after = "1h"
"#,
            r#"KW0005 3:1 `after` is a setting of ttl [not in [key."…"]] | help: ttl = { after = "30m" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
unknown = "warn"
"#,
            r#"KW0005 3:1 `unknown` is a setting of [keyspace] [not in [key."…"]] | help: unknown = "reject" under [keyspace]"#,
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
ttl = "1h"
[key."a"]
type = "hash"
"#,
            r#"KW0005 3:1 `ttl` is a setting of [key."…"] [not in [keyspace]] | help: ttl = "30m" under [key."…"]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
read_only = true
"#,
            r#"KW0005 3:1 `read_only` is a setting of [function.…] [not in [key."…"]] | help: read_only = true under [function.…]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
min = 0
of = "b"
"#,
            r#"
KW0005 3:1 `min` is a setting of ttl and a field [not in [key."…"]] | help: ttl = { min = "1m" }, or a field = { type = "…", min = 0 }
KW0005 4:1 `of` is a setting of lookup and rank and members [not in [key."…"]] | help: lookup = { of = "user:{user_id}", … }, or rank = { of = "user:{user_id}", … }, or members = { of = "user:{user_id}", … }
"#,
        );
    }

    #[test]
    fn a_near_setting_of_the_same_table_is_rather_meant() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
field = { name = "string" }
"#,
            r#"KW0005 3:1 `field` is a setting of lookup [not in [key."…"]] | help: write `fields`"#,
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
[keys."a"]
type = "hash"
"#,
            "KW0005 3:2 `keys` is a setting of [function.…] and expect [not in the file] | help: write `key`",
        );
    }

    #[test]
    fn max_fanout_is_for_derived_keys() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
max_fanout = 10
"#,
            "KW0005 3:1 `max_fanout` is a setting of derived keys [clients write this key] | help: remove `max_fanout`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[key."b"]
type = "set"
members = { of = "a:{x}" }
max_fanout = 10
"#,
            "",
        );
    }
}
