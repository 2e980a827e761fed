//! One attempt to follow a server, on a thread of its own.
//!
//! Owns the conversation up to the stream: names are resolved anew each time, then
//!
//! ```text
//! PING, AUTH, REPLCONF listening-port, ip-address, capa, version
//! PSYNC id offset ── +CONTINUE [id] ─────────────────────▶ the stream follows
//!                 └─ +FULLRESYNC id offset, a snapshot ──▶ the stream follows
//! ```
//!
//! A Keyward that tells of the schemas of its history says so behind either. Others pass over the
//! capability that asks for it.
//! Who is silent for `repl-timeout` seconds, or says what makes no sense, is left. What a primary
//! says is logged escaped.
//! Not here: receiving the snapshot (`transfer`, `streamed`), loading it and carrying out the stream
//! (`link`).

use super::bridge::bridge;
use crate::net::selector::Alarm;
use keyward_engine::{
    Arrived, BesideOptions, LACKS_SCHEMAS, LinkStage, PrimaryAddress, Resumption, TELLS_SCHEMAS,
    Transfer,
};
use keyward_persist::disk::{Disk, Source};
use keyward_resp::push_request;
use keyward_tls::Client;
use keyward_tls::rustls::ClientConfig;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How long a read waits before it is asked whether anybody still wants it.
const PATIENCE: Duration = Duration::from_millis(500);
/// A line is no longer.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes read at a time.
const PART_BYTES: usize = 64 * 1024;
/// Bytes of the mark behind a snapshot.
pub(super) const MARK_BYTES: usize = 40;
/// An offset is no larger: nobody counts so far, and what is added to it stays a number.
const OFFSET_MAX: u64 = i64::MAX as u64 / 2;
/// What is said of a primary that is silent for too long, before and amid a snapshot.
const LATE: &str = "Timeout connecting to the MASTER...";
pub(super) const LATE_WITH_SNAPSHOT: &str = "Timeout receiving bulk data from MASTER... If the problem persists try to set the 'repl-timeout' parameter in redis.conf to a larger value.";
/// The version by which this server makes itself known: that of the Redis it is like, or, if rows
/// that are not supported are left out, one to which Valkey sends a snapshot that has such.
const VERSION: &str = keyward_commands::REDIS_VERSION;
const VERSION_OF_MORE: &str = "9.0.0";

/// What is told of an attempt.
pub(super) enum Report {
    /// It has got so far.
    Stage(LinkStage),
    /// A snapshot has.
    Transfer(Transfer),
    /// A snapshot is loaded from the connection from now on.
    Loading(Audience),
    /// What it has come to.
    Over(Box<Result<Agreement, String>>),
}

/// Who is served while a snapshot is loaded from the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Everybody: what there is is of the same history.
    Everybody,
    /// Nobody, since it is of another one, or there is nothing.
    Nobody,
}

/// How a snapshot is loaded from the connection.
pub(super) struct Beside {
    pub(super) options: BesideOptions,
    /// What there is is served meanwhile if it is of the same history.
    pub(super) swaps: bool,
    /// `key-load-delay`.
    pub(super) key_delay: i64,
    /// Set where the primary has schemas: then it goes by way of a file.
    pub(super) goes_by_file: Arc<AtomicBool>,
}

/// A connection from which the stream comes next.
pub(super) struct Agreement {
    pub(super) socket: Socket,
    /// What of the stream was received already.
    pub(super) received: Vec<u8>,
    pub(super) granted: Granted,
    /// Whether the primary tells of schemas.
    pub(super) tells_schemas: bool,
}

/// What the stream comes by: no call of it waits.
pub(super) enum Socket {
    Tcp(TcpStream),
    /// The end of a bridge to TLS.
    Unix(UnixStream),
}

/// What a primary grants.
pub(super) enum Granted {
    /// What is lacking, from a history that may have another id by now.
    Rest(Option<Vec<u8>>),
    /// Nothing: it refuses, as this sentence says.
    Nothing(String),
    /// Everything.
    Copy { id: Vec<u8>, offset: u64, source: Source },
    /// Everything, which is loaded already.
    Loaded { id: Vec<u8>, offset: u64, arrived: Box<Arrived> },
}

