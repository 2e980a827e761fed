//! Requests of HTTP/1.1, as much of it as figures need.
//!
//! Owns reading a request within limits on bytes and time: GET and HEAD without a body, and POST
//! with one of a known length, which is read only once somebody wants it ([`Inbox::body`]).
//! Invariants: whatever comes is a request or a refusal with a status, never a panic; nothing
//! is kept beyond [`HEAD_BYTES_MAX`] and [`BODY_BYTES_MAX`]; a client that dawdles is cut off.

use crate::response::Status;
use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of a request's line and headers.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a body.
pub(crate) const BODY_BYTES_MAX: usize = 512 * 1024;
/// How long a newcomer may say nothing.
const FIRST_MAX: Duration = Duration::from_secs(5);
/// How long a connection may say nothing between requests.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// How long a request may take to come.
const REQUEST_MAX: Duration = Duration::from_secs(5);

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// A page is wanted.
    Get,
    /// The head of one.
    Head,
    /// Something is sent, of so many bytes.
    Post {
        /// How many.
        body_bytes: usize,
    },
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
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
        let mut method = match method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post { body_bytes: 0 },
            _ => return Err(Status::MethodNotAllowed),
        };
        if !target.starts_with('/') || target.chars().any(|sign| sign.is_control()) {
            return Err(Status::BadRequest);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.map(header).collect::<Option<Vec<_>>>().ok_or(Status::BadRequest)?;
        let is_body = |(name, value): &&(String, String)| tells_of_a_body(name, value);
        match &mut method {
            Method::Post { body_bytes } => *body_bytes = length_of_body(&headers)?,
            // What follows would be taken for the next request.
            _ if headers.iter().any(|header| is_body(&header)) => return Err(Status::BodyTooLarge),
            _ => {}
        }
        let mut request = Request {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            is_kept: is_new,
        };
        let connection = request.header("connection").unwrap_or_default().to_ascii_lowercase();
        request.is_kept &= !connection.contains("close");
        Ok(request)
    }

    /// Whether only the head of a response is wanted.
    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::Head
    }

    /// Whether no page of elsewhere can have made a browser send it: what browsers say of that,
    /// if they say anything, is that it comes from here, and its form is one that they do not
    /// send elsewhere without asking first.
    pub(crate) fn is_of_this_origin(&self) -> bool {
        let host = self.header("host").unwrap_or_default();
        let is_own = |origin: &str| {
            let name = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
            name.is_some_and(|name| name.eq_ignore_ascii_case(host))
        };
        let form = self.header("content-type").unwrap_or_default();
        let form = form.split(';').next().unwrap_or_default().trim();
        let all = |name: &'static str| {
            self.headers.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name))
        };
        form.eq_ignore_ascii_case("application/json")
            && all("origin").all(|(_, origin)| is_own(origin))
            && all("sec-fetch-site").all(|(_, site)| site == "same-origin" || site == "none")
    }

    /// Whether a header is there, whatever it says.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name))
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

impl Inbox {
    /// The body of the request before.
    pub(crate) fn body(
        &mut self,
        stream: &mut TcpStream,
        body_bytes: usize,
    ) -> Result<Vec<u8>, NoRequest> {
        let until = Instant::now() + REQUEST_MAX;
        while self.bytes.len() < body_bytes {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(NoRequest::Over);
            }
            let mut buffer = [0; 16 * 1024];
            let room = (body_bytes - self.bytes.len()) as u64;
            match stream.by_ref().take(room).read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) | Ok(0) => return Err(NoRequest::Over),
                Ok(read) => self.bytes.extend(buffer.iter().take(read)),
            }
        }
        let rest = self.bytes.split_off(body_bytes.min(self.bytes.len()));
        Ok(std::mem::replace(&mut self.bytes, rest))
    }
}

