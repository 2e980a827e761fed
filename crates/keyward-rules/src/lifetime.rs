//! Lifetimes: when a row ends, judged by what a command did to it.
//!
//! Owns the answer to one question: a row had this deadline before and has that
//! one now; which one must it have? Both stages of the book ask it, `before` for
//! what a command is going to do, `after` for what it has done.
//!
//! A [`Term`] is what the schema demands of one row, once the values that decide
//! about it are known. What a command did is read off the deadlines:
//! - *unchanged*: INCR, HSET, LPUSH, SET … KEEPTTL on a living row. Who asks for the deadline that
//!   a row has already has asked for it, where the row is to have another one;
//! - *silent*: a row came without a deadline;
//! - *lost*: a living row's deadline is gone, because SET, GETSET, a `*STORE`,
//!   RENAME, COPY or RESTORE replaced it, or by PERSIST;
//! - *asked*: there is another deadline than before, by EX, EXPIRE, or because a
//!   renamed row brought its own along.
//!
//! | term | unchanged | silent, lost | asked | PERSIST |
//! | --- | --- | --- | --- | --- |
//! | `Free` | stays | none | taken | taken |
//! | `Forever` | none | none | refused | nothing to do |
//! | `Within` | stays, anew if the deciding value changed | anew | refused beyond it, or shortened | refused |
//! | `Window` | stays | stays, or anew for a new row | the nearer end; refused if longer than a whole window, unless by EXPIRE or GETEX, which change nothing then | refused |
//! | `Renewed` | anew | anew | refused beyond it | refused |
//! | `RenewedUpTo` | anew, if that is later | anew, if that is later | refused beyond the total | refused |
//! | `At` (`until`) | that time | that time | refused unless it is that time | refused |
//! | `With` | its leader's end, for the row | the same | refused unless it is its leader's end | refused |
//! | `Given` | stays | the default; without one none, refused if there is a most | refused outside the bounds | refused if there is a default or a most |
//!
//! A living row without a deadline where there must be one, left over from
//! another schema, counts as silent when it is next written.
//! Invariant: pure; the time comes as an argument. A deadline in the past is a
//! right answer, and ends the row at once.

use keyward_schema::{Duration, Excess};

/// How far a time that a client reckoned in whole seconds may lie from the one
/// that the schema demands and still be the same one.
const SAME_TIME_MS: u64 = 1000;

/// What the schema demands of the lifetime of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// As in Redis.
    Free,
    /// No deadline.
    Forever,
    /// At most this long from a write that creates or replaces it.
    Within {
        /// How long.
        after: Duration,
        /// What happens to a writer who asks for more.
        excess: Excess,
    },
    /// This long from its creation.
    Window {
        /// How long.
        after: Duration,
    },
    /// This long from its last write.
    Renewed {
        /// How long.
        after: Duration,
    },
    /// This long from its last write, but in all only so long.
    RenewedUpTo {
        /// How long from its last write.
        after: Duration,
        /// How long in all.
        total: Duration,
        /// The moment at which that is over.
        last: i64,
    },
    /// Up to this time, or for ever: that of a field.
    At(Option<i64>),
    /// As long as the key it lives with.
    With {
        /// When that ends, if ever.
        leader: Option<i64>,
        /// The end that the row itself has: that one, or a later one if reads renew that.
        end: Option<i64>,
    },
    /// It lives with a key that is not there.
    Leaderless,
    /// What the writer says, within bounds.
    Given {
        /// At least.
        min: Option<Duration>,
        /// At most.
        max: Option<Duration>,
        /// For a writer who does not say.
        default: Option<Duration>,
        /// What happens to a writer who asks for more.
        excess: Excess,
    },
}

/// What a command did to a row that is there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Whether the row was there before, and then its deadline.
    pub before: Option<Option<i64>>,
    /// The deadline it has now.
    pub now_has: Option<i64>,
    /// What of the row was written.
    pub touched: Touched,
}

/// What of a row was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// Nothing: it is judged as it stands.
    Nothing,
    /// Nothing but its lifetime: EXPIRE, PERSIST, GETEX.
    Lifetime,
    /// Its content, but not the value that decides on its lifetime.
    Content,
    /// Its content, and with it the value that decides on its lifetime.
    Subject,
}

