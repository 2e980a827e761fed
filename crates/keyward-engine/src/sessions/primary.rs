//! The server that this one follows (its primary).
//!
//! Owns who it is, how far the link to it is, and what of its stream is not a whole unit yet.
//!
//! ```text
//! Connect ──attempt──▶ Connecting ──▶ Handshake ──▶ Transfer ──snapshot is loaded──▶ Connected
//!    ▲                      └───────────────┴───────────┴──── the link is lost ──────────┘│
//!    └────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Invariants: the place in the history that this server has (`Replication::place`) is the end
//! of a unit. What has come of the next one is here, and is forgotten with the link.
//! Not here: the socket and the files (the host), what follows from bytes (`engine::primary`).

use crate::sessions::synced::SyncedPlace;
use keyward_store::keyspace::client_id::ClientId;

/// How far the link to a primary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStage {
    /// Nothing is under way: the next attempt is to come.
    Connect,
    /// A connection is being made.
    Connecting,
    /// The two agree on what they can do.
    Handshake,
    /// A snapshot is received or loaded.
    Transfer,
    /// The stream is received.
    Connected,
}

impl LinkStage {
    /// What ROLE calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LinkStage::Connect => "connect",
            LinkStage::Connecting => "connecting",
            LinkStage::Handshake => "handshake",
            LinkStage::Transfer => "sync",
            LinkStage::Connected => "connected",
        }
    }
}

/// How far a snapshot of the primary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transfer {
    /// Its bytes, if they are known.
    pub total_bytes: Option<u64>,
    /// Those that were received.
    pub read_bytes: u64,
}

/// The server that this one follows.
#[derive(Debug)]
pub(crate) struct Primary {
    pub(crate) host: Box<[u8]>,
    pub(crate) port: u16,
    pub(crate) stage: LinkStage,
    /// By whom its stream comes, while it does.
    pub(crate) client: Option<ClientId>,
    /// The database that its stream has selected.
    pub(crate) db: usize,
    /// Bytes that have come of a unit which is not whole.
    pub(crate) unit: Vec<u8>,
    /// Commands that have come and have to wait.
    pub(crate) waiting: Vec<u8>,
    /// They wait because what the stream tells of schemas is being read.
    pub(crate) is_reading: bool,
    /// They wait because rows are brought to the tables of another schema.
    pub(crate) is_bringing: bool,
    /// How often its stream has told of schemas.
    pub(crate) told: u64,
    /// When something came last.
    pub(crate) heard_ms: i64,
    /// Since when there is no link; zero if there never was one.
    pub(crate) down_since_ms: i64,
    /// Since when it is followed.
    pub(crate) followed_since_ms: i64,
    /// When it was last told how far this server is.
    pub(crate) told_ms: i64,
    /// How far the append-only file has its stream, synced; whether it has asked since that was
    /// told.
    pub(crate) synced: SyncedPlace,
    pub(crate) is_asking: bool,
    pub(crate) transfer: Transfer,
    /// Commands of the stream that failed here, which none should, since everything came.
    pub(crate) failures: u64,
    /// What was left out since then because it is not supported.
    pub(crate) skipped: u64,
}

impl Primary {
    pub(crate) fn new(host: &[u8], port: u16, now_ms: i64) -> Primary {
        Primary {
            host: host.into(),
            port,
            stage: LinkStage::Connect,
            client: None,
            db: 0,
            unit: Vec::new(),
            waiting: Vec::new(),
            is_reading: false,
            is_bringing: false,
            told: 0,
            heard_ms: now_ms,
            down_since_ms: 0,
            followed_since_ms: now_ms,
            told_ms: 0,
            synced: SyncedPlace::default(),
            is_asking: false,
            transfer: Transfer::default(),
            failures: 0,
            skipped: 0,
        }
    }

    /// Whether its stream is received.
    pub(crate) fn is_up(&self) -> bool {
        self.stage == LinkStage::Connected
    }

    /// How many seconds this server is behind: none while everything that came is applied,
    /// unless nothing came for longer than PINGs are apart; without a link, since when.
    pub(crate) fn lag_s(&self, now_ms: i64, ping_s: u64) -> u64 {
        let seconds_since = |ms: i64| now_ms.saturating_sub(ms).max(0) as u64 / 1000;
        if !self.is_up() {
            return seconds_since(match self.down_since_ms {
                0 => self.followed_since_ms,
                since_ms => since_ms,
            });
        }
        let silent_s = seconds_since(self.heard_ms);
        let is_applied = self.unit.is_empty() && self.waiting.is_empty();
        match is_applied && silent_s <= ping_s.saturating_add(1) {
            true => 0,
            false => silent_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_behind_by_what_is_not_applied_by_silence_and_without_a_link() {
        let mut primary = Primary::new(b"10.0.0.1", 6379, 5_000);
        assert_eq!(primary.lag_s(12_000, 10), 7, "there was no link since it is followed");
        primary.stage = LinkStage::Connected;
        primary.heard_ms = 20_000;
        let silences = [(20_000, 0), (29_900, 0), (31_000, 0), (31_900, 0), (32_000, 12)];
        for (now_ms, lag_s) in silences {
            assert_eq!(primary.lag_s(now_ms, 10), lag_s, "at {now_ms}");
        }
        primary.waiting.push(b'*');
        assert_eq!(primary.lag_s(23_000, 10), 3, "something that came is not applied");
        primary.waiting.clear();
        (primary.stage, primary.down_since_ms) = (LinkStage::Connect, 40_000);
        assert_eq!((primary.lag_s(40_500, 10), primary.lag_s(99_000, 10)), (0, 59));
        assert_eq!(primary.lag_s(0, 10), 0, "a clock that was set back");
    }
}
