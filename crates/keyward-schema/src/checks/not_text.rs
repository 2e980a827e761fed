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

#[cfg(test)]
mod tests {
    use crate::checks::testing::check_bytes;

    #[test]
    fn bytes_that_are_no_text_are_told_with_their_offset() {
        check_bytes(
            b"[keyspace]\nname = \"\xff\"",
            "KW0003 1:1 the file is not UTF-8 text: byte 19 cannot be part of one []",
        );
        check_bytes(
            b"# \0",
            "KW0003 1:1 the file is not UTF-8 text: byte 2 cannot be part of one []",
        );
    }
}
