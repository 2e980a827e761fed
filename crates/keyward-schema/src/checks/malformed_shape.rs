//! KW0202: the type of a value cannot be read.

mod meant;

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::Located;
use crate::shape::{ExprError, ExprProblem, MAX_SHAPE_DEPTH, MAX_WORDS, Shape, TYPE_NAMES};
use crate::source::Span;
use crate::toml_form::text_form;
use meant::{Meant, meant};

pub(crate) static RULE: Rule = Rule {
    code: "KW0202",
    level: Level::Error,
    title: "the type of a value cannot be read",
    why: "
Types of values are `string` and `bytes` (anything), `str` (text without a
colon), `text(a-z0-9, 32)` (text of an alphabet or a length), `int`, `uint`,
`float`, `decimal`, `decimal(2)`, `bool`, `timestamp` (RFC 3339),
`timestamp_ms`, `date`, `month`, `uuid`, `ulid`, `base58`, `base64url`, `hex`,
`slug`, `ip`, `json`, and built from them `T[]`, `{string: T}`, `T | null` in
JSON (there is no `null` elsewhere); `object` stands for the `fields` beside it. Words joined by `|` are an enum; a word that is also the name of a
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

/// Where a type is written.
pub(crate) enum Place<'t> {
    /// By itself in quotes, where a table may stand too.
    Alone(Located<&'t str>),
    /// As the `type` of a table.
    InTable(Located<&'t str>),
    /// As this part of an argument.
    Argument(Located<&'t str>, Range<usize>),
}

impl<'t> Place<'t> {
    /// The whole text, and where the type is in it.
    fn text(&self) -> (Located<&'t str>, Range<usize>) {
        match self {
            Place::Alone(text) | Place::InTable(text) => (*text, 0..text.value.len()),
            Place::Argument(text, part) => (*text, part.clone()),
        }
    }

    /// How what was meant is written here.
    fn form(&self, meant: Meant) -> String {
        match (self, meant) {
            (Place::Alone(_) | Place::InTable(_), Meant::Type(ty)) => text_form(&ty),
            (Place::Alone(_), Meant::Text { optional, bytes_max }) => {
                let mark = if optional { "?" } else { "" };
                format!("{{ type = \"string{mark}\", len = \"..{bytes_max}\" }}")
            }
            (Place::InTable(_), Meant::Text { optional, bytes_max }) => {
                let mark = if optional { "?" } else { "" };
                format!("type = \"string{mark}\", len = \"..{bytes_max}\"")
            }
            (Place::Argument(text, part), meant) => {
                let ty = match meant {
                    Meant::Type(ty) => ty,
                    Meant::Text { optional: true, .. } => "string?".to_owned(),
                    Meant::Text { optional: false, .. } => "string".to_owned(),
                };
                let (before, after) = (&text.value[..part.start], &text.value[part.end..]);
                text_form(&format!("{before}{ty}{after}"))
            }
        }
    }
}

pub(crate) fn found(error: &ExprError, place: &Place<'_>) -> Diagnostic {
    let (whole, part) = place.text();
    let inner = Span { start: whole.at.start + 1, end: whole.at.end };
    let exact = (whole.at.end - whole.at.start) as usize == whole.value.len() + 2;
    let range = part.start + error.range.start..part.start + error.range.end;
    let at = if exact { inner.within(range) } else { None };
    let meant = meant(&whole.value[part], error).map(|meant| place.form(meant));
    let (message, help) = match &error.problem {
        ExprProblem::Expected(what) => (format!("expected {what}"), meant),
        ExprProblem::UnknownType(name) if meant.is_none() => {
            let word = place.form(Meant::Type(format!("'{name}'")));
            (
                format!("there is no type `{name}`; there are {}, text(…)", TYPE_NAMES.join(", ")),
                Some(format!("for the one word itself write {word}")),
            )
        }
        ExprProblem::UnknownType(name) => (format!("there is no type `{name}`"), meant),
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
    RULE.at(at.unwrap_or(whole.at), "here").saying(message).maybe_help(help)
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
    use super::RULE;
    use super::meant::OTHER_NAMES;
    use crate::checks::testing::{check, check_help};
    use crate::shape::TYPE_NAMES;
    use crate::toml_form::text_form;

    #[test]
    fn the_page_names_every_type() {
        for name in TYPE_NAMES {
            assert!(RULE.why.contains(&format!("`{name}`")), "{name} is not on the page");
        }
    }

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
            r#"KW0202 3:17 there is no type `green`; there are string, str, int, uint, float, decimal, bool, timestamp, timestamp_ms, uuid, ulid, base58, base64url, hex, slug, ip, date, month, json, object, bytes, null, text(…) [here] | help: for the one word itself write "'green'""#,
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
