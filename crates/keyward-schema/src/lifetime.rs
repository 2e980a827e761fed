//! Lifetimes: how long a key lives, and what changes that.
//!
//! Owns the forms of `ttl` and their words. Not here: reading them
//! (`read::lifetime`), carrying them out (the rule book).

use crate::derived::Reference;
use crate::settings::choice;
use crate::units::Duration;

/// The most keys above each other that a key may live `with`: what a large end has yet to make
/// of a key is found by way of them all.
pub const MAX_LEADERS: usize = 16;

/// How long a key lives.
#[derive(Clone, Debug, PartialEq)]
pub enum Lifetime {
    /// The schema is silent: as in Redis, the writer says.
    Free,
    /// Until it is deleted.
    Forever,
    /// At most this long from a write that creates or overwrites it.
    Within {
        /// What a writer gets who does not say.
        after: Duration,
        /// What happens to a writer who asks for more.
        excess: Excess,
    },
    /// A window from its creation that nothing extends.
    Window {
        /// How long.
        after: Duration,
    },
    /// This long from its last use.
    Renewed {
        /// How long.
        after: Duration,
        /// What counts as use.
        renew: Renew,
        /// How long in all, however much it is used.
        total: Option<Total>,
    },
    /// By the value of a field or of a placeholder.
    By {
        /// Whose value.
        subject: Subject,
        /// For each value of the enum, in its order.
        cases: Vec<(Box<str>, Duration)>,
        /// What counts as use, or that nothing extends it; as with
        /// [`Lifetime::Within`] where the schema does not say.
        renew: Option<Renew>,
    },
    /// Up to the time in a field.
    Until {
        /// The index of the field.
        field: usize,
    },
    /// As long as another key.
    With {
        /// Which one; all its placeholders are bound.
        key: Reference,
    },
    /// The writer says, within bounds.
    Given {
        /// At least.
        min: Option<Duration>,
        /// At most.
        max: Option<Duration>,
        /// For commands that cannot say.
        default: Option<Duration>,
        /// What happens to a writer who asks for more.
        excess: Excess,
    },
}

choice! {
    /// What happens to a writer who asks for a longer life than there is.
    pub enum Excess {
        /// The command is refused.
        Refuse = "refuse",
        /// The life is shortened.
        Clamp = "clamp",
    }
}

choice! {
    /// What renews a lifetime.
    pub enum Renew {
        /// Nothing.
        Never = "never",
        /// Each write.
        Write = "write",
        /// Each read and each write.
        Access = "access",
    }
}

/// The longest that a key lives in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// How long.
    pub max: Duration,
    /// The field with the time of its birth, which is not changed later.
    pub from: usize,
}

/// Whose value decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The field of this index.
    Field(usize),
    /// The placeholder of this index.
    Placeholder(usize),
}

impl Lifetime {
    /// The longest that a key may live without being written again, where the
    /// schema alone tells.
    pub fn longest(&self) -> Option<Duration> {
        match self {
            Lifetime::Within { after, .. }
            | Lifetime::Window { after }
            | Lifetime::Renewed { after, .. } => Some(*after),
            Lifetime::By { cases, .. } => cases.iter().map(|(_, after)| *after).max(),
            Lifetime::Given { max, .. } => *max,
            Lifetime::Free | Lifetime::Forever | Lifetime::Until { .. } | Lifetime::With { .. } => {
                None
            }
        }
    }

    /// Whether a key may live for ever.
    pub fn may_be_endless(&self) -> bool {
        match self {
            Lifetime::Free | Lifetime::Forever => true,
            Lifetime::Given { max, .. } => max.is_none(),
            _ => false,
        }
    }
}