/// Why a lifetime is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeProblem {
    /// It must not have one.
    Mortal,
    /// It must have one.
    Immortal,
    /// The writer must say.
    Unsaid,
    /// It is too long.
    TooLong {
        /// What was asked for.
        asked: Duration,
        /// The most there is.
        most: Duration,
    },
    /// It is too short.
    TooShort {
        /// What was asked for.
        asked: Duration,
        /// The least there is.
        least: Duration,
    },
    /// Something else decides when it ends.
    Elsewhere,
    /// The time of its birth is another one now.
    Reborn,
    /// The time of its birth is still to come, by more than clocks differ.
    Unborn,
    /// The key that it lives with is not there.
    Leaderless,
}

/// The deadline that a row must have, in milliseconds since the epoch.
///
/// # Errors
/// If the command is to be refused.
pub fn deadline_after(
    term: Term,
    now_ms: i64,
    situation: Situation,
) -> Result<Option<i64>, LifetimeProblem> {
    use LifetimeProblem::*;
    let step = Step::of(situation);
    let touched = situation.touched;
    let is_written = matches!(touched, Touched::Content | Touched::Subject);
    match term {
        Term::Free => Ok(situation.now_has),
        Term::Forever => match step.or_asked_again(touched) {
            Step::Asked(_) => Err(Mortal),
            _ => Ok(None),
        },
        Term::Within { after, excess } => match step {
            Step::Unchanged(end) if touched != Touched::Subject => Ok(Some(end)),
            Step::Lost(_) if touched == Touched::Lifetime => Err(Immortal),
            Step::Asked(end) => at_most(after, excess, now_ms, end).map(Some),
            Step::Unchanged(_) | Step::Lost(_) | Step::Silent => Ok(Some(end_of(after, now_ms))),
        },
        Term::Window { after } => window(after, now_ms, step, situation).map(Some),
        Term::Renewed { after } => match step {
            Step::Unchanged(end) if !is_written => Ok(Some(end)),
            Step::Lost(_) if touched == Touched::Lifetime => Err(Immortal),
            Step::Asked(end) => at_most(after, Excess::Refuse, now_ms, end).map(Some),
            Step::Unchanged(_) | Step::Lost(_) | Step::Silent => Ok(Some(end_of(after, now_ms))),
        },
        // Who only goes on using a row did not write its birth.
        Term::RenewedUpTo { after, total, last }
            if (situation.before.is_none() || touched == Touched::Subject)
                && is_unborn(after, total, last, now_ms) =>
        {
            Err(Unborn)
        }
        Term::RenewedUpTo { after, total, last } => match step {
            Step::Unchanged(end) if !is_written => Ok(Some(end)),
            Step::Lost(_) if touched == Touched::Lifetime => Err(Immortal),
            // Who asks for the whole of it asks a little later than it was born.
            Step::Asked(end) => {
                at_most(total, Excess::Refuse, now_ms, end).map(|end| Some(end.min(last)))
            }
            Step::Unchanged(end) | Step::Lost(end) => {
                Ok(Some(renewed_up_to(after, last, now_ms, Some(end))))
            }
            Step::Silent => Ok(Some(renewed_up_to(after, last, now_ms, None))),
        },
        Term::At(end) => match step.or_asked_again(touched) {
            Step::Asked(asked) if !end.is_some_and(|end| is_same_time(end, asked)) => {
                Err(Elsewhere)
            }
            Step::Lost(_) if touched == Touched::Lifetime && end.is_some() => Err(Elsewhere),
            _ => Ok(end),
        },
        Term::With { leader, end } => match step.or_asked_again(touched) {
            // Nobody wrote it, and it ends with its leader.
            Step::Unchanged(has) if !is_written && leader == Some(has) => Ok(leader),
            Step::Asked(asked) => {
                let is_its = |end: Option<i64>| end.is_some_and(|end| is_same_time(end, asked));
                if is_its(leader) || is_its(end) { Ok(end) } else { Err(Elsewhere) }
            }
            Step::Lost(_) if touched == Touched::Lifetime && end.is_some() => Err(Elsewhere),
            _ => Ok(end),
        },
        Term::Leaderless => Err(Leaderless),
        Term::Given { min, max, default, excess } => match step {
            Step::Unchanged(end) => Ok(Some(end)),
            Step::Asked(end) => {
                at_least(min, now_ms, end)?;
                max.map_or(Ok(end), |max| at_most(max, excess, now_ms, end)).map(Some)
            }
            // A row whose writer says nothing has an end too, so each has one.
            Step::Lost(_) if touched == Touched::Lifetime => match default.or(max) {
                Some(_) => Err(Immortal),
                None => Ok(None),
            },
            Step::Lost(_) | Step::Silent => match (default, max) {
                (Some(default), _) => Ok(Some(end_of(default, now_ms))),
                (None, None) => Ok(None),
                (None, Some(_)) => Err(Unsaid),
            },
        },
    }
}

