//! KW0014: files include each other in a circle.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0014",
    level: Level::Error,
    title: "files include each other in a circle",
    why: "
A file that includes itself, or one that includes it, would never be read to its
end. Have what both need in a file of its own and include that: a file that is
included twice counts once.
",
    wrong: r#"
# shop.toml
include = ["jobs.toml"]

[keyspace]
name = "shop"

[key."cart:{id}"]
type = "string"
ttl  = "1h"

# jobs.toml
include = ["shop.toml"]

[key."job:{id}"]
type = "string"
ttl  = "1h"
"#,
    right: r#"
# shop.toml
include = ["jobs.toml"]

[keyspace]
name = "shop"

[key."cart:{id}"]
type = "string"
ttl  = "1h"

# jobs.toml
[key."job:{id}"]
type = "string"
ttl  = "1h"
"#,
};

/// `names` are the files of the circle, the first of which is included again.
pub(crate) fn found(names: &[&str], at: Span) -> Diagnostic {
    let first = names.first().copied().unwrap_or_default();
    RULE.at(at, "includes it again")
        .saying(format!("{first} includes itself: {} → {first}", names.join(" → ")))
        .help("remove it")
}
