//! A session of TLS, above any socket: what is in it, and what comes of bytes.
//!
//! Owns the library's session, and what of its bytes has no place elsewhere: ciphertext of
//! a record that is not complete, data that nobody has read, ciphertext that the socket has
//! not taken. The library is used without its own buffers, so that a session which is idle
//! has none.
//!
//! Invariants: what is kept of an incomplete record is what the library has seen and not
//! taken, and it sees it again with every call. A session that has failed is asked nothing
//! more: the library panics otherwise. Buffers that are empty are given back.
//! Not here: sockets.

use keyward_tls::rustls::server::UnbufferedServerConnection;
use keyward_tls::rustls::unbuffered::{
    AppDataRecord, ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus,
};
use keyward_tls::rustls::{Error, ServerConfig, server::ServerConnectionData};
use std::sync::Arc;
use std::{fmt, io};

/// Data in a record at most.
pub(super) const RECORD_DATA_BYTES: usize = 16 * 1024;
/// A record at most: data, what ciphers add to it, and its head.
pub(crate) const RECORD_BYTES_MAX: usize = RECORD_DATA_BYTES + 2048 + 5;
/// What is kept of messages that are not complete. The library bounds a handshake's by 64 KB.
const INCOMPLETE_BYTES_MAX: usize = 64 * 1024 + RECORD_BYTES_MAX;
/// What the library allocates for a session that is idle: two ciphers, secrets, and the
/// client's certificate if it showed one, which is not counted.
const LIBRARY_BYTES: usize = 3000;
/// What a record adds to its data.
const OVERHEAD_BYTES: usize = 64;

/// A session.
pub(crate) struct Session {
    connection: UnbufferedServerConnection,
    /// Of a record that is not complete.
    incomplete: Vec<u8>,
    /// Data that nobody has read.
    received: Bytes,
    /// Ciphertext that the socket has not taken.
    held: Bytes,
    /// Nothing more is received.
    is_over: bool,
    /// What was received made no sense.
    has_failed: bool,
}

/// Bytes that go from the front.
#[derive(Debug, Default)]
struct Bytes {
    bytes: Vec<u8>,
    gone: usize,
}

