//! What a difference between two schemas can do to rows that are there.
//!
//! Owns the worst that a survey can find where one schema takes the place of the other,
//! told without rows: `Compatible` is a promise, the others say what is possible, by the next
//! write or the next start too. Values that no longer fit do nothing to rows, which are kept and
//! counted; writers meet them.
//!
//! Rows are taken to be what the schema before let them become, and no more: where it only
//! observed, anything; where it warned, what clients wrote into rows that Keyward computes.
//! Whatever it says of unknown keys, there may be some from before it.
//! Invariant: never less than a survey finds (`plan_settings` of the engine's tests tries every
//! setting).
//! Not here: what does become of rows (`survey`).

use keyward_schema::{
    Content, DataType, Derived, Evict, Key, KeyId, Keyspace, Lifetime, Mode, Persist, RankBy,
    Relation, Renew, Schema, Sink, SinkKind, Steps, Type, Unknown, relation_within,
};

use super::same::{At, field, same_derivation, same_lifetime};

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
pub(super) fn of_change(about: &str, old: At<'_>, new: At<'_>) -> Effect {
    let (before, after) = (key(old), key(new));
    match about {
        "Type" | "Fields" => of_reading(old, new),
        "Lifetime" => of_lifetime(kept(old), new),
        "Kept by Keyward" => of_derivation(kept(old), new, true),
        "Bounds" => of_bounds(kept(old).map(key), after),
        "If memory is short" => of_eviction(before.evict, after),
        "Enforcement" => of_mode(old, new),
        "Keyspace" => of_mode(old, new).max(of_room(old, new)),
        "PostgreSQL" => of_sink(before.sink.as_ref(), after.sink.as_ref()),
        // Whom a set names in its mirror is said there, and mirrors agree by what either has.
        _ => Effect::Compatible,
    }
}

fn key<'a>((schema, id): At<'a>) -> &'a Key {
    schema.key(id)
}

/// What a key is under: its own mode, or its keyspace's.
fn mode_of((schema, id): At<'_>) -> Mode {
    schema.key(id).mode.unwrap_or(schema.keyspace_of(id).mode)
}

