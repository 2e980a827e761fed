//! Histories of a changefeed, and which of them is stored up to where.
//!
//! Owns the decision what comes next: whether to read on, and where, or to go over to another
//! history. A server begins a history at every start and promotion, and whenever other rows go to
//! tables; each is a group of the stream, which says behind which entry it began. Ids of entries
//! are times, and say nothing of whose they are: another server, or one whose clock was set back
//! after it lost its last second, may give the same once more. So a place is an entry *of a
//! history*.
//!
//! Invariants: no entry of a history that is known is passed over or read twice; what is stored
//! and the server has lost is told, and never taken for something new.

use keyward_resp::Frame;

use crate::entry::EntryId;

/// A history of a changefeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Its number, in the order of their beginnings.
    pub number: u64,
    /// Its name, which no other has.
    pub name: String,
    /// The last entry before it.
    pub began_after: EntryId,
    /// How many entries were before it.
    pub before: u64,
    /// Which rows go where by the schema.
    pub declared: u64,
}

impl History {
    /// Reads the reply to XINFO GROUPS, in the order of their beginnings.
    pub fn parse_all(reply: &Frame) -> Option<Vec<History>> {
        let mut all: Vec<History> =
            reply.as_elements()?.iter().map(History::parse).collect::<Option<_>>()?;
        all.sort_by_key(|history| (history.number, history.began_after));
        Some(all)
    }

    fn parse(group: &Frame) -> Option<History> {
        let pairs = group.as_elements()?;
        let value = |name: &[u8]| {
            let mut pairs = pairs.chunks_exact(2);
            pairs.find(|pair| pair[0].as_bytes() == Some(name)).and_then(|pair| pair[1].as_bytes())
        };
        let name = std::str::from_utf8(value(b"name")?).ok()?;
        let mut parts = name.split('-');
        let (number, _) = (parts.next()?.parse().ok()?, parts.next()?);
        let declared = u64::from_str_radix(parts.next()?, 16).ok()?;
        let began_after = EntryId::parse(value(b"last-delivered-id")?)?;
        let mut read = pairs.chunks_exact(2);
        let read = read.find(|pair| pair[0].as_bytes() == Some(b"entries-read"));
        let before = match read.map(|pair| &pair[1]) {
            Some(Frame::Integer(before)) => u64::try_from(*before).unwrap_or(0),
            _ => 0,
        };
        Some(History { number, name: name.to_owned(), began_after, before, declared })
    }

    /// What is carried out of what is declared.
    fn marks(name: &str) -> Option<&str> {
        name.match_indices('-').nth(1).map(|(at, _)| &name[at..])
    }
}

/// The number of an entry that nobody has counted: an earlier version stored it.
pub const UNCOUNTED: u64 = u64::MAX;

/// Up to where changes are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The history; empty before anything is stored.
    pub history: String,
    /// The last entry of it that is stored.
    pub entry: EntryId,
    /// Which of all entries that the server ever told that is: what it has taken away besides
    /// is missing here. It may be [`UNCOUNTED`].
    pub number: u64,
    /// The highest that was stored of any: ids up to it may be given once more.
    pub highest: EntryId,
    /// Whether mirrored rows are to be compared, since not all changes were told.
    pub compares: bool,
    /// Up to where mirrored rows that are stored may say what the server told: they are stored as
    /// they were when they were looked at, which may be ahead of the place.
    pub looked: Look,
}

/// Up to where rows were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The last history of the server then; empty where that is not known.
    pub history: String,
    /// Its last entry.
    pub entry: EntryId,
}

impl Look {
    /// Whether the server has lost something of what was seen.
    fn is_lost(&self, chain: &[History]) -> bool {
        if self.history.is_empty() {
            return false;
        }
        match chain.iter().position(|own| own.name == self.history) {
            Some(at) => chain.get(at + 1).is_some_and(|next| self.entry > next.began_after),
            None => true,
        }
    }
}

/// What was stored of a former history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    /// The history.
    pub history: String,
    /// The last entry of it that is stored.
    pub entry: EntryId,
    /// Which of all entries that is.
    pub number: u64,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Course {
    /// The server has told nothing yet.
    Wait,
    /// There are histories that are stored, and the server has none.
    Nothing,
    /// Entries behind the place, of this history of the chain, up to where it ends.
    Read(usize, Option<EntryId>),
    /// Another history.
    Switch(Switch),
    /// Mirrored rows are to be compared: some were stored ahead of the place, with changes that the
    /// server has lost.
    Compare,
}

