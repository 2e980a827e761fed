//! The HTTP server: a thread that accepts, and one for each connection, of which there are few.
//!
//! Owns the paths, and the limits on connections and their time. Nobody here is waited for by
//! the thread that serves clients.

use crate::access::{Credentials, Guard, Hosts};
use crate::alerts::AlertLog;
use crate::api::{self, Asked, Proposal};
use crate::board::{Board, Reading};
use crate::budget::{Kind, Text};
use crate::connections::{Connections, Moved, Phase, Seat};
use crate::dashboard;
use crate::exposition;
use crate::history::History;
use crate::info::Info;
use crate::metrics;
use crate::request::{Inbox, Method, NoRequest, Request};
use crate::response::{Body, Response, Status};
use crate::texts::{Texts, no_figures};
use crate::visit::{REPLY_MAX, Visit};
use keyward_resp::Frame;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Requests of a connection.
const REQUESTS_MAX: usize = 10_000;
/// How long a client may take to receive a response.
const SEND_MAX: Duration = Duration::from_secs(10);
/// How long a plan may take.
const PLAN_MAX: Duration = Duration::from_secs(60);
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 512 * 1024;
/// How often is looked for a place, and how long is waited between.
const SEAT_TRIES: usize = 50;
const SEAT_PAUSE: Duration = Duration::from_millis(20);
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
    texts: Texts,
    /// Locked while the server is asked something and its replies are made into a text. Nobody
    /// who has it waits for room.
    visiting: Mutex<()>,
    /// Locked while a schema is planned: one at a time.
    planning: Mutex<()>,
    connections: Arc<Connections>,
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
            texts: Texts::default(),
            visiting: Mutex::default(),
            planning: Mutex::default(),
            connections: Arc::default(),
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
            let loopback: IpAddr = match address.is_ipv4() {
                true => Ipv4Addr::LOCALHOST.into(),
                false => Ipv6Addr::LOCALHOST.into(),
            };
            address.set_ip(loopback);
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
        let Some(seat) = seat(&stream, shared) else {
            turn_away(stream);
            continue;
        };
        let of_thread = Arc::clone(shared);
        // A connection without a thread is closed.
        let _ = std::thread::Builder::new()
            .name("http".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(stream, peer, &seat, &of_thread));
    }
}

/// A place for a connection, if there is one soon.
fn seat(stream: &TcpStream, shared: &Shared) -> Option<Seat> {
    (0..SEAT_TRIES).find_map(|at| {
        if at > 0 {
            std::thread::sleep(SEAT_PAUSE);
        }
        shared.connections.admit(stream)
    })
}

/// Says that there are too many, to whoever can hear it at once.
fn turn_away(mut stream: TcpStream) {
    let _ = stream.set_write_timeout(Some(Duration::from_millis(50)));
    let response = Response::text(Status::Unavailable, "too many connections");
    let _ = response.send(&mut stream, false, false);
}

/// Serves a connection.
fn serve(mut stream: TcpStream, peer: SocketAddr, seat: &Seat, shared: &Shared) {
    // A socket that is closed already refuses options; reading will tell.
    let _ = stream.set_nodelay(true);
    let mut inbox = Inbox::default();
    for count in 1..=REQUESTS_MAX {
        seat.enter(Phase::Waiting);
        let request = inbox.next(&mut stream);
        // What had come before it was told to go is not worked on.
        if !seat.enter(Phase::Working) {
            return;
        }
        let (response, is_head, is_kept) = match request {
            Ok(request) => {
                if !is_of_health(&request.path) && !move_up(seat) {
                    let response = Response::text(Status::Unavailable, "too many connections");
                    let _ = response.send(&mut stream, request.is_head(), false);
                    return;
                }
                // Who asks much leaves its place to who has none.
                let has_place = !seat.is_extra() && !shared.connections.has_queue();
                let is_kept = request.is_kept && count < REQUESTS_MAX && has_place;
                let mut upload = Upload { inbox: &mut inbox, stream: &mut stream, is_read: false };
                let response = respond(&request, peer, shared, &mut upload);
                // What was not read would be taken for the next request.
                let has_rest = matches!(request.method, Method::Post { .. }) && !upload.is_read;
                (response, request.is_head(), is_kept && !has_rest)
            }
            Err(NoRequest::Refused(status)) => (Response::refusal(status), false, false),
            Err(NoRequest::Over) => return,
        };
        seat.enter(Phase::Sending);
        let mut paced = Paced { stream: &mut stream, until: Instant::now() + SEND_MAX };
        if response.send(&mut paced, is_head, is_kept).is_err() || !is_kept {
            return;
        }
    }
}

