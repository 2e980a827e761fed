//! Keyward held against a real Redis with random commands.
//!
//! Owns the grammar that commands are drawn from, the rounds made of them, the
//! comparison of every reply and of the state at the end, and the search for the
//! smallest round that shows a difference. Invariant: a round depends on its seed
//! alone, so that every difference can be repeated.
//! Not here: exact expectations (`tests/wire`), the codec (`keyward-resp`).

mod argument;
mod compare;
mod grammar;
mod pair;
mod shrink;
mod state;
mod step;
mod stream;

pub use pair::Pair;

use grammar::Grammar;

/// How far a run goes.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// The seed of the first round.
    pub seed: u64,
    /// Commands to send.
    pub commands: u64,
    /// Differences to find.
    pub differences: usize,
    /// The files of the grammar that commands are drawn from; all if none is named.
    pub only: &'a [String],
}

/// Whether the grammar has a file of this name.
pub fn has_rules(name: &str) -> bool {
    Grammar::has_file(name)
}

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// Commands sent to each server, those of looking around not counted.
    pub commands: u64,
    /// Rounds run.
    pub rounds: u64,
    /// Differences found.
    pub differences: usize,
}

/// Runs rounds from a seed on, each with the next, until so many commands were sent or
/// so many differences found. Each is told as text for people: at once, and again when
/// it is shrunk.
pub fn run(pair: &mut Pair, limits: &Limits<'_>, mut tell: impl FnMut(&str)) -> Report {
    let grammar = Grammar::new(limits.only);
    let mut report = Report::default();
    while report.commands < limits.commands && report.differences < limits.differences {
        let round = stream::round(&grammar, limits.seed.wrapping_add(report.rounds));
        report.rounds += 1;
        report.commands += round.steps.len() as u64;
        if let Err(difference) = pair.run(&round) {
            report.differences += 1;
            tell(&describe(&round, &difference));
            match shrink::shrink(pair, &round, &difference) {
                Some((smallest, difference)) => {
                    tell(&step::wire_script(&smallest.steps));
                    tell(&describe(&smallest, &difference));
                }
                None => tell("it does not differ when run again\n"),
            }
        }
    }
    report
}

fn describe(round: &step::Round, difference: &pair::Difference) -> String {
    format!(
        "seed {} (RESP{}), step {}: {}\n  Keyward: {}\n  Redis:   {}\n",
        round.seed,
        round.protocol,
        difference.step,
        difference.command,
        difference.ours.replace('\n', "\n           "),
        difference.theirs.replace('\n', "\n           "),
    )
}
