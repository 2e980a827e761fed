//! KW0306: a given lifetime needs a default here.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::KeyDraft;
use crate::read::table::Located;
use crate::source::Span;
use crate::units::Duration;

pub(crate) static RULE: Rule = Rule {
    code: "KW0306",
    level: Level::Error,
    title: "a given lifetime needs a default here",
    why: "
SET can name a lifetime; INCR, HSET, LPUSH, SADD and ZADD cannot. A key that
they create needs one all the same: `default` says which.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."hits:{id}"]
type = "int"
ttl = { given = true, max = "1h" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."hits:{id}"]
type = "int"
ttl = { given = true, max = "1h", default = "1m" }
"#,
};

pub(crate) fn found(
    draft: &KeyDraft<'_>,
    bound: Option<Located<Duration>>,
    at: Span,
) -> Diagnostic {
    let data = draft.data.map_or("this type", |data| data.name());
    let default = bound.map_or("1h".to_owned(), |bound| bound.value.to_string());
    RULE.at(at, "no default")
        .saying(format!("commands that create a key of type {data} cannot say how long it lives"))
        .help(format!("add default = \"{default}\""))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn types_whose_commands_cannot_say() {
        check_help(
            r#"
[key."a:{x}"]
type = "int"
ttl = { given = true, max = "1h" }
"#,
            r#"max = "1h""#,
            r#"default = "1h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { given = true }
"#,
            r#"KW0306 3:1 commands that create a key of type hash cannot say how long it lives [no default] | help: add default = "1h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = { given = true, max = "1h" }
[key."b:{x}"]
type = "int"
ttl = { given = true, default = "1h" }
"#,
            "",
        );
    }
}
