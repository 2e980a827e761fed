//! How keys hang together, in words: seen from the derived key, and from its
//! source.

use super::in_words::field_name;
use super::line::Line;
use super::links::Linked;
use crate::derived::{Condition, Derived, Finds, RankBy, Reference};
use crate::lifetime::Lifetime;
use crate::schema::{Key, KeyId};

/// What Keyward does for a derived key.
pub(super) fn derivation_in_words(links: &Linked<'_>, key: &Key, derived: &Derived) -> Line {
    let source = links.schema.key(derived.source().key);
    let link = links.key_link(derived.source().key);
    let member = member_name(links, derived.source());
    match derived {
        Derived::Lookup { finds: Finds::Field(held), when, .. } => Line::text("The ")
            .and_line(field_name(source, *held))
            .and(" of each ")
            .and_line(link)
            .and_line(conditions_in_words(source, when))
            .and(". It ends with that."),
        Derived::Lookup { finds: Finds::Member { field, .. }, when, .. } => {
            let what = match field {
                Some(index) => Line::text("A unique index of ")
                    .and_line(field_name(source, *index))
                    .and(" in "),
                None => Line::text("A unique index of the value of "),
            };
            what.and_line(link)
                .and_line(conditions_in_words(source, when))
                .and(": it holds the ")
                .and_line(member)
                .and(". A second owner is refused.")
        }
        Derived::Rank { by, when, .. } => {
            let line = Line::text("The ")
                .and_line(member)
                .and(" of every ")
                .and_line(link)
                .and_line(conditions_in_words(source, when))
                .and(", scored by ")
                .and_line(rank_in_words(source, *by));
            match by {
                RankBy::Field(_) => line.and(". A row without it is not ranked."),
                RankBy::Placeholder(_) => line.and("."),
            }
        }
        Derived::Members { when, split, .. } => {
            let mut line = Line::text("The ")
                .and_line(member)
                .and(" of every ")
                .and_line(link)
                .and_line(conditions_in_words(source, when));
            if !split.is_empty() {
                let names = split.iter().map(|(_, field)| field_name(source, *field));
                line = line.and(", one set for each ").and_line(Line::join(names, " and "));
            }
            line.and(".")
        }
        Derived::Inverse { slot, .. } => Line::text("Mirrors ")
            .and_line(link)
            .and(": whoever is in this set has this ")
            .and_line(Line::code(format!("{{{}}}", key.pattern.placeholders()[*slot].name)))
            .and(" in theirs. Either can be written."),
        Derived::Follows { .. } => Line::text("Clients write it, but each member names a living ")
            .and_line(link)
            .and(", and leaves when that key goes."),
    }
}

/// What ranks a row.
fn rank_in_words(source: &Key, by: RankBy) -> Line {
    match by {
        RankBy::Field(index) => field_name(source, index),
        RankBy::Placeholder(index) => {
            Line::code(format!("{{{}}}", source.pattern.placeholders()[index].name))
        }
    }
}

/// Who keeps a derived key, in a few words.
pub fn keeper(derived: &Derived) -> &'static str {
    match derived {
        Derived::Lookup { finds: Finds::Member { .. }, .. } => "unique index",
        Derived::Lookup { finds: Finds::Field(_), .. } => "derived value",
        Derived::Rank { .. } => "ranking",
        Derived::Members { .. } => "derived set",
        Derived::Inverse { .. } => "mirrored set",
        Derived::Follows { .. } => "follows its keys",
    }
}

/// Whether Keyward alone writes it, so that a client only reads.
pub fn is_read_only(key: &Key) -> bool {
    matches!(
        key.derived,
        Some(Derived::Lookup { .. } | Derived::Rank { .. } | Derived::Members { .. })
    )
}

fn member_name(links: &Linked<'_>, source: &Reference) -> Line {
    let placeholders = links.schema.key(source.key).pattern.placeholders();
    match source.member() {
        Some(index) => Line::code(&*placeholders[index].name),
        None => Line::text("member"),
    }
}

/// Which rows are meant; nothing where all are.
fn conditions_in_words(source: &Key, when: &[Condition]) -> Line {
    let tests = when.iter().map(|test| condition_in_words(source, test));
    match when.is_empty() {
        true => Line::default(),
        false => Line::text(" where ").and_line(Line::join(tests, " and ")),
    }
}

fn condition_in_words(source: &Key, condition: &Condition) -> Line {
    let verb = if condition.is { " is " } else { " is not " };
    let values = condition.values.iter().map(|value| Line::code(&**value));
    field_name(source, condition.field).and(verb).and_line(Line::join(values, " or "))
}

/// What other keys take from this one: derived keys, and keys that end with it.
pub(super) fn dependents(links: &Linked<'_>, id: KeyId) -> Vec<Line> {
    let of_key = |other: KeyId| -> Option<Line> {
        let key = links.schema.key(other);
        let link = || links.key_link(other);
        if let Some(derived) = key.derived.as_ref().filter(|derived| derived.source().key == id) {
            let does = match derived {
                Derived::Lookup { finds: Finds::Field(held), .. } => {
                    let field = field_name(links.schema.key(id), *held);
                    Line::text(" holds its ").and_line(field)
                }
                Derived::Lookup { finds: Finds::Member { field: Some(field), .. }, .. } => {
                    let field = field_name(links.schema.key(id), *field);
                    Line::text(" finds it by ").and_line(field)
                }
                Derived::Lookup { finds: Finds::Member { field: None, .. }, .. } => {
                    Line::text(" finds it by its value")
                }
                Derived::Rank { by, .. } => {
                    Line::text(" ranks it by ").and_line(rank_in_words(links.schema.key(id), *by))
                }
                Derived::Members { .. } => Line::text(" lists it"),
                // Each of the two already says so of the other.
                Derived::Inverse { .. } => return None,
                Derived::Follows { .. } => Line::text(" drops it when it ends"),
            };
            return Some(link().and_line(does));
        }
        match &key.lifetime {
            Lifetime::With { key } if key.key == id => Some(link().and(" ends with it")),
            _ => None,
        }
    };
    links.schema.ids().filter_map(of_key).collect()
}
