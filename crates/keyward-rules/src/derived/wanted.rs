//! What derived rows must hold once a command is done.
//!
//! Owns the sum of all that the changes of one command demand, element by
//! element, and the commands that make it so. Invariants: elements are lost
//! before others are gained, so that a command may hand a unique value from one
//! row to another; a row is repaired only where it differs, so what a client
//! already wrote itself is not written again; rows and elements come in the order
//! of their bytes, so that the same command has the same follow-ups everywhere.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::entries::{Entry, Holds};
use super::repair::Repair;
use crate::change::{Change, Part, What};
use crate::view::{Element, NotYet, Row, RowType, View};
use keyward_schema::KeyId;

/// What a derived row says of one element. The text of a string is an element
/// without a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Absent,
    Text(Vec<u8>),
    Member,
    Score(f64),
}

impl State {
    /// What a set or a sorted set holds of an entry.
    pub(crate) fn in_set(holds: Holds) -> Option<State> {
        match holds {
            Holds::Text | Holds::Value => None,
            Holds::Member => Some(State::Member),
            Holds::Score(score) => Some(State::Score(score)),
        }
    }

    /// What a row says of an element; a row of another type says nothing.
    pub(crate) fn of(row: Option<&dyn Row>, row_type: RowType, element: &[u8]) -> State {
        let Some(row) = row.filter(|row| row.row_type() == row_type) else { return State::Absent };
        match row_type {
            RowType::String => row.text().map_or(State::Absent, |text| State::Text(text.into())),
            RowType::Zset => row.score(element).map_or(State::Absent, State::Score),
            _ if row.contains(element) => State::Member,
            _ => State::Absent,
        }
    }
}

/// Visits each element that a change touched, once, with its state before.
pub(crate) fn each_touched(
    change: &Change<'_>,
    row_type: RowType,
    visit: &mut dyn FnMut(&[u8], State),
) {
    match change.what {
        What::Lifetime => {}
        What::Whole(before) if row_type == RowType::String => {
            visit(b"", State::of(before, row_type, b""));
        }
        What::Whole(before) => {
            let before = before.filter(|row| row.row_type() == row_type);
            if let Some(before) = before {
                before.each(&mut |element| {
                    visit(name(element), State::of(Some(before), row_type, name(element)))
                });
            }
            match (before, change.after) {
                (Some(before), after) => each_new(before, after, visit),
                (None, after) => after.into_iter().for_each(|after| {
                    after.each(&mut |element| visit(name(element), State::Absent));
                }),
            }
        }
        What::Parts([Part::Left(row)]) => {
            row.each(&mut |element| visit(name(element), State::Member));
        }
        What::Parts(parts) => {
            let mut seen: BTreeSet<Cow<'_, [u8]>> = BTreeSet::new();
            for part in parts {
                let (member, before) = match *part {
                    Part::Left(row) => {
                        row.each(&mut |element| {
                            if seen.insert(Cow::Owned(name(element).to_vec())) {
                                visit(name(element), State::Member);
                            }
                        });
                        continue;
                    }
                    Part::Member { member, came: true } => (member, State::Absent),
                    Part::Member { member, came: false } => (member, State::Member),
                    Part::Score { member, before, .. } => {
                        (member, before.map_or(State::Absent, State::Score))
                    }
                    // Neither hashes nor lists nor streams are derived.
                    Part::Field { .. } | Part::Pushed(..) | Part::Placed(_) | Part::Entry(_) => {
                        continue;
                    }
                };
                if parts.len() == 1 || seen.insert(Cow::Borrowed(member)) {
                    visit(member, before);
                }
            }
        }
    }
}

/// Visits each member of a set that it did not have before.
pub(crate) fn each_new(
    before: &dyn Row,
    after: Option<&dyn Row>,
    visit: &mut dyn FnMut(&[u8], State),
) {
    let Some(after) = after else { return };
    after.each(&mut |element| {
        if !before.contains(name(element)) {
            visit(name(element), State::Absent);
        }
    });
}

/// Whether this is true of an element of a collection; looks at few more than it has to.
pub(super) fn any_element(row: &dyn Row, is_it: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let (mut cursor, mut is_any) = (0, false);
    loop {
        cursor = row.each_some(cursor, &mut |element| is_any = is_any || is_it(name(element)));
        if is_any || cursor == 0 {
            return is_any;
        }
    }
}

fn name(element: Element<'_>) -> &[u8] {
    match element {
        Element::Field(name, _) => name,
        Element::Item(item) => item,
        Element::Member(member) | Element::Scored(member, _) => member,
        // An entry has no name, and is none of a derived key.
        Element::Entry(_) => b"",
    }
}

/// What derived rows must hold, where that changes.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    rows: BTreeMap<Vec<u8>, WantedRow>,
}

#[derive(Debug)]
struct WantedRow {
    table: KeyId,
    elements: BTreeMap<Vec<u8>, State>,
}