impl Bytes {
    fn left(&self) -> &[u8] {
        &self.bytes[self.gone..]
    }

    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
    }

    /// Some of them go; with the last, their buffer.
    fn go(&mut self, count: usize) {
        self.gone += count;
        if self.gone == self.bytes.len() {
            *self = Bytes::default();
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing of what is in it: that is somebody's.
        f.debug_struct("Session").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Result<Session, Error> {
        Ok(Session {
            connection: UnbufferedServerConnection::new(config)?,
            incomplete: Vec::new(),
            received: Bytes::default(),
            held: Bytes::default(),
            is_over: false,
            has_failed: false,
        })
    }

    /// Whether the handshake is not over.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether nothing more is received, once what was is read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The socket has come to its end. What is incomplete stays: the library counts on it.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }

    /// Puts what was kept of an incomplete record where the rest of it is to follow, and
    /// says how much that is.
    pub(crate) fn copy_incomplete(&self, buffer: &mut Vec<u8>) -> usize {
        let kept = self.incomplete.len();
        if buffer.len() < kept + RECORD_BYTES_MAX {
            buffer.resize(kept + RECORD_BYTES_MAX, 0);
        }
        buffer[..kept].copy_from_slice(&self.incomplete);
        kept
    }

    /// Takes ciphertext, which begins with what was kept. Data goes to `buffer`, as far as it
    /// has room, else it is kept; what is to be said to the peer is held.
    pub(crate) fn process(&mut self, input: &mut [u8], buffer: &mut Vec<u8>) -> Result<(), Error> {
        if self.has_failed {
            return Err(Error::General("the session has failed before".to_owned()));
        }
        let Session { connection, received, held, is_over, .. } = self;
        let mut done = 0;
        let outcome = loop {
            let status = connection.process_tls_records(&mut input[done..]);
            let UnbufferedStatus { discard, state } = status;
            let mut more = 0;
            let outcome = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
                    match traffic.next_record() {
                        None => break None,
                        Some(Err(error)) => break Some(Err(error)),
                        Some(Ok(AppDataRecord { discard, payload })) => {
                            more += discard;
                            give(payload, buffer, received);
                        }
                    }
                },
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    encode(data, &mut held.bytes).err().map(Err)
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    None
                }
                Ok(ConnectionState::PeerClosed) => {
                    *is_over = true;
                    None
                }
                Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => {
                    Some(Ok(()))
                }
                // Data ahead of the handshake is not offered, so it never comes.
                Ok(_) => {
                    *is_over = true;
                    Some(Ok(()))
                }
                Err(error) => Some(Err(error)),
            };
            done += discard + more;
            if let Some(outcome) = outcome {
                break outcome;
            }
        };
        self.keep(&input[done..]);
        let outcome = match self.incomplete.len() > INCOMPLETE_BYTES_MAX {
            true => Err(Error::General("a message is too long".to_owned())),
            false => outcome,
        };
        if outcome.is_err() {
            self.fail();
        }
        outcome
    }

    fn keep(&mut self, left: &[u8]) {
        self.incomplete.clear();
        self.incomplete.extend_from_slice(left);
        if left.is_empty() {
            self.incomplete = Vec::new();
        }
    }

    /// What the peer sent makes no sense; the library has an alert for it.
    fn fail(&mut self) {
        self.end();
        self.has_failed = true;
        let status = self.connection.process_tls_records(&mut self.incomplete);
        if let Ok(ConnectionState::EncodeTlsData(data)) = status.state {
            // The peer is lost with or without it.
            let _ = encode(data, &mut self.held.bytes);
        }
    }

    /// Data that nobody has read.
    pub(crate) fn received(&self) -> &[u8] {
        self.received.left()
    }

    /// Reads data that nobody has, as far as there is room for it.
    pub(crate) fn take(&mut self, buffer: &mut Vec<u8>) {
        let left = self.received.left();
        let count = left.len().min(buffer.capacity() - buffer.len());
        if count > 0 {
            buffer.extend_from_slice(&left[..count]);
            self.received.go(count);
        }
    }

    /// Appends data as ciphertext. Nothing may be held: it would have to go first.
    pub(crate) fn encrypt(&mut self, data: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        while !self.has_failed {
            let status = self.connection.process_tls_records(&mut self.incomplete);
            match status.state.inspect_err(|_| self.has_failed = true).map_err(io::Error::other)? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    let start = out.len();
                    out.resize(start + data.len() + OVERHEAD_BYTES, 0);
                    let written = match traffic.encrypt(data, &mut out[start..]) {
                        Err(EncryptError::InsufficientSize(wanted)) => {
                            out.resize(start + wanted.required_size, 0);
                            traffic.encrypt(data, &mut out[start..])
                        }
                        written => written,
                    };
                    let written = written.inspect_err(|_| out.truncate(start));
                    out.truncate(start + written.map_err(io::Error::other)?);
                    return Ok(());
                }
                ConnectionState::EncodeTlsData(data) => {
                    encode(data, out).map_err(io::Error::other)?
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.is_over = true,
                _ => break,
            }
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }

    /// What tells the peer that nothing follows, unless something has to go before.
    pub(crate) fn goodbye(&mut self) -> Option<Vec<u8>> {
        if self.held_bytes() > 0 || self.is_shaking_hands() || self.has_failed {
            return None;
        }
        let status = self.connection.process_tls_records(&mut self.incomplete);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else { return None };
        let mut goodbye = vec![0; OVERHEAD_BYTES];
        let written = traffic.queue_close_notify(&mut goodbye).ok()?;
        goodbye.truncate(written);
        Some(goodbye)
    }

    /// Ciphertext that the socket has not taken.
    pub(crate) fn held(&self) -> &[u8] {
        self.held.left()
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.held.left().len()
    }

    /// Bytes of memory beside the session itself.
    pub(crate) fn memory(&self) -> usize {
        let Session { incomplete, received, held, .. } = self;
        let buffers = incomplete.capacity() + received.bytes.capacity() + held.bytes.capacity();
        LIBRARY_BYTES + buffers
    }

    pub(crate) fn hold(&mut self, bytes: &[u8]) {
        self.held.push(bytes);
    }

    /// The socket has taken some of what is held.
    pub(crate) fn note_sent(&mut self, count: usize) {
        self.held.go(count);
    }
}

