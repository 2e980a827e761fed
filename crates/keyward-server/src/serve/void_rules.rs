//! Rules of users that grant nothing, since no schema in force has the pattern that they name.
//!
//! Owns when they are looked for and what the log says: once the server is ready, when a file of
//! users was read, and when other schemas came into force. A pattern that was renamed, or a typo,
//! would lock its users out without a word. Done by ticks, in steps.
//! Not here: which rules these are (`keyward_engine`).

use crate::serve::core::Core;
use keyward_engine::{Engine, RulesLook, VoidRule};
use keyward_schema::escape_bytes;

/// Rules that the log names of one look; it counts the others.
const TOLD_MAX: usize = 20;

/// The looks at rules.
#[derive(Debug, Default)]
pub(crate) struct VoidRules {
    /// No schema is in force before the server is ready.
    is_on: bool,
    /// What was in force when the last look began.
    version: Option<(u64, u64)>,
    /// One under way.
    look: Option<RulesLook>,
    /// How many it has found.
    found: usize,
}

/// The server is ready: from now on they are looked for.
pub(crate) fn begin(core: &mut Core) {
    core.void_rules.is_on = true;
    go_on(core);
}

/// Looks for some, if there is reason to.
pub(crate) fn go_on(core: &mut Core) {
    let Core { engine, void_rules, .. } = core;
    if void_rules.is_on {
        void_rules.step(engine);
    }
}

impl VoidRules {
    fn step(&mut self, engine: &Engine) {
        let version = Some(engine.rules_version());
        if self.version != version {
            (self.version, self.look, self.found) = (version, Some(engine.look_at_rules()), 0);
        }
        let Some(look) = &mut self.look else { return };
        if let Some(found) = engine.void_rules(look) {
            for rule in found {
                self.found += 1;
                if self.found <= TOLD_MAX {
                    tell(&rule);
                }
            }
            return;
        }
        self.look = None;
        if self.found > TOLD_MAX {
            let more = self.found - TOLD_MAX;
            tracing::warn!("{more} more rules of users name patterns that no schema in force has");
        }
    }
}

fn tell(VoidRule { user, rule }: &VoidRule) {
    let (user, rule) = (escape_bytes(user), escape_bytes(rule));
    tracing::warn!(
        "The user {user} has the rule {rule}, which grants nothing: no schema in force has that \
         pattern"
    );
}