/// What a derived row must hold of some elements.
pub(crate) struct Portion {
    pub(crate) table: KeyId,
    pub(crate) key: Vec<u8>,
    pub(crate) elements: BTreeMap<Vec<u8>, State>,
    /// Nothing else of the row is left.
    pub(crate) is_last: bool,
}

/// What a client's own change of a computed row contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// Nothing.
    None,
    /// Source rows that the command did not change.
    OfOthers,
    /// What the command itself did to source rows, or what every row of the table is.
    OfItself,
}

/// Somebody else has the unique value.
pub(crate) struct Taken {
    /// Who.
    pub(crate) owner: Vec<u8>,
}

impl Wanted {
    /// An entry is no longer demanded. `text_before` is what a string held before
    /// the command: an entry is lost only by who has it.
    pub(crate) fn lose(&mut self, entry: Entry, text_before: Option<&[u8]>) {
        match entry.holds {
            Holds::Text if text_before == Some(&entry.member) => {
                self.set(entry.table, entry.key, Vec::new(), State::Absent);
            }
            Holds::Text => {}
            // Whatever it holds is nobody else's.
            Holds::Value => self.set(entry.table, entry.key, Vec::new(), State::Absent),
            Holds::Member | Holds::Score(_) => {
                self.set(entry.table, entry.key, entry.member, State::Absent);
            }
        }
    }

    /// An entry is demanded. All that is lost must have been told before.
    ///
    /// # Errors
    /// If it is a unique value that another row has.
    pub(crate) fn gain(&mut self, entry: Entry, text_before: Option<&[u8]>) -> Result<(), Taken> {
        let state = match entry.holds {
            Holds::Member => State::Member,
            Holds::Score(score) => State::Score(score),
            Holds::Value => {
                self.set(entry.table, entry.key, Vec::new(), State::Text(entry.member));
                return Ok(());
            }
            Holds::Text => {
                let owner = match self.get(&entry.key, b"") {
                    Some(State::Text(owner)) => Some(&owner[..]),
                    Some(_) => None,
                    None => text_before,
                };
                if let Some(owner) = owner.filter(|owner| *owner != entry.member) {
                    return Err(Taken { owner: owner.to_vec() });
                }
                self.set(entry.table, entry.key, Vec::new(), State::Text(entry.member));
                return Ok(());
            }
        };
        self.set(entry.table, entry.key, entry.member, state);
        Ok(())
    }

    /// Whether somebody demands the text of a string.
    pub(crate) fn is_demanded(&self, key: &[u8]) -> bool {
        matches!(self.get(key, b""), Some(State::Text(_)))
    }

    fn set(&mut self, table: KeyId, key: Vec<u8>, element: Vec<u8>, state: State) {
        let row = self.rows.entry(key);
        let row = row.or_insert_with(|| WantedRow { table, elements: BTreeMap::new() });
        row.elements.insert(element, state);
    }

    fn get(&self, key: &[u8], element: &[u8]) -> Option<&State> {
        self.rows.get(key)?.elements.get(element)
    }

    /// Whether a client's own change of a computed row leaves something else
    /// there than its source demands.
    pub(crate) fn contradiction(&self, change: &Change<'_>, row_type: RowType) -> Contradiction {
        if change.after.is_some_and(|row| row.row_type() != row_type || row.deadline().is_some()) {
            return Contradiction::OfItself;
        }
        if let What::Whole(before) = change.what {
            let before = before.filter(|row| row.row_type() == row_type);
            return self.contradiction_of_whole(change.key, [before, change.after], row_type);
        }
        let mut found = Contradiction::None;
        each_touched(change, row_type, &mut |element, before| {
            let now = State::of(change.after, row_type, element);
            match self.get(change.key, element) {
                Some(wanted) if *wanted != now => found = Contradiction::OfItself,
                None if before != now && found == Contradiction::None => {
                    found = Contradiction::OfOthers;
                }
                _ => {}
            }
        });
        found
    }

    /// The same of a row that came, went or was replaced: how it was and how it is. One element
    /// that nobody told to change is enough, so not all of a large row are looked at.
    fn contradiction_of_whole(
        &self,
        key: &[u8],
        rows: [Option<&dyn Row>; 2],
        row_type: RowType,
    ) -> Contradiction {
        let states = |element: &[u8]| rows.map(|row| State::of(row, row_type, element));
        let mut wanted = self.rows.get(key).into_iter().flat_map(|row| &row.elements);
        let is_wrong = |(element, wanted): (&Vec<u8>, &State)| {
            let [before, now] = states(element);
            *wanted != now && (before != State::Absent || now != State::Absent)
        };
        if wanted.any(is_wrong) {
            return Contradiction::OfItself;
        }
        let mut is_unasked = |element: &[u8]| {
            let [before, now] = states(element);
            before != now && self.get(key, element).is_none()
        };
        let is_any = match row_type {
            RowType::String => is_unasked(b""),
            _ => rows.into_iter().flatten().any(|row| any_element(row, &mut is_unasked)),
        };
        if is_any { Contradiction::OfOthers } else { Contradiction::None }
    }

