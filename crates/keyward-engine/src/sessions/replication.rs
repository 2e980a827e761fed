//! The stream of changes as a whole: whose history it is, how far it is, and its newest bytes.
//!
//! Owns the replication id and offset, the id that this history had before (the second id),
//! and the backlog. Bytes come from effects (`push_effects`), from this server as the one that
//! leads (`push_command`: PING, REPLCONF GETACK), or as they are from a server that it follows
//! (`push_raw`). Where they go to is others' (`replicas`).
//!
//! ```text
//! stream  …│·········│·········│      offset = bytes up to its end
//!          └ past.until: up to here it is also the stream of `past.id`
//! ```
//!
//! Invariants: who has the same id and the same offset has the same rows. So a stream that is
//! not recorded (no backlog) loses its id when it is recorded again: rows changed meanwhile.
//! The offset is that of the backlog's end while there is one.
//!
//! For a server that follows another: `adopt` after a full synchronisation, `push_raw` for each
//! whole unit that was carried out, `promote` when it leads from now on.

use crate::sessions::backlog::Backlog;
use crate::sessions::stream::{PLAIN_SELECT, Sink, push_stream};
use keyward_resp::push_request;
use keyward_store::keyspace::effects::EffectLog;
use keyward_store::values::random::Random;
use std::fmt;

/// Bytes of an id.
pub(crate) const ID_BYTES: usize = 40;

impl Sink for Backlog {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        Backlog::push(self, bytes);
    }
}

/// What tells one history from all others: forty hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicationId([u8; ID_BYTES]);

impl ReplicationId {
    fn random(random: &mut Random) -> ReplicationId {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        ReplicationId(std::array::from_fn(|_| DIGITS[(random.next_u64() >> 60) as usize]))
    }

    /// The id that a text says.
    pub(crate) fn parse(text: &[u8]) -> Option<ReplicationId> {
        let digits: [u8; ID_BYTES] = text.try_into().ok()?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(ReplicationId(digits))
    }

    /// Whether a text says this id, in whichever case.
    fn is(&self, text: &[u8]) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }
}

impl fmt::Display for ReplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

/// The id that a history had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) id: ReplicationId,
    /// It is the same history up to here.
    pub(crate) until: u64,
}

/// A place in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: ReplicationId,
    pub(crate) offset: u64,
}

/// Why somebody who followed before cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CannotContinue {
    /// It asked for everything.
    Asked,
    /// It followed another history.
    OtherHistory,
    /// It has more of the past history than this one.
    BeyondPast,
    /// The bytes it lacks are not kept, or there are none such.
    NotKept,
    /// It does not know the schemas that the history is under.
    LacksSchemas,
}

/// The stream of changes.
#[derive(Debug)]
pub(crate) struct Replication {
    random: Random,
    id: ReplicationId,
    past: Option<Past>,
    offset: u64,
    backlog: Option<Backlog>,
    /// The database that the stream has selected; `None` if somebody may not know.
    selected: Option<usize>,
    /// The version of the schemas that the stream has told.
    pub(crate) told_version: u64,
}

impl Replication {
    /// A history of its own, of which nothing is recorded.
    pub(crate) fn new(seed: u64) -> Replication {
        let mut random = Random::from_seed(seed.rotate_left(17));
        Replication {
            id: ReplicationId::random(&mut random),
            random,
            past: None,
            offset: 0,
            backlog: None,
            selected: None,
            told_version: 0,
        }
    }

    pub(crate) fn id(&self) -> ReplicationId {
        self.id
    }

    pub(crate) fn past(&self) -> Option<Past> {
        self.past
    }

