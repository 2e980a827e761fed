//! How one schema differs from another.
//!
//! Owns the comparison by itself, without rows: which patterns come and go, and
//! what is said differently of those that stay, in the words of their documents.
//! Patterns are the same if they are written the same: a placeholder of another
//! name is another pattern.
//! Invariant: lines are printable, whatever a schema holds.
//! Not here: what becomes of rows (`survey`).

mod effect;
mod same;

pub use effect::Effect;

use keyward_schema::{Alert, Derived, KeyId, Keyspace, Lifetime, Schema, Steps, escape, facts};
use same::{At, same_derivation, same_lifetime, template};
use std::collections::BTreeMap;

/// One difference between two schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The pattern it concerns; `None` for the keyspace as a whole.
    pub pattern: Option<String>,
    /// What it is.
    pub kind: DifferenceKind,
    /// What it can do to rows that are there.
    pub effect: Effect,
    /// The key in the new schema, if that has it.
    pub key: Option<KeyId>,
}

/// What a difference is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Only the new schema has the pattern.
    Added,
    /// Only the old schema has the pattern.
    Removed {
        /// Whether writes to its keys, or some of them, are refused from then on: no other
        /// pattern takes them, and `unknown` is `reject`.
        refuses_writers: bool,
    },
    /// Both have it, and say this differently.
    Changed {
        /// What is spoken of.
        about: &'static str,
        /// What is no longer said.
        before: Vec<String>,
        /// What is said now.
        after: Vec<String>,
    },
}

impl Difference {
    /// The difference in a line.
    pub fn in_words(&self) -> String {
        let subject = self.pattern.as_deref().unwrap_or("the keyspace");
        match &self.kind {
            DifferenceKind::Added => format!("{subject}: is new"),
            DifferenceKind::Removed { refuses_writers: false } => format!("{subject}: is gone"),
            DifferenceKind::Removed { refuses_writers: true } => {
                format!("{subject}: is gone; who writes its keys is refused (unknown = \"reject\")")
            }
            DifferenceKind::Changed { about, before, after } => {
                let list = |lines: &[String]| match lines {
                    [] => "nothing".to_owned(),
                    lines => lines.join("; "),
                };
                format!("{subject}: {about}: {} -> {}", list(before), list(after))
            }
        }
    }
}

/// All differences: those of the keyspace first, then those of patterns in the
/// order of the new schema, then the patterns that are gone.
pub fn compare(old: &Schema, new: &Schema) -> Vec<Difference> {
    let is_shared = !new.parts.is_empty();
    let mut differences: Vec<Difference> = Vec::new();
    let (heirs, steps) = (heirs(old, new), Steps::among(old.keys.len() + new.keys.len()));
    for (is, was) in heirs.iter().enumerate() {
        let Some(was) = *was else { continue };
        // Where there are several, it is told which one it is about.
        let name = is_shared.then(|| format!("keyspace {}", escape(&new.keyspace_at(is).name)));
        differences.extend(keyspace_differences(name.as_deref(), (old, was), (new, is)));
    }
    let (before, after) = (by_pattern(old), by_pattern(new));
    for id in new.ids() {
        let pattern = text(new, id);
        match before.get(&pattern).copied() {
            Some(before) => {
                let facts = [facts::of_key(old, before), facts::of_key(new, id)];
                let mut kinds = fact_differences(facts);
                kinds.extend(unworded_differences((old, before), (new, id), &kinds));
                let keyspace = new.key(id).keyspace;
                if heirs[keyspace] != Some(old.key(before).keyspace) {
                    let [before, after] = [old.keyspace_of(before), new.keyspace_of(id)]
                        .map(|keyspace| vec![escape(&keyspace.name).into_owned()]);
                    kinds.push(DifferenceKind::Changed { about: "Keyspace", before, after });
                }
                let changes = kinds.into_iter().map(|kind| {
                    let effect = match &kind {
                        DifferenceKind::Changed { about, .. } => {
                            effect::of_change(about, (old, before), (new, id))
                        }
                        DifferenceKind::Added | DifferenceKind::Removed { .. } => {
                            Effect::Compatible
                        }
                    };
                    Difference { pattern: Some(pattern.clone()), kind, effect, key: Some(id) }
                });
                differences.extend(changes);
            }
            None => {
                let effect = effect::of_addition(old, (new, id), &steps);
                let (kind, key) = (DifferenceKind::Added, Some(id));
                differences.push(Difference { pattern: Some(pattern), kind, effect, key });
            }
        }
    }
    for id in old.ids() {
        let pattern = text(old, id);
        if !after.contains_key(&pattern) {
            let effect = effect::of_removal((old, id), new, &steps);
            let refuses_writers = effect::refuses_writers((old, id), new, &steps);
            let kind = DifferenceKind::Removed { refuses_writers };
            differences.push(Difference { pattern: Some(pattern), kind, effect, key: None });
        }
    }
    differences
}

