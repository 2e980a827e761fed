//! `keyward backup`: a snapshot of a running server in a file of its own.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};
use clap::Args;
use keyward_backup::{
    Address, Archive, CheckError, Contents, FetchError, Folder, Stop, check, fetch, is_name,
};
use serde_json::json;

use super::login::Login;
use super::output::{Format, counted};
use crate::answer::Answer;
use crate::progress::ProgressLine;
use crate::signals::stop_on_signals;
use crate::terminal::Terminal;

/// How soon a backup that failed is tried again, if others are to follow.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Back a running server up: Keyward, Redis or Valkey
///
/// Asks the server for a snapshot as a replica would, compresses it, loads it again to
/// see that it is sound, and only then gives it its name: NAME-20251204T153000Z.rdb.zst,
/// with its SHA-256 beside it. What is older than --keep says goes once a newer one is
/// there. The password is also taken from REDISCLI_AUTH. Exits with 1 if the snapshot is
/// not sound or has keys that Keyward does not serve, which are named; with 2 if there is
/// no backup for another reason.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward backup --to /backups --keep 7d\n  \
    keyward backup --to /backups --keep 7d --every 6h --port 7000 --name shop\n  \
    keyward backup --to /backups redis://user:password@10.0.0.7:6379\n  \
    keyward backup --to /backups rediss://10.0.0.7:6380 --cacert ca.crt\n  \
    keyward backup --to /backups /run/keyward/keyward.sock")]
pub(crate) struct Backup {
    /// The directory that backups go to; it is made if need be
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Remove backups of this name that are older; all are kept if it is not given
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    keep: Option<Duration>,
    /// Go on with a backup so often, until SIGTERM or Ctrl-C
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    every: Option<Duration>,
    /// What the names of the files begin with
    #[arg(long, default_value = "keyward", value_parser = name)]
    name: String,
    /// Where the server is: HOST[:PORT], redis://[[user:]password@]host[:port] (rediss:// is by
    /// TLS) or the path of a Unix socket; 127.0.0.1:6379 if nothing is said. A single word
    /// before @ is the password, as redis-cli has it: name a user whose password is elsewhere by
    /// --user
    address: Option<String>,
    /// The same as ADDRESS
    #[arg(long, value_name = "ADDRESS", conflicts_with = "address")]
    url: Option<String>,
    /// The password to log in with; others see it in the list of processes
    #[arg(long)]
    password: Option<String>,
    #[command(flatten)]
    login: Login,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Backup {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let address = self.address()?;
        let stop = stop_on_signals()?;
        let Some(every) = self.every else { return self.back_up(&address, &stop, terminal) };
        loop {
            let start = SystemTime::now();
            let outcome = self.back_up(&address, &stop, terminal);
            terminal.flush()?;
            let is_well = matches!(outcome, Ok(Answer::Yes));
            match outcome {
                _ if stop.is_set() => {
                    if !is_well {
                        terminal.say("keyward: told to stop: the backup under way is given up")?;
                    }
                    return Ok(Answer::Yes);
                }
                Err(error) => terminal.say(&format!("keyward: {error:#}"))?,
                Ok(_) => {}
            }
            let pause = if is_well { every } else { every.min(RETRY_AFTER) };
            if stop.within(pause.saturating_sub(start.elapsed().unwrap_or_default())) {
                return Ok(Answer::Yes);
            }
        }
    }

    fn address(&self) -> anyhow::Result<Address> {
        let given = self.address.as_deref().or(self.url.as_deref());
        let mut address = self.login.place(given)?;
        address.password = self.password.clone().or(address.password);
        self.login.complete(address)
    }

    /// One backup, and the old ones go.
    fn back_up(
        &self,
        address: &Address,
        stop: &Stop,
        terminal: &mut Terminal,
    ) -> anyhow::Result<Answer> {
        let directory = || self.to.display().to_string();
        std::fs::create_dir_all(&self.to).with_context(directory)?;
        let folder = Folder::at(&self.to);
        let taken_ms = now_ms();
        let mut progress = ProgressLine::new();
        let archive = received(fetch(address, folder.directory(), stop, &mut progress))?;
        let (path, sum) = (archive.path(), Some(&archive.sum));
        let checked = check(path, sum, &mut std::io::sink(), &mut progress, stop);
        let contents = match checked {
            Ok(contents) => contents,
            Err(CheckError::Unusable { problems, .. }) => {
                let problems = problems.join("; ");
                terminal
                    .say(&format!("keyward: the snapshot of {address} is not kept: {problems}"))?;
                return Ok(Answer::No);
            }
            Err(error) => return Err(error.into()),
        };
        let path = folder.add(archive, &self.name, taken_ms).with_context(directory)?;
        let removed = match self.keep {
            Some(keep) => {
                folder.rotate(&self.name, taken_ms - as_ms(keep)).with_context(directory)?
            }
            None => Vec::new(),
        };
        self.tell(&path, &contents, &removed, terminal)?;
        Ok(Answer::Yes)
    }

    fn tell(
        &self,
        path: &Path,
        contents: &Contents,
        removed: &[PathBuf],
        terminal: &mut Terminal,
    ) -> anyhow::Result<()> {
        let Contents { rows, snapshot_bytes, bytes, sum } = contents;
        match self.format {
            Format::Human => {
                terminal.write(&format!("{}\n", path.display()))?;
                let keys = counted(usize::try_from(*rows)?, "key");
                let mut message =
                    format!("{keys}, {snapshot_bytes} bytes in {bytes}, loaded and found sound");
                if !removed.is_empty() {
                    let old = counted(removed.len(), "old backup");
                    message.push_str(&format!("; {old} removed"));
                }
                terminal.say(&message)?;
            }
            Format::Json => terminal.write_record(&json!({
                "file": path.display().to_string(), "sha256": sum, "keys": rows,
                "snapshot_bytes": snapshot_bytes, "bytes": bytes,
                "removed": removed.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            }))?,
        }
        terminal.flush()?;
        Ok(())
    }
}

/// What came of asking, with the way out where there is one.
fn received(fetched: Result<Archive, FetchError>) -> anyhow::Result<Archive> {
    fetched.map_err(|error| match &error {
        FetchError::Snapshot(refused) if refused.wants_password() => {
            anyhow!("{error}; say its password with --password or in REDISCLI_AUTH")
        }
        _ => error.into(),
    })
}

pub(super) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, as_ms)
}

fn as_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let parsed = keyward_schema::Duration::parse(text).ok_or("write it as 30m, 6h or 7d")?;
    Ok(Duration::from_millis(parsed.as_ms()))
}

fn name(text: &str) -> Result<String, &'static str> {
    if !is_name(text) {
        return Err("use letters, digits, dots, dashes and underscores");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io;

    use keyward_backup::{SnapshotError, TalkError};

    use super::*;

    /// Whoever reads stdout and closes it has what it wanted, a server that closes its
    /// connection has not given it.
    #[test]
    fn a_connection_that_breaks_is_not_success() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let place = || "localhost:6379".to_owned();
        let talk = SnapshotError::Talk { place: place(), problem: TalkError::Io(broken()) };
        let cut = FetchError::Cut { place: place(), problem: broken() };
        for failed in [FetchError::Snapshot(talk), cut] {
            let error = received(Err(failed)).err().expect("it failed");
            assert!(!crate::is_closed_pipe(&error), "{error:#}");
        }
    }
}
