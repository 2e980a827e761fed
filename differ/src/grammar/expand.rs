//! Turning a rule into a command.

use super::{Grammar, Mark, Part, Rule};
use crate::argument::{self, Kind};
use keyward_testkit::Random;

/// A command drawn from a rule.
#[derive(Debug)]
pub(crate) struct Expansion {
    pub(crate) command: Vec<Vec<u8>>,
    /// The rule's, or that of the command within it.
    pub(crate) mark: Mark,
    /// The keys that were drawn, as long as they still stand where the template has them.
    pub(crate) keys: Vec<Vec<u8>>,
    /// Whether something was spoilt, or another command is inside.
    pub(crate) is_altered: bool,
    last_count: usize,
}

impl Expansion {
    /// Draws a command; now and then a wrong one.
    pub(crate) fn draw(grammar: &Grammar, rule: &Rule, random: &mut Random) -> Expansion {
        let mut expansion = Expansion {
            command: Vec::new(),
            mark: rule.mark,
            keys: Vec::new(),
            is_altered: false,
            last_count: 0,
        };
        expansion.add_all(grammar, &rule.parts, random);
        if rule.mark.is_spoilable() && expansion.mark.is_spoilable() && random.one_in(25) {
            expansion.spoil(random);
        }
        expansion
    }

    fn add_all(&mut self, grammar: &Grammar, parts: &[Part], random: &mut Random) {
        for part in parts {
            self.add(grammar, part, random);
        }
    }

    fn add(&mut self, grammar: &Grammar, part: &Part, random: &mut Random) {
        match part {
            Part::Word(word) => self.command.push(cased(word, random)),
            Part::Argument(kind) => self.add_argument(*kind, random),
            Part::Optional(parts) => {
                if random.one_in(2) {
                    self.add_all(grammar, parts, random);
                }
            }
            Part::OneOf(branches) => {
                let branch = random.below(branches.len());
                self.add_all(grammar, &branches[branch], random);
            }
            Part::Repeat(part) => {
                for _ in 0..repetitions(random) {
                    self.add(grammar, part, random);
                }
            }
            Part::Counted(kind) => {
                self.last_count = 1 + random.below(4);
                let claimed = argument::count_of(self.last_count, random);
                self.command.push(claimed);
                for _ in 0..self.last_count {
                    self.add_argument(*kind, random);
                }
            }
            Part::AsMany(kind) => {
                for _ in 0..self.last_count {
                    self.add_argument(*kind, random);
                }
            }
            Part::Command => self.add_command(grammar, random),
            Part::FirstKey => {
                let key = self.keys.first().cloned().unwrap_or_default();
                self.command.push(key);
            }
        }
    }

    fn add_argument(&mut self, kind: Kind, random: &mut Random) {
        let argument = kind.draw(random);
        if kind.is_key() {
            self.keys.push(argument.clone());
        }
        self.command.push(argument);
    }

    /// A whole command, as the arguments of a script that runs it.
    fn add_command(&mut self, grammar: &Grammar, random: &mut Random) {
        let rule = grammar.pick(random, |mark| mark.is_nestable() && mark != Mark::Lifetime);
        // A script within a script is refused; what it would run does not matter.
        if rule.parts.iter().any(|part| matches!(part, Part::Command)) {
            self.command.extend([b"PING".to_vec(), b"nested".to_vec()]);
            return;
        }
        let inner = Expansion::draw(grammar, rule, random);
        self.command.extend(inner.command);
        self.mark = match inner.mark {
            Mark::Block => Mark::Careful,
            other => other,
        };
        self.is_altered = true;
    }

    /// Puts a mistake in: an argument too few or too many, twice, or an odd one.
    fn spoil(&mut self, random: &mut Random) {
        self.is_altered = true;
        let place = 1 + random.below(self.command.len());
        match random.below(5) {
            0 => self.command.truncate(place),
            1 if place < self.command.len() => {
                self.command.remove(place);
            }
            2 if place < self.command.len() => {
                let copy = self.command[place].clone();
                self.command.insert(place, copy);
            }
            3 => self.command.insert(place, argument::odd(random)),
            _ if place < self.command.len() => self.command[place] = argument::odd(random),
            _ => self.command.push(argument::odd(random)),
        }
    }
}

/// Keywords are the same in any case.
fn cased(word: &[u8], random: &mut Random) -> Vec<u8> {
    let is_keyword = word.iter().all(u8::is_ascii_uppercase);
    if is_keyword && random.one_in(16) { word.to_ascii_lowercase() } else { word.to_vec() }
}

/// Mostly few; sometimes enough to cross the limits of the small encodings.
fn repetitions(random: &mut Random) -> usize {
    match random.below(400) {
        0 => 505 + random.below(20),
        1..=3 => 120 + random.below(16),
        4..=60 => 1 + random.below(14),
        _ => 1 + random.below(3),
    }
}
