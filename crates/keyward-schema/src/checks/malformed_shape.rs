//! KW0202: the type of a value cannot be read.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::Located;
use crate::shape::{ExprError, ExprProblem, MAX_SHAPE_DEPTH, MAX_WORDS, Shape, TYPE_NAMES};
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0202",
    level: Level::Error,
    title: "the type of a value cannot be read",
    why: "
Types of values are `string`, `str` (text without a colon), `int`, `uint`,
`float`, `decimal`, `decimal(2)`, `bool`, `timestamp` (RFC 3339),
`timestamp_ms`, `uuid`, `base58`, `hex`, `date`, `month`, `json`, and built
from them `T[]`, `{string: T}`, `T | null`; `object` stands for the `fields`
beside it. Words joined by `|` are an enum; a word that is also the name of a
type, or stands alone, is put in single quotes. `?` makes a field optional.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
name = "sting"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
name = "string"
"#,
};

/// What other languages call the types of values.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("text", "string"),
    ("varchar", "string"),
    ("integer", "int"),
    ("long", "int"),
    ("bigint", "int"),
    ("number", "float"),
    ("double", "float"),
    ("real", "float"),
    ("numeric", "decimal"),
    ("money", "decimal"),
    ("boolean", "bool"),
    ("datetime", "timestamp"),
    ("timestamptz", "timestamp"),
    ("map", "{string: json}"),
    ("dict", "{string: json}"),
    ("array", "json[]"),
    ("list", "json[]"),
    ("any", "json"),
];

pub(crate) fn found(error: &ExprError, expr: Located<&str>) -> Diagnostic {
    let text = expr.value;
    let inner = Span { start: expr.at.start + 1, end: expr.at.end };
    let exact = (expr.at.end - expr.at.start) as usize == text.len() + 2;
    let part = if exact { inner.within(error.range.clone()) } else { None };
    let (message, help) = match &error.problem {
        ExprProblem::Expected(what) => (format!("expected {what}"), None),
        ExprProblem::UnknownType(name) => {
            let known = OTHER_NAMES.iter().find(|(other, _)| other == name).map(|(_, ours)| *ours);
            let near = known.or_else(|| nearest(name, TYPE_NAMES));
            let help = near.map_or_else(
                || format!("for the one word itself write \"'{name}'\""),
                |near| text_form(&replaced(text, error.range.start, name, near)),
            );
            (format!("there is no type `{name}`"), Some(help))
        }
        ExprProblem::TypeAmongWords(word) => (
            format!("`{word}` among the words of an enum is the name of a type"),
            Some(format!(
                "for the word itself write '{word}'; a union is only with null: \"{word} | null\""
            )),
        ),
        ExprProblem::SeveralTypes => (
            "a value has one type, with or without null".to_owned(),
            Some("\"json\" takes any".to_owned()),
        ),
        ExprProblem::RepeatedWord(word) => (format!("`{word}` is there twice"), None),
        ExprProblem::ObjectWithoutFields => (
            "`object` stands for the `fields` beside it".to_owned(),
            Some("{ type = \"object\", fields = { name = \"string\" } }, or \"json\"".to_owned()),
        ),
        ExprProblem::KeyType => (
            "the keys of a JSON object are text or numbers".to_owned(),
            Some("\"{string: json}\"".to_owned()),
        ),
        ExprProblem::TooManyWords => (format!("an enum has at most {MAX_WORDS} words"), None),
        ExprProblem::TooDeep => (format!("types nest at most {MAX_SHAPE_DEPTH} deep"), None),
    };
    RULE.at(part.unwrap_or(expr.at), "here").saying(message).maybe_help(help)
}

/// The text with one word in the place of another that begins there.
fn replaced(text: &str, start: usize, word: &str, better: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(start..start + word.len(), better);
    text
}

/// `fields` or `extra` beside a type that is no object.
pub(crate) fn fields_unused(shape: &Shape, at: Span) -> Diagnostic {
    RULE.at(at, format!("beside {shape}"))
        .saying("`fields` and `extra` say what `object` in the type means, and it is not there")
        .help("type = \"object\", or \"object[]\", or \"{string: object}\"")
}

/// A shape that is nested too deep, all parts of it together.
pub(crate) fn too_deep(at: Span) -> Diagnostic {
    RULE.at(at, "too deep").saying(format!("types nest at most {MAX_SHAPE_DEPTH} deep"))
}

