//! Listening sockets.
//!
//! Owns binding and accepting on TCP and Unix sockets, and changing the former while
//! the server runs. Those of TLS are bound here too, and accepted on by the threads
//! that shake hands (`tls/handshakes.rs`), which are started when there is a port for them.
//! Invariant: listening sockets are watched edge by edge, so that `has_newcomers` stays set
//! until accepting has said `WouldBlock` on each of them.
//! Not here: what becomes of who was accepted (`serve/clients.rs`), the sockets themselves
//! (`transport`).

use crate::clock;
use crate::net::selector::{Alarm, Watcher, Who};
use crate::net::tls::handshakes::{Established, Handshakes};
use crate::net::tls::{Buffers, Tls};
use crate::net::transport::Stream;
use crate::net::visitors::Visitors;
use crate::settings::Settings;
use crate::settings::table::Id;
#[cfg(test)]
use crate::simulation::World;
use keyward_tls::rustls::ServerConfig;
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
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
    /// Those who come by TLS, once there is a port for them.
    tls: RefCell<Option<Handshakes>>,
    buffers: Rc<RefCell<Buffers>>,
    /// Those who come from within the process.
    visitors: Arc<Visitors>,
    #[cfg(test)]
    simulated: Option<World>,
    watcher: Watcher,
    alarm: Alarm,
    /// Somebody may be at the door.
    has_newcomers: Cell<bool>,
    /// Nobody is let in before this time.
    paused_until_ns: Cell<u64>,
}

impl Listeners {
    /// Binds everything. An address marked optional by `-` may fail.
    pub(crate) fn bind(
        settings: &Settings,
        watcher: Watcher,
        alarm: Alarm,
    ) -> io::Result<Listeners> {
        let tcp = bind_plain(settings, &watcher)?;
        let mut unix = None;
        let path = settings.text(Id::UnixSocket);
        if !path.is_empty() {
            let permissions = settings.permissions(Id::UnixSocketPerm);
            let listener = bind_unix(&path, permissions).map_err(|error| named(error, &path))?;
            watcher.watch_source(Who::Newcomer, &listener)?;
            unix = Some((listener, SocketFile(path.into())));
        }
        let listeners = Listeners {
            tcp: RefCell::new(tcp),
            unix: RefCell::new(unix),
            tls: RefCell::default(),
            buffers: Rc::default(),
            visitors: Arc::default(),
            #[cfg(test)]
            simulated: None,
            watcher,
            alarm,
            has_newcomers: Cell::new(false),
            paused_until_ns: Cell::new(0),
        };
        listeners.listen_by_tls(bind_all_tcp(settings, Id::TlsPort)?)?;
        Ok(listeners)
    }

    /// On a simulated network.
    #[cfg(test)]
    pub(crate) fn simulated(world: &World) -> Listeners {
        Listeners {
            tcp: RefCell::default(),
            unix: RefCell::default(),
            tls: RefCell::default(),
            buffers: Rc::default(),
            visitors: Arc::default(),
            simulated: Some(world.clone()),
            watcher: Watcher::Simulated,
            alarm: Alarm::silent(),
            has_newcomers: Cell::new(false),
            paused_until_ns: Cell::new(0),
        }
    }

    /// Listens on the ports and the addresses of new settings, or else on those of the
    /// old ones as before; if not, the setting is named that could not be obeyed.
    /// Connections stay.
    pub(crate) fn rebind(&self, old: &Settings, new: &Settings) -> Result<(), (Id, io::Error)> {
        let is_other = |port: &Id| old.int(*port) != new.int(*port);
        let is_elsewhere = old.text(Id::Bind) != new.text(Id::Bind);
        let changed = [Id::Port, Id::TlsPort].into_iter();
        let changed: Vec<Id> = changed.filter(|port| is_elsewhere || is_other(port)).collect();
        if is_elsewhere {
            // One address can be listened on but once.
            self.listen_nowhere();
        }
        for (position, port) in changed.iter().enumerate() {
            let Err(error) = self.listen_on(*port, new) else { continue };
            if is_elsewhere {
                self.listen_nowhere();
            }
            // Elsewhere, both have to be taken again; else those that came before.
            for port in if is_elsewhere { &changed[..] } else { &changed[..position] } {
                if let Err(error) = self.listen_on(*port, old) {
                    tracing::warn!("{error}");
                }
            }
            return Err((if is_elsewhere { Id::Bind } else { *port }, error));
        }
        if !changed.is_empty() {
            self.expect_newcomers();
        }
        Ok(())
    }

    /// Listens on a port by the settings, and no longer where that was before.
    fn listen_on(&self, port: Id, settings: &Settings) -> io::Result<()> {
        match port {
            Id::TlsPort => self.listen_by_tls(bind_all_tcp(settings, port)?),
            _ => {
                *self.tcp.borrow_mut() = bind_plain(settings, &self.watcher)?;
                Ok(())
            }
        }
    }

