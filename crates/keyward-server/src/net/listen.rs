//! Listening sockets.
//!
//! Owns binding and accepting on TCP and Unix sockets, and changing the former while
//! the server runs. Invariant: listening sockets are watched edge by edge, so that
//! `has_newcomers` stays set until accepting has said `WouldBlock` on each of them.
//! Not here: what becomes of who was accepted (`serve/clients.rs`), the sockets themselves
//! (`transport`).

use crate::clock;
use crate::net::selector::{Watcher, Who};
use crate::net::transport::Stream;
use crate::settings::Settings;
use crate::settings::table::Id;
#[cfg(test)]
use crate::simulation::World;
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

/// How long accepting pauses when the process has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
    unix: RefCell<Option<(UnixListener, SocketFile)>>,
    #[cfg(test)]
    simulated: Option<World>,
    watcher: Watcher,
    /// Somebody may be at the door.
    has_newcomers: Cell<bool>,
    /// Nobody is let in before this time.
    paused_until_ns: Cell<u64>,
}

impl Listeners {
    /// Binds everything. An address marked optional by `-` may fail.
    pub(crate) fn bind(settings: &Settings, watcher: Watcher) -> io::Result<Listeners> {
        let tcp = bind_all_tcp(settings, &watcher)?;
        let mut unix = None;
        let path = settings.text(Id::UnixSocket);
        if !path.is_empty() {
            let permissions = settings.permissions(Id::UnixSocketPerm);
            let listener = bind_unix(&path, permissions).map_err(|error| named(error, &path))?;
            watcher.watch_source(Who::Newcomer, &listener)?;
            unix = Some((listener, SocketFile(path.into())));
        }
        Ok(Listeners {
            tcp: RefCell::new(tcp),
            unix: RefCell::new(unix),
            #[cfg(test)]
            simulated: None,
            watcher,
            has_newcomers: Cell::new(false),
            paused_until_ns: Cell::new(0),
        })
    }

    /// On a simulated network.
    #[cfg(test)]
    pub(crate) fn simulated(world: &World) -> Listeners {
        Listeners {
            tcp: RefCell::default(),
            unix: RefCell::default(),
            simulated: Some(world.clone()),
            watcher: Watcher::Simulated,
            has_newcomers: Cell::new(false),
            paused_until_ns: Cell::new(0),
        }
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
        let (outcome, listeners) = match bind_all_tcp(new, &self.watcher) {
            Ok(listeners) => (Ok(()), Ok(listeners)),
            Err(error) if is_other_port => return Err(error),
            Err(error) => (Err(error), bind_all_tcp(old, &self.watcher)),
        };
        *self.tcp.borrow_mut() = listeners?;
        self.expect_newcomers();
        outcome
    }

    /// Listens no longer; tells of it unless the server could not start.
    pub(crate) fn close(&self, has_started: bool) {
        self.tcp.borrow_mut().clear();
        if let Some((listener, file)) = self.unix.take() {
            drop(listener);
            if has_started {
                tracing::info!("Removing the unix socket file.");
            }
            drop(file);
        }
    }

    /// The selector has told of somebody.
    pub(crate) fn expect_newcomers(&self) {
        self.has_newcomers.set(true);
    }

    /// When somebody is to be let in: now, if it is in the past; never, if nobody is there.
    pub(crate) fn next_ns(&self) -> u64 {
        if self.has_newcomers.get() { self.paused_until_ns.get() } else { u64::MAX }
    }

    /// Somebody who is at the door. Errors are the peer's, or pass.
    pub(crate) fn accept(&self) -> Option<Stream> {
        loop {
            match self.accept_any() {
                Ok(stream) => return Some(stream),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => {
                        self.has_newcomers.set(false);
                        return None;
                    }
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    _ => {
                        tracing::warn!(%error, "cannot accept a connection");
                        let pause_ns = ACCEPT_PAUSE.as_nanos() as u64;
                        self.paused_until_ns.set(clock::monotonic_ns() + pause_ns);
                        return None;
                    }
                },
            }
        }
    }

    fn accept_any(&self) -> io::Result<Stream> {
        let is_nobody = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        for listener in &*self.tcp.borrow() {
            match listener.accept() {
                Err(error) if is_nobody(&error) => {}
                accepted => {
                    let (socket, _) = accepted?;
                    socket.set_nonblocking(true)?;
                    return Ok(Stream::Tcp(socket));
                }
            }
        }
        if let Some((listener, _)) = &*self.unix.borrow() {
            let (socket, _) = listener.accept()?;
            socket.set_nonblocking(true)?;
            return Ok(Stream::Unix(socket));
        }
        #[cfg(test)]
        if let Some(world) = &self.simulated {
            return Ok(Stream::Simulated(world.accept()?));
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Where others than this machine can reach the server, for the banner.
    pub(crate) fn exposed(&self) -> Vec<SocketAddr> {
        let listeners = self.tcp.borrow();
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
        addresses.filter(|address| !address.ip().to_canonical().is_loopback()).collect()
    }

    /// Where the server can be reached, for the banner.
    pub(crate) fn describe(&self) -> String {
        let listeners = self.tcp.borrow();
        let tcp = listeners.iter().filter_map(|l| l.local_addr().ok()).map(|a| a.to_string());
        let unix = self.unix.borrow();
        let unix = unix.iter().map(|(_, file)| file.0.display().to_string());
        let all: Vec<String> = tcp.chain(unix).collect();
        if all.is_empty() { "no address".to_owned() } else { all.join(", ") }
    }
}

fn named(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {what}: {error}"))
}

fn bind_all_tcp(settings: &Settings, watcher: &Watcher) -> io::Result<Vec<TcpListener>> {
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
                watcher.watch_source(Who::Newcomer, &listener)?;
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
    Ok(socket.into())
}

fn bind_unix(path: &str, mode: u32) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    if mode != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(listener)
}
