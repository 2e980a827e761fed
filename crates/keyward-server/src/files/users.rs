//! The file of users (`aclfile`).
//!
//! Owns reading it and replacing it as a whole: a crash leaves the old one or the new one.
//! Not here: what its lines mean (`keyward-engine`).

use crate::settings::Settings;
use crate::settings::rewrite::replace;
use keyward_engine::{UsersRead, UsersReader};
use std::io;
use std::path::PathBuf;

/// Where the file is; it may be read on another thread.
#[derive(Debug)]
pub(crate) struct UsersFile {
    name: String,
    path: PathBuf,
}

impl UsersFile {
    /// The file, if there is one.
    pub(crate) fn of(settings: &Settings) -> Option<UsersFile> {
        let (name, path) = settings.users_file()?;
        Some(UsersFile { name, path })
    }

    /// The users of the file.
    pub(crate) fn read(&self, reader: UsersReader) -> Result<UsersRead, String> {
        let failed =
            |reason: &str| format!("Error loading ACLs, opening file '{}': {reason}", self.name);
        let unreadable = |error| failed(&reason(&error));
        // Opening a pipe would wait for somebody to write to it; a directory has Redis's words.
        let about = std::fs::metadata(&self.path).map_err(unreadable)?;
        if !about.is_file() && !about.is_dir() {
            return Err(failed("it is no regular file"));
        }
        let text = std::fs::read(&self.path).map_err(unreadable)?;
        Ok(reader.read(&self.name, &text))
    }
}

/// Writes the file anew; whether it could. `None` if there is none.
pub(crate) fn write(settings: &Settings, text: &[u8]) -> Option<bool> {
    let (name, path) = settings.users_file()?;
    let written = replace(&path, text);
    if let Err(error) = &written {
        tracing::warn!("Writing ACL file {name} for ACL SAVE: {error}");
    }
    Some(written.is_ok())
}

/// The system's words for an error, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