/// Whether a text is the id of a history.
fn is_id(text: &str) -> bool {
    text.len() == MARK_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// One attempt.
pub(super) struct Attempt {
    pub(super) primary: PrimaryAddress,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) user: Vec<u8>,
    pub(super) password: Vec<u8>,
    /// Where others reach this server.
    pub(super) own_port: i64,
    pub(super) own_address: Vec<u8>,
    pub(super) timeout: Duration,
    pub(super) resumption: Resumption,
    /// A snapshot without rows is not wanted.
    pub(super) refuses_empty: bool,
    /// Rows that are not supported are left out.
    pub(super) skips_unsupported: bool,
    /// How many databases there are.
    pub(super) databases: usize,
    /// How a snapshot is loaded from the connection; `None` if it goes by way of a file.
    pub(super) beside: Option<Beside>,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) directory: PathBuf,
    /// Nobody wants it any more.
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) reports: Sender<Report>,
    pub(super) alarm: Alarm,
}

/// Why an attempt came to nothing: a sentence for the log.
pub(super) type Problem = String;

impl Attempt {
    /// Makes the attempt, and tells of it.
    pub(super) fn run(self) {
        let outcome = self.agree();
        self.report(Report::Over(Box::new(outcome)));
    }

    pub(super) fn report(&self, report: Report) {
        // Nobody waits for it when the server goes down, or follows another one.
        let _ = self.reports.send(report);
        self.alarm.ring();
    }

    fn agree(&self) -> Result<Agreement, Problem> {
        self.report(Report::Stage(LinkStage::Connecting));
        let mut talk = self.connect()?;
        self.report(Report::Stage(LinkStage::Handshake));
        self.introduce(&mut talk)?;
        let (granted, tells_schemas) = self.ask(&mut talk)?;
        let Talk { transport, buffer, .. } = talk;
        let not_handed_over =
            |error: io::Error| format!("the connection to MASTER cannot be served: {error}");
        let socket = match transport {
            Transport::Plain(socket) => {
                socket.set_nonblocking(true).map_err(not_handed_over)?;
                Socket::Tcp(socket)
            }
            Transport::Tls(client) => {
                let socket = bridge(*client).map_err(not_handed_over)?;
                socket.set_nonblocking(true).map_err(not_handed_over)?;
                Socket::Unix(socket)
            }
        };
        Ok(Agreement { socket, received: buffer, granted, tells_schemas })
    }

