//! The model: a schema that was checked.
//!
//! Owns the types that servers, documents and generators work on. Invariant:
//! a [`Schema`] exists only if its file has no error, so every index in it is
//! valid, every reference resolves, every limit fits its type, and nobody who
//! holds one checks anything again.
//! Not here: how it is read (`read`), what was wrong (`checks`).

use crate::alert::Alert;
use crate::derived::Derived;
use crate::function::Function;
use crate::lifetime::Lifetime;
use crate::pattern::{Kind, Pattern};
use crate::settings::choice;
use crate::shape::{Misfit, Object, Shape};
use crate::sink::Sink;
use crate::source::{Source, Span};
use crate::units::size_in_words;
use std::collections::BTreeSet;

/// A keyspace: what one schema file declares.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The file, for refusals that name its lines.
    pub source: Source,
    /// Settings of the whole.
    pub keyspace: Keyspace,
    /// The keys in the order of the file; [`KeyId`] counts them.
    pub keys: Vec<Key>,
    /// The functions in the order of the file.
    pub functions: Vec<Function>,
    /// Chapters of prose for the document.
    pub notes: Vec<Note>,
    /// The schemas it was joined of, if several share a database; see [`Schema::join`].
    pub parts: Vec<Schema>,
}

impl Schema {
    /// The keyspaces of its database, in the order of their files.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        let own = self.parts.is_empty().then_some(&self.keyspace);
        own.into_iter().chain(self.parts.iter().map(|part| &part.keyspace))
    }

    /// The keyspace at that place of [`Schema::keyspaces`].
    pub fn keyspace_at(&self, index: usize) -> &Keyspace {
        self.parts.get(index).map_or(&self.keyspace, |part| &part.keyspace)
    }

    /// The keyspace that a key belongs to.
    pub fn keyspace_of(&self, id: KeyId) -> &Keyspace {
        self.keyspace_at(self.key(id).keyspace)
    }

    /// Who answers for a key.
    pub fn owner_of(&self, id: KeyId) -> Option<&str> {
        self.key(id).owner.as_deref().or(self.keyspace_of(id).owner.as_deref())
    }

    /// Users who may read a key.
    pub fn readers_of(&self, id: KeyId) -> &[Box<str>] {
        self.key(id).readers.as_deref().unwrap_or(&self.keyspace_of(id).readers)
    }

    /// Users who may read and write a key, besides its owner.
    pub fn writers_of(&self, id: KeyId) -> &[Box<str>] {
        self.key(id).writers.as_deref().unwrap_or(&self.keyspace_of(id).writers)
    }

    /// Whether it declares anything personal.
    pub fn has_personal(&self) -> bool {
        self.keys.iter().any(Key::has_personal)
    }

    /// The key of that id.
    pub fn key(&self, id: KeyId) -> &Key {
        &self.keys[id.index()]
    }

    /// The ids of its keys in order.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> + use<> {
        (0..self.keys.len()).map(KeyId::new)
    }

    /// The id of the key at that place of [`Schema::keys`], which is also what a
    /// matcher of their patterns calls it.
    pub fn id(&self, index: usize) -> Option<KeyId> {
        (index < self.keys.len()).then(|| KeyId::new(index))
    }
}

/// Which key of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(u16);

impl KeyId {
    pub(crate) fn new(index: usize) -> KeyId {
        KeyId(u16::try_from(index).expect("a schema has at most MAX_KEYS keys"))
    }

