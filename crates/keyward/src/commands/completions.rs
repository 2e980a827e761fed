//! `keyward completions`: what a shell needs to complete our arguments.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::terminal::Terminal;
use crate::{Answer, Arguments};

/// Print a shell's completion script
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
    keyward completions bash > ~/.local/share/bash-completion/completions/keyward")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let mut command = Arguments::command();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "keyward", &mut script);
        terminal.write(&String::from_utf8(script)?)?;
        Ok(Answer::Yes)
    }
}