/// A key, if its rows are as it says: who observes keeps nothing.
fn kept(at: At<'_>) -> Option<At<'_>> {
    (mode_of(at) != Mode::Observe).then_some(at)
}

/// Whether clients may have written what Keyward computes: where writes only warn.
pub(super) fn is_written_over(at: At<'_>) -> bool {
    mode_of(at) == Mode::Warn && key(at).derived.as_ref().is_some_and(is_computed)
}

/// What a pattern that only the new schema has can do to rows that it gets.
pub(super) fn of_addition(old: &Schema, new: At<'_>, steps: &Steps) -> Effect {
    let after = key(new);
    if after.is_changefeed {
        // Nobody but Keyward writes there.
        return Effect::Compatible;
    }
    let mut effect = of_derivation(None, new, false);
    // Keys without a pattern, unless each of its keys had one.
    let mut has_strangers = true;
    for was in old.ids() {
        let relation = relation_within(&old.key(was).pattern, &after.pattern, steps);
        if relation != Relation::Disjoint {
            effect = effect.max(of_transfer((old, was), new));
            has_strangers &= !matches!(relation, Relation::Equal | Relation::Superset);
        }
    }
    if has_strangers { effect.max(of_strangers(new)) } else { effect }
}

/// What becomes of rows that no pattern was known for, or none was kept.
fn of_strangers(new: At<'_>) -> Effect {
    let after = key(new);
    // Keys without a pattern fill no keyspace, and the rows of a pattern do.
    let fills = new.0.keyspace_of(new.1).max_memory.is_some() && after.evict != Evict::Never;
    let of_room = if fills { Effect::Destroys } else { Effect::Compatible };
    let of_row = of_lifetime(None, new).max(of_bounds(None, after));
    of_row.max(of_derivation(None, new, true)).max(of_room).max(of_sink(None, after.sink.as_ref()))
}

/// What the end of a pattern can do to its rows. Those that another takes over become its
/// own, and all others are kept without a pattern, but for what was computed: that goes.
pub(super) fn of_removal((old, was): At<'_>, new: &Schema, steps: &Steps) -> Effect {
    let before = old.key(was);
    if before.derived.as_ref().is_some_and(is_computed) {
        return Effect::Destroys;
    }
    let takes = |id: &KeyId| {
        relation_within(&new.key(*id).pattern, &before.pattern, steps) != Relation::Disjoint
    };
    let heirs = new.ids().filter(takes);
    heirs.map(|is| of_transfer((old, was), (new, is))).max().unwrap_or(Effect::Compatible)
}

/// Whether writes to some keys of a pattern that is gone are refused: no other pattern takes all of
/// them.
pub(super) fn refuses_writers((old, was): At<'_>, new: &Schema, steps: &Steps) -> bool {
    let Key { pattern, derived, .. } = old.key(was);
    if derived.as_ref().is_some_and(is_computed) {
        return false;
    }
    let takes_all = |id: KeyId| {
        let relation = relation_within(&new.key(id).pattern, pattern, steps);
        matches!(relation, Relation::Equal | Relation::Superset)
    };
    let is_enforced = new.keyspaces().all(|keyspace| keyspace.mode == Mode::Enforce);
    is_enforced && new.keyspace.unknown == Unknown::Reject && !new.ids().any(takes_all)
}

/// What becomes of rows of one pattern that belong to another from now on. What others have
/// of them goes: the elements of derived keys, and rows that live with them.
fn of_transfer(old: At<'_>, new: At<'_>) -> Effect {
    let (before, after) = (key(old), key(new));
    if old.0.keys.iter().any(|key| key.ties().any(|other| other == old.1)) {
        return Effect::Destroys;
    }
    let Some(kept) = kept(old) else { return of_strangers(new) };
    let of_row = of_lifetime(Some(kept), new).max(of_bounds(Some(before), after));
    let of_rest = of_eviction(before.evict, after).max(of_room(old, new));
    let of_sink = of_sink(before.sink.as_ref(), after.sink.as_ref());
    of_row.max(of_rest).max(of_sink).max(of_derivation(Some(kept), new, true))
}

/// What it does to rows that their keyspace may take less: what is too much is evicted.
fn of_room((old, was): At<'_>, (new, is): At<'_>) -> Effect {
    let (had, has) = (old.keyspace_of(was).max_memory, new.keyspace_of(is).max_memory);
    match is_less(had, has) && new.key(is).evict != Evict::Never {
        true => Effect::Destroys,
        false => Effect::Compatible,
    }
}

/// What becomes of rows whose mode is another one. Who only observed let anything be, and all
/// of it is done; who warned let clients write what Keyward computes, which goes.
fn of_mode(old: At<'_>, new: At<'_>) -> Effect {
    match (mode_of(old), mode_of(new)) {
        (Mode::Observe, Mode::Enforce | Mode::Warn) => Effect::Destroys,
        (Mode::Warn, Mode::Enforce) if is_written_over(old) => Effect::Destroys,
        _ => Effect::Compatible,
    }
}

/// What bounds do to rows that were kept by others. Rows with more are kept, but where a bound
/// drops elements the next write does so.
fn of_bounds(before: Option<&Key>, after: &Key) -> Effect {
    let dropped_beyond = |key: &Key| match key.data {
        DataType::List | DataType::Stream => key.bounds.max_len,
        DataType::Zset => key.bounds.max_members,
        _ => None,
    };
    match is_less(before.and_then(dropped_beyond), dropped_beyond(after)) {
        true => Effect::Destroys,
        false => Effect::Compatible,
    }
}

/// Whether a limit is smaller than before, or new.
fn is_less<T: Ord>(before: Option<T>, after: Option<T>) -> bool {
    after.is_some_and(|after| before.is_none_or(|before| after < before))
}

/// What it does to rows that they may be evicted from now on: where memory is short, they go.
fn of_eviction(before: Evict, after: &Key) -> Effect {
    match before == Evict::Never && after.evict != Evict::Never {
        true => Effect::Destroys,
        false => Effect::Compatible,
    }
}

/// What a sink does to items that are there: the list does not keep what is drained, and drops
/// what the table has for long enough.
fn of_sink(before: Option<&Sink>, after: Option<&Sink>) -> Effect {
    let drains = |sink: Option<&Sink>| sink.is_some_and(|sink| sink.kind == SinkKind::Drain);
    let drop = |sink: Option<&Sink>| sink.and_then(|sink| sink.drop);
    match (drains(after) && !drains(before)) || is_less(drop(before), drop(after)) {
        true => Effect::Destroys,
        false => Effect::Compatible,
    }
}

/// Whether all that it holds comes from its sources.
fn is_computed(derived: &Derived) -> bool {
    !matches!(derived, Derived::Inverse { .. } | Derived::Follows { .. })
}

/// What it does to rows that are computed from others that what those hold is read otherwise.
fn of_reading(old: At<'_>, new: At<'_>) -> Effect {
    /// Where a row has what it says.
    fn reading(content: &Content) -> u8 {
        match content {
            Content::Value(_) => 0,
            Content::Json(shape) if shape.object().is_some() => 1,
            Content::Fields(_) => 2,
            _ => 3,
        }
    }
    let is_time = |at: At<'_>, index: usize| {
        field(at, index).is_some_and(|field| field.shape.ty == Type::Timestamp)
    };
    let (before, after) = (&key(old).content, key(new));
    let feeds = |derived: &&Derived| derived.source().key == new.1 && is_computed(derived);
    let mut fed = new.0.keys.iter().filter_map(|key| key.derived.as_ref()).filter(feeds);
    let is_read_otherwise = fed.any(|derived| {
        let scores_otherwise = |by: usize| {
            let was = field(new, by).and_then(|field| {
                before.object()?.fields.iter().position(|other| other.name == field.name)
            });
            was.is_none_or(|was| is_time(old, was) != is_time(new, by))
        };
        reading(before) != reading(&after.content)
            || matches!(derived, Derived::Rank { by: RankBy::Field(by), .. } if scores_otherwise(*by))
    });
    if is_read_otherwise { Effect::Destroys } else { Effect::Compatible }
}