    fn connect(&self) -> Result<Talk<'_>, Problem> {
        let unable =
            |error: &dyn std::fmt::Display| format!("Unable to connect to MASTER: {error}");
        let host = std::str::from_utf8(&self.primary.host).map_err(|error| unable(&error))?;
        let addresses = (host, self.primary.port).to_socket_addrs().map_err(|e| unable(&e))?;
        let mut problem = unable(&"the name has no address");
        for address in addresses {
            let connected = TcpStream::connect_timeout(&address, self.timeout);
            let outcome = connected.and_then(|socket| self.prepare(socket));
            match outcome {
                Ok(transport) => {
                    let timeout = self.timeout;
                    let is_over = &*self.is_over;
                    let (buffer, late) = (Vec::new(), LATE);
                    return Ok(Talk { transport, buffer, timeout, is_over, late });
                }
                Err(error) => problem = unable(&error),
            }
        }
        Err(problem)
    }

    /// Shakes hands if there is TLS, and bounds how long a read waits.
    fn prepare(&self, socket: TcpStream) -> io::Result<Transport> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(self.timeout))?;
        socket.set_write_timeout(Some(self.timeout))?;
        let transport = match &self.tls {
            None => Transport::Plain(socket),
            Some(config) => {
                Transport::Tls(Box::new(Client::shake_hands(Arc::clone(config), socket)?))
            }
        };
        transport.socket().set_read_timeout(Some(PATIENCE.min(self.timeout)))?;
        Ok(transport)
    }

    /// Says who this is, and what it can take.
    fn introduce(&self, talk: &mut Talk<'_>) -> Result<(), Problem> {
        let reply = talk.call(&[b"PING"])?;
        let is_fine = [b"+".as_slice(), b"-NOAUTH", b"-NOPERM", b"-ERR operation not permitted"];
        if !is_fine.iter().any(|start| reply.starts_with(start)) {
            return Err(format!("Error reply to PING from master: '{}'", shown(&reply)));
        }
        tracing::info!("Master replied to PING, replication can continue...");
        if !self.password.is_empty() {
            let reply = match self.user.is_empty() {
                true => talk.call(&[b"AUTH", &self.password])?,
                false => talk.call(&[b"AUTH", &self.user, &self.password])?,
            };
            if reply.starts_with(b"-") {
                return Err(format!("Unable to AUTH to MASTER: {}", shown(&reply)));
            }
        }
        let port = self.own_port.to_string();
        let mut wishes: Vec<Vec<&[u8]>> = vec![vec![b"listening-port", port.as_bytes()]];
        if !self.own_address.is_empty() {
            wishes.push(vec![b"ip-address", &self.own_address]);
        }
        let mut capabilities = vec!["eof", "psync2", TELLS_SCHEMAS];
        capabilities.extend(self.resumption.lacks_schemas.then_some(LACKS_SCHEMAS));
        let words = capabilities.iter().flat_map(|word| [&b"capa"[..], word.as_bytes()]);
        wishes.push(words.collect());
        let version = if self.skips_unsupported { VERSION_OF_MORE } else { VERSION };
        wishes.push(vec![b"version", version.as_bytes()]);
        for wish in wishes {
            let words = [&[b"REPLCONF".as_slice()], &wish[..]].concat();
            let reply = talk.call(&words)?;
            if reply.starts_with(b"-") {
                let name = String::from_utf8_lossy(wish[0]);
                let reply = shown(&reply);
                // Older versions know fewer of them.
                tracing::debug!(
                    "(Non critical) Master does not understand REPLCONF {name}: {reply}"
                );
            }
        }
        Ok(())
    }

    /// Asks for what is lacking, or everything; whether the primary tells of schemas, too.
    fn ask(&self, talk: &mut Talk<'_>) -> Result<(Granted, bool), Problem> {
        let Resumption { id, next, is_failover, .. } = &self.resumption;
        match *next {
            -1 => tracing::info!("Partial resynchronization not possible (no cached master)"),
            _ => tracing::info!("Trying a partial resynchronization (request {id}:{next})."),
        }
        let number = next.to_string();
        let words: [&[u8]; 4] = [b"PSYNC", id.as_bytes(), number.as_bytes(), b"FAILOVER"];
        talk.say(if *is_failover { &words } else { &words[..3] })?;
        let reply = talk.line()?;
        let text = shown(&reply);
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        let tells_schemas = words.pop_if(|word| *word == TELLS_SCHEMAS).is_some();
        let granted = match words[..] {
            ["+CONTINUE"] if *next != -1 => Ok(Granted::Rest(None)),
            ["+CONTINUE", id] if *next != -1 => Ok(Granted::Rest(Some(id.as_bytes().to_vec()))),
            ["+FULLRESYNC", id, offset] if is_id(id) => {
                let offset = offset.parse().ok().filter(|offset| *offset <= OFFSET_MAX);
                let unclear = || format!("Master replied with wrong +FULLRESYNC syntax: {text}");
                let offset = offset.ok_or_else(unclear)?;
                tracing::info!("Full resync from master: {id}:{offset}");
                self.report(Report::Stage(LinkStage::Transfer));
                let (id, own) = (id.as_bytes().to_vec(), self.resumption.id.as_bytes());
                if let Some(beside) = &self.beside {
                    let audience = match beside.swaps && id == own {
                        true => Audience::Everybody,
                        false => Audience::Nobody,
                    };
                    let arrived = Box::new(self.load(talk, beside, audience)?);
                    return Ok((Granted::Loaded { id, offset, arrived }, tells_schemas));
                }
                let source = self.receive(talk)?;
                Ok(Granted::Copy { id, offset, source })
            }
            _ if text.starts_with("-NOMASTERLINK") || text.starts_with("-LOADING") => Err(format!(
                "Master is currently unable to PSYNC but should be in the future: {text}"
            )),
            _ => Ok(Granted::Nothing(format!("Unexpected reply to PSYNC from master: {text}"))),
        };
        Ok((granted?, tells_schemas))
    }
}

