//! KW0018: a key is amended that no included file has.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::escape;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0018",
    level: Level::Error,
    title: "a key is amended that no included file has",
    why: "
`amend = true` says that settings belong to the key of this pattern in a file that
is included, where each replaces the one of its name. The pattern is written as it
is there, with the values of `with` in place of variables: `shop:user:{id}` for
`${prefix}user:{id}` of a file that is included with the prefix `shop:`.
",
    wrong: r#"
# shop.toml
include = ["users.toml"]

[keyspace]
name = "shop"

[key."user:{id:uint}"]
amend = true
doc   = "A customer."

# users.toml
[key."user:{id}"]
type = "hash"
ttl  = "1h"
"#,
    right: r#"
# shop.toml
include = ["users.toml"]

[keyspace]
name = "shop"

[key."user:{id}"]
amend = true
doc   = "A customer."

# users.toml
[key."user:{id}"]
type = "hash"
ttl  = "1h"
"#,
};

pub(crate) fn found(pattern: &str, at: Span) -> Diagnostic {
    RULE.at(at, "nowhere else")
        .saying(format!("no included file has the key `{}`", escape(pattern)))
        .help("write the pattern as it is there, with values in place of variables, or remove `amend`")
}
