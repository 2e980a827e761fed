//! File descriptors: one for each connection, and some for the process itself.

use crate::settings::Settings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What listeners, logs and the event loop take. Redis sets as many aside.
const OWN_DESCRIPTORS: u64 = 32;

/// How many clients there are descriptors for. Asks for as many as the process may have,
/// since systems give few at first.
pub(crate) fn clients_max() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // Where this is refused, what the process has is what counts.
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let given = setrlimit(Resource::Nofile, wanted).map_or(limit.current, |()| limit.maximum);
    given.map_or(u64::MAX, |given| given.saturating_sub(OWN_DESCRIPTORS).max(1))
}

/// Allows no more clients than there are descriptors for.
pub(crate) fn provide(settings: &mut Settings) {
    let clients_max = clients_max();
    let asked = settings.clients_max();
    if asked > clients_max {
        tracing::warn!(
            "maxclients is {clients_max} instead of {asked}: the process may not open more files (ulimit -n)"
        );
        let lowered = clients_max.to_string();
        if let Err(error) = settings.set_live(&[(b"maxclients", lowered.as_bytes())], true) {
            tracing::warn!("maxclients could not be lowered: {error}");
        }
    }
}
