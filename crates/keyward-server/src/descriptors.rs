//! File descriptors: one for each connection, and some for the process itself.

use crate::settings::Settings;
use crate::settings::table::Id;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What listeners, logs and the runtime take. Redis sets as many aside.
const OWN_DESCRIPTORS: u64 = 32;

/// Asks for as many as the process may have, since systems give few at first; allows
/// no more clients than they suffice for.
pub(crate) fn provide(settings: &mut Settings) {
    let limit = getrlimit(Resource::Nofile);
    // Where this is refused, what the process has is what counts.
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let given = setrlimit(Resource::Nofile, wanted).map_or(limit.current, |()| limit.maximum);
    let Some(given) = given else { return };
    let clients_max = given.saturating_sub(OWN_DESCRIPTORS).max(1);
    let asked = settings.int(Id::MaxClients);
    if u64::try_from(asked).is_ok_and(|asked| asked > clients_max) {
        tracing::warn!(
            "maxclients is {clients_max} instead of {asked}: the process may open {given} files (ulimit -n)"
        );
        let lowered = clients_max.to_string();
        if let Err(error) = settings.set_live(&[(b"maxclients", lowered.as_bytes())], true) {
            tracing::warn!("maxclients could not be lowered: {error}");
        }
    }
}
