//! Rows that change servers: DUMP on one, RESTORE on both.
//!
//! The bytes of a dump may differ, since packing and the order of a hash table are each
//! server's own affair. What the servers make of the same bytes must not.

use super::{NAMES, Outcome, Pair};
use crate::step::{Check, Step};
use keyward_resp::Frame;

impl Pair {
    /// Dumps a row on both servers and restores one of the dumps on both.
    pub(super) fn transfer(&mut self, step: &Step) -> Outcome {
        let [_, from, to, author] = step.command.as_slice() else { return Ok(()) };
        let dump = [b"DUMP".to_vec(), from.clone()];
        let dumps = self.call(step.connection, &dump)?;
        let [Frame::Bulk(ours), Frame::Bulk(theirs)] = dumps.each_ref().map(|dump| &dump.frame)
        else {
            let [ours, theirs] = &dumps;
            let connection = &mut self.connections[step.connection];
            return connection.judge(&Check::Exact, false, &dump, ours, theirs);
        };
        let payload = if author == NAMES[0].as_bytes() { ours } else { theirs };
        let words = [&b"RESTORE"[..], to, b"0", payload, b"REPLACE"];
        let restore = words.map(<[u8]>::to_vec);
        let [ours, theirs] = self.call(step.connection, &restore)?;
        let connection = &mut self.connections[step.connection];
        connection.judge(&Check::Exact, false, &restore, &ours, &theirs)
    }
}
