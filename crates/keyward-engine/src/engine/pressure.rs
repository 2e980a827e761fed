//! Warnings before memory is full: a keyspace's, or the server's.
//!
//! Owns which warnings are out. One is given when a keyspace passes 80 % of its
//! `max_memory`, and another when what may not be evicted does so by itself: there eviction
//! does not help, and at the limit writes are refused. A server with a schema is warned of at
//! 80 % of `maxmemory`, where what may not be evicted takes half of that or more: elsewhere a
//! full cache is the ordinary state. Each is given once, and again only
//! after it had fallen below 70 % (hysteresis), so that one that moves about the
//! threshold does not fill the log.
//!
//! Looked at once a second: a sum over tables, not over rows.
//! Not here: keeping the limit (`evict`), the figures (`keyward_store`'s `Usage`).

use keyward_lua::LogLevel;
use keyward_schema::escape;
use keyward_store::keyspace::Keyspace;
use keyward_store::tables::eviction::Usage;
use std::collections::BTreeMap;

/// A keyspace that takes more hundredths of its limit is warned of.
pub(crate) const WARNED_PERCENT: f64 = 80.0;
/// One that takes fewer may be warned of again.
const EASED_PERCENT: f64 = 70.0;
const INTERVAL_MS: i64 = 1000;

/// The warnings that are out.
#[derive(Debug, Default)]
pub(crate) struct Pressure {
    /// By database and keyspace.
    warned: BTreeMap<(usize, Box<str>), Warned>,
    /// Of the server.
    is_server_warned: bool,
    looked_at_ms: Option<i64>,
}

/// Those of a keyspace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Warned {
    /// Of all that it takes.
    all: bool,
    /// Of what may not be evicted.
    unevictable: bool,
}

/// What became of a warning.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// It is to be given.
    Passed,
    /// It no longer holds.
    Eased,
}

/// Whether a threshold was passed, or left again.
fn turn(is_warned: &mut bool, percent: f64) -> Option<Turn> {
    if !*is_warned && percent >= WARNED_PERCENT {
        *is_warned = true;
        Some(Turn::Passed)
    } else if *is_warned && percent < EASED_PERCENT {
        *is_warned = false;
        Some(Turn::Eased)
    } else {
        None
    }
}

impl Pressure {
    /// Looks how keyspaces and the server stand, if that was not done within the last second;
    /// returns what the log is to say of it. `bytes_max` is `maxmemory`.
    pub(crate) fn look(
        &mut self,
        keys: &Keyspace,
        bytes_max: u64,
        used: impl FnOnce() -> u64,
    ) -> Vec<(LogLevel, String)> {
        let now_ms = keys.now_ms();
        let is_early = |at: i64| (at..at.saturating_add(INTERVAL_MS)).contains(&now_ms);
        if self.looked_at_ms.is_some_and(is_early) {
            return Vec::new();
        }
        self.looked_at_ms = Some(now_ms);
        let (mut warned, mut said) = (BTreeMap::new(), Vec::new());
        let (mut has_schema, mut evictable) = (false, 0);
        for usage in (0..keys.database_count()).flat_map(|db| keys.usages(db)) {
            let Some(book) = keys.book_of(usage.share.db) else { continue };
            let name = &book.schema().keyspace_at(usage.share.keyspace).name;
            (has_schema, evictable) = (true, evictable + usage.evictable_bytes);
            let id = (usage.share.db, name.clone());
            let mut known = self.warned.get(&id).copied().unwrap_or_default();
            said.extend(lines(&mut known, name, &usage));
            if known != Warned::default() {
                warned.insert(id, known);
            }
        }
        // Of keyspaces that are gone, or have no limit any more, nothing is kept.
        self.warned = warned;
        if has_schema && bytes_max > 0 {
            said.extend(self.server_line(used(), evictable, bytes_max));
        } else {
            self.is_server_warned = false;
        }
        said
    }
}