    /// Its place in [`Schema::keys`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Settings of a whole keyspace.
#[derive(Clone, Debug)]
pub struct Keyspace {
    /// What it is called.
    pub name: Box<str>,
    /// What it is for.
    pub doc: Option<Box<str>>,
    /// Who answers for it.
    pub owner: Option<Box<str>>,
    /// Users who may read its keys.
    pub readers: Vec<Box<str>>,
    /// Users who may read and write its keys.
    pub writers: Vec<Box<str>>,
    /// The database it lives in.
    pub db: u8,
    /// Where that stands in the file; at the name if nowhere.
    pub db_at: Span,
    /// What happens to keys that match no pattern.
    pub unknown: Unknown,
    /// What happens to writes that break the schema.
    pub mode: Mode,
    /// How many bytes it may take.
    pub max_memory: Option<u64>,
    /// What outlives a restart.
    pub persist: Persist,
    /// The same, if the file says it.
    pub persist_said: Option<Persist>,
    /// Which of its figures somebody is told of.
    pub alerts: Vec<Alert>,
    /// Warnings that do not apply to any of its keys, and why.
    pub allowed: Vec<Allowance>,
}

choice! {
    /// What happens to writes of keys that match no pattern.
    pub enum Unknown {
        /// They are refused.
        Reject = "reject",
        /// They pass, and are counted and logged.
        Warn = "warn",
        /// They pass.
        Allow = "allow",
    }
}

choice! {
    /// What happens to writes that break the schema.
    pub enum Mode {
        /// They are refused.
        Enforce = "enforce",
        /// They pass, and are counted and logged.
        Warn = "warn",
        /// They pass and are counted, and nothing else that the schema says is done either:
        /// lifetimes, bounds and derived keys are suspended.
        Observe = "observe",
    }
}

choice! {
    /// What of a keyspace outlives a restart.
    pub enum Persist {
        /// All that was acknowledged.
        Aof = "aof",
        /// The last snapshot.
        Rdb = "rdb",
        /// Nothing: a pure cache.
        None = "none",
    }
}

choice! {
    /// In which order rows go when memory is short.
    pub enum Evict {
        /// Not at all.
        Never = "never",
        /// Before all others.
        First = "first",
        /// The least recently used.
        Lru = "lru",
        /// The least frequently used.
        Lfu = "lfu",
        /// The nearest to its end.
        Ttl = "ttl",
    }
}

choice! {
    /// The type of a key.
    pub enum DataType {
        /// Text.
        String = "string",
        /// A whole number.
        Int = "int",
        /// A floating-point number.
        Float = "float",
        /// An exact number.
        Decimal = "decimal",
        /// Something whose presence says it all.
        Flag = "flag",
        /// JSON.
        Json = "json",
        /// Bytes without a meaning to Keyward.
        Bytes = "bytes",
        /// Fields and their values.
        Hash = "hash",
        /// Items in order.
        List = "list",
        /// Members without order.
        Set = "set",
        /// Members by score.
        Zset = "zset",
        /// A log of entries.
        Stream = "stream",
        /// A HyperLogLog.
        Hll = "hll",
        /// Whatever its writer makes of it: any type of Redis, and another one later.
        Any = "any",
    }
}

impl DataType {
    /// What Redis's TYPE returns; `any` where that is not known.
    pub fn redis_type(self) -> &'static str {
        match self {
            DataType::Any => "any",
            DataType::Hash => "hash",
            DataType::List => "list",
            DataType::Set => "set",
            DataType::Zset => "zset",
            DataType::Stream => "stream",
            _ => "string",
        }
    }

    /// Whether it is a Redis string that clients write whole.
    pub fn is_string(self) -> bool {
        self.redis_type() == "string" && self != DataType::Hll
    }
}

/// A declared key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Which keys it speaks of.
    pub pattern: Pattern,
    /// Where the pattern stands in the file.
    pub at: Span,
    /// What it is for.
    pub doc: Option<Box<str>>,
    /// The chapter of the document it belongs to.
    pub group: Option<Box<str>>,
    /// Who answers for it, where that is not who answers for the keyspace.
    pub owner: Option<Box<str>>,
    /// Users who may read it, where those are not the keyspace's.
    pub readers: Option<Vec<Box<str>>>,
    /// Users who may read and write it, where those are not the keyspace's.
    pub writers: Option<Vec<Box<str>>>,
    /// The place of its keyspace among those of the database.
    pub keyspace: usize,
    /// Its type.
    pub data: DataType,
    /// What its values look like.
    pub content: Content,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Where the lifetime stands in the file; at the pattern if nowhere.
    pub lifetime_at: Span,
    /// How large it may grow.
    pub bounds: Bounds,
    /// In which order its rows go when memory is short.
    pub evict: Evict,
    /// Values of more bytes than this are compressed inside; of a hash its fields' values,
    /// of a list its items.
    pub compress: Option<u64>,
    /// How many there are expected to be.
    pub expect: Option<u64>,
    /// How many items, members or fields one of them has, as its author expects.
    pub expect_items: Option<u64>,
    /// Whether its values are shown to nobody but those who read them.
    pub secret: bool,
    /// The placeholders that are not shown either, by index: those that the
    /// schema names, and those whose values are secret where they come from.
    pub secret_placeholders: Vec<usize>,
    /// Whether its values are masked on pages and in reports.
    pub personal: bool,
    /// The placeholders that are masked there too, by index, as the schema names them.
    pub personal_placeholders: Vec<usize>,
    /// Whether it is enforced, where that differs from the keyspace.
    pub mode: Option<Mode>,
    /// How Keyward keeps it, if it does.
    pub derived: Option<Derived>,
    /// How many rows one command may change in it, if it is derived.
    pub max_fanout: u64,
    /// Which of its figures somebody is told of.
    pub alerts: Vec<Alert>,
    /// The table of PostgreSQL that its rows or items go to.
    pub sink: Option<Sink>,
    /// Whether it is the stream of changes that are on their way to tables.
    pub is_changefeed: bool,
    /// An example that fits.
    pub example: Option<Example>,
    /// Warnings that do not apply to it, and why.
    pub allowed: Vec<Allowance>,
}

