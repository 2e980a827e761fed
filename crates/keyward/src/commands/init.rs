//! `keyward init`: a schema to begin with.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use keyward_docs::editor;

use crate::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// What the editor's JSON Schema is called; the starter's first line names it.
const EDITOR_FILE_NAME: &str = "keyward.schema.json";

/// The schema to begin with.
const STARTER: &str = include_str!("init/starter.toml");

/// Write a commented schema to begin with
///
/// Writes keyward.toml, and beside it keyward.schema.json, by which editors
/// complete and check it (Even Better TOML, Taplo and others follow the
/// file's first line). Exits with 2 rather than overwrite a file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward init shop\n  keyward init --editor-only shop")]
pub(crate) struct Init {
    /// The directory, which is made if there is none
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
    /// Write only keyward.schema.json, as after an upgrade; it is overwritten
    #[arg(long)]
    editor_only: bool,
}

impl Init {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = self.directory.join(schema_file::FILE_NAME);
        let editor = self.directory.join(EDITOR_FILE_NAME);
        if !self.force && !self.editor_only {
            refuse_existing(&[&schema, &editor])?;
        }
        fs::create_dir_all(&self.directory)
            .with_context(|| format!("cannot make {}", self.directory.display()))?;
        if !self.editor_only {
            self.write(&schema, STARTER, terminal)?;
        }
        self.write(&editor, &editor::json_schema_text(), terminal)?;
        if !self.editor_only {
            terminal.say(&format!("next: keyward check {}", schema.display()))?;
        }
        Ok(Answer::Yes)
    }

    fn write(&self, path: &Path, text: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
        let file = match self.force || self.editor_only {
            true => File::create(path),
            // Also refuses what came to be since it was looked for.
            false => File::create_new(path),
        };
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        terminal.say(&format!("wrote {}", path.display()))?;
        Ok(())
    }
}

fn refuse_existing(paths: &[&Path]) -> anyhow::Result<()> {
    for path in paths {
        if path.symlink_metadata().is_ok() {
            bail!("{} exists; --force overwrites it", path.display());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starter_is_sound_and_names_its_editor_file() {
        let checked = keyward_schema::check("keyward.toml", STARTER.as_bytes());
        let found: Vec<&str> = checked.diagnostics.iter().map(|found| &*found.message).collect();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(STARTER.lines().next(), Some(&*format!("#:schema ./{EDITOR_FILE_NAME}")));
    }
}