    /// The key of the first row.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        self.rows.first_key_value().map(|(key, _)| &key[..])
    }

    /// Takes the first row out, or the first `most` of its elements if it has more.
    pub(crate) fn take_first(&mut self, most: usize) -> Option<Portion> {
        let mut first = self.rows.first_entry()?;
        if first.get().elements.len() <= most {
            let (key, WantedRow { table, elements }) = first.remove_entry();
            return Some(Portion { table, key, elements, is_last: true });
        }
        let (key, row) = (first.key().clone(), first.get_mut());
        let elements = std::iter::from_fn(|| row.elements.pop_first()).take(most).collect();
        Some(Portion { table: row.table, key, elements, is_last: false })
    }

    /// The repairs of all rows that differ from what they must hold.
    ///
    /// # Errors
    /// If the host has to fetch a derived row first.
    pub(crate) fn repairs(
        self,
        view: &dyn View,
        type_of: impl Fn(KeyId) -> RowType,
    ) -> Result<Vec<Repair>, NotYet> {
        let mut repairs = Vec::new();
        for (key, WantedRow { table, elements }) in self.rows {
            let row = view.row_of(table, &key)?;
            repairs.extend(Repair::of(table, key, row, type_of(table), elements));
        }
        Ok(repairs)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A set of numbers below one, which counts how many of its members were looked at.
    #[derive(Debug)]
    struct Numbers {
        below: u64,
        looked_at: Cell<u64>,
    }

    impl Row for Numbers {
        fn row_type(&self) -> RowType {
            RowType::Set
        }

        fn deadline(&self) -> Option<i64> {
            None
        }

        fn len(&self) -> usize {
            self.below as usize
        }

        fn text(&self) -> Option<Cow<'_, [u8]>> {
            None
        }

        fn field(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
            None
        }

        fn contains(&self, member: &[u8]) -> bool {
            let number = std::str::from_utf8(member).ok().and_then(|text| text.parse().ok());
            number.is_some_and(|number: u64| number < self.below)
        }

        fn score(&self, _member: &[u8]) -> Option<f64> {
            None
        }

        fn each(&self, visit: &mut dyn FnMut(Element<'_>)) {
            let mut cursor = self.each_some(0, visit);
            while cursor != 0 {
                cursor = self.each_some(cursor, visit);
            }
        }

        fn each_some(&self, cursor: u64, visit: &mut dyn FnMut(Element<'_>)) -> u64 {
            self.looked_at.set(self.looked_at.get() + 1);
            visit(Element::Member(cursor.to_string().as_bytes()));
            (cursor + 1) % self.below
        }
    }

    fn numbers(below: u64) -> Numbers {
        Numbers { below, looked_at: Cell::new(0) }
    }

    /// What a set of these sizes before and after contradicts, where so many of its members are
    /// wanted to be gone; and how many were looked at.
    fn contradiction(before: u64, after: u64, gone: u64) -> (Contradiction, u64) {
        let schema = "[keyspace]\nname = \"t\"\n[key.\"numbers\"]\ntype = \"set\"\nttl = \"1h\"\n";
        let schema =
            keyward_schema::check("t.toml", schema.as_bytes()).schema.expect("it is right");
        let table = schema.ids().next().expect("it has a key");
        let (before, after) = (numbers(before), numbers(after));
        let mut wanted = Wanted::default();
        for number in 0..gone {
            let member = number.to_string().into_bytes();
            wanted.set(table, b"numbers".to_vec(), member, State::Absent);
        }
        let change = Change {
            key: b"numbers",
            table: None,
            what: What::Whole(Some(&before)),
            after: (after.below > 0).then_some(&after as &dyn Row),
            deadline_before: Some(None),
            is_known_to_fit: false,
            is_kept: true,
        };
        let found = wanted.contradiction(&change, RowType::Set);
        (found, before.looked_at.get() + after.looked_at.get())
    }

    #[test]
    fn one_element_is_enough_to_contradict() {
        assert_eq!(contradiction(1_000_000, 0, 0), (Contradiction::OfOthers, 1));
        assert_eq!(contradiction(1_000_000, 999_999, 1), (Contradiction::OfItself, 0));
        assert_eq!(contradiction(5, 0, 3), (Contradiction::OfOthers, 4));
        assert_eq!(contradiction(5, 0, 5), (Contradiction::None, 5));
        assert_eq!(contradiction(5, 5, 0), (Contradiction::None, 10));
        assert_eq!(contradiction(1, 3, 0), (Contradiction::OfOthers, 3));
    }
}
