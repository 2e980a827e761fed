//! What is on the disk, and what of it is safe.

use super::Step;
use crate::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// One in so many cuts leaves zeros where bytes were still to come.
const ZEROS_ONE_IN: usize = 3;

#[derive(Debug, Clone)]
enum Change {
    Write(Vec<u8>),
    Truncate(usize),
}

#[derive(Debug, Clone, Default)]
struct Content {
    synced: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Set(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

type Names = BTreeMap<PathBuf, usize>;

#[derive(Debug, Default)]
pub(super) struct State {
    files: Vec<Content>,
    names: Names,
    synced_names: Names,
    /// Changes of names since their directory was synced.
    name_changes: BTreeMap<PathBuf, Vec<NameChange>>,
    directories: BTreeSet<PathBuf>,
    pub(super) steps: Vec<Step>,
    pub(super) cut_at: Option<usize>,
    pub(super) room: Option<usize>,
    pub(super) fails_syncs: bool,
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(bytes) => content.extend_from_slice(bytes),
        Change::Truncate(bytes) => content.truncate(*bytes),
    }
}

fn apply_name(names: &mut Names, change: &NameChange) {
    match change {
        NameChange::Set(path, number) => {
            names.insert(path.clone(), *number);
        }
        NameChange::Rename(from, to) => {
            if let Some(number) = names.remove(from) {
                names.insert(to.clone(), number);
            }
        }
        NameChange::Remove(path) => {
            names.remove(path);
        }
    }
}

fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

impl Content {
    fn now(&self) -> Vec<u8> {
        let mut content = self.synced.clone();
        self.changes.iter().for_each(|change| apply(&mut content, change));
        content
    }

    /// What is left after a power cut.
    fn survived(&self, random: &mut Random) -> Vec<u8> {
        let mut content = self.synced.clone();
        let kept = random.below(self.changes.len() + 1);
        self.changes[..kept].iter().for_each(|change| apply(&mut content, change));
        if let Some(Change::Write(bytes)) = self.changes.get(kept) {
            let torn = random.below(bytes.len() + 1);
            content.extend_from_slice(&bytes[..torn]);
            if random.one_in(ZEROS_ONE_IN) {
                content.resize(content.len() + bytes.len() - torn, 0);
            }
        }
        content
    }
}

impl State {
    /// Counts a step, unless the power is off.
    fn step(&mut self, step: Step) -> io::Result<()> {
        if self.cut_at.is_some_and(|at| self.steps.len() >= at) {
            return Err(io::Error::other("the power is off"));
        }
        self.steps.push(step);
        Ok(())
    }

    fn change_name(&mut self, directory: PathBuf, change: NameChange) {
        apply_name(&mut self.names, &change);
        self.name_changes.entry(directory).or_default().push(change);
    }

    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        self.names.get(path).copied()
    }

    pub(super) fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let number = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.files[number].now())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        let directory = folder(path);
        if !directory.as_os_str().is_empty() && !self.directories.contains(&directory) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.step(Step::Created(path.into()))?;
        if let Some(number) = self.find(path) {
            self.files[number].changes.push(Change::Truncate(0));
            return Ok(number);
        }
        self.files.push(Content::default());
        let number = self.files.len() - 1;
        self.change_name(directory, NameChange::Set(path.into(), number));
        Ok(number)
    }

    pub(super) fn write(&mut self, number: usize, path: &Path, bytes: &[u8]) -> io::Result<usize> {
        let count = self.room.map_or(bytes.len(), |room| room.min(bytes.len()));
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.step(Step::Written(path.into(), count))?;
        self.room = self.room.map(|room| room - count);
        self.files[number].changes.push(Change::Write(bytes[..count].to_vec()));
        Ok(count)
    }

    pub(super) fn truncate(&mut self, number: usize, path: &Path, bytes: u64) -> io::Result<()> {
        self.step(Step::Truncated(path.into(), bytes))?;
        self.files[number].changes.push(Change::Truncate(bytes as usize));
        Ok(())
    }

    pub(super) fn sync(&mut self, number: usize, path: &Path) -> io::Result<()> {
        self.step(Step::Synced(path.into()))?;
        if self.fails_syncs {
            return Err(io::Error::other("the disk does not sync"));
        }
        let file = &mut self.files[number];
        *file = Content { synced: file.now(), changes: Vec::new() };
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.find(from).ok_or(io::ErrorKind::NotFound)?;
        assert_eq!(folder(from), folder(to), "files are renamed within a directory");
        self.step(Step::Renamed(from.into(), to.into()))?;
        self.change_name(folder(to), NameChange::Rename(from.into(), to.into()));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.find(path).ok_or(io::ErrorKind::NotFound)?;
        self.step(Step::Removed(path.into()))?;
        self.change_name(folder(path), NameChange::Remove(path.into()));
        Ok(())
    }

    pub(super) fn list(&self, directory: &Path) -> Vec<String> {
        let here = self.names.keys().filter(|path| folder(path) == directory);
        let names = here.filter_map(|path| path.file_name()?.to_str());
        names.map(str::to_owned).collect()
    }

    pub(super) fn create_directory(&mut self, directory: &Path) -> io::Result<()> {
        if self.directories.insert(directory.into()) {
            self.step(Step::Created(directory.into()))?;
        }
        Ok(())
    }

    pub(super) fn sync_directory(&mut self, directory: &Path) -> io::Result<()> {
        self.step(Step::DirectorySynced(directory.into()))?;
        for change in self.name_changes.remove(directory).unwrap_or_default() {
            apply_name(&mut self.synced_names, &change);
        }
        Ok(())
    }

    /// What is left after a power cut.
    pub(super) fn survived(&self, random: &mut Random) -> State {
        let mut names = self.synced_names.clone();
        for changes in self.name_changes.values() {
            let kept = random.below(changes.len() + 1);
            changes[..kept].iter().for_each(|change| apply_name(&mut names, change));
        }
        let files = self.files.iter().map(|file| {
            let synced = file.survived(random);
            Content { synced, changes: Vec::new() }
        });
        State {
            files: files.collect(),
            synced_names: names.clone(),
            names,
            directories: self.directories.clone(),
            ..State::default()
        }
    }
}
