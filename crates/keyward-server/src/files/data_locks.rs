//! Which files are this server's alone.
//!
//! Owns the locks on the names that it writes: the append-only file's while one is kept,
//! the snapshot's while there are save points. A server that keeps neither takes none, and
//! stands in nobody's way, until SAVE, BGSAVE, BGREWRITEAOF or CONFIG SET has it write
//! after all. Names are locked and not the directory: as in Redis, servers may share one
//! under different names.
//!
//! Where a lock cannot be had, since the directory is read-only or the file system knows
//! none, a warning is logged and the server goes on as Redis would. Where somebody removes
//! the file of a lock that is held, it is made again within a second, and before anything is
//! saved; if another server was quicker, saving is refused.
//! Not here: the locks themselves (`keyward-persist`).

use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_persist::file_lock::{self, FileLock, LockError};
use std::path::PathBuf;

/// What a lock is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarded {
    Snapshot,
    AppendOnly,
}

impl Guarded {
    /// What a server with these settings writes by itself.
    pub(crate) fn by_itself(settings: &Settings) -> impl Iterator<Item = Guarded> {
        let snapshot = (!settings.save_points().is_empty()).then_some(Guarded::Snapshot);
        let append_only = settings.is_on(Id::AppendOnly).then_some(Guarded::AppendOnly);
        append_only.into_iter().chain(snapshot)
    }

    fn name(self, settings: &Settings) -> String {
        settings.text(match self {
            Guarded::Snapshot => Id::DbFilename,
            Guarded::AppendOnly => Id::AppendFilename,
        })
    }

    /// Where its lock is, whatever links lead there.
    fn directory(self, settings: &Settings) -> PathBuf {
        let directory = PathBuf::from(settings.text(Id::Dir));
        match self {
            Guarded::Snapshot => directory.canonicalize().unwrap_or(directory),
            Guarded::AppendOnly => {
                file_lock::append_only_place(&directory, &settings.text(Id::AppendDirName))
            }
        }
    }

    /// The setting by whose change it is to be written, or elsewhere.
    pub(crate) fn setting(self, before: &Settings, after: &Settings) -> &'static str {
        let is_other = |id| before.text(id) != after.text(id);
        match self {
            _ if is_other(Id::Dir) => "dir",
            Guarded::Snapshot if is_other(Id::DbFilename) => "dbfilename",
            Guarded::Snapshot => "save",
            Guarded::AppendOnly => "appendonly",
        }
    }
}

/// The locks that are held.
#[derive(Debug, Default)]
pub(crate) struct DataLocks {
    held: Vec<(Guarded, FileLock)>,
    /// Where there is none to be had, which was told.
    unlockable: Vec<PathBuf>,
    /// In which second it was last looked whether their files are there.
    looked_s: i64,
    /// Another server has one of them, which was told.
    is_contested: bool,
}

impl DataLocks {
    /// Locks what settings call for. What is no longer called for is kept: the append-only
    /// file may still be written there.
    pub(crate) fn take(
        &mut self,
        guarded: Guarded,
        settings: &Settings,
        holder: &str,
    ) -> Result<(), LockError> {
        let directory = guarded.directory(settings);
        let name = guarded.name(settings);
        let path = FileLock::path_for(&directory, &name);
        if let Some((_, lock)) = self.held.iter_mut().find(|(_, lock)| lock.path() == path) {
            return retain(lock, holder);
        }
        if self.unlockable.contains(&path) {
            return Ok(());
        }
        match FileLock::take(&directory, &name, holder) {
            Ok(lock) => {
                if guarded == Guarded::Snapshot {
                    self.held.retain(|(other, _)| *other != Guarded::Snapshot);
                }
                self.held.push((guarded, lock));
                Ok(())
            }
            Err(held @ LockError::Held { .. }) => Err(held),
            Err(LockError::None(error)) => {
                tracing::warn!("{error}: nothing keeps other servers from writing the same files");
                self.unlockable.push(path);
                Ok(())
            }
        }
    }

