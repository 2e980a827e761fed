//! Which commands of the server lead to which of ours.
//!
//! Owns the list of the server's commands that write, as it tells it itself (COMMAND), and makes a
//! `keyward.X` for each X: with X's flags and ACL categories, and with X's keys told by the same
//! table that judges them, so that rights are asked for exactly what X would touch.
//! Invariant: a command that writes and has no route is refused where it names a governed key.

use std::collections::HashMap;

use keyward_commands::flags::Flag;
use keyward_commands::{Command, KeyFlag, KeyFlags, find, lookup};
use keyward_resp::{ArgBuf, Args};

use crate::api::{Ctx, Entries, Reply, Run};

/// What stands before the names of our commands.
pub(crate) const PREFIX: &str = "keyward.";

/// A command of the server that writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// What the table of commands says of it; `None` if it is newer than that.
    pub(crate) command: Option<&'static Command>,
    /// First key, last key and step of a newer one.
    legacy: (i64, i64, i64),
    /// Whether its keys cannot be told from that.
    has_movable_keys: bool,
    /// Whether it may wait.
    pub(crate) may_block: bool,
}

impl Route {
    /// Where the keys of a call are, and how they are used; `None` if that cannot be told.
    pub(crate) fn keys(&self, args: Args<'_>) -> Option<Vec<(usize, KeyFlags)>> {
        if self.command.is_some() {
            let command = find(args).ok()?;
            return Some(command.keys_in_any(args).map(|key| (key.index, key.flags)).collect());
        }
        let (first, last, step) = self.legacy;
        let count = i64::try_from(args.len()).ok()?;
        let last = if last < 0 { count + last } else { last };
        if self.has_movable_keys || first <= 0 || step <= 0 {
            return None;
        }
        let flags = KeyFlags::of(&[KeyFlag::Rw, KeyFlag::Access, KeyFlag::Update]);
        let step = usize::try_from(step).ok()?;
        let places = (usize::try_from(first).ok()?..args.len()).step_by(step);
        let is_key = |place: &usize| i64::try_from(*place).is_ok_and(|place| place <= last);
        Some(places.take_while(is_key).map(|place| (place, flags)).collect())
    }

    /// Whether the first argument is its only key, whatever the others are.
    pub(crate) fn has_first_key_alone(&self) -> bool {
        use keyward_commands::CommandId::{GeoRadius, GeoRadiusByMember, Migrate, Sort};
        let Some(command) = self.command else { return false };
        let is_simple = !matches!(command.id, GeoRadius | GeoRadiusByMember | Migrate | Sort);
        let legacy = command.legacy_keys;
        is_simple
            && command.subcommand_count == 0
            && !command.flags.has(Flag::MovableKeys)
            && (legacy.first, legacy.last) == (1, 1)
    }
}

/// The commands of the server that write, by their names in lower case.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    by_name: HashMap<Box<[u8]>, Route>,
}

impl Routes {
    /// The route of a command, its name in any case.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Route> {
        const LONGEST: usize = 64;
        let mut lower = [0; LONGEST];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        self.by_name.get(&*lower)
    }

    /// Makes a command of ours for each of the server's that writes keys.
    pub(crate) fn create<E: Entries>(ctx: Ctx<'_>) -> Result<Routes, String> {
        let words: [&[u8]; 1] = [b"COMMAND"];
        let reply = ctx.call(Run::Read, words.into_iter());
        let mut routes = Routes::default();
        for row in reply.elements() {
            let Some(told) = Told::read(&row) else { continue };
            if !told.has("write") || told.name.starts_with(PREFIX) {
                continue;
            }
            let (name, route) = (told.name.clone(), told.route());
            let ours = format!("{PREFIX}{name}");
            if !ctx.create_command::<E>(&ours, &told.own_flags(), &told.categories.join(" ")) {
                return Err(format!("the server does not take the command {ours}"));
            }
            routes.by_name.insert(name.into_bytes().into(), route);
        }
        match routes.by_name.is_empty() {
            true => Err("the server does not tell its commands".to_owned()),
            false => Ok(routes),
        }
    }
}

/// A command as the server tells it.
struct Told {
    name: String,
    flags: Vec<String>,
    categories: Vec<String>,
    legacy: (i64, i64, i64),
}

impl Told {
    fn read(row: &Reply<'_>) -> Option<Told> {
        let fields: Vec<Reply<'_>> = row.elements().collect();
        let text = |reply: &Reply<'_>| {
            let bytes = reply.bytes()?;
            Some(String::from_utf8_lossy(bytes).to_lowercase())
        };
        let texts = |reply: &Reply<'_>| reply.elements().filter_map(|word| text(&word)).collect();
        let categories: Vec<String> = texts(fields.get(6)?);
        let number = |index: usize| fields.get(index)?.integer();
        Some(Told {
            name: text(fields.first()?)?,
            flags: texts(fields.get(2)?),
            categories: categories.iter().map(|word| word.replace('@', "")).collect(),
            legacy: (number(3)?, number(4)?, number(5)?),
        })
    }

    fn has(&self, flag: &str) -> bool {
        // A container has no flags of its own: its subcommands have.
        self.flags.iter().any(|own| own == flag) || (flag == "write" && self.name == "xgroup")
    }

    fn route(&self) -> Route {
        Route {
            command: lookup(self.name.as_bytes()),
            legacy: self.legacy,
            has_movable_keys: self.has("movablekeys"),
            may_block: self.has("blocking"),
        }
    }

    /// The flags of ours, in the words that modules use.
    fn own_flags(&self) -> String {
        const WORDS: [(&str, &str); 9] = [
            ("write", "write"),
            ("denyoom", "deny-oom"),
            ("fast", "fast"),
            ("noscript", "deny-script"),
            ("loading", "allow-loading"),
            ("stale", "allow-stale"),
            ("admin", "admin"),
            ("no_mandatory_keys", "no-mandatory-keys"),
            ("may_replicate", "may-replicate"),
        ];
        let own = WORDS.iter().filter(|(theirs, _)| self.has(theirs)).map(|(_, ours)| *ours);
        own.chain(["getkeys-api"]).collect::<Vec<_>>().join(" ")
    }
}

/// How a key is used, in the bits that modules use.
pub(crate) fn key_bits(flags: KeyFlags) -> i32 {
    const BITS: [(KeyFlag, i32); 8] = [
        (KeyFlag::Ro, 1),
        (KeyFlag::Rw, 2),
        (KeyFlag::Ow, 4),
        (KeyFlag::Rm, 8),
        (KeyFlag::Access, 16),
        (KeyFlag::Update, 32),
        (KeyFlag::Insert, 64),
        (KeyFlag::Delete, 128),
    ];
    BITS.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, bit)| bit).sum()
}

/// The call of the server's command that one of ours stands for.
pub(crate) fn original<'a>(words: impl Iterator<Item = &'a [u8]>) -> ArgBuf {
    let mut args = ArgBuf::new();
    for (index, word) in words.enumerate() {
        let prefix = if index == 0 { PREFIX.len() } else { 0 };
        args.push(word.get(prefix..).unwrap_or_default());
    }
    args
}
