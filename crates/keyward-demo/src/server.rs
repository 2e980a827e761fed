//! The server of a demonstration, on a thread of this process.
//!
//! Owns its start on a free port, its end, and its directory, which is a temporary
//! one: no snapshot that lies around is loaded, and SAVE leaves nothing behind.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use keyward_server::{ServeError, Settings};
use tempfile::TempDir;

use crate::connection::Connection;
use crate::error::DemoError;
use crate::system::System;

/// How long the server may take until it answers.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two attempts to reach it.
const START_PAUSE: Duration = Duration::from_millis(2);
/// How long whoever listens on the port may take to say who it is. It may be another
/// program, which never answers, while our server has already given up.
const PROBE_PATIENCE: Duration = Duration::from_millis(500);
/// How long it may take to end.
const END_PATIENCE: Duration = Duration::from_secs(20);
/// Another process may take a free port before the server does.
const PORT_ATTEMPTS: usize = 5;
/// Lua and nested values are as deep as on the main thread of `keyward serve`.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// A server that runs, or has ended.
pub(crate) struct Server {
    address: SocketAddr,
    end: Receiver<Result<(), ServeError>>,
    /// How it ended; none while it runs.
    outcome: Option<Result<(), DemoError>>,
    /// Where its dashboard is.
    http: SocketAddr,
    _directory: TempDir,
}

impl Server {
    /// Starts it with these systems, and waits until it answers.
    pub(crate) fn start(port: Option<u16>, systems: &[&System]) -> Result<Server, DemoError> {
        let mut attempts = if port.is_some() { 1 } else { PORT_ATTEMPTS };
        loop {
            attempts -= 1;
            let port = port.map_or_else(free_port, Ok).map_err(DemoError::Port)?;
            let mut server = Server::launch(port, systems)?;
            match server.wait_until_ready() {
                Ok(()) => return Ok(server),
                Err(error) if attempts > 0 && is_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn launch(port: u16, systems: &[&System]) -> Result<Server, DemoError> {
        let served = systems.iter().map(|system| system.served()).collect::<Result<Vec<_>, _>>()?;
        let directory = tempfile::tempdir().map_err(DemoError::Directory)?;
        let http = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().map_err(DemoError::Port)?));
        let settings = settings(port, http, &directory)?;
        let (tell, end) = mpsc::channel();
        let serve = move || {
            // Nobody listens only where the process ends anyway.
            let _ = tell.send(keyward_server::run(settings, served));
        };
        let thread = thread::Builder::new().name("server".to_owned()).stack_size(STACK_BYTES);
        thread.spawn(serve).map_err(DemoError::Thread)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Ok(Server { address, end, outcome: None, http, _directory: directory })
    }

    /// Waits until this process answers on the port.
    fn wait_until_ready(&mut self) -> Result<(), DemoError> {
        let deadline = Instant::now() + START_PATIENCE;
        while Instant::now() < deadline {
            if self.ends_within(START_PAUSE) {
                self.outcome.take().unwrap_or(Ok(()))?;
                return Err(DemoError::Server("ended before it was asked anything"));
            }
            let answering = Connection::open(self.address, 0, PROBE_PATIENCE);
            if answering.is_ok_and(|mut it| is_this_process(&mut it)) {
                return Ok(());
            }
        }
        Err(DemoError::Server("does not answer"))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its dashboard is.
    pub(crate) fn http(&self) -> SocketAddr {
        self.http
    }

    /// Waits for its end; whether it came in time.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> bool {
        if self.outcome.is_none() {
            self.outcome = match self.end.recv_timeout(patience) {
                Ok(outcome) => Some(outcome.map_err(Into::into)),
                Err(RecvTimeoutError::Disconnected) => Some(Err(DemoError::Server("broke off"))),
                Err(RecvTimeoutError::Timeout) => None,
            };
        }
        self.outcome.is_some()
    }

    /// What a connection brought; nothing if it broke because a signal ended the server.
    pub(crate) fn unless_ended<T>(
        &mut self,
        result: io::Result<T>,
    ) -> Result<Option<T>, DemoError> {
        match result {
            Err(_) if self.ends_within(END_PATIENCE) => Ok(None),
            other => other.map(Some).map_err(DemoError::Connection),
        }
    }

    /// Tells it to stop and waits until it has.
    pub(crate) fn stop(&mut self, connection: &mut Connection) -> Result<(), DemoError> {
        // It ends instead of answering.
        let _ = connection.ask(&["SHUTDOWN", "NOSAVE"]);
        if !self.ends_within(END_PATIENCE) {
            return Err(DemoError::Server("does not stop"));
        }
        Ok(())
    }

    /// How it ended.
    pub(crate) fn outcome(self) -> Result<(), DemoError> {
        self.outcome.unwrap_or(Ok(()))
    }
}

/// Whether another process listens on the port.
fn is_taken(error: &DemoError) -> bool {
    matches!(error, DemoError::Serve(ServeError::Listen(_)))
}

/// Loopback only, in memory only.
fn settings(port: u16, http: SocketAddr, directory: &TempDir) -> Result<Settings, DemoError> {
    let directory = directory.path().display().to_string();
    let (port, http) = (port.to_string(), http.to_string());
    let arguments = [
        "--port",
        &port,
        "--bind",
        "127.0.0.1",
        "--http",
        &http,
        "--dir",
        &directory,
        "--save",
        "",
        "--appendonly",
        "no",
    ];
    Ok(Settings::from_command_line(&arguments.map(str::to_owned))?)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Whether it is our server that answers, not another on the same port.
fn is_this_process(connection: &mut Connection) -> bool {
    let own = format!("process_id:{}\r\n", std::process::id());
    let info = connection.ask(&["INFO", "server"]);
    info.is_ok_and(|info| {
        String::from_utf8_lossy(info.as_bytes().unwrap_or_default()).contains(&own)
    })
}