/// As [`compare`], for who wants to know what can become of rows: with what any change of the
/// schema does besides. Where writes only warned, clients may have written into rows that
/// Keyward computes, and whatever the change is, they come to hold what their sources demand.
pub fn compare_for_rows(old: &Schema, new: &Schema) -> Vec<Difference> {
    let mut differences = compare(old, new);
    if differences.is_empty() {
        return differences;
    }
    let after = by_pattern(new);
    for was in old.ids().filter(|id| effect::is_written_over((old, *id))) {
        let pattern = text(old, was);
        let is_told = |difference: &Difference| {
            difference.pattern.as_ref() == Some(&pattern) && difference.effect == Effect::Destroys
        };
        let Some(key) = after.get(&pattern).copied() else { continue };
        if differences.iter().any(is_told) {
            continue;
        }
        let before = vec!["what clients wrote there while writes only warned".to_owned()];
        let about = "Kept by Keyward";
        let kind = DifferenceKind::Changed { about, before, after: Vec::new() };
        let (pattern, effect) = (Some(pattern), Effect::Destroys);
        differences.push(Difference { pattern, kind, effect, key: Some(key) });
    }
    differences
}

fn text(schema: &Schema, id: KeyId) -> String {
    escape(schema.key(id).pattern.text()).into_owned()
}

/// The tables by the texts of their patterns.
fn by_pattern(schema: &Schema) -> BTreeMap<String, KeyId> {
    schema.ids().map(|id| (text(schema, id), id)).collect()
}

/// By the place of each keyspace of the new schema, the place of the old one that it takes the
/// place of: the one of its name, or else the one that stood there and whose name is gone.
fn heirs(old: &Schema, new: &Schema) -> Vec<Option<usize>> {
    let names: Vec<&str> = old.keyspaces().map(|keyspace| &*keyspace.name).collect();
    let stays = |name: &str| new.keyspaces().any(|keyspace| &*keyspace.name == name);
    let heir = |(place, keyspace): (usize, &Keyspace)| {
        let namesake = names.iter().position(|name| **name == *keyspace.name);
        namesake.or_else(|| names.get(place).filter(|name| !stays(name)).map(|_| place))
    };
    new.keyspaces().enumerate().map(heir).collect()
}

/// What two schemas say differently of a key in the same words: by which of its own
/// placeholders it names another key.
fn unworded_differences(
    old: At<'_>,
    new: At<'_>,
    worded: &[DifferenceKind],
) -> Vec<DifferenceKind> {
    let is_worded = |heading: &str| {
        let is_it = |kind: &DifferenceKind| matches!(kind, DifferenceKind::Changed { about, .. } if *about == heading);
        worded.iter().any(is_it)
    };
    let leader = |(schema, id): At<'_>| match &schema.key(id).lifetime {
        Lifetime::With { key } => vec![format!("with {}", template((schema, id), key))],
        _ => Vec::new(),
    };
    let source = |(schema, id): At<'_>| {
        let derived = schema.key(id).derived.iter();
        let named = |derived: &Derived| {
            format!("{} of {}", derived.name(), template((schema, id), derived.source()))
        };
        derived.map(named).collect()
    };
    let mut found = Vec::new();
    if !is_worded("Lifetime") && !same_lifetime(old, new) {
        let (before, after) = (leader(old), leader(new));
        found.push(DifferenceKind::Changed { about: "Lifetime", before, after });
    }
    if !is_worded("Kept by Keyward") && !same_derivation(old, new) {
        let (before, after) = (source(old), source(new));
        found.push(DifferenceKind::Changed { about: "Kept by Keyward", before, after });
    }
    found
}

