//! What a call says by its arguments alone.
//!
//! Owns the reading of every command that writes: which key may come to be and
//! as what, which values go into it, which lifetime is asked for. Invariants:
//! nothing allocates; what Redis itself refuses (a syntax error, no number) is
//! [`Call::Malformed`], and is the handler's to answer.
//! Not here: judging any of it (`before`).

mod extent;

pub use extent::extent;

use keyward_commands::args::{Options, is};
use keyward_commands::{Command, CommandId, KeyFlag};
use keyward_resp::{Args, number};

use crate::view::RowType;

/// What a call says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call<'a> {
    /// Sets the string of key 1 as a whole.
    Set {
        /// The string.
        value: &'a [u8],
        /// The lifetime it is to have.
        asked: Asked,
    },
    /// Sets strings: keys and values from argument 1.
    SetMany,
    /// Puts elements into a collection.
    Add {
        /// The argument that is its key.
        key: usize,
        /// The elements.
        elements: Elements<'a>,
    },
    /// Adds a whole number to the string of key 1, or to this field of it.
    Count {
        /// The field.
        field: Option<&'a [u8]>,
        /// The number.
        by: i64,
    },
    /// Adds a number to the string of key 1, or to this field of it.
    Sum {
        /// The field.
        field: Option<&'a [u8]>,
        /// The number as written.
        by: &'a [u8],
    },
    /// Writes this key in a way that only its effect tells.
    Make {
        /// The argument that is the key.
        key: usize,
        /// What it becomes, if that is known.
        row_type: Option<RowType>,
    },
    /// Carries a row into another database, whose book judges it there.
    Away,
    /// Carries rows to another server.
    Carry,
    /// Takes elements away, or whole rows, and puts nothing anywhere.
    Take {
        /// Whether only whole rows.
        whole: bool,
    },
    /// Gives key 1 another deadline, or none.
    Expire(Expiry),
    /// Reads key 1 and gives it another deadline, or none.
    GetEx(Expiry),
    /// Calls a function.
    Function,
    /// Changes nothing of a row by itself: it empties or swaps whole databases,
    /// or it only reads.
    Nothing,
    /// Not what Redis accepts.
    Malformed,
}

/// Which lifetime a call that sets a string asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// None.
    Silent,
    /// The one that the row has.
    Keep,
    /// Up to this time.
    At(i64),
}

/// A deadline for a living row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// When; `None` takes the deadline away.
    pub(crate) end: Option<i64>,
    /// Whether it counts only if it is sooner than the one there is.
    pub(crate) only_sooner: bool,
}

