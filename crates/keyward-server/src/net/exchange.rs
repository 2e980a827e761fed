//! Talking to another server, and waiting for it: MIGRATE, on a thread of its own or, inside
//! EXEC and scripts, while everybody waits.
//!
//! Each call connects anew. Redis keeps the connection for some seconds, which pays where
//! keys are moved one by one; `KEYS` moves many with one call.

use keyward_engine::{Exchange, ExchangeFailure, Remote};
use keyward_tls::Client;
use keyward_tls::rustls::ClientConfig;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

/// A reply's line is no longer.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// How a server is talked to.
trait Line: Read + Write {}
impl<Any: Read + Write> Line for Any {}

/// Sends requests and reads a line for each reply; by TLS if there is a configuration.
pub(crate) fn exchange(
    remote: Remote<'_>,
    tls: Option<Arc<ClientConfig>>,
    requests: &[u8],
    reply_count: usize,
) -> Exchange {
    let mut lines = Vec::new();
    let failure = converse(remote, tls, requests, reply_count, &mut lines).err();
    Exchange { lines, failure }
}

fn converse(
    remote: Remote<'_>,
    tls: Option<Arc<ClientConfig>>,
    requests: &[u8],
    reply_count: usize,
    lines: &mut Vec<Vec<u8>>,
) -> Result<(), ExchangeFailure> {
    let socket = connect(remote)?;
    let mut stream: Box<dyn Line> = match tls {
        None => Box::new(socket),
        Some(config) => Box::new(Client::shake_hands(config, socket).map_err(|error| {
            tracing::warn!("MIGRATE cannot connect by TLS: {error}");
            ExchangeFailure::Connecting
        })?),
    };
    stream.write_all(requests).map_err(|_| ExchangeFailure::Writing)?;
    let mut replies = BufReader::new(stream);
    for _ in 0..reply_count {
        lines.push(read_line(&mut replies).map_err(|_| ExchangeFailure::Reading)?);
    }
    Ok(())
}

fn connect(remote: Remote<'_>) -> Result<TcpStream, ExchangeFailure> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| ExchangeFailure::Connecting);
    let port: u16 = text(remote.port)?.parse().unwrap_or(0);
    let addresses = (text(remote.host)?, port).to_socket_addrs();
    let timeout = Duration::from_millis(remote.timeout_ms);
    let mut failure = ExchangeFailure::Connecting;
    for address in addresses.map_err(|_| ExchangeFailure::Connecting)? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                let prepared = stream
                    .set_read_timeout(Some(timeout))
                    .and_then(|()| stream.set_write_timeout(Some(timeout)));
                return prepared.map(|()| stream).map_err(|_| ExchangeFailure::Connecting);
            }
            // Redis notices a refusal when it writes.
            Err(error) if error.kind() != io::ErrorKind::TimedOut => {
                failure = ExchangeFailure::Writing;
            }
            Err(_) => failure = ExchangeFailure::Connecting,
        }
    }
    Err(failure)
}

/// A line without its end.
fn read_line(replies: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    replies.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.pop_if(|byte| *byte == b'\n').is_none() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.pop_if(|byte| *byte == b'\r');
    Ok(line)
}
