//! What a difference between two schemas can do to rows that are there.
//!
//! Owns the worst that a survey can find where one schema takes the place of the other,
//! told without rows: `Compatible` is a promise, the others say what is possible, by the next
//! write or the next start too. Values that no longer fit do nothing to rows, which are kept and
//! counted; writers meet them.
//! Not here: what does become of rows (`survey`).

use keyward_schema::{
    DataType, Derived, Evict, Key, KeyId, Keyspace, Lifetime, Mode, Persist, Relation, Schema,
    Unknown, relate,
};

/// What can become of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// They stay as they are.
    Compatible,
    /// They get another end, or derived keys are built; nothing that clients wrote goes
    /// at once.
    Rewrites,
    /// Some of them, or of their elements, may go.
    Destroys,
}

impl Effect {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Compatible => "compatible",
            Effect::Rewrites => "rewrites",
            Effect::Destroys => "destroys",
        }
    }
}

/// What a difference under a heading of a key that both schemas have can do.
pub(super) fn of_change(about: &str, (old, was): At<'_>, (new, is): At<'_>) -> Effect {
    let (before, after) = (old.key(was), new.key(is));
    match about {
        "Lifetime" => of_lifetime(Some(&before.lifetime), &after.lifetime),
        "Kept by Keyward" => of_derivation(before.derived.as_ref(), after, true),
        "Bounds" => of_bounds(before, after),
        "If memory is short" => of_eviction(before.evict, after),
        "Enforcement" if before.mode == Some(Mode::Observe) => Effect::Destroys,
        // Whom a set names in its mirror is said there, and mirrors agree by what either has.
        _ => Effect::Compatible,
    }
}

/// A key of a schema.
type At<'a> = (&'a Schema, KeyId);

/// What a pattern that only the new schema has can do to rows that it gets.
pub(super) fn of_addition(old: &Schema, (new, is): At<'_>) -> Effect {
    let after = new.key(is);
    let meets = |key: &&Key| relate(&key.pattern, &after.pattern).0 != Relation::Disjoint;
    let owners = old.ids().filter(|id| meets(&old.key(*id)));
    // Keys without a pattern, which the old schema may have let in.
    let takes_strangers = old.keyspace.unknown != Unknown::Reject;
    let of_owners = owners.map(|was| of_transfer((old, was), after));
    // They fill no keyspace, and the rows of a pattern do.
    let fills = new.keyspace_of(is).max_memory.is_some() && after.evict != Evict::Never;
    let of_room = if fills { Effect::Destroys } else { Effect::Compatible };
    let of_strangers = takes_strangers.then(|| {
        let of_row = of_lifetime(None, &after.lifetime).max(of_derivation(None, after, true));
        of_row.max(of_room)
    });
    let built = of_derivation(None, after, false);
    of_owners.chain(of_strangers).max().unwrap_or(Effect::Compatible).max(built)
}

/// What the end of a pattern can do to its rows. Those that another takes over become its
/// own, and all others are kept without a pattern, but for what was computed: that goes.
pub(super) fn of_removal((old, was): At<'_>, new: &Schema) -> Effect {
    let before = old.key(was);
    if before.derived.as_ref().is_some_and(is_computed) {
        return Effect::Destroys;
    }
    let takes = |key: &&Key| relate(&key.pattern, &before.pattern).0 != Relation::Disjoint;
    let heirs = new.keys.iter().filter(takes);
    heirs.map(|after| of_transfer((old, was), after)).max().unwrap_or(Effect::Compatible)
}

/// What becomes of rows of one pattern that belong to another from now on. What others have
/// of them goes: the elements of derived keys, and rows that live with them.
fn of_transfer((old, was): At<'_>, after: &Key) -> Effect {
    let before = old.key(was);
    if old.keys.iter().any(|key| key.ties().any(|other| other == was)) {
        return Effect::Destroys;
    }
    let of_row = of_lifetime(Some(&before.lifetime), &after.lifetime);
    let of_rest = of_bounds(before, after).max(of_eviction(before.evict, after));
    of_row.max(of_rest).max(of_derivation(before.derived.as_ref(), after, true))
}

/// What bounds do to rows that were kept by others. Rows with more are kept, but where a bound
/// drops elements the next write does so.
fn of_bounds(before: &Key, after: &Key) -> Effect {
    let dropped_beyond = |key: &Key| match key.data {
        DataType::List | DataType::Stream => key.bounds.max_len,
        DataType::Zset => key.bounds.max_members,
        _ => None,
    };
    match is_less(dropped_beyond(before), dropped_beyond(after)) {
        true => Effect::Destroys,
        false => Effect::Compatible,
    }
}

