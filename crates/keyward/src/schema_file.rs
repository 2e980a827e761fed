//! Schema files on disk.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use keyward_docs::render::{self, Style};
use keyward_schema::{Checked, Level, Schema, check_file, conflicts};
use keyward_server::SchemaFiles;

use crate::terminal::Terminal;

/// What `keyward init` calls a schema.
pub(crate) const FILE_NAME: &str = "keyward.toml";

/// Reads and checks a file and what it includes.
///
/// # Errors
/// If it cannot be read; what is wrong in it is among the findings.
pub(crate) fn read(path: &Path) -> anyhow::Result<Checked> {
    let name = path.display().to_string();
    let bytes = read_bytes(path).with_context(|| format!("cannot read {name}"))?;
    Ok(check_file(path, &bytes, &SchemaFiles))
}

pub(crate) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path.is_dir() {
        let inside = path.join(FILE_NAME);
        if inside.is_file() {
            bail!("it is a directory; did you mean {}?", inside.display());
        }
        bail!("it is a directory");
    }
    Ok(SchemaFiles::read_own(path)?)
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
