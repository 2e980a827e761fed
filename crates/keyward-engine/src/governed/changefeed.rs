//! The changefeed: changes of rows on their way to tables of PostgreSQL (transactional outbox).
//!
//! Owns what the book does not know of it: how large it may grow, where a new epoch begins, and
//! what would take rows away from under it. The entries themselves are follow-ups of the book, in
//! the unit that changes a row, of a stream that is data like any other: it is in the log, in
//! snapshots and on replicas.
//!
//! Invariants: nothing is dropped where it is full, commands that would add to it are refused,
//! and rows that end by themselves go on; an entry's id is never given twice in an epoch. What a
//! server lost at an unclean end may be stored already, so that the first entry after a start
//! tells where it went on from.
//! Not here: what entries hold (`keyward-rules`), who stores them (`keyward-sync`).

use super::follow_up;
use crate::engine::context::{Ctx, Outcome};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_commands::{CommandId, WireError};
use keyward_resp::{ArgBuf, Args};
use keyward_store::keyspace::Keyspace;
use keyward_store::values::stream::{Stream, StreamId};
use keyward_store::values::value::{Collection, Value};

/// Whether a follow-up adds an entry to a changefeed: nothing else follows that adds to a
/// stream.
fn is_entry(args: Args<'_>) -> bool {
    args.at(0) == b"XADD"
}

/// Refuses a command whose changes a changefeed has no room for.
pub(super) fn check_room(
    keys: &Keyspace,
    shared: &Shared,
    follow_ups: &[(usize, ArgBuf)],
) -> Outcome {
    for (db, command) in follow_ups {
        let args = command.args();
        if !is_entry(args) {
            continue;
        }
        let feed = keys.key_in(*db, args.at(1));
        let bytes = keys.table(feed).heap_bytes() as u64;
        if bytes > shared.tunables.changefeed_bytes_max {
            let text = b"OOM command not allowed when a changefeed > 'changefeed-max-memory'.";
            return Err(WireError::line(&[text]));
        }
    }
    Ok(())
}

/// Before the first entry since a start comes one that says behind which the server went on.
pub(super) fn begin_epoch(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, args): (usize, Args<'_>),
) -> Outcome {
    let Some(since) = shared.changefeed_since_ms.filter(|_| is_entry(args)) else {
        return Ok(());
    };
    let feed = args.at(1);
    let Some(last) = last_id(keys, db, feed).filter(|last| last.ms < since) else {
        return Ok(());
    };
    let fork: ArgBuf = [b"XADD", feed, b"*", b"fork", last.text().as_bytes()].iter().collect();
    follow_up(keys, shared, session, host, db, fork.args())
}

fn last_id(keys: &mut Keyspace, db: usize, feed: &[u8]) -> Option<StreamId> {
    let row = keys.find(keys.key_in(db, feed))?;
    stream_of(row.value()).map(|stream| stream.facts().last_id)
}

fn stream_of(value: Value<'_>) -> Option<&Stream> {
    match value {
        Value::Object(object) => Stream::of(object),
        _ => None,
    }
}

/// Refuses to empty a database while its changefeed has entries, or rows are there that would
/// have to be in it.
pub(super) fn guard_flush(ctx: &Ctx<'_>) -> Outcome {
    let databases = match ctx.command.id {
        CommandId::FlushAll => 0..ctx.keys.database_count(),
        CommandId::FlushDb => ctx.db..ctx.db + 1,
        _ => return Ok(()),
    };
    for db in databases {
        let database = ctx.keys.database_at(db);
        let Some(book) = database.book().filter(|book| book.has_sinks()) else { continue };
        let schema = book.schema();
        for (index, table) in database.tables().iter().enumerate() {
            let pattern = index.checked_sub(1).and_then(|index| schema.id(index));
            let Some(key) = pattern.map(|id| schema.key(id)) else { continue };
            let holds = match key.is_changefeed {
                // A stream stays when it is empty.
                true => table
                    .iter()
                    .any(|row| stream_of(row.value()).is_some_and(|it| it.facts().length > 0)),
                false => key.sink.is_some() && !table.is_empty(),
            };
            if holds {
                let name = key.pattern.text();
                let text = format!(
                    "SCHEMA {name}: its rows are in a table of PostgreSQL, or on their way there, \
                     and are not flushed; delete them by DEL"
                );
                return Err(WireError::line(&[text.as_bytes()]));
            }
        }
    }
    Ok(())
}