/// Whether a path is served on every place.
fn is_of_health(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

/// Has a connection wait for one of the places where anything may be asked; whether it has one.
fn move_up(seat: &Seat) -> bool {
    if !seat.is_extra() {
        return true;
    }
    if !seat.enter(Phase::Queueing) {
        return false;
    }
    for _ in 0..SEAT_TRIES {
        match seat.move_up() {
            Moved::Up => return seat.enter(Phase::Working),
            Moved::Away => return false,
            Moved::Not => std::thread::sleep(SEAT_PAUSE),
        }
    }
    false
}

/// What comes behind the head of a request.
struct Upload<'s> {
    inbox: &'s mut Inbox,
    stream: &'s mut TcpStream,
    is_read: bool,
}

impl Upload<'_> {
    fn read(&mut self, bytes: usize) -> Result<Vec<u8>, Response> {
        let body = self.inbox.body(self.stream, bytes);
        self.is_read = body.is_ok();
        body.map_err(|_| Response::refusal(Status::BadRequest))
    }
}

/// A socket to which everything is written by a certain time.
struct Paced<'s> {
    stream: &'s mut TcpStream,
    until: Instant,
}

impl Write for Paced<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The response to a request.
fn respond(
    request: &Request,
    peer: SocketAddr,
    shared: &Shared,
    upload: &mut Upload<'_>,
) -> Response {
    // Whoever looks at a server's health may not know its name, and learns nothing else.
    let is_nameless = is_of_health(&request.path) && !request.has_header("host");
    if !is_nameless && !shared.settings.hosts.admits(request.header("host")) {
        return Response::text(
            Status::Misdirected,
            "this server is not called so: http-hosts lists its names",
        );
    }
    match request.path.as_str() {
        "/healthz" => Response::text(Status::Ok, "ok"),
        "/readyz" => ready(shared),
        path => match allowed(request, peer, shared) {
            Ok(who) => {
                let shown = match request.method {
                    Method::Post { body_bytes } => {
                        posted(path, request, body_bytes, who.as_ref(), shared, upload)
                    }
                    Method::Get | Method::Head => shown(path, request, who.as_ref(), shared),
                };
                shown.unwrap_or_else(|refused| refused)
            }
            Err(response) => response,
        },
    }
}

/// What is at a path for who may read figures.
fn shown(
    path: &str,
    request: &Request,
    who: Option<&Credentials>,
    shared: &Shared,
) -> Result<Response, Response> {
    if path == "/metrics" {
        return figures(shared);
    }
    if let Some(asset) = dashboard::asset(path) {
        return Ok(asset);
    }
    let Some(path) = path.strip_prefix("/api/v1/") else {
        return Err(Response::refusal(Status::NotFound));
    };
    let text = match path {
        "overview" => overview(shared)?,
        path => asked(path, request, who, shared)?,
    };
    Ok(Response { status: Status::Ok, content_type: "application/json", body: Body::Text(text) })
}

/// What is made of something that was sent: a plan of a schema.
fn posted(
    path: &str,
    request: &Request,
    body_bytes: usize,
    who: Option<&Credentials>,
    shared: &Shared,
    upload: &mut Upload<'_>,
) -> Result<Response, Response> {
    if path != "/api/v1/plan" {
        return Err(Response::refusal(Status::MethodNotAllowed));
    }
    if !request.is_of_this_origin() {
        let text = "a plan is asked for in JSON (Content-Type: application/json), from this page";
        return Err(Response::text(Status::Forbidden, text));
    }
    let Ok(_one_at_a_time) = shared.planning.try_lock() else {
        return Err(Response::text(Status::Unavailable, "another schema is being planned"));
    };
    let proposal = Proposal::read(&upload.read(body_bytes)?);
    let proposal = proposal.ok_or_else(|| Response::refusal(Status::BadRequest))?;
    let call = |commands: &[&[&[u8]]]| visit(commands, who, PLAN_MAX, shared);
    let planned = api::plan(&proposal, &call)?;
    // A plan is made once: it waits for room as it is.
    let text = shared.texts.made(&|| shared.connections.hurry(), || {
        Ok(shared.texts.counted(Kind::Other, planned.clone()))
    })?;
    Ok(Response { status: Status::Ok, content_type: "application/json", body: Body::Text(text) })
}

