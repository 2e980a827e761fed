//! KW0310: a collection may live and grow for ever.

use super::warnings::Warnings;
use crate::derived::Derived;
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::lifetime::Lifetime;
use crate::schema::{DataType, Key};

pub(crate) static RULE: Rule = Rule {
    code: "KW0310",
    level: Level::Warning,
    title: "a collection may live and grow for ever",
    why: "
A list, a set or a sorted set without a lifetime and without a bound is how
Redis servers fill up. If something else bounds it, such as workers that drain a
queue, `allow` this with that reason. A `ttl` ends all of it at once. A bound
loses what comes to be too many: `max_len` drops items at the far end of a push,
which are the oldest jobs of a queue, `max_members` drops the lowest of a sorted
set, and of a set refuses more.
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

pub(crate) fn check(keys: &[Option<Key>], warnings: &mut Warnings<'_>) {
    for (index, key) in keys.iter().enumerate() {
        let Some(key) = key else { continue };
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
        if !is_derived && lifetime_in_the_end(keys, key).may_be_endless() {
            warnings.push_with(index, &RULE, || found(key, bound));
        }
    }
}

fn found(key: &Key, bound: &str) -> Diagnostic {
    let label = match key.lifetime {
        Lifetime::Free => "nothing says when it ends",
        Lifetime::Given { .. } => "may be given any lifetime",
        Lifetime::With { .. } => "that one never ends",
        _ => "never ends",
    };
    RULE.at(key.lifetime_at, label)
        .saying(format!("`{}` may live and grow for ever", key.pattern))
        .help(format!(
            "allow = [\"{}: what bounds it\"], or ttl = \"30d\", or {bound} = 1000, which {}",
            RULE.code,
            loss(key.data)
        ))
}

/// What a bound does to that which is too much.
fn loss(data: DataType) -> &'static str {
    match data {
        DataType::List => "drops items at the far end: the oldest jobs of a queue",
        DataType::Stream => "drops the oldest entries, read or not",
        DataType::Zset => "drops the members of the lowest scores",
        _ => "refuses more",
    }
}

/// The lifetime of the key itself, or of the one it lives with in the end.
fn lifetime_in_the_end<'k>(keys: &'k [Option<Key>], key: &'k Key) -> &'k Lifetime {
    let mut lifetime = &key.lifetime;
    // A circle is an error of its own; here it must only come to an end.
    for _ in 0..MAX_STEPS {
        let Lifetime::With { key: with } = lifetime else { break };
        let Some(Some(next)) = keys.get(with.key.index()) else { break };
        lifetime = &next.lifetime;
    }
    lifetime
}

/// How many keys that live with each other are followed.
const MAX_STEPS: usize = 16;

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn collections_without_an_end() {
        check(
            r#"
[key."a:{x}"]
type = "list"
"#,
            r#"KW0310 1:6 `a:{x}` may live and grow for ever [nothing says when it ends] | help: allow = ["KW0310: what bounds it"], or ttl = "30d", or max_len = 1000, which drops items at the far end: the oldest jobs of a queue"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "zset"
ttl = "none"
"#,
            r#"KW0310 3:7 `a:{x}` may live and grow for ever [never ends] | help: allow = ["KW0310: what bounds it"], or ttl = "30d", or max_members = 1000, which drops the members of the lowest scores"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "stream"
ttl = { given = true, default = "1h" }
"#,
            r#"KW0310 3:7 `a:{x}` may live and grow for ever [may be given any lifetime] | help: allow = ["KW0310: what bounds it"], or ttl = "30d", or max_len = 1000, which drops the oldest entries, read or not"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "set"
ttl = { with = "b:{x}" }
[key."b:{x}"]
type = "hash"
ttl = "none"
"#,
            r#"KW0310 3:7 `a:{x}` may live and grow for ever [that one never ends] | help: allow = ["KW0310: what bounds it"], or ttl = "30d", or max_members = 1000, which refuses more"#,
        );
        check_help(
            r#"
[key."a:{x}"]
type = "set"
ttl = "none"
"#,
            r#"ttl = "none""#,
            "max_members = 1000",
        );
    }

    #[test]
    fn an_end_a_bound_or_a_source_is_enough() {
        check(
            r#"
[key."a:{x}"]
type = "list"
ttl = "5m"
[key."b:{x}"]
type = "list"
max_len = 5
[key."c:{x}"]
type = "set"
ttl = { with = "a:{x}" }
[key."d:{x}"]
type = "stream"
ttl = { given = true, max = "1h", default = "1h" }
[key."e"]
type = "set"
members = { of = "a:{x}" }
[key."f"]
type = "zset"
follows = "a:{member}"
"#,
            "",
        );
    }
}
