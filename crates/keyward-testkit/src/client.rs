//! A blocking client for tests: one command, one reply.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use keyward_resp::{Frame, FrameError, FrameLimits, FrameParser, push_request, split_words};

/// How long a reply may take before a test fails instead of hanging.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
const READ_BYTES: usize = 64 * 1024;

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    parser: FrameParser,
    input: Vec<u8>,
}

/// A reply as a value and as the bytes that came.
#[derive(Debug, Clone)]
pub struct Reply {
    /// What it says.
    pub frame: Frame,
    /// How it was written.
    pub bytes: Vec<u8>,
}

/// Why there is no reply.
#[derive(Debug)]
pub enum ClientError {
    /// The connection failed, was closed, or timed out.
    Io(io::Error),
    /// What came is no reply.
    Malformed(FrameError),
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClientError::Io(error) => write!(f, "connection: {error}"),
            ClientError::Malformed(error) => write!(f, "reply: {error}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> ClientError {
        ClientError::Io(error)
    }
}

impl Client {
    /// Connects; speaks RESP2 until `HELLO 3` is called.
    pub fn connect(address: SocketAddr) -> Result<Client, ClientError> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        let parser = FrameParser::new(FrameLimits::default());
        Ok(Client { stream, parser, input: Vec::new() })
    }

    /// Sends a command and waits for its reply.
    pub fn call<I>(&mut self, command: I) -> Result<Frame, ClientError>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator, Item: AsRef<[u8]>>,
    {
        self.send_command(command)?;
        self.receive()
    }

    /// Sends a command without waiting for its reply.
    pub fn send_command<I>(&mut self, command: I) -> Result<(), ClientError>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator, Item: AsRef<[u8]>>,
    {
        let mut request = Vec::new();
        push_request(&mut request, command.into_iter());
        self.send(&request)
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Waits for the next reply or push message.
    pub fn receive(&mut self) -> Result<Frame, ClientError> {
        self.receive_raw().map(|(frame, _)| frame)
    }

    /// Waits for the next reply or push message; returns its bytes too.
    pub fn receive_raw(&mut self) -> Result<(Frame, Vec<u8>), ClientError> {
        loop {
            if let Some(reply) = self.next_reply(0)? {
                self.parser.consume(&mut self.input);
                return Ok((reply.frame, reply.bytes));
            }
            if self.read()? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    /// Waits for so many replies, as they come to a pipeline.
    pub fn receive_batch(&mut self, count: usize) -> Result<Vec<Reply>, ClientError> {
        let mut replies = Vec::with_capacity(count);
        let mut start = 0;
        while replies.len() < count {
            match self.next_reply(start)? {
                Some(reply) => {
                    start += reply.bytes.len();
                    replies.push(reply);
                }
                None if self.read()? == 0 => {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                None => {}
            }
        }
        self.parser.consume(&mut self.input);
        Ok(replies)
    }

    /// The next reply if it is here already; does not wait.
    pub fn try_receive(&mut self) -> Result<Option<Reply>, ClientError> {
        self.stream.set_nonblocking(true)?;
        let outcome = self.read();
        self.stream.set_nonblocking(false)?;
        match outcome {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
            _ => {}
        }
        let reply = self.next_reply(0)?;
        if reply.is_some() {
            self.parser.consume(&mut self.input);
        }
        Ok(reply)
    }

    /// The reply that begins at `start` of the bytes that are here.
    fn next_reply(&mut self, start: usize) -> Result<Option<Reply>, ClientError> {
        let frame = self.parser.next(&self.input).map_err(ClientError::Malformed)?;
        let bytes = |end| self.input[start..end].to_vec();
        Ok(frame.map(|frame| Reply { frame, bytes: bytes(self.parser.parsed_bytes()) }))
    }

    /// Reads raw bytes until the server closes the connection.
    pub fn receive_to_end(&mut self) -> Result<Vec<u8>, ClientError> {
        while self.read()? > 0 {}
        Ok(std::mem::take(&mut self.input))
    }

    fn read(&mut self) -> io::Result<usize> {
        let start = self.input.len();
        self.input.resize(start + READ_BYTES, 0);
        let outcome = self.stream.read(&mut self.input[start..]);
        self.input.truncate(start + *outcome.as_ref().unwrap_or(&0));
        outcome
    }
}

/// Sends a command, written as on a command line, that is to succeed; returns its reply.
///
/// # Panics
/// If it does not.
pub fn call(client: &mut Client, command: &str) -> Frame {
    let words = split_words(command.as_bytes()).expect("quotes are closed");
    let reply = client.call(&words).unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    reply
}
