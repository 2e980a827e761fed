//! What a command did, told by comparing: the diff of a row before and after, and its inverse.
//!
//! For hosts that keep no journal. Owns what is kept of a row before a command ([`Capture`], as
//! much as [`Need`] says), what the book is told of it afterwards ([`Difference`]), and the
//! commands that bring it back ([`Capture::inverse`]).
//! Invariants: a row that is as it was has no difference, unless a field was set to what it held;
//! what is brought back is the row with all its elements and its deadline.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keyward_resp::ArgBuf;
use keyward_schema::KeyId;

use super::needs::Need;
use super::stored::{Bytes, Stored, Value};
use crate::change::{Change, End, Part, What};
use crate::entry::EntryFields;
use crate::view::{Row, RowType};

/// How many elements one command of an inverse carries.
const ELEMENTS_AT_ONCE: usize = 1000;

/// A row as it was, as far as it has to be known.
#[derive(Clone, Debug)]
pub struct Capture {
    key: Bytes,
    /// Its type and its deadline, if it was there.
    before: Option<(RowType, Option<i64>)>,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    Lifetime,
    Fields { fields: Vec<(Bytes, Option<Bytes>)>, is_set: bool },
    Members(Vec<(Bytes, Membership)>),
    Pushed { end: End, items: Vec<Bytes>, length: usize },
    Entry(Bytes),
    Elements { row: Option<Stored>, end: Option<End> },
    Whole(Option<Stored>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Membership {
    Absent,
    Member,
    Scored(f64),
}

impl Membership {
    fn of(row: Option<&dyn Row>, member: &[u8]) -> Membership {
        match row {
            Some(row) if row.row_type() == RowType::Zset => {
                row.score(member).map_or(Membership::Absent, Membership::Scored)
            }
            Some(row) if row.contains(member) => Membership::Member,
            _ => Membership::Absent,
        }
    }

    fn score(self) -> Option<f64> {
        match self {
            Membership::Scored(score) => Some(score),
            Membership::Absent | Membership::Member => None,
        }
    }
}

/// How a row differs from what it was.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// It came, went or was replaced as a whole, or is a string that was edited.
    Whole,
    /// Nothing but its lifetime.
    Lifetime,
    /// Some of its elements.
    Elements(Vec<Changed>),
}

/// A changed element, as [`Part`] has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Changed {
    /// A field of a hash: its value before and after.
    Field(Bytes, Option<Bytes>, Option<Bytes>),
    /// An item came to an end of a list.
    Pushed(End, Bytes),
    /// An item came into a list elsewhere, or in place of another.
    Placed(Bytes),
    /// A member came into a set or left it.
    Member(Bytes, bool),
    /// A member of a sorted set: its score before and after.
    Score(Bytes, Option<f64>, Option<f64>),
    /// An entry came to the end of a stream.
    Entry(Bytes),
}

impl Changed {
    fn part(&self) -> Part<'_> {
        match self {
            Changed::Field(name, before, after) => {
                Part::Field { name, before: before.as_deref(), after: after.as_deref() }
            }
            Changed::Pushed(end, item) => Part::Pushed(*end, item),
            Changed::Placed(item) => Part::Placed(item),
            Changed::Member(member, came) => Part::Member { member, came: *came },
            Changed::Score(member, before, after) => {
                Part::Score { member, before: *before, after: *after }
            }
            Changed::Entry(fields) => Part::Entry(EntryFields::of(fields)),
        }
    }
}

impl Difference {
    /// The changed elements in the form the book reads; none of other differences.
    pub fn parts(&self) -> Vec<Part<'_>> {
        match self {
            Difference::Elements(changed) => changed.iter().map(Changed::part).collect(),
            Difference::Whole | Difference::Lifetime => Vec::new(),
        }
    }
}

impl Capture {
    /// What a command needs to be kept of a row, if it is there; `None` if it needs nothing.
    pub fn take(key: &[u8], row: Option<&dyn Row>, need: Need<'_>) -> Option<Capture> {
        let copy = || row.map(Stored::copy);
        let length = row.map_or(0, |row| row.len());
        let kept = match need {
            Need::Nothing => return None,
            Need::Lifetime => Kept::Lifetime,
            Need::Fields(named) => {
                let held = |name: &[u8]| row.and_then(|row| row.field(name)).map(Into::into);
                let names: BTreeSet<&[u8]> = named.iter().collect();
                let fields = names.into_iter().map(|name| (name.to_vec(), held(name))).collect();
                Kept::Fields { fields, is_set: named.is_set() }
            }
            Need::Members(named) => {
                let names: BTreeSet<&[u8]> = named.iter().collect();
                let held = |name: &[u8]| (name.to_vec(), Membership::of(row, name));
                Kept::Members(names.into_iter().map(held).collect())
            }
            Need::Ends(end, items) => {
                Kept::Pushed { end, items: items.iter().map(<[u8]>::to_vec).collect(), length }
            }
            Need::Entry(texts) => {
                let mut fields = Vec::new();
                EntryFields::write(&mut fields, texts.iter());
                Kept::Entry(fields)
            }
            Need::Elements(end) => Kept::Elements { row: copy(), end },
            Need::Whole => Kept::Whole(copy()),
        };
        let before = row.map(|row| (row.row_type(), row.deadline()));
        Some(Capture { key: key.to_vec(), before, kept })
    }

