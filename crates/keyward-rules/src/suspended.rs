//! What is left of a schema where some of its keys observe.
//!
//! Pure: a function of the schema and of what overrules its modes. What it means is told in
//! `observing`.

use keyward_schema::{Bounds, KeyId, Lifetime, Mode, Persist, Schema};

/// Whether the keyspace at this place observes as a whole.
pub(crate) fn keyspace_observes(schema: &Schema, modes: &[Option<Mode>], keyspace: usize) -> bool {
    let overruled = modes.get(keyspace).copied().flatten();
    overruled.unwrap_or(schema.keyspace_at(keyspace).mode) == Mode::Observe
}

/// By the index of the key, whether it observes.
pub(crate) fn observing(schema: &Schema, modes: &[Option<Mode>]) -> Vec<bool> {
    let observes = |id: KeyId| {
        let key = schema.key(id);
        let overruled = modes.get(key.keyspace).copied().flatten();
        match overruled.or(key.mode) {
            Some(mode) => mode == Mode::Observe,
            None => keyspace_observes(schema, modes, key.keyspace),
        }
    };
    schema.ids().map(observes).collect()
}

/// What is left of a schema, and by the index of the key whether something of it is suspended.
pub(crate) fn suspend(
    schema: &Schema,
    modes: &[Option<Mode>],
    observes: &[bool],
) -> (Schema, Vec<bool>) {
    let mut left = schema.clone();
    let mut is_suspended = observes.to_vec();
    for (index, key) in left.keys.iter_mut().enumerate() {
        is_suspended[index] |= key.ties().any(|other| observes[other.index()]);
        if is_suspended[index] {
            key.lifetime = Lifetime::Free;
            key.derived = None;
            key.sink = None;
        }
        if observes[index] {
            key.bounds = Bounds::default();
        }
    }
    let count = schema.keyspaces().count();
    let all: Vec<bool> = (0..count).map(|place| keyspace_observes(schema, modes, place)).collect();
    for (part, _) in left.parts.iter_mut().zip(&all).filter(|(_, observes)| **observes) {
        part.keyspace.max_memory = None;
    }
    if all.contains(&true) {
        // It is equal in all keyspaces of a database.
        left.keyspace.persist = Persist::Aof;
        left.keyspace.persist_said = None;
    }
    if left.parts.is_empty() && all.contains(&true) {
        left.keyspace.max_memory = None;
    }
    (left, is_suspended)
}
