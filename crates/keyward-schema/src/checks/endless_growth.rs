//! KW0310: a collection may live and grow for ever.

use crate::derived::Derived;
use crate::diagnostic::{Level, Report, Rule};
use crate::lifetime::Lifetime;
use crate::schema::{DataType, Key};

pub(crate) static RULE: Rule = Rule {
    code: "KW0310",
    level: Level::Warning,
    title: "a collection may live and grow for ever",
    why: "
A list, a set or a sorted set without a lifetime and without a bound is how
Redis servers fill up. Give it a `ttl`, or `max_len` or `max_members`; or, if
something else bounds it, `allow` this with that reason.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."events:{user}"]
type = "list"
ttl = "none"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."events:{user}"]
type = "list"
ttl = "none"
max_len = 1000
"#,
};

pub(crate) fn check(keys: &[Option<Key>], report: &mut Report) {
    for key in keys.iter().flatten() {
        let bound = match key.data {
            DataType::List | DataType::Stream if key.bounds.max_len.is_none() => "max_len",
            DataType::Set | DataType::Zset if key.bounds.max_members.is_none() => "max_members",
            _ => continue,
        };
        // What is derived is bounded by its source, or mirrors what clients write.
        let is_derived = matches!(
            key.derived,
            Some(Derived::Rank { .. } | Derived::Members { .. } | Derived::Follows { .. })
        );
        if is_derived || !key.lifetime.may_be_endless() {
            continue;
        }
        let label = match key.lifetime {
            Lifetime::Free => "nothing says when it ends",
            _ => "never ends",
        };
        report.push(
            RULE.at(key.lifetime_at, label)
                .saying(format!("`{}` may live and grow for ever", key.pattern))
                .help(format!(
                    "{bound} = 1000, or ttl = \"30d\", or allow = [\"{}: the reason\"]",
                    RULE.code
                )),
        );
    }
}
