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
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use keyward_resp::push_request;

use super::Stop;

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may say nothing: it may write all of the snapshot before it answers.
const SILENCE_MAX: Duration = Duration::from_secs(15 * 60);
/// How often the wish to stop is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const READ_BYTES: usize = 256 * 1024;
const LINE_BYTES_MAX: usize = 64 * 1024;
const MARK_BYTES: usize = 40;

/// Where a server is, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl Address {
    /// Reads `redis://[[user][:password]@]host[:port]`.
    pub(crate) fn from_url(url: &str) -> anyhow::Result<Address> {
        const FORM: &str = "write it as redis://[user[:password]@]host[:port]";
        let rest = url.strip_prefix("redis://").or_else(|| url.strip_prefix("valkey://"));
        let rest = rest.context(FORM)?;
        let rest = rest.split(['/', '?']).next().unwrap_or_default();
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(l, p)| (Some(l), p));
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(h, p)| (h, Some(p))),
        };
        let port = port.map_or(Ok(6379), str::parse).context(FORM)?;
        let (user, password) = match login.map(|login| login.split_once(':')) {
            None => (None, None),
            Some(Some((user, password))) => (Some(decoded(user)?), Some(decoded(password)?)),
            // A single word is the password, as redis-cli has it.
            Some(None) => (None, login.map(decoded).transpose()?),
        };
        let host = if host.is_empty() { "127.0.0.1" } else { host }.to_owned();
        Ok(Address { host, port, user: user.filter(|user| !user.is_empty()), password })
    }

    fn connect(&self) -> anyhow::Result<TcpStream> {
        let mut failure = None;
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.context("the name has no address")?.into())
    }
}

/// Bytes written as `%41`.
fn decoded(text: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let digits = escaped.get(..2).context("a % without two digits")?;
        bytes.push(u8::from_str_radix(digits, 16).context("a % without two digits")?);
        rest = &escaped[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(String::from_utf8(bytes)?)
}

/// A snapshot on its way from a server.
pub(crate) struct Snapshot {
    stream: TcpStream,
    stop: Stop,
    /// What was read and not yet taken.
    input: Vec<u8>,
    rest: Rest,
}

/// What is to come of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Bytes(u64),
    Until([u8; MARK_BYTES]),
}

impl Snapshot {
    /// Asks for a snapshot, and waits until it comes.
    pub(crate) fn request(address: &Address, stop: &Stop) -> anyhow::Result<Snapshot> {
        let place = || format!("{}:{}", address.host, address.port);
        let stream = address.connect().with_context(|| format!("cannot connect to {}", place()))?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(CONNECT_PATIENCE))?;
        let rest = Rest::Bytes(0);
        let mut snapshot = Snapshot { stream, stop: stop.clone(), input: Vec::new(), rest };
        snapshot.rest = snapshot.converse(address).with_context(place)?;
        Ok(snapshot)
    }

    fn converse(&mut self, address: &Address) -> anyhow::Result<Rest> {
        if let Some(password) = &address.password {
            let words = ["AUTH"].into_iter().chain(address.user.as_deref());
            let words: Vec<&str> = words.chain([password.as_str()]).collect();
            let answer = self.call(&words)?;
            ensure!(answer == "+OK", "{}", refusal(&answer));
        }
        // Where these are known there is no stream after the snapshot, and no file for it
        // on the server. Where they are not there is an error, which changes nothing.
        self.call(&["REPLCONF", "capa", "eof"])?;
        self.call(&["REPLCONF", "rdb-only", "1"])?;
        let answer = self.call(&["SYNC"])?;
        let Some(head) = answer.strip_prefix('$') else { bail!("{}", refusal(&answer)) };
        match head.strip_prefix("EOF:").map(|mark| mark.as_bytes().try_into()) {
            Some(mark) => Ok(Rest::Until(mark.context("a mark that is not of 40 bytes")?)),
            None => Ok(Rest::Bytes(head.parse().context("a length that is no number")?)),
        }
    }

    fn call(&mut self, words: &[&str]) -> anyhow::Result<String> {
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

    fn line(&mut self) -> anyhow::Result<String> {
        loop {
            if let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&self.input[..end]).trim_end().to_owned();
                self.input.drain(..=end);
                return Ok(line);
            }
            ensure!(self.input.len() <= LINE_BYTES_MAX, "an answer that does not end");
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

/// An answer that was not expected, in words.
fn refusal(answer: &str) -> String {
    let answer = answer.strip_prefix('-').unwrap_or(answer);
    let way_out = match answer.starts_with("NOAUTH") {
        true => "; say its password with --password or in REDISCLI_AUTH",
        false => "",
    };
    format!("the server answers {answer:?}{way_out}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let check =
            |url: &str, host: &str, port: u16, user: Option<&str>, password: Option<&str>| {
                let expected = Address {
                    host: host.to_owned(),
                    port,
                    user: user.map(str::to_owned),
                    password: password.map(str::to_owned),
                };
                assert_eq!(Address::from_url(url).expect(url), expected, "{url}");
            };
        check("redis://localhost", "localhost", 6379, None, None);
        check("redis://:pass@h:7000/3", "h", 7000, None, Some("pass"));
        check("redis://pass@h", "h", 6379, None, Some("pass"));
        check("redis://me:a%40b%3a@h:1", "h", 1, Some("me"), Some("a@b:"));
        check("valkey://[::1]:7000", "::1", 7000, None, None);
        for url in ["localhost", "http://h", "redis://h:port", "redis://a%4@h"] {
            assert!(Address::from_url(url).is_err(), "{url}");
        }
    }
}
