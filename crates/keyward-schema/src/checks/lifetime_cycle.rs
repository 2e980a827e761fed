//! KW0308: keys live with each other in a circle.

use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::lifetime::Lifetime;
use crate::schema::Key;

pub(crate) static RULE: Rule = Rule {
    code: "KW0308",
    level: Level::Error,
    title: "keys live with each other in a circle",
    why: "
A key that lives `with` another ends when that one does. In a circle none of
them could ever be written, since each needs the other to be there first. A
derived key cannot be lived with either: it comes and goes with its members.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."a:{id}"]
type = "string"
ttl = { with = "b:{id}" }
[key."b:{id}"]
type = "string"
ttl = { with = "a:{id}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."a:{id}"]
type = "string"
ttl = "1h"
[key."b:{id}"]
type = "string"
ttl = { with = "a:{id}" }
"#,
};

pub(crate) fn check(keys: &[Option<Key>], report: &mut Report) {
    for (start, key) in keys.iter().enumerate() {
        let Some(key) = key else { continue };
        let Some(next) = lives_with(keys, start) else { continue };
        if let Some(Some(target)) = keys.get(next)
            && target.derived.as_ref().is_some_and(|derived| derived.name() != "follows")
        {
            report.push(
                RULE.at(key.lifetime_at, "lives with a derived key")
                    .saying(format!("`{}` is derived and has no life of its own", target.pattern))
                    .see(target.at, "derived here"),
            );
        }
        if let Some(circle) = circle(keys, start)
            && circle.iter().all(|&other| other >= start)
        {
            report.push(describe(keys, key, &circle));
        }
    }
}

fn lives_with(keys: &[Option<Key>], index: usize) -> Option<usize> {
    match &keys.get(index)?.as_ref()?.lifetime {
        Lifetime::With { key } => Some(key.key.index()),
        _ => None,
    }
}

/// The keys from `start` on, if they lead back to it.
fn circle(keys: &[Option<Key>], start: usize) -> Option<Vec<usize>> {
    let mut path = vec![start];
    let mut at = start;
    while let Some(next) = lives_with(keys, at) {
        if next == start {
            return Some(path);
        }
        if path.contains(&next) {
            return None;
        }
        path.push(next);
        at = next;
    }
    None
}

fn describe(keys: &[Option<Key>], key: &Key, circle: &[usize]) -> Diagnostic {
    let found = RULE.at(key.lifetime_at, "leads back here").help("give one of them a duration");
    let others = circle.iter().filter_map(|&index| keys[index].as_ref()).skip(1);
    others.fold(found, |found, other| found.see(other.lifetime_at, "by way of this"))
}