/// The most bytes of a value that is compressed: it is decompressed in one step.
pub const MAX_COMPRESSED: u64 = 512 * 1024;

/// The most bytes of a hash or a list of which fields or items are.
pub const MAX_COMPRESSED_WHOLE: u64 = 96 * 1024;

/// How many rows of a derived key one command may change unless the schema
/// says otherwise.
pub const DEFAULT_MAX_FANOUT: u64 = 10_000;

/// What the values of a key look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One value of this shape, as text.
    Value(Shape),
    /// One value of this shape, as JSON.
    Json(Shape),
    /// The fields of a hash.
    Fields(Object),
    /// The items of a list, the members of a set.
    Items(Shape),
    /// The members of a sorted set and their scores.
    Scored {
        /// A member.
        member: Shape,
        /// Its score.
        score: Shape,
    },
    /// The fields of each entry of a stream.
    Entries(Object),
    /// Streams of which nothing is said, HyperLogLogs, and keys of any type.
    Opaque,
}

impl Key {
    /// Whether any part of what it holds is secret.
    pub fn holds_secret(&self) -> bool {
        // A secret key may have nothing declared that could say so of itself.
        self.secret || self.content.has_secret()
    }

    /// Whether reports name its pattern instead of its name: a placeholder is secret or personal.
    pub fn has_masked_name(&self) -> bool {
        !self.secret_placeholders.is_empty() || !self.personal_placeholders.is_empty()
    }

    /// Whether any part of it, its name included, is declared personal.
    pub fn has_personal(&self) -> bool {
        self.personal || !self.personal_placeholders.is_empty() || self.content.has_personal()
    }

    /// The keys that it is tied to: the one that it comes from or leans on, and the one that it
    /// lives with.
    pub fn ties(&self) -> impl Iterator<Item = KeyId> {
        let source = self.derived.as_ref().map(|derived| derived.source().key);
        let leader = match &self.lifetime {
            Lifetime::With { key } => Some(key.key),
            _ => None,
        };
        source.into_iter().chain(leader)
    }
}

impl Content {
    /// Makes all of it secret.
    pub(crate) fn make_secret(&mut self) {
        match self {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                shape.make_secret();
            }
            Content::Fields(object) | Content::Entries(object) => object.make_secret(),
            Content::Scored { member, score } => {
                member.make_secret();
                score.make_secret();
            }
            Content::Opaque => {}
        }
    }

    /// Makes secret what is declared personal.
    pub(crate) fn hide_personal(&mut self) {
        match self {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                shape.hide_personal();
            }
            Content::Fields(object) | Content::Entries(object) => object.hide_personal(),
            Content::Scored { member, score } => {
                member.hide_personal();
                score.hide_personal();
            }
            Content::Opaque => {}
        }
    }

    /// Whether any part of it is declared personal.
    pub fn has_personal(&self) -> bool {
        match self {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                shape.has_personal()
            }
            Content::Fields(object) | Content::Entries(object) => object.has_personal(),
            Content::Scored { member, score } => member.has_personal() || score.has_personal(),
            Content::Opaque => false,
        }
    }

    /// Whether any declared part of it is secret; see [`Key::holds_secret`].
    pub fn has_secret(&self) -> bool {
        match self {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                shape.has_secret()
            }
            Content::Fields(object) | Content::Entries(object) => object.has_secret(),
            Content::Scored { member, score } => member.has_secret() || score.has_secret(),
            Content::Opaque => false,
        }
    }

    /// The named fields: those of a hash, or of a JSON object.
    pub fn object(&self) -> Option<&Object> {
        match self {
            Content::Fields(object) => Some(object),
            Content::Json(shape) => shape.object(),
            _ => None,
        }
    }

    /// Whether a field of it must equal a placeholder of the key.
    pub fn has_same(&self) -> bool {
        match self {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                shape.has_same()
            }
            Content::Fields(object) | Content::Entries(object) => object.has_same(),
            Content::Scored { member, .. } => member.has_same(),
            Content::Opaque => false,
        }
    }

    /// Whether a whole value fits.
    ///
    /// # Errors
    /// Says which part does not, and what it must be.
    pub fn check(&self, value: &ExampleValue) -> Result<(), Misfit> {
        self.check_under(&[], value)
    }

    /// Whether a whole value fits a key whose placeholders have these values.
    ///
    /// # Errors
    /// As [`Content::check`].
    pub fn check_under(&self, names: &[&[u8]], value: &ExampleValue) -> Result<(), Misfit> {
        match (self, value) {
            (Content::Value(shape), ExampleValue::Text(text)) => {
                shape.check_under(names, text.as_bytes())
            }
            (Content::Json(shape), ExampleValue::Text(text)) => {
                shape.check_json_under(names, text.as_bytes())
            }
            (Content::Items(shape), ExampleValue::Items(items)) => {
                items.iter().try_for_each(|item| shape.check_under(names, item.as_bytes()))
            }
            (Content::Fields(object) | Content::Entries(object), ExampleValue::Pairs(pairs)) => {
                let pairs = pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
                object.check_hash(names, pairs)
            }
            (Content::Scored { member, score }, ExampleValue::Pairs(pairs)) => {
                pairs.iter().try_for_each(|(name, value)| {
                    member.check_under(names, name.as_bytes())?;
                    match value.parse() {
                        Ok(number) => score.check_score(number),
                        // In Redis's words, which a server refuses it by.
                        Err(_) => Err(Misfit::new("is not a valid float")),
                    }
                })
            }
            // Nothing is said of what is in it.
            (Content::Opaque, _) => Ok(()),
            _ => Err(Misfit::new("is not of the key's type")),
        }
    }
}

