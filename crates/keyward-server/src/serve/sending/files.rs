//! Snapshots that were written as a whole, for those who must know how long one is.
//!
//! Owns the task that sends them, one after the other; meanwhile other files are written. A
//! thread reads, a few parts ahead, and goes on when they are with the connections.
//! Not here: making them (`sending`).

use super::{BEHIND_PAUSE, Group};
use crate::files::written_sync::Written;
use crate::net::selector::Alarm;
use crate::serve::server::Server;
use keyward_persist::disk::Source;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::task::Poll;

/// Bytes that are read at a time.
const PART_BYTES: usize = 64 * 1024;
/// Parts that are read ahead.
const PARTS_AHEAD: usize = 4;

/// Sends snapshots whenever there are some.
pub(crate) async fn send_written(server: Rc<Server>) {
    let written = Rc::clone(&server.core.borrow().host.sync_written);
    loop {
        written.taken().await;
        loop {
            let next = server.core.borrow_mut().host.written_syncs.pop_front();
            let Some(next) = next else { break };
            send(&server, next).await;
        }
    }
}

async fn send(server: &Rc<Server>, Written { clients, source }: Written) {
    let group = Group::new(server, clients);
    for client in &group.clients {
        server.core.borrow_mut().engine.send_full_sync(*client);
    }
    group.push(format!("${}\r\n", source.bytes).as_bytes());
    let alarm = server.core.borrow().host.alarm.clone();
    let (sender, parts) = sync_channel(PARTS_AHEAD);
    std::thread::spawn(move || read(source, &sender, &alarm));
    loop {
        while group.is_behind() {
            server.agenda.sleep(BEHIND_PAUSE).await;
        }
        if group.peers().next().is_none() {
            return;
        }
        match next(&parts).await {
            Ok(bytes) if bytes.is_empty() => return group.end(),
            Ok(bytes) => group.push(&bytes),
            Err(error) => {
                tracing::warn!(%error, "a snapshot for replicas cannot be read");
                group.peers().for_each(|(_, peer)| peer.close());
                return;
            }
        }
    }
}

/// Reads all of a file, as fast as its parts are taken; an empty part is its end.
fn read(source: Source, parts: &SyncSender<io::Result<Vec<u8>>>, alarm: &Alarm) {
    let mut left = source.bytes;
    let mut content = source.content;
    loop {
        let mut part = Vec::with_capacity(PART_BYTES);
        let wanted = left.min(PART_BYTES as u64);
        let read = content.by_ref().take(wanted).read_to_end(&mut part);
        let outcome = match read {
            Ok(count) if (count as u64) < wanted => Err(io::ErrorKind::UnexpectedEof.into()),
            other => other.map(|_| part),
        };
        left -= wanted;
        let is_last = wanted == 0 || outcome.is_err();
        // Nobody wants it any more when those who did are gone.
        let is_gone = parts.send(outcome).is_err();
        alarm.ring();
        if is_last || is_gone {
            break;
        }
    }
}

/// The next part.
async fn next(parts: &Receiver<io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    std::future::poll_fn(|_| match parts.try_recv() {
        Ok(part) => Poll::Ready(part),
        Err(TryRecvError::Empty) => Poll::Pending,
        Err(TryRecvError::Disconnected) => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
    })
    .await
}