/// How long a body is, by headers that all say the same.
fn length_of_body(headers: &[(String, String)]) -> Result<usize, Status> {
    let of = |name: &'static str| {
        headers.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let mut lengths = of("content-length");
    let Some(length) = lengths.next() else { return Err(Status::LengthRequired) };
    if of("transfer-encoding").next().is_some() || lengths.any(|other| other != length) {
        return Err(Status::BadRequest);
    }
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Status::BadRequest);
    }
    let length = length.parse::<usize>().ok().filter(|length| *length <= BODY_BYTES_MAX);
    length.ok_or(Status::BodyTooLarge)
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
        assert!(request.is_kept && !request.is_head());
        let request = Request::parse(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n").expect("one");
        assert!(!request.is_kept && request.is_head());
        assert!(!Request::parse(b"GET / HTTP/1.0\r\n\r\n").expect("one").is_kept);
    }

    #[test]
    fn what_is_none_is_refused_with_a_status() {
        for (head, expected) in [
            ("PUT / HTTP/1.1\r\n\r\n", Status::MethodNotAllowed),
            ("POST / HTTP/1.1\r\n\r\n", Status::LengthRequired),
            ("POST / HTTP/1.1\r\nContent-Length: 524289\r\n\r\n", Status::BodyTooLarge),
            ("POST / HTTP/1.1\r\nContent-Length: 9e9\r\n\r\n", Status::BadRequest),
            ("POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", Status::BadRequest),
            (
                "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                Status::BadRequest,
            ),
            (
                "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                Status::BadRequest,
            ),
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
    fn what_a_page_of_elsewhere_can_send_is_told_from_what_the_dashboard_sends() {
        let read = |headers: &str| {
            let head =
                format!("POST /p HTTP/1.1\r\nHost: h:1\r\nContent-Length: 3\r\n{headers}\r\n");
            let request = Request::parse(head.as_bytes()).expect("one");
            assert_eq!(request.method, Method::Post { body_bytes: 3 });
            request.is_of_this_origin()
        };
        let json = "Content-Type: application/json\r\n";
        assert!(read(json), "a tool");
        assert!(read(&format!("{json}Origin: http://h:1\r\nSec-Fetch-Site: same-origin\r\n")));
        for other in [
            "Content-Type: text/plain\r\n",
            "",
            "Content-Type: application/json\r\nOrigin: http://evil\r\n",
            "Content-Type: application/json\r\nOrigin: null\r\n",
            "Content-Type: application/json\r\nOrigin: http://h:1\r\nOrigin: http://evil\r\n",
            "Content-Type: application/json\r\nSec-Fetch-Site: cross-site\r\n",
            "Content-Type: application/json\r\nSec-Fetch-Site: same-site\r\n",
        ] {
            assert!(!read(other), "{other}");
        }
    }

    #[test]
    fn a_header_that_is_there_twice_counts_only_if_both_say_the_same() {
        let request = Request::parse(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").expect("one");
        assert_eq!(request.header("host"), None);
        let request = Request::parse(b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n").expect("one");
        assert_eq!(request.header("host"), Some("a"));
    }

    /// What is read of a request; written out again it is read as the same.
    fn read_twice(head: &[u8]) -> Option<Request> {
        let request = Request::parse(head).ok()?;
        let method = match request.method {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post { .. } => "POST",
        };
        let Request { path, query, headers, .. } = &request;
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("{method} {path}?{query} HTTP/1.1\r\n{headers}\r\n");
        let again =
            Request::parse(head.as_bytes()).map(|it| Request { is_kept: request.is_kept, ..it });
        assert_eq!(again.as_ref(), Ok(&request), "{head:?}");
        Some(request)
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(bytes: Vec<u8>) {
            read_twice(&bytes);
        }

        #[test]
        fn lines_of_anything_are_read_or_refused(text in "(GET|HEAD) /[ -~]{0,20} HTTP/1.1\r\n([!-~]{0,9}:[ -~]{0,9}\r\n){0,4}\r\n") {
            let target = text.split("\r\n").next().and_then(|line| line.split_once(' ')?.1.rsplit_once(' '));
            let (target, _) = target.expect("it has three parts");
            if let Some(request) = read_twice(text.as_bytes()) {
                let path = target.split_once('?').map_or(target, |(path, _)| path);
                assert_eq!((&*request.path, target.contains(' ')), (path, false));
            }
        }
    }
}