/// What became of a deadline.
#[derive(Clone, Copy)]
enum Step {
    Unchanged(i64),
    Silent,
    Lost(i64),
    Asked(i64),
}

impl Step {
    fn of(situation: Situation) -> Step {
        match (situation.before.flatten(), situation.now_has) {
            (Some(before), Some(now)) if before == now => Step::Unchanged(now),
            (_, Some(now)) => Step::Asked(now),
            (Some(before), None) => Step::Lost(before),
            (None, None) => Step::Silent,
        }
    }

    /// Where the row is to have a deadline that it may not have: who touched nothing but its
    /// lifetime asked for what it has, and is told the same as the first time.
    fn or_asked_again(self, touched: Touched) -> Step {
        match self {
            Step::Unchanged(end) if touched == Touched::Lifetime => Step::Asked(end),
            step => step,
        }
    }
}

fn window(
    after: Duration,
    now_ms: i64,
    step: Step,
    situation: Situation,
) -> Result<i64, LifetimeProblem> {
    let whole = end_of(after, now_ms);
    let living = situation.before.flatten();
    match step {
        // Another case with a shorter window ends sooner; a longer one extends nothing.
        Step::Unchanged(end) if situation.touched == Touched::Subject => Ok(end.min(whole)),
        Step::Unchanged(end) => Ok(end),
        Step::Silent => Ok(whole),
        Step::Lost(_) if situation.touched == Touched::Lifetime => Err(LifetimeProblem::Immortal),
        Step::Lost(end) => Ok(end.min(whole)),
        Step::Asked(end) if situation.touched == Touched::Lifetime => {
            Ok(end.min(living.unwrap_or(whole)))
        }
        Step::Asked(end) => {
            let end = at_most(after, Excess::Refuse, now_ms, end)?;
            Ok(end.min(living.unwrap_or(whole)))
        }
    }
}

/// When something ends that begins now.
pub(crate) fn end_of(after: Duration, now_ms: i64) -> i64 {
    now_ms.saturating_add_unsigned(after.as_ms())
}

/// When a row ends that is renewed now: never sooner than it would have, never later than
/// its last moment.
pub(crate) fn renewed_up_to(after: Duration, last: i64, now_ms: i64, had: Option<i64>) -> i64 {
    end_of(after, now_ms).max(had.unwrap_or(i64::MIN)).min(last)
}

/// Whether the birth of a row that lives so long in all is still to come. Clocks differ: one
/// that is ahead by no more than a renewal passes.
fn is_unborn(after: Duration, total: Duration, last: i64, now_ms: i64) -> bool {
    last > end_of(total, end_of(after, now_ms))
}

fn at_most(
    most: Duration,
    excess: Excess,
    now_ms: i64,
    asked: i64,
) -> Result<i64, LifetimeProblem> {
    let end = end_of(most, now_ms);
    match excess {
        _ if asked <= end => Ok(asked),
        Excess::Clamp => Ok(end),
        Excess::Refuse => Err(LifetimeProblem::TooLong { asked: duration_to(asked, now_ms), most }),
    }
}

/// A time in the past ends the row, whatever the least is.
fn at_least(least: Option<Duration>, now_ms: i64, asked: i64) -> Result<(), LifetimeProblem> {
    match least {
        Some(least) if asked > now_ms && asked < end_of(least, now_ms) => {
            Err(LifetimeProblem::TooShort { asked: duration_to(asked, now_ms), least })
        }
        _ => Ok(()),
    }
}

fn duration_to(end: i64, now_ms: i64) -> Duration {
    Duration::from_ms(end.saturating_sub(now_ms).max(0).unsigned_abs())
}

fn is_same_time(end: i64, asked: i64) -> bool {
    end.abs_diff(asked) < SAME_TIME_MS
}

#[cfg(test)]
mod tests;
