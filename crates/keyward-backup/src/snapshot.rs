//! A running server, asked for a snapshot.
//!
//! SYNC is what every Redis, Valkey and Keyward answers over any connection with a
//! snapshot of one instant, without writing over the server's own files: a replica begins
//! with it. So this works from another machine and needs no access to the server's disk.
//! What would follow the snapshot, the stream of changes, is never read: the connection
//! is closed.
//!
//! ```text
//! answer = empty lines … | "$" length CR LF | snapshot
//!                        | "$EOF:" 40 bytes CR LF | snapshot | the same 40 bytes
//! ```
//! Not here: what the snapshot holds (`check`).

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use keyward_resp::push_request;

use crate::address::{Address, Line};
use crate::stop::Stop;

/// How long a server may take to take a request.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may say nothing: it may write all of the snapshot before it answers.
const SILENCE_MAX: Duration = Duration::from_secs(15 * 60);
/// How often the wish to stop is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const READ_BYTES: usize = 256 * 1024;
const LINE_BYTES_MAX: usize = 64 * 1024;
const MARK_BYTES: usize = 40;

/// The version by which who asks makes itself known to be sent everything that Valkey has.
const VERSION_OF_ALL: &str = "9.0.0";

/// What a snapshot is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// What the server sends to a replica that says nothing of itself.
    Common,
    /// Everything, in whatever format that takes.
    All,
}

/// A snapshot on its way from a server.
pub(crate) struct Snapshot {
    stream: Line,
    stop: Stop,
    /// What was read and not yet taken.
    input: Vec<u8>,
    rest: Rest,
}

/// Why a server sends no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It cannot be reached.
    #[error("cannot connect to {place}: {problem}")]
    Connect {
        /// The server.
        place: String,
        /// What the system says.
        problem: io::Error,
    },
    /// It was reached, and what it said was no snapshot.
    #[error("{place}: {problem}")]
    Talk {
        /// The server.
        place: String,
        /// What went wrong.
        problem: TalkError,
    },
}

impl SnapshotError {
    /// Whether the server wants to know who asks.
    pub fn wants_password(&self) -> bool {
        matches!(self, SnapshotError::Talk { problem: TalkError::Refused(answer), .. }
            if answer.starts_with("-NOAUTH"))
    }
}

/// What goes wrong between a server and whoever asks it for a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    /// The connection broke, or this side was told to stop.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The server does not want to.
    #[error("the server answers {:?}", .0.strip_prefix('-').unwrap_or(.0))]
    Refused(String),
    /// The server does not speak the protocol of replicas.
    #[error("the server answers {0}")]
    Malformed(&'static str),
}

/// What is to come of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Bytes(u64),
    Until([u8; MARK_BYTES]),
}

impl Snapshot {
    /// Asks for a snapshot, and waits until it comes.
    pub(crate) fn request(
        address: &Address,
        contents: Contents,
        stop: &Stop,
    ) -> Result<Snapshot, SnapshotError> {
        let stream = address
            .connect()
            .map_err(|problem| SnapshotError::Connect { place: address.to_string(), problem })?;
        let (stop, input, rest) = (stop.clone(), Vec::new(), Rest::Bytes(0));
        let mut snapshot = Snapshot { stream, stop, input, rest };
        let converse = snapshot.converse(address, contents);
        let failed = |problem| SnapshotError::Talk { place: address.to_string(), problem };
        snapshot.rest = converse.map_err(failed)?;
        Ok(snapshot)
    }

    fn converse(&mut self, address: &Address, contents: Contents) -> Result<Rest, TalkError> {
        self.stream.set_patience(POLL_INTERVAL, WRITE_PATIENCE)?;
        if let Some(password) = &address.password {
            let words = ["AUTH"].into_iter().chain(address.user.as_deref());
            let words: Vec<&str> = words.chain([password.as_str()]).collect();
            let answer = self.call(&words)?;
            if answer != "+OK" {
                return Err(TalkError::Refused(answer));
            }
        }
        // Where these are known there is no stream after the snapshot, and no file for it
        // on the server. Where they are not there is an error, which changes nothing.
        self.call(&["REPLCONF", "capa", "eof"])?;
        self.call(&["REPLCONF", "rdb-only", "1"])?;
        if contents == Contents::All {
            self.call(&["REPLCONF", "version", VERSION_OF_ALL])?;
        }
        let answer = self.call(&["SYNC"])?;
        let Some(head) = answer.strip_prefix('$') else { return Err(TalkError::Refused(answer)) };
        match head.strip_prefix("EOF:").map(|mark| mark.as_bytes().try_into()) {
            Some(Ok(mark)) => Ok(Rest::Until(mark)),
            Some(Err(_)) => Err(TalkError::Malformed("a mark that is not of 40 bytes")),
            None => head
                .parse()
                .map(Rest::Bytes)
                .map_err(|_| TalkError::Malformed("a length that is no number")),
        }
    }

    fn call(&mut self, words: &[&str]) -> Result<String, TalkError> {
        let mut request = Vec::new();
        push_request(&mut request, words.iter());
        self.stream.write_all(&request)?;
        loop {
            let line = self.line()?;
            if !line.is_empty() {
                return Ok(line);
            }
        }
    }

    fn line(&mut self) -> Result<String, TalkError> {
        loop {
            if let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&self.input[..end]).trim_end().to_owned();
                self.input.drain(..=end);
                return Ok(line);
            }
            if self.input.len() > LINE_BYTES_MAX {
                return Err(TalkError::Malformed("an answer that does not end"));
            }
            self.fill()?;
        }
    }

    /// Waits for more bytes.
    fn fill(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let before = self.input.len();
        self.input.resize(before + READ_BYTES, 0);
        let outcome = loop {
            if self.stop.is_set() {
                break Err(Stop::error());
            }
            match self.stream.read(&mut self.input[before..]) {
                Ok(0) => {
                    break Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server has closed the connection",
                    ));
                }
                Err(error) if is_pause(&error) && start.elapsed() < SILENCE_MAX => {}
                other => break other,
            }
        };
        self.input.truncate(before + *outcome.as_ref().unwrap_or(&0));
        outcome.map(drop)
    }

    /// How long the snapshot is, where the server has said so.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self.rest {
            Rest::Bytes(bytes) => Some(bytes),
            Rest::Until(_) => None,
        }
    }

    /// Takes the next bytes into `chunk`, which has what was there before; whether there
    /// are any.
    pub(crate) fn next(&mut self, chunk: &mut Vec<u8>) -> io::Result<bool> {
        chunk.clear();
        let taken = match &mut self.rest {
            Rest::Bytes(0) => return Ok(false),
            Rest::Bytes(rest) => {
                let rest = *rest;
                if self.input.is_empty() {
                    self.fill()?;
                }
                let taken = self.input.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
                self.rest = Rest::Bytes(rest - taken as u64);
                taken
            }
            Rest::Until(mark) => {
                let mark = *mark;
                while self.input.len() <= MARK_BYTES && self.input != mark {
                    self.fill()?;
                }
                let taken = self.input.len() - MARK_BYTES;
                if self.input.ends_with(&mark) {
                    self.rest = Rest::Bytes(0);
                }
                taken
            }
        };
        chunk.extend(self.input.drain(..taken));
        Ok(taken > 0)
    }
}

/// Whether a read ended only to look at something else.
fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
