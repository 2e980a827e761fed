//! The file of users (`aclfile`).
//!
//! Owns reading it and replacing it as a whole: a crash leaves the old one or the new one.
//! Not here: what its lines mean (`keyward-engine`).

use crate::settings::Settings;
use crate::settings::rewrite::replace;
use std::io;

/// What the file has, and the name it was given by; `None` if there is none.
pub(crate) fn read(settings: &Settings) -> Option<Result<(String, Vec<u8>), String>> {
    let (name, path) = settings.users_file()?;
    let text = std::fs::read(path)
        .map_err(|error| format!("Error loading ACLs, opening file '{name}': {}", reason(&error)));
    Some(text.map(|text| (name, text)))
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
