//! Walks by cursor: SCAN and its kin, to the end.
//!
//! The order and the cursors of a hash table differ between servers; what a whole walk
//! finds must not. A row in a small encoding comes at once and in its order.

use super::{Failure, NAMES, Outcome, Pair, differs};
use crate::compare::encoded;
use crate::step::{Check, Step};
use keyward_resp::Frame;
use keyward_testkit::{Client, ClientError, Reply};
use std::collections::BTreeSet;

/// A walk that is longer than this goes in circles.
const CALLS_MAX: usize = 20_000;

impl Pair {
    /// Walks on both servers.
    pub(super) fn walk(&mut self, step: &Step) -> Outcome {
        let cursor_place = if step.name() == "SCAN" { 1 } else { 2 };
        let group = if matches!(step.name().as_str(), "HSCAN" | "ZSCAN") { 2 } else { 1 };
        let replies = self.call(step.connection, &step.command)?;
        let connection = &mut self.connections[step.connection];
        let [ours, theirs] = &replies;
        if ours.bytes == theirs.bytes {
            return connection.judge(&Check::Exact, false, &step.command, ours, theirs);
        }
        let (Some(_), Some((_, first))) = (parts(&ours.frame), parts(&theirs.frame)) else {
            return Err(differs(&step.command, &ours.frame, &theirs.frame));
        };
        let mut found = Vec::new();
        for (side, client) in connection.clients.iter_mut().enumerate() {
            let walked = walk_on(client, step, cursor_place, group, &replies[side]);
            found.push(walked.map_err(|error| Failure::Lost(NAMES[side], error))?);
        }
        let is_same = found[0] == found[1] && (cursor_place == 1 || !self.is_ordered(step)?);
        if is_same {
            return Ok(());
        }
        let whole = |found: &BTreeSet<Vec<u8>>| {
            Frame::Array(found.iter().map(|bytes| Frame::Bulk(bytes.clone())).collect())
        };
        if found[0] == found[1] {
            return Err(differs(&step.command, &ours.frame, &Frame::Array(first.to_vec())));
        }
        Err(differs(&step.command, &whole(&found[0]), &whole(&found[1])))
    }

    /// Whether Redis holds the row in an encoding that has an order.
    fn is_ordered(&mut self, step: &Step) -> Outcome<bool> {
        let command = [b"OBJECT".to_vec(), b"ENCODING".to_vec(), step.command[1].clone()];
        let [_, encoding] = self.call(step.connection, &command)?;
        Ok(matches!(encoding.frame.as_bytes(), Some(b"listpack" | b"intset")))
    }
}

/// All that a walk finds from its first reply on.
fn walk_on(
    client: &mut Client,
    step: &Step,
    cursor_place: usize,
    group: usize,
    first: &Reply,
) -> Result<BTreeSet<Vec<u8>>, ClientError> {
    let mut found = BTreeSet::new();
    let mut command = step.command.clone();
    let mut frame = first.frame.clone();
    for _ in 0..CALLS_MAX {
        let Some((cursor, elements)) = parts(&frame) else {
            found.insert(encoded(&frame));
            break;
        };
        found.extend(elements.chunks(group).map(|chunk| chunk.iter().flat_map(encoded).collect()));
        if cursor == b"0" {
            break;
        }
        command[cursor_place] = cursor.to_vec();
        frame = client.call(&command)?;
    }
    Ok(found)
}

/// The cursor and the elements of a reply.
fn parts(frame: &Frame) -> Option<(&[u8], &[Frame])> {
    match frame.as_elements()? {
        [cursor, elements] => Some((cursor.as_bytes()?, elements.as_elements()?)),
        _ => None,
    }
}
