//! The backups of a directory: their names, and which of them stay.
//!
//! ```text
//! NAME-20251204T153000Z.rdb.zst          the backup, by the time of its snapshot
//! NAME-20251204T153000Z.rdb.zst.sha256   its sum, as `sha256sum -c` reads it
//! ```
//! How old a backup is its name tells, which copying does not change.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use keyward_schema::{parse_timestamp, timestamp_text};

use crate::archive::{Archive, sync_directory, write_small};

/// What the names of files on their way begin with.
pub(crate) const TEMPORARY: &str = ".keyward-backup-";
/// After this time a file on its way is one that a killed process has left.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

const ENDING: &str = ".rdb.zst";
const SUM_ENDING: &str = ".sha256";
const TIME_BYTES: usize = "20251204T153000Z".len();

/// Whether backups may bear this name.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && !name.starts_with(['.', '-']) && name.bytes().all(is_plain)
}

/// A backup that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Its file.
    pub path: PathBuf,
    name: String,
    /// The time of its snapshot, in milliseconds since the epoch.
    taken_ms: i64,
}

impl Backup {
    fn of(path: PathBuf) -> Option<Backup> {
        let stem = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
        let (name, time) = stem.split_at_checked(stem.len().checked_sub(TIME_BYTES)?)?;
        let name = name.strip_suffix('-').filter(|name| is_name(name))?.to_owned();
        let taken_ms = parse_time(time)?;
        Some(Backup { path, name, taken_ms })
    }
}

/// Where the sum of a backup is kept.
pub(crate) fn sum_path(backup: &Path) -> PathBuf {
    let mut path = backup.as_os_str().to_owned();
    path.push(SUM_ENDING);
    path.into()
}

fn time_text(ms: i64) -> String {
    timestamp_text(ms).replace(['-', ':'], "")
}

fn parse_time(text: &str) -> Option<i64> {
    let part = |range| text.get(range);
    let (date, clock) = (part(0..8)?, part(9..15)?);
    let spelled = format!(
        "{}-{}-{}T{}:{}:{}Z",
        date.get(..4)?,
        date.get(4..6)?,
        date.get(6..)?,
        clock.get(..2)?,
        clock.get(2..4)?,
        clock.get(4..)?
    );
    let ms = parse_timestamp(spelled.as_bytes())?;
    (time_text(ms) == text).then_some(ms)
}

/// A directory of backups.
pub struct Folder {
    directory: PathBuf,
}

impl Folder {
    /// A directory that is there.
    pub fn at(directory: &Path) -> Folder {
        Folder { directory: directory.into() }
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All backups, the newest first.
    pub fn backups(&self) -> io::Result<Vec<Backup>> {
        let mut backups = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            backups.extend(Backup::of(entry?.path()));
        }
        backups.sort_by_key(|backup| std::cmp::Reverse(backup.taken_ms));
        Ok(backups)
    }

    /// The names there are backups of.
    pub fn names(backups: &[Backup]) -> BTreeSet<&str> {
        backups.iter().map(|backup| backup.name.as_str()).collect()
    }

    /// Those of one name.
    pub fn of_name(backups: Vec<Backup>, name: &str) -> Vec<Backup> {
        backups.into_iter().filter(|backup| backup.name == name).collect()
    }

    /// Gives a backup its name; where it is.
    pub fn add(&self, archive: Archive, name: &str, taken_ms: i64) -> io::Result<PathBuf> {
        let file_name = format!("{name}-{}{ENDING}", time_text(taken_ms));
        let path = self.directory.join(&file_name);
        // The sum first: a backup is never without it.
        let sum = format!("{}  {file_name}\n", archive.sum);
        if path.exists() {
            let text =
                format!("{file_name} is there already: two backups of one name within a second");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        write_small(&self.directory, &format!("{file_name}{SUM_ENDING}"), &sum)?;
        archive.file.persist_noclobber(&path).map_err(|error| error.error)?;
        sync_directory(&self.directory)?;
        Ok(path)
    }

    /// Removes the backups of this name whose snapshots are older than that time, and what
    /// a killed process has left; returns which backups.
    pub fn rotate(&self, name: &str, oldest_ms: i64) -> io::Result<Vec<PathBuf>> {
        let mut removed = Vec::new();
        for backup in Folder::of_name(self.backups()?, name) {
            if backup.taken_ms < oldest_ms {
                fs::remove_file(&backup.path)?;
                remove_if_there(&sum_path(&backup.path))?;
                removed.push(backup.path);
            }
        }
        self.remove_abandoned()?;
        sync_directory(&self.directory)?;
        Ok(removed)
    }

    fn remove_abandoned(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                // Its process may just have given it its name.
                let Ok(modified) = entry.metadata().and_then(|facts| facts.modified()) else {
                    continue;
                };
                if now.duration_since(modified).is_ok_and(|age| age > ABANDONED_AFTER) {
                    remove_if_there(&entry.path())?;
                }
            }
        }
        Ok(())
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_and_when() {
        let check = |name: &str, expected: Option<(&str, i64)>| {
            let backup = Backup::of(PathBuf::from(name));
            let found = backup.as_ref().map(|backup| (backup.name.as_str(), backup.taken_ms));
            assert_eq!(found, expected, "{name}");
        };
        check("a-b-19700101T000001Z.rdb.zst", Some(("a-b", 1000)));
        check("dir/x-20251204T153000Z.rdb.zst", Some(("x", 1_764_862_200_000)));
        for other in [
            "a-19700101T000001Z.rdb",
            "a-19700101T000001Z.rdb.zst.sha256",
            "a19700101T000001Z.rdb.zst",
            "-19700101T000001Z.rdb.zst",
            "a-19700230T000001Z.rdb.zst",
            "a-1970-101T000001Z.rdb.zst",
            "a-19700101x000001Z.rdb.zst",
            "ä.rdb.zst",
            ".keyward-backup-1",
        ] {
            check(other, None);
        }
        assert_eq!(time_text(1_764_862_200_999), "20251204T153000Z");
    }

    #[test]
    fn names_are_plain() {
        assert!(is_name("shop-1.eu_2"));
        for name in ["", ".hidden", "-x", "a/b", "ä", "a b"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
