//! What the book says to a command before it runs.

use crate::refusal::Refusal;
use keyward_resp::ArgBuf;

/// What is to be done with a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Run it.
    Run(Judged),
    /// Run it, and let the string that it sets end at this time, in milliseconds
    /// since the epoch. For SET and its kin, whatever lifetime the command itself
    /// names, and for INCR and its kin where there is no row yet.
    RunUntil(i64, Judged),
    /// Run another command in its place.
    Instead(Box<Substitute>),
    /// Do nothing, and answer with this integer.
    Answer(i64),
    /// Refuse it.
    Refuse(Box<Refusal>),
}

/// What is done instead of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Substitute {
    /// The command to run.
    pub command: ArgBuf,
    /// The bulk string to answer.
    pub reply: Box<[u8]>,
}

/// How much of what a command does the book has judged before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Nothing: the host must report the changes to [`crate::RuleBook::after`].
    Nothing,
    /// The rows it writes by themselves. The host must report the changes, since
    /// other keys depend on them.
    Rows,
    /// All of it: the host need not report anything.
    All,
}
