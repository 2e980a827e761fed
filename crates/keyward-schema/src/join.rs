//! Schemas that share a database, as one.
//!
//! Owns joining them: their keys and functions stand one behind the other, with the ids
//! and places that they have there, and each knows its keyspace. So there is one matcher
//! and one book for a database, however many files it has.
//! Invariant: only schemas without a conflict (`checks::shared_db`) are joined, so no key
//! belongs to two of them, and what holds for all of them is equal.

use crate::derived::{Derived, Reference};
use crate::lifetime::Lifetime;
use crate::schema::{Content, Key, KeyId, Keyspace, Mode, Schema};
use crate::shape::{Extra, Object, Shape, Type};
use crate::source::{Source, Span};

impl Schema {
    /// One schema of several that share a database. One alone stays as it is.
    ///
    /// # Panics
    /// If there is none.
    pub fn join(mut parts: Vec<Schema>) -> Schema {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let (source, bases) =
            Source::joined(parts.iter().map(|part| part.source.clone()).collect());
        let keyspace = shared(&parts);
        let mut joined = Schema {
            source,
            keyspace,
            keys: Vec::new(),
            functions: Vec::new(),
            notes: Vec::new(),
            parts: Vec::new(),
        };
        for (index, (part, base)) in parts.iter().zip(bases).enumerate() {
            let moving = Moving { keyspace: index, base, keys: joined.keys.len() };
            joined.keys.extend(part.keys.iter().cloned().map(|key| moving.key(key)));
            let functions = part.functions.iter().cloned().map(|mut function| {
                function.keyspace = index;
                moving.place(&mut function.at);
                let targets = function.keys.iter_mut().flat_map(|key| &mut key.targets);
                targets.for_each(|target| moving.reference(&mut target.reference));
                function
            });
            joined.functions.extend(functions);
            joined.notes.extend(part.notes.iter().cloned());
        }
        joined.parts = parts;
        joined
    }
}

/// What holds for a database that several keyspaces share.
fn shared(parts: &[Schema]) -> Keyspace {
    let names: Vec<&str> = parts.iter().map(|part| &*part.keyspace.name).collect();
    let is_strict = parts.iter().all(|part| part.keyspace.mode == Mode::Enforce);
    let first = &parts[0].keyspace;
    Keyspace {
        name: names.join(" and ").into(),
        doc: None,
        owner: None,
        readers: Vec::new(),
        writers: Vec::new(),
        db: first.db,
        db_at: first.db_at,
        unknown: first.unknown,
        mode: if is_strict { Mode::Enforce } else { Mode::Warn },
        max_memory: None,
        persist: first.persist,
        persist_said: parts.iter().find_map(|part| part.keyspace.persist_said),
        alerts: Vec::new(),
        allowed: Vec::new(),
    }
}

/// How a part of a joined schema differs from what it was alone.
struct Moving {
    keyspace: usize,
    /// How far its places move.
    base: u32,
    /// How far its ids do.
    keys: usize,
}

impl Moving {
    fn key(&self, mut key: Key) -> Key {
        key.keyspace = self.keyspace;
        self.place(&mut key.at);
        self.place(&mut key.lifetime_at);
        key.alerts.iter_mut().for_each(|alert| self.place(&mut alert.at));
        if let Lifetime::With { key: leader } = &mut key.lifetime {
            self.reference(leader);
        }
        match &mut key.derived {
            Some(
                Derived::Lookup { of, .. }
                | Derived::Rank { of, .. }
                | Derived::Members { of, .. }
                | Derived::Follows { of },
            ) => self.reference(of),
            Some(Derived::Inverse { other, .. }) => self.reference(other),
            None => {}
        }
        if let Some(sink) = &mut key.sink {
            self.place(&mut sink.at);
        }
        match &mut key.content {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                self.shape(shape);
            }
            Content::Fields(object) | Content::Entries(object) => self.object(object),
            Content::Scored { member, score } => {
                self.shape(member);
                self.shape(score);
            }
            Content::Opaque => {}
        }
        key
    }

    fn place(&self, at: &mut Span) {
        *at = at.moved(self.base);
    }

    fn reference(&self, reference: &mut Reference) {
        reference.key = KeyId::new(reference.key.index() + self.keys);
    }

    fn object(&self, object: &mut Object) {
        for field in &mut object.fields {
            self.place(&mut field.at);
            self.shape(&mut field.shape);
        }
        object.checks.iter_mut().for_each(|check| self.place(&mut check.at));
        if let Extra::Typed(shape) = &mut object.extra {
            self.shape(shape);
        }
    }

    fn shape(&self, shape: &mut Shape) {
        match &mut shape.ty {
            Type::Array(item) | Type::Map { value: item, .. } => self.shape(item),
            Type::Object(object) => self.object(object),
            _ => {}
        }
    }
}
