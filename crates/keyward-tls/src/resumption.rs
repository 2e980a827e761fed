//! Sessions that clients may resume.
//!
//! Owns them, within `tls-session-cache-size` and for `tls-session-cache-timeout` seconds;
//! the oldest go first. Used by the threads that shake hands, each for a moment.

use rustls::server::StoresServerSessions;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A session is no larger: a client's certificates are part of it, whatever their size.
const SESSION_BYTES_MAX: usize = 16 * 1024;

/// Sessions that may be resumed.
#[derive(Debug)]
pub(crate) struct Store {
    count_max: usize,
    lifetime: Duration,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_key: HashMap<Vec<u8>, Vec<u8>>,
    /// Their keys and when each ends, in this order; some have been taken since.
    ends: VecDeque<(Instant, Vec<u8>)>,
}

impl Store {
    pub(crate) fn new(count_max: usize, lifetime: Duration) -> Store {
        Store { count_max, lifetime, sessions: Mutex::default() }
    }

    /// The sessions that have not ended.
    fn live(&self) -> MutexGuard<'_, Sessions> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while sessions.ends.front().is_some_and(|(end, _)| *end <= now) {
            sessions.remove_first();
        }
        sessions
    }
}

impl Sessions {
    fn remove_first(&mut self) {
        if let Some((_, key)) = self.ends.pop_front() {
            self.by_key.remove(&key);
        }
    }
}

impl StoresServerSessions for Store {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        if value.len() > SESSION_BYTES_MAX || self.count_max == 0 {
            return false;
        }
        let mut sessions = self.live();
        while sessions.ends.len() >= self.count_max {
            sessions.remove_first();
        }
        sessions.ends.push_back((Instant::now() + self.lifetime, key.clone()));
        sessions.by_key.insert(key, value);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.live().by_key.get(key).cloned()
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.live().by_key.remove(key)
    }

    fn can_cache(&self) -> bool {
        self.count_max > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(store: &Store, key: u8) -> bool {
        store.put(vec![key], vec![key; 3])
    }

    #[test]
    fn the_oldest_session_goes_when_there_are_too_many() {
        let store = Store::new(2, Duration::from_secs(60));
        assert!(put(&store, 1) && put(&store, 2) && put(&store, 3));
        assert_eq!((store.get(&[1]), store.get(&[2])), (None, Some(vec![2; 3])));
        assert_eq!((store.take(&[3]), store.take(&[3])), (Some(vec![3; 3]), None));
        assert!(put(&store, 4) && put(&store, 5));
        assert_eq!((store.get(&[4]), store.get(&[5])), (Some(vec![4; 3]), Some(vec![5; 3])));
    }

    #[test]
    fn a_session_ends_and_a_huge_one_is_not_kept() {
        let store = Store::new(2, Duration::ZERO);
        assert!(put(&store, 1));
        assert_eq!(store.get(&[1]), None);
        assert!(store.sessions.lock().expect("nobody panicked").ends.is_empty());
        assert!(!store.put(vec![1], vec![0; SESSION_BYTES_MAX + 1]));
    }
}
