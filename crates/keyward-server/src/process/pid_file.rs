//! The file that tells the process id: `pidfile`.
//!
//! Written once the sockets are bound, so that a second server that cannot listen leaves
//! that of the first alone; removed at the end if it is still ours.

use std::fs;
use std::path::{Path, PathBuf};

/// The file, removed when dropped.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    text: String,
}

impl PidFile {
    /// Removes it, and tells of it.
    pub(crate) fn remove(self) {
        tracing::info!("Removing the pid file.");
    }

    /// Writes it. One that cannot be written is logged: the server serves without.
    pub(crate) fn write(path: &Path) -> Option<PidFile> {
        let file = PidFile { path: path.to_owned(), text: format!("{}\n", std::process::id()) };
        match fs::write(path, &file.text) {
            Ok(()) => Some(file),
            Err(error) => {
                tracing::warn!("cannot write the pid file {}: {error}", path.display());
                None
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            // Somebody else may remove it first.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_removed_only_while_it_is_ours() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("server.pid");
        let file = PidFile::write(&path).expect("a file");
        assert_eq!(fs::read_to_string(&path).expect("text"), format!("{}\n", std::process::id()));
        drop(file);
        assert!(!path.exists());
        let file = PidFile::write(&path).expect("a file");
        fs::write(&path, "1\n").expect("another server's");
        drop(file);
        assert!(path.exists());
        assert!(PidFile::write(&folder.path().join("missing/server.pid")).is_none());
    }
}
