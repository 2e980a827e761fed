//! How long a call makes a string, as far as its arguments tell.
//!
//! SETRANGE, SETBIT and BITFIELD name a place, and the string reaches that far afterwards,
//! however short it was. So what is too long can be refused before it is made.

use keyward_commands::{Command, CommandId};
use keyward_resp::Args;
use keyward_resp::number::parse_i64;

/// The longest string that Redis makes unless it is told otherwise (`proto-max-bulk-len`).
const BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The bytes that a string has at least after a call; `None` if it may have none, or if Redis
/// itself may refuse the call.
pub fn extent(command: &Command, args: Args<'_>) -> Option<u64> {
    let bytes = match command.id {
        CommandId::SetRange => {
            let length = args.get(3)?.len() as u64;
            number(args.get(2)?).filter(|_| length > 0)?.checked_add(length)
        }
        CommandId::SetBit => {
            let is_bit = matches!(args.get(3)?, b"0" | b"1");
            Some(number(args.get(2)?).filter(|_| is_bit)? / 8 + 1)
        }
        CommandId::BitField => bitfield(args),
        _ => None,
    };
    bytes.filter(|bytes| *bytes <= BYTES_MAX)
}

fn number(text: &[u8]) -> Option<u64> {
    u64::try_from(parse_i64(text)?).ok()
}

/// The furthest place that an operation of BITFIELD writes to.
fn bitfield(args: Args<'_>) -> Option<u64> {
    let (mut at, mut furthest) = (2, None);
    while let Some(word) = args.get(at) {
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        if is(b"OVERFLOW") {
            let known: [&[u8]; 3] = [b"WRAP", b"SAT", b"FAIL"];
            let how = args.get(at + 1)?;
            known.iter().find(|name| how.eq_ignore_ascii_case(name))?;
            at += 2;
            continue;
        }
        let writes = is(b"SET") || is(b"INCRBY");
        if !writes && !is(b"GET") {
            return None;
        }
        let end = end_of_field(args.get(at + 1)?, args.get(at + 2)?)?;
        if writes {
            parse_i64(args.get(at + 3)?)?;
            furthest = furthest.max(Some(end.div_ceil(8)));
        }
        at += if writes { 4 } else { 3 };
    }
    furthest
}

/// The bit behind a field such as `u8` at `100`, or at `#12`.
fn end_of_field(kind: &[u8], offset: &[u8]) -> Option<u64> {
    let (sign, width) = kind.split_first()?;
    let width = number(width)?;
    let widest = match sign {
        b'i' => 64,
        b'u' => 63,
        _ => return None,
    };
    if width == 0 || width > widest {
        return None;
    }
    let offset = match offset.split_first()? {
        (b'#', place) => number(place)?.checked_mul(width)?,
        _ => number(offset)?,
    };
    offset.checked_add(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_commands::lookup;
    use keyward_resp::ArgBuf;

    fn check(call: &str, expected: Option<u64>) {
        let args: ArgBuf = call.split(' ').collect();
        let command = lookup(args.args().at(0)).expect("a command");
        assert_eq!(extent(command, args.args()), expected, "{call}");
    }

    #[test]
    fn the_furthest_byte_counts() {
        check("SETRANGE k 100 abc", Some(103));
        check("SETBIT k 7 1", Some(1));
        check("SETBIT k 8 0", Some(2));
        check("BITFIELD k SET u8 8 1 GET u8 8000 INCRBY i16 #10 1", Some(22));
        check("BITFIELD k OVERFLOW sat SET u8 4294967288 1", Some(512 * 1024 * 1024));
    }

    #[test]
    fn what_writes_nothing_or_is_redis_s_own_error_has_none() {
        for call in [
            "SETRANGE k -1 abc",
            "SETRANGE k x abc",
            "SETRANGE k 536870912 abc",
            "SETRANGE k 9223372036854775807 abc",
            "SETBIT k 8 2",
            "SETBIT k 4294967296 1",
            "BITFIELD k GET u8 8",
            "BITFIELD k SET u64 8 1",
            "BITFIELD k SET u8 8 x",
            "BITFIELD k SET u8 #9223372036854775807 1",
            "BITFIELD k SET u8",
            "BITFIELD k OVERFLOW no SET u8 8 1",
            "APPEND k x",
        ] {
            check(call, None);
        }
    }
}
