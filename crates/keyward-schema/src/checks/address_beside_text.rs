//! KW0114: text beside an address could be part of it.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0114",
    level: Level::Error,
    title: "text beside an address could be part of it",
    why: "
An IPv6 address holds colons and hexadecimal digits, and may end in dots and
numbers. So `ip` stands at the end, or before text that no address contains, or
it takes what the others leave, as `rest` does; a pattern has one that does. Here
another placeholder has that part.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."peer:{address:ip}:{path:rest}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."peer:{address:ip}/{path:rest}"]
type = "hash"
"#,
};

pub(crate) fn found(text: &str, at: Span) -> Diagnostic {
    let text = text.escape_debug();
    RULE.at(at, format!("beside `{text}`, which an address can contain"))
        .help("separate it by other text, such as `/`")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_address_may_take_what_is_left() {
        check(
            r#"
[key."{x:ip}:{y:rest}"]
type = "hash"
"#,
            r#"KW0114 1:7 text beside an address could be part of it [beside `:`, which an address can contain] | help: separate it by other text, such as `/`"#,
        );
        check(
            r#"
[key."{y:rest}.{x:ip}"]
type = "hash"
"#,
            r#"KW0114 1:16 text beside an address could be part of it [beside `.`, which an address can contain] | help: separate it by other text, such as `/`"#,
        );
        check(
            r#"
[key."{x:ip}:{y:ip}:a"]
type = "hash"
"#,
            r#"KW0114 1:14 text beside an address could be part of it [beside `:`, which an address can contain] | help: separate it by other text, such as `/`"#,
        );
        check(
            r#"
[key."{x:ip}:{port:uint}"]
type = "hash"
"#,
            r#""#,
        );
        check(
            r#"
[key."LIMITER/{x:ip}/{y:ip}"]
type = "hash"
"#,
            r#""#,
        );
    }
}
