//! KW0603: a function uses one name for different things.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Kind;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0603",
    level: Level::Error,
    title: "a function uses one name for different things",
    why: "
The same placeholder name in two keys of a function stands for the same value,
so there must be values that both keys accept.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."day:{when:date}"]
type = "hash"
[key."month:{when:month}"]
type = "hash"
[function.report]
keys = ["day:{when}", "month:{when}"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."day:{when:date}"]
type = "hash"
[key."month:{when:month}"]
type = "hash"
[function.report]
keys = ["day:{day}", "month:{month}"]
"#,
};

pub(crate) fn found(name: &str, kind: &Kind, first: &Kind, at: Span) -> Diagnostic {
    RULE.at(at, format!("{} here", kind.in_words()))
        .saying(format!("`{{{name}}}` cannot be both {} and {}", first.in_words(), kind.in_words()))
        .help(format!("call one of them {{{name}_2}}"))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_name_is_one_thing() {
        check(
            r#"
[key."a:{x:uint}"]
type = "hash"
[key."b:{x:uuid}"]
type = "hash"
[function.f]
keys = ["a:{id}", "b:{id}"]
"#,
            "KW0603 6:19 `{id}` cannot be both a whole number not below zero and a UUID [a UUID here] | see 6:9 used here | help: call one of them {id_2}",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[key."b:{x:uint}"]
type = "hash"
[key."c:{x:uuid}"]
type = "hash"
[function.f]
keys = ["a:{id}", "b:{id}", "c:{id}"]
"#,
            "KW0603 8:29 `{id}` cannot be both a whole number not below zero and a UUID [a UUID here] | see 8:19 used here | help: call one of them {id_2}",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[key."b:{x:uint}"]
type = "hash"
[function.f]
keys = ["a:{id}", "b:{id}"]
"#,
            "",
        );
    }
}
