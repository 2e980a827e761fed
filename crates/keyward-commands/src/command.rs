//! A command as the table declares it, and what follows from the declaration.
//!
//! A row states facts; `Command::complete` derives the rest at compile time in
//! Redis's manner: ACL categories from flags and group, the legacy first, last and
//! step from the key specifications, and the `movablekeys` flag.

use keyward_resp::Args;

use crate::argument::Argument;
use crate::error::WireError;
use crate::flags::{AclCategories, AclCategory, DocFlags, Flag, Flags, KeyFlag, KeyFlags};
use crate::table::CommandId;

/// A command or subcommand of the table.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What the dispatch matches on.
    pub id: CommandId,
    /// The full name in lower case: `get`, or `client|list` for a subcommand.
    pub name: &'static str,
    /// The group it is documented under.
    pub group: Group,
    /// The Redis version that introduced it.
    pub since: &'static str,
    /// How many arguments it takes, its own name included.
    pub arity: Arity,
    /// Its flags, [`Flag::MovableKeys`] included.
    pub flags: Flags,
    /// Its ACL categories, implied ones included.
    pub acl: AclCategories,
    /// Where its keys are.
    pub keys: &'static [KeySpec],
    /// First key, last key and step as old clients know them.
    pub legacy_keys: LegacyKeys,
    /// One line about what it does.
    pub summary: &'static str,
    /// Its cost; empty where Redis states none.
    pub complexity: &'static str,
    /// Remarks for documentation.
    pub doc_flags: DocFlags,
    /// The Redis version that deprecated it.
    pub deprecated_since: Option<&'static str>,
    /// What to use instead.
    pub replaced_by: Option<&'static str>,
    /// Hints for clients and proxies.
    pub tips: &'static [&'static str],
    /// Version and change, oldest first.
    pub history: &'static [(&'static str, &'static str)],
    /// The documented arguments.
    pub args: &'static [Argument],
    /// The container of a subcommand.
    pub container: Option<CommandId>,
    /// How many subcommands follow this row in the table.
    pub subcommand_count: u16,
}

/// The number of arguments a command takes, its name included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly this many.
    Exactly(u8),
    /// This many or more.
    AtLeast(u8),
}

impl Arity {
    /// Whether `count` arguments, name included, are acceptable.
    #[inline]
    pub const fn admits(self, count: usize) -> bool {
        match self {
            Arity::Exactly(n) => count == n as usize,
            Arity::AtLeast(n) => count >= n as usize,
        }
    }

    /// Redis's notation: negative for "at least".
    pub const fn wire(self) -> i64 {
        match self {
            Arity::Exactly(n) => n as i64,
            Arity::AtLeast(n) => -(n as i64),
        }
    }
}

/// The group a command is documented under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Keys of any type.
    Generic,
    /// Strings.
    String,
    /// Lists.
    List,
    /// Sets.
    Set,
    /// Sorted sets.
    SortedSet,
    /// Hashes.
    Hash,
    /// Streams.
    Stream,
    /// Bitmaps.
    Bitmap,
    /// HyperLogLogs.
    HyperLogLog,
    /// Places on the earth.
    Geo,
    /// Publish and subscribe.
    PubSub,
    /// Transactions.
    Transactions,
    /// Connections.
    Connection,
    /// The server itself.
    Server,
    /// Scripts and functions.
    Scripting,
    /// What Redis does not have.
    Keyward,
}