/// Gives data to who reads, as far as there is room and nothing lies before it.
fn give(data: &[u8], buffer: &mut Vec<u8>, received: &mut Bytes) {
    let room = match received.left().is_empty() {
        true => buffer.capacity() - buffer.len(),
        false => 0,
    };
    let (now, later) = data.split_at(room.min(data.len()));
    buffer.extend_from_slice(now);
    if !later.is_empty() {
        received.push(later);
    }
}

/// Appends what the session itself has to say.
fn encode(
    mut data: EncodeTlsData<'_, ServerConnectionData>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let start = out.len();
    out.resize(start + RECORD_BYTES_MAX, 0);
    let written = match data.encode(&mut out[start..]) {
        Err(EncodeError::InsufficientSize(wanted)) => {
            out.resize(start + wanted.required_size, 0);
            data.encode(&mut out[start..])
        }
        written => written,
    };
    let written = written.inspect_err(|_| out.truncate(start));
    out.truncate(start + written.map_err(|error| Error::General(error.to_string()))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_testkit::{Certificates, Random};
    use keyward_tls::rustls::ClientConnection;
    use keyward_tls::rustls::pki_types::ServerName;
    use keyward_tls::{ClientAuth, Configuration, Options, Pair};
    use std::io::{Read as _, Write as _};

    fn configuration(files: &Certificates, protocols: &str) -> Configuration {
        let file = |name: &str| Some(files.file(name));
        let pair = Pair { certificate: file("server.crt"), key: file("server.key") };
        let (protocols, clients) = (protocols.to_owned(), ClientAuth::Yes);
        let authority_file = file("ca.crt");
        let options = Options { pair, authority_file, protocols, clients, ..Options::default() };
        Configuration::read(&options).expect("sound files")
    }

    /// Both ends of a connection that hands bytes on in pieces of any size.
    struct Ends {
        client: ClientConnection,
        session: Session,
        random: Random,
        /// Read by the session.
        received: Vec<u8>,
    }

    impl Ends {
        fn new(config: &Configuration, seed: u64) -> Ends {
            let name = ServerName::try_from("localhost").expect("a name");
            Ends {
                client: ClientConnection::new(config.client.clone(), name).expect("a client"),
                session: Session::new(config.server.clone()).expect("a session"),
                random: Random::new(seed),
                received: Vec::new(),
            }
        }

        /// Hands on what the client has to say.
        fn tell_session(&mut self) -> Result<(), Error> {
            let mut wire = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut wire).expect("a vector takes all");
            }
            let mut rest = &wire[..];
            let mut buffer = Vec::new();
            while !rest.is_empty() {
                let count = 1 + self.random.below(rest.len().min(5000));
                let kept = self.session.copy_incomplete(&mut buffer);
                buffer[kept..kept + count].copy_from_slice(&rest[..count]);
                let mut room = Vec::with_capacity(self.random.below(200));
                let processed = self.session.process(&mut buffer[..kept + count], &mut room);
                self.received.extend(room);
                processed?;
                rest = &rest[count..];
                let mut more = Vec::with_capacity(1 + self.random.below(20_000));
                self.session.take(&mut more);
                self.received.extend(more);
            }
            Ok(())
        }

        /// Hands on what the session has to say.
        fn tell_client(&mut self, more: &[u8]) {
            let held = [self.session.held(), more].concat();
            self.session.note_sent(self.session.held_bytes());
            let mut rest = &held[..];
            while !rest.is_empty() {
                self.client.read_tls(&mut rest).expect("a slice can be read");
                self.client.process_new_packets().expect("sound records");
            }
        }

        fn shake_hands(&mut self) {
            while self.client.is_handshaking() || self.session.is_shaking_hands() {
                self.tell_session().expect("sound records");
                self.tell_client(b"");
            }
        }
    }

    #[test]
    fn every_byte_comes_through_however_it_is_cut() {
        let files = Certificates::make();
        for protocols in ["TLSv1.2", "TLSv1.3"] {
            let config = configuration(&files, protocols);
            for seed in 0..20 {
                let mut ends = Ends::new(&config, seed);
                ends.shake_hands();
                let mut sent = Vec::new();
                for _ in 0..20 {
                    let data = vec![seed as u8; ends.random.below(40_000)];
                    // What is sent meanwhile finds half a record there.
                    ends.client.writer().write_all(&data).expect("room");
                    sent.extend(data);
                    if protocols == "TLSv1.3" && ends.random.below(4) == 0 {
                        ends.client.refresh_traffic_keys().expect("new keys");
                    }
                    ends.tell_session().expect("sound records");
                    let answer = vec![7; ends.random.below(16 * 1024)];
                    let mut out = Vec::new();
                    ends.tell_client(b"");
                    ends.session.encrypt(&answer, &mut out).expect("it is encrypted");
                    ends.tell_client(&out);
                    let mut read = vec![0; answer.len()];
                    ends.client.reader().read_exact(&mut read).expect("the answer");
                    assert_eq!(read, answer);
                }
                ends.received.extend_from_slice(ends.session.received());
                assert!(ends.received == sent, "seed {seed}");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_ends_a_session_and_nothing_else() {
        let files = Certificates::make();
        let config = configuration(&files, "");
        for seed in 0..200 {
            let mut ends = Ends::new(&config, seed);
            if seed % 4 > 0 {
                ends.shake_hands();
            }
            let mut garbage: Vec<u8> = (0..300).map(|_| ends.random.below(256) as u8).collect();
            if seed % 2 > 0 {
                // It looks like a record.
                let length = ends.random.below(300) as u8;
                garbage[..5].copy_from_slice(&[0x14 + seed as u8 % 5, 3, 3, 0, length]);
            }
            let mut buffer = Vec::new();
            for part in garbage.chunks(1 + ends.random.below(300)) {
                let kept = ends.session.copy_incomplete(&mut buffer);
                buffer[kept..kept + part.len()].copy_from_slice(part);
                let processed =
                    ends.session.process(&mut buffer[..kept + part.len()], &mut Vec::new());
                assert!(processed.is_ok() || ends.session.is_over());
                // What somebody has to say to it meanwhile does no harm.
                let _ = ends.session.encrypt(b"+OK\r\n", &mut Vec::new());
            }
            ends.session.end();
            let _ = ends.session.encrypt(b"+OK\r\n", &mut Vec::new());
            let _ = ends.session.goodbye();
        }
    }

    #[test]
    fn an_idle_session_keeps_no_buffer() {
        let files = Certificates::make();
        let mut ends = Ends::new(&configuration(&files, ""), 1);
        ends.shake_hands();
        ends.client.writer().write_all(b"PING\r\n").expect("room");
        ends.tell_session().expect("sound records");
        assert_eq!(ends.received, b"PING\r\n");
        let Session { incomplete, received, held, .. } = &ends.session;
        assert_eq!((incomplete.capacity(), received.bytes.capacity()), (0, 0));
        assert_eq!(held.bytes.capacity(), 0);
    }
}
