//! Where a server is: by its parts, or by a URL; and the connection to it, by TLS, a Unix socket
//! or neither.

use keyward_tls::{Client, ClientOptions};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Where a server is, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its name or number.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whom to log in as, if not the default user.
    pub user: Option<String>,
    /// What to log in with.
    pub password: Option<String>,
    /// By TLS, and with which certificates.
    pub tls: Option<ClientOptions>,
    /// A Unix socket, in place of host and port.
    pub socket: Option<PathBuf>,
}

/// A connection to a server.
#[derive(Debug)]
pub enum Line {
    /// As it is.
    Plain(TcpStream),
    /// By TLS.
    Tls(Box<Client>),
    /// By a Unix socket.
    Unix(UnixStream),
}

impl Line {
    /// Bounds how long a read and a write wait.
    ///
    /// # Errors
    /// If the system does not take the time.
    pub fn set_patience(&self, read: Duration, write: Duration) -> io::Result<()> {
        let socket = match self {
            Line::Plain(socket) => socket,
            Line::Tls(client) => client.socket(),
            Line::Unix(socket) => {
                socket.set_read_timeout(Some(read))?;
                return socket.set_write_timeout(Some(write));
            }
        };
        socket.set_read_timeout(Some(read))?;
        socket.set_write_timeout(Some(write))
    }

    /// Has everything sent at once.
    ///
    /// # Errors
    /// If the system does not.
    pub fn send_at_once(&self) -> io::Result<()> {
        match self {
            Line::Plain(socket) => socket.set_nodelay(true),
            Line::Tls(client) => client.socket().set_nodelay(true),
            Line::Unix(_) => Ok(()),
        }
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Line::Plain(socket) => socket.read(buffer),
            Line::Tls(client) => client.read(buffer),
            Line::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Line::Plain(socket) => socket.write(bytes),
            Line::Tls(client) => client.write(bytes),
            Line::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Line::Plain(socket) => socket.flush(),
            Line::Tls(client) => client.flush(),
            Line::Unix(socket) => socket.flush(),
        }
    }
}