impl Group {
    /// Every group, in the order COMPAT.md lists them.
    pub const ALL: &'static [Group] = &[
        Group::Generic,
        Group::String,
        Group::Bitmap,
        Group::Hash,
        Group::List,
        Group::Set,
        Group::SortedSet,
        Group::HyperLogLog,
        Group::Geo,
        Group::Stream,
        Group::PubSub,
        Group::Transactions,
        Group::Scripting,
        Group::Connection,
        Group::Server,
        Group::Keyward,
    ];

    /// The name on the wire.
    pub const fn wire_name(self) -> &'static str {
        match self {
            Group::Generic => "generic",
            Group::String => "string",
            Group::List => "list",
            Group::Set => "set",
            Group::SortedSet => "sorted-set",
            Group::Hash => "hash",
            Group::Stream => "stream",
            Group::Bitmap => "bitmap",
            Group::HyperLogLog => "hyperloglog",
            Group::Geo => "geo",
            Group::PubSub => "pubsub",
            Group::Transactions => "transactions",
            Group::Connection => "connection",
            Group::Server => "server",
            Group::Scripting => "scripting",
            Group::Keyward => "keyward",
        }
    }

    /// The categories its commands have unless their row names others.
    const fn acl(self) -> AclCategories {
        AclCategories::of(match self {
            Group::Generic => &[AclCategory::Keyspace],
            Group::String => &[AclCategory::String],
            Group::List => &[AclCategory::List],
            Group::Set => &[AclCategory::Set],
            Group::SortedSet => &[AclCategory::SortedSet],
            Group::Hash => &[AclCategory::Hash],
            Group::Stream => &[AclCategory::Stream],
            Group::Bitmap => &[AclCategory::Bitmap],
            Group::HyperLogLog => &[AclCategory::HyperLogLog],
            Group::Geo => &[AclCategory::Geo],
            Group::Transactions => &[AclCategory::Transaction],
            Group::Connection => &[AclCategory::Connection],
            Group::Scripting => &[AclCategory::Scripting],
            Group::PubSub | Group::Server | Group::Keyward => &[],
        })
    }
}

/// Where some of a command's keys are and what happens to them.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Which arguments.
    pub positions: KeyPositions,
    /// How they are used.
    pub flags: KeyFlags,
    /// A remark for documentation.
    pub notes: Option<&'static str>,
}

impl KeySpec {
    pub(crate) const fn notes(mut self, notes: &'static str) -> KeySpec {
        self.notes = Some(notes);
        self
    }
}

/// Which arguments are keys, counted with the command's name as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPositions {
    /// The one at this index.
    One(u8),
    /// Every `step`th from `first` to `last`; a negative `last` counts from the end.
    Range {
        /// The first key.
        first: u8,
        /// The last key, included.
        last: i8,
        /// The distance from key to key.
        step: u8,
    },
    /// The argument at this index says how many keys follow it.
    NumKeys(u8),
    /// All that follow this word, the last of its kind.
    After(&'static str),
    /// The one behind the first occurrence of this word.
    Behind {
        /// The word.
        word: &'static str,
        /// Where it may stand first.
        from: u8,
    },
    /// The first half of those that follow this word, the first of its kind from an
    /// argument on.
    HalfAfter {
        /// The word.
        word: &'static str,
        /// Where it stands at the earliest.
        from: u8,
    },
    /// Not to be told from positions alone.
    Unknown,
}

/// First key, last key and step, as clients before Redis 7 know them; zero if none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegacyKeys {
    /// Index of the first key.
    pub first: i64,
    /// Index of the last key; negative counts from the end.
    pub last: i64,
    /// The distance from key to key.
    pub step: i64,
}

pub(crate) const fn spec<const N: usize>(positions: KeyPositions, flags: [KeyFlag; N]) -> KeySpec {
    KeySpec { positions, flags: KeyFlags::of(&flags), notes: None }
}

