//! A snapshot of the primary on its way: received into a file, and checked there.
//!
//! Owns the file. It loses its name as soon as it is open, so that it goes with the process
//! however that ends; the name is one of this attempt alone, and what an earlier process left
//! between the two is removed before the first attempt.
//!
//! A snapshot is of a known length (`$length`) or ends with a mark (`$EOF:mark`), behind which
//! the stream may go on at once. It is checked whole on the thread of the attempt, as a start
//! would load it, before anything that is here goes: its form, its sum, its types, its databases.
//! Memory: one row of it at a time. Time: about as long again as loading it takes.
//! Invariant: what is given back can be loaded, unless it has a key twice.
//! Not here: loading it (`link`).

use super::attempt::{Attempt, LATE_WITH_SNAPSHOT, MARK_BYTES, Problem, Report, Talk, shown};
use keyward_engine::{LoadError, Transfer, TrialLoad};
use keyward_persist::disk::{Disk, DiskFile, Source, write_all};
use rustix::process::{Pid, test_kill_process};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often it is told how far a snapshot is.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// How often a primary hears that its snapshot is being checked.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// What the names of files begin and end with.
const NAME: (&str, &str) = ("replica-", ".rdb");
/// Snapshots that this process has begun to receive.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// How a snapshot ends.
pub(super) enum Extent {
    /// After so many bytes.
    Bytes(u64),
    /// With these.
    Mark(Vec<u8>),
}

/// A file that has no name any more: to be filled, checked and loaded.
struct Nameless {
    file: Arc<dyn DiskFile>,
    /// Read from its beginning, once each.
    to_check: Source,
    to_load: Source,
}

impl Nameless {
    fn create(disk: &dyn Disk, directory: &Path) -> io::Result<Nameless> {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}-{number}{}", NAME.0, std::process::id(), NAME.1);
        let path = directory.join(name);
        let file = disk.create(&path)?;
        let opened = disk.open(&path).and_then(|one| Ok((one, disk.open(&path)?)));
        let removed = disk.remove(&path);
        let (to_check, to_load) = opened?;
        removed?;
        Ok(Nameless { file, to_check, to_load })
    }
}

/// Removes what processes that are no more have left of snapshots. To be called before the first
/// attempt of a process: one of its own number was another.
pub(super) fn remove_leftovers(disk: &dyn Disk, directory: &Path) {
    for name in disk.list(directory).unwrap_or_default() {
        let owner = name.strip_prefix(NAME.0).and_then(|rest| rest.strip_suffix(NAME.1));
        let owner = owner.and_then(|rest| rest.split_once('-')?.0.parse::<u32>().ok());
        let Some(owner) = owner else { continue };
        let pid = i32::try_from(owner).ok().and_then(Pid::from_raw);
        let is_other = owner != std::process::id();
        if is_other && pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
        {
            continue;
        }
        match disk.remove(&directory.join(&name)) {
            Ok(()) => tracing::info!("Removed {name}, which an earlier process has left"),
            Err(error) => tracing::warn!("{name} of an earlier process cannot be removed: {error}"),
        }
    }
}

fn unwritten(error: io::Error) -> Problem {
    format!("the MASTER's snapshot cannot be kept: {error}")
}

fn unloadable(error: &LoadError) -> Problem {
    format!(
        "Failed trying to load the MASTER synchronization DB from disk: {error}. What is here stays"
    )
}

impl Attempt {
    /// Receives a snapshot into a file, and checks it.
    pub(super) fn receive(&self, talk: &mut Talk<'_>) -> Result<Source, Problem> {
        talk.late = LATE_WITH_SNAPSHOT;
        let extent = extent(&talk.line()?, "disk")?;
        let Nameless { file, to_check, to_load } =
            Nameless::create(&*self.disk, &self.directory).map_err(unwritten)?;
        let bytes = self.fill(talk, &extent, &*file)?;
        let has_rows = self.check(talk, to_check)?;
        self.check_rows(has_rows)?;
        Ok(Source { bytes, content: to_load.content })
    }

    /// Refuses a snapshot without rows, where that is not wanted.
    pub(super) fn check_rows(&self, has_rows: bool) -> Result<(), Problem> {
        match self.refuses_empty && !has_rows {
            true => Err("MASTER has no keys, and this replica has: what it has stays \
                         (replica-empty-primary refuse)"
                .to_owned()),
            false => Ok(()),
        }
    }