    fn listen_nowhere(&self) {
        self.tcp.borrow_mut().clear();
        if let Some(handshakes) = &*self.tls.borrow() {
            handshakes.listen_nowhere();
        }
    }

    /// Has the threads that shake hands listen, which are started for it.
    fn listen_by_tls(&self, listeners: Vec<TcpListener>) -> io::Result<()> {
        if listeners.is_empty() && self.tls.borrow().is_none() {
            return Ok(());
        }
        self.handshakes()?;
        let tls = self.tls.borrow();
        tls.as_ref().map_or(Ok(()), |handshakes| handshakes.listen(listeners))
    }

    /// Starts the threads that shake hands unless they are there.
    fn handshakes(&self) -> io::Result<()> {
        let mut tls = self.tls.borrow_mut();
        if tls.is_none() {
            *tls = Some(Handshakes::start(self.alarm.clone())?);
        }
        Ok(())
    }

    /// Whoever comes by TLS from now on is shown this; what was before is returned.
    pub(crate) fn configure_tls(
        &self,
        config: Option<Arc<ServerConfig>>,
    ) -> io::Result<Option<Arc<ServerConfig>>> {
        if config.is_some() {
            self.handshakes()?;
        }
        let tls = self.tls.borrow();
        Ok(tls.as_ref().and_then(|handshakes| handshakes.configure(config)))
    }

    /// Where others of the process come by.
    pub(crate) fn visitors(&self) -> Arc<Visitors> {
        Arc::clone(&self.visitors)
    }

    /// A thread has told something: somebody may have shaken hands, or come for a visit.
    pub(crate) fn hear_thread(&self) {
        if !self.visitors.is_empty() {
            self.expect_newcomers();
        }
        if self.tls.borrow().as_ref().is_some_and(Handshakes::has_established) {
            self.expect_newcomers();
        }
    }

    /// Listens no longer; tells of it unless the server could not start.
    pub(crate) fn close(&self, has_started: bool) {
        self.tcp.borrow_mut().clear();
        self.tls.take();
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
        let established = self.tls.borrow().as_ref().and_then(Handshakes::take);
        if let Some(Established { socket, session }) = established {
            return Ok(Stream::Tls(Box::new(Tls::new(socket, session, Rc::clone(&self.buffers)))));
        }
        if let Some(socket) = self.visitors.take() {
            return Ok(Stream::Unix(socket));
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
    /// First without TLS, then with it.
    pub(crate) fn exposed(&self) -> [Vec<SocketAddr>; 2] {
        let listeners = self.tcp.borrow();
        let plain = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let tls = self.tls.borrow().as_ref().map_or(Vec::new(), Handshakes::addresses);
        let is_exposed = |address: &SocketAddr| !address.ip().to_canonical().is_loopback();
        [plain, tls].map(|addresses: Vec<_>| addresses.into_iter().filter(is_exposed).collect())
    }

    /// Where the server can be reached, for the banner.
    pub(crate) fn describe(&self) -> String {
        let listeners = self.tcp.borrow();
        let tcp = listeners.iter().filter_map(|l| l.local_addr().ok()).map(|a| a.to_string());
        let tls = self.tls.borrow().as_ref().map_or(Vec::new(), Handshakes::addresses);
        let tls = tls.iter().map(|address| format!("{address} (TLS)"));
        let unix = self.unix.borrow();
        let unix = unix.iter().map(|(_, file)| file.0.display().to_string());
        let all: Vec<String> = tcp.chain(tls).chain(unix).collect();
        if all.is_empty() { "no address".to_owned() } else { all.join(", ") }
    }
}

fn named(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {what}: {error}"))
}

/// Binds `port`, and has its sockets watched.
fn bind_plain(settings: &Settings, watcher: &Watcher) -> io::Result<Vec<TcpListener>> {
    let listeners = bind_all_tcp(settings, Id::Port)?;
    listeners.iter().try_for_each(|listener| watcher.watch_source(Who::Newcomer, listener))?;
    Ok(listeners)
}

/// Binds a port on all addresses.
fn bind_all_tcp(settings: &Settings, port: Id) -> io::Result<Vec<TcpListener>> {
    let port = u16::try_from(settings.int(port)).unwrap_or(0);
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
            Ok(listener) => listeners.push(listener),
            Err(_) if is_optional => {}
            Err(error) => return Err(named(error, &format!("{host}:{port}"))),
        }
    }
    Ok(listeners)
}

/// Binds the address that a setting of HTTP says: an address and a port, or a port of the
/// loopback interface.
pub(crate) fn bind_http(said: &str) -> io::Result<TcpListener> {
    let whole = if said.contains(':') { said.to_owned() } else { format!("127.0.0.1:{said}") };
    TcpListener::bind(&whole).map_err(|error| named(error, &whole))
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
