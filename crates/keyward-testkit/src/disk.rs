//! A disk in memory whose power can fail.
//!
//! Owns files as a disk has them: what was synced, and what was only written since.
//! Every operation that changes something is a step; the power can be cut before any
//! of them. Afterwards there is what was synced, and of the rest whatever chance leaves:
//! of each file a part of what was written last, torn at any byte, perhaps with zeros
//! where bytes should be; of each directory some of the last names.
//!
//! Files and directories lose their last steps independently of each other: that is the
//! reordering that real disks do. Within one file what was written later is never kept
//! without what was written earlier, as file systems that order their data promise.

mod state;

use crate::Random;
use keyward_persist::disk::{Disk, DiskFile, Source};
use state::State;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// What was done to the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A file was made, or emptied.
    Created(PathBuf),
    /// So many bytes were written to a file.
    Written(PathBuf, usize),
    /// A file was cut off after so many bytes.
    Truncated(PathBuf, u64),
    /// A file was synced.
    Synced(PathBuf),
    /// A file was renamed.
    Renamed(PathBuf, PathBuf),
    /// A file was removed.
    Removed(PathBuf),
    /// A directory was synced.
    DirectorySynced(PathBuf),
}

/// A disk in memory. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct FakeDisk {
    state: Arc<Mutex<State>>,
}

impl FakeDisk {
    /// An empty disk.
    pub fn new() -> FakeDisk {
        FakeDisk::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test thread panics while it holds the disk")
    }

    /// The power fails in place of the step of this number, counted from zero.
    pub fn cut_power_at(&self, step: usize) {
        self.state().cut_at = Some(step);
    }

    /// Everything that was done, the oldest first.
    pub fn steps(&self) -> Vec<Step> {
        self.state().steps.clone()
    }

    /// There is room for so many more bytes, or for any number.
    pub fn set_room(&self, bytes: Option<usize>) {
        self.state().room = bytes;
    }

    /// Whether syncing a file fails from now on.
    pub fn fail_syncs(&self, fails: bool) {
        self.state().fails_syncs = fails;
    }

    /// What is found when the power is back: a disk of its own.
    pub fn after_power_cut(&self, seed: u64) -> FakeDisk {
        let survived = self.state().survived(&mut Random::new(seed));
        FakeDisk { state: Arc::new(Mutex::new(survived)) }
    }
}

impl Disk for FakeDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let number = self.state().create(path)?;
        Ok(Arc::new(FakeFile { disk: self.clone(), path: path.into(), number }))
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let known = self.state().find(path);
        let number = match known {
            Some(number) => number,
            None => self.state().create(path)?,
        };
        Ok(Arc::new(FakeFile { disk: self.clone(), path: path.into(), number }))
    }

    fn open(&self, path: &Path) -> io::Result<Source> {
        let content = self.state().content(path)?;
        let bytes = content.len() as u64;
        Ok(Source { content: Box::new(io::Cursor::new(content)), bytes })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state().remove(path)
    }

    fn truncate(&self, path: &Path, bytes: u64) -> io::Result<()> {
        let mut state = self.state();
        let number = state.find(path).ok_or(io::ErrorKind::NotFound)?;
        state.truncate(number, path, bytes)?;
        state.sync(number, path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        Ok(self.state().list(directory))
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        self.state().create_directory(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.state().sync_directory(directory)
    }
}

/// A file of it, open for writing.
#[derive(Debug)]
struct FakeFile {
    disk: FakeDisk,
    path: PathBuf,
    number: usize,
}

impl DiskFile for FakeFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.state().write(self.number, &self.path, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.state().sync(self.number, &self.path)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.disk.state().truncate(self.number, &self.path, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_persist::disk::write_all;
    use std::io::Read;

    fn content(disk: &FakeDisk, path: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        disk.open(Path::new(path)).ok()?.content.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Every content a file can have after a power cut, over many seeds.
    fn outcomes(disk: &FakeDisk, path: &str) -> Vec<Option<Vec<u8>>> {
        let mut all: Vec<_> =
            (0..500).map(|seed| content(&disk.after_power_cut(seed), path)).collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn what_is_synced_with_its_name_survives_and_the_rest_is_torn() {
        let disk = FakeDisk::new();
        disk.create_directory(Path::new("d")).unwrap();
        let file = disk.create(Path::new("d/f")).unwrap();
        write_all(&*file, b"ab").unwrap();
        file.sync().unwrap();
        assert!(outcomes(&disk, "d/f").contains(&None), "the name is not safe yet");
        disk.sync_directory(Path::new("d")).unwrap();
        assert_eq!(outcomes(&disk, "d/f"), [Some(b"ab".to_vec())]);
        write_all(&*file, b"cd").unwrap();
        let expected: [&[u8]; 5] = [b"ab", b"ab\0\0", b"abc", b"abc\0", b"abcd"];
        assert_eq!(outcomes(&disk, "d/f"), expected.map(|bytes| Some(bytes.to_vec())));
    }

    #[test]
    fn a_rename_is_done_or_not() {
        let disk = FakeDisk::new();
        disk.create_directory(Path::new("d")).unwrap();
        for (name, bytes) in [("d/old", b"1"), ("d/new", b"2")] {
            let file = disk.create(Path::new(name)).unwrap();
            write_all(&*file, bytes).unwrap();
            file.sync().unwrap();
        }
        disk.sync_directory(Path::new("d")).unwrap();
        disk.rename(Path::new("d/new"), Path::new("d/old")).unwrap();
        assert_eq!(outcomes(&disk, "d/old"), [Some(b"1".to_vec()), Some(b"2".to_vec())]);
        disk.sync_directory(Path::new("d")).unwrap();
        assert_eq!(outcomes(&disk, "d/old"), [Some(b"2".to_vec())]);
        assert_eq!(outcomes(&disk, "d/new"), [None]);
    }

    #[test]
    fn nothing_works_once_the_power_is_off_and_a_full_disk_takes_a_part() {
        let disk = FakeDisk::new();
        let file = disk.create(Path::new("f")).unwrap();
        disk.set_room(Some(3));
        assert_eq!(file.write(b"abcde").unwrap(), 3);
        assert_eq!(file.write(b"de").unwrap_err().kind(), io::ErrorKind::StorageFull);
        disk.set_room(None);
        disk.cut_power_at(disk.steps().len());
        assert!(file.write(b"x").is_err());
        assert!(file.sync().is_err());
        assert_eq!(content(&disk, "f").unwrap(), b"abc");
    }
}
