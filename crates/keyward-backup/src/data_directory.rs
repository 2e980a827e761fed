//! Where a server keeps its data, and where a restore puts it.
//!
//! A restored directory has one file, `dump.rdb`: redis-server loads it, and Keyward does
//! also with an append-only file, which it then begins with that snapshot.
//!
//! Invariants: the snapshot takes its name when it is whole and synced. What was there
//! before is put aside and never removed. When the power fails in between there is the
//! old data or the new, and an append-only file goes last, since it is what counts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keyward_persist::file_lock::{self, FileLock, LockError};
use keyward_schema::timestamp_text;
use tempfile::NamedTempFile;

use crate::archive::sync_directory;

const SNAPSHOT: &str = "dump.rdb";
/// Everything a server would load, by the names that are used unless settings say others.
const DATA: [&str; 3] = [SNAPSHOT, APPEND_ONLY, APPEND_ONLY_FOLDER];
const APPEND_ONLY: &str = "appendonly.aof";
const APPEND_ONLY_FOLDER: &str = "appendonlydir";
/// Who may read and write the snapshot the umask says, as where a server, Keyward or
/// redis-server, writes its own.
const MODE: u32 = 0o666;

/// The directory of a server that does not run.
pub struct DataDirectory {
    directory: PathBuf,
}

impl DataDirectory {
    /// Makes the directory if it is not there.
    pub fn at(directory: &Path) -> io::Result<DataDirectory> {
        fs::create_dir_all(directory)?;
        Ok(DataDirectory { directory: directory.into() })
    }

    /// Keeps servers from starting on the data, as long as what this returns is held;
    /// an error if one runs. Of a redis-server nobody can tell.
    pub fn lock(&self) -> Result<Vec<FileLock>, LockError> {
        let mut locks = Vec::new();
        let log = file_lock::append_only_place(&self.directory, APPEND_ONLY_FOLDER);
        for (place, name) in [(&self.directory, SNAPSHOT), (&log, APPEND_ONLY)] {
            match FileLock::take_if_there(place, name) {
                // Where there are no locks a server has none either.
                Err(LockError::None(_)) => {}
                other => locks.extend(other?),
            }
        }
        Ok(locks)
    }

    /// The names of the data that is there.
    pub fn data(&self) -> io::Result<Vec<&'static str>> {
        let mut found = Vec::new();
        for name in DATA {
            if self.directory.join(name).try_exists()? {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// A file in which a snapshot can be gathered.
    pub fn new_file(&self) -> io::Result<NamedTempFile> {
        use std::os::unix::fs::PermissionsExt;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".keyward-restore-").permissions(fs::Permissions::from_mode(MODE));
        builder.tempfile_in(&self.directory)
    }

    /// Makes a snapshot the data of this directory; returns where what was there before
    /// is now, if anything was.
    pub fn adopt(&self, mut snapshot: NamedTempFile, now_ms: i64) -> io::Result<Option<PathBuf>> {
        snapshot.flush()?;
        snapshot.as_file().sync_all()?;
        let data = self.data()?;
        let aside = match data.is_empty() {
            true => None,
            false => Some(self.make_aside(now_ms)?),
        };
        if let Some(aside) = &aside
            && data.contains(&SNAPSHOT)
        {
            fs::hard_link(self.directory.join(SNAPSHOT), aside.join(SNAPSHOT))?;
            sync_directory(aside)?;
        }
        snapshot.persist(self.directory.join(SNAPSHOT)).map_err(|error| error.error)?;
        sync_directory(&self.directory)?;
        if let Some(aside) = &aside {
            for name in data.iter().filter(|name| **name != SNAPSHOT) {
                fs::rename(self.directory.join(name), aside.join(name))?;
            }
            sync_directory(aside)?;
            sync_directory(&self.directory)?;
        }
        Ok(aside)
    }

    fn make_aside(&self, now_ms: i64) -> io::Result<PathBuf> {
        let time = timestamp_text(now_ms).replace(['-', ':'], "");
        let aside = self.directory.join(format!("before-restore-{time}"));
        fs::create_dir(&aside)?;
        File::open(&self.directory)?.sync_all()?;
        Ok(aside)
    }
}
