//! Telling others of alerts: a POST to where the server's settings say.
//!
//! Owns the message, in the form of Alertmanager's webhooks (version 4), and its delivery: in
//! order, each until it is taken, with growing pauses. A receiver that refuses a message (4xx,
//! or 3xx, which is not followed) is not sent it again; one that has no time for it (408, 425,
//! 429, 5xx) is. All addresses of a name are tried. What waits is bounded; the oldest go first.
//! By https the receiver's certificate must be good for its name.

use super::evaluation::Told;
use keyward_tls::rustls::ClientConfig;
use keyward_tls::{Client, ClientOptions, TlsError};
use serde_json::{Value, json};
use siphasher::sip::SipHasher13;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Messages that wait.
const WAITING_MAX: usize = 256;
/// How long a receiver may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first pause before a message is sent again, and the longest.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Bytes of a response's first line that are read.
const LINE_BYTES_MAX: u64 = 64;

/// Where alerts are told: `http://host:port/path`, or the same with `https`.
#[derive(Debug, Clone)]
pub struct Destination {
    /// The host as it stands in the address, without brackets.
    host: String,
    port: u16,
    /// What `Host` says.
    authority: String,
    path: String,
    tls: Option<Arc<ClientConfig>>,
}

/// Why alerts cannot be told somewhere.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    /// The text is no address.
    #[error(
        "alerts are told to an address such as http://127.0.0.1:9093/hook or https://hooks.example/alerts"
    )]
    Address,
    /// Whom to believe cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Why a message was not taken.
#[derive(Debug)]
enum Failure {
    /// It will never be.
    Refused(u16),
    /// It may be later.
    Later(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Later(error)
    }
}

impl Destination {
    /// Reads an address. By https those are believed whom the file names, or else the system's.
    ///
    /// # Errors
    /// If it is none, or the file cannot be used.
    pub fn new(
        address: &str,
        authority_file: Option<PathBuf>,
    ) -> Result<Destination, DestinationError> {
        let (rest, is_tls) =
            match (address.strip_prefix("http://"), address.strip_prefix("https://")) {
                (Some(rest), _) => (rest, false),
                (_, Some(rest)) => (rest, true),
                _ => return Err(DestinationError::Address),
            };
        let (authority, path) = match rest.find('/').and_then(|at| rest.split_at_checked(at)) {
            Some(parts) => parts,
            None => (rest, "/"),
        };
        let is_plain = |text: &str| text.chars().all(|sign| sign.is_ascii_graphic());
        let is_name = !authority.is_empty() && !authority.contains(['@', '?', '#']);
        if !is_name || !is_plain(authority) || !is_plain(path) {
            return Err(DestinationError::Address);
        }
        let known = if is_tls { 443 } else { 80 };
        let (host, port) = host_and_port(authority, known).ok_or(DestinationError::Address)?;
        let tls = match is_tls {
            true => Some(ClientOptions { authority_file, ..Default::default() }.read_naming()?),
            false => None,
        };
        let (host, authority, path) = (host.to_owned(), authority.to_owned(), path.to_owned());
        Ok(Destination { host, port, authority, path, tls })
    }

    /// Sends a message to the first of its addresses where somebody listens.
    fn send(&self, message: &str) -> Result<(), Failure> {
        let addresses: Vec<SocketAddr> = (&*self.host, self.port).to_socket_addrs()?.collect();
        self.send_to(&addresses, message)
    }

    fn send_to(&self, addresses: &[SocketAddr], message: &str) -> Result<(), Failure> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            let connected = TcpStream::connect_timeout(address, PATIENCE).and_then(|stream| {
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Ok(stream)
            });
            match connected {
                Ok(stream) => match &self.tls {
                    None => return self.exchange(stream, message),
                    Some(config) => {
                        match Client::shake_hands_naming(Arc::clone(config), stream, &self.host) {
                            Ok(client) => return self.exchange(client, message),
                            Err(error) => last = error,
                        }
                    }
                },
                Err(error) => last = error,
            }
        }
        Err(Failure::Later(last))
    }

    fn exchange(&self, mut stream: impl Read + Write, message: &str) -> Result<(), Failure> {
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nUser-Agent: keyward\r\nConnection: close\r\n\r\n{message}",
            self.path,
            self.authority,
            message.len(),
        );
        stream.write_all(request.as_bytes())?;
        stream.flush()?;
        let mut line = Vec::new();
        let mut first = stream.take(LINE_BYTES_MAX);
        let mut byte = [0];
        while line.last() != Some(&b'\n') && first.read(&mut byte)? > 0 {
            line.extend(byte);
        }
        let line = String::from_utf8_lossy(&line);
        let status = line.split(' ').nth(1).and_then(|word| word.parse::<u16>().ok());
        match status {
            Some(200..=299) => Ok(()),
            Some(408 | 425 | 429) => Err(io::Error::other("it has no time").into()),
            Some(status @ 300..=499) => Err(Failure::Refused(status)),
            Some(status) => Err(io::Error::other(format!("status {status}")).into()),
            None => Err(io::Error::other("what it replies is not HTTP").into()),
        }
    }
}

