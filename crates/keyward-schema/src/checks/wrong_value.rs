//! KW0006: the value is of the wrong kind.

use toml::de::DeValue;

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::{Entry, kind_of};
use crate::source::Span;
use crate::toml_form::{name_form, text_form};

pub(crate) static RULE: Rule = Rule {
    code: "KW0006",
    level: Level::Error,
    title: "the value is of the wrong kind",
    why: "
The setting wants another kind of value, or one of certain words.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
mode = "strict"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
mode = "enforce"
"#,
};

pub(crate) fn found(entry: Entry<'_>, expected: &str) -> Diagnostic {
    let better = match entry.value.get_ref() {
        DeValue::String(text) if expected.starts_with("true or false") => {
            ["true", "false"].into_iter().find(|word| *word == &**text).map(str::to_owned)
        }
        DeValue::String(text) if expected.starts_with("the number") => {
            text.trim().parse::<u8>().ok().map(|number| number.to_string())
        }
        DeValue::String(text) if expected == "a table" => table_meant(entry.name, &text_form(text)),
        DeValue::String(text) if expected.starts_with("an array of") => {
            Some(format!("[{}]", text_form(text)))
        }
        _ => None,
    };
    RULE.at(entry.value.span().into(), format!("this is {}", kind_of(entry.value)))
        .saying(format!("`{}` wants {expected}", entry.name))
        .maybe_help(better.map(|better| format!("{} = {better}", name_form(entry.name))))
}

/// The table of a setting for which its most important text was given alone.
fn table_meant(setting: &str, text: &str) -> Option<String> {
    Some(match setting {
        "members" => format!("{{ of = {text} }}"),
        "lookup" => format!("{{ of = {text}, field = \"email\" }}"),
        "rank" => format!("{{ of = {text}, by = \"score\" }}"),
        "sink" => format!("{{ mirror = {text} }}"),
        _ => return None,
    })
}

pub(crate) fn empty(entry: Entry<'_>) -> Diagnostic {
    RULE.at(entry.value.span().into(), "empty")
        .saying(format!("`{}` wants a text that is not empty", entry.name))
}

/// A name that cannot be a user's.
pub(crate) fn no_user(setting: &str, name: &str, at: Span) -> Diagnostic {
    let label = if name.is_empty() { "this is empty" } else { "this has one" };
    RULE.at(at, label).saying(format!("`{setting}` wants names of users, which have no spaces"))
}

/// What other programs call the words of a choice: the setting, their words, ours.
const OTHER_WORDS: &[(&str, &[&str], &str)] = &[
    ("renew", &["read", "reads", "always", "sliding", "rolling", "touch", "use"], "access"),
    ("renew", &["writes", "set", "update"], "write"),
    ("renew", &["none", "no", "off", "fixed", "absolute"], "never"),
    ("evict", &["allkeys-lru", "volatile-lru"], "lru"),
    ("evict", &["allkeys-lfu", "volatile-lfu"], "lfu"),
    ("evict", &["volatile-ttl"], "ttl"),
    ("evict", &["noeviction", "none", "no", "off"], "never"),
    ("mode", &["strict", "on", "reject"], "enforce"),
    ("mode", &["log", "report", "permissive"], "warn"),
    ("mode", &["off", "none", "disabled", "monitor", "dry-run", "shadow"], "observe"),
    ("unknown", &["log", "report"], "warn"),
    ("unknown", &["ignore", "accept", "pass", "any"], "allow"),
    ("unknown", &["refuse", "deny", "forbid", "error", "strict"], "reject"),
    ("excess", &["truncate", "cap", "cut", "limit", "shorten"], "clamp"),
    ("excess", &["reject", "deny", "error"], "refuse"),
    ("persist", &["append", "appendonly", "log", "always", "everysec"], "aof"),
    ("persist", &["snapshot", "save", "dump"], "rdb"),
    ("persist", &["no", "off", "never", "memory"], "none"),
    ("severity", &["warn"], "warning"),
    ("severity", &["error", "high", "page", "fatal"], "critical"),
    ("severity", &["low", "notice"], "info"),
    ("deleted", &["soft", "flag"], "mark"),
    ("deleted", &["hard", "remove"], "delete"),
    ("merge", &["sum", "increment"], "add"),
];

/// A word that is none of a choice. Where nothing tells which was meant, none is offered: the
/// message has them all.
pub(crate) fn not_among(name: &str, word: &str, words: &[&str], at: Span) -> Diagnostic {
    let lower = word.trim().to_ascii_lowercase().replace('_', "-");
    let known = OTHER_WORDS
        .iter()
        .find(|(setting, others, _)| *setting == name && others.contains(&&*lower))
        .map(|(_, _, ours)| *ours);
    let meant = known.or_else(|| nearest(word, words.iter().copied()));
    RULE.at(at, "not one of them")
        .saying(format!("`{name}` is one of {}", words.join(", ")))
        .maybe_help(meant.map(|meant| format!("{name} = \"{meant}\"")))
}

