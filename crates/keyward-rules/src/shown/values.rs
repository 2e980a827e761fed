//! Which arguments besides keys say nothing of what a row holds.
//!
//! Arguments are known by what the table of commands calls them. A name that is not listed
//! here is not shown.

use keyward_commands::Role;
use keyward_commands::argument::{Argument, ArgumentKind};
use keyward_resp::{Args, number};
use keyward_schema::Object;

/// Numbers that are about places, counts and times.
const COUNTS: [&str; 25] = [
    "count",
    "cursor",
    "db",
    "destination-db",
    "end",
    "frequency",
    "index",
    "index1",
    "index2",
    "len",
    "limit",
    "milliseconds",
    "num-matches",
    "numkeys",
    "numreplicas",
    "offset",
    "rank",
    "seconds",
    "start",
    "stop",
    "timeout",
    "ttl",
    "unix-time-milliseconds",
    "unix-time-seconds",
    "version",
];

/// What SCAN's TYPE takes.
const TYPES: [&[u8]; 6] = [b"hash", b"list", b"set", b"stream", b"string", b"zset"];

/// Whether an argument is a count, a place or a time, and looks like one.
pub(super) fn is_count(argument: &Argument, word: &[u8]) -> bool {
    match argument.kind {
        ArgumentKind::Integer | ArgumentKind::UnixTime => {
            COUNTS.contains(&argument.name) && number::parse_i64(word).is_some()
        }
        ArgumentKind::Double => {
            COUNTS.contains(&argument.name) && number::parse_f64(word).is_some()
        }
        ArgumentKind::String if argument.name == "type" => {
            TYPES.iter().any(|name| word.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}

/// Whether an argument is the name of a declared field, or the value of one that is not
/// secret. Other names are not shown: they may be a value in the wrong place.
pub(super) fn field_is_public(
    object: &Object,
    roles: &[Role],
    args: Args<'_>,
    index: usize,
) -> bool {
    let is_field = |at: usize| matches!(roles[at], Role::Documented(it) if it.name == "field");
    let declared = |at: usize| {
        let name = args.at(at);
        object.fields.iter().find(|field| field.name.as_bytes() == name)
    };
    if is_field(index) {
        return declared(index).is_some();
    }
    is_field(index - 1) && declared(index - 1).is_some_and(|field| !field.shape.has_secret())
}
