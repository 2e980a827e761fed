//! Which arguments of a call are keys, and how they are used.
//!
//! Positions come from the key specifications of the command's row; SET, BITFIELD and
//! SORT, whose specifications Redis itself calls unreliable, and GEORADIUS are looked into. At most
//! two runs of arguments are keys, so nothing is allocated.
//! Not here: what the keys hold, keys that a script touches without naming them.

use keyward_resp::{Args, number::parse_i64};

use crate::args::is;
use crate::command::{Command, KeyPositions};
use crate::error::WireError;
use crate::flags::{Flag, KeyFlag, KeyFlags};
use crate::migrate::Migrate;
use crate::names::Names;
use crate::table::CommandId;

/// One key of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRef {
    /// Which argument it is.
    pub index: usize,
    /// How the command uses it.
    pub flags: KeyFlags,
}

/// A run of arguments that are keys.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u32,
    count: u32,
    step: u32,
    flags: KeyFlags,
}

/// The keys of a call, in Redis's order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys {
    runs: [Run; 2],
}

impl Keys {
    /// The first argument is the only key.
    #[inline]
    fn first_argument(flags: &[KeyFlag]) -> Keys {
        let run = Run { first: 1, count: 1, step: 1, flags: KeyFlags::of(flags) };
        Keys { runs: [run, Run::default()] }
    }

    fn add(&mut self, run: Run) {
        let free = self.runs.iter_mut().find(|run| run.count == 0);
        *free.expect("no command of the table has keys in three places") = run;
    }
}

impl Iterator for Keys {
    type Item = KeyRef;

    #[inline]
    fn next(&mut self) -> Option<KeyRef> {
        let run = self.runs.iter_mut().find(|run| run.count > 0)?;
        let key = KeyRef { index: run.first as usize, flags: run.flags };
        // A step may lead back: two keys of the same use, the second of them in front.
        run.first = run.first.wrapping_add(run.step);
        run.count -= 1;
        Some(key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.runs.iter().map(|run| run.count as usize).sum();
        (count, Some(count))
    }
}

impl ExactSizeIterator for Keys {}

impl Command {
    /// Whether a call can have keys at all.
    pub fn has_keys(&self) -> bool {
        self.keys.iter().any(|spec| !spec.flags.has(KeyFlag::NotKey))
    }

    /// The keys of a call; none if its arguments make no sense.
    #[inline]
    pub fn keys_in(&self, args: Args<'_>) -> Keys {
        match self.id {
            CommandId::Set => set_keys(args),
            CommandId::BitField => bitfield_keys(args),
            CommandId::Sort => sort_keys(args),
            CommandId::Migrate => migrate_keys(args),
            CommandId::GeoRadius => georadius_keys(args, 6),
            CommandId::GeoRadiusByMember => georadius_keys(args, 5),
            // Redis's specifications want a source, the command does not.
            CommandId::PfMerge if args.len() == 2 => {
                Keys::first_argument(&[KeyFlag::Rw, KeyFlag::Access, KeyFlag::Insert])
            }
            CommandId::SortRo => Keys::first_argument(&[KeyFlag::Ro, KeyFlag::Access]),
            _ => match specified_keys(self, args) {
                Some(keys) => keys,
                None if matches!(self.id, CommandId::XRead | CommandId::XReadGroup) => {
                    stream_keys(args)
                }
                None => loosely_counted_keys(self, args),
            },
        }
    }

    /// The keys of a call of any length, as far as they can be told: a script may ask about
    /// one whose arity is wrong.
    pub fn keys_in_any(&self, args: Args<'_>) -> Keys {
        match self.arity.admits(args.len()) {
            true => self.keys_in(args),
            false => specified_keys(self, args).unwrap_or_default(),
        }
    }

