//! KW0101: the pattern cannot be read.

use super::{address_beside_text, adjacent_placeholders, second_rest, unreadable_word};
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::{
    Kind, MAX_PATTERN_BYTES, MAX_PLACEHOLDERS, MAX_SEGMENTS, PatternError, PatternProblem, is_name,
};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0101",
    level: Level::Error,
    title: "the pattern cannot be read",
    why: "
A pattern is literal text with placeholders in it: `{name}` or `{name:type}`
with a type of `str`, `int`, `uint`, `uuid`, `ulid`, `base58`, `base64url`,
`hex`, `slug`, `date`, `month`, `ip`, `rest`, `text(…)` of an alphabet or a
length, or words `{window:minute|hour}`. Between two placeholders there is text,
by which a key can be read in one way only. `{{` and `}}` stand for braces
themselves, and `{{{id}}}` for a placeholder within a hash tag. Names are
letters, digits and underscores, begin with no digit, and differ. There are at
most 16 segments between colons and 16 placeholders.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user-{id"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user-{id}"]
type = "hash"
"#,
};

pub(crate) fn found(text: &str, error: &PatternError, at: Span) -> Diagnostic {
    // The text stands between quotes, and has the same length unless escaped.
    let inner = Span { start: at.start + 1, end: at.end };
    let exact = (at.end - at.start) as usize == text.len() + 2;
    let part = if exact { inner.within(error.range.clone()) } else { None };
    let piece = text.get(error.range.clone()).unwrap_or(text);
    let place = part.unwrap_or(at);
    match &error.problem {
        PatternProblem::SideBySide => adjacent_placeholders::found(place),
        PatternProblem::SecondRest => second_rest::found(place),
        PatternProblem::AddressBesideText(text) => address_beside_text::found(text, place),
        PatternProblem::UnreadableWord { word, text } => unreadable_word::found(word, text, place),
        problem => {
            let (message, label, help) = describe(problem, piece);
            RULE.at(place, label).saying(message).maybe_help(help)
        }
    }
}

/// What other languages call the types of placeholders, and what is written here.
const OTHER_KINDS: &[(&[&str], &str)] = &[
    (&["integer", "number", "int32", "int64", "i64", "long", "bigint"], ":int"),
    (&["uint32", "uint64", "u64", "unsigned", "counter"], ":uint"),
    (&["string", "any", "id", "word", "name", "varchar", "char"], ""),
    (&["path", "all", "*", "tail"], ":rest"),
    (&["guid"], ":uuid"),
    (&["ipv4", "ipv6", "inet", "address"], ":ip"),
    (&["day"], ":date"),
];

fn describe(problem: &PatternProblem, piece: &str) -> (String, &'static str, Option<String>) {
    let say = |message: &str, label| (message.to_owned(), label, None);
    match problem {
        PatternProblem::Empty => say("a pattern is not empty", "empty"),
        PatternProblem::TooLong => (
            format!(
                "a pattern has at most {MAX_SEGMENTS} segments, {MAX_PLACEHOLDERS} placeholders and {MAX_PATTERN_BYTES} bytes"
            ),
            "too long",
            None,
        ),
        PatternProblem::Unclosed => {
            (format!("`{piece}` has no closing brace"), "not closed", Some(format!("`{piece}}}`")))
        }
        PatternProblem::StrayBrace => (
            "a closing brace without an opening one".to_owned(),
            "not opened",
            Some("write `}}` for a brace itself".to_owned()),
        ),
        PatternProblem::BadName => {
            let what = "a placeholder is named by letters, digits and underscores, and its name \
                        begins with no digit";
            (what.to_owned(), "not a name", name_meant(piece))
        }
        PatternProblem::UnknownKind(kind) => {
            let known = OTHER_KINDS.iter().find(|(others, _)| others.contains(&kind.trim()));
            let meant = known.map(|(_, ours)| (*ours).to_owned());
            let meant = meant.or_else(|| Some(format!(":{}", nearest(kind, Kind::NAMES)?)));
            let near = meant.map(|meant| piece.replace(&format!(":{kind}"), &meant));
            let types = Kind::NAMES.join(", ");
            let message =
                format!("there is no placeholder type `{kind}`; there are {types}, text(…)");
            (message, "unknown type", near.map(|near| format!("`{near}`")))
        }
        PatternProblem::BadEnum => say(
            "the words of a placeholder differ, and none is empty or holds a colon or brace",
            "not a list of words",
        ),
        PatternProblem::Repeated(name) => (
            format!("the placeholder `{name}` is there twice"),
            "again",
            Some(format!("`{{{name}2}}`")),
        ),
        PatternProblem::BadText => (
            "`text` is of an alphabet of two characters or more, or of 1 to 256 characters"
                .to_owned(),
            "not an alphabet, nor a length",
            Some("`text(a-z0-9)`, `text(32)` or `text(a-z0-9, 32)`".to_owned()),
        ),
        // These have rules of their own.
        PatternProblem::SideBySide
        | PatternProblem::SecondRest
        | PatternProblem::AddressBesideText(_)
        | PatternProblem::UnreadableWord { .. } => say("it cannot be read in one way", "here"),
    }
}

