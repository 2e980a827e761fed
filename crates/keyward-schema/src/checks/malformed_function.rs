//! KW0602: the declaration of a function cannot be read.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::is_name;
use crate::read::table::Located;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0602",
    level: Level::Error,
    title: "the declaration of a function cannot be read",
    why: "
A function is named by letters, digits and underscores. Its arguments are
written `name: type`, optional ones with `?` behind the required ones; `...`
behind the last key or argument lets it repeat. Codes of errors are in
capitals.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = "30d"
[function.redeem]
keys = ["coupon:{code}"]
args = ["chat_id"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = "30d"
[function.redeem]
keys = ["coupon:{code}"]
args = ["chat_id: uint"]
"#,
};

pub(crate) fn name(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not a name").saying(format!(
        "{name:?} cannot be called: letters, digits and underscores name a function"
    ))
}

pub(crate) fn argument(text: Located<&str>) -> Diagnostic {
    let name = text.value.split(':').next().unwrap_or_default().trim();
    let name = if is_name(name) { name } else { "name" };
    RULE.at(text.at, "not `name: type`")
        .saying("an argument is written `name: type`")
        .help(format!("\"{name}: string\""))
}

pub(crate) fn repeat_not_last(at: Span) -> Diagnostic {
    RULE.at(at, "not the last").saying("only the last one can repeat").help("drop the `...`")
}

pub(crate) fn required_behind_optional(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "behind an optional one")
        .saying(format!("`{name}` must be given, so what stands before it must be too"))
        .help("move it forward")
}

pub(crate) fn repeated_argument(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "again").saying(format!("there are two arguments `{name}`"))
}

pub(crate) fn error_code(code: &str, at: Span) -> Diagnostic {
    let is_code = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let capitals = code.to_ascii_uppercase().replace(['-', ' '], "_");
    let is_sound = !capitals.is_empty() && capitals.bytes().all(is_code);
    RULE.at(at, "not a code")
        .saying(format!("{code:?} is no error code: capitals, digits and underscores"))
        .maybe_help(is_sound.then_some(capitals))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn names_arguments_and_codes() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function."a b"]
"#,
            r#"KW0602 3:11 "a b" cannot be called: letters, digits and underscores name a function [not a name]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["x"]
"#,
            r#"KW0602 4:9 an argument is written `name: type` [not `name: type`] | help: "x: string""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["x y: int"]
"#,
            r#"KW0602 4:9 an argument is written `name: type` [not `name: type`] | help: "name: string""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["x: int...", "y: int"]
"#,
            "KW0602 4:9 only the last one can repeat [not the last] | help: drop the `...`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["x: int?", "y: int"]
"#,
            "KW0602 4:20 `y` must be given, so what stands before it must be too [behind an optional one] | help: move it forward",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["x: int", "x: int"]
"#,
            "KW0602 4:19 there are two arguments `x` [again]",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["x: itn"]
"#,
            r#"KW0202 4:13 there is no type `itn` [here] | help: "x: int""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
keys = ["a:{x}...", "a:{y}"]
"#,
            "KW0602 4:9 only the last one can repeat [not the last] | help: drop the `...`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
errors = { "coupon-used" = "before" }
"#,
            r#"KW0602 4:12 "coupon-used" is no error code: capitals, digits and underscores [not a code] | help: COUPON_USED"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
errors = { "" = "nothing", "ä" = "x" }
"#,
            r#"
KW0602 4:12 "" is no error code: capitals, digits and underscores [not a code]
KW0602 4:28 "ä" is no error code: capitals, digits and underscores [not a code]
"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
errors = ["X"]
"#,
            "KW0006 4:10 `errors` wants a table of codes and their meanings [this is an array]",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
keys = ["a:{x}", "a:{y}..."]
args = ["m: {string: int}", "n: uint?", "ids: str..."]
reply = "int | null"
errors = { X_2 = "x" }
read_only = true
"#,
            "",
        );
    }
}
