//! One connection: what it has received, and how far that is.
//!
//! Owns the request parser and the input that is not complete yet.
//!
//! Invariants: input is read into a buffer all connections share, and copied into
//! a buffer of the connection only if a command is incomplete. So an idle connection holds
//! none. Its other half, which everybody sees, is its [`Peer`].
//! Not here: what a connection does in its turn (`serve/turn.rs`).

use crate::clock;
use crate::net::bell::Bell;
use crate::net::peer::{Peer, Peers};
use crate::net::selector::Ready;
use crate::net::transport::Stream;
use keyward_engine::ClientId;
use keyward_resp::RequestParser;
use std::rc::Rc;

/// Least room for a read into a connection's own buffer.
const READ_BYTES_MIN: usize = 16 * 1024;
/// Commands of the first batch of a connection, of which nobody knows what they cost.
const FIRST_BATCH_COMMANDS: u16 = 16;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: ClientId,
    pub(crate) peer: Rc<Peer>,
    pub(crate) parser: RequestParser,
    /// What has been received of commands that are not complete or must wait.
    pub(crate) input: Vec<u8>,
    /// `input` may begin with whole commands, which wait for the next turn.
    pub(crate) has_commands: bool,
    /// Commands of the next batch.
    pub(crate) batch_commands: u16,
    /// The transport may have more than has been read.
    pub(crate) has_unread: bool,
    /// The peer sends no more; of the end itself no edge tells.
    pub(crate) is_hung_up: bool,
    /// The connection ends once the replies are sent.
    pub(crate) is_closing: bool,
    /// It is the one to the server that this one follows.
    pub(crate) is_primary: bool,
}

impl Connection {
    /// `unsent` are replies the socket has yet to take, and tells when it does.
    pub(crate) fn new(
        peers: &Peers,
        socket: Stream,
        client: ClientId,
        unsent: Vec<u8>,
        bell: Bell,
    ) -> Connection {
        let addresses = socket.addresses();
        let peer = Peer::new(addresses, socket, unsent, bell, clock::now_us() / 1000);
        let peer = Rc::new(peer);
        peers.insert(client, Rc::clone(&peer));
        Connection {
            client,
            peer,
            parser: RequestParser::new(),
            input: Vec::new(),
            has_commands: false,
            batch_commands: FIRST_BATCH_COMMANDS,
            has_unread: false,
            is_hung_up: false,
            is_closing: false,
            is_primary: false,
        }
    }

    /// What carries its bytes.
    pub(crate) fn socket(&self) -> &Stream {
        &self.peer.socket
    }

    /// The socket has told something.
    pub(crate) fn hear(&mut self, ready: &Ready) {
        self.has_unread = true;
        self.is_hung_up |= ready.is_read_closed;
    }

    /// Makes room for the rest of an argument, as far as that is known. What is announced
    /// may never come, so there is room for no more than has come already.
    pub(crate) fn make_room(&mut self) {
        match self.parser.missing_bytes(&self.input) {
            0 => self.input.reserve(READ_BYTES_MIN),
            missing => {
                self.input.reserve_exact(missing.min(self.input.len().max(READ_BYTES_MIN)));
            }
        }
    }
}
