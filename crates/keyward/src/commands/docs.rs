//! `keyward docs`: the page to hand to a new colleague.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use keyward_schema::{Schema, escape};

use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Write the document of one or more schemas
///
/// What the keys are for, their types, lifetimes, shapes with example values,
/// operations, retention and estimated memory: as Markdown, or as one HTML
/// page that loads nothing. Several files become one document with a chapter
/// for each keyspace. Exits with 2 if a file is not sound.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward docs shop/keyward.toml > KEYS.md\n  \
    keyward docs --html -o keys.html systems/*/keyward.toml")]
pub(crate) struct Docs {
    /// The schema files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write HTML instead of Markdown
    #[arg(long)]
    html: bool,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Docs {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let load = |file: &PathBuf| schema_file::load(file, terminal);
        let schemas = self.files.iter().map(load).collect::<anyhow::Result<Vec<_>>>()?;
        let schemas: Vec<&Schema> = schemas.iter().collect();
        let document = match self.html {
            true => keyward_docs::html(&schemas),
            false => keyward_docs::markdown(&schemas),
        };
        let document = without_controls(&document);
        match &self.output {
            None => terminal.write(&document)?,
            Some(path) => {
                self.refuse_own_source(path, &schemas)?;
                fs::write(path, document)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                terminal.say(&format!("wrote {}", path.display()))?;
            }
        }
        Ok(Answer::Yes)
    }

    /// A slip of the fingers must not replace a schema by its document.
    fn refuse_own_source(&self, output: &Path, schemas: &[&Schema]) -> anyhow::Result<()> {
        let Ok(output_file) = output.canonicalize() else { return Ok(()) };
        let is_source = |file: &Path| file.canonicalize().is_ok_and(|file| file == output_file);
        let included = schemas.iter().flat_map(|schema| schema.source.included());
        let mut included = included.map(|file| Path::new(&file.name));
        let is_own = |file: &PathBuf| schema_file::find(file).is_ok_and(|file| is_source(&file));
        if self.files.iter().any(is_own) || included.any(is_source) {
            bail!("{} is one of the schemas", output.display());
        }
        Ok(())
    }
}

/// The text with control characters of a schema made visible; only line ends
/// and tabs are a document's own.
fn without_controls(document: &str) -> String {
    document
        .split_inclusive(['\n', '\t'])
        .flat_map(|piece| {
            let text = piece.trim_end_matches(['\n', '\t']);
            [escape(text), piece[text.len()..].into()]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_ends_and_tabs_are_kept() {
        let check = |text, expected| assert_eq!(without_controls(text), expected);
        check("a\n\n\tb\n", "a\n\n\tb\n");
        check("a\u{1b}[31m\r\nb", "a\\x1b[31m\\r\nb");
        check("", "");
    }
}
