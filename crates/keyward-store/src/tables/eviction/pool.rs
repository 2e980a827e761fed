//! The best candidates seen so far (the eviction pool).
//!
//! Owns, for each database, a few keys that were worth evicting when they were looked
//! at. Samples of several rounds meet here, so that few samples per round come close to
//! a true order of all rows. A candidate may have been used, moved or removed since:
//! whoever takes one looks again. Rows that do not compete with each other are in
//! separate pools: those that go first, and those by recency and by frequency.

use super::{Rivals, Turn};
use crate::tables::table::Neighbour;
use crate::values::access::Reading;

/// Candidates kept at most.
const CANDIDATES_MAX: usize = 16;

/// A row worth evicting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The higher, the sooner it goes.
    pub score: u32,
    pub key: Box<[u8]>,
}

/// The pools of a database.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    first: Pool,
    by_recency: Pool,
    by_frequency: Pool,
}

impl Pools {
    /// The pool of rows that compete with each other.
    pub(crate) fn of(&mut self, rivals: Rivals) -> &mut Pool {
        match (rivals.turn, rivals.reading) {
            (Turn::First, _) => &mut self.first,
            (Turn::Others, Reading::Recency) => &mut self.by_recency,
            (Turn::Others, Reading::Frequency) => &mut self.by_frequency,
        }
    }
}

/// Candidates, the best one last.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    candidates: Vec<Candidate>,
}

impl Pool {
    /// Takes a candidate in, if it is among the best.
    pub(crate) fn offer(&mut self, score: u32, row: &Neighbour<'_>) {
        let at = self.candidates.partition_point(|candidate| candidate.score < score);
        let is_full = self.candidates.len() == CANDIDATES_MAX;
        if is_full && at == 0 {
            return;
        }
        let key = row.key();
        let mut same = self.candidates[at..].iter().take_while(|other| other.score == score);
        if same.any(|other| *other.key == *key) {
            return;
        }
        let at = if is_full {
            self.candidates.remove(0);
            at - 1
        } else {
            at
        };
        self.candidates.insert(at, Candidate { score, key: key.into() });
    }

    /// The score of the best candidate.
    pub(crate) fn best_score(&self) -> Option<u32> {
        self.candidates.last().map(|best| best.score)
    }

    /// Takes the best candidate out.
    pub(crate) fn take(&mut self) -> Option<Candidate> {
        self.candidates.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::row::{NewValue, Row};

    #[test]
    fn the_best_of_many_come_out_in_order() {
        let mut pool = Pool::default();
        for number in 0..1000u32 {
            let score = number * 7919 % 1000;
            let row = Row::new(&score.to_be_bytes(), NewValue::Int(1), None);
            pool.offer(score, &Neighbour::Loose(&row));
            pool.offer(score, &Neighbour::Loose(&row));
        }
        let scores: Vec<u32> = std::iter::from_fn(|| pool.take()).map(|best| best.score).collect();
        assert_eq!(scores, (984..1000).rev().collect::<Vec<_>>());
    }
}
