//! The smallest browser: a request, and the whole response.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A response.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends bytes, and reads until the server closes.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Page {
    let mut stream = TcpStream::connect(address).expect("HTTP is served");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    stream.write_all(request).expect("it takes the request");
    let mut bytes = Vec::new();
    // What was received before the server cut the connection counts.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Page { status, head: head.to_owned(), body: body.to_owned() }
}

/// Gets a path, with further lines of headers.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &str) -> Page {
    let host =
        if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let request = format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n{headers}\r\n");
    exchange(address, request.as_bytes())
}

/// The figures.
pub(crate) fn metrics(address: SocketAddr) -> String {
    let page = get(address, "/metrics", "");
    assert_eq!(page.status, 200, "{page:?}");
    page.body
}

/// The value of a sample.
pub(crate) fn sample(metrics: &str, name: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