    /// A row that has ended, all of it.
    pub fn ended(key: Bytes, row: Stored) -> Capture {
        let before = Some((row.row_type(), row.deadline));
        Capture { key, before, kept: Kept::Whole(Some(row)) }
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether [`Capture::inverse`] needs the payload of a DUMP to bring all of it back: what a
    /// host's rows have beside their elements.
    pub fn needs_payload(&self) -> bool {
        match &self.kept {
            Kept::Elements { row, .. } | Kept::Whole(row) => {
                row.as_ref().is_some_and(|row| row.row_type() != RowType::String)
            }
            Kept::Entry(_) => self.before.is_some(),
            _ => false,
        }
    }

    /// How a row differs from what it was; `None` if it does not.
    pub fn compare(&self, after: Option<&dyn Row>) -> Option<Difference> {
        let was_there = self.before.is_some();
        let elements = |changed: Vec<Changed>| {
            let moved = after.map(|row| row.deadline()) != self.before.map(|(_, end)| end);
            match changed.is_empty() {
                false => Some(Difference::Elements(changed)),
                true if moved && was_there && after.is_some() => Some(Difference::Lifetime),
                true => None,
            }
        };
        match &self.kept {
            Kept::Lifetime => elements(Vec::new()),
            Kept::Fields { fields, is_set } => elements(changed_fields(fields, *is_set, after)),
            Kept::Members(members) => elements(changed_members(members, after)),
            Kept::Pushed { end, items, length } => {
                let has_grown = after.map_or(0, |row| row.len()) > *length;
                let items = items.iter().filter(|_| has_grown);
                elements(items.map(|item| Changed::Pushed(*end, item.clone())).collect())
            }
            Kept::Entry(fields) => match after {
                // A stream that exists may have taken none (NOMKSTREAM), but then it is not there.
                Some(_) => elements(vec![Changed::Entry(fields.clone())]),
                None => None,
            },
            Kept::Whole(before) => {
                let is_same = match (before, after) {
                    (None, None) => true,
                    (Some(before), Some(after)) => *before == Stored::copy(after),
                    _ => false,
                };
                (!is_same).then_some(Difference::Whole)
            }
            Kept::Elements { row, end } => compare_elements(row.as_ref(), after, *end),
        }
    }

    /// What the book is told: `parts` are those of the difference.
    pub fn change<'c>(
        &'c self,
        table: Option<KeyId>,
        difference: &Difference,
        parts: &'c [Part<'c>],
        after: Option<&'c dyn Row>,
    ) -> Change<'c> {
        let what = match (difference, &self.kept) {
            (Difference::Lifetime, _) => What::Lifetime,
            (Difference::Elements(_), _) => What::Parts(parts),
            (Difference::Whole, Kept::Whole(row) | Kept::Elements { row, .. }) => {
                What::Whole(row.as_ref().map(|row| row as &dyn Row))
            }
            (Difference::Whole, _) => What::Whole(None),
        };
        Change {
            table,
            key: &self.key,
            deadline_before: self.before.map(|(_, deadline)| deadline),
            after,
            what,
            is_known_to_fit: false,
            is_kept: false,
        }
    }

    /// The commands that bring a row back to what it was. `payload` is what DUMP returned for it
    /// before, where [`Capture::needs_payload`] asked for it: without one, elements and deadline
    /// alone are brought back.
    pub fn inverse(&self, after: Option<&dyn Row>, payload: Option<&[u8]>) -> Vec<ArgBuf> {
        let mut commands = Vec::new();
        let key = &self.key[..];
        let Some((row_type, deadline)) = self.before else {
            if after.is_some() {
                commands.push([b"DEL", key].iter().collect());
            }
            return commands;
        };
        match (&self.kept, payload) {
            (Kept::Elements { .. } | Kept::Whole(_) | Kept::Entry(_), Some(payload)) => {
                let end = deadline.unwrap_or(0).to_string();
                let words: [&[u8]; 6] =
                    [b"RESTORE", key, end.as_bytes(), payload, b"REPLACE", b"ABSTTL"];
                commands.push(words.iter().collect());
                return commands;
            }
            (Kept::Elements { row: Some(row), .. } | Kept::Whole(Some(row)), None) => {
                commands.push([b"DEL", key].iter().collect());
                rebuild(key, &row.value, &mut commands);
            }
            (Kept::Fields { fields, .. }, _) => undo_fields(key, fields, &mut commands),
            (Kept::Members(members), _) => {
                undo_members(key, members, row_type == RowType::Zset, &mut commands);
            }
            (Kept::Pushed { end, length, .. }, _) => {
                let more = after.map_or(0, |row| row.len()).saturating_sub(*length);
                let pop: &[u8] = if *end == End::Head { b"LPOP" } else { b"RPOP" };
                if more > 0 {
                    commands.push([pop, key, more.to_string().as_bytes()].iter().collect());
                }
            }
            _ => {}
        }
        let has = match &self.kept {
            Kept::Elements { .. } | Kept::Whole(_) => None,
            _ => after.and_then(|row| row.deadline()),
        };
        match deadline {
            _ if deadline == has => {}
            Some(end) => {
                let end = end.to_string();
                commands.push([b"PEXPIREAT", key, end.as_bytes()].iter().collect());
            }
            None => commands.push([b"PERSIST", key].iter().collect()),
        }
        commands
    }
}

