//! Responses.
//!
//! Owns statuses and the headers that every response has: nobody else may frame it, and
//! nothing is loaded from elsewhere.

use crate::budget::Text;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes of a body that go with the head.
const PACKET_BYTES: usize = 8 * 1024;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    Conflict,
    LengthRequired,
    BodyTooLarge,
    Misdirected,
    HeadersTooLarge,
    Unavailable,
}

impl Status {
    /// Its line.
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Unauthorized => "401 Unauthorized",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::Conflict => "409 Conflict",
            Status::LengthRequired => "411 Length Required",
            Status::BodyTooLarge => "413 Content Too Large",
            Status::Misdirected => "421 Misdirected Request",
            Status::HeadersTooLarge => "431 Request Header Fields Too Large",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

/// What a response holds.
#[derive(Debug)]
pub(crate) enum Body {
    /// A few words.
    Words(String),
    /// A text that counts.
    Text(Arc<Text>),
    /// A file of the binary.
    File(&'static [u8]),
}

impl Body {
    fn bytes(&self) -> &[u8] {
        match self {
            Body::Words(words) => words.as_bytes(),
            Body::Text(text) => text.text.as_bytes(),
            Body::File(bytes) => bytes,
        }
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: Status,
    pub(crate) content_type: &'static str,
    pub(crate) body: Body,
}

impl Response {
    /// A line of plain text.
    pub(crate) fn text(status: Status, text: &str) -> Response {
        let body = Body::Words(format!("{text}\n"));
        Response { status, content_type: "text/plain; charset=utf-8", body }
    }

    /// What is said to a request that is none.
    pub(crate) fn refusal(status: Status) -> Response {
        Response::text(status, status.line())
    }

    /// Sends it, without its body if only the head was asked for.
    pub(crate) fn send(&self, to: &mut impl Write, is_head: bool, is_kept: bool) -> io::Result<()> {
        let connection = if is_kept { "keep-alive" } else { "close" };
        let challenge = match self.status {
            Status::Unauthorized => {
                "WWW-Authenticate: Basic realm=\"keyward\", charset=\"UTF-8\"\r\n"
            }
            Status::MethodNotAllowed => "Allow: GET, HEAD, POST\r\n",
            _ => "",
        };
        let body = self.body.bytes();
        let mut bytes = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {connection}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
             Content-Security-Policy: default-src 'self'; style-src 'self'; frame-ancestors 'none'\r\n\
             {challenge}\r\n",
            self.status.line(),
            self.content_type,
            body.len(),
        )
        .into_bytes();
        if is_head {
            return to.write_all(&bytes);
        }
        // What is small goes in one packet; what is not is not copied.
        let (first, rest) = body.split_at_checked(PACKET_BYTES).unwrap_or((body, &[]));
        bytes.extend_from_slice(first);
        to.write_all(&bytes)?;
        to.write_all(rest)
    }
}