impl Command {
    /// This command, if the number of these arguments is acceptable.
    #[inline]
    pub(crate) fn check_arity(
        &'static self,
        args: Args<'_>,
    ) -> Result<&'static Command, WireError> {
        if self.arity.admits(args.len()) { Ok(self) } else { Err(WireError::WrongArity(self.name)) }
    }

    /// What a row is before it says anything but its name.
    pub(crate) const fn blank(id: CommandId, name: &'static str, group: Group) -> Command {
        Command {
            id,
            name,
            group,
            since: "",
            arity: Arity::AtLeast(1),
            flags: Flags::NONE,
            acl: group.acl(),
            keys: &[],
            legacy_keys: LegacyKeys { first: 0, last: 0, step: 0 },
            summary: "",
            complexity: "",
            doc_flags: DocFlags::NONE,
            deprecated_since: None,
            replaced_by: None,
            tips: &[],
            history: &[],
            args: &[],
            container: None,
            subcommand_count: 0,
        }
    }

    /// Whether it is of a later Redis than the one that is followed, or of Valkey: clients of
    /// today send it.
    pub const fn is_newer(&self) -> bool {
        let (own, followed) = (major_and_minor(self.since), major_and_minor(crate::REDIS_VERSION));
        own[0] > followed[0] || own[0] == followed[0] && own[1] > followed[1]
    }

    /// Whether the Redis that is followed has it: neither newer nor our own.
    pub const fn is_known_to_redis(&self) -> bool {
        !matches!(self.group, Group::Keyward) && !self.is_newer()
    }

    /// The last part of the name: `list` for `client|list`.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit('|').next().unwrap_or(self.name)
    }

    /// The row with everything that follows from it filled in.
    pub(crate) const fn complete(mut self) -> Command {
        self.acl = implied_acl(self.flags, self.acl);
        let (legacy_keys, movable) = legacy_keys(self.keys);
        self.legacy_keys = legacy_keys;
        if movable {
            self.flags = self.flags.with(Flag::MovableKeys);
        }
        self
    }
}

/// The categories a command has because of its flags.
const fn implied_acl(flags: Flags, mut acl: AclCategories) -> AclCategories {
    if flags.has(Flag::Write) {
        acl = acl.with(AclCategory::Write);
    }
    if flags.has(Flag::ReadOnly) && !acl.has(AclCategory::Scripting) {
        acl = acl.with(AclCategory::Read);
    }
    if flags.has(Flag::Admin) {
        acl = acl.with(AclCategory::Admin).with(AclCategory::Dangerous);
    }
    if flags.has(Flag::Pubsub) {
        acl = acl.with(AclCategory::PubSub);
    }
    if flags.has(Flag::Blocking) {
        acl = acl.with(AclCategory::Blocking);
    }
    acl.with(if flags.has(Flag::Fast) { AclCategory::Fast } else { AclCategory::Slow })
}

/// The range old clients are told, and whether it misses some of the keys.
///
/// One range is taken as it is. Of several, those with step 1 that follow one
/// another are joined; any other makes the keys movable.
const fn legacy_keys(specs: &[KeySpec]) -> (LegacyKeys, bool) {
    let mut found = LegacyKeys { first: 0, last: 0, step: 0 };
    let mut movable = false;
    let mut index = 0;
    while index < specs.len() {
        let spec = specs[index];
        index += 1;
        let (first, last, step) = match spec.positions {
            KeyPositions::One(at) => (at as i64, at as i64, 1),
            KeyPositions::Range { first, last, step } => (first as i64, last as i64, step as i64),
            KeyPositions::NumKeys(_)
            | KeyPositions::After(_)
            | KeyPositions::Behind { .. }
            | KeyPositions::HalfAfter { .. }
            | KeyPositions::Unknown => {
                movable = true;
                continue;
            }
        };
        movable |= spec.flags.has(KeyFlag::Incomplete);
        if specs.len() == 1 {
            return (LegacyKeys { first, last, step }, movable);
        }
        if step != 1 || (found.last != 0 && found.last != first - 1) {
            movable = true;
            continue;
        }
        if found.first == 0 {
            found.first = first;
        }
        found.last = last;
        found.step = 1;
    }
    (found, movable)
}
/// The first two numbers of a version.
const fn major_and_minor(version: &str) -> [u32; 2] {
    let (bytes, mut numbers, mut part, mut index) = (version.as_bytes(), [0; 2], 0, 0);
    while index < bytes.len() && part < 2 {
        match bytes[index] {
            digit @ b'0'..=b'9' => numbers[part] = numbers[part] * 10 + (digit - b'0') as u32,
            _ => part += 1,
        }
        index += 1;
    }
    numbers
}
