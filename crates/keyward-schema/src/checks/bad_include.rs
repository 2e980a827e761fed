//! KW0013: an include cannot be followed.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::include::MAX_INCLUDE_DEPTH;
use crate::source::{MAX_FILE_BYTES, Span};

pub(crate) static RULE: Rule = Rule {
    code: "KW0013",
    level: Level::Error,
    title: "an include cannot be followed",
    why: "
`include` names files by their paths from the file in which it stands. Each must
be there and be text; together with the schema's own file they have at most
8 MiB, and at most 8 of them include each other in a row. A schema that did not
come from a file (`KEYWARD SCHEMA PLAN`) includes nothing, for it would have the
server read its own files: `keyward flatten FILE` makes one text of a file and
all that it includes.
",
    wrong: r#"
include = ["library/missing.toml"]

[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
"#,
};

pub(crate) fn without_files(at: Span) -> Diagnostic {
    RULE.at(at, "not here")
        .saying(
            "a schema that does not come from a file includes nothing; send what `keyward flatten \
             FILE` writes",
        )
        .help("keyward flatten FILE | redis-cli -x KEYWARD SCHEMA PLAN")
}

pub(crate) fn unreadable(name: &str, problem: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not read").saying(format!("cannot read {name}: {problem}"))
}

pub(crate) fn not_text(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not text").saying(format!("{name} is not text in UTF-8"))
}

pub(crate) fn too_large(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "too much")
        .saying(format!("with {name} the files have more than {MAX_FILE_BYTES} bytes together"))
}

pub(crate) fn too_deep(at: Span) -> Diagnostic {
    RULE.at(at, "one too many")
        .saying(format!("more than {MAX_INCLUDE_DEPTH} files include each other in a row"))
}
