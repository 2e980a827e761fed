//! What of a key must be known before a command runs, so that what it did can be told and undone.
//!
//! For hosts that keep no journal of their own: they capture this, run the command, and compare
//! (`diff`). Owns what each command can do to each of its keys, by its arguments alone.
//! Invariant: a need that is too large costs time; one that is too small would hide a change, so
//! that a command which is not named here needs all.

use keyward_commands::args::is;
use keyward_commands::{Command, CommandId, KeyFlag};
use keyward_resp::Args;

use crate::arguments::{Call, Elements};
use crate::change::End;

/// What must be captured of a key.
#[derive(Clone, Copy, Debug)]
pub enum Need<'a> {
    /// Nothing: the command does not change it.
    Nothing,
    /// Whether it is there, and when it ends.
    Lifetime,
    /// These fields of a hash.
    Fields(Named<'a>),
    /// Whether these are members of a set, or their scores in a sorted set.
    Members(Named<'a>),
    /// How long a list is: these items come to that end of it.
    Ends(End, Args<'a>),
    /// Whether a stream is there: an entry with these names and values comes to its end.
    Entry(Args<'a>),
    /// All elements of a collection, of which some change; a string is edited. Items that come
    /// to a list come to this end of it, or anywhere.
    Elements(Option<End>),
    /// All of it: it is replaced, or goes, or comes from elsewhere.
    Whole,
}

/// The elements that arguments name: every `step`th.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    args: Args<'a>,
    step: usize,
    /// One that is set to what it was counts as changed.
    is_set: bool,
}

impl<'a> Named<'a> {
    /// Their names, in the order of the arguments; one may occur more than once.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.args.iter().step_by(self.step)
    }

    /// Whether an element that is set to what it was counts as changed: HSET writes a field
    /// whatever it held, SADD no member that is there.
    pub fn is_set(&self) -> bool {
        self.is_set
    }
}

/// A deadline that is no further off may have passed when a host has come to run the command.
const SOON_MS: i64 = 1000;

/// What must be captured of the key at a position of a call whose arity is right, before it runs
/// at about this time.
pub fn needs<'a>(command: &Command, args: Args<'a>, position: usize, now_ms: i64) -> Need<'a> {
    use CommandId::*;
    let named = |first: usize, step: usize| Named {
        args: args.from(first.min(args.len())),
        step,
        is_set: false,
    };
    let one = |index: usize| Named { args: args.from(index).split_at(1).0, step: 1, is_set: false };
    let set = |named: Named<'a>| Need::Fields(Named { is_set: true, ..named });
    match command.id {
        HSet | HMSet => set(named(2, 2)),
        HSetNx => Need::Fields(named(2, 2)),
        HDel => Need::Fields(named(2, 1)),
        HIncrBy | HIncrByFloat => set(one(2)),
        SAdd | SRem | ZRem => Need::Members(named(2, 1)),
        SMove => Need::Members(one(3)),
        ZAdd => Need::Members(named(first_score(args) + 1, 2)),
        ZIncrBy => Need::Members(one(3)),
        LPush | LPushX => Need::Ends(End::Head, args.from(2)),
        RPush | RPushX => Need::Ends(End::Tail, args.from(2)),
        Expire | PExpire | ExpireAt | PExpireAt | Persist | GetEx => {
            match Call::read(command, args, now_ms) {
                // A deadline in the past is an end.
                Call::Expire(expiry) | Call::GetEx(expiry)
                    if expiry.end.is_none_or(|end| end > now_ms.saturating_add(SOON_MS)) =>
                {
                    Need::Lifetime
                }
                Call::Nothing => Need::Nothing,
                _ => Need::Whole,
            }
        }
        XAdd => match Call::read(command, args, now_ms) {
            Call::Add { elements: Elements::Entry(fields), .. } => Need::Entry(fields),
            _ => Need::Elements(None),
        },
        Append | SetRange | SetBit | BitField | Incr | Decr | IncrBy | DecrBy | IncrByFloat
        | PfAdd | PfMerge | LPop | RPop | LMPop | BLMPop | BLPop | BRPop | LRem | LTrim | LSet
        | LInsert | SPop | ZPopMin | ZPopMax | ZMPop | BZMPop | BZPopMin | BZPopMax
        | ZRemRangeByLex | ZRemRangeByRank | ZRemRangeByScore | XDel | XTrim | XSetId | XAck
        | XClaim | XAutoClaim | XReadGroup | XGroupCreate | XGroupSetId | XGroupDestroy
        | XGroupCreateConsumer | XGroupDelConsumer | GeoAdd => Need::Elements(None),
        RPopLPush | BRPopLPush => Need::Elements(Some(End::Head)),
        LMove | BLMove => {
            let is_head = args.get(4).is_some_and(|word| is(word, "LEFT"));
            Need::Elements(Some(if is_head { End::Head } else { End::Tail }))
        }
        _ if reads_only(command, args, position) => Need::Nothing,
        _ => Need::Whole,
    }
}

