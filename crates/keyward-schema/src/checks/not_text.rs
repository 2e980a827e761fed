//! KW0003: the file is not text.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0003",
    level: Level::Error,
    title: "the file is not text",
    why: "
A schema is TOML, which is UTF-8 text without NUL bytes. This file is binary,
or was saved in another encoding: save it as UTF-8.
",
    wrong: "",
    right: "",
};

pub(crate) fn found(offset: usize) -> Diagnostic {
    RULE.at(Span::default(), "")
        .saying(format!("the file is not UTF-8 text: byte {offset} cannot be part of one"))
}
