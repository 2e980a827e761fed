//! KW0001: the file is not valid TOML.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

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

/// An error in a text that begins at `base`.
pub(crate) fn found(error: &toml::de::Error, text: &str, base: u32) -> Diagnostic {
    let end = text.len();
    let span = Span::from(error.span().unwrap_or(end..end)).moved(base);
    RULE.at(span, "here").saying(format!("not valid TOML: {}", error.message()))
}

/// A name that is there twice once its variables are filled in.
pub(crate) fn filled_twice(at: Span) -> Diagnostic {
    RULE.at(at, "here").saying("not valid TOML: duplicate key once variables are filled in")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_whole_file};

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
            r#"
KW0001 3:6 not valid TOML: duplicate key [here]
KW0001 4:1 not valid TOML: duplicate key [here]
"#,
        );
    }
}