fn changed_fields(
    fields: &[(Bytes, Option<Bytes>)],
    is_set: bool,
    after: Option<&dyn Row>,
) -> Vec<Changed> {
    let changed = |(name, before): &(Bytes, Option<Bytes>)| {
        let now = after.and_then(|row| row.field(name)).map(|value| value.into_owned());
        let is_change = *before != now || (is_set && now.is_some());
        is_change.then(|| Changed::Field(name.clone(), before.clone(), now))
    };
    fields.iter().filter_map(changed).collect()
}

fn changed_members(members: &[(Bytes, Membership)], after: Option<&dyn Row>) -> Vec<Changed> {
    let changed = |(member, before): &(Bytes, Membership)| {
        let now = Membership::of(after, member);
        if now == *before {
            return None;
        }
        Some(match (before, now) {
            (Membership::Scored(_), _) | (_, Membership::Scored(_)) => {
                Changed::Score(member.clone(), before.score(), now.score())
            }
            _ => Changed::Member(member.clone(), now == Membership::Member),
        })
    };
    members.iter().filter_map(changed).collect()
}

/// How a row differs of which any element may have changed.
fn compare_elements(
    before: Option<&Stored>,
    after: Option<&dyn Row>,
    end: Option<End>,
) -> Option<Difference> {
    let after = after.map(Stored::copy);
    if before == after.as_ref() {
        return None;
    }
    let (old, new) = (before.map(|row| &row.value), after.as_ref().map(|row| &row.value));
    if let (Some(old), Some(new)) = (old, new)
        && old == new
    {
        return Some(Difference::Lifetime);
    }
    let changed = match old.or(new)? {
        Value::Text(_) => return Some(Difference::Whole),
        Value::Hash(_) => {
            let (old, new) = (hash(old), hash(new));
            let names: BTreeSet<&Bytes> = old.keys().chain(new.keys()).copied().collect();
            let field = |name: &Bytes| {
                let (old, new) = (old.get(name).copied(), new.get(name).copied());
                (old != new).then(|| Changed::Field(name.clone(), old.cloned(), new.cloned()))
            };
            names.into_iter().filter_map(field).collect()
        }
        Value::Set(_) => {
            let (old, new) = (set(old), set(new));
            let came = new.difference(&old).map(|member| Changed::Member((*member).clone(), true));
            let left = old.difference(&new).map(|member| Changed::Member((*member).clone(), false));
            came.chain(left).collect()
        }
        Value::Zset(_) => {
            let (old, new) = (zset(old), zset(new));
            let names: BTreeSet<&Bytes> = old.keys().chain(new.keys()).copied().collect();
            let score = |member: &Bytes| {
                let (old, new) = (old.get(member).copied(), new.get(member).copied());
                (old != new).then(|| Changed::Score(member.clone(), old, new))
            };
            names.into_iter().filter_map(score).collect()
        }
        Value::List(_) => new_items(&list(old), &list(new), end),
        // Entries come by XADD, which tells them.
        Value::Stream(_) => Vec::new(),
    };
    Some(Difference::Elements(changed))
}