    /// The keys of a call, or why COMMAND GETKEYS shows none.
    pub fn keys_or_error(&self, args: Args<'_>) -> Result<Keys, WireError> {
        if !self.has_keys() {
            return Err(WireError::NoKeyArguments);
        }
        if !self.arity.admits(args.len()) {
            return Err(WireError::InvalidArgumentCount);
        }
        let keys = self.keys_in(args);
        let lacks_sources = self.id == CommandId::PfMerge && args.len() == 2;
        if lacks_sources || keys.len() == 0 && !self.flags.has(Flag::NoMandatoryKeys) {
            return Err(WireError::InvalidArguments);
        }
        Ok(keys)
    }
}

/// What COMMAND GETKEYS and GETKEYSANDFLAGS answer to the call that `args` make up.
pub fn keys_of_call(names: &Names, args: Args<'_>) -> Result<Keys, WireError> {
    names.find(args).map_err(|_| WireError::InvalidCommand)?.keys_or_error(args)
}

/// The keys that the row's specifications find; `None` if one of them cannot apply.
#[inline]
fn specified_keys(command: &Command, args: Args<'_>) -> Option<Keys> {
    let mut keys = Keys::default();
    let len = u32::try_from(args.len()).ok()?;
    for spec in command.keys {
        if spec.flags.has(KeyFlag::NotKey) {
            continue;
        }
        let (first, last, step) = match spec.positions {
            KeyPositions::One(at) => (at.into(), at.into(), 1),
            KeyPositions::Range { first, last, step } => {
                let last = match u32::try_from(last) {
                    Ok(last) => last,
                    Err(_) => len.checked_sub(last.unsigned_abs().into())?,
                };
                (first.into(), last, step.into())
            }
            KeyPositions::NumKeys(at) => {
                let count = parse_i64(args.get(at.into())?).filter(|count| *count >= 0)?;
                // Redis keeps the lower half of the number only.
                let count = u32::try_from(count as i32).ok()?;
                (u32::from(at) + 1, u32::from(at) + count, 1)
            }
            KeyPositions::HalfAfter { word, from } => {
                // The word is not the last argument.
                let places = usize::from(from)..args.len().saturating_sub(1);
                let mut places = places.filter(|at| is(args.at(*at), word));
                let first = u32::try_from(places.next()?).ok()? + 1;
                (first, (first + (len - first) / 2).checked_sub(1)?, 1)
            }
            KeyPositions::After(_) | KeyPositions::Behind { .. } | KeyPositions::Unknown => {
                return None;
            }
        };
        if last >= len || last < first {
            return None;
        }
        keys.add(Run { first, count: (last - first) / step + 1, step, flags: spec.flags });
    }
    Some(keys)
}

/// Where the number of keys is not a proper number Redis reads it once more, with
/// `atoi`; such keys come without flags, and a destination comes last.
fn loosely_counted_keys(command: &Command, args: Args<'_>) -> Keys {
    let mut keys = Keys::default();
    let count_at = command.keys.iter().find_map(|spec| match spec.positions {
        KeyPositions::NumKeys(at) => Some(at),
        _ => None,
    });
    let Some(count_at) = count_at else { return keys };
    let follow = args.from(usize::from(count_at) + 1).len();
    let count = args.get(count_at.into()).map_or(0, atoi);
    let Ok(count) = u32::try_from(count) else { return keys };
    if count == 0 || count as usize > follow {
        return keys;
    }
    let first = u32::from(count_at) + 1;
    keys.add(Run { first, count, step: 1, flags: KeyFlags::NONE });
    for spec in command.keys {
        if let KeyPositions::One(at) = spec.positions {
            keys.add(Run { first: at.into(), count: 1, step: 1, flags: KeyFlags::NONE });
        }
    }
    keys
}

/// The C library's `atoi`, which is `strtol` cut to 32 bits.
fn atoi(text: &[u8]) -> i32 {
    let text = text.trim_ascii_start();
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1i64, digits),
    };
    // The sign belongs to each digit: the lowest number is further from zero than the
    // highest, and its lower half is zero.
    let number =
        digits.iter().take_while(|byte| byte.is_ascii_digit()).fold(0i64, |value, digit| {
            value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0'))
        });
    number as i32
}

