//! `keyward man`: the manual pages, made of the same declarations as `--help`.
//!
//! For packages (`cargo xtask dist`), so it is not listed among the commands.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};

use crate::Arguments;
use crate::answer::Answer;
use crate::terminal::Terminal;

/// Write the manual pages of all commands
#[derive(Args, Debug)]
#[command(hide = true, after_help = "Example:\n  keyward man /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The directory they go to; it is made if need be
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let cannot = || format!("cannot write to {}", self.directory.display());
        fs::create_dir_all(&self.directory).with_context(cannot)?;
        // Every command tells its own help; what there is of `help` is that of clap.
        let command = Arguments::command().disable_help_subcommand(true);
        clap_mangen::generate_to(command, &self.directory).with_context(cannot)?;
        terminal.say(&format!("wrote the pages to {}", self.directory.display()))?;
        Ok(Answer::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What pages and completions are made of.
    #[test]
    fn every_command_and_every_option_says_what_it_is() {
        fn check(command: &clap::Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} does not say what it does");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{name}: {} is not told", argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        let command = Arguments::command();
        assert!(command.get_subcommands().count() > 15);
        check(&command);
    }
}