/// Going over to another history.
#[derive(Debug, PartialEq, Eq)]
pub struct Switch {
    /// The place there.
    pub to: Place,
    /// What is stored and the server no longer has: behind which entry, and up to which.
    pub lost: Option<(EntryId, EntryId)>,
    /// Whether no history is known that both sides had.
    pub is_foreign: bool,
    /// Whether the same goes to tables as in a history before the last one, which was otherwise: a
    /// sink was away, or observed, and what was pushed to its lists meanwhile was not told.
    pub returns: bool,
}

/// What comes next, given the histories of the server and what was stored of former ones.
pub fn course(place: &Place, chain: &[History], former: &[Former]) -> Course {
    let end = |at: usize| chain.get(at + 1).map(|next| next.began_after);
    let switch = |at: usize, (entry, number): (EntryId, u64), lost, compares, is_foreign| {
        let history = chain[at].name.clone();
        let compares = place.compares || compares;
        let (highest, looked) = (place.highest, place.looked.clone());
        let to = Place { history, entry, number, highest, compares, looked };
        let marks = |at: usize| History::marks(&chain[at].name);
        let was_before = || {
            let of_chain = (0..at.saturating_sub(1)).any(|before| marks(before) == marks(at));
            let of_former = |former: &Former| History::marks(&former.history) == marks(at);
            of_chain || former.iter().any(of_former)
        };
        let returns = at > 0 && marks(at - 1) != marks(at) && was_before();
        Course::Switch(Switch { to, lost, is_foreign, returns })
    };
    if chain.is_empty() {
        return if place.history.is_empty() { Course::Wait } else { Course::Nothing };
    }
    if place.history.is_empty() {
        return switch(0, (EntryId::default(), 0), None, true, false);
    }
    if let Some(at) = chain.iter().position(|own| own.name == place.history) {
        if !place.compares && place.looked.is_lost(chain) {
            return Course::Compare;
        }
        return match end(at) {
            Some(end) if place.entry > end => {
                let start = (end, chain[at + 1].before);
                switch(at + 1, start, Some((end, place.entry)), true, false)
            }
            Some(end) if place.entry == end => {
                let marks = |at: usize| History::marks(&chain[at].name);
                let start = (end, place.number);
                switch(at + 1, start, None, marks(at) != marks(at + 1), false)
            }
            end => Course::Read(at, end),
        };
    }
    // The history of the place is lost as a whole: what both sides had before counts.
    let known = chain.iter().enumerate().rev().find_map(|(at, own)| {
        let stored = former.iter().find(|former| former.history == own.name)?;
        Some((at, (stored.entry, stored.number)))
    });
    match known {
        Some((at, stored)) => match end(at) {
            Some(end) if stored.0 > end => {
                let start = (end, chain[at + 1].before);
                switch(at + 1, start, Some((end, place.entry)), true, false)
            }
            _ => switch(at, stored, Some((stored.0, place.entry)), true, false),
        },
        None => {
            let lost = Some((EntryId::default(), place.entry));
            switch(0, (EntryId::default(), 0), lost, true, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64) -> EntryId {
        EntryId { ms, seq: 0 }
    }

    fn history(number: u64, name: &str, began_after: u64) -> History {
        let name = format!("{number}-{name}-0a-0a");
        History { number, name, began_after: id(began_after), before: began_after, declared: 10 }
    }

    fn place(history: &History, entry: u64) -> Place {
        Place {
            history: history.name.clone(),
            entry: id(entry),
            number: entry,
            highest: id(entry),
            compares: false,
            looked: Look::default(),
        }
    }

    fn former(history: &History, entry: u64) -> Former {
        Former { history: history.name.clone(), entry: id(entry), number: entry }
    }

    /// Where it goes: the history's number, the entry, what is lost, and whether rows are compared.
    #[track_caller]
    fn check(
        from: &Place,
        chain: &[History],
        former: &[Former],
        expected: (u64, u64, Option<(u64, u64)>, bool),
    ) {
        let Course::Switch(Switch { to, lost, .. }) = course(from, chain, former) else {
            panic!("{:?}", course(from, chain, former))
        };
        let number = chain.iter().find(|own| own.name == to.history).map(|own| own.number);
        let lost = lost.map(|(after, up_to)| (after.ms, up_to.ms));
        // Of these each millisecond has one.
        assert_eq!(to.number, to.entry.ms);
        assert_eq!(
            (number, to.entry.ms, lost, to.compares),
            (Some(expected.0), expected.1, expected.2, expected.3)
        );
    }

    #[test]
    fn groups_of_the_stream_are_histories_in_their_order() {
        let group = |name: &str, id: &str| {
            let words = ["name", name, "consumers", "0", "last-delivered-id", id];
            Frame::Array(words.iter().map(|word| Frame::Bulk(word.as_bytes().to_vec())).collect())
        };
        let reply = Frame::Array(vec![
            group("10-ab-0f-0e", "7-1"),
            group("9-cd-00000000000000ff-0e", "0-0"),
        ]);
        let all = History::parse_all(&reply).expect("histories");
        let told: Vec<_> =
            all.iter().map(|own| (own.number, own.began_after, own.declared)).collect();
        assert_eq!(told, [(9, EntryId::default(), 255), (10, EntryId { ms: 7, seq: 1 }, 15)]);
        for broken in ["mine", "1-a", "x-a-0f-0f"] {
            assert_eq!(History::parse_all(&Frame::Array(vec![group(broken, "0-0")])), None);
        }
    }

    #[test]
    fn a_history_is_read_to_its_end_and_the_next_from_there() {
        let chain = [history(1, "a", 0), history(2, "b", 8)];
        assert_eq!(course(&place(&chain[0], 5), &chain, &[]), Course::Read(0, Some(id(8))));
        check(&place(&chain[0], 8), &chain, &[], (2, 8, None, false));
        assert_eq!(course(&place(&chain[1], 8), &chain, &[]), Course::Read(1, None));
        check(&Place::default(), &chain, &[], (1, 0, None, true));
        assert_eq!(course(&Place::default(), &[], &[]), Course::Wait);
        assert_eq!(course(&place(&chain[0], 5), &[], &[]), Course::Nothing);
    }

    #[test]
    fn what_the_server_lost_is_told_and_nothing_of_the_next_is_passed_over() {
        // The clock was set back: what came after 8 has ids that are stored.
        let chain = [history(1, "a", 0), history(2, "b", 8)];
        check(&place(&chain[0], 12), &chain, &[], (2, 8, Some((8, 12)), true));
    }

    #[test]
    fn rows_that_were_stored_ahead_are_compared_where_their_changes_are_lost() {
        let lost = history(2, "lost", 8);
        let chain = [history(1, "a", 0), history(2, "b", 8)];
        let compares = |entry: u64, history: &History, looked_to: u64| {
            let looked = Look { history: history.name.clone(), entry: id(looked_to) };
            let place = Place { looked, ..place(&chain[0], entry) };
            course(&place, &chain, &[]) == Course::Compare
        };
        for entry in [5, 8] {
            assert!(!compares(entry, &chain[0], 8));
            assert!(compares(entry, &chain[0], 9), "the server has nothing of it");
            assert!(compares(entry, &lost, 8));
            assert!(!compares(entry, &chain[1], 20), "a later history of the same server");
        }
    }

    #[test]
    fn other_rows_that_go_to_tables_are_compared() {
        let mut chain = [history(1, "a", 0), history(2, "b", 8)];
        chain[1].name = "2-b-0b-0b".to_owned();
        check(&place(&chain[0], 8), &chain, &[], (2, 8, None, true));
    }

    #[test]
    fn a_sink_that_is_back_is_told_apart_from_a_new_one() {
        let mut chain = [history(1, "a", 0), history(2, "b", 8), history(3, "c", 9)];
        chain[1].name = "2-b-0b-0b".to_owned();
        let returns = |from: &Place, chain: &[History], former: &[Former]| {
            matches!(course(from, chain, former), Course::Switch(Switch { returns: true, .. }))
        };
        assert!(!returns(&place(&chain[0], 8), &chain, &[]), "other sinks than ever");
        assert!(returns(&place(&chain[1], 9), &chain, &[]));
        // The server has forgotten the first one.
        assert!(!returns(&place(&chain[1], 9), &chain[1..], &[]));
        assert!(returns(&place(&chain[1], 9), &chain[1..], &[former(&chain[0], 8)]));
        // A start changes nothing.
        let chain = [history(1, "a", 0), history(2, "b", 8), history(3, "c", 9)];
        assert!(!returns(&place(&chain[1], 9), &chain, &[]));
    }

    #[test]
    fn a_history_that_was_lost_as_a_whole_leads_back_to_one_that_both_had() {
        let lost = history(2, "lost", 8);
        let chain = [history(1, "a", 0), history(2, "b", 10)];
        // Of the first one 9 was stored, so 10 is to be read; and 7, so all behind it.
        for stored in [9, 7] {
            let former = [former(&chain[0], stored)];
            check(&place(&lost, 12), &chain, &former, (1, stored, Some((stored, 12)), true));
        }
        let former = [former(&chain[0], 11)];
        check(&place(&lost, 12), &chain, &former, (2, 10, Some((10, 12)), true));
    }

    #[test]
    fn another_server_is_told_apart_whatever_its_ids() {
        let mine = history(1, "mine", 0);
        let other = [history(1, "other", 0)];
        let Course::Switch(switch) = course(&place(&mine, 9), &other, &[]) else { panic!() };
        assert!(switch.is_foreign && switch.to.compares);
        assert_eq!((switch.to.entry, switch.to.highest), (id(0), id(9)));
    }
}
