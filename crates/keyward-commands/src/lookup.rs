//! From a name to a row of the table.
//!
//! An index of the top-level names is built at compile time: open addressing over a
//! hash of the name's length and of its first and last eight bytes with the case bit
//! set. A hit costs two multiplications, one or two slots and one comparison.
//! Subcommands are searched for among the few of their container.

use keyward_resp::Args;

use crate::command::Command;
use crate::error::WireError;
use crate::table::{COMMANDS, CommandId};

/// A power of two; at least twice as many as names, here five times.
const SLOTS: usize = 1024;
/// Longer than any name.
const NAME_BYTES_MAX: usize = 32;
const EMPTY: u16 = u16::MAX;

/// For each slot the index of a row, or `EMPTY`.
static INDEX: [u16; SLOTS] = build_index();

/// The top-level command of this name, in any case. It may be one that is only
/// planned: [`resolve`] is what a server asks.
#[inline]
pub fn lookup(name: &[u8]) -> Option<&'static Command> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return None;
    }
    let mut slot = slot_of(name);
    loop {
        let command = COMMANDS.get(INDEX[slot] as usize)?;
        if command.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(command);
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// The subcommand of this name, in any case.
pub fn lookup_subcommand(container: &Command, name: &[u8]) -> Option<&'static Command> {
    // The containers' names are as long as each other's within one container.
    let prefix = container.name.len() + 1;
    container
        .subcommands()
        .iter()
        .find(|sub| sub.name.as_bytes()[prefix..].eq_ignore_ascii_case(name))
}

/// The command or subcommand of a full name: `get`, `client|list`.
pub fn lookup_full_name(name: &[u8]) -> Option<&'static Command> {
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
    let command = find(args)?;
    if command.arity.admits(args.len()) {
        Ok(command)
    } else {
        Err(WireError::WrongArity(command.name))
    }
}

/// As [`resolve`], whatever the number of arguments.
#[inline]
pub fn find(args: Args<'_>) -> Result<&'static Command, WireError> {
    let command = args.get(0).and_then(lookup).filter(|command| command.served);
    let Some(command) = command else { return Err(WireError::unknown_command(args)) };
    if command.subcommand_count == 0 || args.len() == 1 {
        return Ok(command);
    }
    lookup_subcommand(command, args.at(1))
        .filter(|subcommand| subcommand.served)
        .ok_or_else(|| WireError::unknown_subcommand(args))
}

/// Where the search for `name` begins.
#[inline]
const fn slot_of(name: &[u8]) -> usize {
    const CASE: u64 = 0x2020_2020_2020_2020;
    let (first, last) = match name.len() {
        8.. => (word(name, 0, 8), word(name, name.len() - 8, 8)),
        4.. => (word(name, 0, 4), word(name, name.len() - 4, 4)),
        len => (word(name, 0, len), 0),
    };
    let mixed = (first | CASE).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (last | CASE).wrapping_add(name.len() as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    (mixed >> (64 - SLOTS.trailing_zeros())) as usize
}

/// `count` bytes from `start` as a little-endian number.
#[inline]
const fn word(bytes: &[u8], start: usize, count: usize) -> u64 {
    let mut word = 0;
    let mut index = 0;
    while index < count {
        word |= (bytes[start + index] as u64) << (8 * index);
        index += 1;
    }
    word
}

const fn build_index() -> [u16; SLOTS] {
    let mut index = [EMPTY; SLOTS];
    let mut row = 0;
    let mut names = 0;
    while row < CommandId::COUNT {
        let command = &COMMANDS[row];
        if command.container.is_none() {
            assert!(command.name.len() <= NAME_BYTES_MAX, "raise NAME_BYTES_MAX");
            let mut slot = slot_of(command.name.as_bytes());
            while index[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            index[slot] = row as u16;
            names += 1;
        }
        row += 1;
    }
    assert!(names * 2 <= SLOTS, "raise SLOTS");
    index
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
            let mut slot = slot_of(name.as_bytes());
            let mut probes = 1;
            while COMMANDS[INDEX[slot] as usize].name != name {
                slot = (slot + 1) % SLOTS;
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
    fn unknown_names_and_wrong_counts_are_told_apart() {
        let resolve = |words: &[&str]| {
            let args: ArgBuf = words.iter().collect();
            find(args.args()).map(|command| command.name).map_err(|error| error.to_string())
        };
        assert_eq!(
            resolve(&["nope", "a"]),
            Err("ERR unknown command 'nope', with args beginning with: 'a' ".to_owned())
        );
    }
}
