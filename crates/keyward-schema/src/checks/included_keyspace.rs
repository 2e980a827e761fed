//! KW0016: an included file says something else of the keyspace.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0016",
    level: Level::Error,
    title: "an included file says something else of the keyspace",
    why: "
The keys of an included file belong to the keyspace of the file that includes it,
whose settings hold for all of them. An included file needs no `[keyspace]`; where
it has one, because it is also served by itself, what that says of `db`,
`unknown`, `mode`, `max_memory` and `persist` must hold here too: otherwise its
keys would silently be kept in another way than it says. Its `allow` and `owner`
are about its own keys; its `name` and `doc` are not used.
",
    wrong: r#"
# shop.toml
include = ["jobs.toml"]

[keyspace]
name = "shop"

# jobs.toml
[keyspace]
name    = "jobs"
persist = "none"

[key."job:{id}"]
type = "string"
ttl  = "1h"
"#,
    right: r#"
# shop.toml
include = ["jobs.toml"]

[keyspace]
name    = "shop"
persist = "none"

# jobs.toml
[keyspace]
name    = "jobs"
persist = "none"

[key."job:{id}"]
type = "string"
ttl  = "1h"
"#,
};

pub(crate) fn found(setting: &str, is: &str, at: Span, own_at: Span) -> Diagnostic {
    RULE.at(at, "says otherwise")
        .saying(format!("`{setting}` of the keyspace that includes this file is {is}"))
        .see(own_at, "the keyspace")
        .help("remove it")
}
