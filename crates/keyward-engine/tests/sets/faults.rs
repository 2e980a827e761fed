//! What goes wrong in a set, and who looks after it: links are cut, nodes end, others are promoted.

use crate::node::{PORT, name};
use crate::world::World;

impl World {
    /// Something goes wrong, sometimes.
    pub(crate) fn go_wrong(&mut self) {
        let count = self.nodes.len();
        match self.random.below(300) {
            0..=5 if !self.links.is_empty() => {
                self.tally.cuts += 1;
                let at = self.random.below(self.links.len());
                // One side may notice later, or by its own patience.
                let sides = self.random.below(3);
                if sides != 1 {
                    self.lose_replica_side(at);
                }
                if sides != 2 {
                    self.lose_primary_side(at);
                }
            }
            6..=8 => {
                self.tally.cuts += 1;
                let (one, other) = (self.random.below(count), self.random.below(count));
                let until_ms = self.now_ms + self.random.below(9000) as i64;
                self.apart.insert((one.min(other), one.max(other)), until_ms);
            }
            9 => {
                let index = self.random.below(count);
                if self.nodes[index].is_up {
                    self.nodes[index].save();
                }
            }
            10 | 11 => {
                let index = self.random.below(count);
                self.stop(index);
            }
            12 | 13 => self.fail_over(),
            15..=17 => {
                // A replica that comes back from its append-only file, and goes on.
                let index = self.random.below(count);
                let node = &mut self.nodes[index];
                let is_replica = node.is_up && node.primary().is_some() && !node.is_loading();
                if is_replica && node.log.is_some() {
                    let primary = node.primary();
                    self.stop_cleanly(index);
                    self.forget_links(index);
                    self.nodes[index].begin(primary, self.now_ms);
                }
            }
            14 => {
                let index = self.random.below(count);
                // A replica of a replica.
                let other = self.random.below(count);
                if index != self.leader
                    && other != index
                    && self.nodes[other].primary() != Some(index)
                {
                    self.order(index, Some(other));
                }
            }
            _ => {}
        }
    }

    /// A node ends, killed or as it should.
    pub(crate) fn stop(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if !node.is_up {
            return;
        }
        let is_clean = !node.is_loading() && self.random.one_in(2);
        match is_clean {
            true => self.stop_cleanly(index),
            false => {
                node.kill();
                self.tally.kills += 1;
            }
        }
        self.forget_links(index);
    }

    /// A node ends as it should.
    fn stop_cleanly(&mut self, index: usize) {
        self.deliver(index);
        let node = &mut self.nodes[index];
        let is_logged = node.log.is_some() && node.primary().is_some();
        node.end();
        self.tally.restarts += 1;
        self.tally.log_restarts += u64::from(is_logged);
    }

    /// The process of a node is no more.
    fn forget_links(&mut self, index: usize) {
        self.writers.retain(|writer| writer.node != index);
        for at in 0..self.links.len() {
            let link = &mut self.links[at];
            if link.replica == index {
                link.has_replica = false;
            }
            if link.primary == index {
                link.client = None;
            }
        }
        for at in 0..self.links.len() {
            // The system closes what the process had, and others mostly hear of it.
            if self.links[at].primary == index && self.random.below(4) > 0 {
                self.lose_replica_side(at);
            }
            if self.links[at].replica == index && self.random.below(4) > 0 {
                self.lose_primary_side(at);
            }
        }
    }

    /// Another node is promoted: mostly who has most of the history.
    pub(crate) fn fail_over(&mut self) {
        let id = self.nodes[self.leader].test.engine.resumption().id;
        let mut candidates = Vec::new();
        for index in (0..self.nodes.len()).filter(|index| *index != self.leader) {
            let node = &mut self.nodes[index];
            let place = node.test.engine.resumption();
            // Who has no history has none in common with anybody.
            let is_same = place.id == id && place.next > 0;
            if node.is_up && is_same && !node.is_loading() {
                candidates.push((place.next, index));
            }
        }
        candidates.sort_unstable();
        let Some((_, best)) = candidates.last().copied() else { return };
        if self.random.one_in(3) {
            self.stop(self.leader);
        }
        // What any of them must have, who has most has.
        let confirmed: Vec<u64> =
            candidates.iter().flat_map(|(_, index)| self.nodes[*index].proofs.clone()).collect();
        for number in confirmed {
            let has = self.nodes[best].has_proof(number);
            assert!(has, "a failover to {best} loses the confirmed write {number}");
        }
        let (_, any) = *self.random.pick(&candidates);
        self.leader = if self.random.one_in(6) { any } else { best };
        self.order(self.leader, None);
        self.nodes[self.leader].check_proofs("after a promotion");
    }

    /// Tells a node whom to follow; it may be busy.
    pub(crate) fn order(&mut self, index: usize, primary: Option<usize>) {
        if !self.nodes[index].is_up || self.nodes[index].primary() == primary {
            return;
        }
        let command = match primary {
            Some(primary) => format!("REPLICAOF {} {PORT}", name(primary)),
            None => "REPLICAOF NO ONE".to_owned(),
        };
        let reply = self.nodes[index].ask(&command);
        assert!(reply.starts_with("+OK") || reply.starts_with("-LOADING"), "{reply}");
        self.tally.promotions += u64::from(primary.is_none() && reply.starts_with("+OK"));
        self.deliver(index);
    }

    /// Who looks after the set starts what has ended, and tells who is to be followed, late.
    pub(crate) fn look_after(&mut self) {
        let index = self.random.below(self.nodes.len());
        if !self.random.one_in(12) {
            return;
        }
        let primary = (index != self.leader).then_some(self.leader);
        if !self.nodes[index].is_up {
            // A former primary may not know yet that it is none.
            let known = primary.filter(|_| self.random.one_in(2));
            self.nodes[index].begin(known, self.now_ms);
            if self.nodes[index].file.is_some() || self.nodes[index].log.is_some() {
                self.nodes[index].check_proofs("after a start");
            }
        } else {
            self.order(index, primary);
        }
    }
}
