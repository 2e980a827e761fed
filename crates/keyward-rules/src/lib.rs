//! The rule book: what a schema demands of commands and of their effects.
//!
//! Pure: it knows no storage, no socket and no clock. A host (the engine, later
//! a gateway before Redis) asks it twice about each command that writes:
//!
//! 1. [`RuleBook::before`]: run it as it is, run it with a lifetime, run another
//!    command instead, answer at once, or refuse it;
//! 2. [`RuleBook::after`], with what changed: refuse and undo it all, or carry
//!    out these follow-ups, which are plain Redis commands.
//!
//! Commands of a unit (MULTI/EXEC, a script) it is asked about by [`RuleBook::before_in_unit`]
//! and [`RuleBook::after_in_unit`], and once more at the unit's end ([`RuleBook::at_end`]) about
//! what those deferred to it.
//!
//! What the book must see of the keyspace it asks of a [`View`]; a host that has
//! to fetch it first returns [`NotYet`], and asks the book again.

mod after;
mod arguments;
mod before;
mod book;
mod call;
mod change;
mod decimal_sum;
mod derived;
mod entry;
mod explain;
mod facts;
mod feeding;
mod fit;
mod forms;
pub mod host;
mod lifetime;
mod naming;
mod observing;
mod plan;
mod reason;
mod refusal;
mod shown;
mod survey;
mod suspended;
mod term;
mod verdict;
mod view;
mod whole;
mod words;

pub use after::{Cause, Consequences, Deferred, LargeEnd, Leavers, Objection};
pub use arguments::extent;
pub use book::{FeedMarks, RuleBook, Traits};
pub use change::{Change, End, Part, What};
pub use derived::{Contradicted, Entry, Holds, ToldBy};
pub use entry::EntryFields;
pub use forms::{Form, Forms};
pub use lifetime::{LifetimeProblem, Situation, Term, Touched, deadline_after};
pub use observing::Deed;
pub use plan::{Difference, DifferenceKind, Effect, compare, compare_for_rows};
pub use reason::{ByReason, Reason};
pub use refusal::Refusal;
pub use shown::{Books, REDACTED, Sender, names_its_keys};
pub use survey::{
    CONTRADICTIONS_KEPT, Conclusion, Excess, FOLLOWERS_LOOKED_AT, Faults, Findings, Ground, Report,
    Survey, Weight,
};
pub use verdict::{Judged, Substitute, Verdict};
pub use view::{Blind, Element, NotYet, Row, RowType, View};
