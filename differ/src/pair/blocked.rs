//! Clients that wait.

use super::{Failure, NAMES, Outcome, Pair, differs};
use crate::step::{Check, Step};
use keyward_resp::{Frame, push_request};
use keyward_testkit::{Client, Reply};
use std::time::{Duration, Instant};

/// How long a server may take to block a client or to answer it.
const BLOCK_TIMEOUT: Duration = Duration::from_secs(10);

impl Pair {
    /// Sends a command that may block, and learns whether it did on both servers.
    pub(super) fn block(&mut self, step: &Step) -> Outcome {
        let connection = &mut self.connections[step.connection];
        let mut request = Vec::new();
        push_request(&mut request, step.command.iter());
        let mut replies = [None, None];
        for side in [0, 1] {
            let lost = |error| Failure::Lost(NAMES[side], error);
            connection.clients[side].send(&request).map_err(lost)?;
        }
        for side in [0, 1] {
            let (client, control) = (&mut connection.clients[side], &mut self.control[side]);
            replies[side] = reply_or_block(client, control, &connection.ids[side])
                .map_err(|error| Failure::Lost(NAMES[side], error))?;
        }
        match replies {
            [None, None] => connection.is_blocked = true,
            [Some(ours), Some(theirs)] => {
                connection.judge(&Check::Exact, false, &step.command, &ours, &theirs)?;
            }
            [ours, theirs] => {
                connection.is_blocked = true;
                let shown = |reply: Option<Reply>| {
                    reply.map_or(Frame::Simple(b"(waits)".to_vec()), |reply| reply.frame)
                };
                return Err(differs(&step.command, &shown(ours), &shown(theirs)));
            }
        }
        Ok(())
    }

    /// Ends all waiting and compares what the clients got.
    pub(super) fn settle(&mut self) -> Outcome {
        for connection in self.connections.iter_mut().filter(|connection| connection.is_blocked) {
            connection.is_blocked = false;
            let mut replies = Vec::new();
            for (side, client) in connection.clients.iter_mut().enumerate() {
                let lost = |error| Failure::Lost(NAMES[side], error);
                let command = [&b"CLIENT"[..], b"UNBLOCK", &connection.ids[side]];
                let ended = self.control[side].call(command).map_err(lost)?;
                let reply = client.receive_batch(1).map_err(lost)?.pop();
                replies.push((ended, reply.expect("there is one")));
            }
            let command = [b"(the reply of a blocked client)".to_vec()];
            let [(our_end, ours), (their_end, theirs)] = replies.as_slice() else {
                unreachable!("there are two servers")
            };
            if our_end != their_end {
                return Err(differs(&[b"CLIENT UNBLOCK".to_vec()], our_end, their_end));
            }
            if ours.bytes != theirs.bytes {
                return Err(differs(&command, &ours.frame, &theirs.frame));
            }
        }
        Ok(())
    }

    /// Ends all waiting, whatever comes of it.
    pub(super) fn settle_quietly(&mut self) -> Result<(), keyward_testkit::ClientError> {
        for connection in self.connections.iter_mut().filter(|connection| connection.is_blocked) {
            connection.is_blocked = false;
            for side in [0, 1] {
                let command = [&b"CLIENT"[..], b"UNBLOCK", &connection.ids[side]];
                self.control[side].call(command)?;
            }
        }
        Ok(())
    }
}

/// The reply, or nothing once the client is blocked.
fn reply_or_block(
    client: &mut Client,
    control: &mut Client,
    id: &[u8],
) -> Result<Option<Reply>, keyward_testkit::ClientError> {
    let deadline = Instant::now() + BLOCK_TIMEOUT;
    loop {
        let line = control.call([&b"CLIENT"[..], b"LIST", b"ID", id])?;
        let line = String::from_utf8_lossy(line.as_bytes().unwrap_or_default()).into_owned();
        if let Some(reply) = client.try_receive()? {
            return Ok(Some(reply));
        }
        if line.contains(" flags=b ") || Instant::now() > deadline {
            return Ok(None);
        }
    }
}
