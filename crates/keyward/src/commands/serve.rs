//! `keyward serve`: the server.

use clap::Args;

use crate::Answer;

/// Serve Redis clients
#[derive(Args, Debug)]
#[command(after_help = "Settings bear redis.conf's names; a file of them may come first.\n\n\
    Examples:\n  keyward serve --port 7000 --maxmemory 1gb\n  keyward serve redis.conf --port 7000")]
pub(crate) struct Serve {
    /// Settings as redis-server takes them: [FILE] --name value…
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SETTINGS")]
    settings: Vec<String>,
}

impl Serve {
    pub(crate) fn run(&self) -> anyhow::Result<Answer> {
        keyward_server::serve_command(&self.settings)?;
        Ok(Answer::Yes)
    }
}
