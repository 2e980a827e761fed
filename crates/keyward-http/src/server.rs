//! The HTTP server: a thread that accepts, and one for each connection, of which there are few.
//!
//! Owns the paths, and the limits on connections and their time. Nobody here is waited for by
//! the thread that serves clients.

use crate::access::{Credentials, Guard, Hosts};
use crate::alerts::AlertLog;
use crate::api::{self, Asked};
use crate::board::{Board, Reading};
use crate::dashboard;
use crate::exposition;
use crate::history::History;
use crate::info::Info;
use crate::metrics;
use crate::request::{Inbox, NoRequest, Request};
use crate::response::{Response, Status};
use crate::visit::Visit;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 32;
/// Requests of a connection.
const REQUESTS_MAX: usize = 10_000;
/// How long a client may take to receive some of a response.
const SEND_MAX: Duration = Duration::from_secs(10);
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 512 * 1024;
/// How long accepting pauses after an error, such as that there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What HTTP asks of the server.
pub trait Server: Send + Sync + 'static {
    /// A connection to the server, within the process.
    ///
    /// # Errors
    /// Those of the system.
    fn connect(&self) -> io::Result<UnixStream>;

    /// Ends a wait of the thread that serves, since somebody wants figures.
    fn wake(&self);

    /// Appends INFO's section of processor time.
    fn processor_time(&self, text: &mut String);
}

/// How to serve.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The names by which the server may be called.
    pub hosts: Hosts,
}

/// What all connections share.
struct Shared {
    settings: Settings,
    board: Arc<Board>,
    server: Arc<dyn Server>,
    guard: Guard,
    history: Arc<History>,
    alerts: Arc<AlertLog>,
    /// The last text for Prometheus, and when its figures were published.
    metrics: Mutex<Option<(u64, Arc<str>)>>,
    connections: AtomicUsize,
    must_stop: AtomicBool,
}

