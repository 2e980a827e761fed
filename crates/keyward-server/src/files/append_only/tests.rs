//! What is written when, and whose replies may go, over a disk in memory.

use super::*;
use keyward_persist::aof::Listing;
use keyward_persist::disk::Disk;
use keyward_testkit::FakeDisk;
use std::io::Read;
use std::path::{Path, PathBuf};

/// An append-only file with nothing in it.
struct Case {
    disk: FakeDisk,
    files: AofFiles,
    path: PathBuf,
    it: AppendOnly,
    /// The position at which it began.
    start: u64,
}

impl Case {
    fn new() -> Case {
        let disk = FakeDisk::new();
        disk.create_directory(Path::new("data")).expect("the power is on");
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut files = AofFiles::open(shared, Path::new("data"), "aof", "a").expect("it is empty");
        let (file, path) = files.next_increment(Listing::AtOnce).expect("the power is on");
        let mut it = AppendOnly::new();
        it.begin(Log::new(file, &path, 0));
        let start = it.released();
        Case { disk, files, path, it, start }
    }

    /// Up to which byte replies may go.
    fn released(&self) -> u64 {
        self.it.released() - self.start
    }

    /// Up to which byte replies wait.
    fn held_until(&self) -> Option<u64> {
        self.it.held_until().map(|position| position - self.start)
    }

    fn log(&mut self, text: &str) {
        let log = self.it.log.as_mut().expect("it is on");
        log.append(|buffer| buffer.extend_from_slice(text.as_bytes()));
    }

    fn content(&self) -> String {
        let mut text = String::new();
        let source = self.disk.open(&self.path).expect("it is there");
        source.content.take(1000).read_to_string(&mut text).expect("it is text");
        text
    }

    /// Begins to sync; what [`Case::end_sync`] takes.
    fn begin_sync(&mut self) -> Sync {
        self.it.begin_sync().expect("there is something to sync")
    }

    fn end_sync(&mut self, sync: &Sync, policy: Policy) {
        let outcome = sync.run();
        self.it.end_sync(sync, outcome, policy);
    }

    /// What is logged after the rest is synced goes to another file.
    fn switch(&mut self) {
        let (file, path) = self.files.next_increment(Listing::AtOnce).expect("the power is on");
        self.it.log.as_mut().expect("it is on").switch(file, &path).expect("there is room");
        self.path = path;
    }
}

#[test]
fn replies_wait_for_a_write_with_every_policy_and_with_always_for_a_sync() {
    for policy in [Policy::EverySecond, Policy::Never] {
        let mut case = Case::new();
        assert_eq!(case.held_until(), None);
        case.log("a");
        assert_eq!(case.held_until(), Some(1), "{policy:?}: it is not written");
        assert!(case.it.write(policy).is_none(), "nothing is in the way");
        assert_eq!((case.held_until(), case.content().as_str()), (None, "a"));
    }
    let mut case = Case::new();
    case.log("a");
    assert!(case.it.write(Policy::Always).is_none());
    assert_eq!((case.held_until(), case.content().as_str()), (Some(1), "a"));
    let sync = case.begin_sync();
    case.end_sync(&sync, Policy::Always);
    assert_eq!(case.held_until(), None);
}

#[test]
fn beside_a_sync_a_thread_writes_one_thing_after_the_other() {
    let (mut case, policy) = (Case::new(), Policy::EverySecond);
    case.log("a");
    assert!(case.it.write(policy).is_none());
    let sync = case.begin_sync();
    case.log("b");
    let first = case.it.write(policy).expect("a thread is to write");
    case.log("c");
    assert!(case.it.write(policy).is_none(), "one at a time");
    assert_eq!((case.released(), case.held_until()), (1, Some(3)));
    assert_eq!(case.it.log.as_ref().map(Log::buffered), Some(2));
    first.run();
    let second = case.it.write(policy).expect("the sync goes on");
    assert_eq!((case.released(), case.held_until()), (2, Some(3)));
    case.end_sync(&sync, policy);
    case.log("d");
    assert!(case.it.write(policy).is_none(), "what the thread has comes first");
    assert_eq!(case.content(), "ab");
    second.run();
    assert!(case.it.write(policy).is_none());
    assert_eq!((case.held_until(), case.content().as_str()), (None, "abcd"));
}

#[test]
fn a_sync_that_takes_long_is_counted_once() {
    let (mut case, policy) = (Case::new(), Policy::EverySecond);
    case.log("a");
    assert!(case.it.write(policy).is_none());
    let _sync = case.begin_sync();
    case.it.synced_at = Instant::now().before(SYNC_TIME_MAX);
    for text in ["b", "c"] {
        case.log(text);
        case.it.write(policy).expect("a thread is to write").run();
        case.it.end_write(policy);
    }
    assert_eq!(case.it.delayed_syncs, 1);
}