/// Where the scores of ZADD begin.
fn first_score(args: Args<'_>) -> usize {
    let is_option =
        |word: &&[u8]| ["NX", "XX", "GT", "LT", "CH", "INCR"].iter().any(|option| is(word, option));
    2 + args.from(2.min(args.len())).iter().take_while(|word| is_option(word)).count()
}

fn reads_only(command: &Command, args: Args<'_>, position: usize) -> bool {
    let mut keys = command.keys_in(args).filter(|key| key.index == position).peekable();
    keys.peek().is_some() && keys.all(|key| key.flags.has(KeyFlag::Ro))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_commands::lookup;
    use keyward_resp::ArgBuf;

    #[track_caller]
    fn check(call: &str, position: usize, expected: &str) {
        let call: ArgBuf = call.split(' ').collect();
        let command = lookup(call.args().at(0)).expect("a command of Redis");
        let words = |named: Named<'_>| -> String {
            let words = named.iter().map(|name| String::from_utf8_lossy(name).into_owned());
            words.collect::<Vec<_>>().join(",")
        };
        let found = match needs(command, call.args(), position, 1_000_000) {
            Need::Fields(named) => format!("fields {}", words(named)),
            Need::Members(named) => format!("members {}", words(named)),
            Need::Ends(end, items) => format!("{end:?} {}", items.len()),
            Need::Entry(fields) => format!("entry {}", fields.len()),
            Need::Nothing => "nothing".to_owned(),
            Need::Lifetime => "lifetime".to_owned(),
            Need::Elements(None) => "elements".to_owned(),
            Need::Elements(Some(end)) => format!("elements {end:?}"),
            Need::Whole => "whole".to_owned(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_command_needs_what_its_arguments_name() {
        for (call, position, expected) in [
            ("HSET k a 1 b 2", 1, "fields a,b"),
            ("HDEL k a b", 1, "fields a,b"),
            ("HINCRBY k a 3", 1, "fields a"),
            ("SADD k a b", 1, "members a,b"),
            ("SMOVE k l a", 2, "members a"),
            ("ZADD k 1 a 2 b", 1, "members a,b"),
            ("ZADD k nx CH 1 a", 1, "members a"),
            ("ZADD k NX", 1, "members "),
            ("ZINCRBY k 2 a", 1, "members a"),
            ("RPUSH k a b c", 1, "Tail 3"),
            ("LPUSHX k a", 1, "Head 1"),
            ("PERSIST k", 1, "lifetime"),
            ("EXPIRE k 1", 1, "whole"),
            ("EXPIRE k 10", 1, "lifetime"),
            ("PEXPIREAT k 5", 1, "whole"),
            ("GETEX k", 1, "nothing"),
            ("GETEX k PERSIST", 1, "lifetime"),
            ("XADD k * a 1", 1, "entry 2"),
            ("SPOP k 3", 1, "elements"),
            ("APPEND k v", 1, "elements"),
            ("LINSERT k BEFORE a b", 1, "elements"),
            ("LMOVE k l LEFT RIGHT", 2, "elements Tail"),
            ("BLMOVE k l RIGHT left 0", 2, "elements Head"),
            ("RPOPLPUSH k l", 2, "elements Head"),
            ("SET k v", 1, "whole"),
            ("SUNIONSTORE k l m", 1, "whole"),
            ("SUNIONSTORE k l m", 2, "nothing"),
            ("COPY k l", 1, "nothing"),
            ("COPY k l", 2, "whole"),
            ("RENAME k l", 1, "whole"),
            ("ZUNIONSTORE k 2 l m", 4, "nothing"),
        ] {
            check(call, position, expected);
        }
    }
}