/// What a lifetime does to rows that lived by another, or by none that is known.
fn of_lifetime(before: Option<At<'_>>, new: At<'_>) -> Effect {
    if before.is_some_and(|before| same_lifetime(before, new)) {
        return Effect::Compatible;
    }
    let had = before.map(|before| &key(before).lifetime);
    match &key(new).lifetime {
        Lifetime::Free => Effect::Compatible,
        // Ends that it forbids go.
        Lifetime::Forever => Effect::Rewrites,
        // Whose time is over, or who has nobody to live with, ends.
        Lifetime::Until { .. } | Lifetime::With { .. } => Effect::Destroys,
        // Whose whole time is over ends by its next use, and a row without an end gets one,
        // which may be over.
        Lifetime::Renewed { total: Some(total), .. } => match had {
            Some(Lifetime::Renewed { total: Some(had), .. })
                if had.max <= total.max && same_field(before, had.from, new, total.from) =>
            {
                Effect::Rewrites
            }
            _ => Effect::Destroys,
        },
        // Those that live too long get a nearer end by their next use.
        Lifetime::Renewed { .. }
        | Lifetime::By { renew: Some(Renew::Write | Renew::Access), .. } => Effect::Rewrites,
        // Rows without an end get one; those that live too long are kept.
        Lifetime::Within { .. }
        | Lifetime::Window { .. }
        | Lifetime::By { .. }
        | Lifetime::Given { .. } => match had {
            Some(had) if always_ends(had) => Effect::Compatible,
            _ => Effect::Rewrites,
        },
    }
}

/// Whether two keys call their fields of these indices the same.
fn same_field(before: Option<At<'_>>, was: usize, new: At<'_>, is: usize) -> bool {
    let name = |at: At<'_>, index: usize| field(at, index).map(|field| field.name.clone());
    before.is_some_and(|before| name(before, was) == name(new, is))
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
fn of_derivation(before: Option<At<'_>>, new: At<'_>, has_rows: bool) -> Effect {
    let was = before.and_then(|before| key(before).derived.as_ref());
    match &key(new).derived {
        None if was.is_some_and(is_computed) => Effect::Destroys,
        None => Effect::Compatible,
        Some(_) if before.is_some_and(|before| same_derivation(before, new)) => Effect::Compatible,
        // Mirrors agree by what either has.
        Some(Derived::Inverse { .. }) => Effect::Rewrites,
        // Who names no living key leaves.
        Some(Derived::Follows { .. }) if has_rows => Effect::Destroys,
        Some(Derived::Follows { .. }) => Effect::Compatible,
        // What clients wrote there and the sources do not demand goes.
        Some(_) if has_rows => Effect::Destroys,
        Some(_) => Effect::Rewrites,
    }
}

/// What a difference of the keyspace at that place itself can do.
pub(super) fn of_keyspace(
    about: &str,
    (old, was): (&Schema, usize),
    (new, is): (&Schema, usize),
) -> Effect {
    let (before, after) = (old.keyspace_at(was), new.keyspace_at(is));
    match about {
        // What is too much is evicted.
        "memory" if is_less(before.max_memory, after.max_memory) => Effect::Destroys,
        // The next start is without rows that the files do not have.
        "persistence" if is_weaker(before, after) => Effect::Destroys,
        // All that was only counted is done.
        "mode" if before.mode == Mode::Observe => Effect::Destroys,
        "mode" => {
            let own = old.keys.iter().filter(|key| key.keyspace == was && key.mode.is_none());
            let mut derived = own.filter_map(|key| key.derived.as_ref());
            let ends_warning = before.mode == Mode::Warn && after.mode == Mode::Enforce;
            match ends_warning && derived.any(is_computed) {
                true => Effect::Destroys,
                false => Effect::Compatible,
            }
        }
        // The rows of that database come under it.
        "database" => {
            let own = new.ids().filter(|id| new.key(*id).keyspace == is);
            own.map(|id| of_strangers((new, id))).max().unwrap_or(Effect::Compatible)
        }
        _ => Effect::Compatible,
    }
}

/// Whether files are to have less than before.
fn is_weaker(before: &Keyspace, after: &Keyspace) -> bool {
    match (before.persist, after.persist) {
        (Persist::None, _) | (_, Persist::Aof) => false,
        (_, Persist::None) => true,
        (before, Persist::Rdb) => before == Persist::Aof,
    }
}
