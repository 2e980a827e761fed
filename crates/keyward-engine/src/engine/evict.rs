//! Keeping within `maxmemory`, and keyspaces within their `max_memory`: rows go while
//! memory is above a limit.
//!
//! Owns the loop that makes room before a command. How much memory the
//! server has in use only the host knows (`Host::used_memory`): what it returns is
//! an input like any other, so a replay in which it returns the same evicts the
//! same rows. What a keyspace takes is the sum over its tables.
//!
//! What is counted moves with the rows: what is said about their removal, to clients,
//! replicas and the log, is not counted while it is on its way, or each row that goes would
//! be a reason for the next.
//!
//! Invariants: no more than one row goes beyond what is missing. One call does a bounded
//! amount of work (`maxmemory-eviction-tenacity` says how much), and what is left to do is
//! continued by ticks; while there is anything to evict no command is refused.
//! Not here: the limits and what tables say of them (`eviction`), which row is the next to
//! go (`keyspace::victim`), how large values are freed (`reclaim`).

use crate::engine::Engine;
use crate::engine::relief::Relief;
use crate::engine::shared::Shared;
use crate::governed;
use crate::governed::ends;
use crate::host::{Host, Outgoing};
use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::Args;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::eviction::FREED_PER_WORK;
use keyward_store::tables::eviction::{Region, Share};

/// Rows looked at to find one that goes, however many are asked for: work is bounded.
const SAMPLES_MAX: usize = 64;
/// Messages to clients that are one piece of work.
const MESSAGES_PER_WORK: usize = 8;
/// What a step of a large end takes.
const WORK_OF_ENDS: usize = 16;

/// Whose command room is made for.
#[derive(Debug, Default)]
struct Caller<'a> {
    /// Its session; `None` between commands.
    session: Option<&'a mut Session>,
    /// Bytes of the buffer to which its replies are written.
    reply_bytes: usize,
}

/// What must not take more than so much.
#[derive(Debug)]
enum Limit {
    /// The server, these bytes.
    Server(u64),
    /// A keyspace, the bytes its schema says.
    Keyspace(Share),
}

/// How a limit is kept.
enum Kept {
    /// Memory is within it.
    Within,
    /// It is not, but there is more that can go.
    NotYet,
    /// It is not, and nothing more can go.
    Impossible,
}

impl Engine {
    /// Whether there is a limit that may not be kept.
    #[inline(always)]
    pub(crate) fn may_lack_memory(&self) -> bool {
        self.shared.tunables.memory.bytes_max > 0 || !self.keys.are_quotas_kept()
    }

