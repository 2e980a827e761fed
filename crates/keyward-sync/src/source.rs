//! The server whose changes are stored: a connection, its requests and replies.
//!
//! Owns the client's side of the protocol. Not here: how one connects, which is told by a
//! [`Dial`].

use std::io::{self, Read, Write};

use keyward_resp::{Frame, FrameLimits, FrameParser, push_request};
use thiserror::Error;

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// A connection.
pub trait Link: Read + Write + Send {}

impl<T: Read + Write + Send> Link for T {}

/// Makes connections to the server, each time anew.
pub type Dial = Box<dyn Fn() -> io::Result<Box<dyn Link>> + Send>;

/// Why the server could not be asked.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The connection failed.
    #[error("the connection to the server failed: {0}")]
    Connection(#[from] io::Error),
    /// It does not speak the protocol.
    #[error("the server does not speak Redis's protocol")]
    Protocol,
    /// It refuses a request.
    #[error("the server refuses {0}: {1}{right}", right = lacking_right(.1))]
    Refused(&'static str, String),
}

/// What an error says that the user lacks, as ACL SETUSER writes it.
fn lacking_right(error: &str) -> String {
    if !error.starts_with("NOPERM") {
        return String::new();
    }
    let command = error.split_once("run the '").and_then(|(_, rest)| rest.split_once('\''));
    match command {
        Some((command, _)) => format!("; the user needs the right +{command}"),
        None if error.contains("a key") => {
            "; the user needs ~ for the patterns that have a sink, and for the changefeed"
                .to_owned()
        }
        None => String::new(),
    }
}

impl SourceError {
    /// Whether another attempt may succeed by itself. Who is no primary, loads, or lacks memory for
    /// now says so by a word of its own.
    pub fn may_pass(&self) -> bool {
        match self {
            SourceError::Refused(_, text) => {
                let lasting = ["NOAUTH", "WRONGPASS", "NOPERM", "ERR", "NOPROTO", "SCHEMA"];
                let code = text.split(' ').next().unwrap_or_default();
                !lasting.contains(&code) || text.starts_with("ERR max number of clients")
            }
            SourceError::Protocol => false,
            SourceError::Connection(_) => true,
        }
    }
}

/// A connection to the server.
pub struct Source {
    link: Box<dyn Link>,
    parser: FrameParser,
    input: Vec<u8>,
}

impl Source {
    /// Takes a connection.
    pub fn new(link: Box<dyn Link>) -> Source {
        Source { link, parser: FrameParser::new(FrameLimits::default()), input: Vec::new() }
    }

    /// Connects and sends what the server wants to hear first: AUTH and the like.
    ///
    /// # Errors
    /// If nobody is there, or refuses.
    pub fn connect(dial: &Dial, greeting: &[Vec<Vec<u8>>]) -> Result<Source, SourceError> {
        let mut source = Source::new(dial()?);
        for request in greeting {
            let request: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            source.ask("the login", &request)?;
        }
        Ok(source)
    }

    /// Sends requests together and waits for the replies.
    ///
    /// # Errors
    /// If the connection fails. Errors of the server are among the replies.
    pub fn ask_all(&mut self, requests: &[Vec<&[u8]>]) -> Result<Vec<Frame>, SourceError> {
        let mut bytes = Vec::new();
        for request in requests {
            push_request(&mut bytes, request.iter());
        }
        self.link.write_all(&bytes)?;
        self.link.flush()?;
        let mut replies = Vec::with_capacity(requests.len());
        while replies.len() < requests.len() {
            match self.parser.next(&self.input).map_err(|_| SourceError::Protocol)? {
                Some(frame) => replies.push(frame),
                None => self.read()?,
            }
        }
        self.parser.consume(&mut self.input);
        Ok(replies)
    }

    /// Sends a request that is to succeed.
    ///
    /// # Errors
    /// If the connection fails or the server refuses; `what` says what then.
    pub fn ask(&mut self, what: &'static str, request: &[&[u8]]) -> Result<Frame, SourceError> {
        match self.ask_all(&[request.to_vec()])?.pop() {
            Some(Frame::Error(text)) => {
                Err(SourceError::Refused(what, String::from_utf8_lossy(&text).into_owned()))
            }
            Some(frame) => Ok(frame),
            None => Err(SourceError::Protocol),
        }
    }

    fn read(&mut self) -> Result<(), SourceError> {
        let start = self.input.len();
        self.input.resize(start + READ_BYTES, 0);
        let outcome = self.link.read(&mut self.input[start..]);
        self.input.truncate(start + *outcome.as_ref().unwrap_or(&0));
        match outcome.map_err(in_words)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Ok(()),
        }
    }
}

/// What failed, in words where the system's own say nothing: the link's patience was at an end.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, "it has said nothing for too long")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_says_nothing_is_told_in_words() {
        let (link, _other) = std::os::unix::net::UnixStream::pair().expect("a connection");
        link.set_read_timeout(Some(std::time::Duration::from_millis(1))).expect("its patience");
        let error = Source::new(Box::new(link)).ask("PING", &[b"PING"]).expect_err("no reply");
        let told = "the connection to the server failed: it has said nothing for too long";
        assert_eq!(error.to_string(), told);
    }

    #[test]
    fn a_right_that_lacks_is_named() {
        let check = |error: &str, expected: &str| {
            let told = SourceError::Refused("X", error.to_owned()).to_string();
            assert_eq!(told, format!("the server refuses X: {error}{expected}"));
        };
        let command = "NOPERM User storing has no permissions to run the 'time' command";
        check(command, "; the user needs the right +time");
        let command = "NOPERM User storing has no permissions to run the 'xinfo|groups' command";
        check(command, "; the user needs the right +xinfo|groups");
        check(
            "NOPERM No permissions to access a key",
            "; the user needs ~ for the patterns that have a sink, and for the changefeed",
        );
        check("ERR unknown command 'time'", "");
    }
}
