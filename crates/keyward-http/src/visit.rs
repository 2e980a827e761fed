//! Visits: commands of HTTP's users, through the same queue as everybody's.
//!
//! Owns a connection to the server within the process: a pair of sockets, one end of which the
//! server takes as a client's. So users, rights, limits and LOADING hold for HTTP as for any
//! client. Every wait has an end.

use crate::access::Credentials;
use keyward_resp::{Frame, FrameLimits, FrameParser};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long the server may take to reply.
pub(crate) const REPLY_MAX: Duration = Duration::from_secs(2);
/// Bytes of a reply that are read.
const REPLY_BYTES_MAX: usize = 2 << 20;

/// A connection to the server within the process.
#[derive(Debug)]
pub(crate) struct Visit {
    stream: UnixStream,
    patience: Duration,
}

impl Visit {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Visit> {
        stream.set_nonblocking(false)?;
        Ok(Visit { stream, patience: REPLY_MAX })
    }

    /// One that waits longer for replies.
    pub(crate) fn patient(self, patience: Duration) -> Visit {
        Visit { patience, ..self }
    }

    /// Sends commands together, and returns their replies.
    pub(crate) fn call(&mut self, commands: &[&[&[u8]]]) -> io::Result<Vec<Frame>> {
        let mut bytes = Vec::new();
        for words in commands {
            let words = words.iter().map(|word| Frame::Bulk(word.to_vec())).collect();
            Frame::Array(words).encode(&mut bytes);
        }
        self.stream.set_write_timeout(Some(REPLY_MAX))?;
        self.stream.write_all(&bytes)?;
        let until = Instant::now() + self.patience;
        let (mut replies, mut received) = (Vec::new(), Vec::new());
        let mut parser = FrameParser::new(FrameLimits::default());
        while replies.len() < commands.len() {
            match parser.next(&received).map_err(io::Error::other)? {
                Some(reply) => replies.push(reply),
                None => self.receive(until, &mut received)?,
            }
        }
        Ok(replies)
    }

    /// The same as a user.
    pub(crate) fn call_as(
        &mut self,
        who: Option<&Credentials>,
        commands: &[&[&[u8]]],
    ) -> io::Result<Vec<Frame>> {
        let auth = who.map(|who| [&b"AUTH"[..], &who.user, &who.password]);
        let all: Vec<&[&[u8]]> =
            auth.iter().map(|words| &words[..]).chain(commands.iter().copied()).collect();
        let mut replies = self.call(&all)?;
        Ok(replies.split_off(usize::from(auth.is_some())))
    }

    fn receive(&mut self, until: Instant, received: &mut Vec<u8>) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if received.len() > REPLY_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                received.extend(buffer.iter().take(read));
                Ok(())
            }
        }
    }
}
