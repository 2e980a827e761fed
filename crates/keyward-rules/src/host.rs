//! What every host of the rule book needs beside its rows.
//!
//! A host runs commands under a book: the engine, a server that is not ours with the module in
//! it, the model of `tests/model`. Owns what does not depend on how rows are kept: which
//! commands are treated how ([`policy`]); and for hosts that only run commands and keep no
//! journal, the way of a command through the book ([`run`]): what must be captured before
//! ([`needs`]), the arguments that carry a lifetime ([`rewrite`]), the diff of before and after
//! and its inverse ([`Capture`]); and what a host can promise of a schema's rules
//! ([`guarantees`]).
//! Not here: the rules (`before`, `after`), rows.

mod capture;
mod companions;
mod guarantees;
mod needs;
pub mod policy;
mod rewrite;
mod run;
mod slots;
mod stored;

pub use capture::{Capture, Changed, Difference};
pub use guarantees::{Guarantee, HostKind, Promise, guarantees};
pub use needs::{Named, Need, needs};
pub use rewrite::{Behind, Deadline, Rewritten, rewrite};
pub use run::{FollowUpFailed, Outcome, Ran, RuleHost, follow_ended, run, run_unknown};
pub use stored::{Bytes, Stored, Value};
