//! From a name to a row of the table.
//!
//! An index of the top-level names is built at compile time: open addressing over a
//! hash of a name's first and last bytes, packed into two words with the case bit set.
//! The slot holds the same words, so a hit costs a few loads, two multiplications and
//! two comparisons, whatever the length of the name.
//! Subcommands are searched for among the few of their container.

use keyward_resp::Args;

use crate::command::Command;
use crate::error::WireError;
use crate::table::{COMMANDS, CommandId};

/// A power of two; at least twice as many as names, here five times.
const SLOTS: usize = 1024;

/// A name as the index compares it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed {
    first: u64,
    last: u64,
    len: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    name: Packed,
    /// The index of the row; beyond the table if the slot is empty.
    row: u16,
    /// Whether equal packed names are equal names.
    exact: bool,
}

static INDEX: [Slot; SLOTS] = build_index();

/// The top-level command of this name, in any case.
#[inline]
pub fn lookup(name: &[u8]) -> Option<&'static Command> {
    let packed = pack(name);
    let mut position = packed.home();
    loop {
        let slot = &INDEX[position];
        let command = COMMANDS.get(slot.row as usize)?;
        if slot.name == packed && (slot.exact || command.name.as_bytes().eq_ignore_ascii_case(name))
        {
            return Some(command);
        }
        position = (position + 1) % SLOTS;
    }
}

/// The subcommand of this name, in any case.
pub fn lookup_subcommand(container: &Command, name: &[u8]) -> Option<&'static Command> {
    let prefix = container.name.len() + 1;
    container
        .subcommands()
        .iter()
        .find(|sub| sub.name.as_bytes()[prefix..].eq_ignore_ascii_case(name))
}

/// The command or subcommand of a full name: `get`, `client|list`.
pub fn lookup_full_name(name: &[u8]) -> Option<&'static Command> {
    by_full_name(name, lookup)
}

/// As [`lookup_full_name`], with a search of its own for top-level names.
pub(crate) fn by_full_name(
    name: &[u8],
    lookup: impl Fn(&[u8]) -> Option<&'static Command>,
) -> Option<&'static Command> {
    let mut parts = name.split(|&byte| byte == b'|');
    let command = lookup(parts.next()?)?;
    match (parts.next(), parts.next()) {
        (None, _) => Some(command),
        (Some(sub), None) => lookup_subcommand(command, sub),
        (Some(_), Some(_)) => None,
    }
}

/// The command that these arguments call, subcommand included, if this server answers
/// it and the number of arguments is acceptable.
#[inline]
pub fn resolve(args: Args<'_>) -> Result<&'static Command, WireError> {
    find(args)?.check_arity(args)
}

/// As [`resolve`], whatever the number of arguments.
#[inline]
pub fn find(args: Args<'_>) -> Result<&'static Command, WireError> {
    call_of(args, lookup)
}

/// As [`find`], with a search of its own for top-level names.
#[inline(always)]
pub(crate) fn call_of(
    args: Args<'_>,
    lookup: impl Fn(&[u8]) -> Option<&'static Command>,
) -> Result<&'static Command, WireError> {
    let Some(command) = args.get(0).and_then(lookup) else {
        return Err(WireError::unknown_command(args));
    };
    if command.subcommand_count == 0 || args.len() == 1 {
        return Ok(command);
    }
    lookup_subcommand(command, args.at(1)).ok_or_else(|| WireError::unknown_subcommand(args))
}

impl Packed {
    /// Where the search for the name begins.
    #[inline]
    const fn home(&self) -> usize {
        let mixed = self.first.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ self.last.wrapping_add(self.len as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        (mixed >> (64 - SLOTS.trailing_zeros())) as usize
    }
}

/// Packs a name. With the case bit set, a letter stands for its two cases and for no
/// other byte; so up to 16 letters are compared exactly.
#[inline]
const fn pack(name: &[u8]) -> Packed {
    const CASE: u64 = 0x2020_2020_2020_2020;
    let (first, last) = if let (Some(first), Some(last)) =
        (name.first_chunk::<8>(), name.last_chunk::<8>())
    {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64)
    } else {
        match *name {
            [a] => (a as u64, 0),
            [a, b] => (a as u64 | (b as u64) << 8, 0),
            [a, b, c] => (a as u64 | (b as u64) << 8 | (c as u64) << 16, 0),
            _ => (0, 0),
        }
    };
    Packed { first: first | CASE, last: last | CASE, len: name.len() }
}

const fn build_index() -> [Slot; SLOTS] {
    let empty = Slot { name: pack(b""), row: u16::MAX, exact: false };
    let mut index = [empty; SLOTS];
    let mut row = 0;
    let mut names = 0;
    while row < CommandId::COUNT {
        let command = &COMMANDS[row];
        if command.container.is_none() {
            let name = pack(command.name.as_bytes());
            let mut position = name.home();
            while index[position].row != u16::MAX {
                position = (position + 1) % SLOTS;
            }
            let exact = name.len <= 16 && is_all_letters(command.name.as_bytes());
            index[position] = Slot { name, row: row as u16, exact };
            names += 1;
        }
        row += 1;
    }
    assert!(names * 2 <= SLOTS, "raise SLOTS");
    index
}

const fn is_all_letters(name: &[u8]) -> bool {
    let mut index = 0;
    while index < name.len() {
        if !name[index].is_ascii_lowercase() {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_resp::ArgBuf;

    #[test]
    fn every_row_is_found_by_its_name_in_any_case() {
        for command in &COMMANDS {
            let found = lookup_full_name(command.name.as_bytes()).expect(command.name);
            assert_eq!(found.id, command.id);
            let upper = command.name.to_ascii_uppercase();
            assert_eq!(lookup_full_name(upper.as_bytes()).expect(&upper).id, command.id);
        }
    }

    #[test]
    fn similar_names_are_not_found() {
        for name in [
            "",
            "ge",
            "gett",
            "g\0t",
            "get ",
            "client|",
            "client|list|",
            "client|nope",
            "|",
            "\x07\x05\x14",
            "eval\x7fro",
            "zremrangebyscorezremrangebyscore_",
        ] {
            assert!(lookup_full_name(name.as_bytes()).is_none(), "{name:?}");
        }
        assert!(lookup(b"client|list").is_none());
    }

    #[test]
    fn searches_are_short() {
        let probes = |name: &str| {
            let mut position = pack(name.as_bytes()).home();
            let mut probes = 1;
            while COMMANDS[INDEX[position].row as usize].name != name {
                position = (position + 1) % SLOTS;
                probes += 1;
            }
            probes
        };
        let top_level = COMMANDS.iter().filter(|command| command.container.is_none());
        let all: Vec<usize> = top_level.map(|command| probes(command.name)).collect();
        assert!(all.iter().sum::<usize>() * 10 < all.len() * 16, "the average is too long");
        for hot in ["get", "set", "incr", "mget", "mset", "hset", "hget", "lpush", "zadd", "del"] {
            assert!(probes(hot) <= 2, "{hot}: {}", probes(hot));
        }
    }

    #[test]
    fn every_command_is_resolved_by_its_name() {
        for command in &COMMANDS {
            let args: ArgBuf = command.name.split('|').collect();
            let args = args.args();
            assert_eq!(find(args).map(|found| found.id), Ok(command.id), "{}", command.name);
            let expected = match command.arity.admits(args.len()) {
                true => Ok(command.id),
                false => Err(WireError::WrongArity(command.name)),
            };
            assert_eq!(resolve(args).map(|found| found.id), expected, "{}", command.name);
        }
    }
}
