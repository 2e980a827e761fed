//! `keyward ping`: whether a server answers.
//!
//! For health checks of containers and scripts that wait for a server. A server that loads,
//! wants a password or cannot be reached has answered: no.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use keyward_backup::{Address, Line};
use keyward_resp::push_request;

use super::backup::duration;
use super::login::Login;
use crate::answer::Answer;
use crate::terminal::Terminal;

/// Longest line of an answer.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Ask a server whether it serves
///
/// Sends PING, after AUTH if there is a password: in the URL, or in REDISCLI_AUTH. Prints
/// what comes back. Exits with 0 if that is PONG; with 1 if it is not (the server is loading,
/// or wants a password), or if nothing comes in time.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward ping\n  keyward ping 10.0.0.7:7000 --within 2s\n  \
    keyward ping /run/keyward/keyward.sock\n  keyward ping redis://user:password@10.0.0.7:6379\n  \
    keyward ping rediss://10.0.0.7:6380 --cacert ca.crt --user health")]
pub(crate) struct Ping {
    /// HOST[:PORT], a URL as of `keyward backup`, or the path of a Unix socket
    #[arg(default_value = "127.0.0.1:6379")]
    address: String,
    /// How long all of it may take
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    within: Duration,
    #[command(flatten)]
    login: Login,
}

/// Where the server is.
#[derive(Debug, PartialEq)]
enum Place {
    Tcp(Address),
    Unix(PathBuf),
}

/// A connection of either kind.
trait Connection: Read + Write {
    fn set_patience(&self, patience: Duration) -> io::Result<()>;
}

impl Ping {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let place = Place::parse(&self.address, &self.login)?;
        let login = self.login.words(place.address())?;
        let end = Instant::now() + self.within;
        let answer = match ask(&place, login.as_deref(), end) {
            Ok(answer) => answer,
            Err(error) => {
                terminal.say(&format!("keyward: {place}: {}", in_words(&error)))?;
                return Ok(Answer::No);
            }
        };
        match answer.as_str() {
            "+PONG" => {
                terminal.write("PONG\n")?;
                Ok(Answer::Yes)
            }
            other => {
                let other = other.trim_start_matches('-');
                terminal.say(&format!("keyward: {place} answers {other}"))?;
                Ok(Answer::No)
            }
        }
    }
}

/// What a server says to PING, or to AUTH if that is no OK.
fn ask(place: &Place, login: Option<&[String]>, end: Instant) -> io::Result<String> {
    let mut connection = place.connect(end)?;
    if let Some(login) = login {
        let answer = call(&mut *connection, login, end)?;
        if answer != "+OK" {
            return Ok(answer);
        }
    }
    call(&mut *connection, &["PING".to_owned()], end)
}

impl Place {
    fn parse(text: &str, login: &Login) -> anyhow::Result<Place> {
        if text.contains('/') && !text.contains("://") {
            return Ok(Place::Unix(text.into()));
        }
        login.address(text).map(Place::Tcp)
    }

    fn address(&self) -> Option<&Address> {
        match self {
            Place::Tcp(address) => Some(address),
            Place::Unix(_) => None,
        }
    }

    fn connect(&self, end: Instant) -> io::Result<Box<dyn Connection>> {
        Ok(match self {
            Place::Unix(path) => Box::new(UnixStream::connect(path)?),
            Place::Tcp(address) => Box::new(address.connect_within(left(end)?)?),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Tcp(address) => address.fmt(f),
            Place::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Connection for Line {
    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        Line::set_patience(self, patience, patience)
    }
}

impl Connection for UnixStream {
    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(patience))?;
        self.set_read_timeout(Some(patience))
    }
}

/// The time that is left.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Sends a command; the line that comes back.
fn call(connection: &mut dyn Connection, words: &[String], end: Instant) -> io::Result<String> {
    let mut request = Vec::new();
    push_request(&mut request, words.iter());
    connection.set_patience(left(end)?)?;
    connection.write_all(&request)?;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE_BYTES_MAX {
        connection.set_patience(left(end)?)?;
        if connection.read(&mut byte)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closes the connection"));
        }
        if byte == *b"\n" {
            return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
        line.push(byte[0]);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "its answer does not end"))
}

/// What the system says; that a time is over has several names.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_hosts_urls_and_paths() {
        let parse = |text: &str| Place::parse(text, &Login::default());
        let check = |text: &str, host: &str, port: u16| match parse(text).expect(text) {
            Place::Tcp(address) => {
                assert_eq!((address.host.as_str(), address.port), (host, port), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        };
        check("example.org", "example.org", 6379);
        check("10.0.0.7:7000", "10.0.0.7", 7000);
        check("::1", "::1", 6379);
        check("[::1]:7000", "::1", 7000);
        check("redis://:secret@h:1", "h", 1);
        let socket = parse("/run/keyward.sock").expect("a path");
        assert_eq!(socket, Place::Unix("/run/keyward.sock".into()));
        for text in ["", "h:port", "secret@h", "http://h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