fn keyspace_differences(
    name: Option<&str>,
    old: (&Schema, usize),
    new: (&Schema, usize),
) -> Vec<Difference> {
    let facts = |keyspace: &Keyspace| {
        let memory = keyspace.max_memory.map(|bytes| format!("{bytes} bytes"));
        vec![
            ("name", vec![keyspace.name.to_string()]),
            ("owner", keyspace.owner.iter().map(|owner| owner.to_string()).collect()),
            ("readers", keyspace.readers.iter().map(|user| user.to_string()).collect()),
            ("writers", keyspace.writers.iter().map(|user| user.to_string()).collect()),
            ("database", vec![keyspace.db.to_string()]),
            ("unknown keys", vec![keyspace.unknown.name().to_owned()]),
            ("mode", vec![keyspace.mode.name().to_owned()]),
            ("persistence", vec![keyspace.persist.name().to_owned()]),
            ("memory", memory.into_iter().collect()),
            ("alerts", keyspace.alerts.iter().map(Alert::in_words).collect()),
        ]
    };
    let of = |(schema, place): (&Schema, usize)| facts(schema.keyspace_at(place));
    let changes = fact_differences([of(old), of(new)]).into_iter();
    let difference = |kind| {
        let effect = match &kind {
            DifferenceKind::Changed { about, .. } => effect::of_keyspace(about, old, new),
            DifferenceKind::Added | DifferenceKind::Removed { .. } => Effect::Compatible,
        };
        Difference { pattern: name.map(str::to_owned), kind, effect, key: None }
    };
    changes.map(difference).collect()
}

