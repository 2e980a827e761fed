//! What of a command goes to tables of PostgreSQL.
//!
//! Owns the entries of the changefeed (a transactional outbox): what a command did to rows that
//! have a sink, as entries of a stream that are added in the same unit. An entry begins with a
//! pair that says what happened to which key:
//!
//! ```text
//! mirror  KEY                          the row changed, came or went: look at it
//! archive KEY  FIELD VALUE …           the row ended, and was this; a string is one pair
//! append  KEY  item ITEM …             these items were pushed, in this order
//! append  KEY  FIELD VALUE …           this entry was added to the stream
//! drain   KEY  item ITEM …             these items were pushed, and the list no longer has them
//! ```
//!
//! Its id tells when. Nobody but Keyward adds entries, or takes the stream away; whoever has
//! stored them trims it.
//! Invariants: what ended a row, but for an edit that left nothing of it to see, is an entry
//! with all that it held; rows that observe have none.

use super::{Aftermath, Cause, Fate, Objection};
use crate::change::{Change, Part, What};
use crate::reason::Reason;
use crate::view::{Element, Row};
use keyward_resp::ArgBuf;
use keyward_schema::{DataType, KeyId, SinkKind};

/// About the most that an archived hash may hold: an entry, which is to tell of all of it, takes a
/// gigabyte, with the names of its fields twice.
const IMAGE_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The fields of an entry, names and values in turn.
type Pairs = Vec<Vec<u8>>;

impl Aftermath<'_> {
    /// Adds the entries of all changes, and guards the changefeed itself.
    pub(super) fn follow_sinks(&mut self) -> Result<(), Objection> {
        if !self.book.has_sinks() || self.book.is_hypothetical() {
            return Ok(());
        }
        for (place, change) in self.changes.iter().enumerate() {
            let Some(table) = change.table else { continue };
            let declared = self.book.schema().key(table);
            if declared.is_changefeed {
                self.guard_changefeed(table, change)?;
                continue;
            }
            let Some(sink) = &declared.sink else { continue };
            let ends = self.fates[place] == Some(Fate::Gone);
            match sink.kind {
                SinkKind::Mirror => {
                    if ends || !matches!(change.what, What::Lifetime) {
                        self.add_entry(table, change.key, sink.kind, &[]);
                    }
                }
                SinkKind::Archive => {
                    self.check_image(table, change)?;
                    if let Some(image) = image_at_end(change, ends) {
                        self.add_entry(table, change.key, sink.kind, &image);
                    }
                }
                SinkKind::Append => {
                    for pairs in pushed(change, declared.data) {
                        self.add_entry(table, change.key, sink.kind, &pairs);
                    }
                }
                SinkKind::Drain => self.drain(table, change),
            }
        }
        Ok(())
    }

    /// What is pushed to a drained list leaves it, with whatever was there before.
    fn drain(&mut self, table: KeyId, change: &Change<'_>) {
        let Some(row) = change.after else { return };
        let newly: Vec<Pairs> = pushed(change, DataType::List);
        let count: usize = newly.iter().map(|pairs| pairs.len() / 2).sum();
        // Items from before the list was drained come first, in the order of the list.
        let all = if count == row.len() { newly } else { vec![items_of(row)] };
        for pairs in all.iter().filter(|pairs| !pairs.is_empty()) {
            self.add_entry(table, change.key, SinkKind::Drain, pairs);
        }
        self.follow_up([b"DEL", change.key]);
    }

    /// Refuses to let an archived row grow beyond what an entry holds: its end could not be told.
    fn check_image(&self, table: KeyId, change: &Change<'_>) -> Result<(), Objection> {
        let grows = match change.what {
            What::Whole(_) => true,
            What::Parts(parts) => {
                parts.iter().any(|part| matches!(part, Part::Field { after: Some(_), .. }))
            }
            What::Lifetime => false,
        };
        let is_too_large = |row: &dyn Row| row.heap_bytes() > IMAGE_BYTES_MAX;
        if !grows || self.cause != Cause::Command || !change.after.is_some_and(is_too_large) {
            return Ok(());
        }
        let problem =
            "would take more than 512 MB, and what it was could not be archived at its end";
        Err(Objection::Refused(Box::new(self.book.refuse(
            table,
            change.key,
            Reason::Size,
            problem,
        ))))
    }

    /// Has an entry added to the changefeed of the table's keyspace.
    fn add_entry(&mut self, table: KeyId, key: &[u8], kind: SinkKind, pairs: &[Vec<u8>]) {
        let feed = self.book.changefeed_of(table);
        let head = [b"XADD".as_slice(), feed, b"*", kind.name().as_bytes(), key];
        let command = head.into_iter().chain(pairs.iter().map(Vec::as_slice));
        let command: ArgBuf = command.collect();
        self.consequences.follow_ups.push(command);
    }

    /// A command may take entries away that are stored, and nothing else.
    fn guard_changefeed(&mut self, table: KeyId, change: &Change<'_>) -> Result<(), Objection> {
        let adds = |parts: &[Part<'_>]| parts.iter().any(|part| matches!(part, Part::Entry(_)));
        let is_trimmed = match change.what {
            What::Parts(parts) => change.after.is_some() && !adds(parts),
            What::Whole(_) | What::Lifetime => false,
        };
        if is_trimmed || self.cause != Cause::Command {
            return Ok(());
        }
        let problem = "is written by Keyward alone; what is stored is trimmed by XTRIM MINID";
        Err(Objection::Refused(Box::new(self.book.refuse(
            table,
            change.key,
            Reason::Sink,
            problem,
        ))))
    }
}