#[cfg(test)]
mod tests {
    use super::{OTHER_WORDS, not_among};
    use crate::checks::testing::{check, check_help, check_whole_file};
    use crate::source::Span;

    #[test]
    fn the_right_form_of_the_same_value_is_offered() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
secret = "true"
"#,
            r#"secret = "true""#,
            "secret = true",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = "KW0310: few"
"#,
            r#"KW0006 3:9 `allow` wants an array of texts [this is a text] | help: allow = ["KW0310: few"]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
doc = 7
"#,
            "KW0006 3:7 `doc` wants a text in quotes [this is a whole number]",
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
db = "3"
[key."a"]
type = "hash"
"#,
            "KW0006 3:6 `db` wants the number of a database, 0 to 255 [this is a text] | help: db = 3",
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
db = 256
[key."a"]
type = "hash"
"#,
            "KW0006 3:6 `db` wants the number of a database, 0 to 255 [this is a whole number]",
        );
        check_whole_file(
            r#"
key = 1
[keyspace]
name = "x"
"#,
            "KW0006 1:7 `key` wants a table [this is a whole number]",
        );
    }

    #[test]
    fn a_text_in_the_place_of_a_table_is_put_into_one() {
        let source =
            "[key.\"user:{id}\"]\ntype = \"hash\"\nfields = { email = \"str\", score = \"int\" }\n";
        let check = |wrong: &str, right: &str, rest: &str| {
            check_help(&format!("{source}{rest}\n{wrong}\n"), wrong, right);
        };
        check(
            "members = \"user:{id}\"",
            "members = { of = \"user:{id}\" }",
            "[key.\"users\"]\ntype = \"set\"",
        );
        check(
            "rank = \"user:{id}\"",
            "rank = { of = \"user:{id}\", by = \"score\" }",
            "[key.\"best\"]\ntype = \"zset\"",
        );
        check(
            "lookup = \"user:{id}\"",
            "lookup = { of = \"user:{id}\", field = \"email\" }",
            "[key.\"mail:{email}\"]\ntype = \"string\"",
        );
    }

    #[test]
    fn a_choice_offers_its_nearest_word() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
mode = "enforc"
"#,
            r#"mode = "enforc""#,
            r#"mode = "enforce""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
evict = "sometimes"
"#,
            "KW0006 3:9 `evict` is one of never, first, lru, lfu, ttl [not one of them]",
        );
    }

    #[test]
    fn other_programs_words_are_offered_in_ours() {
        for (setting, others, ours) in OTHER_WORDS {
            for other in *others {
                let (wrong, right) =
                    (format!("{setting} = \"{other}\""), format!("{setting} = \"{ours}\""));
                let schema = match *setting {
                    "renew" | "excess" => {
                        format!("type = \"hash\"\nttl = {{ after = \"1h\", {wrong} }}")
                    }
                    "deleted" => format!(
                        "type = \"hash\"\nfields = {{ n = \"int\" }}\nsink = {{ mirror = \"t\", {wrong} }}"
                    ),
                    "merge" => format!(
                        "type = \"hash\"\nfields = {{ n = \"int\" }}\nttl = \"1h\"\nsink = {{ archive = \"t\", {wrong} }}"
                    ),
                    "severity" => format!(
                        "type = \"hash\"\nalert.hit_ratio = {{ when = \"< 70%\", {wrong} }}"
                    ),
                    "evict" | "mode" => format!("type = \"hash\"\n{wrong}"),
                    // These stand under the keyspace.
                    _ => {
                        let found = not_among(setting, other, &[ours], Span::default());
                        assert_eq!(found.help.as_deref(), Some(&*right), "{other}");
                        continue;
                    }
                };
                check_help(&format!("[key.\"a:{{x}}\"]\n{schema}\n"), &wrong, &right);
            }
        }
    }

    #[test]
    fn a_name_is_not_empty() {
        check_whole_file(
            r#"
[keyspace]
name = " "
[key."a"]
type = "hash"
"#,
            "KW0006 2:8 `name` wants a text that is not empty [empty]",
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
[key."a"]
type = "hash"
[[note]]
title = ""
text = "x"
"#,
            "KW0006 6:9 `title` wants a text that is not empty [empty]",
        );
        check_whole_file(
            r#"
note = [1]
[keyspace]
name = "x"
[key."a"]
type = "hash"
"#,
            "KW0006 1:9 `note` wants a table [this is a whole number]",
        );
    }
}
