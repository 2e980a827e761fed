//! `keyward restore`: a backup becomes the data of a server.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use keyward_backup::{CheckError, Contents, DataDirectory, Folder, check, expected_sum};
use serde_json::json;

use super::backup::now_ms;
use super::output::{Format, counted};
use crate::answer::Answer;
use crate::progress::ProgressLine;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;

/// Make a backup the data of a server that does not run
///
/// Checks the backup as it was checked when it was taken, and writes it to DATADIR as
/// dump.rdb, which `keyward serve --dir DATADIR` and redis-server load. Of a directory
/// the newest backup that is sound is taken. Any RDB file can be given too, of Redis 5 to
/// 8 or Valkey 8 and 9; one with keys that Keyward does not serve is refused by their
/// names. dump.rdb belongs to who runs this and has the mode 0644 less the umask: the user of
/// the server has to be able to read and replace it (chown). Exits with 1 if there is no sound
/// backup, with 2 if it cannot be read or written.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward restore /backups --to keyward-data\n  \
    keyward restore /backups/shop-20251204T153000Z.rdb.zst --to keyward-data --force")]
pub(crate) struct Restore {
    /// A backup, or a directory of them
    #[arg(value_name = "FILE|DIR")]
    from: PathBuf,
    /// The directory of the server's data; it is made if need be
    #[arg(long, value_name = "DATADIR")]
    to: PathBuf,
    /// Of a directory, the backups of this name; needed if there are several
    #[arg(long)]
    name: Option<String>,
    /// Put data that is there aside, in DATADIR/before-restore-TIME
    #[arg(long)]
    force: bool,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Restore {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let stop = stop_on_signals()?;
        let candidates = self.candidates()?;
        if candidates.is_empty() {
            let of =
                self.name.as_ref().map_or(String::new(), |name| format!(" of the name {name}"));
            terminal.say(&format!("keyward: {} has no backup{of}", self.from.display()))?;
            return Ok(Answer::No);
        }
        let place = || self.to.display().to_string();
        let target = DataDirectory::at(&self.to).with_context(place)?;
        let _locks = target.lock()?;
        let data = target.data().with_context(place)?;
        ensure!(
            self.force || data.is_empty(),
            "{} has data already: {}. --force puts it aside",
            self.to.display(),
            data.join(", ")
        );
        let mut progress = ProgressLine::new();
        for path in &candidates {
            let mut file = BufWriter::new(target.new_file().with_context(place)?);
            let checked = expected_sum(path).and_then(|sum| {
                let contents = check(path, sum.as_ref(), &mut file, &mut progress, &stop)?;
                Ok((contents, sum.is_some()))
            });
            match checked {
                Ok((contents, has_sum)) => {
                    let file = file.into_inner().map_err(|error| error.into_error());
                    let file = file.with_context(place)?;
                    let aside = target.adopt(file, now_ms()).with_context(place)?;
                    if !has_sum {
                        let path = path.display();
                        terminal.say(&format!(
                            "{path}.sha256 is not there: the SHA-256 was not compared"
                        ))?;
                    }
                    self.tell(path, &contents, aside.as_deref(), terminal)?;
                    return Ok(Answer::Yes);
                }
                Err(error @ CheckError::Unusable { .. }) => {
                    terminal.say(&format!("keyward: {error}"))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        terminal.say("keyward: nothing was restored")?;
        Ok(Answer::No)
    }

    /// The backups that may be restored, the best first; none if the directory has none.
    fn candidates(&self) -> anyhow::Result<Vec<PathBuf>> {
        let shown = self.from.display();
        let facts = std::fs::metadata(&self.from).with_context(|| shown.to_string())?;
        if !facts.is_dir() {
            return Ok(vec![self.from.clone()]);
        }
        let mut backups = Folder::at(&self.from).backups().with_context(|| shown.to_string())?;
        if let Some(name) = &self.name {
            backups = Folder::of_name(backups, name);
        }
        let names = Folder::names(&backups);
        if names.len() > 1 {
            let names: Vec<&str> = names.into_iter().collect();
            bail!("{shown} has backups of {}: say which by --name", names.join(", "));
        }
        Ok(backups.into_iter().map(|backup| backup.path).collect())
    }

    fn tell(
        &self,
        path: &Path,
        contents: &Contents,
        aside: Option<&Path>,
        terminal: &mut Terminal,
    ) -> anyhow::Result<()> {
        let (from, to) = (path.display().to_string(), self.to.display().to_string());
        let aside = aside.map(|aside| aside.display().to_string());
        match self.format {
            Format::Human => {
                terminal.write(&format!("{from}\n"))?;
                let keys = counted(usize::try_from(contents.rows)?, "key");
                terminal.say(&format!("{keys} restored to {to}"))?;
                if let Some(aside) = aside {
                    terminal.say(&format!("what was there is in {aside}"))?;
                }
            }
            Format::Json => terminal.write_record(&json!({
                "file": from, "to": to, "keys": contents.rows,
                "snapshot_bytes": contents.snapshot_bytes, "sha256": contents.sum,
                "aside": aside,
            }))?,
        }
        Ok(())
    }
}
