//! Commands of lists, by what they do.
//!
//! Owns what the ends of lists are called; the handlers are below.

pub(crate) mod change;
pub(crate) mod lookup;
pub(crate) mod pop;
pub(crate) mod push;
pub(crate) mod relocate;

use keyward_commands::{WireError, args};
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::list::End;

const fn event(name: &'static str) -> Event {
    Event::new(Class::List, name)
}

/// The end that a word means.
fn parse_end(word: &[u8]) -> Result<End, WireError> {
    match (args::is(word, "LEFT"), args::is(word, "RIGHT")) {
        (true, _) => Ok(End::Head),
        (_, true) => Ok(End::Tail),
        _ => Err(WireError::Syntax),
    }
}

/// What an end is called in commands.
fn word(end: End) -> &'static [u8] {
    if end == End::Head { b"LEFT" } else { b"RIGHT" }
}

fn push_event(end: End) -> Event {
    event(if end == End::Head { "lpush" } else { "rpush" })
}

fn pop_event(end: End) -> Event {
    event(if end == End::Head { "lpop" } else { "rpop" })
}

fn pop_command(end: End) -> &'static [u8] {
    if end == End::Head { b"LPOP" } else { b"RPOP" }
}

/// The index a client means, which may be negative, from the end on; `None` if
/// it is before the first element.
fn absolute(index: i64, len: usize) -> Option<usize> {
    let index = if index < 0 { index.saturating_add_unsigned(len as u64) } else { index };
    usize::try_from(index).ok()
}

/// The indexes from `start` to `stop`, both included, as a client gives them:
/// negative ones count from the end, and what is beyond the list is cut off.
fn span(start: i64, stop: i64, len: usize) -> std::ops::Range<usize> {
    let start = absolute(start, len).unwrap_or(0);
    let end = absolute(stop, len).map_or(0, |stop| stop.saturating_add(1).min(len));
    if start < end { start..end } else { 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_to_the_list() {
        let cases = [
            (0, -1, 0..5),
            (1, 2, 1..3),
            (-2, 100, 3..5),
            (-100, 0, 0..1),
            (5, 10, 0..0),
            (2, 1, 0..0),
            (0, -100, 0..0),
            (i64::MIN, i64::MAX, 0..5),
            (i64::MAX, i64::MIN, 0..0),
        ];
        for (start, stop, expected) in cases {
            assert_eq!(span(start, stop, 5), expected, "{start} {stop}");
        }
    }
}