    /// Makes room before a command, or refuses it.
    pub(crate) fn make_room(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        (command, args): (&'static Command, Args<'_>),
        reply_bytes: usize,
    ) -> Result<(), WireError> {
        self.evict(host, Caller { session: Some(&mut *session), reply_bytes });
        if self.shared.relief.refuses(session.db) && self.needs_memory(session, command, args) {
            let concerns = |share: &Share| self.concerns(share, session, command, args);
            let refusal = self.shared.relief.refusal(&self.keys, session.db, concerns);
            return refusal.map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Does as much eviction as may be done at a time, for nobody's command; returns whether
    /// there is more to do.
    pub(crate) fn evict_between_commands(&mut self, host: &mut dyn Host) -> bool {
        self.evict(host, Caller::default())
    }

    /// Does as much eviction as may be done at a time; returns whether there is
    /// more to do.
    fn evict(&mut self, host: &mut dyn Host, mut caller: Caller<'_>) -> bool {
        self.shared.relief = match self.shared.pause {
            // During a pause the data stay as they are.
            Some(_) => Relief::default(),
            None => self.relieve(host, &mut caller),
        };
        self.shared.relief.is_underway
    }

    /// Frees and evicts until memory is within all limits or enough work was done.
    fn relieve(&mut self, host: &mut dyn Host, caller: &mut Caller<'_>) -> Relief {
        let mut work = self.shared.tunables.memory.work_max();
        let mut relief = Relief::default();
        for share in self.keys.exceeded_quotas() {
            let limit = Limit::Keyspace(share.clone());
            match self.keep_within(&limit, host, caller, &mut work) {
                Kept::Within => {}
                Kept::NotYet => relief.is_underway = true,
                Kept::Impossible => relief.full.push(share),
            }
        }
        let limit = Limit::Server(self.shared.tunables.memory.bytes_max);
        match self.keep_within(&limit, host, caller, &mut work) {
            Kept::Within => {}
            Kept::NotYet => relief.is_underway = true,
            Kept::Impossible => relief.is_impossible = true,
        }
        relief
    }

    fn keep_within(
        &mut self,
        limit: &Limit,
        host: &mut dyn Host,
        caller: &mut Caller<'_>,
        work: &mut usize,
    ) -> Kept {
        while self.is_exceeded(limit, host, caller) {
            if *work == 0 {
                return Kept::NotYet;
            }
            let (region, frees) = match limit {
                // What is no longer reachable goes before what still is.
                Limit::Server(_) => {
                    let all = Region::of(0..self.keys.database_count());
                    (all, self.keys.reclaim.step(FREED_PER_WORK) > 0 || self.keys.weed())
                }
                Limit::Keyspace(Share { db, tables, .. }) => {
                    (Region { dbs: *db..*db + 1, tables: tables.clone() }, false)
                }
            };
            // What takes more room than it must is packed before anything goes, and what has
            // gone for everybody is removed.
            let done = match frees {
                true => 1,
                false if self.keys.has_pending() => {
                    ends::step(&mut self.keys, &mut self.shared, host);
                    WORK_OF_ENDS
                }
                false => self.keys.pack(region.dbs.clone(), 1),
            };
            let done = match done {
                0 => match self.evict_one(&region, host, caller) {
                    Some(done) => done,
                    None => return Kept::Impossible,
                },
                done => done,
            };
            *work = work.saturating_sub(done);
        }
        Kept::Within
    }

    fn is_exceeded(&mut self, limit: &Limit, host: &mut dyn Host, caller: &Caller<'_>) -> bool {
        match limit {
            Limit::Server(0) => false,
            Limit::Server(bytes_max) => {
                let bytes_max = *bytes_max;
                let used = host.used_memory();
                used > bytes_max
                    && used.saturating_sub(self.outgoing_bytes(host, caller)) > bytes_max
            }
            Limit::Keyspace(share) => self.keys.exceeds_quota(share),
        }
    }

    /// Bytes that are on their way to files, replicas and clients: removing rows adds to
    /// them, so none goes because of them.
    fn outgoing_bytes(&self, host: &mut dyn Host, caller: &Caller<'_>) -> u64 {
        let Shared { outbox, tracking, replicas, log, .. } = &self.shared;
        let told = outbox.heap_bytes() + tracking.collected_bytes();
        let pushed = caller.session.as_ref().map_or(0, |session| session.pushes.capacity());
        let recorded =
            self.keys.captured_bytes() + self.keys.effects.recorded_bytes() + log.heap_bytes();
        let replicas: Vec<ClientId> = replicas.all().iter().map(|one| one.client).collect();
        let outgoing = Outgoing { replicas: &replicas, reply_bytes: caller.reply_bytes };
        let recorded = recorded + self.shared.held_stream_bytes();
        (told + pushed + recorded) as u64 + host.outgoing_memory(&outgoing)
    }

    /// Removes the row of these tables that is the next to go, and what depended on
    /// it, and tells whoever is concerned. Returns how much work that was.
    fn evict_one(
        &mut self,
        region: &Region,
        host: &mut dyn Host,
        caller: &mut Caller<'_>,
    ) -> Option<usize> {
        let samples = self.shared.tunables.memory.samples.min(SAMPLES_MAX);
        let done = self.keys.evict_one(region, samples)?;
        governed::follow_ended_by_itself(&mut self.keys, &mut self.shared, host);
        if self.keys.changes.news.is_empty() {
            return Some(done);
        }
        let told = self.shared.outbox.len();
        self.shared.spread_news(&mut self.keys, caller.session.as_deref_mut());
        Some(done + (self.shared.outbox.len() - told) / MESSAGES_PER_WORK)
    }

    /// Whether a command may add to a keyspace: to one whose keys it names, or to any where it
    /// may name them later.
    fn concerns(
        &self,
        share: &Share,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        let database = self.keys.database_at(share.db);
        let runs_others = session.transaction.is_some() || !command.flags.has(Flag::DenyOom);
        if runs_others {
            return true;
        }
        command.keys_in(args).any(|key| {
            let table = database.table_of(args.at(key.index));
            share.tables.contains(&usize::from(table.0))
        })
    }

    /// Whether a command is refused while there is no memory. What is queued in a
    /// transaction takes memory too.
    fn needs_memory(&self, session: &Session, command: &Command, args: Args<'_>) -> bool {
        let takes = |command: &Command, args: Args<'_>| {
            command.flags.has(Flag::DenyOom) || self.shared.scripts.needs_memory(command.id, args)
        };
        match (&session.transaction, command.id) {
            (Some(transaction), CommandId::Exec) => {
                transaction.queue.iter().any(|(queued, args)| takes(queued, args.args()))
            }
            (Some(_), CommandId::Discard | CommandId::Quit | CommandId::Reset) => false,
            (Some(_), _) => true,
            (None, _) => takes(command, args),
        }
    }
}
