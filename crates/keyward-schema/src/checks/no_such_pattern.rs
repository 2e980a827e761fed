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
