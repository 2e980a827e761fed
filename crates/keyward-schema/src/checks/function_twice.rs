//! KW0604: two files declare one function.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::function::Function;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0604",
    level: Level::Error,
    title: "two files declare one function",
    why: "
Functions are called by their names (FCALL), so a name belongs to one of them,
over all files of a server. Where a file is included twice with different
values, `${name}` in the name of a function keeps them apart.
",
    wrong: r#"
# shop.toml
include = ["jobs.toml"]

[keyspace]
name = "shop"

[function.sweep]

# jobs.toml
[key."job:{id}"]
type = "string"
ttl  = "1h"

[function.sweep]
"#,
    right: r#"
# shop.toml
include = ["jobs.toml"]

[keyspace]
name = "shop"

[function.sweep]

# jobs.toml
[key."job:{id}"]
type = "string"
ttl  = "1h"

[function.sweep_jobs]
"#,
};

pub(crate) fn found(name: &str, at: Span, first: Span) -> Diagnostic {
    RULE.at(at, "declared again")
        .saying(format!("`{name}` is declared in two files"))
        .see(first, "first declared here")
}

/// Another file that is served together with this one has it, too.
pub(crate) fn elsewhere(function: &Function, first: &str) -> Diagnostic {
    RULE.at(function.at, "declared again")
        .saying(format!("`{}` is declared in another file too ({first})", function.name))
}
