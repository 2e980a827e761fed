//! KW0004: there is no such setting.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::settings::{Scope, settings_of};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0004",
    level: Level::Error,
    title: "there is no such setting",
    why: "
Each table of a schema knows its settings. One that does not exist would be
ignored silently, and what it was to say would not hold.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."recent:{user}"]
type = "list"
ttl = "7d"
maxlen = 20
"#,
    right: r#"
[keyspace]
name = "shop"

[key."recent:{user}"]
type = "list"
ttl = "7d"
max_len = 20
"#,
};

pub(crate) fn found(scope: Scope, name: &str, at: Span) -> Diagnostic {
    let near = nearest(name, settings_of(scope).map(|setting| setting.name));
    let help = match near {
        Some(near) => format!("write `{near}`"),
        None => {
            let names: Vec<&str> = settings_of(scope).map(|setting| setting.name).collect();
            format!("the settings of {} are {}", scope.name(), names.join(", "))
        }
    };
    RULE.at(at, "unknown").saying(format!("{} has no setting `{name}`", scope.name())).help(help)
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help, check_whole_file};

    #[test]
    fn the_nearest_setting_is_offered() {
        check_help(
            r#"
[key."a:{x}"]
type = "list"
ttl = "7d"
maxlen = 20
"#,
            "maxlen",
            "max_len",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
colour = "red"
"#,
            r#"KW0004 3:1 [key."…"] has no setting `colour` [unknown] | help: the settings of [key."…"] are doc, group, owner, readers, writers, amend, type, value, fields, extra, check, items, score, ttl, max_len, max_members, max_size, compress, evict, expect, secret, personal, mode, lookup, rank, members, inverse, follows, max_fanout, sink, example, alert, allow"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { aftr = "1h", after = "1h" }
"#,
            "KW0004 3:9 ttl has no setting `aftr` [unknown] | help: write `after`",
        );
        check_whole_file(
            r#"
[keyspace]
nmae = "x"
name = "x"
[key."a"]
type = "hash"
[keey."b"]
type = "hash"
"#,
            r#"
KW0004 2:1 [keyspace] has no setting `nmae` [unknown] | help: write `name`
KW0004 6:2 the file has no setting `keey` [unknown] | help: write `key`
"#,
        );
    }
}
