//! Whether two schemas say the same of a key.
//!
//! Owns the comparison of what names fields and other keys: each schema counts its own, so they
//! are compared by name. The words of a document (`facts`) do not tell by which placeholder of
//! its own a key names another one.
//! Not here: what a difference does (`effect`).

use keyward_schema::{
    Binding, Condition, Derived, Field, Finds, KeyId, Lifetime, RankBy, Reference, Schema, Subject,
};

/// A key of a schema.
pub(super) type At<'a> = (&'a Schema, KeyId);

/// The field of an index.
pub(super) fn field<'a>((schema, id): At<'a>, index: usize) -> Option<&'a Field> {
    schema.key(id).content.object()?.fields.get(index)
}

fn name(at: At<'_>, index: usize) -> Option<&str> {
    field(at, index).map(|field| &*field.name)
}

/// Whether rows of both live as long, whatever their patterns.
pub(super) fn same_lifetime(old: At<'_>, new: At<'_>) -> bool {
    match (&old.0.key(old.1).lifetime, &new.0.key(new.1).lifetime) {
        (Lifetime::With { key: was }, Lifetime::With { key: is }) => {
            same_reference((old, was), (new, is))
        }
        (Lifetime::Until { field: was }, Lifetime::Until { field: is }) => {
            name(old, *was) == name(new, *is)
        }
        (
            Lifetime::Renewed { after: had, renew: by, total: was },
            Lifetime::Renewed { after, renew, total: is },
        ) => {
            let same_total = match (was, is) {
                (Some(was), Some(is)) => {
                    was.max == is.max && name(old, was.from) == name(new, is.from)
                }
                (was, is) => was.is_none() && is.is_none(),
            };
            (had, by) == (after, renew) && same_total
        }
        (
            Lifetime::By { subject: was, cases: had, renew: by },
            Lifetime::By { subject: is, cases, renew },
        ) => {
            let same_subject = match (was, is) {
                (Subject::Field(was), Subject::Field(is)) => name(old, *was) == name(new, *is),
                (was, is) => was == is && same_pattern(old, new),
            };
            (had, by) == (cases, renew) && same_subject
        }
        (was, is) => was == is,
    }
}

/// Whether both are derived in the same way, or neither is.
pub(super) fn same_derivation(old: At<'_>, new: At<'_>) -> bool {
    let (was, is) = match (&old.0.key(old.1).derived, &new.0.key(new.1).derived) {
        (Some(was), Some(is)) => (was, is),
        (was, is) => return was.is_none() && is.is_none(),
    };
    let sources = ((old.0, was.source().key), (new.0, is.source().key));
    let named = |was: usize, is: usize| name(sources.0, was) == name(sources.1, is);
    let same_tests = |was: &[Condition], is: &[Condition]| {
        let same = |(was, is): (&Condition, &Condition)| {
            named(was.field, is.field) && (was.is, &was.values) == (is.is, &is.values)
        };
        was.len() == is.len() && was.iter().zip(is).all(same)
    };
    let same_kind = match (was, is) {
        (
            Derived::Lookup { finds: was, when: had, .. },
            Derived::Lookup { finds: is, when, .. },
        ) => {
            let same_finds = match (was, is) {
                (
                    Finds::Member { field: was, slot: from },
                    Finds::Member { field: is, slot: to },
                ) => {
                    let same_field = match (was, is) {
                        (Some(was), Some(is)) => named(*was, *is),
                        (was, is) => was == is,
                    };
                    same_field && from == to
                }
                (Finds::Field(was), Finds::Field(is)) => named(*was, *is),
                _ => false,
            };
            same_finds && same_tests(had, when)
        }
        (Derived::Rank { by: was, when: had, .. }, Derived::Rank { by: is, when, .. }) => {
            let same_score = match (was, is) {
                (RankBy::Field(was), RankBy::Field(is)) => named(*was, *is),
                (was, is) => was == is,
            };
            same_score && same_tests(had, when)
        }
        (
            Derived::Members { when: had, split: was, .. },
            Derived::Members { when, split: is, .. },
        ) => {
            let same =
                |(was, is): (&(usize, usize), &(usize, usize))| was.0 == is.0 && named(was.1, is.1);
            let same_split = was.len() == is.len() && was.iter().zip(is).all(same);
            same_split && same_tests(had, when)
        }
        (Derived::Inverse { slot: was, .. }, Derived::Inverse { slot: is, .. }) => was == is,
        (Derived::Follows { .. }, Derived::Follows { .. }) => true,
        _ => false,
    };
    same_kind && same_reference((old, was.source()), (new, is.source()))
}

/// Whether keys of two patterns that are written the same name the same key.
fn same_reference((old, was): (At<'_>, &Reference), (new, is): (At<'_>, &Reference)) -> bool {
    same_pattern(old, new)
        && same_pattern((old.0, was.key), (new.0, is.key))
        && was.bindings == is.bindings
}

fn same_pattern((old, was): At<'_>, (new, is): At<'_>) -> bool {
    old.key(was).pattern.text() == new.key(is).pattern.text()
}

/// The key that another one names, as a schema writes it.
pub(super) fn template(at: At<'_>, reference: &Reference) -> String {
    let (schema, id) = at;
    let own = schema.key(id).pattern.placeholders();
    let binding = |binding: &Binding| match binding {
        Binding::Bound(index) => format!("{{{}}}", own[*index].name),
        Binding::Member => "{member}".to_owned(),
        Binding::Literal(text) => text.to_string(),
    };
    let values: Vec<String> = reference.bindings.iter().map(binding).collect();
    String::from_utf8_lossy(&schema.key(reference.key).pattern.fill(&values)).into_owned()
}
