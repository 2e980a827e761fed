//! A set of servers on a simulated network, those who write to it, and who looks after it.
//!
//! A seed decides everything: what clients do, how long bytes fly, which links are cut and on
//! which side that is noticed, who is killed or restarted, who is promoted and when others hear
//! of it.

use crate::link::{Link, Planted, Stage, Turn};
use crate::load;
use crate::node::{MARK, Making, Node};
use keyward_engine::{ClientId, Delivery, Progress};
use keyward_rdb::Ending;
use keyward_testkit::Random;
use keyward_testkit::engine::{START_MS, TestEngine, request};
use std::collections::{BTreeMap, BTreeSet};

/// Writes that are waited for have numbers of the same length.
const FIRST_PROOF: u64 = 100_000;

/// Somebody who writes to whom it takes for the primary.
pub(crate) struct Writer {
    pub(crate) node: usize,
    pub(crate) client: ClientId,
    pub(crate) is_waiting: bool,
    /// The write that it waits for others to have.
    pub(crate) proof: Option<u64>,
    pub(crate) replies: Vec<u8>,
}

/// What happened, so that a history in which nothing does is noticed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) commands: u64,
    pub(crate) confirmed: u64,
    /// Of those, by WAITAOF: in the own file, and in those of replicas.
    pub(crate) safe_here: u64,
    pub(crate) safe_there: u64,
    pub(crate) cuts: u64,
    pub(crate) kills: u64,
    pub(crate) restarts: u64,
    /// Of those, replicas with an append-only file.
    pub(crate) log_restarts: u64,
    pub(crate) promotions: u64,
    pub(crate) continued: u64,
    pub(crate) copied: u64,
    pub(crate) pending: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.commands += other.commands;
        self.confirmed += other.confirmed;
        self.safe_here += other.safe_here;
        self.safe_there += other.safe_there;
        self.cuts += other.cuts;
        self.kills += other.kills;
        self.restarts += other.restarts;
        self.log_restarts += other.log_restarts;
        self.promotions += other.promotions;
        self.continued += other.continued;
        self.copied += other.copied;
        self.pending += other.pending;
    }

    /// Whether everything has happened that is to be tried.
    pub(crate) fn has_everything(&self) -> bool {
        let all = [self.confirmed, self.cuts, self.kills, self.restarts, self.promotions];
        let more = [self.continued, self.copied, self.pending, self.log_restarts];
        let safe = [self.safe_here, self.safe_there];
        all.into_iter().chain(more).chain(safe).all(|count| count > 0)
    }
}

/// Everything.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) planted: Planted,
    pub(crate) now_ms: i64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    pub(crate) writers: Vec<Writer>,
    /// Who is to lead.
    pub(crate) leader: usize,
    /// Until when two nodes cannot reach each other.
    pub(crate) apart: BTreeMap<(usize, usize), i64>,
    pub(crate) next_proof: u64,
    /// Writes that are waited for, and which nodes have had them.
    pub(crate) had: BTreeMap<u64, BTreeSet<usize>>,
    /// The same of their append-only files, synced.
    pub(crate) had_synced: BTreeMap<u64, BTreeSet<usize>>,
    pub(crate) tally: Tally,
}