/// How large a key may grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Items of a list; the far end of a push goes.
    pub max_len: Option<u64>,
    /// Members of a set, which refuses more, or of a sorted set, which drops the lowest.
    pub max_members: Option<u64>,
    /// Bytes of a value.
    pub max_size: Option<u64>,
}

impl Bounds {
    /// Whether a whole value of a key of this type stays as it is.
    ///
    /// # Errors
    /// Says what is refused, or dropped.
    pub fn check(&self, data: DataType, value: &ExampleValue) -> Result<(), Misfit> {
        let beyond = |most: Option<u64>, count: usize| most.filter(|most| count as u64 > *most);
        match value {
            ExampleValue::Text(text) => match beyond(self.max_size, text.len()) {
                Some(most) => {
                    let (most, found) = (size_in_words(most), size_in_words(text.len() as u64));
                    Err(Misfit::new(format!("may hold at most {most} (max_size), not {found}")))
                }
                None => Ok(()),
            },
            ExampleValue::Items(items) if data == DataType::Set => {
                let members: BTreeSet<&str> = items.iter().map(|item| &**item).collect();
                match beyond(self.max_members, members.len()) {
                    Some(most) => Err(Misfit::new(format!(
                        "may have at most {most} members (max_members), not {}",
                        members.len()
                    ))),
                    None => Ok(()),
                }
            }
            ExampleValue::Items(items) => dropped(beyond(self.max_len, items.len()), items.len()),
            ExampleValue::Pairs(pairs) if data == DataType::Zset => {
                dropped(beyond(self.max_members, pairs.len()), pairs.len())
            }
            // The entries of a stream come one by one.
            ExampleValue::Pairs(_) => Ok(()),
        }
    }
}

/// What is said of a value of which so much is kept, where that is not all.
fn dropped(kept: Option<u64>, count: usize) -> Result<(), Misfit> {
    match kept {
        Some(kept) => Err(Misfit::new(format!("has {count} elements, of which {kept} are kept"))),
        None => Ok(()),
    }
}

/// An example of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// A key of the pattern.
    pub key: Box<str>,
    /// What it holds, if the schema shows it.
    pub value: Option<ExampleValue>,
}

/// What an example key holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ExampleValue {
    /// A Redis string.
    Text(Box<str>),
    /// The fields of a hash, or members and scores.
    Pairs(Vec<(Box<str>, Box<str>)>),
    /// Items or members.
    Items(Vec<Box<str>>),
}

/// A warning that does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Its code.
    pub code: Box<str>,
    /// Why.
    pub reason: Box<str>,
}

/// A chapter of prose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its heading.
    pub title: Box<str>,
    /// Its Markdown.
    pub text: Box<str>,
}

/// The shape of text that a placeholder of that kind could hold.
pub fn shape_of_kind(kind: &Kind) -> Shape {
    use crate::shape::Type;
    Shape::of(match kind {
        Kind::Rest => Type::String,
        kind => Type::Kind(kind.clone()),
    })
}
