//! Telling others of alerts: a POST to where the server's settings say.
//!
//! Owns the message, in the form of Alertmanager's webhooks (version 4), and its delivery: in
//! order, each once accepted, again and again with growing pauses while nobody takes it. What
//! waits is bounded; the oldest go first. Not encrypted: a receiver elsewhere wants something
//! between that is.

use super::evaluation::Told;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Messages that wait.
const WAITING_MAX: usize = 256;
/// How long a receiver may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first pause before a message is sent again, and the longest.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Where alerts are told: `http://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    authority: String,
    path: String,
}

/// Why a text is no destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("alerts are told to an address such as http://127.0.0.1:9093/hook")]
pub struct DestinationError;

impl std::str::FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Destination, DestinationError> {
        let rest = text.strip_prefix("http://").ok_or(DestinationError)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let is_plain = |text: &str| text.chars().all(|sign| sign.is_ascii_graphic());
        let is_name = !authority.is_empty() && !authority.contains(['@', '?', '#']);
        if !is_name || !is_plain(authority) || !is_plain(path) {
            return Err(DestinationError);
        }
        let has_port =
            authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Destination { authority, path: path.to_owned() })
    }
}

impl Destination {
    /// Sends a message; whether it was taken.
    fn send(&self, message: &str) -> io::Result<()> {
        let address = self.authority.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nUser-Agent: keyward\r\nConnection: close\r\n\r\n{message}",
            self.path,
            self.authority,
            message.len(),
        );
        stream.write_all(request.as_bytes())?;
        let mut head = [0; 64];
        let mut read = 0;
        while read < head.len() && !head[..read].contains(&b'\n') {
            match stream.read(&mut head[read..])? {
                0 => break,
                count => read += count,
            }
        }
        let head = String::from_utf8_lossy(&head[..read]);
        let status = head.split(' ').nth(1).and_then(|word| word.parse::<u16>().ok());
        match status {
            Some(200..=299) => Ok(()),
            status => Err(io::Error::other(format!("status {}", status.unwrap_or(0)))),
        }
    }
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

/// Delivers a message, however long it takes.
fn deliver(to: &Destination, message: &str) {
    let mut pause = PAUSE_MIN;
    while let Err(error) = to.send(message) {
        if pause == PAUSE_MIN {
            tracing::warn!("cannot tell alerts to {}: {error}; trying again", to.authority);
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
    if let Some(pattern) = &told.pattern {
        labels["pattern"] = json!(pattern);
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
    })
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
        let read = |text: &str| text.parse::<Destination>().map(|it| (it.authority, it.path));
        let expected = |authority: &str, path: &str| Ok((authority.to_owned(), path.to_owned()));
        assert_eq!(read("http://127.0.0.1:9093/hook"), expected("127.0.0.1:9093", "/hook"));
        assert_eq!(read("http://hooks.example"), expected("hooks.example:80", "/"));
        for text in
            ["", "hooks.example", "https://x/", "http:///x", "http://a b/", "http://a/\r\nX: y"]
        {
            assert_eq!(read(text), Err(DestinationError), "{text}");
        }
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
        let to: Destination = format!("http://{address}/hook").parse().expect("a destination");
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
    }
}
