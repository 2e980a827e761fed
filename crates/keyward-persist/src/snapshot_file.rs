//! Snapshots as files: whole or not at all.
//!
//! A snapshot is written beside the old one, synced, and only then takes its name;
//! then the directory is synced, so that the name is safe too. Whatever fails, and
//! whenever the power does, there is the old file or the new one.

use crate::PersistError;
use keyward_engine::{Snapshot, SnapshotOptions};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Writes a snapshot to a file of this directory.
pub fn save(
    directory: &Path,
    name: &str,
    snapshot: &Snapshot<'_>,
    options: SnapshotOptions,
) -> Result<(), PersistError> {
    let target = directory.join(name);
    let temporary = directory.join(format!("temp-{}.rdb", std::process::id()));
    let outcome = write(&temporary, snapshot, options).and_then(|()| {
        fs::rename(&temporary, &target).map_err(failed("rename to", &target))?;
        let folder = File::open(directory).and_then(|folder| folder.sync_all());
        folder.map_err(failed("sync", directory))
    });
    if outcome.is_err() {
        // It may not even be there; the error that is told is the first one.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

fn write(
    path: &Path,
    snapshot: &Snapshot<'_>,
    options: SnapshotOptions,
) -> Result<(), PersistError> {
    let file = File::create(path).map_err(failed("create", path))?;
    let file = snapshot.write_to(file, options).map_err(failed("write", path))?;
    file.sync_all().map_err(failed("sync", path))
}

/// Opens a snapshot for reading; `None` if there is no such file.
pub fn open(directory: &Path, name: &str) -> Result<Option<File>, PersistError> {
    let path = directory.join(name);
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(failed("open", &path)),
    }
}

fn failed(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> PersistError {
    let file: PathBuf = file.into();
    move |source| PersistError { action, file, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_engine::{Engine, EngineOptions, Tunables};

    const OPTIONS: SnapshotOptions = SnapshotOptions { sums: true, used_bytes: 0 };

    fn engine() -> Engine {
        Engine::new(EngineOptions { seed: 1, databases: 16, tunables: Tunables::default() })
    }

    #[test]
    fn a_snapshot_replaces_the_old_one_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("dump.rdb"), b"old").unwrap();
        save(directory.path(), "dump.rdb", &engine().snapshot(), OPTIONS).unwrap();
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
        assert_eq!(names.len(), 1);
        assert!(fs::read(names[0].path()).unwrap().starts_with(b"REDIS0010"));
        assert!(open(directory.path(), "dump.rdb").unwrap().is_some());
        assert!(open(directory.path(), "other.rdb").unwrap().is_none());
    }

    #[test]
    fn a_snapshot_that_fails_leaves_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        // A directory that is not empty cannot be replaced by a file.
        fs::create_dir_all(directory.path().join("dump.rdb/inner")).unwrap();
        let error = save(directory.path(), "dump.rdb", &engine().snapshot(), OPTIONS).unwrap_err();
        assert_eq!(error.action, "rename to");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let missing = directory.path().join("missing");
        let error = save(&missing, "dump.rdb", &engine().snapshot(), OPTIONS).unwrap_err();
        assert!(error.to_string().starts_with("cannot create "), "{error}");
    }
}