/// A running HTTP server. It ends when this is dropped.
pub struct Http {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Http {
    /// Serves on a listening socket.
    ///
    /// # Errors
    /// If there can be no thread for it.
    pub fn start(
        listener: TcpListener,
        settings: Settings,
        board: Arc<Board>,
        server: Arc<dyn Server>,
        alerts: Arc<AlertLog>,
    ) -> io::Result<Http> {
        listener.set_nonblocking(false)?;
        let address = listener.local_addr()?;
        let history: Arc<History> = Arc::default();
        let waker = Arc::clone(&server);
        history.keep(Arc::clone(&board), move || waker.wake())?;
        let shared = Arc::new(Shared {
            settings,
            board,
            server,
            guard: Guard::default(),
            history,
            alerts,
            metrics: Mutex::default(),
            connections: AtomicUsize::new(0),
            must_stop: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("http".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || accept(&listener, &of_thread))?;
        Ok(Http { address, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.shared.must_stop.store(true, Ordering::Release);
        // Whoever waits for a connection gets one, and sees it.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            let is_v4 = address.is_ipv4();
            let loopback: [std::net::IpAddr; 2] =
                [std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()];
            address.set_ip(loopback[usize::from(!is_v4)]);
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_millis(100));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.must_stop.load(Ordering::Acquire) {
            return;
        }
        let Ok((stream, peer)) = accepted else {
            std::thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
            turn_away(stream);
            continue;
        }
        let of_thread = Arc::clone(shared);
        let thread = std::thread::Builder::new()
            .name("http".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                serve(stream, peer, &of_thread);
                of_thread.connections.fetch_sub(1, Ordering::AcqRel);
            });
        if thread.is_err() {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Says that there are too many, to whoever can hear it at once.
fn turn_away(mut stream: TcpStream) {
    let _ = stream.set_write_timeout(Some(Duration::from_millis(50)));
    let response = Response::text(Status::Unavailable, "too many connections");
    let _ = response.send(&mut stream, false, false);
}

/// Serves a connection.
fn serve(mut stream: TcpStream, peer: SocketAddr, shared: &Shared) {
    // A socket that is closed already refuses options; reading will tell.
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(SEND_MAX));
    let mut inbox = Inbox::default();
    for count in 1..=REQUESTS_MAX {
        let (response, is_head, is_kept) = match inbox.next(&mut stream) {
            Ok(request) => {
                let is_kept = request.is_kept && count < REQUESTS_MAX;
                (respond(&request, peer, shared), request.is_head, is_kept)
            }
            Err(NoRequest::Refused(status)) => (Response::refusal(status), false, false),
            Err(NoRequest::Over) => return,
        };
        if response.send(&mut stream, is_head, is_kept).is_err() || !is_kept {
            return;
        }
    }
}

/// The response to a request.
fn respond(request: &Request, peer: SocketAddr, shared: &Shared) -> Response {
    if !shared.settings.hosts.admits(request.header("host")) {
        return Response::text(
            Status::Misdirected,
            "this server is not called so: http-hosts lists its names",
        );
    }
    match request.path.as_str() {
        "/healthz" => Response::text(Status::Ok, "ok"),
        "/readyz" => ready(shared),
        path => match allowed(request, peer, shared) {
            Ok((who, reading)) => shown(path, request, (who, &reading), shared),
            Err(response) => response,
        },
    }
}

/// What is at a path for who may read figures.
fn shown(
    path: &str,
    request: &Request,
    (who, reading): (Option<Credentials>, &Reading),
    shared: &Shared,
) -> Response {
    if path == "/metrics" {
        return figures(shared);
    }
    if let Some(asset) = dashboard::asset(path) {
        return asset;
    }
    let Some(path) = path.strip_prefix("/api/v1/") else {
        return Response::refusal(Status::NotFound);
    };
    let call = |commands: &[&[&[u8]]]| {
        let called = shared.server.connect().and_then(Visit::new);
        let called = called.and_then(|mut visit| visit.call_as(who.as_ref(), commands));
        called.map_err(|_| Response::text(Status::Unavailable, "the server does not answer"))
    };
    let (history, alerts) = (&shared.history, &shared.alerts);
    api::answer(&Asked { reading, history, alerts, call: &call }, path, &request.query)
}

/// Who reads figures, and some of those; a response for who may not.
fn allowed(
    request: &Request,
    peer: SocketAddr,
    shared: &Shared,
) -> Result<(Option<Credentials>, Reading), Response> {
    let who = Credentials::read(request.header("authorization")).map_err(Response::refusal)?;
    let reading = read(shared)?;
    let is_protected = Info::read(&reading.text).text("protected") != "0";
    if is_protected && !peer.ip().to_canonical().is_loopback() {
        return Err(Response::text(
            Status::Forbidden,
            "protected mode: without a password, figures are shown to this machine only",
        ));
    }
    shared.guard.admit(who.as_ref(), || Visit::new(shared.server.connect()?))?;
    Ok((who, reading))
}

/// The figures.
fn read(shared: &Shared) -> Result<Reading, Response> {
    let reading = shared.board.read(|| shared.server.wake());
    reading.ok_or_else(|| Response::text(Status::Unavailable, "there are no figures yet"))
}

/// Whether clients are served: rows are loaded, and a replica has its primary.
fn ready(shared: &Shared) -> Response {
    let Ok(reading) = read(shared) else {
        return Response::text(Status::Unavailable, "not ready");
    };
    let info = Info::read(&reading.text);
    let is_cut_off = info.text("role") == "slave" && info.text("master_link_status") != "up";
    match info.text("loading") == "0" && !is_cut_off {
        true => Response::text(Status::Ok, "ready"),
        false => Response::text(Status::Unavailable, "not ready"),
    }
}

/// What Prometheus scrapes. Those who ask at the same time are given the same.
fn figures(shared: &Shared) -> Response {
    let reading = match read(shared) {
        Ok(reading) => reading,
        Err(response) => return response,
    };
    let mut last = shared.metrics.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |known: &&(u64, Arc<str>)| known.0 == reading.at_ns && reading.age < SECOND;
    let text = match last.as_ref().filter(is_known) {
        Some((_, text)) => Arc::clone(text),
        None => {
            let mut process = String::from("# CPU\r\n");
            shared.server.processor_time(&mut process);
            let text: Arc<str> = metrics::render(&reading, &process).into();
            *last = Some((reading.at_ns, Arc::clone(&text)));
            text
        }
    };
    drop(last);
    let (content_type, body) = (exposition::CONTENT_TYPE, text.as_bytes().to_vec());
    Response { status: Status::Ok, content_type, body }
}

/// Figures that are older are told with their age anew.
const SECOND: Duration = Duration::from_secs(1);
