//! KW0501: the schema declares no such key.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::KeyDraft;
use crate::read::table::Located;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0501",
    level: Level::Error,
    title: "the schema declares no such key",
    why: "
`of`, `with`, `inverse` and `follows` name a key that the same schema declares:
the same literals, and a placeholder wherever it has one. Names of placeholders
are free, types need not be repeated.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "str"
status = "active | closed"
seen_at = "timestamp?"

[key."by_email:{email}"]
type = "string"
lookup = { of = "users:{user_id}", field = "email" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "str"
status = "active | closed"
seen_at = "timestamp?"

[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{user_id}", field = "email" }
"#,
};

pub(crate) fn found(setting: &str, template: Located<&str>, drafts: &[KeyDraft<'_>]) -> Diagnostic {
    let near = nearest(template.value, drafts.iter().map(|draft| draft.text));
    RULE.at(template.at, "matches no pattern")
        .saying(format!("no key is declared like `{}`", template.value))
        .maybe_help(near.map(|near| format!("{setting} = {}", text_form(near))))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn the_nearest_pattern_is_offered() {
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by:{e}"]
type = "string"
lookup = { of = "us:{id}", field = "e" }
"#,
            r#"of = "us:{id}""#,
            r#"of = "u:{id}""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { with = "zzzzzzzz:{x}" }
"#,
            "KW0501 3:16 no key is declared like `zzzzzzzz:{x}` [matches no pattern]",
        );
        check(
            r#"
[key."u:{id:uint}"]
type = "hash"
[key."all"]
type = "set"
members = { of = "u:{id:uuid}" }
"#,
            r#"KW0501 5:18 no key is declared like `u:{id:uuid}` [matches no pattern] | help: of = "u:{id:uint}""#,
        );
    }
}
