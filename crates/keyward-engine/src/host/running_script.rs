//! A running script, as the program around the engine sees it.
//!
//! Owns what a host may do to a script that runs for long: serve other clients, end it.
//! Not here: running it (`scripting`).

use super::Host;
use crate::engine::progress::Progress;
use keyward_resp::Args;
use keyward_store::keyspace::client_id::ClientId;
use std::time::Duration;

/// What is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A script of EVAL.
    Script,
    /// A function of FCALL.
    Function,
    /// The code of a library, to register its functions.
    LibraryLoad,
}

/// A running script, as the host sees it.
pub trait RunningScript {
    /// Which run this is since the engine began.
    fn number(&self) -> u64;

    /// What is running.
    fn activity(&self) -> Activity;

    /// What it is called: a function's name, a script's SHA-1.
    fn name(&self) -> &[u8];

    /// Whether a newcomer is admitted whatever its password.
    fn needs_no_password(&self) -> bool;

    /// A client comes meanwhile.
    fn connect(&mut self) -> ClientId;

    /// A client that came meanwhile goes.
    fn disconnect(&mut self, client: ClientId);

    /// A client's connection is over, and is closed after the script: if it is a replica's, the
    /// script sees that it has gone.
    fn lose(&mut self, client: ClientId);

    /// Whether what a client sends is answered now. It is not if this is the script's own
    /// client, or one that waits.
    fn is_open_to(&self, client: ClientId) -> bool;

    /// Takes a command of another client: refuses it, as most, queues it or runs it.
    /// `elapsed` is how long the script has run.
    fn accept(
        &mut self,
        host: &mut dyn Host,
        client: ClientId,
        args: Args<'_>,
        elapsed: Duration,
        out: &mut Vec<u8>,
    ) -> Progress;

    /// Ends it, whatever it has done.
    fn end(&mut self);
}