    /// Bytes of the stream so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        self.backlog.as_ref()
    }

    /// Where the history is.
    pub(crate) fn place(&self) -> Place {
        Place { id: self.id, offset: self.offset }
    }

    /// The database that the stream has selected.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.selected
    }

    /// Whether changes are recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.backlog.is_some()
    }

    /// Records changes from now on, as a history of its own; whether it did not before.
    pub(crate) fn begin(&mut self) -> bool {
        if self.is_on() {
            return false;
        }
        self.forget_history();
        self.backlog = Some(Backlog::new(self.offset));
        self.selected = None;
        true
    }

    /// Records no longer; gives what was recorded. What follows is another history.
    pub(crate) fn end(&mut self) -> Option<Backlog> {
        self.forget_history();
        self.backlog.take()
    }

    /// This is a history of its own, which nobody else has.
    pub(crate) fn forget_history(&mut self) {
        self.id = ReplicationId::random(&mut self.random);
        self.past = None;
    }

    /// Goes on with a history of which all rows are loaded, under a new id.
    pub(crate) fn resume(&mut self, from: Place) {
        self.adopt(from);
        self.promote();
    }

    /// Follows a history from this place on, in place of the own one.
    pub(crate) fn adopt(&mut self, from: Place) {
        (self.id, self.offset, self.past) = (from.id, from.offset, None);
        self.backlog = Some(Backlog::new(from.offset));
        self.selected = None;
    }

    /// What comes from now on is a history of its own; up to here it is that of the id so far.
    pub(crate) fn promote(&mut self) {
        self.past = Some(Past { id: self.id, until: self.offset });
        self.id = ReplicationId::random(&mut self.random);
        self.selected = None;
    }

    /// The server that is followed goes on with the history by this id; whether it is another.
    pub(crate) fn follow_under(&mut self, id: ReplicationId) -> bool {
        let is_other = self.id != id;
        if is_other {
            self.past = Some(Past { id: self.id, until: self.offset });
            self.id = id;
        }
        is_other
    }

    /// The next change selects its database, for those who come now.
    pub(crate) fn select_anew(&mut self) {
        self.selected = None;
    }

    /// Adds bytes of the stream as they are.
    pub(crate) fn push_raw(&mut self, bytes: &[u8]) {
        if let Some(backlog) = &mut self.backlog {
            backlog.push(bytes);
            self.offset = backlog.end();
        }
    }

    /// Adds effects: their bytes go to the backlog as they were recorded.
    #[inline]
    pub(crate) fn push_effects(&mut self, effects: &EffectLog) {
        if let Some(backlog) = &mut self.backlog {
            push_stream(effects, (&mut self.selected, PLAIN_SELECT), |_| true, backlog);
            self.offset = backlog.end();
        }
    }

    /// Adds a command that concerns no database.
    pub(crate) fn push_command(&mut self, words: &[&[u8]]) {
        let mut bytes = Vec::new();
        push_request(&mut bytes, words.iter());
        self.push_raw(&bytes);
    }

    /// Frees what need not be kept.
    pub(crate) fn trim(&mut self, bytes_max: u64, needed_from: u64) {
        if let Some(backlog) = &mut self.backlog {
            backlog.trim(bytes_max, needed_from);
        }
    }

    /// Bytes from this place on, as they lie together.
    pub(crate) fn at(&self, offset: u64) -> &[u8] {
        self.backlog.as_ref().map_or(&[], |backlog| backlog.at(offset))
    }

    /// Whether somebody who has followed the history of this id can go on; `next` is the number
    /// of the byte that it lacks, the first byte being number one.
    pub(crate) fn check_continue(&self, id: &[u8], next: i64) -> Result<u64, CannotContinue> {
        let has = u64::try_from(next).ok().and_then(|next| next.checked_sub(1));
        let is_past = self.past.is_some_and(|past| past.id.is(id));
        if !self.id.is(id) && !is_past {
            return Err(match id.first() {
                Some(b'?') => CannotContinue::Asked,
                _ => CannotContinue::OtherHistory,
            });
        }
        let until = if self.id.is(id) { None } else { self.past.map(|past| past.until) };
        if has.zip(until).is_some_and(|(has, until)| has > until) {
            return Err(CannotContinue::BeyondPast);
        }
        let is_kept = |has: &u64| {
            self.backlog.as_ref().is_some_and(|kept| (kept.start()..=kept.end()).contains(has))
        };
        has.filter(is_kept).ok_or(CannotContinue::NotKept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        stream: &Replication,
        id: ReplicationId,
        next: i64,
        expected: Result<u64, CannotContinue>,
    ) {
        let id = id.to_string();
        assert_eq!(stream.check_continue(id.as_bytes(), next), expected, "{next}");
        let upper = id.to_ascii_uppercase();
        assert_eq!(stream.check_continue(upper.as_bytes(), next), expected, "{next}");
    }

    #[test]
    fn who_lacks_what_is_kept_goes_on() {
        let mut stream = Replication::new(7);
        assert!(stream.begin() && !stream.begin());
        stream.push_raw(&[0; 100]);
        let id = stream.id();
        check(&stream, id, 1, Ok(0));
        check(&stream, id, 101, Ok(100));
        check(&stream, id, 102, Err(CannotContinue::NotKept));
        check(&stream, id, 0, Err(CannotContinue::NotKept));
        check(&stream, id, -1, Err(CannotContinue::NotKept));
        assert_eq!(stream.check_continue(b"?", -1), Err(CannotContinue::Asked));
        assert_eq!(stream.check_continue(b"x", 1), Err(CannotContinue::OtherHistory));
        stream.end();
        check(&stream, id, 101, Err(CannotContinue::OtherHistory));
    }

    #[test]
    fn the_id_before_holds_up_to_where_it_ended() {
        let mut stream = Replication::new(7);
        let before = ReplicationId::random(&mut Random::from_seed(1));
        stream.resume(Place { id: before, offset: 50 });
        stream.push_raw(&[0; 100]);
        assert_ne!(stream.id(), before);
        check(&stream, before, 51, Ok(50));
        check(&stream, before, 50, Err(CannotContinue::NotKept));
        check(&stream, before, 52, Err(CannotContinue::BeyondPast));
        check(&stream, stream.id(), 52, Ok(51));
    }
}
