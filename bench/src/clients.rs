//! Clients that cost little: all of them on one thread, with one call to read a reply and
//! one to write the next request.
//!
//! redis-benchmark makes seven calls for a command, five of them to register the socket
//! anew, where a server makes two. So where commands come one at a time its core is full
//! before the server's is, and two servers seem alike.

use crate::load::{CLIENTS, Load};
use anyhow::{Context, bail};
use keyward_testkit::Random;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

/// What a server answers to each SET.
const REPLY: &[u8] = b"+OK\r\n";
/// Replies are read so many bytes at a time.
const READ_BYTES_MAX: usize = 64 * 1024;

struct Client {
    stream: TcpStream,
    /// Bytes of replies that are still to come.
    awaited: usize,
}

/// The requests of all clients.
struct Requests {
    load: Load,
    value: Vec<u8>,
    random: Random,
    /// Commands not sent yet.
    left: u64,
    buffer: Vec<u8>,
}

/// Sets keys by chance, as redis-benchmark does; returns how many a second.
pub(crate) fn set(address: SocketAddr, load: &Load) -> anyhow::Result<f64> {
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for index in 0..CLIENTS as usize {
        let stream = std::net::TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(index), Interest::READABLE)?;
        clients.push(Client { stream, awaited: 0 });
    }
    let value = vec![b'x'; load.value_bytes as usize];
    let mut requests = Requests {
        load: *load,
        value,
        random: Random::new(RandomState::new().hash_one(0)),
        left: load.requests,
        buffer: Vec::new(),
    };
    let (mut events, mut input) = (Events::with_capacity(clients.len()), vec![0; READ_BYTES_MAX]);
    let start = Instant::now();
    let mut busy = 0;
    for client in &mut clients {
        busy += u32::from(requests.send(client)?);
    }
    while busy > 0 {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
            _ => {}
        }
        for event in &events {
            let client = &mut clients[event.token().0];
            if client.receive(&mut input)? && !requests.send(client)? {
                busy -= 1;
            }
        }
    }
    Ok(load.requests as f64 / start.elapsed().as_secs_f64())
}

impl Client {
    /// Reads replies; returns whether that was the last one it waited for.
    fn receive(&mut self, input: &mut [u8]) -> anyhow::Result<bool> {
        let count = match self.stream.read(input) {
            Ok(0) => bail!("the server has closed the connection"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // All replies are alike: what is still to come says where in one this begins.
        let begin = (REPLY.len() - self.awaited % REPLY.len()) % REPLY.len();
        let expected = REPLY.iter().cycle().skip(begin);
        if count > self.awaited || !input[..count].iter().zip(expected).all(|(a, b)| a == b) {
            bail!("SET answers {}", input[..count].escape_ascii());
        }
        self.awaited -= count;
        Ok(self.awaited == 0)
    }
}

impl Requests {
    /// Sends a client's next commands; returns whether there were any.
    fn send(&mut self, client: &mut Client) -> anyhow::Result<bool> {
        let commands = self.left.min(u64::from(self.load.pipeline));
        self.left -= commands;
        self.buffer.clear();
        for _ in 0..commands {
            let key = self.random.below(self.load.keys as usize);
            write!(
                self.buffer,
                "*3\r\n$3\r\nSET\r\n$16\r\nkey:{key:012}\r\n${}\r\n",
                self.value.len()
            )?;
            self.buffer.extend_from_slice(&self.value);
            self.buffer.extend_from_slice(b"\r\n");
        }
        client.awaited = commands as usize * REPLY.len();
        client.stream.write_all(&self.buffer).context("a request does not fit into the socket")?;
        Ok(commands > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread::JoinHandle;

    const LOAD: Load = Load { pipeline: 3, requests: 500, keys: 10, value_bytes: 5 };

    /// A server that answers each command with this; then how many commands have come.
    fn serve(reply: &'static [u8]) -> anyhow::Result<(SocketAddr, JoinHandle<usize>)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let server = std::thread::spawn(move || {
            let streams: Vec<_> =
                listener.incoming().take(CLIENTS as usize).filter_map(Result::ok).collect();
            let serve_one = |mut stream: std::net::TcpStream| {
                let (mut count, mut input) = (0, vec![0; READ_BYTES_MAX]);
                // Batches wait for their replies, so each comes alone and whole.
                while let Ok(bytes @ 1..) = stream.read(&mut input) {
                    let commands = input[..bytes].iter().filter(|byte| **byte == b'*').count();
                    count += commands;
                    if stream.write_all(&reply.repeat(commands)).is_err() {
                        break;
                    }
                }
                count
            };
            let threads: Vec<_> = streams
                .into_iter()
                .map(|stream| std::thread::spawn(move || serve_one(stream)))
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
        });
        Ok((address, server))
    }

    #[test]
    fn every_command_is_sent_and_answered() -> anyhow::Result<()> {
        let (address, server) = serve(REPLY)?;
        assert!(set(address, &LOAD)? > 0.0);
        assert_eq!(server.join().expect("a server"), LOAD.requests as usize);
        Ok(())
    }

    #[test]
    fn another_reply_than_ok_is_an_error() -> anyhow::Result<()> {
        let (address, server) = serve(b"-ERR\n")?;
        let error = set(address, &LOAD).expect_err("an error").to_string();
        assert!(error.starts_with("SET answers -ERR"), "{error}");
        server.join().expect("a server");
        Ok(())
    }
}
