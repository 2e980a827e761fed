//! Requests of HTTP: whatever comes is read or refused, and nothing panics.
//!
//! Inputs are requests of every kind, most of them damaged. Promises: the reader returns; what
//! is whole and for this server is read as such.

use crate::Random;
use keyward_http::read_anything;

const LINES: &[&str] = &[
    "GET / HTTP/1.1",
    "HEAD /metrics?x=1 HTTP/1.1",
    "GET /api/v1/about?id=18446744073709551616 HTTP/1.0",
    "POST / HTTP/1.1",
    "GET  / HTTP/1.1",
    "Host: 127.0.0.1:9121",
    "Host: [::1]:9121",
    "Host: a.example",
    "Host: [",
    "Host: ]:[",
    "Authorization: Basic YWxpY2U6czpjcmV0",
    "Authorization: Basic ====",
    "Authorization: Basic YWxp",
    "Authorization: Basic",
    "Authorization: ",
    "Content-Length: 0",
    "Content-Length: 99999999999999999999999",
    "Transfer-Encoding: chunked",
    "Connection: close",
    ":",
    "",
    "# Replication",
    "slave0:ip=::1,port=6380,lag=",
];

/// A request that is good.
const GOOD: &str = "GET / HTTP/1.1\r\nHost: a.example\r\n";

/// Reads one input.
pub fn round(random: &mut Random) {
    let mut bytes = generate(random);
    for _ in 0..random.below(4) {
        mutate(&mut bytes, random);
    }
    read_anything(&bytes);
    let whole = format!("{GOOD}X: {}\r\n\r\n", random.number());
    assert!(read_anything(whole.as_bytes()), "{whole}");
}

/// A request of some lines.
fn generate(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    if random.one_in(2) {
        bytes.extend_from_slice(GOOD.as_bytes());
    }
    for _ in 0..random.below(6) {
        bytes.extend_from_slice(random.pick(LINES).as_bytes());
        bytes.extend_from_slice(if random.one_in(8) { b"\n" } else { b"\r\n" });
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Damages an input.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.number() as u8);
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] = random.number() as u8,
        1 => bytes.truncate(at),
        2 => bytes.insert(at, *random.pick(b" :[]=\r\n\0\xff%/?")),
        _ => {
            bytes.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_by_http_is_read_or_refused() {
        (0..20_000).for_each(|seed| round(&mut Random::new(seed)));
    }
}