/// What carries the conversation.
enum Transport {
    Plain(TcpStream),
    Tls(Box<Client>),
}

impl Transport {
    fn socket(&self) -> &TcpStream {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(client) => client.socket(),
        }
    }

    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(part),
            Transport::Tls(client) => client.read(part),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Transport::Plain(socket) => socket.write_all(bytes),
            Transport::Tls(client) => client.write_all(bytes).and_then(|()| client.flush()),
        }
    }
}

/// A conversation with a primary.
pub(super) struct Talk<'a> {
    transport: Transport,
    /// What was received and not read.
    pub(super) buffer: Vec<u8>,
    timeout: Duration,
    is_over: &'a AtomicBool,
    /// What is said of one who is silent for too long.
    pub(super) late: &'static str,
}

impl Talk<'_> {
    /// Says something, and gives the line that comes back.
    fn call(&mut self, words: &[&[u8]]) -> Result<Vec<u8>, Problem> {
        self.say(words)?;
        self.line()
    }

    fn say(&mut self, words: &[&[u8]]) -> Result<(), Problem> {
        let mut request = Vec::new();
        push_request(&mut request, words.iter());
        let sent = self.transport.write_all(&request);
        sent.map_err(|error| format!("I/O error writing to MASTER: {error}"))
    }

    /// Says that somebody is there.
    pub(super) fn say_alive(&mut self) -> Result<(), Problem> {
        let sent = self.transport.write_all(b"\n");
        sent.map_err(|error| format!("I/O error writing to MASTER: {error}"))
    }

    /// Ends the attempt if nobody wants it any more.
    pub(super) fn ask_whether_wanted(&self) -> Result<(), Problem> {
        match self.is_over.load(Ordering::Relaxed) {
            true => Err("the replica is to follow another server".to_owned()),
            false => Ok(()),
        }
    }

    /// The next line that is not empty: an empty one says that somebody is there.
    pub(super) fn line(&mut self) -> Result<Vec<u8>, Problem> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                while line.pop_if(|byte| matches!(byte, b'\r' | b'\n')).is_some() {}
                if !line.is_empty() {
                    return Ok(line);
                }
            } else if self.buffer.len() > LINE_BYTES_MAX {
                return Err("Bad protocol from MASTER: a line without an end".to_owned());
            } else {
                self.receive()?;
            }
        }
    }

    /// Receives something more.
    pub(super) fn receive(&mut self) -> Result<(), Problem> {
        let began = Instant::now();
        let mut part = [0; PART_BYTES];
        loop {
            self.ask_whether_wanted()?;
            match self.transport.read(&mut part) {
                Ok(0) => return Err("I/O error reading from MASTER: connection lost".to_owned()),
                Ok(count) => {
                    self.buffer.extend_from_slice(&part[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    if began.elapsed() >= self.timeout {
                        return Err(self.late.to_owned());
                    }
                }
                Err(error) => return Err(format!("I/O error reading from MASTER: {error}")),
            }
        }
    }
}

/// What a primary said, for the log.
pub(super) fn shown(reply: &[u8]) -> String {
    // A quotation mark in it is no end of anything.
    reply.escape_ascii().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_primary_said_is_shown_on_one_line_with_its_quotation_marks() {
        assert_eq!(shown(b"-NOMASTERLINK Can't SYNC"), "-NOMASTERLINK Can't SYNC");
        assert_eq!(shown(b"a \"b\" \\ \r\n\x01"), "a \"b\" \\\\ \\r\\n\\x01");
    }
}
