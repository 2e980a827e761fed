//! `keyward flatten`: a schema and what it includes as one text.

use std::path::PathBuf;

use clap::Args;

use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Write a schema with all that it includes as one text
///
/// The text means the same, and includes nothing, so it can be sent to a server: what
/// KEYWARD SCHEMA PLAN takes reads no files. The file's own lines stay where they are;
/// what is included follows, each key below a comment with the file and line it comes
/// from. A file that includes nothing is written as it is. Exits with 2 if a file cannot
/// be read or is not sound.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward flatten shop/keyward.toml > flat.toml\n  \
    keyward flatten shop/keyward.toml | redis-cli -x KEYWARD SCHEMA PLAN")]
pub(crate) struct Flatten {
    /// The schema file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Flatten {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = schema_file::load(&self.file, terminal)?;
        terminal.write(schema.source.whole_text())?;
        Ok(Answer::Yes)
    }
}
