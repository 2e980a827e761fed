//! `keyward completions`: what a shell needs to complete our arguments.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, CommandFactory};
use clap_complete::Shell;
use keyward_server::settings::table::{Kind, SETTINGS};

use super::init;

use crate::Arguments;
use crate::answer::Answer;
use crate::terminal::Terminal;

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
        let mut command = completed(Arguments::command());
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "keyward", &mut script);
        terminal.write(&String::from_utf8(script)?)?;
        Ok(Answer::Yes)
    }
}

/// The arguments with what only a shell needs to know of them: they are read by us, as
/// redis-server reads them, or checked with words of our own.
fn completed(command: Command) -> Command {
    let command = command.mut_subcommand("init", |init| {
        let names = PossibleValuesParser::new(init::library_names());
        init.mut_arg("with", |with| with.value_parser(names))
    });
    command.mut_subcommand("serve", |serve| {
        let own = [
            ("db", "The database of a keyspace, [NAME=]N"),
            ("postgres", "Store rows that have a sink in this database"),
        ];
        let own = own.map(|(name, doc)| Arg::new(name).long(name).help(doc));
        let settings = SETTINGS.iter().map(|setting| {
            let option = Arg::new(setting.name).long(setting.name).help(setting.doc);
            match setting.kind {
                Kind::Bool => option.value_parser(["yes", "no"]),
                Kind::OneOf(choices) => option.value_parser(PossibleValuesParser::new(choices)),
                _ => option,
            }
        });
        serve.args(own).args(settings)
    })
}
