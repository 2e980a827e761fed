//! KW0004: there is no such setting.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::schema::DataType;
use crate::settings::{Scope, Setting, settings_of};
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

/// A setting that is not there, of a key of this type if that is known: others than it takes are
/// not offered.
pub(crate) fn found(scope: Scope, name: &str, at: Span, data: Option<DataType>) -> Diagnostic {
    let takes = |setting: &&Setting| {
        setting.types.is_empty() || data.is_none_or(|data| setting.types.contains(&data))
    };
    let names = || settings_of(scope).filter(takes).map(|setting| setting.name);
    let help = match nearest(name, names()) {
        Some(near) => format!("write `{near}`"),
        None => {
            let of = match data {
                Some(data) => format!("{} of type \"{}\"", scope.name(), data.name()),
                None => scope.name().to_owned(),
            };
            format!("the settings of {of} are {}", names().collect::<Vec<&str>>().join(", "))
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
            r#"KW0004 3:1 [key."…"] has no setting `colour` [unknown] | help: the settings of [key."…"] of type "hash" are doc, group, owner, readers, writers, amend, type, fields, extra, check, ttl, compress, evict, expect, secret, personal, mode, max_fanout, sink, example, alert, allow"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { aftr = "1h", after = "1h" }
"#,
            "KW0004 3:9 ttl has no setting `aftr` [unknown] | help: write `after`",
        );
    }

    #[test]
    fn a_setting_that_the_type_does_not_take_is_not_offered() {
        check(
            r#"
[key."a:{x}"]
type = "set"
ttl = "1d"
member = { of = "b:{id}" }
"#,
            r#"KW0004 4:1 [key."…"] has no setting `member` [unknown] | help: write `members`"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "zset"
ttl = "1d"
member = { of = "b:{id}" }
"#,
            r#"KW0004 4:1 [key."…"] has no setting `member` [unknown] | help: the settings of [key."…"] of type "zset" are doc, group, owner, readers, writers, amend, type, items, score, ttl, max_members, evict, expect, secret, personal, mode, rank, follows, max_fanout, sink, example, alert, allow"#,
        );
    }

    #[test]
    fn settings_of_the_file_and_the_keyspace_are_offered() {
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
