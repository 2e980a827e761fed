//! What carries a connection's bytes.
//!
//! Owns the one trait behind which sockets stand, and the kinds there are. A connection
//! sees only [`Stream`], an enum, so that a call costs a branch that is always predicted.
//!
//! Invariants of every transport:
//! - No call blocks; `WouldBlock` says that the selector will tell when to try again, and
//!   only that does: the selector tells edge by edge.
//! - What a transport has received and keeps to itself (TLS: decrypted, not yet read) is
//!   readable although its socket stays silent; [`Transport::has_received`] says so, and
//!   the connection takes another turn by itself.
//! - What it has been given to send and keeps to itself (TLS: encrypted, not yet taken by
//!   the socket) counts as unsent ([`Transport::held_bytes`]); [`Transport::flush`] passes
//!   it on.
//! - A peek does not take anything: what was seen is received afterwards.
//!
//! Not here: accepting (`listen`), who is told that a socket is ready (`selector`).

use crate::net::tls::Tls;
use crate::settings::Settings;
use crate::settings::table::Id;
#[cfg(test)]
use crate::simulation::Pipe;
use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// What a connection asks of its transport.
pub(crate) trait Transport {
    /// Receives behind what the buffer holds, as much as it has room for; zero at the end.
    fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize>;

    /// As [`Transport::receive`], but everything is still there afterwards.
    fn look_at(&self, buffer: &mut Vec<u8>) -> io::Result<usize>;

    /// Sends what is taken at once; returns how much that is.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// As [`Transport::send`], of several parts one after the other.
    fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Tells the peer that this is the end, in both directions.
    fn shut_down(&self);

    /// Whether bytes were received that no edge will tell of.
    fn has_received(&self) -> bool {
        false
    }

    /// Bytes that were sent and that the socket has not taken.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Bytes of memory that it has for itself, what is held included.
    fn memory(&self) -> usize {
        self.held_bytes()
    }

    /// Passes on what is held; fails with `WouldBlock` while some of it still is.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket of the system, TCP or Unix, without anything in between.
impl<Socket: AsFd> Transport for Socket {
    #[inline]
    fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let (count, _) = rustix::net::recv(self, spare_capacity(buffer), RecvFlags::empty())?;
        Ok(count)
    }

    fn look_at(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let (count, _) = rustix::net::recv(self, spare_capacity(buffer), RecvFlags::PEEK)?;
        Ok(count)
    }

    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self, bytes, SendFlags::NOSIGNAL)?)
    }

    fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        Ok(rustix::net::sendmsg(self, parts, &mut control, SendFlags::NOSIGNAL)?)
    }

    fn shut_down(&self) {
        // The peer may have gone already.
        let _ = rustix::net::shutdown(self, Shutdown::Both);
    }
}

/// A connected transport of any kind.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<Tls>),
    /// A connection of the simulated network.
    #[cfg(test)]
    Simulated(Pipe),
}

/// Where a connection comes from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Addresses {
    pub(crate) peer: String,
    pub(crate) local: String,
    pub(crate) descriptor: i64,
    pub(crate) is_unix: bool,
}

/// Calls the transport there is.
macro_rules! each_kind {
    ($stream:expr, $transport:ident => $call:expr) => {
        match $stream {
            Stream::Tcp($transport) => $call,
            Stream::Unix($transport) => $call,
            Stream::Tls($transport) => $call,
            #[cfg(test)]
            Stream::Simulated($transport) => $call,
        }
    };
}

impl Stream {
    #[inline]
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        each_kind!(self, transport => transport.receive(buffer))
    }

    pub(crate) fn peek(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        each_kind!(self, transport => transport.look_at(buffer))
    }

    #[inline]
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        each_kind!(self, transport => transport.send(bytes))
    }

    pub(crate) fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        each_kind!(self, transport => transport.send_parts(parts))
    }

    pub(crate) fn shut_down(&self) {
        each_kind!(self, transport => transport.shut_down());
    }

    #[inline]
    pub(crate) fn has_received(&self) -> bool {
        each_kind!(self, transport => transport.has_received())
    }

    #[inline]
    pub(crate) fn held_bytes(&self) -> usize {
        each_kind!(self, transport => transport.held_bytes())
    }

    pub(crate) fn memory(&self) -> usize {
        each_kind!(self, transport => transport.memory())
    }

    pub(crate) fn flush(&self) -> io::Result<()> {
        each_kind!(self, transport => transport.flush())
    }

    /// The socket that a system's selector watches.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Stream::Tcp(socket) => Some(socket.as_fd()),
            Stream::Unix(socket) => Some(socket.as_fd()),
            Stream::Tls(tls) => Some(tls.socket.as_fd()),
            #[cfg(test)]
            Stream::Simulated(_) => None,
        }
    }

    /// The socket of TCP, if it is one.
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Stream::Tcp(socket) => Some(socket),
            Stream::Tls(tls) => Some(&tls.socket),
            Stream::Unix(_) => None,
            #[cfg(test)]
            Stream::Simulated(_) => None,
        }
    }

    /// Both ends, as CLIENT LIST shows them.
    pub(crate) fn addresses(&self) -> Addresses {
        let descriptor = self.socket().map_or(-1, |socket| socket.as_raw_fd().into());
        if let Some(socket) = self.tcp() {
            let text = |address: io::Result<SocketAddr>| {
                address.map_or_else(|_| "?:0".to_owned(), |a| show(&a))
            };
            let (peer, local) = (text(socket.peer_addr()), text(socket.local_addr()));
            return Addresses { peer, local, descriptor, is_unix: false };
        }
        match self {
            Stream::Tcp(_) | Stream::Tls(_) => unreachable!("they are of TCP"),
            Stream::Unix(socket) => {
                let address = socket.local_addr().ok();
                let path = address.and_then(|a| a.as_pathname().map(|p| p.display().to_string()));
                let path = format!("{}:0", path.unwrap_or_default());
                Addresses { peer: path.clone(), local: path, descriptor, is_unix: true }
            }
            #[cfg(test)]
            Stream::Simulated(pipe) => {
                let (peer, local) = (pipe.address(), "127.0.0.1:1".to_owned());
                Addresses { peer, local, descriptor, is_unix: false }
            }
        }
    }

    /// Whether the peer is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.tcp().is_none_or(|socket| {
            socket.peer_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback())
        })
    }

    /// Applies the settings that concern sockets.
    pub(crate) fn configure(&self, settings: &Settings) {
        let Some(socket) = self.tcp() else { return };
        // A socket that is closed already refuses options; reading will tell.
        let _ = socket.set_nodelay(true);
        let seconds = settings.int(Id::TcpKeepAlive);
        if let Ok(seconds @ 1..) = u64::try_from(seconds) {
            let probe = Duration::from_secs((seconds / 3).max(1));
            let keepalive = TcpKeepalive::new()
                .with_time(Duration::from_secs(seconds))
                .with_interval(probe)
                .with_retries(3);
            let _ = SockRef::from(socket).set_tcp_keepalive(&keepalive);
        }
    }
}

/// An address as Redis writes it: without brackets around IPv6.
fn show(address: &SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.to_string(),
        SocketAddr::V6(address) => format!("[{}]:{}", address.ip(), address.port()),
    }
}
