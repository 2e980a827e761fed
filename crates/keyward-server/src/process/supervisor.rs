//! The service manager: being told apart from a server that somebody started by hand, and
//! saying how far the server is (sd_notify).
//!
//! Owns what `supervised` means, and the datagrams to systemd's NOTIFY_SOCKET. They tell
//! about READY=1, RELOADING=1, STOPPING=1 and a STATUS line; none is answered, and one that
//! cannot be sent is logged and harms nobody.
//! Not here: when the server is ready (`serve/start.rs`), going to the background (`daemon`).

use crate::clock;
use crate::settings::Settings;
use crate::settings::table::Id;
use rustix::process::{Signal, getpid, kill_process};
use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Where systemd listens: a path, or a name of the abstract namespace behind `@`.
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
/// Set for the jobs of Upstart.
const UPSTART_JOB: &str = "UPSTART_JOB";
/// A manager that does not take a message for so long does not get it.
const PATIENCE: Duration = Duration::from_millis(100);

/// Who looks after the process.
#[derive(Debug, Default)]
pub(crate) enum Supervisor {
    /// Nobody that wants to be told.
    #[default]
    Nobody,
    /// Upstart, which was told by SIGSTOP.
    Upstart,
    /// systemd.
    Systemd(Systemd),
}

/// systemd's end of the conversation.
#[derive(Debug)]
pub(crate) struct Systemd {
    socket: UnixDatagram,
    address: SocketAddr,
    /// Whether it knows that the server ends: it is told once.
    knows_of_end: Cell<bool>,
}

/// How far the server is, as the service manager is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Rows are being loaded.
    Loading,
    /// Clients are served.
    Ready,
    /// The files are read anew; `Ready` follows.
    Reloading,
    /// The server ends.
    Stopping,
    /// The last snapshot is written.
    Saving,
    /// It could not be; the server goes on.
    CannotStop,
    /// The first append-only file is not complete, or the one that has rows which only snapshots
    /// had; the server goes on.
    CannotStopYet,
}

impl Phase {
    /// The lines of the datagram. `monotonic_us` is the time that systemd compares with
    /// that of the reload it asked for.
    fn lines(self, monotonic_us: u64) -> String {
        let text = match self {
            Phase::Loading => "STATUS=Keyward is loading...\n",
            Phase::Ready => "STATUS=Ready to accept connections\nREADY=1\n",
            Phase::Reloading => "STATUS=Reloading\nRELOADING=1\n",
            Phase::Stopping => "STOPPING=1\n",
            Phase::Saving => "STATUS=Saving the final RDB snapshot\n",
            Phase::CannotStop => "STATUS=Error trying to save the DB, can't exit.\n",
            Phase::CannotStopYet => "STATUS=Writing initial AOF, can't exit.\n",
        };
        let mut lines = text.to_owned();
        if self == Phase::Reloading {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "MONOTONIC_USEC={monotonic_us}");
        }
        lines
    }
}

impl Supervisor {
    /// Finds the service manager that the settings name, if it is there; or any, if they
    /// say `auto`. Upstart is told at once.
    pub(crate) fn find(settings: &Settings) -> Supervisor {
        match chosen(settings) {
            "upstart" => Supervisor::upstart(),
            "systemd" => Supervisor::systemd(),
            _ => Supervisor::Nobody,
        }
    }

    /// Stops the process: Upstart takes that as being ready, and lets it go on.
    fn upstart() -> Supervisor {
        if std::env::var_os(UPSTART_JOB).is_none() {
            tracing::warn!("upstart supervision requested, but UPSTART_JOB not found!");
            return Supervisor::Nobody;
        }
        tracing::info!("supervised by upstart, will stop to signal readiness.");
        match kill_process(getpid(), Signal::STOP) {
            Ok(()) => Supervisor::Upstart,
            Err(error) => {
                tracing::warn!(%error, "cannot signal readiness to upstart");
                Supervisor::Nobody
            }
        }
    }

    fn systemd() -> Supervisor {
        let Some(place) = std::env::var_os(NOTIFY_SOCKET) else {
            tracing::warn!("systemd supervision error: NOTIFY_SOCKET not found!");
            return Supervisor::Nobody;
        };
        match connect(&place) {
            Ok(systemd) => {
                tracing::info!(
                    "Supervised by systemd. Please make sure you set appropriate values for \
                     TimeoutStartSec and TimeoutStopSec in your service unit."
                );
                Supervisor::Systemd(systemd)
            }
            Err(error) => {
                tracing::warn!("systemd supervision error: {}: {error}", place.display());
                Supervisor::Nobody
            }
        }
    }

    /// Tells the service manager, if it wants to know.
    pub(crate) fn tell(&self, phase: Phase) {
        let Supervisor::Systemd(Systemd { socket, address, knows_of_end }) = self else { return };
        let is_known = match phase {
            Phase::Stopping => knows_of_end.replace(true),
            _ => false,
        };
        if is_known {
            return;
        }
        if matches!(phase, Phase::Ready | Phase::CannotStop | Phase::CannotStopYet) {
            knows_of_end.set(false);
        }
        let lines = phase.lines(clock::monotonic_ns() / 1000);
        if let Err(error) = socket.send_to_addr(lines.as_bytes(), address) {
            tracing::warn!("systemd supervision error: sd_notify: {error}");
        }
    }

    /// Its name in INFO.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Supervisor::Nobody => "no",
            Supervisor::Upstart => "upstart",
            Supervisor::Systemd(..) => "systemd",
        }
    }
}

/// Whether a service manager looks after the process: then it stays in the foreground.
pub(crate) fn is_supervised(settings: &Settings) -> bool {
    let variable = match chosen(settings) {
        "upstart" => UPSTART_JOB,
        "systemd" => NOTIFY_SOCKET,
        _ => return false,
    };
    std::env::var_os(variable).is_some()
}

/// What `supervised` says, `auto` being what the environment tells.
fn chosen(settings: &Settings) -> &'static str {
    let has = |name: &str| std::env::var_os(name).is_some();
    match settings.choice(Id::Supervised) {
        "auto" if has(UPSTART_JOB) => "upstart",
        "auto" if has(NOTIFY_SOCKET) => "systemd",
        "auto" => "no",
        said => said,
    }
}

fn connect(place: &OsStr) -> io::Result<Systemd> {
    let address = match place.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(place)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(Systemd { socket, address, knows_of_end: Cell::new(false) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_tells_its_time_and_ends_with_ready() {
        let reloading = "STATUS=Reloading\nRELOADING=1\nMONOTONIC_USEC=7\n";
        assert_eq!(Phase::Reloading.lines(7), reloading);
        assert_eq!(Phase::Ready.lines(7), "STATUS=Ready to accept connections\nREADY=1\n");
    }

    #[test]
    fn names_of_the_abstract_namespace_begin_with_an_at() {
        let name = format!("keyward-supervisor-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let manager = UnixDatagram::bind_addr(&address).expect("a socket");
        let systemd = connect(OsStr::new(&format!("@{name}"))).expect("an address");
        Supervisor::Systemd(systemd).tell(Phase::Stopping);
        let mut bytes = [0; 100];
        let count = manager.recv(&mut bytes).expect("a message");
        assert_eq!(&bytes[..count], b"STOPPING=1\n");
    }
}
