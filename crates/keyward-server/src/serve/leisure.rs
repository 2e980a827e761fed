//! Using the time in which nothing else is to be done.
//!
//! Owns when the engine rests: step after step when no client has wanted anything for a
//! while, and a small share of the time while they do. A step is far shorter than a
//! millisecond, and between two of them whoever is ready comes first. With nothing to do
//! it sleeps: a tick wakes it.
//! Not here: what there is to do (`Engine::rest`, `gathering`).

use crate::clock::Instant;
use crate::serve::server::Server;
use std::rc::Rc;
use std::time::Duration;

/// How long the engine serves before it may rest again. A step takes about a twentieth
/// of a millisecond, which is a hundredth of that.
const PAUSE: Duration = Duration::from_millis(5);
/// After this long without a command there are no pauses.
const QUIET: Duration = Duration::from_millis(50);

/// Lets the engine rest whenever it can.
pub(crate) async fn use_leisure(server: Rc<Server>) {
    let commands = || server.core.borrow().engine.commands_processed();
    loop {
        server.leisure.taken().await;
        let mut last = (commands(), Instant::now());
        while server.core.borrow_mut().rest() {
            // Whoever is ready runs before this goes on.
            server.agenda.pause().await;
            if commands() != last.0 {
                last = (commands(), Instant::now());
            }
            if last.1.elapsed() < QUIET {
                server.agenda.sleep(PAUSE).await;
            }
        }
    }
}
