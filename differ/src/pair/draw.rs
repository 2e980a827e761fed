//! Replies that are drawn at random.
//!
//! Both servers draw something else. What each drew must have been there; after a
//! removal both lose what either drew, so that they continue from the same state.

use super::{Outcome, Pair, differs};
use crate::compare::encoded;
use crate::step::{Check, Step};
use keyward_resp::Frame;
use keyward_testkit::Reply;
use std::collections::BTreeSet;

/// An element, or a field with its value, as bytes.
type Drawn = Vec<Vec<u8>>;

impl Pair {
    /// Runs a command whose reply is random.
    pub(super) fn draw(&mut self, step: &Step) -> Outcome {
        let name = step.name();
        let key = step.command.get(1).cloned().unwrap_or_default();
        let population = match name.as_str() {
            "SRANDMEMBER" | "SPOP" => Some(vec![b"SMEMBERS".to_vec(), key.clone()]),
            "HRANDFIELD" => Some(vec![b"HGETALL".to_vec(), key.clone()]),
            "ZRANDMEMBER" => Some(
                ["ZRANGE", "", "0", "-1", "WITHSCORES"]
                    .map(|word| word.as_bytes().to_vec())
                    .to_vec(),
            ),
            _ => None,
        };
        let Some(mut population) = population else { return self.draw_key(step) };
        population[1].clone_from(&key);
        let [_, population] = self.call(step.connection, &population)?;
        let replies = self.call(step.connection, &step.command)?;
        let [ours, theirs] = &replies;
        let is_drawn = |reply: &Reply| {
            matches!(&reply.frame, Frame::Bulk(_) | Frame::Array(_) | Frame::Set(_))
        };
        if !is_drawn(ours) || !is_drawn(theirs) {
            let connection = &mut self.connections[step.connection];
            return connection.judge(&Check::Exact, false, &step.command, ours, theirs);
        }
        let has_pairs = step.command.len() > 3;
        if !is_possible(step, has_pairs, &population.frame, &replies) {
            return Err(differs(&step.command, &ours.frame, &theirs.frame));
        }
        if name == "SPOP" { self.reconcile(step, &key, &replies) } else { Ok(()) }
    }

    /// A random key must be one.
    fn draw_key(&mut self, step: &Step) -> Outcome {
        let [ours, theirs] = self.call(step.connection, &step.command)?;
        let (Frame::Bulk(our_key), Frame::Bulk(_)) = (&ours.frame, &theirs.frame) else {
            let connection = &mut self.connections[step.connection];
            return connection.judge(&Check::Exact, false, &step.command, &ours, &theirs);
        };
        let exists = [b"EXISTS".to_vec(), our_key.clone()];
        let [_, is_there] = self.call(step.connection, &exists)?;
        match is_there.frame {
            Frame::Integer(1) => Ok(()),
            _ => Err(differs(&step.command, &ours.frame, &theirs.frame)),
        }
    }

    /// Removes what either server popped from both, and builds the set anew: its
    /// encoding in Redis may depend on what was left.
    fn reconcile(&mut self, step: &Step, key: &[u8], replies: &[Reply; 2]) -> Outcome {
        let mut popped: BTreeSet<Vec<u8>> = BTreeSet::new();
        for reply in replies {
            popped.extend(drawn(false, &reply.frame).into_iter().flatten());
        }
        let command = |name: &str, members: Vec<Vec<u8>>| {
            [vec![name.as_bytes().to_vec(), key.to_vec()], members].concat()
        };
        if !popped.is_empty() {
            self.call(step.connection, &command("SREM", popped.into_iter().collect()))?;
        }
        let [ours, theirs] = self.call(step.connection, &command("SMEMBERS", Vec::new()))?;
        let left = |reply: &Reply| -> BTreeSet<Vec<u8>> {
            drawn(false, &reply.frame).into_iter().flatten().collect()
        };
        let (ours_left, theirs_left) = (left(&ours), left(&theirs));
        if ours_left != theirs_left {
            return Err(differs(&command("SMEMBERS", Vec::new()), &ours.frame, &theirs.frame));
        }
        if !theirs_left.is_empty() {
            self.call(step.connection, &command("DEL", Vec::new()))?;
            self.call(step.connection, &command("SADD", theirs_left.into_iter().collect()))?;
        }
        Ok(())
    }
}

/// Whether both replies could have been drawn: as many elements, all of the population,
/// none twice unless the count is negative.
fn is_possible(step: &Step, has_pairs: bool, population: &Frame, replies: &[Reply; 2]) -> bool {
    let population: BTreeSet<Drawn> = match population {
        Frame::Set(_) => drawn(false, population).into_iter().collect(),
        _ if step.name() == "SPOP" || step.name() == "SRANDMEMBER" => {
            drawn(false, population).into_iter().collect()
        }
        _ => {
            let pairs = drawn(true, population);
            pairs
                .into_iter()
                .map(|pair| if has_pairs { pair } else { pair[..1].to_vec() })
                .collect()
        }
    };
    let may_repeat = step.command.get(2).is_some_and(|count| count.starts_with(b"-"));
    let [ours, theirs] = replies.each_ref().map(|reply| drawn(has_pairs, &reply.frame));
    let is_fair = |drawn: &[Drawn]| {
        let distinct: BTreeSet<&Drawn> = drawn.iter().collect();
        drawn.iter().all(|element| population.contains(element))
            && (may_repeat || distinct.len() == drawn.len())
    };
    let kinds = replies.each_ref().map(|reply| std::mem::discriminant(&reply.frame));
    kinds[0] == kinds[1] && ours.len() == theirs.len() && is_fair(&ours) && is_fair(&theirs)
}

/// The elements of a reply, or its pairs, however the protocol writes them.
fn drawn(has_pairs: bool, frame: &Frame) -> Vec<Drawn> {
    let bytes = |frame: &Frame| match frame {
        // A score is text in RESP2 and a number in RESP3.
        Frame::Double(_) | Frame::Integer(_) => encoded(frame),
        other => other.as_bytes().unwrap_or_default().to_vec(),
    };
    match frame {
        Frame::Map(pairs) => {
            pairs.iter().map(|(key, value)| vec![bytes(key), bytes(value)]).collect()
        }
        Frame::Array(elements) | Frame::Set(elements) => {
            let is_nested = matches!(elements.first(), Some(Frame::Array(_)));
            if is_nested {
                let nested = elements.iter().filter_map(Frame::as_elements);
                nested.map(|pair| pair.iter().map(bytes).collect()).collect()
            } else {
                let group = if has_pairs { 2 } else { 1 };
                elements.chunks(group).map(|chunk| chunk.iter().map(bytes).collect()).collect()
            }
        }
        other => vec![vec![bytes(other)]],
    }
}
