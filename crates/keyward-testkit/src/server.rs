//! Starting and stopping real servers for tests.
//!
//! Owns the child process, its port and its directory. Dropping a [`Server`] kills the
//! process and removes the directory.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::client::Client;
use crate::waiting::within;
use keyward_resp::Frame;

/// How long a server may take until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Another process may take the free port before the server does.
const PORT_ATTEMPTS: usize = 5;

/// The variable that names another `keyward`: `cargo xtask sanitize` has tests try its own.
const PROGRAM: &str = "KEYWARD_PROGRAM";

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    directory: tempfile::TempDir,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The program is not on this machine or cannot be executed.
    NotRunnable {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended, or did not answer in time.
    NotReady {
        /// The program.
        program: String,
        /// What it wrote to its log.
        log: String,
    },
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::NotRunnable { program, source } => {
                write!(f, "{program} cannot be run: {source}. These tests compare with it")
            }
            StartError::NotReady { program, log } => {
                write!(f, "{program} does not answer; its log:\n{log}")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl Server {
    /// A `redis-server` with nothing saved to disk and these further options, written
    /// as on its command line: `["--maxmemory", "100mb"]`.
    ///
    /// # Panics
    /// If there is none on this machine, or it is not of version 7.0, or it does not
    /// start: a test that needs the oracle must fail then.
    pub fn redis(options: &[&str]) -> Server {
        let server = Server::start_redis(options);
        let info = server.client().call(["INFO", "server"]);
        let info = info.unwrap_or_else(|error| panic!("redis-server does not answer: {error}"));
        let text = String::from_utf8_lossy(info.as_bytes().unwrap_or_default()).into_owned();
        assert!(text.contains("redis_version:7.0."), "redis-server is not of version 7.0: {text}");
        server
    }

    /// As [`Server::redis`], but clients must authenticate.
    ///
    /// # Panics
    /// If it does not start.
    pub fn redis_with_password(password: &str) -> Server {
        Server::start_redis(&["--requirepass", password])
    }

    fn start_redis(options: &[&str]) -> Server {
        let mut arguments = vec!["--save", "", "--enable-debug-command", "yes"];
        arguments.extend_from_slice(options);
        Server::start(Path::new("redis-server"), &arguments)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// A `keyward serve` of this binary: files first, then settings. It keeps no
    /// append-only file unless these say so, as the `redis-server` beside it. Another
    /// binary can be tried by naming it in the environment (`KEYWARD_PROGRAM`).
    ///
    /// # Panics
    /// If it does not start.
    pub fn keyward(program: &Path, options: &[&str]) -> Server {
        let files = options.iter().take_while(|option| !option.starts_with("--")).count();
        let (files, settings) = options.split_at(files);
        let first = [&["serve"], files].concat();
        let settings = [&["--appendonly", "no"], settings].concat();
        let named = std::env::var_os(PROGRAM);
        let program = named.as_ref().map_or(program, Path::new);
        Server::start_with(program, &first, &settings).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Keyward with these schemas and files of settings, which decide what is saved.
    ///
    /// # Panics
    /// If it does not start.
    pub fn keyward_as_set(program: &Path, files: &[&str]) -> Server {
        let named = std::env::var_os(PROGRAM);
        let program = named.as_ref().map_or(program, Path::new);
        let first = [&["serve"], files].concat();
        Server::start_with(program, &first, &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts `program` with `--port`, `--bind`, `--dir` and these arguments, and waits
    /// until it answers PING.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<Server, StartError> {
        Server::start_with(program, &[], arguments)
    }

    /// As [`Server::start`], with arguments before those too.
    fn start_with(
        program: &Path,
        first: &[&str],
        arguments: &[&str],
    ) -> Result<Server, StartError> {
        let mut failure = None;
        for _ in 0..PORT_ATTEMPTS {
            match Server::try_start(program, first, arguments) {
                Err(error @ StartError::NotReady { .. }) => failure = Some(error),
                other => return other,
            }
        }
        Err(failure.expect("an attempt was made"))
    }

    fn try_start(program: &Path, first: &[&str], arguments: &[&str]) -> Result<Server, StartError> {
        let not_runnable =
            |source| StartError::NotRunnable { program: program.display().to_string(), source };
        let address = free_address().map_err(not_runnable)?;
        let directory = tempfile::tempdir().map_err(not_runnable)?;
        let log = std::fs::File::create(directory.path().join("log")).map_err(not_runnable)?;
        let child = Command::new(program)
            .args(first)
            .args(["--port", &address.port().to_string(), "--bind", "127.0.0.1", "--dir"])
            .arg(directory.path())
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(log.try_clone().map_err(not_runnable)?)
            .stdout(log)
            .spawn()
            .map_err(not_runnable)?;
        let mut server = Server { child, address, directory };
        if server.wait_until_ready() {
            return Ok(server);
        }
        let log = std::fs::read_to_string(server.directory.path().join("log")).unwrap_or_default();
        Err(StartError::NotReady { program: program.display().to_string(), log })
    }

    /// Waits for a PONG; gives up when the process ends or the time is over.
    fn wait_until_ready(&mut self) -> bool {
        let mut has_ended = false;
        let ready = within(START_TIMEOUT, || {
            has_ended = !matches!(self.child.try_wait(), Ok(None));
            let answered = Client::connect(self.address).and_then(|mut c| c.call(["PING"]));
            // A password may be asked for.
            let is_ready = match &answered {
                Ok(Frame::Error(text)) => !text.starts_with(b"LOADING"),
                other => other.is_ok(),
            };
            (is_ready || has_ended).then_some(())
        });
        ready.is_some() && !has_ended
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its directory, with its log and its files.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Its process id.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process ends by itself.
    ///
    /// # Panics
    /// If it does not within this time.
    pub fn wait(mut self, patience: Duration) -> ExitStatus {
        let status = within(patience, || self.child.try_wait().ok().flatten());
        status.expect("the server ends")
    }

    /// A new connection.
    ///
    /// # Panics
    /// If the server does not accept it.
    pub fn client(&self) -> Client {
        Client::connect(self.address)
            .unwrap_or_else(|error| panic!("no connection to {}: {error}", self.address))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on.
///
/// # Panics
/// If the system has none.
pub fn free_port() -> u16 {
    free_address().expect("a free port").port()
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let error = Server::start(Path::new("no-such-server"), &[]).expect_err("it is missing");
        assert!(error.to_string().starts_with("no-such-server cannot be run"), "{error}");
    }

    #[test]
    fn a_program_that_ends_is_an_error() {
        let error = Server::start(Path::new("false"), &[]).expect_err("it ends at once");
        assert!(matches!(error, StartError::NotReady { .. }), "{error}");
    }

    #[test]
    fn a_dropped_server_leaves_no_process_and_no_directory() {
        let server = Server::redis(&[]);
        let (process, directory) = (server.process_id(), server.directory().to_owned());
        assert!(directory.exists());
        drop(server);
        assert!(!directory.exists());
        assert!(!Path::new(&format!("/proc/{process}")).exists());
    }
}