/// Whether a limit is smaller than before, or new.
fn is_less(before: Option<u64>, after: Option<u64>) -> bool {
    after.is_some_and(|after| before.is_none_or(|before| after < before))
}

/// What it does to rows that they may be evicted from now on: where memory is short, they go.
fn of_eviction(before: Evict, after: &Key) -> Effect {
    match before == Evict::Never && after.evict != Evict::Never {
        true => Effect::Destroys,
        false => Effect::Compatible,
    }
}

/// Whether all that it holds comes from its sources.
fn is_computed(derived: &Derived) -> bool {
    !matches!(derived, Derived::Inverse { .. } | Derived::Follows { .. })
}

/// What a lifetime does to rows that lived by another, or by none that is known.
fn of_lifetime(before: Option<&Lifetime>, after: &Lifetime) -> Effect {
    match after {
        Lifetime::Free => Effect::Compatible,
        // Ends that it forbids go.
        Lifetime::Forever => match before {
            Some(Lifetime::Forever) => Effect::Compatible,
            _ => Effect::Rewrites,
        },
        // Whose time is over, or who has nobody to live with, ends.
        Lifetime::Until { .. } | Lifetime::With { .. } => match before {
            Some(before) if before == after => Effect::Compatible,
            _ => Effect::Destroys,
        },
        // A row without an end gets one, which may be over.
        Lifetime::Renewed { total: Some(_), .. } => match before {
            Some(before) if before == after => Effect::Compatible,
            Some(before) if always_ends(before) => Effect::Rewrites,
            _ => Effect::Destroys,
        },
        // Those that live too long get a nearer end by their next use.
        Lifetime::Renewed { .. } => match before {
            Some(before) if before == after => Effect::Compatible,
            _ => Effect::Rewrites,
        },
        // Rows without an end get one; those that live too long are kept.
        Lifetime::Within { .. }
        | Lifetime::Window { .. }
        | Lifetime::By { .. }
        | Lifetime::Given { .. } => match before {
            Some(before) if always_ends(before) => Effect::Compatible,
            _ => Effect::Rewrites,
        },
    }
}

/// Whether every row of such a lifetime has a deadline.
fn always_ends(lifetime: &Lifetime) -> bool {
    match lifetime {
        Lifetime::Within { .. }
        | Lifetime::Window { .. }
        | Lifetime::Renewed { .. }
        | Lifetime::By { .. }
        | Lifetime::Until { .. } => true,
        Lifetime::Given { max, default, .. } => max.is_some() || default.is_some(),
        // A leader may live for ever.
        Lifetime::Free | Lifetime::Forever | Lifetime::With { .. } => false,
    }
}

/// What a derived key does to rows that are there, and to itself.
fn of_derivation(before: Option<&Derived>, after: &Key, has_rows: bool) -> Effect {
    match (&after.derived, before) {
        (None, Some(before)) if is_computed(before) => Effect::Destroys,
        (None, _) => Effect::Compatible,
        (Some(after), Some(before)) if after == before => Effect::Compatible,
        // Mirrors agree by what either has.
        (Some(Derived::Inverse { .. }), _) => Effect::Rewrites,
        // Who names no living key leaves.
        (Some(Derived::Follows { .. }), _) if has_rows => Effect::Destroys,
        (Some(Derived::Follows { .. }), _) => Effect::Compatible,
        // What clients wrote there and the sources do not demand goes.
        (Some(_), _) if has_rows => Effect::Destroys,
        (Some(_), _) => Effect::Rewrites,
    }
}

/// What a difference of the keyspace itself can do.
pub(super) fn of_keyspace(about: &str, old: &Keyspace, new: &Keyspace) -> Effect {
    let is_weaker = match (old.persist, new.persist) {
        (Persist::None, _) | (_, Persist::Aof) => false,
        (_, Persist::None) => true,
        (before, Persist::Rdb) => before == Persist::Aof,
    };
    match about {
        // What is too much is evicted.
        "memory" if is_less(old.max_memory, new.max_memory) => Effect::Destroys,
        // The next start is without rows that the files do not have.
        "persistence" if is_weaker => Effect::Destroys,
        // All that was only counted is done.
        "mode" if old.mode == Mode::Observe => Effect::Destroys,
        _ => Effect::Compatible,
    }
}
