//! Waiting for what happens in another process or thread, where there is no event to wait
//! for (polling).
//!
//! Owns the pause between two looks, and how long a test waits before it fails.

use std::time::{Duration, Instant};

/// How long something that must happen may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);

/// Tries until something comes of it; `None` if that takes longer than `patience`.
pub fn within<T>(patience: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        let outcome = attempt();
        if outcome.is_some() || Instant::now() > deadline {
            return outcome;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until a condition holds.
///
/// # Panics
/// If it does not within two minutes.
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    wait_for(|| condition().then_some(()).ok_or("it does not happen"));
}

/// Tries until it succeeds.
///
/// # Panics
/// With the last failure, if that takes longer than two minutes.
#[track_caller]
pub fn wait_for<T, E: std::fmt::Display>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let mut failure = None;
    let outcome = within(PATIENCE, || attempt().map_err(|error| failure = Some(error)).ok());
    match (outcome, failure) {
        (Some(value), _) => value,
        (None, Some(failure)) => panic!("{failure}"),
        (None, None) => unreachable!("an attempt was made"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_repeated_until_something_comes_of_it() {
        let mut attempts = 0;
        let third = || {
            attempts += 1;
            (attempts == 3).then_some(attempts)
        };
        assert_eq!(within(PATIENCE, third), Some(3));
    }

    #[test]
    fn patience_ends_after_an_attempt() {
        let mut attempts = 0;
        let never = || -> Option<()> {
            attempts += 1;
            None
        };
        assert_eq!(within(Duration::ZERO, never), None);
        assert!(attempts > 0);
    }
}
