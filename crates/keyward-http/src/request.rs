//! Requests of HTTP/1.1, as much of it as figures need.
//!
//! Owns reading a request within limits on bytes and time. GET and HEAD, no bodies.
//! Invariants: whatever comes is a request or a refusal with a status, never a panic; nothing
//! is kept beyond [`HEAD_BYTES_MAX`]; a client that dawdles is cut off.

use crate::response::Status;
use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request's line and headers.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long a newcomer may say nothing.
const FIRST_MAX: Duration = Duration::from_secs(5);
/// How long a connection may say nothing between requests.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// How long a request may take to come.
const REQUEST_MAX: Duration = Duration::from_secs(5);

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) is_head: bool,
    /// The path, as it was sent.
    pub(crate) path: String,
    /// What stands behind `?`.
    pub(crate) query: String,
    headers: Vec<(String, String)>,
    /// Whether the connection goes on after it.
    pub(crate) is_kept: bool,
}

impl Request {
    /// Reads a request's line and headers.
    pub(crate) fn parse(head: &[u8]) -> Result<Request, Status> {
        let text = std::str::from_utf8(head).map_err(|_| Status::BadRequest)?;
        let mut lines = text.split("\r\n").take_while(|line| !line.is_empty());
        let words: Vec<&str> = lines.next().ok_or(Status::BadRequest)?.split(' ').collect();
        let [method, target, version] = *words.as_slice() else { return Err(Status::BadRequest) };
        let is_new = match version {
            "HTTP/1.1" => true,
            "HTTP/1.0" => false,
            _ => return Err(Status::BadRequest),
        };
        let is_head = match method {
            "GET" => false,
            "HEAD" => true,
            _ => return Err(Status::MethodNotAllowed),
        };
        if !target.starts_with('/') || target.chars().any(|sign| sign.is_control()) {
            return Err(Status::BadRequest);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.map(header).collect::<Option<Vec<_>>>().ok_or(Status::BadRequest)?;
        let mut request = Request {
            is_head,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            is_kept: is_new,
        };
        // What follows would be taken for the next request.
        if request.headers.iter().any(|(name, value)| tells_of_a_body(name, value)) {
            return Err(Status::BodyTooLarge);
        }
        let connection = request.header("connection").unwrap_or_default().to_ascii_lowercase();
        request.is_kept &= !connection.contains("close");
        Ok(request)
    }

    /// A header's value; `None` if it is not there, or there twice with different values.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name));
        let first = found.next().map(|(_, value)| value.as_str())?;
        found.all(|(_, value)| value == first).then_some(first)
    }
}

/// Why there is no request.
#[derive(Debug)]
pub(crate) enum NoRequest {
    /// The client has gone, or is to go.
    Over,
    /// What it sent is none.
    Refused(Status),
}

/// What a connection has sent and was not yet read.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Whether there was a request.
    is_known: bool,
}

impl Inbox {
    /// The next request of a connection.
    pub(crate) fn next(&mut self, stream: &mut TcpStream) -> Result<Request, NoRequest> {
        let over = |_: io::Error| NoRequest::Over;
        let patience = if self.is_known { IDLE_MAX } else { FIRST_MAX };
        stream.set_read_timeout(Some(patience)).map_err(over)?;
        let mut until = None;
        loop {
            if let Some(end) = head_end(&self.bytes) {
                self.is_known = true;
                let rest = self.bytes.split_off(end.min(self.bytes.len()));
                let head = std::mem::replace(&mut self.bytes, rest);
                return Request::parse(&head).map_err(NoRequest::Refused);
            }
            if self.bytes.len() >= HEAD_BYTES_MAX {
                return Err(NoRequest::Refused(Status::HeadersTooLarge));
            }
            let mut buffer = [0; 4096];
            let room = (HEAD_BYTES_MAX - self.bytes.len()) as u64;
            let read = match stream.by_ref().take(room).read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) | Ok(0) => return Err(NoRequest::Over),
                Ok(read) => read,
            };
            self.bytes.extend(buffer.iter().take(read));
            let until = *until.get_or_insert_with(|| Instant::now() + REQUEST_MAX);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoRequest::Over);
            }
            stream.set_read_timeout(Some(left)).map_err(over)?;
        }
    }
}

/// Where a request's headers end.
fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Whether a header, which may stand beside others of its name, says that a body follows.
fn tells_of_a_body(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("transfer-encoding")
        || (name.eq_ignore_ascii_case("content-length") && value != "0")
}

/// Reads a header. Its name is a token, so that nobody reads it otherwise.
fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_name = !name.is_empty() && name.bytes().all(is_token);
    let is_value = value.chars().all(|sign| sign == '\t' || !sign.is_control());
    (is_name && is_value).then(|| (name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let request =
            Request::parse(b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept:*/*\r\n\r\n").expect("one");
        assert_eq!((&*request.path, &*request.query), ("/a", "b=c"));
        assert_eq!(request.header("HOST"), Some("x"));
        assert!(request.is_kept && !request.is_head);
        let request = Request::parse(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n").expect("one");
        assert!(!request.is_kept && request.is_head);
        assert!(!Request::parse(b"GET / HTTP/1.0\r\n\r\n").expect("one").is_kept);
    }

    #[test]
    fn what_is_none_is_refused_with_a_status() {
        for (head, expected) in [
            ("POST / HTTP/1.1\r\n\r\n", Status::MethodNotAllowed),
            ("GET /  HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET http://x/ HTTP/1.1\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/2\r\n\r\n", Status::BadRequest),
            ("GET /\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", Status::BadRequest),
            ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", Status::BodyTooLarge),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Status::BodyTooLarge),
            // Who reads only one of them takes the body for the next request.
            (
                "GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                Status::BodyTooLarge,
            ),
            (
                "GET / HTTP/1.1\r\nContent-Length: 0\r\ncontent-length: 6\r\n\r\n",
                Status::BodyTooLarge,
            ),
            (
                "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
                Status::BodyTooLarge,
            ),
            ("\r\n\r\n", Status::BadRequest),
        ] {
            assert_eq!(Request::parse(head.as_bytes()), Err(expected), "{head:?}");
        }
        assert_eq!(Request::parse(b"GET /\xff HTTP/1.1\r\n\r\n"), Err(Status::BadRequest));
    }

    #[test]
    fn a_header_that_is_there_twice_counts_only_if_both_say_the_same() {
        let request = Request::parse(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").expect("one");
        assert_eq!(request.header("host"), None);
        let request = Request::parse(b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").expect("one");
        assert_eq!(request.header("host"), Some("a"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(bytes: Vec<u8>) {
            let _ = Request::parse(&bytes);
        }

        #[test]
        fn lines_of_anything_are_read_or_refused(text in "(GET|HEAD) /[ -~]{0,20} HTTP/1.1\r\n([!-~]{0,9}:[ -~]{0,9}\r\n){0,4}\r\n") {
            let _ = Request::parse(text.as_bytes());
        }
    }
}