/// The items that came to a list: to this end, or anywhere.
fn new_items(old: &[&Bytes], new: &[&Bytes], end: Option<End>) -> Vec<Changed> {
    let mut left: BTreeMap<&Bytes, usize> = BTreeMap::new();
    old.iter().for_each(|item| *left.entry(item).or_default() += 1);
    let mut came = Vec::new();
    for item in new {
        match (left.get_mut(item), end) {
            (Some(count), _) if *count > 0 => *count -= 1,
            (_, Some(end)) => came.push(Changed::Pushed(end, (*item).clone())),
            (_, None) => came.push(Changed::Placed((*item).clone())),
        }
    }
    came
}

fn hash(value: Option<&Value>) -> BTreeMap<&Bytes, &Bytes> {
    match value {
        Some(Value::Hash(fields)) => fields.iter().collect(),
        _ => BTreeMap::new(),
    }
}

fn set(value: Option<&Value>) -> BTreeSet<&Bytes> {
    match value {
        Some(Value::Set(members)) => members.iter().collect(),
        _ => BTreeSet::new(),
    }
}

fn zset(value: Option<&Value>) -> BTreeMap<&Bytes, f64> {
    match value {
        Some(Value::Zset(members)) => {
            members.iter().map(|(member, score)| (member, *score)).collect()
        }
        _ => BTreeMap::new(),
    }
}

fn list(value: Option<&Value>) -> Vec<&Bytes> {
    match value {
        Some(Value::List(items)) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn undo_fields(key: &[u8], fields: &[(Bytes, Option<Bytes>)], commands: &mut Vec<ArgBuf>) {
    let (mut set, mut gone) = (Vec::new(), Vec::new());
    for (name, before) in fields {
        match before {
            Some(value) => set.extend([&name[..], value]),
            None => gone.push(&name[..]),
        }
    }
    in_chunks(b"HSET", key, &set, commands);
    in_chunks(b"HDEL", key, &gone, commands);
}

fn undo_members(
    key: &[u8],
    members: &[(Bytes, Membership)],
    is_zset: bool,
    commands: &mut Vec<ArgBuf>,
) {
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for (member, before) in members {
        match before {
            Membership::Absent => gone.push(&member[..]),
            Membership::Member => there.push(member.clone()),
            Membership::Scored(score) => {
                there.extend([score.to_string().into_bytes(), member.clone()]);
            }
        }
    }
    let there: Vec<&[u8]> = there.iter().map(|word| &word[..]).collect();
    let (add, remove): (&[u8], &[u8]) =
        if is_zset { (b"ZADD", b"ZREM") } else { (b"SADD", b"SREM") };
    in_chunks(add, key, &there, commands);
    in_chunks(remove, key, &gone, commands);
}

/// Makes a row that is not there.
fn rebuild(key: &[u8], value: &Value, commands: &mut Vec<ArgBuf>) {
    match value {
        Value::Text(text) => commands.push([b"SET", key, text].iter().collect()),
        Value::List(items) => in_chunks(b"RPUSH", key, &words(items), commands),
        Value::Set(members) => in_chunks(b"SADD", key, &words(members), commands),
        Value::Hash(fields) => {
            let words: Vec<&[u8]> =
                fields.iter().flat_map(|(name, value)| [&name[..], value]).collect();
            in_chunks(b"HSET", key, &words, commands);
        }
        Value::Zset(members) => {
            let scores: VecDeque<Bytes> =
                members.values().map(|score| score.to_string().into_bytes()).collect();
            let pairs = scores.iter().zip(members.keys());
            let words: Vec<&[u8]> =
                pairs.flat_map(|(score, member)| [&score[..], member]).collect();
            in_chunks(b"ZADD", key, &words, commands);
        }
        Value::Stream(entries) => {
            for entry in entries {
                let mut command: ArgBuf = [b"XADD", key, b"*"].iter().collect();
                let texts = EntryFields::of(entry).pairs();
                texts.flat_map(|(name, value)| [name, value]).for_each(|text| command.push(text));
                commands.push(command);
            }
        }
    }
}

fn words<'b>(all: impl IntoIterator<Item = &'b Bytes>) -> Vec<&'b [u8]> {
    all.into_iter().map(|word| &word[..]).collect()
}

/// A command for each so many words, an even number of them.
fn in_chunks(name: &[u8], key: &[u8], words: &[&[u8]], commands: &mut Vec<ArgBuf>) {
    for chunk in words.chunks(ELEMENTS_AT_ONCE) {
        commands.push([name, key].iter().chain(chunk).collect());
    }
}
