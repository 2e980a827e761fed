//! The Keyward schema language.
mod diagnostic;
mod matcher;
mod pattern;
mod source;
mod units;
pub use matcher::{
    MAX_KEY_BYTES, MAX_MEMBERS, MAX_STATES, Match, Matcher, MatcherError, NamedPattern,
    Placeholders,
};
pub use pattern::*;
