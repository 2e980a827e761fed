//! What a round consists of: steps, and how their replies are compared.
//!
//! Owns the notation of steps as a wire script, so that a difference can be kept
//! under `tests/wire`.

use keyward_testkit::wire::quoted;
use std::fmt::Write as _;

/// How two replies to a command must agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Check {
    /// The same bytes.
    Exact,
    /// The same elements, in any order where Redis's order is that of its hash table.
    AnyOrder(Unordered),
    /// Numbers that may differ by the time between the two servers' clocks.
    Lifetime,
}

/// A reply whose order may be that of a hash table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unordered {
    /// How many elements belong together: 2 where fields and values alternate.
    pub(crate) group: usize,
    /// The keys whose encoding decides whether order counts: it does unless Redis
    /// holds one of them as a hash table. `None` if that cannot be asked.
    pub(crate) sources: Option<Vec<Vec<u8>>>,
}

/// What a step does beyond sending its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Sends it, with others in a batch, and compares the replies.
    Call(Check),
    /// The reply is drawn at random: it must be possible, and both servers then
    /// continue from the same state.
    Draw,
    /// Repeats the command with the cursor it answers until the walk is over.
    Walk,
    /// Dumps the first row and restores the dump of the server that is named last on
    /// both, as the second row.
    Transfer,
    /// The command may block; its reply is compared when it comes.
    Block,
    /// Ends the waiting of all blocked clients and compares their replies.
    Settle,
    /// Waits until every short lifetime is over.
    Pause,
}

/// One step of a round.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) connection: usize,
    /// Empty where the action sends none of its own.
    pub(crate) command: Vec<Vec<u8>>,
    pub(crate) action: Action,
}

impl Step {
    /// A command whose replies must be the same bytes.
    pub(crate) fn exact(connection: usize, words: &[&str]) -> Step {
        let command = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Step { connection, command, action: Action::Call(Check::Exact) }
    }

    /// A step without a command.
    pub(crate) fn bare(action: Action) -> Step {
        Step { connection: 0, command: Vec::new(), action }
    }

    /// The command's name in upper case.
    pub(crate) fn name(&self) -> String {
        let name = self.command.first().map(Vec::as_slice).unwrap_or_default();
        String::from_utf8_lossy(name).to_uppercase()
    }

    /// Whether a word is among the arguments, as where a script runs that command.
    pub(crate) fn mentions(&self, word: &[u8]) -> bool {
        self.command.iter().any(|argument| argument.eq_ignore_ascii_case(word))
    }
}

/// A seeded list of steps.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) seed: u64,
    /// RESP 2 or 3.
    pub(crate) protocol: u8,
    pub(crate) steps: Vec<Step>,
}

/// Steps as a wire script.
pub(crate) fn wire_script(steps: &[Step]) -> String {
    let mut script = String::new();
    let mut blocked = Vec::new();
    for step in steps {
        let mark = match &step.action {
            Action::Call(Check::Exact) => "",
            Action::Call(Check::AnyOrder(_)) | Action::Walk => "~",
            Action::Call(Check::Lifetime) | Action::Draw | Action::Transfer => "?",
            Action::Block => {
                blocked.push(connection_name(step.connection));
                "&"
            }
            Action::Settle => {
                for name in blocked.drain(..) {
                    let _ = writeln!(script, "{name}=");
                }
                continue;
            }
            Action::Pause => {
                script.push_str("# (pause)\n");
                continue;
            }
        };
        let _ = write!(script, "{}>{mark}", connection_name(step.connection));
        for argument in &step.command {
            let _ = write!(script, " {}", word(argument));
        }
        script.push('\n');
    }
    script
}

/// The first connection is the script's own and has no name.
fn connection_name(connection: usize) -> &'static str {
    ["", "b", "c", "d"][connection]
}

fn word(argument: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\".contains(byte);
    if !argument.is_empty() && argument.iter().all(is_plain) {
        String::from_utf8_lossy(argument).into_owned()
    } else {
        quoted(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_shown_as_a_wire_script() {
        let mut pop = Step::exact(1, &["BLPOP", "l", "0"]);
        pop.action = Action::Block;
        let steps = [pop, Step::exact(0, &["RPUSH", "l", "a b\n"]), Step::bare(Action::Settle)];
        assert_eq!(wire_script(&steps), "b>& BLPOP l 0\n> RPUSH l \"a b\\n\"\nb=\n");
    }
}