/// What an archived row was, if it ended. A string that is set anew is the same row; what is
/// another hash, or none, is an end.
fn image_at_end(change: &Change<'_>, ends: bool) -> Option<Pairs> {
    match (change.what, change.after) {
        (What::Whole(Some(before)), None) => Some(image(before)),
        (What::Whole(Some(before)), Some(_)) if before.text().is_none() => Some(image(before)),
        // All of it went, piece by piece.
        (What::Parts(parts), None) => {
            let fields = parts.iter().filter_map(|part| match part {
                Part::Field { name, before: Some(before), .. } => Some([*name, *before]),
                _ => None,
            });
            let fields: Pairs = fields.flatten().map(<[u8]>::to_vec).collect();
            (change.deadline_before.is_some() && !fields.is_empty()).then_some(fields)
        }
        // Its end lies in the past, so that it goes at once.
        (_, Some(row)) if ends => Some(image(row)),
        _ => None,
    }
}

/// All that a row holds.
fn image(row: &dyn Row) -> Pairs {
    if let Some(text) = row.text() {
        return vec![b"value".to_vec(), text.into_owned()];
    }
    let mut pairs = Vec::new();
    row.each(&mut |element| {
        if let Element::Field(name, value) = element {
            pairs.extend([name.to_vec(), value.to_vec()]);
        }
    });
    pairs
}

/// The items of a list.
fn items_of(row: &dyn Row) -> Pairs {
    let mut pairs = Vec::new();
    row.each(&mut |element| {
        if let Element::Item(item) = element {
            pairs.extend([b"item".to_vec(), item.to_vec()]);
        }
    });
    pairs
}

/// What a command brought to a list, as one entry, or to a stream, as one each.
fn pushed(change: &Change<'_>, data: DataType) -> Vec<Pairs> {
    let Some(row) = change.after else { return Vec::new() };
    let mut entries = Vec::new();
    match change.what {
        What::Lifetime => {}
        What::Whole(_) if data == DataType::List => entries.push(items_of(row)),
        What::Whole(_) => row.each(&mut |element| {
            if let Element::Entry(fields) = element {
                entries.push(pairs_of(fields.pairs()));
            }
        }),
        What::Parts(parts) => {
            let mut items = Vec::new();
            for part in parts {
                match part {
                    Part::Pushed(_, item) | Part::Placed(item) => {
                        items.extend([b"item".to_vec(), item.to_vec()]);
                    }
                    Part::Entry(fields) => entries.push(pairs_of(fields.pairs())),
                    _ => {}
                }
            }
            entries.extend((!items.is_empty()).then_some(items));
        }
    }
    entries
}

fn pairs_of<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Pairs {
    pairs.flat_map(|(name, value)| [name.to_vec(), value.to_vec()]).collect()
}