/// SET reads the old value only with GET.
#[inline]
fn set_keys(args: Args<'_>) -> Keys {
    if args.from(3).iter().any(|word| word.eq_ignore_ascii_case(b"get")) {
        Keys::first_argument(&[KeyFlag::Rw, KeyFlag::Access, KeyFlag::Update])
    } else {
        Keys::first_argument(&[KeyFlag::Ow, KeyFlag::Update])
    }
}

/// BITFIELD with nothing but GET only reads.
fn bitfield_keys(args: Args<'_>) -> Keys {
    let mut index = 2;
    let mut read_only = true;
    while let Some(word) = args.get(index) {
        let left = args.len() - index - 1;
        if word.eq_ignore_ascii_case(b"get") && left >= 2 {
            index += 3;
        } else if word.eq_ignore_ascii_case(b"overflow") && left >= 1 {
            index += 2;
        } else {
            // SET, INCRBY, or an error, where writing is the safer guess.
            read_only = false;
            break;
        }
    }
    if read_only {
        Keys::first_argument(&[KeyFlag::Ro, KeyFlag::Access])
    } else {
        Keys::first_argument(&[KeyFlag::Rw, KeyFlag::Access, KeyFlag::Update])
    }
}

/// SORT reads its first argument and may store to the one after the last STORE.
fn sort_keys(args: Args<'_>) -> Keys {
    let mut keys = Keys::first_argument(&[KeyFlag::Ro, KeyFlag::Access]);
    let mut destination = None;
    let mut index = 2;
    while let Some(word) = args.get(index) {
        if word.eq_ignore_ascii_case(b"limit") {
            index += 2;
        } else if word.eq_ignore_ascii_case(b"get") || word.eq_ignore_ascii_case(b"by") {
            index += 1;
        } else if word.eq_ignore_ascii_case(b"store") && index + 1 < args.len() {
            // The word after STORE is looked at again, as Redis does.
            destination = Some(index + 1);
        }
        index += 1;
    }
    if let Some(first) = destination.and_then(|index| u32::try_from(index).ok()) {
        let flags = KeyFlags::of(&[KeyFlag::Ow, KeyFlag::Update]);
        keys.add(Run { first, count: 1, step: 1, flags });
    }
    keys
}

/// GEORADIUS reads its first argument and may store to those behind STORE and STOREDIST.
///
/// Redis finds the first of either word, even where both are given and the last one counts.
/// Where a word is repeated it misses the key that is written; here that one is found.
fn georadius_keys(args: Args<'_>, from: usize) -> Keys {
    let mut keys = Keys::first_argument(&[KeyFlag::Ro, KeyFlag::Access]);
    let words = || (from..args.len().saturating_sub(1)).map(|index| (index + 1, args.at(index)));
    let first = |wanted: &str| words().find(|(_, word)| crate::args::is(word, wanted));
    let mut written = None;
    let mut index = from;
    while index + 1 < args.len() {
        if crate::args::is(args.at(index), "store") || crate::args::is(args.at(index), "storedist")
        {
            written = Some(index + 1);
            index += 1;
        }
        index += 1;
    }
    let Some(written) = written else { return keys };
    let found = [first("store"), first("storedist")].map(|found| found.map(|(key, _)| key));
    let (first, count, step) = match found {
        [Some(store), Some(distances)] if written == store || written == distances => {
            (store, 2, (distances as u32).wrapping_sub(store as u32))
        }
        _ => (written, 1, 1),
    };
    let flags = KeyFlags::of(&[KeyFlag::Ow, KeyFlag::Update]);
    if let Ok(first) = u32::try_from(first) {
        keys.add(Run { first, count, step, flags });
    }
    keys
}

/// Where XREAD has no keys by its row, Redis looks through its options; such keys come
/// without flags.
fn stream_keys(args: Args<'_>) -> Keys {
    let mut keys = Keys::default();
    let mut index = 1;
    while let Some(word) = args.get(index) {
        index += match word {
            word if is(word, "block") || is(word, "count") => 2,
            word if is(word, "group") => 3,
            word if is(word, "noack") => 1,
            word if is(word, "streams") => {
                let left = u32::try_from(args.len() - index - 1).unwrap_or(0);
                let first = u32::try_from(index + 1).unwrap_or(0);
                if left > 0 && left.is_multiple_of(2) {
                    keys.add(Run { first, count: left / 2, step: 1, flags: KeyFlags::NONE });
                }
                return keys;
            }
            _ => return keys,
        };
    }
    keys
}

