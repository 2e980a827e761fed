//! A connection to the server: a pipeline of commands out, their replies back.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use keyward_resp::{Frame, FrameLimits, FrameParser, push_request};

/// How long a reply of a server that is known to answer may take.
pub(crate) const REPLY_PATIENCE: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 64 * 1024;

/// A blocking connection that speaks RESP2.
pub(crate) struct Connection {
    address: SocketAddr,
    db: u8,
    stream: TcpStream,
    parser: FrameParser,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Connection {
    /// Connects and selects a database. No reply may take longer than `patience`.
    pub(crate) fn open(address: SocketAddr, db: u8, patience: Duration) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        let parser = FrameParser::new(FrameLimits::default());
        let (input, output) = (Vec::new(), Vec::new());
        let mut connection = Connection { address, db, stream, parser, input, output };
        connection.select(db)?;
        Ok(connection)
    }

    /// Connects again, after somebody has closed it.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        *self = Connection::open(self.address, self.db, REPLY_PATIENCE)?;
        Ok(())
    }

    pub(crate) fn select(&mut self, db: u8) -> io::Result<()> {
        match self.ask(&["SELECT", &db.to_string()])? {
            Frame::Error(text) => Err(io::Error::other(String::from_utf8_lossy(&text))),
            _ => Ok(()),
        }
    }

    /// Sends one command and waits for its reply.
    pub(crate) fn ask(&mut self, command: &[&str]) -> io::Result<Frame> {
        self.push(command);
        let mut reply = None;
        self.exchange(1, |_, frame| reply = Some(frame))?;
        reply.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Adds a command to those that are sent together.
    pub(crate) fn push<T: AsRef<[u8]>>(&mut self, command: &[T]) {
        push_request(&mut self.output, command.iter());
    }

    /// Sends what was pushed, `count` commands, and hands out each reply with its place.
    pub(crate) fn exchange(
        &mut self,
        count: usize,
        mut each: impl FnMut(usize, Frame),
    ) -> io::Result<()> {
        self.stream.write_all(&self.output)?;
        self.output.clear();
        for index in 0..count {
            each(index, self.receive()?);
        }
        self.parser.consume(&mut self.input);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Frame> {
        loop {
            match self.parser.next(&self.input) {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => self.read()?,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let start = self.input.len();
        self.input.resize(start + READ_BYTES, 0);
        let outcome = self.stream.read(&mut self.input[start..]);
        self.input.truncate(start + *outcome.as_ref().unwrap_or(&0));
        match outcome {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            // A signal, which is the server's to handle.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other.map(drop),
        }
    }
}
