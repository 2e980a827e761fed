//! `keyward ping`: whether a server answers.
//!
//! For health checks of containers and scripts that wait for a server. A server that loads,
//! wants a password or cannot be reached has answered: no.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use clap::Args;
use keyward_backup::{Address, Line};
use keyward_resp::push_request;

use super::backup::duration;
use super::login::{Login, login_words};
use crate::answer::Answer;
use crate::terminal::Terminal;

/// Longest line of an answer.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Ask a server whether it serves
///
/// Sends PING, after AUTH if there is a password: in the URL, or in REDISCLI_AUTH. Prints
/// what comes back. Exits with 0 if that is PONG; with 1 if it is not (the server is loading,
/// or wants a password), or if nothing comes in time; with 2 if it cannot ask, since an option
/// is wrong or a certificate cannot be read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward ping\n  keyward ping 10.0.0.7:7000 --within 2s\n  \
    keyward ping /run/keyward/keyward.sock\n  keyward ping redis://user:password@10.0.0.7:6379\n  \
    keyward ping rediss://10.0.0.7:6380 --cacert ca.crt --user health")]
pub(crate) struct Ping {
    /// Where the server is: HOST[:PORT], redis://[[user:]password@]host[:port] (rediss:// is by
    /// TLS) or the path of a Unix socket; 127.0.0.1:6379 if nothing is said
    address: Option<String>,
    /// How long all of it may take
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    within: Duration,
    #[command(flatten)]
    login: Login,
}

impl Ping {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let address = self.login.address(self.address.as_deref())?;
        address.check_certificates()?;
        let end = Instant::now() + self.within;
        let answer = match ask(&address, end) {
            Ok(answer) => answer,
            Err(error) => {
                terminal.say(&format!("keyward: {address}: {}", in_words(&error)))?;
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
                terminal.say(&format!("keyward: {address} answers {other}"))?;
                Ok(Answer::No)
            }
        }
    }
}

/// What a server says to PING, or to AUTH if that is no OK.
fn ask(address: &Address, end: Instant) -> io::Result<String> {
    let mut connection = address.connect_within(left(end)?)?;
    if let Some(login) = login_words(address) {
        let answer = call(&mut connection, &login, end)?;
        if answer != "+OK" {
            return Ok(answer);
        }
    }
    call(&mut connection, &["PING".to_owned()], end)
}

/// The time that is left.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Sends a command; the line that comes back.
fn call(connection: &mut Line, words: &[String], end: Instant) -> io::Result<String> {
    let mut request = Vec::new();
    push_request(&mut request, words.iter());
    connection.set_patience(left(end)?, left(end)?)?;
    connection.write_all(&request)?;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE_BYTES_MAX {
        connection.set_patience(left(end)?, left(end)?)?;
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
