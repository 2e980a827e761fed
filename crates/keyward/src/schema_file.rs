//! Schema files on disk.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use keyward_docs::render::{self, Style};
use keyward_schema::{Checked, Level, Schema, check_file, conflicts};
use keyward_schema_files::SchemaFiles;

use crate::terminal::Terminal;

/// What `keyward init` calls a schema.
pub(crate) const FILE_NAME: &str = "keyward.toml";

/// The file that a path means: of a directory, the schema in it.
///
/// # Errors
/// If it is a directory without one.
pub(crate) fn find(path: &Path) -> anyhow::Result<Cow<'_, Path>> {
    if !path.is_dir() {
        return Ok(Cow::Borrowed(path));
    }
    let inside = path.join(FILE_NAME);
    if !inside.exists() {
        let directory = path.display();
        bail!("{directory}: there is no {FILE_NAME} in this directory");
    }
    Ok(Cow::Owned(inside))
}

/// Reads and checks a file and what it includes.
///
/// # Errors
/// If it cannot be read; what is wrong in it is among the findings.
pub(crate) fn read(path: &Path) -> anyhow::Result<Checked> {
    let path = find(path)?;
    let bytes = read_bytes(&path)?;
    Ok(check_file(&path, &bytes, &SchemaFiles))
}

/// The bytes of a file.
///
/// # Errors
/// If it cannot be read, with its name.
pub(crate) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    SchemaFiles::read_own(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a file that must be sound. Its findings, if there are errors among
/// them, are told as messages.
///
/// # Errors
/// If it cannot be read or is not sound.
pub(crate) fn load(path: &Path, terminal: &mut Terminal) -> anyhow::Result<Schema> {
    let checked = read(path)?;
    if checked.schema.is_none() {
        tell_errors(&checked, terminal)?;
    }
    checked.schema.with_context(|| format!("{} is not sound", path.display()))
}

/// Reads files that must be sound by themselves and together: those of one database.
///
/// # Errors
/// If one cannot be read or is not sound, or they cannot share a database.
pub(crate) fn load_together(paths: &[PathBuf], terminal: &mut Terminal) -> anyhow::Result<Schema> {
    let mut schemas = Vec::with_capacity(paths.len());
    for path in paths {
        schemas.push(load(path, terminal)?);
    }
    // Whatever database each names: they are meant to be in one.
    let together: Vec<(usize, &Schema)> = schemas.iter().map(|schema| (0, schema)).collect();
    if let Some((place, found)) = conflicts(&together).into_iter().next() {
        let source = &schemas[place].source;
        terminal.say_picture(&render::human(source, &found, Style::Coloured))?;
        bail!("{} cannot share a database with the others", paths[place].display());
    }
    Ok(Schema::join(schemas))
}

fn tell_errors(checked: &Checked, terminal: &mut Terminal) -> io::Result<()> {
    let is_error = |found: &&keyward_schema::Diagnostic| found.rule.level == Level::Error;
    for found in checked.diagnostics.iter().filter(is_error) {
        terminal.say_picture(&render::human(&checked.source, found, Style::Coloured))?;
    }
    Ok(())
}