#[test]
fn while_the_log_changes_to_another_file_replies_wait_for_the_sync_of_the_last() {
    for policy in [Policy::EverySecond, Policy::Never] {
        let mut case = Case::new();
        case.log("a");
        assert!(case.it.write(policy).is_none());
        case.switch();
        case.log("b");
        assert!(case.it.write(policy).is_none());
        assert_eq!(case.held_until(), Some(2), "{policy:?}");
        assert_eq!(case.content(), "");
        let sync = case.it.begin_due_sync(policy, false).expect("it is due at once");
        assert!(case.it.write(policy).is_none(), "no thread writes it either");
        case.end_sync(&sync, policy);
        assert!(case.it.write(policy).is_none());
        assert_eq!((case.held_until(), case.content().as_str()), (None, "b"));
    }
}

#[test]
fn after_a_write_that_failed_whoever_waits_is_given_up_and_writing_goes_on_later() {
    for policy in [Policy::Always, Policy::EverySecond, Policy::Never] {
        let mut case = Case::new();
        case.log("a");
        case.disk.set_room(Some(0));
        assert!(case.it.write(policy).is_none());
        assert!(case.it.take_failure(), "{policy:?}");
        assert!(case.it.refusal().is_some());
        assert_eq!(case.held_until(), None, "who only reads is answered");
        assert!(case.it.write(policy).is_none());
        assert!(!case.it.take_failure(), "nobody waits for a second try");
        case.disk.set_room(None);
        case.log("b");
        assert!(case.it.write(policy).is_none());
        assert!(case.it.refusal().is_none());
        assert_eq!(case.content(), "ab");
    }
}

#[test]
fn what_a_thread_could_not_write_comes_before_what_was_logged_since() {
    let (mut case, policy) = (Case::new(), Policy::EverySecond);
    case.log("a");
    assert!(case.it.write(policy).is_none());
    let sync = case.begin_sync();
    case.log("bcd");
    let write = case.it.write(policy).expect("a thread is to write");
    case.log("e");
    case.disk.set_room(Some(1));
    write.run();
    case.disk.set_room(Some(0));
    case.end_sync(&sync, policy);
    assert!(case.it.write(policy).is_none());
    assert!(case.it.take_failure());
    assert_eq!(case.content(), "a", "half a write is taken back");
    case.disk.set_room(None);
    assert!(case.it.write(policy).is_none());
    assert!(case.it.refusal().is_none());
    assert_eq!(case.content(), "abcde");
}

#[test]
fn after_a_sync_that_failed_everything_is_to_be_written_anew() {
    let settings = Settings::from_command_line(&[]).expect("there are none");
    for policy in [Policy::Always, Policy::EverySecond] {
        let mut case = Case::new();
        case.log("a");
        assert!(case.it.write(policy).is_none());
        let sync = case.begin_sync();
        case.disk.fail_syncs(true);
        case.log("b");
        case.end_sync(&sync, policy);
        assert!(case.it.refusal().is_some());
        // With `everysec` replies wait for a write only.
        assert_eq!(case.it.take_failure(), policy == Policy::Always);
        assert!(case.it.is_rewrite_due(&settings), "{policy:?}");
        assert!(case.it.begin_due_sync(policy, true).is_none(), "it is not tried again");
        assert!(case.it.write(policy).is_none());
        assert!(case.it.refusal().is_some(), "writing does not mend it");
    }
}

#[test]
fn beside_a_sync_that_fails_whoever_waits_for_a_write_is_answered_when_that_is_done() {
    let (mut case, policy) = (Case::new(), Policy::EverySecond);
    case.log("a");
    assert!(case.it.write(policy).is_none());
    let sync = case.begin_sync();
    case.log("b");
    let write = case.it.write(policy).expect("a thread is to write");
    case.disk.fail_syncs(true);
    case.end_sync(&sync, policy);
    assert!(!case.it.take_failure());
    assert!(case.it.refusal().is_some());
    assert_eq!(case.held_until(), Some(2));
    write.run();
    assert!(case.it.write(policy).is_none());
    assert_eq!((case.held_until(), case.content().as_str()), (None, "ab"));
    // If it fails too they are given up, and a later write does not mend the sync.
    case.log("c");
    case.disk.set_room(Some(0));
    assert!(case.it.write(policy).is_none());
    assert!(case.it.take_failure());
    case.disk.set_room(None);
    assert!(case.it.write(policy).is_none());
    assert!(matches!(case.it.problem, Some(Problem::Sync(_))));
}

#[test]
fn nothing_that_a_file_has_is_at_position_0() {
    assert!(Case::new().start > 0, "0 says that nothing is known to be synced");
}

#[test]
fn positions_go_on_when_the_log_ends_and_begins_again() {
    let mut case = Case::new();
    case.log("abc");
    assert!(case.it.write(Policy::Never).is_none());
    case.it.end();
    assert_eq!((case.it.released(), case.held_until()), (u64::MAX, None));
    let (file, path) = case.files.next_increment(Listing::AtOnce).expect("the power is on");
    case.it.begin(Log::new(file, &path, 0));
    assert_eq!(case.released(), 3);
    case.log("d");
    assert_eq!(case.held_until(), Some(4));
}