/// The host and the port of an authority; an address of IPv6 stands in brackets.
fn host_and_port(authority: &str, known: u16) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = port.map_or(Some(known), |port| port.parse().ok())?;
    (!host.is_empty()).then_some((host, port))
}

/// Messages that wait, and the thread that delivers them.
#[derive(Debug)]
pub(super) struct Messenger {
    waiting: Arc<(Mutex<VecDeque<String>>, Condvar)>,
}

impl Messenger {
    pub(super) fn start(to: Destination) -> io::Result<Messenger> {
        let waiting: Arc<(Mutex<VecDeque<String>>, Condvar)> = Arc::default();
        let of_thread = Arc::clone(&waiting);
        std::thread::Builder::new().name("alerts".to_owned()).spawn(move || {
            loop {
                deliver(&to, &next(&of_thread));
            }
        })?;
        Ok(Messenger { waiting })
    }

    /// Has news delivered, as one message.
    pub(super) fn tell(&self, news: Vec<Told>) {
        if news.is_empty() {
            return;
        }
        let (messages, is_there) = &*self.waiting;
        let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push_back(message(&news).to_string());
        if messages.len() > WAITING_MAX {
            messages.pop_front();
            tracing::warn!("nobody takes alerts: the oldest that wait to be told are dropped");
        }
        is_there.notify_one();
    }
}

