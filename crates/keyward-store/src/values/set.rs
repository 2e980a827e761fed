//! Sets: members without order, each once.
//!
//! Owns the representation and the switches between its forms: numbers in order
//! while there are only numbers (`intset`), members one behind the other while
//! there are few short ones (`packed`), an index otherwise (`indexed`). Redis 7.0
//! knows the first (`set-max-intset-entries` draws the line) and a hash table; to
//! clients the other two are that hash table. Every switch is one-way.
//!
//! A small set is one run of bytes, told apart by its first byte: the width of
//! numbers, or `PACKED`. Estimate: ten members of 10 bytes take 119 bytes in one
//! allocation (Redis: a hash table of 600 and more).
//!
//! Invariants: members are unique. An empty set never stays in a row
//! (`keyspace::edit` removes it).
//! Not here: the commands (`commands::set` of the engine).

pub mod indexed;
pub mod intset;
pub mod iter;
#[cfg(test)]
mod tests;

pub use iter::Iter;

use crate::values::hasher::KeyHasher;
use crate::values::packed::{self, Code, Item};
use crate::values::packed_limits::PackedLimits;
use crate::values::random::Random;
use crate::values::thin::{Form, FormMut, ThinBytes, ThinOr, thin_head};
use indexed::Indexed;

/// The first byte of a small set that is not all numbers.
const PACKED: u8 = 0;
/// Where the members of such a set begin.
const MEMBERS_AT: usize = 1;
/// The most members such a set has: a walk over them costs what hashing would.
const PACKED_MEMBERS_MAX: usize = 64;
/// The longest member such a set has.
const PACKED_MEMBER_BYTES_MAX: usize = 64;

/// When a set of numbers becomes a plain one, and what that then needs.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// The most members a set of numbers has.
    pub intset_members_max: usize,
    /// The hash function of members.
    pub hasher: KeyHasher,
}

impl Growth {
    /// As the settings have it.
    pub fn of(limits: &PackedLimits, hasher: KeyHasher) -> Growth {
        Growth { intset_members_max: limits.intset_members_max, hasher }
    }
}

/// A set value.
#[derive(Clone, Default)]
pub struct Set {
    word: ThinOr<Indexed>,
}

/// What a small set is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Small {
    /// Nothing yet.
    Empty,
    /// Numbers in order.
    Numbers,
    /// Members one behind the other.
    Packed,
}

impl Small {
    #[inline]
    fn of(run: &ThinBytes) -> Small {
        match run.bytes().first() {
            None => Small::Empty,
            Some(first) if intset::is_width(*first) => Small::Numbers,
            Some(_) => Small::Packed,
        }
    }
}

thin_head!(Set);