/// What is said under a heading, by heading.
type Facts = Vec<(&'static str, Vec<String>)>;

/// The differences between facts: under each heading, the lines that only one has.
fn fact_differences([old, new]: [Facts; 2]) -> Vec<DifferenceKind> {
    let lines = |facts: &Facts, about: &str| -> Vec<String> {
        let found = facts.iter().find(|(heading, _)| *heading == about);
        found.map_or(Vec::new(), |(_, lines)| lines.clone())
    };
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        let own = these.iter().filter(|line| !others.contains(line));
        own.map(|line| escape(line).into_owned()).collect()
    };
    let gone = old.iter().filter(|(about, _)| new.iter().all(|(other, _)| other != about));
    let headings = new.iter().chain(gone).map(|(about, _)| *about);
    let difference = |about| {
        let (before, after) = (lines(&old, about), lines(&new, about));
        let (before, after) = (only(&before, &after), only(&after, &before));
        let differs = !before.is_empty() || !after.is_empty();
        let kind = DifferenceKind::Changed { about, before, after };
        differs.then_some(kind)
    };
    headings.filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"
[keyspace]
name = "shop"
[key."user:{id:uint}"]
type = "hash"
ttl = "30m"
[key."user:{id:uint}".fields]
email = "str"
plan = "free | paid"
[key."gone"]
type = "string"
ttl = "none"
"#;

    fn words(old: &str, new: &str) -> Vec<String> {
        let schema =
            |text: &str| keyward_schema::check("x", text.as_bytes()).schema.expect("it is sound");
        compare(&schema(old), &schema(new)).iter().map(Difference::in_words).collect()
    }

    #[test]
    fn a_schema_does_not_differ_from_itself() {
        assert_eq!(words(OLD, OLD), Vec::<String>::new());
    }

    #[test]
    fn schemas_of_thousands_of_keys_are_compared_key_by_key() {
        let schema = |fields: &str| {
            let key = |n: usize| {
                format!("[key.\"k{n}:{{id:uint}}\"]\ntype = \"json\"\nfields = {{ {fields} }}\n")
            };
            "[keyspace]\nname = \"big\"\n".to_owned() + &(0..2000).map(key).collect::<String>()
        };
        let words = words(&schema("a = \"str\", b = \"str\""), &schema("a = \"str\", b = \"int\""));
        assert_eq!(words.len(), 2000);
        assert_eq!(words[1999], "k1999:{id:uint}: Fields: b: str, required -> b: int, required");
    }

    #[test]
    fn only_what_differs_is_told() {
        let new = OLD
            .replace("\"shop\"", "\"shop\"\nunknown = \"allow\"")
            .replace("30m", "1h")
            .replace("free | paid", "free | paid | gold")
            .replace("\"gone\"", "\"new\"");
        assert_eq!(
            words(OLD, &new),
            [
                "the keyspace: unknown keys: reject -> allow",
                "user:{id:uint}: Lifetime: 30 minutes from the write that creates or overwrites \
                 it. A writer may ask for less; asking for more is refused. -> 1 hour from the \
                 write that creates or overwrites it. A writer may ask for less; asking for more \
                 is refused.",
                "user:{id:uint}: Fields: plan: free | paid, required -> plan: free | paid | gold, \
                 required",
                "new: is new",
                "gone: is gone",
            ]
        );
    }

    #[test]
    fn what_can_cost_rows_later_is_not_called_compatible() {
        use Effect::{Compatible, Destroys, Rewrites};
        let text = |keyspace: &str, key: &str| {
            format!("[keyspace]\nname = \"x\"\n{keyspace}\n[key.\"k:{{id}}\"]\n{key}\n")
        };
        let check = |old: &str, new: &str, effect: Effect| {
            let schema = |text: &str| {
                keyward_schema::check("x", text.as_bytes()).schema.expect("it is sound")
            };
            let worst = compare(&schema(old), &schema(new)).iter().map(|found| found.effect).max();
            assert_eq!(worst, Some(effect), "{old} -> {new}");
        };
        let string = |key: &str| text("", &format!("type = 'string'\n{key}"));
        let keyspaces = [
            ("", "max_memory = '1mb'", Destroys),
            ("max_memory = '2mb'", "max_memory = '1mb'", Destroys),
            ("max_memory = '1mb'", "max_memory = '2mb'", Compatible),
            ("", "persist = 'none'", Destroys),
            ("persist = 'rdb'", "persist = 'none'", Destroys),
            ("persist = 'aof'", "persist = 'rdb'", Destroys),
            ("persist = 'none'", "persist = 'aof'", Compatible),
            ("mode = 'observe'", "mode = 'enforce'", Destroys),
            ("mode = 'warn'", "mode = 'enforce'", Compatible),
            ("", "mode = 'observe'", Compatible),
        ];
        for (old, new, effect) in keyspaces {
            check(&text(old, "type = 'string'"), &text(new, "type = 'string'"), effect);
        }
        let keys = [
            ("ttl = '1h'\nevict = 'never'", "ttl = '1h'\nevict = 'lru'", Destroys),
            ("ttl = '1h'\nevict = 'lru'", "ttl = '1h'\nevict = 'never'", Compatible),
            ("ttl = '1h'\nevict = 'lru'", "ttl = '1h'\nevict = 'first'", Compatible),
            ("ttl = 'none'", "ttl = '1h'", Destroys),
            ("ttl = '1h'", "ttl = 'none'", Rewrites),
            ("ttl = '10d'", "ttl = { after = '1h', renew = 'access' }", Rewrites),
            ("mode = 'observe'", "mode = 'enforce'", Destroys),
        ];
        for (old, new, effect) in keys {
            check(&string(old), &string(new), effect);
        }
        for (kind, bound) in [("list", "max_len"), ("stream", "max_len"), ("zset", "max_members")] {
            let bounded = |most: u32| text("", &format!("type = '{kind}'\n{bound} = {most}"));
            check(&bounded(1000), &bounded(10), Destroys);
            check(&bounded(10), &bounded(1000), Compatible);
            check(&text("", &format!("type = '{kind}'")), &bounded(10), Destroys);
        }
        let set = |most: u32| text("", &format!("type = 'set'\nmax_members = {most}"));
        check(&set(1000), &set(10), Compatible);
    }

    #[test]
    fn a_pattern_that_is_moved_to_another_keyspace_is_under_its_mode_and_memory() {
        let read = |name: &str, settings: &str, keys: &str| {
            let text = format!("[keyspace]\nname = '{name}'\n{settings}\n{keys}");
            keyward_schema::check(name, text.as_bytes()).schema.expect("it is sound")
        };
        let key = |name: &str| format!("[key.'{name}:{{id}}']\ntype = 'string'\n");
        let (a, b, moved) = (key("a"), key("b"), key("m"));
        let check = |(one, two): (&str, &str), told: &[(&str, Effect)]| {
            let old =
                Schema::join(vec![read("one", one, &(a.clone() + &moved)), read("two", two, &b)]);
            // In another order too.
            let new =
                Schema::join(vec![read("two", two, &(b.clone() + &moved)), read("one", one, &a)]);
            let differences = compare(&old, &new);
            let is: Vec<(String, Effect)> =
                differences.iter().map(|found| (found.in_words(), found.effect)).collect();
            let told: Vec<(String, Effect)> =
                told.iter().map(|(words, effect)| ((*words).to_owned(), *effect)).collect();
            assert_eq!(is, told);
        };
        check(("", ""), &[("m:{id}: Keyspace: one -> two", Effect::Compatible)]);
        check(("", "max_memory = '1mb'"), &[("m:{id}: Keyspace: one -> two", Effect::Destroys)]);
        check(("mode = 'observe'", ""), &[("m:{id}: Keyspace: one -> two", Effect::Destroys)]);
        check(("", "mode = 'observe'"), &[("m:{id}: Keyspace: one -> two", Effect::Compatible)]);
    }
}
