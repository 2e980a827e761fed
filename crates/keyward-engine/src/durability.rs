//! What the host needs to make the engine outlive its process: snapshots and loading.
//!
//! Owns nothing: the engine's interface for persistence. Bytes go out and come in here;
//! files are the host's.

use crate::context::{Ctx, Ending, Mode};
use crate::engine::Engine;
use crate::host::Host;
use crate::keyspace::SnapshotProgress;
use crate::session::{ClientId, Session};
use crate::snapshot::load::{OnConflict, load};
use crate::snapshot::{self, LoadError, Loaded, Snapshot, SnapshotOptions};
use keyward_commands::CommandId;
use keyward_resp::{Args, ReplyWriter};
use std::io::Read;

impl Engine {
    /// Says whether writes are refused since a snapshot could not be written.
    pub fn refuse_writes(&mut self, refuses: bool) {
        self.shared.refuses_writes = refuses;
    }

    /// Everything there is at this instant, ready to be written.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(&self.keys, &self.shared)
    }

    /// Loads a snapshot, before clients come. What was loaded before an error is there.
    pub fn load(
        &mut self,
        host: &mut dyn Host,
        source: &mut dyn Read,
    ) -> Result<Loaded, LoadError> {
        let mut session = Session::new(ClientId(0), self.keys.now_ms(), true);
        let Engine { keys, shared, .. } = self;
        let mut out = Vec::new();
        let mut ctx = Ctx {
            command: &keyward_commands::COMMANDS[CommandId::FunctionLoad as usize],
            args: Args::new(&[], &[]),
            reply: ReplyWriter::new(&mut out, session.protocol),
            keys,
            session: &mut session,
            shared,
            host,
            mode: Mode::Queued,
            known: &[],
            ending: Ending::Answered,
            until: None,
        };
        load(&mut ctx, source, OnConflict::Refuse)
    }

    /// Begins a snapshot of this instant that is taken in steps while commands run. There
    /// must be no other.
    pub fn begin_snapshot(&mut self, options: SnapshotOptions) {
        snapshot::begin(&mut self.keys, &self.shared, options);
    }

    /// Goes on with the snapshot for a fraction of a millisecond; whether it is over.
    /// `receive` takes the bytes of the file, all but its
    /// [end](keyward_rdb::Ending).
    pub fn step_snapshot(&mut self, receive: &mut dyn FnMut(Vec<u8>)) -> bool {
        self.keys.step_snapshot(receive)
    }

    /// Nobody wants the snapshot any more. Its steps go on until it is over, and give
    /// nothing.
    pub fn abandon_snapshot(&mut self) {
        self.keys.abandon_snapshot();
    }

    /// How far the snapshot is, if one is being taken.
    pub fn snapshot_progress(&self) -> Option<SnapshotProgress> {
        self.keys.snapshot_progress()
    }

    /// Bytes that the snapshot has captured since its last step.
    pub fn captured_bytes(&self) -> usize {
        self.keys.captured_bytes()
    }
}