/// Sends commands as a user.
fn visit(
    commands: &[&[&[u8]]],
    who: Option<&Credentials>,
    patience: Duration,
    shared: &Shared,
) -> Result<Vec<Frame>, Response> {
    let called = shared.server.connect().and_then(Visit::new);
    let called = called.and_then(|visit| visit.patient(patience).call_as(who, commands));
    called.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            Response::text(Status::Unavailable, "there is more of it than can be shown here")
        }
        _ => Response::text(Status::Unavailable, "the server does not answer"),
    })
}

/// Who reads figures; a response for who may not.
fn allowed(
    request: &Request,
    peer: SocketAddr,
    shared: &Shared,
) -> Result<Option<Credentials>, Response> {
    let who = Credentials::read(request.header("authorization")).map_err(Response::refusal)?;
    let text = lines(shared)?;
    let is_protected = Info::read(&text).text("protected") != "0";
    if is_protected && !peer.ip().to_canonical().is_loopback() {
        return Err(Response::text(
            Status::Forbidden,
            "protected mode: without a password, figures are shown to this machine only",
        ));
    }
    // Before it is asked: rights that change meanwhile are asked for again.
    let users = shared.board.users();
    shared.guard.admit(who.as_ref(), users, || Visit::new(shared.server.connect()?))?;
    Ok(who)
}

/// INFO's lines, of figures that are not old.
fn lines(shared: &Shared) -> Result<String, Response> {
    shared.board.text(|| shared.server.wake()).ok_or_else(no_figures)
}

/// Whether clients are served: rows are loaded, and a replica has its primary.
fn ready(shared: &Shared) -> Response {
    let Ok(text) = lines(shared) else {
        return Response::text(Status::Unavailable, "not ready");
    };
    let info = Info::read(&text);
    let is_cut_off = info.text("role") == "slave" && info.text("master_link_status") != "up";
    match info.text("loading") == "0" && !is_cut_off {
        true => Response::text(Status::Ok, "ready"),
        false => Response::text(Status::Unavailable, "not ready"),
    }
}

/// What Prometheus scrapes.
fn figures(shared: &Shared) -> Result<Response, Response> {
    let text = of_figures(Kind::Metrics, shared, &|reading, empty| {
        let mut process = String::from("# CPU\r\n");
        shared.server.processor_time(&mut process);
        metrics::render(reading, &process, empty)
    })?;
    let (content_type, body) = (exposition::CONTENT_TYPE, Body::Text(text));
    Ok(Response { status: Status::Ok, content_type, body })
}

/// What every view of the dashboard begins with.
fn overview(shared: &Shared) -> Result<Arc<Text>, Response> {
    of_figures(Kind::Overview, shared, &|reading, empty| {
        api::overview(reading, &shared.history, empty)
    })
}

fn of_figures(
    kind: Kind,
    shared: &Shared,
    render: &dyn Fn(&Reading, String) -> String,
) -> Result<Arc<Text>, Response> {
    shared.texts.of_figures(kind, &shared.board, &|| shared.connections.hurry(), render)
}

/// Whatever else the dashboard asks.
fn asked(
    path: &str,
    request: &Request,
    who: Option<&Credentials>,
    shared: &Shared,
) -> Result<Arc<Text>, Response> {
    shared.texts.made(&|| shared.connections.hurry(), || {
        let _one_at_a_time = shared.visiting.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = shared.board.last().ok_or_else(no_figures)?;
        let call = |commands: &[&[&[u8]]]| visit(commands, who, REPLY_MAX, shared);
        let (history, alerts) = (&shared.history, &shared.alerts);
        let asked = Asked { reading: &reading, history, alerts, call: &call };
        Ok(shared.texts.counted(Kind::Other, api::answer(&asked, path, &request.query)?))
    })
}
