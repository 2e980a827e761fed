//! The Keyward schema language.
mod diagnostic;
mod pattern;
mod source;
mod units;
pub use pattern::*;
pub struct Matcher;
