//! When nothing more happens: everybody comes to rest, and has the same.

use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// How long a set may take to come to rest.
const QUIET_STEPS_MAX: usize = 6000;
/// How often rows are compared before they differ: what is due may be about to go.
const LOOKS: usize = 8;
/// How much longer a row may live elsewhere that reads renew: a sixteenth of its lifetime. The
/// leader has the exact end, of which its replicas have one rounded up.
const RENEWAL_MS: i64 = 3000 / 16;

impl World {
    /// Nobody writes, nothing goes wrong: everybody comes to have everything.
    pub(crate) fn rest(&mut self) {
        self.apart.clear();
        for _ in 0..QUIET_STEPS_MAX {
            for index in 0..self.nodes.len() {
                let primary = (index != self.leader).then_some(self.leader);
                if !self.nodes[index].is_up {
                    self.nodes[index].begin(primary, self.now_ms);
                }
                self.order(index, primary);
            }
            let ms = 1 + self.random.below(20) as i64;
            self.step(ms);
            if self.is_quiet() {
                return;
            }
        }
        let places: Vec<String> = (0..self.nodes.len())
            .map(|index| {
                let node = &mut self.nodes[index];
                let role = node.ask("ROLE").replace("\r\n", " ");
                format!("{index}: {:?} {role}", node.test.engine.resumption())
            })
            .collect();
        panic!("they do not come to rest: {places:#?}");
    }

    pub(crate) fn is_quiet(&mut self) -> bool {
        let place = self.nodes[self.leader].test.engine.resumption();
        let is_waiting = self.writers.iter().any(|writer| writer.is_waiting);
        if is_waiting || self.nodes[self.leader].test.engine.has_pending_ends() {
            return false;
        }
        let leader = self.leader;
        self.nodes.iter_mut().enumerate().all(|(index, node)| {
            let has_link = index == leader || node.test.engine.is_link_up();
            has_link && node.test.engine.resumption() == place
        })
    }

    /// Every node has every row of the leader, which ends when it does there, and when it does on
    /// all others who follow; derived keys are what they come to when they are worked out anew.
    pub(crate) fn compare(&mut self) {
        let mut differences = Vec::new();
        for _ in 0..LOOKS {
            while self.nodes[self.leader].test.tick() {}
            self.deliver(self.leader);
            differences.clear();
            let (rows, digest) = self.nodes[self.leader].picture();
            let anew = self.nodes[self.leader].recomputed(self.now_ms);
            let disagreements = different_rows(&rows, &anew, self.leader);
            differences.extend(disagreements.iter().map(|line| format!("worked out anew: {line}")));
            let mut first = None;
            for index in (0..self.nodes.len()).filter(|index| *index != self.leader) {
                let (theirs, sum) = self.nodes[index].picture();
                differences.extend(different_rows(&rows, &theirs, index));
                // Who follows was told the same ends as all others who do.
                let (other, told) = first.get_or_insert_with(|| (index, theirs.clone()));
                let differs = theirs.iter().filter(|line| !told.contains(line));
                differences.extend(differs.map(|line| format!("{index} has {line}, {other} not")));
                if sum != digest {
                    differences.push(format!("{index} has {sum} and the leader {digest}"));
                }
            }
            if differences.is_empty() {
                break;
            }
            self.rest();
        }
        assert!(differences.is_empty(), "{differences:#?}");
        let leader = self.nodes[self.leader].proofs.clone();
        for index in 0..self.nodes.len() {
            self.nodes[index].proofs.extend(&leader);
            self.nodes[index].check_proofs("at rest");
        }
    }
}

/// What differs in two pictures; of a row that reads renew the ends are near each other.
fn different_rows(ours: &[String], theirs: &[String], index: usize) -> Vec<String> {
    let renewed = |line: &String| line.contains(" visit:");
    let end_ms = |line: &str| -> i64 {
        let word = line.split(' ').nth(2).expect("an end");
        word.trim_start_matches(':').parse().expect("a time")
    };
    let mut differences = Vec::new();
    let plain = |lines: &[String]| -> BTreeSet<String> {
        lines.iter().filter(|line| !renewed(line)).cloned().collect()
    };
    let (here, there) = (plain(ours), plain(theirs));
    differences.extend(here.difference(&there).map(|line| format!("{index} lacks {line}")));
    differences.extend(there.difference(&here).map(|line| format!("{index} has {line}")));
    let pairs = |lines: &[String]| -> BTreeMap<String, i64> {
        let renewed = lines.iter().filter(|line| renewed(line));
        renewed
            .map(|line| (line.split(' ').nth(1).unwrap_or_default().to_owned(), end_ms(line)))
            .collect()
    };
    let (here, there) = (pairs(ours), pairs(theirs));
    for key in here.keys().chain(there.keys()) {
        let ends = (here.get(key), there.get(key));
        let is_near = matches!(ends, (Some(ours), Some(theirs)) if (0..=RENEWAL_MS).contains(&(theirs - ours)));
        if !is_near {
            differences.push(format!("{index} {key} {ends:?}"));
        }
    }
    differences
}
