//! KW0308: keys live with each other in a circle.

use std::collections::HashSet;

use crate::checks::too_many;
use crate::derived::Derived;
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::lifetime::{Lifetime, MAX_LEADERS};
use crate::schema::Key;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0308",
    level: Level::Error,
    title: "keys live with each other in a circle",
    why: "
A key that lives `with` another ends when that one does. In a circle none of
them could ever be written, since each needs the other to be there first. A
derived key cannot be lived with either, nor a set that mirrors another or
follows other keys: it comes and goes with its members.
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
    let mirrored: HashSet<usize> = keys.iter().flatten().filter_map(mirror_of).collect();
    for key in keys.iter().flatten() {
        let Lifetime::With { key: with } = &key.lifetime else { continue };
        let Some(Some(target)) = keys.get(with.key.index()) else { continue };
        let source = target.derived.as_ref().map(|derived| derived.source().key.index());
        if source.is_some() || mirrored.contains(&with.key.index()) {
            let source = source.filter(|_| target.derived.as_ref().is_some_and(has_source));
            report.push(of_derived(key, target, source.and_then(|at| keys[at].as_ref())));
        }
    }
    let circles = circles(keys);
    if circles.is_empty() {
        too_long(keys, report);
    }
    for circle in circles {
        report.push(describe(keys, &circle));
    }
}

/// Finds rows of leaders that are too long, each where it first is. There are no circles.
fn too_long(keys: &[Option<Key>], report: &mut Report) {
    for (index, key) in keys.iter().enumerate() {
        let leaders = std::iter::successors(lives_with(keys, index), |at| lives_with(keys, *at));
        if let Some(key) =
            key.as_ref().filter(|_| leaders.take(MAX_LEADERS + 2).count() == MAX_LEADERS + 1)
        {
            report.push(too_many::found("leaders above each other", MAX_LEADERS, key.lifetime_at));
        }
    }
}

/// The set that this one mirrors.
fn mirror_of(key: &Key) -> Option<usize> {
    match key.derived.as_ref()? {
        Derived::Inverse { other, .. } => Some(other.key.index()),
        _ => None,
    }
}

/// Whether it comes from rows that others could live with instead.
fn has_source(derived: &Derived) -> bool {
    !matches!(derived, Derived::Inverse { .. } | Derived::Follows { .. })
}

fn lives_with(keys: &[Option<Key>], index: usize) -> Option<usize> {
    match &keys[index].as_ref()?.lifetime {
        Lifetime::With { key } => Some(key.key.index()),
        _ => None,
    }
}

/// Each circle once, from its first key on. A key lives with at most one
/// other, so a walk that meets a key of its own has found a circle.
fn circles(keys: &[Option<Key>]) -> Vec<Vec<usize>> {
    let mut walk_of: Vec<Option<usize>> = vec![None; keys.len()];
    let mut circles = Vec::new();
    for start in 0..keys.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at.filter(|&index| walk_of[index].is_none()) {
            walk_of[index] = Some(start);
            path.push(index);
            at = lives_with(keys, index);
        }
        if let Some(met) = at.filter(|&index| walk_of[index] == Some(start)) {
            let mut circle: Vec<usize> =
                path.into_iter().skip_while(|&index| index != met).collect();
            let first = (0..circle.len()).min_by_key(|&place| circle[place]);
            circle.rotate_left(first.unwrap_or(0));
            circles.push(circle);
        }
    }
    circles
}

/// How many keys of a circle are shown.
const MAX_SHOWN: usize = 8;

fn describe(keys: &[Option<Key>], circle: &[usize]) -> Diagnostic {
    let mut members = circle.iter().filter_map(|&index| keys[index].as_ref());
    let first = members.next().map_or(Span::default(), |key| key.lifetime_at);
    let found = RULE.at(first, "leads back here").help("give one of them a duration: ttl = \"1d\"");
    members
        .take(MAX_SHOWN)
        .fold(found, |found, other| found.see(other.lifetime_at, "by way of this"))
}

fn of_derived(key: &Key, target: &Key, source: Option<&Key>) -> Diagnostic {
    RULE.at(key.lifetime_at, "lives with a derived key")
        .saying(format!("`{}` is derived and has no life of its own", target.pattern))
        .see(target.at, "derived here")
        .maybe_help(
            source.map(|source| format!("ttl = {{ with = {} }}", text_form(source.pattern.text()))),
        )
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn circles_of_any_length() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { with = "a:{x}" }
"#,
            r#"KW0308 3:7 keys live with each other in a circle [leads back here] | help: give one of them a duration: ttl = "1d""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { with = "b:{x}" }
[key."b:{x}"]
type = "hash"
ttl = { with = "c:{x}" }
[key."c:{x}"]
type = "hash"
ttl = { with = "a:{x}" }
[key."d:{x}"]
type = "hash"
ttl = { with = "c:{x}" }
"#,
            r#"KW0308 3:7 keys live with each other in a circle [leads back here] | see 6:7 by way of this | see 9:7 by way of this | help: give one of them a duration: ttl = "1d""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { with = "b:{x}" }
[key."b:{x}"]
type = "hash"
ttl = { with = "c:{x}" }
[key."c:{x}"]
type = "hash"
ttl = "5m"
"#,
            "",
        );
    }

    #[test]
    fn a_derived_key_has_no_life_of_its_own() {
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str" }
ttl = "1d"
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
[key."x:{e}:{id}"]
type = "hash"
ttl = { with = "by:{e}" }
"#,
            r#"ttl = { with = "by:{e}" }"#,
            r#"ttl = { with = "u:{id}" }"#,
        );
    }

    #[test]
    fn nothing_lives_with_a_mirror_or_a_follower() {
        check(
            r#"
[key."f:{id}"]
type = "set"
max_members = 5
inverse = "g:{member}"
[key."g:{id}"]
type = "set"
max_members = 5
[key."msg:{id}:{m}"]
type = "string"
ttl = "1h"
[key."recent:{id}"]
type = "set"
ttl = "1h"
follows = "msg:{id}:{member}"
[key."a:{id}"]
type = "string"
ttl = { with = "f:{id}" }
[key."b:{id}"]
type = "string"
ttl = { with = "g:{id}" }
[key."c:{id}"]
type = "string"
ttl = { with = "recent:{id}" }
"#,
            "
KW0308 17:7 `f:{id}` is derived and has no life of its own [lives with a derived key] | see 1:6 derived here
KW0308 20:7 `g:{id}` is derived and has no life of its own [lives with a derived key] | see 5:6 derived here
KW0308 23:7 `recent:{id}` is derived and has no life of its own [lives with a derived key] | see 11:6 derived here
",
        );
    }
}