/// A placeholder with a name that can be read in the place of hyphens, points and spaces.
fn name_meant(piece: &str) -> Option<String> {
    let inner = piece.strip_prefix('{')?.strip_suffix('}')?;
    let (name, kind) =
        inner.split_once(':').map_or((inner, None), |(name, kind)| (name, Some(kind)));
    let mut meant = name.trim().replace(['-', '.', ' '], "_");
    if meant.starts_with(|first: char| first.is_ascii_digit()) {
        // What is counted by is no name, and what follows the digits may be one.
        let behind =
            meant.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
        meant = if behind.is_empty() { format!("n{meant}") } else { behind.to_owned() };
    }
    is_name(&meant).then(|| match kind {
        Some(kind) => format!("`{{{meant}:{kind}}}`"),
        None => format!("`{{{meant}}}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::OTHER_KINDS;
    use crate::checks::testing::{check, check_help};

    #[test]
    fn a_type_of_another_language_is_offered_in_our_words() {
        for (others, ours) in OTHER_KINDS {
            for other in *others {
                let schema = format!("[key.\"a:{{x:{other}}}\"]\ntype = \"hash\"\n");
                check_help(&schema, &format!("{{x:{other}}}"), &format!("{{x{ours}}}"));
            }
        }
    }

    #[test]
    fn the_part_that_cannot_be_read_is_pointed_at() {
        check(
            r#"
[key."a:{x"]
type = "hash"
"#,
            "KW0101 1:9 `{x` has no closing brace [not closed] | help: `{x}`",
        );
        check(
            r#"
[key."a:x}"]
type = "hash"
"#,
            "KW0101 1:10 a closing brace without an opening one [not opened] | help: write `}}` for a brace itself",
        );
        check(
            r#"
[key."a:{1}"]
type = "hash"
"#,
            "KW0101 1:9 a placeholder is named by letters, digits and underscores, and its name begins with no digit [not a name] | help: `{n1}`",
        );
        check(
            r#"
[key."a:{1a:uint}"]
type = "hash"
"#,
            "KW0101 1:9 a placeholder is named by letters, digits and underscores, and its name begins with no digit [not a name] | help: `{a:uint}`",
        );
        check(
            r#"
[key."a:{my-id:uint}"]
type = "hash"
"#,
            "KW0101 1:9 a placeholder is named by letters, digits and underscores, and its name begins with no digit [not a name] | help: `{my_id:uint}`",
        );
        check(
            r#"
[key."a:{x:unt}"]
type = "hash"
"#,
            "KW0101 1:9 there is no placeholder type `unt`; there are str, int, uint, uuid, ulid, base58, base64url, hex, slug, date, month, ip, rest, text(…) [unknown type] | help: `{x:int}`",
        );
        check(
            r#"
[key."a:{unt:unt}"]
type = "hash"
"#,
            "KW0101 1:9 there is no placeholder type `unt`; there are str, int, uint, uuid, ulid, base58, base64url, hex, slug, date, month, ip, rest, text(…) [unknown type] | help: `{unt:int}`",
        );
        check(
            r#"
[key."a:{x:a|a}"]
type = "hash"
"#,
            "KW0101 1:9 the words of a placeholder differ, and none is empty or holds a colon or brace [not a list of words]",
        );
        check(
            r#"
[key."{x}:{x}"]
type = "hash"
"#,
            "KW0101 1:11 the placeholder `x` is there twice [again] | help: `{x2}`",
        );
        check(
            r#"
[key."a:{x:text(a)}"]
type = "hash"
"#,
            "KW0101 1:9 `text` is of an alphabet of two characters or more, or of 1 to 256 characters [not an alphabet, nor a length] | help: `text(a-z0-9)`, `text(32)` or `text(a-z0-9, 32)`",
        );
        check(
            r#"
[key.""]
type = "hash"
"#,
            "KW0101 1:7 a pattern is not empty [empty]",
        );
        check(
            r#"
[key."1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17"]
type = "hash"
"#,
            "KW0101 1:7 a pattern has at most 16 segments, 16 placeholders and 1024 bytes [too long]",
        );
    }

    #[test]
    fn escaped_text_is_pointed_at_as_a_whole() {
        check(
            r#"
[key."a\u003a{x"]
type = "hash"
"#,
            "KW0101 1:6 `{x` has no closing brace [not closed] | help: `{x}`",
        );
    }

    #[test]
    fn templates_are_patterns_too() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { with = "b:{x" }
"#,
            "KW0101 3:19 `{x` has no closing brace [not closed] | help: `{x}`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
keys = ["a:{x"]
"#,
            "KW0101 4:12 `{x` has no closing brace [not closed] | help: `{x}`",
        );
    }

    #[test]
    fn an_empty_segment_a_tag_and_a_doubled_brace_are_sound() {
        check(
            r#"
[key."a::{{{x}}}:{{y}}:{z:rest}"]
type = "hash"
"#,
            "",
        );
    }
}
