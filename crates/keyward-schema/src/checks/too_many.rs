//! KW0009: there are too many of these.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0009",
    level: Level::Error,
    title: "there are too many of these",
    why: "
Every table has a limit, so that a broken or hostile file cannot take the
server's memory: 4096 keys, 1024 functions, 256 fields in one object, 16
levels of nesting.
",
    wrong: "",
    right: "",
};

pub(crate) fn found(what: &str, limit: usize, at: Span) -> Diagnostic {
    RULE.at(at, "one too many").saying(format!("there are more than {limit} {what}"))
}
