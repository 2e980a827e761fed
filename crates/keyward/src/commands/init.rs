//! `keyward init`: a schema to begin with.

mod library;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use keyward_docs::editor;
use keyward_schema::Kind;
use serde_json::json;

use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// What the editor's JSON Schema is called; the starter's first line names it.
const EDITOR_FILE_NAME: &str = "keyward.schema.json";

/// The schema to begin with, and the same without its example.
const STARTER: &str = include_str!("init/starter.toml");
const EMPTY: &str = include_str!("init/empty.toml");

/// The line of both that is replaced by the keyspace's own name.
const NAME_LINE: &str = "name    = \"shop\"\n";

/// The line of the starter that is replaced by what placeholders may be.
const KINDS_LINE: &str = "# (kinds)\n";

/// The most characters of a line of comments.
const COMMENT_WIDTH: usize = 76;

/// Write a commented schema to begin with
///
/// Writes keyward.toml for a keyspace with the directory's name, and beside it
/// keyward.schema.json, by which editors complete and check it (Even Better TOML,
/// Taplo and others follow the file's first line). Exits with 2 rather than
/// overwrite a file.
#[derive(Args, Debug)]
#[command(after_help = format!("Examples:\n  keyward init shop\n  \
    keyward init --with celery,django shop\n  keyward init --editor-only shop\n\n\
    The library has {}.", names()))]
pub(crate) struct Init {
    /// The directory, which is made if there is none; the keyspace is called like it
    #[arg(default_value = ".", value_name = "NAME")]
    directory: PathBuf,
    /// Leave the example out
    #[arg(long)]
    empty: bool,
    /// Include the keys of these programs, in place of the example: their schemas are
    /// written to library/ beside the new file
    #[arg(long, value_name = "PROGRAMS", value_delimiter = ',')]
    with: Vec<String>,
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
        let mut included: Vec<&library::LibrarySchema> = Vec::new();
        for name in &self.with {
            let entry = library::find(name.trim());
            let entry = entry
                .with_context(|| format!("the library has no {name:?}; it has {}", names()))?;
            if !included.iter().any(|known| known.name == entry.name) {
                included.push(entry);
            }
        }
        let paths: Vec<PathBuf> =
            included.iter().map(|entry| self.directory.join(entry.path())).collect();
        if !self.force && !self.editor_only {
            refuse_existing([&schema, &editor].into_iter().chain(&paths))?;
        }
        fs::create_dir_all(&self.directory)
            .with_context(|| format!("cannot make {}", self.directory.display()))?;
        if !self.editor_only {
            self.write(&schema, &self.text(&included), terminal)?;
            for (entry, path) in included.iter().zip(&paths) {
                let folder = path.parent().unwrap_or(&self.directory);
                fs::create_dir_all(folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
                self.write(path, entry.text, terminal)?;
            }
        }
        self.write(&editor, &editor::json_schema_text(), terminal)?;
        for need in library::needs(&included).iter().filter(|_| !self.editor_only) {
            terminal.say(need)?;
        }
        if !self.editor_only {
            let schema = quoted(&schema.display().to_string());
            terminal.say(&format!("next: keyward check {schema}"))?;
        }
        Ok(Answer::Yes)
    }

    /// The new file's text.
    fn text(&self, included: &[&library::LibrarySchema]) -> String {
        let text = if self.empty || !self.with.is_empty() { EMPTY } else { STARTER };
        let text = &text.replace(KINDS_LINE, &kinds());
        let text = match self.name() {
            // JSON's texts are TOML's.
            Some(name) => text.replace(NAME_LINE, &format!("name    = {}\n", json!(name))),
            None => text.to_owned(),
        };
        if included.is_empty() {
            return text;
        }
        let lines: String =
            included.iter().map(|entry| format!("    {},\n", json!(entry.path()))).collect();
        let include = format!(
            "# What other programs write. Values of their [variables] are given by a table:\n\
             # {{ file = {}, with = {{ prefix = \"shop:\" }} }}\n\
             include = [\n{lines}]\n\n[keyspace]\n",
            json!(included[0].path())
        );
        text.replace("[keyspace]\n", &include)
    }

    /// What the keyspace is called: as its directory is, which is there by now.
    fn name(&self) -> Option<String> {
        let directory = self.directory.canonicalize().ok()?;
        let name = directory.file_name()?.to_str()?.trim();
        (!name.is_empty()).then(|| name.to_owned())
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

/// What placeholders may be, as lines of comments.
fn kinds() -> String {
    let kinds = Kind::NAMES.iter().filter(|name| **name != "rest");
    let kinds = kinds.copied().collect::<Vec<_>>().join(", ");
    let words = format!(
        "{kinds}, text(a-z0-9,32) (an alphabet, a length, or both), a|b (one of these words), or \
         rest (anything but the empty text, colons too; once in a pattern, anywhere)."
    );
    let mut lines = String::new();
    let mut line = "#".to_owned();
    for word in words.split(' ') {
        if line.len() + 1 + word.len() > COMMENT_WIDTH {
            lines += &format!("{line}\n");
            "#".clone_into(&mut line);
        }
        line += &format!(" {word}");
    }
    lines + &line + "\n"
}

/// The names of the library.
pub(super) fn library_names() -> Vec<&'static str> {
    library::LIBRARY.iter().map(|entry| entry.name).collect()
}

/// The same, for messages.
fn names() -> String {
    library_names().join(", ")
}

fn refuse_existing<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> anyhow::Result<()> {
    for path in paths {
        if path.symlink_metadata().is_ok() {
            bail!("{} exists; --force overwrites it", path.display());
        }
    }
    Ok(())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_./-+,:@%=".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starter_is_sound_and_names_its_editor_file() {
        for starter in [STARTER, EMPTY] {
            let checked = keyward_schema::check("keyward.toml", starter.as_bytes());
            let found: Vec<&str> =
                checked.diagnostics.iter().map(|found| &*found.message).collect();
            assert!(found.is_empty(), "{found:?}");
            assert_eq!(starter.lines().next(), Some(&*format!("#:schema ./{EDITOR_FILE_NAME}")));
            assert_eq!(starter.matches(NAME_LINE).count(), 1);
            assert_eq!(starter.matches("[keyspace]\n").count(), 1);
        }
    }

    #[test]
    fn the_starter_tells_every_kind_of_placeholder() {
        assert_eq!(STARTER.matches(KINDS_LINE).count(), 1);
        let kinds = kinds();
        for name in Kind::NAMES {
            assert!(kinds.replace(',', " ").contains(&format!(" {name} ")), "{name}: {kinds}");
        }
        assert!(kinds.lines().all(|line| line.len() <= COMMENT_WIDTH), "{kinds}");
        // Each stands where it is said to.
        for kind in ["rest", "text(a-z0-9,32)", "a|b"] {
            assert!(keyward_schema::Pattern::parse(&format!("x-{{v:{kind}}}-y")).is_ok(), "{kind}");
        }
    }
}