impl Address {
    /// Reads `redis://[[user:]password@]host[:port]`; `rediss://` is by TLS. As redis-cli has
    /// it, a single word before `@` is the password.
    ///
    /// # Errors
    /// If it is not of that form.
    pub fn from_url(url: &str) -> Result<Address, UrlError> {
        let (scheme, rest) = url.split_once("://").ok_or(UrlError::Form)?;
        let tls = match scheme {
            "redis" | "valkey" => None,
            "rediss" | "valkeys" => Some(ClientOptions::default()),
            _ => return Err(UrlError::Form),
        };
        let rest = rest.split(['/', '?']).next().unwrap_or_default();
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(l, p)| (Some(l), p));
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(h, p)| (h, Some(p))),
        };
        let port = port.map_or(Ok(6379), str::parse).map_err(|_| UrlError::Form)?;
        let (user, password) = match login.map(|login| login.split_once(':')) {
            None => (None, None),
            Some(Some((user, password))) => (Some(decoded(user)?), Some(decoded(password)?)),
            // A single word is the password, as redis-cli has it.
            Some(None) => (None, login.map(decoded).transpose()?),
        };
        let host = if host.is_empty() { "127.0.0.1" } else { host }.to_owned();
        let user = user.filter(|user| !user.is_empty());
        Ok(Address { host, port, user, password, tls, socket: None })
    }

    /// Reads where a server is in any form: `HOST[:PORT]`, a URL, or the path of a Unix socket.
    ///
    /// # Errors
    /// If it is of no such form.
    pub fn parse(text: &str) -> Result<Address, UrlError> {
        if text.contains("://") {
            return Address::from_url(text);
        }
        if text.contains('/') {
            return Ok(Address::of_socket(text));
        }
        if text.is_empty() || text.contains('@') {
            return Err(UrlError::Form);
        }
        // An IPv6 address by itself has more than one colon.
        match text.matches(':').count() > 1 && !text.starts_with('[') {
            true => Address::from_url(&format!("redis://[{text}]")),
            false => Address::from_url(&format!("redis://{text}")),
        }
    }

    /// The server at a port of a host.
    pub fn of_host(host: impl Into<String>, port: u16) -> Address {
        Address { host: host.into(), port, user: None, password: None, tls: None, socket: None }
    }

    /// The server behind a Unix socket.
    pub fn of_socket(path: impl Into<PathBuf>) -> Address {
        Address { socket: Some(path.into()), ..Address::of_host("", 0) }
    }

    /// Reads the certificates that it names, to see that they are there and sound.
    ///
    /// # Errors
    /// If they are not.
    pub fn check_certificates(&self) -> io::Result<()> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.read().map(drop).map_err(io::Error::other))
    }

    /// Connects, and shakes hands if that is to be.
    ///
    /// # Errors
    /// If nobody is there, or shakes hands.
    pub fn connect(&self) -> io::Result<Line> {
        self.connect_within(CONNECT_PATIENCE)
    }

    /// The same, within this time.
    ///
    /// # Errors
    /// As [`Address::connect`], or if the time is over.
    pub fn connect_within(&self, patience: Duration) -> io::Result<Line> {
        if let Some(path) = &self.socket {
            return Ok(Line::Unix(UnixStream::connect(path)?));
        }
        let end = Instant::now() + patience;
        let config = self.tls.as_ref().map(ClientOptions::read).transpose();
        let config = config.map_err(io::Error::other)?;
        let socket = self.connect_plainly(end)?;
        let Some(config) = config else { return Ok(Line::Plain(socket)) };
        socket.set_read_timeout(Some(left(end)?))?;
        socket.set_write_timeout(Some(left(end)?))?;
        Ok(Line::Tls(Box::new(Client::shake_hands(config, socket)?)))
    }

    fn connect_plainly(&self, end: Instant) -> io::Result<TcpStream> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(end)?) {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// The time that is left.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(path) => path.display().fmt(f),
            None => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Why a URL names no server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is of another form.
    #[error("write HOST:PORT, redis://[[user:]password@]host[:port], rediss:// for TLS, or a path")]
    Form,
    /// A percent sign stands for itself.
    #[error("a % without two digits")]
    Escape,
    /// What its digits stand for is no text.
    #[error("what the digits behind its % stand for is not UTF-8")]
    NotText,
}

/// Bytes written as `%41`.
fn decoded(text: &str) -> Result<String, UrlError> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let digits = escaped.get(..2).ok_or(UrlError::Escape)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| UrlError::Escape)?);
        rest = &escaped[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| UrlError::NotText)
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
                    tls: url.starts_with("rediss:").then(ClientOptions::default),
                    socket: None,
                };
                assert_eq!(Address::from_url(url).expect(url), expected, "{url}");
            };
        check("redis://localhost", "localhost", 6379, None, None);
        check("redis://:pass@h:7000/3", "h", 7000, None, Some("pass"));
        check("redis://pass@h", "h", 6379, None, Some("pass"));
        check("redis://me:a%40b%3a@h:1", "h", 1, Some("me"), Some("a@b:"));
        check("valkey://[::1]:7000", "::1", 7000, None, None);
        check("rediss://h:7000", "h", 7000, None, None);
        for url in ["localhost", "http://h", "redis://h:port", "redis://a%4@h"] {
            assert!(Address::from_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn places_are_hosts_urls_and_paths() {
        let check = |text: &str, host: &str, port: u16| {
            let address = Address::parse(text).expect(text);
            assert_eq!((address.host.as_str(), address.port), (host, port), "{text}");
            assert_eq!(address.socket, None, "{text}");
        };
        check("example.org", "example.org", 6379);
        check("10.0.0.7:7000", "10.0.0.7", 7000);
        check("::1", "::1", 6379);
        check("[::1]:7000", "::1", 7000);
        check("redis://:secret@h:1", "h", 1);
        let socket = Address::parse("/run/keyward.sock").expect("a path");
        assert_eq!(socket, Address::of_socket("/run/keyward.sock"));
        for text in ["", "h:port", "secret@h", "http://h"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
