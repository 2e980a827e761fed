//! Giving way to the thread that serves, where the one that writes shares a core with it.
//!
//! The kernel would let the one that writes have the rest of its slice of time, several
//! milliseconds, however nice it is. If it gave way every so often, it would hardly get on
//! where other processes want the core too. So it looks whether the one that serves waits
//! for this very core, and gives way only then. A look takes a few microseconds; where
//! there is no `/proc` nobody looks.

use rustix::thread::{gettid, sched_getcpu};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// More than a line of `/proc/PID/task/TID/stat` has.
const LINE_BYTES_MAX: usize = 1024;
/// Words from the state of a thread to the core it is on, in such a line.
const STATE_TO_CORE: usize = 36;

/// What the thread that writes knows of the one that serves.
#[derive(Debug)]
pub(super) struct Turns {
    serving: Option<File>,
}

impl Turns {
    /// For somebody who gives way to the thread that calls this.
    pub(super) fn of_this_thread() -> Turns {
        let path = format!("/proc/self/task/{}/stat", gettid().as_raw_nonzero());
        Turns { serving: File::open(path).ok() }
    }

    /// Gives way if the thread that serves waits for the core that this one is on.
    pub(super) fn end_one(&self) {
        let Some(serving) = &self.serving else { return };
        let mut line = [0; LINE_BYTES_MAX];
        let read = serving.read_at(&mut line, 0).unwrap_or(0);
        if is_ready_on(&line[..read], sched_getcpu()) {
            std::thread::yield_now();
        }
    }
}

/// Whether a line of `/proc/PID/task/TID/stat` is of a thread that could run on this core.
fn is_ready_on(line: &[u8], core: usize) -> bool {
    // The name of a thread may hold anything.
    let Some(name_end) = line.iter().rposition(|byte| *byte == b')') else { return false };
    let mut words = line[name_end + 1..].trim_ascii().split(|byte| *byte == b' ');
    words.next() == Some(b"R") && words.nth(STATE_TO_CORE - 1) == Some(core.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(state: &str, core: usize) -> Vec<u8> {
        let numbers = (4..=52).map(|field| if field == 39 { core } else { field * 100 });
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        format!("17 (a ) R 1 (b) {state} {}\n", numbers.join(" ")).into_bytes()
    }

    #[test]
    fn only_a_thread_that_is_ready_on_the_same_core_is_given_way_to() {
        assert!(is_ready_on(&line("R", 3), 3));
        assert!(!is_ready_on(&line("R", 13), 3));
        assert!(!is_ready_on(&line("S", 3), 3));
        assert!(!is_ready_on(b"", 3));
        assert!(!is_ready_on(b"17 (x) R 1", 3));
    }

    #[test]
    fn a_thread_finds_its_own_line() {
        let turns = Turns::of_this_thread();
        let serving = turns.serving.as_ref().expect("there is /proc");
        let mut line = [0; LINE_BYTES_MAX];
        // It may be moved to another core between the two looks, but not every time.
        let is_found = (0..100).any(|_| {
            let read = serving.read_at(&mut line, 0).expect("it can be read");
            is_ready_on(&line[..read], sched_getcpu())
        });
        assert!(is_found, "{}", line.escape_ascii());
    }
}
