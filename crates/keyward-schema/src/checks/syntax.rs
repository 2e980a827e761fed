//! KW0001: the file is not valid TOML.

use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0001",
    level: Level::Error,
    title: "the file is not valid TOML",
    why: "
A schema is a TOML file. Where its syntax is broken, the rest of the file is
still read as far as possible, so other findings may follow; mend this first.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
"#,
};

/// Reports the errors in a text that begins at `base`, without those that are there only because of
/// another: further ones in the header of a table, and whatever is twice in a table that is.
pub(crate) fn report_all(
    errors: &[toml::de::Error],
    (text, base): (&str, u32),
    report: &mut Report,
) {
    if errors.is_empty() {
        return;
    }
    let start_of = |error: &toml::de::Error| error.span().map_or(text.len(), |span| span.start);
    let mut errors: Vec<&toml::de::Error> = errors.iter().collect();
    errors.sort_by_key(|error| start_of(error));
    let headers = headers(text);
    // The last header that was told, and whether its table is there twice.
    let mut told: Option<(&Header<'_>, bool)> = None;
    for error in errors {
        let at = error.span().unwrap_or(text.len()..text.len());
        let header = headers.partition_point(|header| header.start <= at.start).checked_sub(1);
        let header = header.map(|place| &headers[place]);
        let within = header.filter(|header| at.start <= header.start + header.line.len());
        let is_twice = error.message() == DUPLICATE;
        let is_dragged = match (told, header) {
            (Some((told, _)), Some(_)) if within.is_some_and(|own| own.start == told.start) => true,
            (Some((told, true)), Some(own)) => is_twice && own.is_part_of(told),
            _ => false,
        };
        if is_dragged {
            continue;
        }
        told = within.map(|header| (header, is_twice)).or(told);
        report.push_with(&RULE, || {
            let help = within.filter(|_| !is_twice).and_then(|header| header.quoted());
            RULE.at(Span::from(at).moved(base), "here")
                .saying(format!("not valid TOML: {}", error.message()))
                .maybe_help(help)
        });
    }
}

/// What the parser says of a name that is there twice.
const DUPLICATE: &str = "duplicate key";

/// A line that begins a table.
struct Header<'t> {
    start: usize,
    line: &'t str,
}

impl Header<'_> {
    /// Whether its table is that of another header, or within it.
    fn is_part_of(&self, other: &Header<'_>) -> bool {
        let outer = other.line.split(']').next().unwrap_or_default();
        let rest = self.line.strip_prefix(outer);
        rest.is_some_and(|rest| rest.starts_with([']', '.']))
    }

    /// The header with its pattern in quotes, if it seems to have one that is in none.
    fn quoted(&self) -> Option<String> {
        let inner = self.line.strip_prefix('[')?.split(']').next()?.trim();
        let has_pattern = inner.contains([':', '{', '*', '<']) && !inner.contains(['"', '\'', '[']);
        let inner = inner.strip_prefix("key.").unwrap_or(inner);
        let (pattern, below) = match inner.strip_suffix(".fields") {
            Some(pattern) => (pattern, ".fields"),
            None => (inner, ""),
        };
        has_pattern.then(|| {
            format!("a pattern stands in quotes: [key.{}{below}]", text_form(pattern.trim()))
        })
    }
}

fn headers(text: &str) -> Vec<Header<'_>> {
    let mut headers = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') {
            headers.push(Header { start, line: line.trim_end() });
        }
        start += line.len();
    }
    headers
}

/// A name that is there twice once its variables are filled in.
pub(crate) fn filled_twice(at: Span) -> Diagnostic {
    RULE.at(at, "here").saying("not valid TOML: duplicate key once variables are filled in")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help, check_whole_file};

    #[test]
    fn broken_toml_is_told_with_its_place() {
        check_whole_file(
            r#"
[keyspace
name = "x"
"#,
            "KW0001 1:10 not valid TOML: unclosed table, expected `]` [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = hash
"#,
            "KW0001 2:8 not valid TOML: string values must be quoted, expected literal string [here]",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
type = "set"
"#,
            "KW0001 3:1 not valid TOML: duplicate key [here]",
        );
    }

    #[test]
    fn the_rest_of_a_broken_file_is_read_all_the_same() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = 
[key."b:{x}"]
type = "hsah"
"#,
            r#"
KW0001 3:7 not valid TOML: string values must be quoted, expected literal string [here]
KW0201 5:8 there is no type "hsah"; there are string, int, float, decimal, flag, json, bytes, hash, list, set, zset, stream, hll, any [unknown] | help: type = "hash"
"#,
        );
    }

    #[test]
    fn one_pattern_with_different_escapes_is_one_key() {
        check(
            r#"
[key."user:{id}"]
type = "hash"
[key."\u0075ser:{id}"]
type = "hash"
"#,
            "KW0001 3:6 not valid TOML: duplicate key [here]",
        );
    }

    #[test]
    fn a_table_that_is_there_twice_is_told_once() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
[key."a:{x}".fields]
n = "int"
[key."a:{x}"]
type = "hash"
ttl = "1h"
[key."a:{x}".fields]
n = "int"
[key."b:{x}"]
type = "hash"
type = "hash"
"#,
            r#"
KW0001 5:6 not valid TOML: duplicate key [here]
KW0001 12:1 not valid TOML: duplicate key [here]
"#,
        );
    }

    #[test]
    fn a_pattern_without_quotes_is_offered_with_them() {
        check(
            r#"
[key.a:{id}]
type = "hash"
"#,
            r#"KW0001 1:7 not valid TOML: invalid unquoted key, expected letters, numbers, `-`, `_` [here] | help: a pattern stands in quotes: [key."a:{id}"]"#,
        );
        let check = |wrong: &str, right: &str| {
            check_help(&format!("{wrong}\ntype = \"hash\"\n"), wrong, right);
        };
        check("[key.a:{id}]", "[key.\"a:{id}\"]");
        check("[user:{id}]", "[key.\"user:{id}\"]");
        check("[key.user:42]", "[key.\"user:42\"]");
        check_help(
            "[key.\"a:{id}\"]\ntype = \"hash\"\n[key.a:{id}.fields]\nn = \"int\"\n",
            "[key.a:{id}.fields]",
            "[key.\"a:{id}\".fields]",
        );
    }
}
