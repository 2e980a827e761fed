//! Listening sockets, and the little a connection needs to know of its socket.
//!
//! Owns binding and accepting on TCP and Unix sockets, and changing the former while
//! the server runs. The rest of the server sees only [`Stream`], so that other
//! transports (TLS) are an addition here.

use crate::peer::Addresses;
use crate::settings::Settings;
use crate::settings::table::Id;
use crate::wire::Doorbell;
use rustix::buffer::spare_capacity;
use rustix::net::{RecvFlags, SendFlags};
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, TcpKeepalive, Type};
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};

/// A connected socket of any kind, which never blocks.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(socket) => socket.as_fd(),
            Stream::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Stream {
    /// Receives behind what the buffer holds, as much as it has room for; zero at the end.
    #[inline]
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let (count, _) = rustix::net::recv(self, spare_capacity(buffer), RecvFlags::empty())?;
        Ok(count)
    }

    /// Sends what the socket takes at once; answers how much that is.
    #[inline]
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self, bytes, SendFlags::NOSIGNAL)?)
    }

    /// Both ends, as CLIENT LIST shows them.
    pub(crate) fn addresses(&self) -> Addresses {
        let descriptor = self.as_fd().as_raw_fd().into();
        match self {
            Stream::Tcp(socket) => {
                let text = |address: io::Result<SocketAddr>| {
                    address.map_or_else(|_| "?:0".to_owned(), |a| show(&a))
                };
                let (peer, local) = (text(socket.peer_addr()), text(socket.local_addr()));
                Addresses { peer, local, descriptor, is_unix: false }
            }
            Stream::Unix(socket) => {
                let address = socket.local_addr().ok();
                let path = address.and_then(|a| a.as_pathname().map(|p| p.display().to_string()));
                let path = format!("{}:0", path.unwrap_or_default());
                Addresses { peer: path.clone(), local: path, descriptor, is_unix: true }
            }
        }
    }

    /// Whether the peer is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Stream::Tcp(socket) => {
                socket.peer_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback())
            }
            Stream::Unix(_) => true,
        }
    }

    /// Applies the settings that concern sockets.
    pub(crate) fn configure(&self, settings: &Settings) {
        let Stream::Tcp(socket) = self else { return };
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

/// A Unix socket's file, removed when the server ends.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What the server listens on.
#[derive(Debug)]
pub(crate) struct Listeners {
    tcp: RefCell<Vec<TcpListener>>,
    unix: Option<(UnixListener, SocketFile)>,
    /// Wakes who accepts on TCP when there are others to accept on.
    waker: RefCell<Option<Waker>>,
    doorbell: Doorbell,
}

impl Listeners {
    /// Binds everything. An address marked optional by `-` may fail.
    pub(crate) fn bind(settings: &Settings, doorbell: Doorbell) -> io::Result<Listeners> {
        let tcp = bind_all_tcp(settings, &doorbell)?;
        let mut unix = None;
        let path = settings.text(Id::UnixSocket);
        if !path.is_empty() {
            let permissions = settings.permissions(Id::UnixSocketPerm);
            let listener = bind_unix(&path, permissions).map_err(|error| named(error, &path))?;
            doorbell.watch(listener.as_fd())?;
            unix = Some((listener, SocketFile(path.into())));
        }
        Ok(Listeners { tcp: RefCell::new(tcp), unix, waker: RefCell::default(), doorbell })
    }

    /// Listens on the port and the addresses of new settings, or else on those of the
    /// old ones as before. Connections stay.
    pub(crate) fn rebind(&self, old: &Settings, new: &Settings) -> io::Result<()> {
        let is_other_port = old.int(Id::Port) != new.int(Id::Port);
        if !is_other_port && old.text(Id::Bind) == new.text(Id::Bind) {
            return Ok(());
        }
        if !is_other_port {
            // One address can be listened on but once.
            self.tcp.borrow_mut().clear();
        }
        let (outcome, listeners) = match bind_all_tcp(new, &self.doorbell) {
            Ok(listeners) => (Ok(()), Ok(listeners)),
            Err(error) if is_other_port => return Err(error),
            Err(error) => (Err(error), bind_all_tcp(old, &self.doorbell)),
        };
        *self.tcp.borrow_mut() = listeners?;
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
        outcome
    }

    /// The next TCP connection. One task may wait for it.
    pub(crate) async fn accept_tcp(&self) -> io::Result<Stream> {
        std::future::poll_fn(|cx| self.poll_tcp(cx)).await
    }

    fn poll_tcp(&self, cx: &mut Context<'_>) -> Poll<io::Result<Stream>> {
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        for listener in &*self.tcp.borrow() {
            if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                return Poll::Ready(
                    accepted.and_then(|(socket, _)| Ok(Stream::Tcp(socket.into_std()?))),
                );
            }
        }
        Poll::Pending
    }

    /// The next connection by the Unix socket; waits for ever if there is none.
    pub(crate) async fn accept_unix(&self) -> io::Result<Stream> {
        match &self.unix {
            Some((listener, _)) => Ok(Stream::Unix(listener.accept().await?.0.into_std()?)),
            None => std::future::pending().await,
        }
    }

    /// Visits the listening sockets, and says of each whether it is a Unix one.
    pub(crate) fn each(&self, mut visit: impl FnMut(BorrowedFd<'_>, bool)) {
        self.tcp.borrow().iter().for_each(|listener| visit(listener.as_fd(), false));
        self.unix.iter().for_each(|(listener, _)| visit(listener.as_fd(), true));
    }

    /// Where the server can be reached, for the banner.
    pub(crate) fn describe(&self) -> String {
        let listeners = self.tcp.borrow();
        let tcp = listeners.iter().filter_map(|l| l.local_addr().ok()).map(|a| a.to_string());
        let unix = self.unix.iter().map(|(_, file)| file.0.display().to_string());
        let all: Vec<String> = tcp.chain(unix).collect();
        if all.is_empty() { "no address".to_owned() } else { all.join(", ") }
    }
}

fn named(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {what}: {error}"))
}

fn bind_all_tcp(settings: &Settings, doorbell: &Doorbell) -> io::Result<Vec<TcpListener>> {
    let port = u16::try_from(settings.int(Id::Port)).unwrap_or(0);
    let mut listeners = Vec::new();
    if port == 0 {
        return Ok(listeners);
    }
    let backlog = i32::try_from(settings.int(Id::TcpBacklog)).unwrap_or(i32::MAX);
    for word in settings.text(Id::Bind).split_whitespace() {
        let (is_optional, host) = match word.strip_prefix('-') {
            Some(host) => (true, host),
            None => (false, word),
        };
        match bind_tcp(host, port, backlog) {
            Ok(listener) => {
                doorbell.watch(listener.as_fd())?;
                listeners.push(listener);
            }
            Err(_) if is_optional => {}
            Err(error) => return Err(named(error, &format!("{host}:{port}"))),
        }
    }
    Ok(listeners)
}

fn bind_tcp(host: &str, port: u16, backlog: i32) -> io::Result<TcpListener> {
    let ip: IpAddr = match host {
        "*" | "0.0.0.0" => Ipv4Addr::UNSPECIFIED.into(),
        "::*" | "::" => Ipv6Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        other => other.parse().map_err(|_| io::Error::other("not an IP address"))?,
    };
    let address = SocketAddr::new(ip, port);
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    TcpListener::from_std(socket.into())
}

fn bind_unix(path: &str, mode: u32) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    if mode != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(listener)
}