/// Waits for a message.
fn next((messages, is_there): &(Mutex<VecDeque<String>>, Condvar)) -> String {
    let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match messages.pop_front() {
            Some(message) => return message,
            None => messages = is_there.wait(messages).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// Delivers a message, however long it takes, unless it is refused.
fn deliver(to: &Destination, message: &str) {
    let mut pause = PAUSE_MIN;
    loop {
        match to.send(message) {
            Ok(()) => return,
            Err(Failure::Refused(status)) => {
                tracing::warn!(
                    "{} refuses alerts with status {status}: they are dropped",
                    to.authority
                );
                return;
            }
            Err(Failure::Later(error)) if pause == PAUSE_MIN => {
                tracing::warn!("cannot tell alerts to {}: {error}; trying again", to.authority);
            }
            Err(Failure::Later(_)) => {}
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// News as Alertmanager tells them.
fn message(news: &[Told]) -> Value {
    let is_firing = news.iter().any(|told| told.until.is_none());
    let alerts: Vec<Value> = news.iter().map(alert).collect();
    json!({
        "version": "4",
        "receiver": "keyward",
        "status": if is_firing { "firing" } else { "resolved" },
        "groupKey": "keyward",
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "",
        "truncatedAlerts": 0,
        "alerts": alerts,
    })
}

fn alert(told: &Told) -> Value {
    let mut labels = json!({
        "alertname": told.name,
        "severity": told.severity.name(),
        "db": format!("db{}", told.db),
        "keyspace": told.keyspace,
    });
    if let (Some(pattern), Some(labels)) = (&told.pattern, labels.as_object_mut()) {
        labels.insert("pattern".to_owned(), json!(pattern));
    }
    json!({
        "status": if told.until.is_none() { "firing" } else { "resolved" },
        "labels": labels,
        "annotations": {
            "summary": told.summary,
            "description": told.description,
            "value": crate::exposition::number(told.value),
        },
        "startsAt": time(told.since),
        "endsAt": told.until.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), time),
        "generatorURL": "",
        "fingerprint": fingerprint(told),
    })
}

/// What tells an alert from others: the same as long as its labels are.
fn fingerprint(told: &Told) -> String {
    let mut hasher = SipHasher13::new();
    (&told.name, told.severity.name(), told.db).hash(&mut hasher);
    (&told.keyspace, &told.pattern).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A time as RFC 3339 has it.
fn time(at: SystemTime) -> String {
    let ms = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    keyward_schema::timestamp_text(i64::try_from(ms).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_schema::Severity;
    use std::net::TcpListener;

    #[test]
    fn destinations_are_addresses() {
        let read = |text: &str| {
            let read = Destination::new(text, None).ok()?;
            Some((read.host, read.port, read.path))
        };
        let expected =
            |host: &str, port: u16, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(read("http://127.0.0.1:9093/hook"), expected("127.0.0.1", 9093, "/hook"));
        assert_eq!(read("http://hooks.example"), expected("hooks.example", 80, "/"));
        assert_eq!(read("http://[::1]:9093/a"), expected("::1", 9093, "/a"));
        assert_eq!(read("http://[::1]"), expected("::1", 80, "/"));
        assert_eq!(read("https://hooks.example/a"), expected("hooks.example", 443, "/a"));
        for text in [
            "",
            "hooks.example",
            "ftp://x/",
            "http:///x",
            "http://a b/",
            "http://a/\r\nX: y",
            "http://a:b/",
            "http://a:1:2/",
            "http://[::1/",
            "http://[::1]x/",
            "http://u:p@a/",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_not_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let to = Destination::new(&format!("http://{address}/hook"), None).expect("an address");
        let messenger = Messenger::start(to).expect("a thread");
        for status in ["404 Not Found", "301 Moved", "400 Bad"] {
            messenger.tell(vec![Told { name: status.to_owned(), ..told() }]);
        }
        messenger.tell(vec![Told { name: "Last".to_owned(), ..told() }]);
        for status in ["404 Not Found", "301 Moved", "400 Bad", "200 OK"] {
            let name = if status == "200 OK" { "Last" } else { status };
            let text = take(&listener, status);
            assert!(text.contains(&format!("\"alertname\":\"{name}\"")), "{status}: {text}");
        }
    }

    #[test]
    fn every_address_is_tried() {
        let gone = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("an address");
        let to = Destination::new("http://hooks.example/hook", None).expect("an address");
        let sender = std::thread::spawn(move || to.send_to(&[gone, there], "{}"));
        let text = take(&listener, "200 OK");
        assert!(text.contains("Host: hooks.example\r\n"), "{text}");
        assert!(sender.join().expect("no panic").is_ok());
    }

    fn told() -> Told {
        Told {
            name: "KeywardMemory".to_owned(),
            severity: Severity::Critical,
            db: 3,
            keyspace: "shop".to_owned(),
            pattern: None,
            summary: "shop: memory > 80%".to_owned(),
            description: "Bytes.".to_owned(),
            value: 0.9,
            since: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            until: None,
        }
    }

    /// Takes one request and returns a status; what was received.
    fn take(listener: &TcpListener, status: &str) -> String {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).expect("it sends");
            bytes.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                length.is_some_and(|length| length.parse() == Ok(body.len()))
            });
            if whole {
                let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(reply.as_bytes()).expect("it hears");
                return text;
            }
        }
    }

    #[test]
    fn a_message_is_sent_until_it_is_taken_and_then_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let to = Destination::new(&format!("http://{address}/hook"), None).expect("an address");
        let messenger = Messenger::start(to).expect("a thread");
        messenger.tell(vec![told()]);
        messenger.tell(Vec::new());
        messenger.tell(vec![Told { until: Some(UNIX_EPOCH), ..told() }]);
        let first = take(&listener, "500 Oops");
        let again = take(&listener, "200 OK");
        let second = take(&listener, "204 No Content");
        assert_eq!(first, again, "the same until it is taken");
        assert!(first.starts_with("POST /hook HTTP/1.1\r\n"), "{first}");
        assert!(
            first.contains("\"status\":\"firing\"") && first.contains("2023-11-14T22:13:20"),
            "{first}"
        );
        assert!(
            second.contains("\"status\":\"resolved\"") && !second.contains("firing"),
            "{second}"
        );
        let print = |text: &str| {
            let (_, rest) = text.split_once("\"fingerprint\":\"").expect("it has one");
            rest.split('"').next().expect("a text").to_owned()
        };
        assert_eq!(print(&first), print(&second), "by it the two are known to belong together");
        let other = Told { pattern: Some("a".to_owned()), ..told() };
        assert_ne!(print(&first), fingerprint(&other));
    }

    #[test]
    fn what_is_not_http_is_told_as_that() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let to = Destination::new(&format!("http://{address}/"), None).expect("an address");
        let sender = std::thread::spawn(move || to.send("{}"));
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(b"\x00\xff\r\n\r\n").expect("it hears");
        match sender.join().expect("no panic") {
            Err(Failure::Later(error)) => {
                assert_eq!(error.to_string(), "what it replies is not HTTP");
            }
            other => panic!("{other:?}"),
        }
    }
}
