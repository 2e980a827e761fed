//! The digest of values and of everything, equal to Redis's for the same data.
//!
//! Owns the recipe of `DEBUG DIGEST`: what has an order is mixed in one after the
//! other (the digest so far goes into the next), what has none is combined by
//! exclusive or.

use keyward_resp::number::push_f64;
use keyward_store::keyspace::Keyspace;
use keyward_store::values::row::Row;
use keyward_store::values::text::Text;
use keyward_store::values::value::{ObjectRef, Type, Value};
use sha1::{Digest as _, Sha1};

/// Marks a row that has a deadline, whatever it is.
const EXPIRES: &[u8] = b"!!expire!!";

/// A digest on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Digest([u8; 20]);

impl Digest {
    /// Adds something whose place does not matter.
    fn combine(&mut self, bytes: &[u8]) {
        let sum = Sha1::digest(bytes);
        self.0.iter_mut().zip(sum).for_each(|(byte, other)| *byte ^= other);
    }

    /// Adds something whose place matters.
    fn mix(&mut self, bytes: &[u8]) {
        self.combine(bytes);
        self.0 = Sha1::digest(self.0).into();
    }

    /// Adds two texts that belong together.
    fn combine_pair(&mut self, first: &[u8], second: &[u8]) {
        let mut pair = Digest::default();
        pair.mix(first);
        pair.mix(second);
        self.combine(&pair.0);
    }

    /// Adds the value of a row, and whether it ends.
    fn mix_value(&mut self, row: &Row) {
        let value = row.value();
        self.mix(&number(value.kind()).to_be_bytes());
        match value {
            Value::Text(text) => self.mix(text),
            Value::Int(_) => self.mix(Text::of(value).expect("a number is a text").as_bytes()),
            Value::Object(ObjectRef::List(list)) => {
                list.forward(0).for_each(|element| self.mix(element.text().as_bytes()));
            }
            Value::Object(ObjectRef::Set(set)) => {
                set.iter().for_each(|member| self.combine(member.text().as_bytes()));
            }
            Value::Object(ObjectRef::ZSet(zset)) => {
                let mut digits = Vec::new();
                for (member, score) in zset.iter(0..zset.len()) {
                    digits.clear();
                    push_f64(&mut digits, score);
                    self.combine_pair(member, &digits);
                }
            }
            Value::Object(ObjectRef::Hash(hash)) => {
                for (field, value) in hash.iter() {
                    self.combine_pair(field.text().as_bytes(), value.text().as_bytes());
                }
            }
            Value::Object(ObjectRef::Stream(stream)) => {
                for entry in stream.all() {
                    let id = format!("{}.{}", entry.id.ms, entry.id.seq);
                    self.mix(id.as_bytes());
                    for (name, value) in entry.pairs() {
                        self.mix(name.text().as_bytes());
                        self.mix(value.text().as_bytes());
                    }
                }
            }
        }
        if row.deadline().is_some() {
            self.combine(EXPIRES);
        }
    }

    /// In hexadecimal digits.
    pub(crate) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The digest of a row's value.
pub(crate) fn of_value(row: &Row) -> Digest {
    let mut digest = Digest::default();
    digest.mix_value(row);
    digest
}

/// The digest of all databases.
pub(crate) fn of_all(keys: &Keyspace) -> Digest {
    let mut all = Digest::default();
    for db in 0..keys.database_count() {
        let database = keys.database_at(db);
        if database.is_empty() {
            continue;
        }
        all.mix(&(db as u32).to_be_bytes());
        for row in database.iter() {
            let mut digest = Digest::default();
            digest.mix(row.key());
            digest.mix_value(&row);
            all.combine(&digest.0);
        }
    }
    all
}

/// Redis's number of a type.
fn number(kind: Type) -> u32 {
    match kind {
        Type::String => 0,
        Type::List => 1,
        Type::Set => 2,
        Type::ZSet => 3,
        Type::Hash => 4,
        Type::Stream => 6,
    }
}
