//! From a round that differs to the few steps that do.
//!
//! Delta debugging: ever smaller stretches of steps are left out as long as the same
//! step still differs, then single arguments.

use crate::pair::{Difference, Pair};
use crate::step::{Round, Step};

/// Replays after which the best so far will do.
const REPLAYS_MAX: usize = 1500;

/// The smallest round found that still differs, and how it does; `None` if the round
/// does not differ when it is run again.
pub(crate) fn shrink(
    pair: &mut Pair,
    round: &Round,
    first: &Difference,
) -> Option<(Round, Difference)> {
    let end = (first.step + 1).min(round.steps.len());
    let mut search = Search {
        pair,
        best: Round { steps: round.steps[..end].to_vec(), ..round.clone() },
        difference: first.clone(),
        replays: 0,
    };
    let whole = search.best.steps.clone();
    if !search.accepts(whole) {
        return None;
    }
    search.drop_steps();
    search.drop_arguments();
    search.drop_steps();
    Some((search.best, search.difference))
}

struct Search<'a> {
    pair: &'a mut Pair,
    best: Round,
    difference: Difference,
    replays: usize,
}

impl Search<'_> {
    /// Whether these steps differ in the same way; they are the best then.
    fn accepts(&mut self, steps: Vec<Step>) -> bool {
        if self.replays >= REPLAYS_MAX {
            return false;
        }
        self.replays += 1;
        let candidate = Round { steps, ..self.best.clone() };
        let Err(difference) = self.pair.run(&candidate) else { return false };
        let verb = |difference: &Difference| {
            difference.command.split(' ').next().unwrap_or_default().to_ascii_uppercase()
        };
        // Another difference is another story.
        if verb(&difference) != verb(&self.difference) {
            return false;
        }
        self.best = candidate;
        let end = (difference.step + 1).min(self.best.steps.len());
        self.best.steps.truncate(end);
        self.difference = difference;
        true
    }

    fn drop_steps(&mut self) {
        let mut stretch = (self.best.steps.len() / 2).max(1);
        loop {
            let mut place = 0;
            let mut has_shrunk = false;
            while place < self.best.steps.len() {
                let mut steps = self.best.steps.clone();
                let end = (place + stretch).min(steps.len());
                steps.drain(place..end);
                if !steps.is_empty() && self.accepts(steps) {
                    has_shrunk = true;
                } else {
                    place += stretch;
                }
            }
            if stretch > 1 {
                stretch /= 2;
            } else if !has_shrunk || self.replays >= REPLAYS_MAX {
                return;
            }
        }
    }

    fn drop_arguments(&mut self) {
        for place in 0.. {
            let Some(step) = self.best.steps.get(place) else { return };
            for argument in (1..step.command.len()).rev() {
                let mut steps = self.best.steps.clone();
                if argument < steps[place].command.len() {
                    steps[place].command.remove(argument);
                    self.accepts(steps);
                }
                if place >= self.best.steps.len() {
                    return;
                }
            }
        }
    }
}
