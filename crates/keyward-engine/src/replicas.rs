//! SYNC: clients that are shown every change as the command that makes it.
//!
//! Owns who follows and what it is sent: a snapshot of this instant, then the log of
//! effects as commands, those of a unit between MULTI and EXEC, with a SELECT wherever
//! the database changes.
//!
//! Invariant: a change is in a replica's snapshot or in its stream, never in both. The
//! log is recorded while there is a replica, and emptied by sending it.
//! Not here: partial resynchronisation, acknowledgements, keep-alives in the stream, and
//! being a replica oneself.

use crate::context::{Ctx, Outcome};
use crate::courier::Delivery;
use crate::effects::Effect;
use crate::keyspace::Keyspace;
use crate::session::{ClientId, Session};
use crate::snapshot::{Coverage, Snapshot, SnapshotOptions};
use keyward_commands::WireError;
use keyward_resp::push_request;
use std::rc::Rc;

/// All replicas.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    clients: Vec<ClientId>,
    /// The database the stream has selected; `None` if one of them has not heard of it.
    selected: Option<usize>,
    /// How many snapshots were sent.
    pub(crate) snapshots: u64,
}

impl Replicas {
    pub(crate) fn count(&self) -> usize {
        self.clients.len()
    }

    /// Sends what was recorded since the last call.
    pub(crate) fn feed(&mut self, keys: &mut Keyspace, outbox: &mut Vec<Delivery>) {
        if self.clients.is_empty() || keys.effects.len() == 0 {
            return;
        }
        let stream: Rc<[u8]> = write_stream(&keys.effects.take(), &mut self.selected).into();
        let outputs = self.clients.iter().map(|id| Delivery::Output(*id, Rc::clone(&stream)));
        outbox.extend(outputs);
    }

    /// A replica goes.
    pub(crate) fn remove(&mut self, keys: &mut Keyspace, session: &mut Session) {
        if std::mem::take(&mut session.is_replica) {
            self.clients.retain(|client| *client != session.id);
            if self.clients.is_empty() {
                keys.effects.listen(false);
                keys.effects.take();
            }
        }
    }
}

/// Effects as the commands of a stream.
fn write_stream(effects: &[Effect], selected: &mut Option<usize>) -> Vec<u8> {
    let mut stream = Vec::new();
    for unit in effects.chunk_by(|one, next| one.unit == next.unit) {
        let is_alone = unit.len() == 1;
        for (at, effect) in unit.iter().enumerate() {
            if selected.replace(effect.db) != Some(effect.db) {
                push_request(&mut stream, ["SELECT", &effect.db.to_string()].iter());
            }
            if at == 0 && !is_alone {
                push_request(&mut stream, ["MULTI"].iter());
            }
            push_request(&mut stream, effect.command.args().iter());
        }
        if !is_alone {
            push_request(&mut stream, ["EXEC"].iter());
        }
    }
    stream
}

pub(crate) fn sync(ctx: &mut Ctx<'_>) -> Outcome {
    // Redis answers nothing at all to one who follows already.
    if ctx.session.is_replica {
        return Ok(());
    }
    let shared = &mut *ctx.shared;
    shared.replicas.feed(ctx.keys, &mut shared.outbox);
    let used_bytes = ctx.host.used_memory();
    let options = SnapshotOptions { coverage: Coverage::Everything, sums: true, used_bytes };
    let written = Snapshot::new(ctx.keys, shared).write_to(Vec::new(), options);
    let snapshot = written.map_err(|_| WireError::Err("Unable to write a snapshot"))?;
    ctx.reply.raw(format!("${}\r\n", snapshot.len()).as_bytes());
    ctx.reply.raw(&snapshot);
    shared.replicas.clients.push(ctx.session.id);
    shared.replicas.selected = None;
    shared.replicas.snapshots += 1;
    ctx.session.is_replica = true;
    ctx.keys.effects.listen(true);
    Ok(())
}
