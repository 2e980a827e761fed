//! The files of the append-only file, and the order in which they become safe.
//!
//! Owns the manifest and the names. A file is made before the manifest names it, and
//! removed after it no longer does; the manifest itself is there whole or not at all.
//! All of this syncs, and so takes milliseconds: it is not for the thread that serves.

use super::manifest::{Manifest, ManifestError, NamedFile};
use crate::PersistError;
use crate::disk::{Disk, DiskFile};
use crate::snapshot_file::{self, NewFile};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What files that are not finished begin with.
const TEMPORARY: &str = "temp-";

/// A file that is to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AofPart {
    /// Where it is.
    pub path: PathBuf,
    /// How long it is.
    pub bytes: u64,
    /// Whether it is the base: a snapshot, or commands if it is an old one.
    pub is_base: bool,
}

impl AofPart {
    /// Whether the part of this number may end within a command: nothing is written to a
    /// part before all of the one before it is safe, so those behind it must be empty.
    pub fn may_be_torn(parts: &[AofPart], number: usize) -> bool {
        parts[number + 1..].iter().all(|part| part.bytes == 0)
    }
}

/// When the manifest names a new increment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// At once: what is logged continues what is there.
    AtOnce,
    /// With the base that it follows: what is there has nothing to do with it.
    WithBase,
}

/// The files.
#[derive(Debug)]
pub struct AofFiles {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// What the names of all files begin with.
    name: String,
    manifest: Manifest,
    /// The increment that the next base is followed by.
    newest: Option<NamedFile>,
}

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] PersistError),
    /// The manifest is not one.
    #[error("{}: {problem}", file.display())]
    Manifest {
        /// The manifest.
        file: PathBuf,
        /// What is wrong with it.
        problem: ManifestError,
    },
}

impl AofFiles {
    /// Finds the files there are. `parent` is where the data is, `folder` the directory in
    /// it, `name` what the files are called. A single file of older versions is moved
    /// there.
    pub fn open(
        disk: Arc<dyn Disk>,
        parent: &Path,
        folder: &str,
        name: &str,
    ) -> Result<AofFiles, OpenError> {
        let directory = parent.join(folder);
        let mut files = AofFiles {
            disk,
            directory,
            name: name.to_owned(),
            manifest: Manifest::default(),
            newest: None,
        };
        files.read_manifest()?;
        files.take_single_file(&parent.join(name))?;
        Ok(files)
    }

    fn read_manifest(&mut self) -> Result<(), OpenError> {
        let (name, mut text) = (self.manifest_name(), Vec::new());
        let Some(mut source) = snapshot_file::open(&*self.disk, &self.directory, &name)? else {
            return Ok(());
        };
        let file = self.directory.join(name);
        source.content.read_to_end(&mut text).map_err(PersistError::when("read", &file))?;
        let manifest = Manifest::parse(&text);
        self.manifest = manifest.map_err(|problem| OpenError::Manifest { file, problem })?;
        Ok(())
    }

