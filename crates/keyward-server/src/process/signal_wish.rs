//! What a signal asks for, by the settings.
//!
//! Owns the meaning of `shutdown-on-sigterm` and `shutdown-on-sigint`, the words of SHUTDOWN.
//! Not here: carrying it out (`serve::shutdown`).

use crate::settings::Settings;
use crate::settings::table::Id;

/// How a signal ends the server (`shutdown-on-sigterm`, `shutdown-on-sigint`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SignalWish {
    /// Whether a last snapshot is written; by default where snapshots are written at all.
    pub(crate) saves: Option<bool>,
    /// Even if nothing can be saved.
    pub(crate) is_forced: bool,
    /// Replicas are not waited for.
    pub(crate) is_now: bool,
}

impl SignalWish {
    /// What a setting says.
    pub(crate) fn of(settings: &Settings, setting: Id) -> SignalWish {
        let text = settings.text(setting);
        let has = |word: &str| text.split(' ').any(|one| one == word);
        let saves = if has("save") { Some(true) } else { has("nosave").then_some(false) };
        SignalWish { saves, is_forced: has("force"), is_now: has("now") }
    }
}
