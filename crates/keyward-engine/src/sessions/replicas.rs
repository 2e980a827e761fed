//! SYNC: clients that are shown every change as the command that makes it.
//!
//! Owns who follows and what it is sent: a snapshot of this instant, then the log of
//! effects as commands, those of a unit between MULTI and EXEC, with a SELECT wherever
//! the database changes. Who wants the snapshot only, and takes one whose length is not
//! known, is sent it by the host in steps, while others are served.
//!
//! Invariant: a change is in a replica's snapshot or in its stream, never in both. The
//! log is recorded while somebody wants it, and emptied by sending it.
//! Not here: partial resynchronisation, acknowledgements, keep-alives in the stream, and
//! being a replica oneself.

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::courier::{Deliveries, Delivery};
use crate::sessions::session::Session;
use crate::sessions::stream::push_stream;
use crate::snapshot::{Coverage, Snapshot, SnapshotOptions};
use keyward_commands::{WireError, args};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::effects::Effect;
use std::rc::Rc;

/// An address is shorter. The number is Redis's.
const ADDRESS_BYTES: usize = 256;

/// How a client wants a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// It takes one that ends with a mark.
    takes_mark: bool,
    /// It wants no changes after it.
    is_last: bool,
}

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

    pub(crate) fn clients(&self) -> &[ClientId] {
        &self.clients
    }

    /// Sends effects.
    pub(crate) fn feed(&mut self, effects: &[Effect], outbox: &mut Deliveries) {
        if self.clients.is_empty() {
            return;
        }
        let mut stream = Vec::new();
        push_stream(effects, &mut self.selected, |_| true, &mut stream);
        let stream: Rc<[u8]> = stream.into();
        for id in &self.clients {
            outbox.push(Delivery::Output(*id, Rc::clone(&stream)));
        }
    }

    /// A client goes; whether it was a replica.
    pub(crate) fn remove(&mut self, session: &mut Session) -> bool {
        self.clients.retain(|client| *client != session.id);
        std::mem::take(&mut session.is_replica)
    }
}

pub(crate) fn sync(ctx: &mut Ctx<'_>) -> Outcome {
    // Redis answers nothing at all to one who follows already.
    if ctx.session.is_replica {
        return Ok(());
    }
    let Wishes { takes_mark, is_last } = ctx.session.wishes;
    if takes_mark && is_last && ctx.host.send_snapshot(ctx.session.id) {
        ctx.session.is_replica = true;
        ctx.shared.replicas.snapshots += 1;
        return Ok(());
    }
    let shared = &mut *ctx.shared;
    shared.feed_followers(ctx.keys);
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
    shared.listen(ctx.keys);
    Ok(())
}

pub(crate) fn replconf(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len().is_multiple_of(2) {
        return Err(WireError::Syntax);
    }
    for index in (1..ctx.args.len()).step_by(2) {
        let (option, value) = (ctx.args.at(index), ctx.args.at(index + 1));
        match option.to_ascii_lowercase().as_slice() {
            b"listening-port" => drop(args::integer(value)?),
            b"ip-address" if value.len() < ADDRESS_BYTES => {}
            b"ip-address" => {
                let text = b"ERR REPLCONF ip-address provided by replica instance is too long: ";
                let length = value.len().to_string();
                return Err(WireError::line(&[text, length.as_bytes(), b" bytes"]));
            }
            b"capa" => ctx.session.wishes.takes_mark |= args::is(value, "eof"),
            // What a replica tells of its progress is not answered.
            b"ack" | b"getack" => return Ok(()),
            b"rdb-only" => ctx.session.wishes.is_last = args::integer_within(value, 0, 1)? == 1,
            _ => return Err(WireError::line(&[b"ERR Unrecognized REPLCONF option: ", option])),
        }
    }
    ctx.reply.ok();
    Ok(())
}