/// MIGRATE moves its third argument, or all behind KEYS.
fn migrate_keys(args: Args<'_>) -> Keys {
    let mut keys = Keys::default();
    let Some(positions) = Migrate::keys(args) else { return keys };
    let run = (u32::try_from(positions.start), u32::try_from(positions.len()));
    if let (Ok(first), Ok(count @ 1..)) = run {
        let flags = KeyFlags::of(&[KeyFlag::Rw, KeyFlag::Access, KeyFlag::Delete]);
        keys.add(Run { first, count, step: 1, flags });
    }
    keys
}

#[cfg(test)]
mod tests {
    use crate::lookup::lookup;
    use keyward_resp::ArgBuf;

    fn keys(call: &str) -> Vec<(usize, Vec<&'static str>)> {
        let args: ArgBuf = call.split(' ').collect();
        let command = lookup(args.args().at(0)).expect("it is in the table");
        let keys = command.keys_in(args.args());
        keys.map(|key| (key.index, key.flags.wire_names().collect())).collect()
    }

    fn places(call: &str) -> Vec<usize> {
        keys(call).into_iter().map(|(index, _)| index).collect()
    }

    #[test]
    fn keys_stand_at_fixed_places_in_steps_or_are_counted() {
        assert_eq!(places("get a"), [1]);
        assert_eq!(places("mset a 1 b 2"), [1, 3]);
        assert_eq!(places("blpop a b 0"), [1, 2]);
        assert_eq!(places("zunionstore d 2 a b"), [1, 3, 4]);
        assert_eq!(places("eval s 2 a b c"), [3, 4]);
        assert_eq!(places("xread count 1 streams a b 0 0"), [4, 5]);
        assert_eq!(places("xreadgroup group streams c streams a >"), [5]);
        assert_eq!(places("ping"), [0; 0]);
    }

    #[test]
    fn calls_that_make_no_sense_have_no_keys() {
        for call in ["get", "mset", "eval", "eval s", "eval s 3 a", "blpop 0", "zunionstore d"] {
            assert_eq!(places(call), [0; 0], "{call}");
        }
    }

    #[test]
    fn options_decide_how_a_key_is_used() {
        assert_eq!(keys("set k v"), [(1, vec!["OW", "update"])]);
        assert_eq!(keys("set k v get"), [(1, vec!["RW", "access", "update"])]);
        assert_eq!(keys("bitfield k get u8 0"), [(1, vec!["RO", "access"])]);
        assert_eq!(keys("migrate h 1 k 0 9 copy"), [(3, vec!["RW", "access", "delete"])]);
        assert_eq!(keys("sort k store d"), [(1, vec!["RO", "access"]), (3, vec!["OW", "update"])]);
        let stores = [(1, vec!["RO", "access"]), (7, vec!["OW", "update"])];
        assert_eq!(keys("georadius k 0 0 1 m STORE d"), stores);
    }

    #[test]
    fn a_search_stores_behind_either_word() {
        assert_eq!(places("georadius k 0 0 1 m"), [1]);
        assert_eq!(places("georadius k 0 0 1 m store"), [1]);
        assert_eq!(places("georadius k 0 0 1 m asc storedist d"), [1, 8]);
        assert_eq!(places("georadius k 0 0 1 m store a storedist b"), [1, 7, 9]);
        assert_eq!(places("georadius k 0 0 1 m storedist b store a"), [1, 9, 7]);
        assert_eq!(places("georadius k 0 0 1 m store a store b"), [1, 9]);
        assert_eq!(places("georadiusbymember k store 1 m store d"), [1, 6]);
        assert_eq!(places("georadius_ro k 0 0 1 m store d"), [1]);
    }

    #[test]
    fn a_merge_without_sources_has_its_destination() {
        assert_eq!(places("pfmerge d"), [1]);
        assert_eq!(places("pfmerge d a b"), [1, 2, 3]);
    }
}