impl World {
    pub(crate) fn new(seed: u64, planted: Planted) -> World {
        let mut random = Random::new(seed);
        let count = 3 + random.below(2);
        let limits = [0, 1, 5, 64];
        // Servers of different versions may not remove the same number of rows at once.
        let has_own = random.one_in(3);
        let shared = *random.pick(&limits);
        let nodes = (0..count)
            .map(|_| {
                let few = if has_own { *random.pick(&limits) } else { shared };
                let mut node = Node::new(&mut random, few, START_MS);
                node.test.host.is_ahead = planted == Planted::SyncsAhead;
                node
            })
            .collect();
        World {
            random,
            planted,
            now_ms: START_MS,
            nodes,
            links: Vec::new(),
            writers: Vec::new(),
            leader: 0,
            apart: BTreeMap::new(),
            next_proof: FIRST_PROOF,
            had: BTreeMap::new(),
            had_synced: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Some time of load and faults, then rest, and everybody has the same.
    pub(crate) fn live(&mut self, steps: usize) {
        for _ in 0..steps {
            let ms = match self.random.below(100) {
                0 => self.random.below(4000),
                _ => self.random.below(12),
            };
            self.step(ms as i64);
            (0..self.random.below(4)).for_each(|_| self.write());
            self.go_wrong();
            self.look_after();
        }
        self.rest();
        self.compare();
    }

    pub(crate) fn step(&mut self, ms: i64) {
        self.now_ms += ms;
        self.apart.retain(|_, until_ms| *until_ms > self.now_ms);
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        self.random.shuffle(&mut order);
        for index in order {
            if self.nodes[index].is_up {
                self.run(index);
            }
        }
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        self.random.shuffle(&mut order);
        for index in order {
            self.carry(index);
        }
        self.links.retain(|link| link.has_replica || link.client.is_some());
    }

    /// A node does what it does by itself.
    fn run(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.test.set_time(self.now_ms);
        if self.random.below(3) > 0 {
            node.test.tick();
        }
        self.tally.pending += u64::from(node.test.engine.has_pending_ends());
        if let Some(log) = &mut node.log {
            let loses = self.planted == Planted::LosesPartOfLog && self.random.one_in(3);
            match loses && node.test.engine.primary().is_some() {
                true => log.lose(&mut node.test.engine),
                false => {
                    let TestEngine { engine, host, .. } = &mut node.test;
                    log.collect(engine, host, self.random.one_in(4));
                }
            }
            for (_, had) in self.had_synced.iter_mut().filter(|(it, _)| log.has_synced(**it)) {
                had.insert(index);
            }
        }
        self.make_snapshot(index);
        self.deliver(index);
        self.feed(index);
        self.connect(index);
    }

    /// Goes on with a snapshot for those who follow, or begins one.
    fn make_snapshot(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let engine = &mut node.test.engine;
        if node.making.is_none() && engine.is_full_sync_due() && !engine.has_pending_ends() {
            let sync = engine.next_full_sync().expect("somebody waits");
            engine.begin_full_sync(&sync, true, 0);
            let proofs = node.proofs.clone();
            let making = Making { sync, ending: Ending::new(true), proofs };
            for link in &mut self.links {
                let is_for = |client| making.sync.clients.contains(&client);
                if link.primary == index && link.client.is_some_and(is_for) {
                    link.proofs.clone_from(&making.proofs);
                }
            }
            let clients = making.sync.clients.clone();
            node.making = Some(making);
            self.deliver(index);
            let head = [b"$EOF:", MARK, b"\r\n"].concat();
            clients.iter().for_each(|client| self.send(index, *client, &head));
        }
        let node = &mut self.nodes[index];
        let Some(making) = &mut node.making else { return };
        let mut parts = Vec::new();
        let is_over = node.test.engine.step_snapshot(&mut |bytes| parts.push(bytes));
        parts.iter().for_each(|part| making.ending.add(part));
        let clients = making.sync.clients.clone();
        if is_over {
            let making = node.making.take().expect("it is made");
            parts.push(making.ending.end().to_vec());
            parts.push(MARK.to_vec());
        }
        for part in &parts {
            clients.iter().for_each(|client| self.send(index, *client, part));
        }
        if is_over {
            let node = &mut self.nodes[index];
            for client in clients {
                node.test.engine.end_full_sync(&mut node.test.host, client);
            }
        }
    }

    /// Sends bytes to whoever follows by this client.
    fn send(&mut self, index: usize, client: ClientId, bytes: &[u8]) {
        let is_it = |link: &&mut Link| link.primary == index && link.client == Some(client);
        if let Some(link) = self.links.iter_mut().find(is_it) {
            link.to_replica.send(&mut self.random, self.now_ms, bytes);
        }
    }

    /// Hands out what an engine has for its clients.
    pub(crate) fn deliver(&mut self, index: usize) {
        for delivery in self.nodes[index].test.deliveries() {
            match delivery {
                Delivery::Output(client, bytes) => {
                    self.send(index, client, &bytes);
                    self.send_up(index, client, &bytes);
                    if let Some(writer) = self.writer(index, client) {
                        writer.replies.extend_from_slice(&bytes);
                    }
                }
                Delivery::Unblocked(client) => self.unblock(index, client),
                Delivery::Close(client) => self.close(index, client),
            }
        }
    }

    fn writer(&mut self, index: usize, client: ClientId) -> Option<&mut Writer> {
        self.writers.iter_mut().find(|it| it.node == index && it.client == client)
    }

    /// What a replica says to its primary.
    fn send_up(&mut self, index: usize, client: ClientId, bytes: &[u8]) {
        let is_it = |link: &&mut Link| link.is_of(index, client);
        if let Some(link) = self.links.iter_mut().find(is_it) {
            link.to_primary.send(&mut self.random, self.now_ms, bytes);
        }
    }

    /// A client goes on that had to wait.
    fn unblock(&mut self, index: usize, client: ClientId) {
        if let Some(at) = self.links.iter().position(|link| link.is_of(index, client)) {
            let turn = self.links[at].go_on(&mut self.nodes[index], &mut self.random);
            self.heed(at, turn);
            return;
        }
        let more = self.nodes[index].test.resume(client);
        let Some(writer) = self.writer(index, client) else { return };
        writer.replies.extend_from_slice(more.as_bytes());
        writer.is_waiting = false;
        let replies = std::mem::take(&mut writer.replies);
        if let Some(proof) = writer.proof.take() {
            self.confirm(index, proof, &replies);
        }
    }

    /// WAIT or WAITAOF has said how many replicas have a write: so many must have had it, and keep
    /// it.
    fn confirm(&mut self, index: usize, proof: u64, replies: &[u8]) {
        let had = self.had.remove(&proof).unwrap_or_default();
        let had_synced = self.had_synced.remove(&proof).unwrap_or_default();
        let text = String::from_utf8_lossy(replies);
        // It may have been refused, or ended by a change of roles.
        let Some(counts) = text.strip_prefix("+OK\r\n") else { return };
        let confirmed = match counts.split_once("*2\r\n:") {
            Some((_, counts)) => self.confirm_safe(index, proof, counts, had_synced),
            None => {
                // A WAIT for none may stand before it.
                let count = counts.lines().last().and_then(|it| it.strip_prefix(':'));
                count.and_then(|count| count.parse().ok()).map(|count| (count, had))
            }
        };
        let Some((count, had)) = confirmed else { return };
        let others = had.iter().filter(|node| **node != index).count();
        assert!(others >= count, "{count} are to have {proof}, and {others} have had it: {text:?}");
        if count == 0 {
            return;
        }
        self.tally.confirmed += 1;
        for node in had.into_iter().chain([index]) {
            let node = &mut self.nodes[node];
            if node.is_up && node.has_proof(proof) {
                node.proofs.insert(proof);
            }
        }
    }

    /// What WAITAOF has said: whether the own file has a write, synced, which must be so, and how
    /// many of replicas have.
    fn confirm_safe(
        &mut self,
        index: usize,
        proof: u64,
        counts: &str,
        had: BTreeSet<usize>,
    ) -> Option<(usize, BTreeSet<usize>)> {
        let (local, count) = counts.split_once("\r\n:")?;
        let count: usize = count.trim_end().parse().expect("a number");
        let node = &mut self.nodes[index];
        if local == "1" {
            assert!(node.has_synced(proof), "WAITAOF says that {proof} is safe, which it is not");
            node.proofs.insert(proof);
            self.tally.safe_here += 1;
        }
        self.tally.safe_there += u64::from(count > 0);
        Some((count, had))
    }

    /// Notes which of the writes that are waited for a node has.
    fn note_proofs(&mut self, index: usize) {
        for (proof, had) in &mut self.had {
            if !had.contains(&index) && self.nodes[index].has_proof(*proof) {
                had.insert(index);
            }
        }
    }

    /// An engine closes one of its connections.
    fn close(&mut self, index: usize, client: ClientId) {
        for at in 0..self.links.len() {
            if self.links[at].primary == index && self.links[at].client == Some(client) {
                self.lose_primary_side(at);
            } else if self.links[at].is_of(index, client) {
                self.lose_replica_side(at);
            }
        }
        self.writers.retain(|it| it.node != index || it.client != client);
    }

    pub(crate) fn lose_primary_side(&mut self, at: usize) {
        let link = &mut self.links[at];
        if let Some(client) = link.client.take()
            && self.nodes[link.primary].is_up
        {
            self.nodes[link.primary].test.engine.disconnect(client);
        }
    }

    pub(crate) fn lose_replica_side(&mut self, at: usize) {
        let link = &mut self.links[at];
        let node = &mut self.nodes[link.replica];
        if !std::mem::take(&mut link.has_replica) || !node.is_up {
            return;
        }
        if link.abandon(node) {
            // It has thrown everything away for what it does not get.
            node.proofs.clear();
        }
        if let Stage::Following(client) = link.stage {
            node.test.engine.disconnect(client);
        }
        node.retry_ms = self.now_ms + self.random.below(400) as i64;
    }

    /// Gives the stream to those who follow.
    fn feed(&mut self, index: usize) {
        let mut clients = Vec::new();
        self.nodes[index].test.engine.unfed(&mut clients);
        for client in clients {
            let (mut bytes, room) = (Vec::new(), 1 + self.random.below(3000));
            self.nodes[index].test.engine.take_stream(client, room, &mut bytes);
            self.send(index, client, &bytes);
        }
    }

    fn are_apart(&self, one: usize, other: usize) -> bool {
        self.apart.contains_key(&(one.min(other), one.max(other)))
    }

    /// A replica without a link connects.
    fn connect(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let order = node.test.host.orders;
        let primary = node.primary();
        for at in 0..self.links.len() {
            let link = &self.links[at];
            let is_stale =
                link.order != order || Some(link.primary) != primary || link.is_late(self.now_ms);
            if link.replica == index && link.has_replica && is_stale {
                self.lose_replica_side(at);
            }
        }
        let has_link = self.links.iter().any(|link| link.replica == index && link.has_replica);
        let Some(primary) = primary.filter(|_| !has_link) else { return };
        let is_due = self.now_ms >= self.nodes[index].retry_ms;
        if !is_due || !self.nodes[primary].is_up || self.are_apart(index, primary) {
            return;
        }
        let client = self.nodes[primary].test.engine.connect();
        let lacks_schemas = self.nodes[index].test.engine.resumption().lacks_schemas;
        let chance = (&mut self.random, self.now_ms);
        self.links.push(Link::new((index, primary), lacks_schemas, order, client, chance));
    }

    /// Delivers what has arrived on a link.
    fn carry(&mut self, at: usize) {
        let (replica, primary) = (self.links[at].replica, self.links[at].primary);
        if !self.are_apart(replica, primary) {
            for _ in 0..8 {
                let link = &mut self.links[at];
                let Some(bytes) = link.to_primary.receive(self.now_ms) else { break };
                if link.client.is_some() && self.nodes[primary].is_up {
                    let turn = link.ask(&mut self.nodes[primary], &bytes, &mut self.random);
                    if turn == Turn::Over {
                        self.lose_primary_side(at);
                    }
                    self.deliver(primary);
                }
            }
            for _ in 0..8 {
                let link = &mut self.links[at];
                if !link.has_replica || !self.nodes[replica].is_up {
                    break;
                }
                let Some(bytes) = link.to_replica.receive(self.now_ms) else { break };
                let chance = (&mut self.random, self.planted);
                let was_asked = matches!(link.stage, Stage::Asked);
                let turn = link.hear(&mut self.nodes[replica], &bytes, chance);
                let follows = matches!(link.stage, Stage::Following(_));
                self.tally.continued += u64::from(was_asked && follows);
                self.heed(at, turn);
                self.deliver(replica);
                self.note_proofs(replica);
            }
        }
        let link = &mut self.links[at];
        if link.has_replica && self.nodes[replica].is_up {
            let rows = 1 + self.random.below(60);
            let turn = link.load(&mut self.nodes[replica], rows);
            self.heed(at, turn);
        }
    }

    fn heed(&mut self, at: usize, turn: Turn) {
        match turn {
            Turn::Goes => {}
            Turn::Over => self.lose_replica_side(at),
            Turn::Copied => {
                self.tally.copied += 1;
                let replica = self.links[at].replica;
                self.nodes[replica].proofs = self.links[at].proofs.clone();
                self.note_proofs(replica);
                self.nodes[replica].check_proofs("after a snapshot");
            }
        }
    }

    /// Somebody writes.
    fn write(&mut self) {
        let node = self.leader;
        if !self.nodes[node].is_up || self.nodes[node].primary().is_some() {
            return;
        }
        let idle = self.writers.iter().position(|it| it.node == node && !it.is_waiting);
        let at = match idle {
            Some(at) => at,
            None if self.writers.len() >= 5 => return,
            None => {
                let client = self.nodes[node].test.engine.connect();
                let (is_waiting, proof, replies) = (false, None, Vec::new());
                self.writers.push(Writer { node, client, is_waiting, proof, replies });
                self.writers.len() - 1
            }
        };
        let is_proof = self.random.one_in(8);
        let commands = match is_proof {
            true => {
                self.next_proof += 1;
                let (number, count) = (self.next_proof, 1 + self.random.below(2));
                self.had.insert(number, BTreeSet::new());
                self.had_synced.insert(number, BTreeSet::new());
                self.writers[at].proof = Some(number);
                let mut commands = vec![format!("SET proof:{number} {number}")];
                commands.extend(self.random.one_in(4).then(|| "WAIT 0 0".to_owned()));
                commands.push(match self.random.one_in(2) {
                    true => format!("WAIT {count} 3000"),
                    false => {
                        let (local, count) = (self.random.below(2), self.random.below(3));
                        format!("WAITAOF {local} {count} 3000")
                    }
                });
                commands
            }
            false => load::commands(&mut self.random),
        };
        self.tally.commands += commands.len() as u64;
        let bytes: Vec<u8> = commands.iter().flat_map(|command| request(command)).collect();
        let client = self.writers[at].client;
        self.nodes[node].test.set_time(self.now_ms);
        let (progress, out) = self.nodes[node].test.send(client, &bytes);
        let writer = &mut self.writers[at];
        writer.is_waiting = progress == Progress::Blocked;
        writer.replies = if is_proof { out.clone() } else { Vec::new() };
        if !writer.is_waiting
            && let Some(proof) = writer.proof.take()
        {
            self.confirm(node, proof, &out);
        }
        self.deliver(node);
    }
}