    /// Writes what comes to the file; returns how many bytes that are.
    fn fill(
        &self,
        talk: &mut Talk<'_>,
        extent: &Extent,
        file: &dyn DiskFile,
    ) -> Result<u64, Problem> {
        let (mut read_bytes, mut reported) = (0, None::<Instant>);
        let total_bytes = match extent {
            Extent::Bytes(count) => Some(*count),
            Extent::Mark(_) => None,
        };
        loop {
            let (taken, mark_bytes) = match extent {
                Extent::Bytes(count) => {
                    let left = usize::try_from(count - read_bytes).unwrap_or(usize::MAX);
                    (talk.buffer.len().min(left), None)
                }
                Extent::Mark(mark) => match find(&talk.buffer, mark) {
                    Some(at) => (at, Some(mark.len())),
                    // The rest may be the beginning of the mark.
                    None => (talk.buffer.len().saturating_sub(mark.len() - 1), None),
                },
            };
            write_all(file, &talk.buffer[..taken]).map_err(unwritten)?;
            read_bytes += taken as u64;
            talk.buffer.drain(..taken + mark_bytes.unwrap_or(0));
            if mark_bytes.is_some() || total_bytes == Some(read_bytes) {
                return Ok(read_bytes);
            }
            if reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
                reported = Some(Instant::now());
                self.report(Report::Transfer(Transfer { total_bytes, read_bytes }));
            }
            talk.receive()?;
        }
    }

    /// Loads the snapshot and forgets it; whether it has rows.
    fn check(&self, talk: &mut Talk<'_>, source: Source) -> Result<bool, Problem> {
        let trial = TrialLoad::new(source.content, self.databases);
        let mut trial = trial.map_err(|error| unloadable(&error))?;
        let mut told = Instant::now();
        loop {
            match trial.step() {
                Ok(true) => {}
                Ok(false) => return Ok(trial.loaded().rows > 0),
                // Something is there, be it that it is left out.
                Err(LoadError::Unsupported(_)) if self.skips_unsupported => return Ok(true),
                Err(error) => return Err(unloadable(&error)),
            }
            talk.ask_whether_wanted()?;
            if told.elapsed() >= ALIVE_INTERVAL {
                told = Instant::now();
                talk.say_alive()?;
            }
        }
    }
}

/// How a snapshot ends that begins with this line.
pub(super) fn extent(head: &[u8], target: &str) -> Result<Extent, Problem> {
    let text = shown(head);
    match head.strip_prefix(b"$EOF:") {
        Some(mark) if mark.len() == MARK_BYTES => {
            tracing::info!(
                "MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF to {target}"
            );
            Ok(Extent::Mark(mark.to_vec()))
        }
        Some(_) => Err(format!("Bad protocol from MASTER: {text}")),
        None => {
            let count = text.strip_prefix('$').and_then(|count| count.parse().ok());
            let count = count.ok_or_else(|| match text.strip_prefix('-') {
                Some(error) => format!("MASTER aborted replication with an error: {error}"),
                None => format!("Bad protocol from MASTER, the first byte is not '$': {text}"),
            })?;
            tracing::info!(
                "MASTER <-> REPLICA sync: receiving {count} bytes from master to {target}"
            );
            Ok(Extent::Bytes(count))
        }
    }
}

/// Where a mark begins.
pub(super) fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    let (first, mut from) = (*mark.first()?, 0);
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        from += at;
        if bytes[from..].starts_with(mark) {
            return Some(from);
        }
        from += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_persist::disk::OsDisk;

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        let mark = b"0123456789012345678901234567890123456789";
        for before in [0, 1, 39, 40, 41, 1000] {
            for behind in [0, 1, 100] {
                let bytes = [&b"0123".repeat(250)[..before], mark, &vec![b'0'; behind]].concat();
                // Digits before it may belong to a mark that begins earlier.
                let at = find(&bytes, mark).expect("it is there");
                assert_eq!(&bytes[at..at + mark.len()], mark);
                assert_eq!(find(&bytes[..at + mark.len() - 1], mark), None);
            }
        }
        assert_eq!(find(b"", mark), None);
    }

    #[test]
    fn files_of_processes_that_are_no_more_are_removed_and_no_others() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut gone = std::process::Command::new("true").spawn().expect("it starts");
        gone.wait().expect("it ends");
        let own = std::process::id();
        let (left, kept) = (
            [format!("replica-{}-3.rdb", gone.id()), format!("replica-{own}-0.rdb")],
            [
                "replica-1-0.rdb",
                "replica-x.rdb",
                "dump.rdb",
                "replica-12-.rd",
                "my-replica-999999999-1.rdb",
            ],
        );
        for name in left.iter().map(String::as_str).chain(kept) {
            std::fs::write(directory.path().join(name), b"x").expect("a file");
        }
        remove_leftovers(&OsDisk, directory.path());
        let mut names = kept.to_vec();
        names.sort_unstable();
        assert_eq!(OsDisk.list(directory.path()).expect("a list"), names);
        let open = Nameless::create(&OsDisk, directory.path()).expect("a file");
        write_all(&*open.file, b"content").expect("it is written");
        assert_eq!(OsDisk.list(directory.path()).expect("a list"), names, "it has no name");
        let mut text = String::new();
        io::Read::read_to_string(&mut { open.to_load.content }, &mut text).expect("it is read");
        assert_eq!(text, "content");
    }
}