impl Pressure {
    /// What is to be said of the server.
    fn server_line(&mut self, used: u64, evictable: u64, max: u64) -> Option<(LogLevel, String)> {
        let percent = used as f64 / max as f64 * 100.0;
        let is_cache = used.saturating_sub(evictable) < max / 2;
        if is_cache && !self.is_server_warned {
            return None;
        }
        let turn = turn(&mut self.is_server_warned, percent)?;
        Some(match turn {
            Turn::Passed => (
                LogLevel::Warning,
                format!(
                    "Memory in use is {percent:.0} % of maxmemory, {used} of {max} bytes, of which \
                     patterns let {evictable} be evicted. When the rest fills it, commands that take \
                     memory are refused (OOM)"
                ),
            ),
            Turn::Eased => {
                (LogLevel::Notice, format!("Memory in use is at {percent:.0} % of maxmemory again"))
            }
        })
    }
}

/// What is to be said of a keyspace.
fn lines(warned: &mut Warned, name: &str, usage: &Usage) -> Vec<(LogLevel, String)> {
    let (Some(percent), Some(unevictable), Some(max)) =
        (usage.percent(), usage.unevictable_percent(), usage.bytes_max)
    else {
        *warned = Warned::default();
        return Vec::new();
    };
    let (name, bytes, db) = (escape(name), usage.bytes, usage.share.db);
    let held = bytes.saturating_sub(usage.evictable_bytes);
    let all = turn(&mut warned.all, percent).map(|turn| match turn {
        Turn::Passed => (
            LogLevel::Warning,
            format!(
                "Keyspace {name} (db {db}) takes {percent:.0} % of its max_memory: {bytes} of {max} \
                 bytes, of which {} may be evicted",
                usage.evictable_bytes
            ),
        ),
        Turn::Eased => (
            LogLevel::Notice,
            format!("Keyspace {name} (db {db}) is at {percent:.0} % of its max_memory again"),
        ),
    });
    let unevictable = turn(&mut warned.unevictable, unevictable).map(|turn| match turn {
        Turn::Passed => (
            LogLevel::Warning,
            format!(
                "Keyspace {name} (db {db}): rows that may not be evicted take {unevictable:.0} % of \
                 its max_memory, {held} of {max} bytes. When they fill it, commands that take \
                 memory are refused (OOM)"
            ),
        ),
        Turn::Eased => (
            LogLevel::Notice,
            format!(
                "Keyspace {name} (db {db}): rows that may not be evicted take {unevictable:.0} % of \
                 its max_memory again"
            ),
        ),
    });
    all.into_iter().chain(unevictable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_warned_of_unless_it_is_a_cache() {
        let mut pressure = Pressure::default();
        let mut said = |used, evictable| {
            pressure.server_line(used, evictable, 1000).map_or(String::new(), |line| line.1)
        };
        assert_eq!(said(1000, 600), "", "a full cache is nothing to speak of");
        assert_eq!(said(799, 0), "");
        assert!(
            said(800, 300).starts_with("Memory in use is 80 % of maxmemory, 800 of 1000 bytes")
        );
        assert_eq!(said(1000, 0), "", "that was said");
        assert_eq!(said(690, 600), "Memory in use is at 69 % of maxmemory again");
        assert!(said(900, 0).ends_with("(OOM)"));
    }

    #[test]
    fn a_warning_is_given_once_until_the_keyspace_has_eased() {
        let mut is_warned = false;
        let turns: Vec<_> = [79.9, 80.0, 99.0, 79.0, 81.0, 70.0, 69.9, 60.0, 75.0, 80.0]
            .map(|percent| turn(&mut is_warned, percent))
            .into();
        let expected = [
            None,
            Some(Turn::Passed),
            None,
            None,
            None,
            None,
            Some(Turn::Eased),
            None,
            None,
            Some(Turn::Passed),
        ];
        assert_eq!(turns, expected);
    }
}