    /// Gives all locks back without a trace: nothing was written.
    pub(crate) fn give_back(&mut self) {
        self.held.drain(..).for_each(|(_, lock)| lock.give_back());
    }

    /// Makes files of locks again that somebody has removed; called now and then.
    pub(crate) fn retain_all(&mut self, now_s: i64, holder: impl FnOnce() -> String) {
        if std::mem::replace(&mut self.looked_s, now_s) == now_s {
            return;
        }
        let holder = holder();
        for (_, lock) in &mut self.held {
            if let Err(held) = retain(lock, &holder)
                && !std::mem::replace(&mut self.is_contested, true)
            {
                tracing::error!("{held}: both write it, for the file of the lock was removed");
            }
        }
    }
}

/// Makes sure that a lock is held, also if its file was removed.
fn retain(lock: &mut FileLock, holder: &str) -> Result<(), LockError> {
    if lock.is_in_place() {
        return Ok(());
    }
    match lock.take_again(holder) {
        Ok(()) => {
            tracing::warn!("{} was removed, and is there again", lock.path().display());
            Ok(())
        }
        Err(held @ LockError::Held { .. }) => Err(held),
        // There was one to be had before: it is tried again.
        Err(LockError::None(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn settings(directory: &Path, arguments: &[&str]) -> Settings {
        let directory = directory.to_str().expect("a path in UTF-8");
        let arguments = [&["--dir", directory], arguments].concat();
        let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        Settings::from_command_line(&arguments).expect("they are sound")
    }

    #[test]
    fn what_is_written_is_locked_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let check = |arguments: &[&str], expected: &[Guarded]| {
            let settings = settings(directory.path(), arguments);
            assert_eq!(Guarded::by_itself(&settings).collect::<Vec<_>>(), expected);
        };
        check(&["--save", "", "--appendonly", "no"], &[]);
        check(&["--save", "60 1", "--appendonly", "no"], &[Guarded::Snapshot]);
        check(&["--save", "", "--appendonly", "yes"], &[Guarded::AppendOnly]);
        check(
            &["--save", "60 1", "--appendonly", "yes"],
            &[Guarded::AppendOnly, Guarded::Snapshot],
        );
    }

    #[test]
    fn a_lock_whose_file_was_removed_is_taken_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path(), &[]);
        let (mut ours, mut theirs) = (DataLocks::default(), DataLocks::default());
        ours.take(Guarded::Snapshot, &settings, "us").expect("nobody holds it");
        let file = directory.path().join("dump.rdb.lock");
        std::fs::remove_file(&file).expect("it is there");
        ours.take(Guarded::Snapshot, &settings, "us").expect("nobody else has taken it");
        theirs.take(Guarded::Snapshot, &settings, "them").expect_err("it is ours again");
        std::fs::remove_file(&file).expect("it is there again");
        theirs.take(Guarded::Snapshot, &settings, "them").expect("nobody can know");
        let told = ours.take(Guarded::Snapshot, &settings, "us").expect_err("it is theirs");
        assert!(told.to_string().contains("in use by another server (them)"), "{told}");
    }

    #[test]
    fn a_snapshot_under_another_name_gives_the_last_one_free() {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut ours, mut theirs) = (DataLocks::default(), DataLocks::default());
        let first = settings(directory.path(), &[]);
        let second = settings(directory.path(), &["--dbfilename", "other.rdb"]);
        ours.take(Guarded::Snapshot, &first, "us").expect("nobody holds it");
        ours.take(Guarded::Snapshot, &first, "us").expect("it is ours");
        assert!(theirs.take(Guarded::Snapshot, &first, "them").is_err());
        theirs.take(Guarded::AppendOnly, &first, "them").expect("another name");
        ours.take(Guarded::Snapshot, &second, "us").expect("nobody holds it");
        theirs.take(Guarded::Snapshot, &first, "them").expect("it was given back");
    }
}