/// A misspelt word of `extra`.
pub(crate) fn extra(word: &str, near: &str, at: Span) -> Diagnostic {
    RULE.at(at, "here")
        .saying(format!("`extra` is `reject`, `allow` or a type, not `{word}`"))
        .help(format!("extra = \"{near}\""))
}

/// `?` where nothing can be left out.
pub(crate) fn optional_here(at: Span) -> Diagnostic {
    RULE.at(at, "is always there")
        .saying("only a field or an argument can be optional")
        .help("drop the `?`")
}

#[cfg(test)]
mod tests {
    use super::OTHER_NAMES;
    use crate::checks::testing::{check, check_help};
    use crate::toml_form::text_form;

    #[test]
    fn a_type_of_another_language_is_offered_in_our_words() {
        for (other, ours) in OTHER_NAMES {
            let schema =
                format!("[key.\"a:{{x}}\"]\ntype = \"json\"\nfields = {{ f = \"{other}?\" }}\n");
            check_help(&schema, &text_form(&format!("{other}?")), &text_form(&format!("{ours}?")));
        }
    }

    #[test]
    fn the_part_that_cannot_be_read_is_pointed_at() {
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "" }
"#,
            "KW0202 3:17 expected a type [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "strng" }
"#,
            r#"KW0202 3:17 there is no type `strng` [here] | help: "string""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "{strin: string}" }
"#,
            r#"KW0202 3:18 there is no type `strin` [here] | help: "{string: string}""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "green" }
"#,
            r#"KW0202 3:17 there is no type `green` [here] | help: for the one word itself write "'green'""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "a | string" }
"#,
            r#"KW0202 3:21 `string` among the words of an enum is the name of a type [here] | help: for the word itself write 'string'; a union is only with null: "string | null""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "string[] | int[]" }
"#,
            r#"KW0202 3:17 a value has one type, with or without null [here] | help: "json" takes any"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "a | a" }
"#,
            "KW0202 3:21 `a` is there twice [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "object" }
"#,
            r#"KW0202 3:17 `object` stands for the `fields` beside it [here] | help: { type = "object", fields = { name = "string" } }, or "json""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "{json: int}" }
"#,
            r#"KW0202 3:18 the keys of a JSON object are text or numbers [here] | help: "{string: json}""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "(a | b" }
"#,
            "KW0202 3:23 expected `)` [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "decimal(99)" }
"#,
            "KW0202 3:25 expected the number of digits behind the point, 0 to 30 [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "null" }
"#,
            "KW0202 3:21 expected a type beside `null` [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "string? x" }
"#,
            "KW0202 3:25 expected the end of the type [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = "((((((((((((((((int))))))))))))))))" }
"#,
            "KW0202 3:33 types nest at most 16 deep [here]",
        );
    }

    #[test]
    fn nested_tables_and_types_count_together() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { f = "strng" }
"#,
            r#""strng""#,
            r#""string""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
value = { type = "object[][][][][][][][]", fields = { f = "int[][][][][][][][]" } }
"#,
            "KW0202 3:9 types nest at most 16 deep [too deep]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
value = { type = "object[][][][][][][]", fields = { f = "int[][][][][][]" } }
"#,
            "",
        );
    }

    #[test]
    fn only_fields_and_arguments_are_optional() {
        check(
            r#"
[key."a:{x}"]
type = "list"
ttl = "1h"
items = "int?"
"#,
            "KW0202 4:9 only a field or an argument can be optional [is always there] | help: drop the `?`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
extra = "int?"
"#,
            "KW0202 3:9 only a field or an argument can be optional [is always there] | help: drop the `?`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
reply = "int?"
"#,
            "KW0202 4:9 only a field or an argument can be optional [is always there] | help: drop the `?`",
        );
    }

    #[test]
    fn fields_beside_a_type_without_an_object() {
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", fields = { g = "int" } } }
"#,
            r#"KW0202 3:35 `fields` and `extra` say what `object` in the type means, and it is not there [beside string] | help: type = "object", or "object[]", or "{string: object}""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "object[]?", fields = { g = "int" } }, h = { type = "{string: object}", extra = "allow" } }
"#,
            "",
        );
    }

    #[test]
    fn misspelt_words_of_extra() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
extra = "alow"
"#,
            r#"extra = "alow""#,
            r#"extra = "allow""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
extra = "int"
"#,
            "",
        );
    }
}
