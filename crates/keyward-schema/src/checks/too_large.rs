//! KW0002: the file is too large.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::{MAX_FILE_BYTES, Span};

pub(crate) static RULE: Rule = Rule {
    code: "KW0002",
    level: Level::Error,
    title: "the file is too large",
    why: "
A schema has at most 8 MiB, the values of its variables included. A thousand patterns take about 300 kB, so a
larger file is hardly a schema. Split a keyspace that is really that large.
",
    wrong: "",
    right: "",
};

pub(crate) fn found(bytes: usize) -> Diagnostic {
    RULE.at(Span::default(), "")
        .saying(format!("the file has {bytes} bytes; a schema has at most {MAX_FILE_BYTES}"))
}

/// Values make a file too large.
pub(crate) fn by_values(at: Span) -> Diagnostic {
    RULE.at(at, "one too many")
        .saying(format!("values of variables add more than {MAX_FILE_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use super::MAX_FILE_BYTES;
    use crate::checks::testing::check_bytes;

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        check_bytes(
            &vec![b'#'; MAX_FILE_BYTES + 1],
            "KW0002 1:1 the file has 8388609 bytes; a schema has at most 8388608 []",
        );
    }
}