impl Set {
    /// The name `OBJECT ENCODING` returns.
    pub fn encoding(&self) -> &'static str {
        if self.is_intset() { "intset" } else { "hashtable" }
    }

    /// Whether it is of numbers in order.
    pub(crate) fn is_intset(&self) -> bool {
        matches!(self.word.form(), Form::Small(run) if Small::of(run) != Small::Packed)
    }

    /// Whether a member is there.
    pub fn contains(&self, member: Item<'_>) -> bool {
        let run = match self.word.form() {
            Form::Large(indexed) => return indexed.contains(member),
            Form::Small(run) => run,
        };
        match (Small::of(run), member) {
            (Small::Empty, _) | (Small::Numbers, Item::Bytes(_)) => false,
            (Small::Numbers, Item::Int(number)) => intset::search(run, number).is_ok(),
            (Small::Packed, member) => find(run, &Code::of(member)).is_some(),
        }
    }

    /// The members; numbers in order where there are only numbers.
    pub fn iter(&self) -> Iter<'_> {
        match self.word.form() {
            Form::Small(run) => match Small::of(run) {
                Small::Numbers => Iter::numbers(run),
                Small::Packed => Iter::packed(&run.bytes()[MEMBERS_AT..], run.count()),
                Small::Empty => Iter::packed(&[], 0),
            },
            Form::Large(indexed) => Iter::indexed(Box::new(indexed.iter()), indexed.len()),
        }
    }

    /// Adds a member; returns whether it is new.
    pub fn add(&mut self, growth: &Growth, member: Item<'_>) -> bool {
        let run = match self.word.form_mut() {
            FormMut::Large(indexed) => return indexed.add(member),
            FormMut::Small(run) => run,
        };
        match (Small::of(run), member) {
            (Small::Empty, Item::Int(number)) => *run = intset::of(number),
            (Small::Numbers, Item::Int(number)) => {
                if !intset::insert(run, number) {
                    return false;
                }
            }
            (Small::Empty | Small::Numbers, Item::Bytes(_)) => {
                self.leave_numbers(growth.hasher);
                return self.add(growth, member);
            }
            (Small::Packed, member) => {
                let code = Code::of(member);
                if find(run, &code).is_some() {
                    return false;
                }
                if run.count() < PACKED_MEMBERS_MAX
                    && member.text_bytes() <= PACKED_MEMBER_BYTES_MAX
                {
                    push(run, &code);
                } else {
                    self.grow(growth.hasher).add(member);
                }
                return true;
            }
        }
        if self.len() > growth.intset_members_max.min(intset::MEMBERS_MAX) {
            self.leave_numbers(growth.hasher);
        }
        true
    }

    /// Takes a member out; returns whether it was there.
    pub fn remove(&mut self, member: Item<'_>) -> bool {
        let run = match self.word.form_mut() {
            FormMut::Large(indexed) => return indexed.remove(member),
            FormMut::Small(run) => run,
        };
        match (Small::of(run), member) {
            (Small::Empty, _) | (Small::Numbers, Item::Bytes(_)) => false,
            (Small::Numbers, Item::Int(number)) => intset::remove(run, number),
            (Small::Packed, member) => {
                let code = Code::of(member);
                let Some(at) = find(run, &code) else { return false };
                let count = run.count();
                run.set_count(count - 1);
                run.remove(at..at + code.len());
                true
            }
        }
    }

    /// An empty set that so many members of this one can be moved to, if it is large.
    pub(crate) fn none_of_it(&self, most: usize) -> Option<Set> {
        match self.word.form() {
            Form::Small(_) => None,
            Form::Large(indexed) => Some(Set { word: ThinOr::large(indexed.none_of_it(most)) }),
        }
    }

    /// Gives back room for members that were not moved here.
    pub(crate) fn trim(&mut self) {
        if let FormMut::Large(indexed) = self.word.form_mut() {
            indexed.trim();
        }
    }

    /// Moves a member to another set, both being large; returns whether it was there.
    pub(crate) fn move_to(&mut self, other: &mut Set, member: Item<'_>) -> bool {
        match (self.word.form_mut(), other.word.form_mut()) {
            (FormMut::Large(indexed), FormMut::Large(other)) => indexed.move_to(other, member),
            _ => unreachable!("members are moved between large sets"),
        }
    }

    /// Takes back what was moved to another set, both being large.
    pub(crate) fn take_back(&mut self, mut other: Set) {
        if self.len() < other.len() {
            std::mem::swap(self, &mut other);
        }
        match (self.word.form_mut(), other.word.form_mut()) {
            (FormMut::Large(indexed), FormMut::Large(other)) => indexed.take_all_of(other),
            _ => unreachable!("members are moved between large sets"),
        }
    }

    /// A member drawn by chance. The set must not be empty.
    pub fn sample(&self, random: &mut Random) -> Item<'_> {
        let run = match self.word.form() {
            Form::Large(indexed) => return indexed.sample(random),
            Form::Small(run) => run,
        };
        let index = random.below(run.count() as u64) as usize;
        if Small::of(run) == Small::Numbers {
            return Item::Int(intset::at(run, index));
        }
        let members = &run.bytes()[MEMBERS_AT..];
        packed::first(&members[packed::skip(members, 0, index)..])
    }

    /// Visits some members; returns the cursor for the next ones, zero at the end.
    /// What is there throughout a scan is visited at least once.
    pub fn scan<'a>(&'a self, cursor: u64, visit: impl FnMut(Item<'a>)) -> u64 {
        match self.word.form() {
            Form::Small(_) => {
                self.iter().for_each(visit);
                0
            }
            Form::Large(indexed) => indexed.scan(cursor, visit),
        }
    }

    /// Visits some members from the end on; returns the cursor for the next ones, zero at the
    /// end. Who removes what was visited removes everything in even steps; what is added
    /// meanwhile may be missed.
    pub fn scan_down<'a>(&'a self, cursor: u64, visit: impl FnMut(Item<'a>)) -> u64 {
        match self.word.form() {
            Form::Small(_) => {
                self.iter().for_each(visit);
                0
            }
            Form::Large(indexed) => indexed.scan_down(cursor, visit),
        }
    }

    /// Gives the form of numbers up.
    fn leave_numbers(&mut self, hasher: KeyHasher) {
        if self.len() > PACKED_MEMBERS_MAX {
            self.grow(hasher);
            return;
        }
        let mut run = ThinBytes::default();
        run.insert(0, MEMBERS_AT)[0] = PACKED;
        self.iter().for_each(|member| push(&mut run, &Code::of(member)));
        self.word = ThinOr::small(run);
    }

    /// Moves the members of a small set into an index.
    fn grow(&mut self, hasher: KeyHasher) -> &mut Indexed {
        let mut indexed = Indexed::new(hasher);
        for member in self.iter() {
            indexed.add(member);
        }
        self.word = ThinOr::large(indexed);
        match self.word.form_mut() {
            FormMut::Large(indexed) => indexed,
            FormMut::Small(_) => unreachable!("a large set was just made"),
        }
    }
}

/// Where a member of a packed run is.
fn find(run: &ThinBytes, code: &Code<'_>) -> Option<usize> {
    let at = packed::find::<1>(&run.bytes()[MEMBERS_AT..], code)?;
    Some(MEMBERS_AT + at)
}

/// Adds a member that is not there yet to a packed run.
fn push(run: &mut ThinBytes, code: &Code<'_>) {
    code.write_to(run.insert(run.len(), code.len()));
    run.set_count(run.count() + 1);
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let members = self.iter();
        f.debug_set()
            .entries(members.map(|member| member.text().as_bytes().escape_ascii().to_string()))
            .finish()
    }
}