/// Elements for a collection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Elements<'a> {
    /// Names and values.
    Fields(Args<'a>),
    /// Items of a list.
    Items(Args<'a>),
    /// Members of a set.
    Members(Args<'a>),
    /// Scores and members.
    Scores(Args<'a>),
    /// Names and values of an entry of a stream.
    Entry(Args<'a>),
}

impl<'a> Elements<'a> {
    /// The type of the collection.
    pub(crate) fn row_type(self) -> RowType {
        match self {
            Elements::Fields(_) => RowType::Hash,
            Elements::Items(_) => RowType::List,
            Elements::Members(_) => RowType::Set,
            Elements::Scores(_) => RowType::Zset,
            Elements::Entry(_) => RowType::Stream,
        }
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        match self {
            Elements::Fields(args) | Elements::Scores(args) => args.len() / 2,
            Elements::Items(args) | Elements::Members(args) => args.len(),
            Elements::Entry(_) => 1,
        }
    }
}

/// Two arguments at a time.
pub(crate) fn pairs<'a>(args: Args<'a>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
    (0..args.len() / 2).map(move |pair| (args.at(2 * pair), args.at(2 * pair + 1)))
}

impl<'a> Call<'a> {
    /// Reads a call whose arity is right.
    pub(crate) fn read(command: &Command, args: Args<'a>, now_ms: i64) -> Call<'a> {
        use CommandId::*;
        let make = |key, row_type| Call::Make { key, row_type: Some(row_type) };
        match command.id {
            SetNx | GetSet => Call::Set { value: args.at(2), asked: Asked::Silent },
            Set if args.len() == 3 => Call::Set { value: args.at(2), asked: Asked::Silent },
            Set => set(args, now_ms).unwrap_or(Call::Malformed),
            SetEx => set_for(args, 1000, now_ms),
            PSetEx => set_for(args, 1, now_ms),
            MSet | MSetNx if args.len() % 2 == 1 => Call::SetMany,
            Append | SetRange | SetBit => make(1, RowType::String),
            BitField => match command.keys_in(args).next() {
                Some(key) if key.flags.has(KeyFlag::Rw) => make(1, RowType::String),
                _ => Call::Nothing,
            },
            BitOp => make(2, RowType::String),
            PfAdd | PfMerge => make(1, RowType::String),
            PfDebug => make(2, RowType::String),
            Incr => Call::Count { field: None, by: 1 },
            Decr => Call::Count { field: None, by: -1 },
            IncrBy => count(None, args.at(2)),
            DecrBy => number::parse_i64(args.at(2))
                .and_then(i64::checked_neg)
                .map_or(Call::Malformed, |by| Call::Count { field: None, by }),
            HIncrBy => count(Some(args.at(2)), args.at(3)),
            IncrByFloat => sum(None, args.at(2)),
            HIncrByFloat => sum(Some(args.at(2)), args.at(3)),
            HSet | HMSet | HSetNx if args.len().is_multiple_of(2) => {
                Call::Add { key: 1, elements: Elements::Fields(args.from(2)) }
            }
            LPush | RPush | LPushX | RPushX => items(1, args.from(2)),
            LSet => items(1, args.from(3)),
            LInsert => items(1, args.from(4)),
            LMove | RPopLPush | BLMove | BRPopLPush => make(2, RowType::List),
            SAdd => Call::Add { key: 1, elements: Elements::Members(args.from(2)) },
            SMove => Call::Add { key: 2, elements: Elements::Members(args.from(3)) },
            SUnionStore | SInterStore | SDiffStore => make(1, RowType::Set),
            ZAdd => zadd(args),
            XAdd => xadd(args),
            XGroupCreate => make(2, RowType::Stream),
            ZIncrBy | ZUnionStore | ZInterStore | ZDiffStore | ZRangeStore | GeoAdd
            | GeoSearchStore => make(1, RowType::Zset),
            // Of two keys to store to the last one counts.
            GeoRadius | GeoRadiusByMember => command
                .keys_in(args)
                .skip(1)
                .map(|destination| destination.index)
                .max()
                .map_or(Call::Nothing, |destination| make(destination, RowType::Zset)),
            Sort => command
                .keys_in(args)
                .nth(1)
                .map_or(Call::Nothing, |destination| make(destination.index, RowType::List)),
            Copy if args.from(3).iter().any(|word| is(word, "DB")) => Call::Away,
            Rename | RenameNx | Copy => Call::Make { key: 2, row_type: None },
            Restore => Call::Make { key: 1, row_type: None },
            Move => Call::Away,
            Del | Unlink | GetDel => Call::Take { whole: true },
            Migrate => match keyward_commands::migrate::Migrate::parse(args) {
                Ok(call) if call.copies => Call::Nothing,
                Ok(_) => Call::Carry,
                Err(_) => Call::Malformed,
            },
            HDel | LPop | RPop | LMPop | BLMPop | BLPop | BRPop | LRem | LTrim | SRem | SPop
            | ZRem | ZPopMin | ZPopMax | ZMPop | BZMPop | BZPopMin | BZPopMax | ZRemRangeByLex
            | ZRemRangeByRank | ZRemRangeByScore | XDel | XTrim | XSetId | XAck | XClaim
            | XAutoClaim | XReadGroup | XGroupSetId | XGroupDestroy | XGroupCreateConsumer
            | XGroupDelConsumer => Call::Take { whole: false },
            Expire => expire(args, 1000, now_ms),
            PExpire => expire(args, 1, now_ms),
            ExpireAt => expire(args, 1000, 0),
            PExpireAt => expire(args, 1, 0),
            Persist => Call::Expire(Expiry { end: None, only_sooner: false }),
            GetEx => getex(args, now_ms).unwrap_or(Call::Malformed),
            FCall | FCallRo => Call::Function,
            MSet | MSetNx | HSet | HMSet | HSetNx => Call::Malformed,
            _ => Call::Nothing,
        }
    }
}

/// A time that an option names: so many units behind `base_ms`. Redis refuses
/// what is not above zero.
fn end(text: &[u8], unit_ms: i64, base_ms: i64) -> Option<i64> {
    let count = number::parse_i64(text).filter(|count| *count > 0)?;
    count.checked_mul(unit_ms)?.checked_add(base_ms)
}

/// The time that EX, PX, EXAT or PXAT names; `None` if the word is another.
fn named_end(
    word: &[u8],
    options: &mut Options<'_>,
    now_ms: i64,
) -> Option<Result<i64, NotAccepted>> {
    let (unit_ms, base_ms) = match word.len() {
        2 if is(word, "EX") => (1000, now_ms),
        2 if is(word, "PX") => (1, now_ms),
        4 if is(word, "EXAT") => (1000, 0),
        4 if is(word, "PXAT") => (1, 0),
        _ => return None,
    };
    Some(options.next().and_then(|text| end(text, unit_ms, base_ms)).ok_or(NotAccepted))
}

/// Redis does not accept the arguments.
struct NotAccepted;

/// SET with options, as far as Redis accepts them together: what is read here has no error but
/// that GET finds no string.
fn set(args: Args<'_>, now_ms: i64) -> Option<Call<'_>> {
    let mut asked = Asked::Silent;
    let (mut condition, mut unit): (Option<&[u8]>, Option<&[u8]>) = (None, None);
    let is_other = |earlier: Option<&[u8]>, word: &[u8]| {
        earlier.is_some_and(|earlier| !earlier.eq_ignore_ascii_case(word))
    };
    let mut options = Options::new(args, 3);
    while let Some(word) = options.next() {
        if let Some(end) = named_end(word, &mut options, now_ms) {
            if asked == Asked::Keep || is_other(unit, word) {
                return None;
            }
            (asked, unit) = (Asked::At(end.ok()?), Some(word));
        } else if is(word, "KEEPTTL") && unit.is_none() {
            asked = Asked::Keep;
        } else if (is(word, "NX") || is(word, "XX")) && !is_other(condition, word) {
            condition = Some(word);
        } else if !is(word, "GET") {
            return None;
        }
    }
    Some(Call::Set { value: args.at(2), asked })
}

/// SETEX and PSETEX.
fn set_for(args: Args<'_>, unit_ms: i64, now_ms: i64) -> Call<'_> {
    match end(args.at(2), unit_ms, now_ms) {
        Some(end) => Call::Set { value: args.at(3), asked: Asked::At(end) },
        None => Call::Malformed,
    }
}

fn getex(args: Args<'_>, now_ms: i64) -> Option<Call<'_>> {
    let mut options = Options::new(args, 2);
    let Some(word) = options.next() else { return Some(Call::Nothing) };
    let end = match named_end(word, &mut options, now_ms) {
        Some(end) => Some(end.ok()?),
        None if is(word, "PERSIST") => None,
        None => return None,
    };
    let expiry = Expiry { end, only_sooner: false };
    (options.left() == 0).then_some(Call::GetEx(expiry))
}

/// EXPIRE and its kin, which accept times in the past.
fn expire(args: Args<'_>, unit_ms: i64, base_ms: i64) -> Call<'_> {
    let end = number::parse_i64(args.at(2))
        .and_then(|count| count.checked_mul(unit_ms)?.checked_add(base_ms));
    let only_sooner = args.from(3).iter().any(|word| is(word, "LT"));
    match end {
        Some(end) => Call::Expire(Expiry { end: Some(end), only_sooner }),
        None => Call::Malformed,
    }
}

fn count<'a>(field: Option<&'a [u8]>, by: &[u8]) -> Call<'a> {
    number::parse_i64(by).map_or(Call::Malformed, |by| Call::Count { field, by })
}

fn sum<'a>(field: Option<&'a [u8]>, by: &'a [u8]) -> Call<'a> {
    let is_finite = number::parse_f64(by).is_some_and(f64::is_finite);
    match is_finite || is_number_beyond_doubles(by) {
        true => Call::Sum { field, by },
        false => Call::Malformed,
    }
}

/// Whether a text is a number of more digits, or another size, than a double can hold.
fn is_number_beyond_doubles(text: &[u8]) -> bool {
    // The words for what is no number have no digits.
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    text.iter().any(u8::is_ascii_digit) && std::str::from_utf8(text).is_ok_and(is_number)
}

fn items(key: usize, items: Args<'_>) -> Call<'_> {
    Call::Add { key, elements: Elements::Items(items) }
}

fn zadd(args: Args<'_>) -> Call<'_> {
    let mut first = 2;
    while let Some(word) = args.get(first) {
        if is(word, "INCR") {
            return Call::Make { key: 1, row_type: Some(RowType::Zset) };
        }
        if !["NX", "XX", "GT", "LT", "CH"].iter().any(|option| is(word, option)) {
            break;
        }
        first += 1;
    }
    let scores = args.from(first);
    let accepted = scores.len().is_multiple_of(2)
        && pairs(scores).all(|(score, _)| number::parse_f64(score).is_some());
    match accepted {
        true => Call::Add { key: 1, elements: Elements::Scores(scores) },
        false => Call::Malformed,
    }
}

/// XADD: options, an id, then the fields.
fn xadd(args: Args<'_>) -> Call<'_> {
    let mut at = 2;
    while let Some(word) = args.get(at) {
        if is(word, "NOMKSTREAM") {
            at += 1;
        } else if is(word, "LIMIT") {
            at += 2;
        } else if is(word, "MAXLEN") || is(word, "MINID") {
            let has_sign = args.get(at + 1).is_some_and(|sign| sign == b"~" || sign == b"=");
            at += 2 + usize::from(has_sign);
        } else {
            break;
        }
    }
    let fields = args.from((at + 1).min(args.len()));
    match !fields.is_empty() && fields.len().is_multiple_of(2) {
        true => Call::Add { key: 1, elements: Elements::Entry(fields) },
        false => Call::Malformed,
    }
}

#[cfg(test)]
mod tests;
