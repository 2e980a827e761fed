//! KW0111: the pattern has no such placeholder.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::Pattern;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0111",
    level: Level::Error,
    title: "the pattern has no such placeholder",
    why: "
`secret` and `personal` name placeholders of their own key's pattern, without
braces. A name that the pattern does not have would leave readable what was
meant to be hidden.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."reset:{token}"]
type = "string"
ttl = "1h"
secret = ["tokn"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."reset:{token}"]
type = "string"
ttl = "1h"
secret = ["token"]
"#,
};

pub(crate) fn found(setting: &str, name: &str, own: &Pattern, at: Span) -> Diagnostic {
    let names = || own.placeholders().iter().map(|placeholder| &*placeholder.name);
    let bare = name.trim_matches(['{', '}']);
    let near = nearest(bare, names()).or(names().next());
    let found =
        RULE.at(at, "no placeholder").saying(format!("`{own}` has no placeholder `{name}`"));
    match near {
        Some(near) => found.help(text_form(near)),
        None => found.help(format!("remove `{setting}`, or say `{setting} = true` of the values")),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn secret_names_placeholders_of_its_own_pattern() {
        check(
            "[key.\"reset:{code}\"]\ntype = 'string'\nttl = '1h'\nsecret = ['cod']",
            "KW0111 4:11 `reset:{code}` has no placeholder `cod` [no placeholder] | help: \"code\"",
        );
        check("[key.\"reset:{code}\"]\ntype = 'string'\nttl = '1h'\nsecret = ['code']", "");
        check(
            "[key.\"reset\"]\ntype = 'string'\nttl = '1h'\npersonal = ['code']",
            "KW0111 4:13 `reset` has no placeholder `code` [no placeholder] | help: remove `personal`, or say `personal = true` of the values",
        );
        check(
            "[key.\"reset\"]\ntype = 'string'\nttl = '1h'\nsecret = ['code']",
            "KW0111 4:11 `reset` has no placeholder `code` [no placeholder] | help: remove `secret`, or say `secret = true` of the values",
        );
        check_help(
            "[key.\"reset:{code}\"]\ntype = 'string'\nttl = '1h'\nsecret = ['{code}']",
            "'{code}'",
            "\"code\"",
        );
    }
}
