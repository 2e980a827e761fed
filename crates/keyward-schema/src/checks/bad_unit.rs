//! KW0008: a duration, size or count cannot be read.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::{Entry, integer};
use crate::units::Duration;

pub(crate) static RULE: Rule = Rule {
    code: "KW0008",
    level: Level::Error,
    title: "a duration, size or count cannot be read",
    why: "
Durations are written with their unit: `500ms`, `30s`, `5m`, `1h30m`, `14d`,
`2w`, `1y` (365 days). Sizes have redis.conf's units: `4kb` is 4096 bytes, `4k`
is 4000. Counts may be written `25k` or `2.5M`. None of them is zero.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = 1800
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
"#,
};

pub(crate) fn found(entry: Entry<'_>, expected: &str) -> Diagnostic {
    let found = RULE
        .at(entry.value.span().into(), "cannot be read")
        .saying(format!("`{}` wants {expected}", entry.name));
    // A bare number of seconds is what Redis's commands take.
    let seconds = integer(entry.value).and_then(|seconds| seconds.checked_mul(1000));
    match seconds.filter(|&ms| ms > 0 && expected.starts_with("a duration")) {
        Some(ms) => found.help(format!("{} = \"{}\"", entry.name, Duration::from_ms(ms))),
        None => found,
    }
}
