//! `daemonize yes`: going to the background.
//!
//! The process starts itself once more, in a session of its own and with its streams at
//! `/dev/null`, and ends with success, as redis-server's parent does after its fork. A new
//! process rather than a fork: it begins with one thread whatever this one has started
//! meanwhile (the allocator's threads, a log), and needs no `unsafe`. What is wrong with the
//! command line, the settings or a schema has been said by then, where somebody reads it.
//! Not here: who is supervised stays in the foreground (`supervisor`).

use crate::process::supervisor;
use crate::settings::Settings;
use crate::settings::table::Id;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Set for the process in the background, which must not start another one.
const MARK: &str = "KEYWARD_DAEMON";
/// This program, even if its file has been replaced meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Which process this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// The one that serves.
    Server,
    /// One that has started it, and is done.
    Starter,
}

/// Goes to the background if the settings say so and nobody supervises the process.
pub(crate) fn enter(settings: &Settings) -> io::Result<Process> {
    if !is_wanted(settings) {
        return Ok(Process::Server);
    }
    if std::env::var_os(MARK).is_some() {
        // Fails only for the leader of a group of processes, which who was started is not.
        rustix::process::setsid()?;
        return Ok(Process::Server);
    }
    start_in_background(settings.input())?;
    Ok(Process::Starter)
}

/// Whether the server is to run in the background.
pub(crate) fn is_wanted(settings: &Settings) -> bool {
    settings.is_on(Id::Daemonize) && !supervisor::is_supervised(settings)
}

/// It outlives this process, which ends at once and waits for nobody. It is given what this
/// one has read from the standard input.
fn start_in_background(input: Option<&[u8]>) -> io::Result<()> {
    let mut arguments = std::env::args_os();
    let mut command = Command::new(THIS_PROGRAM);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env(MARK, "1");
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    match (child.stdin.take(), input) {
        (Some(mut pipe), Some(input)) => pipe.write_all(input),
        _ => Ok(()),
    }
}