    /// Redis before 7.0 had one file, beside which there is no directory.
    fn take_single_file(&mut self, single: &Path) -> Result<(), PersistError> {
        let is_half_moved = self.manifest.increments.is_empty()
            && self.manifest.base.as_ref().is_some_and(|base| base.name == self.name)
            && self.disk.open(&self.directory.join(&self.name)).is_err();
        if !self.manifest.is_empty() && !is_half_moved {
            return Ok(());
        }
        match self.disk.open(single) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => drop(other.map_err(PersistError::when("open", single))?),
        }
        self.make_directory()?;
        self.manifest.base = Some(NamedFile { name: self.name.clone(), sequence: 1 });
        self.save_manifest()?;
        let moved = self.disk.rename(single, &self.directory.join(&self.name));
        moved.map_err(PersistError::when("move", single))?;
        self.sync_directory()
    }

    fn manifest_name(&self) -> String {
        format!("{}.manifest", self.name)
    }

    fn make_directory(&self) -> Result<(), PersistError> {
        let made = self.disk.create_directory(&self.directory);
        made.map_err(PersistError::when("create", &self.directory))
    }

    fn sync_directory(&self) -> Result<(), PersistError> {
        let synced = self.disk.sync_directory(&self.directory);
        synced.map_err(PersistError::when("sync", &self.directory))
    }

    fn save_manifest(&self) -> Result<(), PersistError> {
        let mut file = self.new_file(&self.manifest_name())?;
        file.write(self.manifest.to_text().as_bytes())?;
        file.finish().map(|_| ())
    }

    fn new_file(&self, name: &str) -> Result<NewFile, PersistError> {
        NewFile::begin(Arc::clone(&self.disk), &self.directory, name)
    }

    /// Whether there is nothing to load.
    pub fn is_empty(&self) -> bool {
        self.manifest.is_empty()
    }

    /// What is to be loaded, in order. All of it must be there.
    pub fn parts(&self) -> Result<Vec<AofPart>, PersistError> {
        let base = self.manifest.base.iter().map(|file| (file, true));
        let increments = self.manifest.increments.iter().map(|file| (file, false));
        let part = |(file, is_base): (&NamedFile, bool)| {
            let path = self.directory.join(&file.name);
            let source = self.disk.open(&path).map_err(PersistError::when("open", &path))?;
            Ok(AofPart { path, bytes: source.bytes, is_base })
        };
        base.chain(increments).map(part).collect()
    }

    /// Opens the last increment for going on with it; how long it is.
    pub fn continue_last(&mut self) -> Result<(Arc<dyn DiskFile>, PathBuf, u64), PersistError> {
        let Some(last) = self.manifest.increments.last() else {
            let (file, path) = self.next_increment(Listing::AtOnce)?;
            return Ok((file, path, 0));
        };
        let path = self.directory.join(&last.name);
        let bytes = self.disk.open(&path).map_err(PersistError::when("open", &path))?.bytes;
        let file = self.disk.append(&path).map_err(PersistError::when("append to", &path))?;
        Ok((file, path, bytes))
    }

    /// Makes the increment that is to be written next.
    pub fn next_increment(
        &mut self,
        listing: Listing,
    ) -> Result<(Arc<dyn DiskFile>, PathBuf), PersistError> {
        self.make_directory()?;
        let sequence = self.manifest.increments.last().map_or(0, |last| last.sequence) + 1;
        let name = format!("{}.{sequence}.incr.aof", self.name);
        let path = self.directory.join(&name);
        let file = self.disk.create(&path).map_err(PersistError::when("create", &path))?;
        let increment = NamedFile { name, sequence };
        if listing == Listing::AtOnce {
            self.manifest.increments.push(increment.clone());
            if let Err(error) = self.save_manifest() {
                self.manifest.increments.pop();
                return Err(error);
            }
        }
        self.newest = Some(increment);
        Ok((file, path))
    }

    /// Nothing is logged: no increment follows the base that is written next.
    pub fn without_increment(&mut self) {
        self.newest = None;
    }

    fn base_sequence(&self) -> u64 {
        self.manifest.base.as_ref().map_or(0, |base| base.sequence) + 1
    }

    /// Begins the base that the increment made last follows, if there is to be one.
    pub fn new_base(&self) -> Result<NewFile, PersistError> {
        self.make_directory()?;
        self.new_file(&format!("{}.{}.base.rdb", self.name, self.base_sequence()))
    }

    /// Puts the base that was written last in force: what it replaces goes, all but the
    /// increment that follows it.
    pub fn adopt_base(&mut self) -> Result<(), PersistError> {
        let sequence = self.base_sequence();
        let base = NamedFile { name: format!("{}.{sequence}.base.rdb", self.name), sequence };
        let kept = self.newest.clone();
        let is_kept = |file: &NamedFile| Some(file) == kept.as_ref();
        let old = self.manifest.clone();
        let gone = old.base.iter().chain(old.increments.iter().filter(|file| !is_kept(file)));
        self.manifest = Manifest {
            base: Some(base),
            history: old.history.iter().chain(gone).cloned().collect(),
            increments: kept.iter().cloned().collect(),
        };
        if let Err(error) = self.save_manifest() {
            self.manifest = old;
            return Err(error);
        }
        self.remove_history()
    }

    /// Removes what is no longer needed.
    pub fn remove_history(&mut self) -> Result<(), PersistError> {
        let is_temporary = |name: &String| name.starts_with(TEMPORARY);
        let names = self.disk.list(&self.directory);
        let names = names.map_err(PersistError::when("list", &self.directory))?;
        let unfinished: Vec<String> = names.into_iter().filter(is_temporary).collect();
        let history = self.manifest.history.iter().map(|file| &file.name);
        for name in history.chain(&unfinished) {
            let path = self.directory.join(name);
            match self.disk.remove(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(PersistError::when("remove", &path))?,
            }
        }
        if !self.manifest.history.is_empty() {
            self.manifest.history.clear();
            self.save_manifest()?;
        }
        Ok(())
    }
}
