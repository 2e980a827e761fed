//! How much work a Lua pattern makes, found out before Lua does it.
//!
//! Lua matches patterns in C, by backtracking, where no hook runs: a few `.-` against a
//! long text take years, and nobody could end the script. So the same search is made
//! here first, step by step, and given up beyond a budget. Most searches are so small
//! that this is plain from their sizes, and are not made twice.
//!
//! Invariant: a step here is about a step there; what finishes here within the budget
//! finishes there in the same order of time.
//! Not here: results. Lua finds them itself, and complains about malformed patterns.

/// Steps a search may take: a few seconds. Honest patterns may be quadratic
/// (`(.-),` over a text without a comma), and 20 kB are no long text.
const STEPS_MAX: u64 = 500_000_000;
/// A search whose greatest possible cost is this is made without further ado.
const PLAIN_STEPS_MAX: u64 = 10_000;
/// Lua's own limit.
const CAPTURES_MAX: usize = 32;

/// Which matches a function looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// The first one.
    First,
    /// One after the other.
    All,
}

/// Whether a search ends within the budget.
pub(super) fn is_affordable(text: &[u8], pattern: &[u8], search: Search) -> bool {
    cost_max(text.len() as u64, pattern) <= PLAIN_STEPS_MAX
        || ends_within(STEPS_MAX, text, pattern, search)
}

fn ends_within(steps: u64, text: &[u8], pattern: &[u8], search: Search) -> bool {
    let (pattern, is_anchored) = match pattern {
        [b'^', rest @ ..] => (rest, true),
        _ => (pattern, false),
    };
    let mut matcher = Matcher { text, pattern, captures: Vec::new(), steps };
    let mut at = 0;
    while at <= text.len() {
        matcher.captures.clear();
        let found = match matcher.run(at, 0) {
            Err(TooMuch) => return false,
            Ok(found) => found,
        };
        if is_anchored || (found.is_some() && search == Search::First) {
            return true;
        }
        at = found.filter(|end| *end > at).unwrap_or(at + 1);
    }
    true
}

/// The greatest number of steps a search could take: each repetition may try every
/// length, from every place.
fn cost_max(text_bytes: u64, pattern: &[u8]) -> u64 {
    let mut cost = text_bytes + 1;
    for byte in pattern {
        let choices = match byte {
            b'*' | b'+' | b'-' | b'b' => text_bytes + 1,
            b'?' => 2,
            _ => 1,
        };
        cost = cost.saturating_mul(choices);
    }
    cost.saturating_mul(pattern.len() as u64 + 1)
}

/// The budget is used up.
#[derive(Debug)]
struct TooMuch;

type Found = Result<Option<usize>, TooMuch>;

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    /// Beginnings and, once closed, ends.
    captures: Vec<(usize, Option<usize>)>,
    /// What is left of the budget.
    steps: u64,
}

impl Matcher<'_> {
    fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.steps = self.steps.checked_sub(steps as u64).ok_or(TooMuch)?;
        Ok(())
    }

    /// Matches the pattern from `item` on at a place of the text; answers where the
    /// match ends. A malformed pattern matches nothing.
    fn run(&mut self, mut at: usize, mut item: usize) -> Found {
        loop {
            self.spend(1)?;
            let rest = &self.pattern[item.min(self.pattern.len())..];
            match rest {
                [] => return Ok(Some(at)),
                [b'$'] => return Ok((at == self.text.len()).then_some(at)),
                [b'(', ..] => return self.open(at, item + 1),
                [b')', ..] => return self.close(at, item + 1),
                [b'%', b'b', open, close, ..] => {
                    let Some(end) = self.balanced(at, *open, *close)? else { return Ok(None) };
                    (at, item) = (end, item + 4);
                }
                [b'%', b'f', ..] => {
                    // A frontier takes nothing; that it holds is the dearer case.
                    item = self.class_end(item + 2);
                }
                [b'%', digit @ b'0'..=b'9', ..] => {
                    let Some(end) = self.repeated(at, *digit)? else { return Ok(None) };
                    (at, item) = (end, item + 2);
                }
                _ => {
                    let end = self.class_end(item);
                    let is_here = self.is_one(at, item, end);
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if is_here && let found @ Some(_) = self.run(at + 1, end + 1)? {
                                return Ok(found);
                            }
                            item = end + 1;
                        }
                        Some(b'*') => return self.longest(at, item, end, 0),
                        Some(b'+') => return self.longest(at, item, end, 1),
                        Some(b'-') => return self.shortest(at, item, end),
                        _ if is_here => (at, item) = (at + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    /// Where the class that begins at an item of the pattern ends.
    fn class_end(&self, item: usize) -> usize {
        let pattern = self.pattern;
        match pattern.get(item) {
            Some(b'%') => item + 2,
            Some(b'[') => {
                let mut at = item + 1 + usize::from(pattern.get(item + 1) == Some(&b'^'));
                loop {
                    at += if pattern.get(at) == Some(&b'%') { 2 } else { 1 };
                    if at >= pattern.len() || pattern[at] == b']' {
                        return at + 1;
                    }
                }
            }
            _ => item + 1,
        }
    }

    /// Whether the byte at a place belongs to the class `item..end`.
    fn is_one(&self, at: usize, item: usize, end: usize) -> bool {
        let Some(&byte) = self.text.get(at) else { return false };
        match self.pattern.get(item..end.min(self.pattern.len())).unwrap_or_default() {
            [b'.'] => true,
            [b'%', class] => is_in_class(byte, *class),
            [b'[', b'^', set @ .., b']'] => !is_in_set(byte, set),
            [b'[', set @ .., b']'] => is_in_set(byte, set),
            [plain] => *plain == byte,
            _ => false,
        }
    }

    /// As many as there are, then fewer.
    fn longest(&mut self, at: usize, item: usize, end: usize, least: usize) -> Found {
        let mut count = 0;
        while self.is_one(at + count, item, end) {
            count += 1;
        }
        self.spend(count)?;
        while count >= least {
            if let found @ Some(_) = self.run(at + count, end + 1)? {
                return Ok(found);
            }
            if count == 0 {
                break;
            }
            count -= 1;
        }
        Ok(None)
    }

    /// As few as possible, then more.
    fn shortest(&mut self, mut at: usize, item: usize, end: usize) -> Found {
        loop {
            if let found @ Some(_) = self.run(at, end + 1)? {
                return Ok(found);
            }
            if !self.is_one(at, item, end) {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn open(&mut self, at: usize, item: usize) -> Found {
        if self.captures.len() == CAPTURES_MAX {
            return Ok(None);
        }
        self.captures.push((at, None));
        let found = self.run(at, item)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn close(&mut self, at: usize, item: usize) -> Found {
        let Some(open) = self.captures.iter().rposition(|(_, end)| end.is_none()) else {
            return Ok(None);
        };
        self.captures[open].1 = Some(at);
        let found = self.run(at, item)?;
        if found.is_none() {
            self.captures[open].1 = None;
        }
        Ok(found)
    }

    /// Where the balanced text that begins here ends.
    fn balanced(&mut self, at: usize, open: u8, close: u8) -> Found {
        if self.text.get(at) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1_usize;
        for (offset, byte) in self.text[at + 1..].iter().enumerate() {
            if *byte == close {
                depth -= 1;
                if depth == 0 {
                    self.spend(offset)?;
                    return Ok(Some(at + offset + 2));
                }
            } else if *byte == open {
                depth += 1;
            }
        }
        self.spend(self.text.len() - at)?;
        Ok(None)
    }

    /// Where a second occurrence of a capture ends.
    fn repeated(&mut self, at: usize, digit: u8) -> Found {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let Some((begin, Some(end))) = self.captures.get(index).copied() else { return Ok(None) };
        self.spend(end - begin)?;
        let is_same = self.text[at.min(self.text.len())..].starts_with(&self.text[begin..end]);
        Ok(is_same.then_some(at + end - begin))
    }
}

fn is_in_class(byte: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is_in != class.is_ascii_uppercase()
}

fn is_in_set(byte: u8, set: &[u8]) -> bool {
    match set {
        [] => false,
        [b'%', class, rest @ ..] => is_in_class(byte, *class) || is_in_set(byte, rest),
        [low, b'-', high, rest @ ..] => (*low..=*high).contains(&byte) || is_in_set(byte, rest),
        [plain, rest @ ..] => *plain == byte || is_in_set(byte, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: Option<usize>) {
        let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
        let mut matcher = Matcher { text, pattern, captures: Vec::new(), steps: 1000 };
        assert_eq!(matcher.run(0, 0).expect("a small search"), expected);
    }

    #[test]
    fn the_search_follows_luas() {
        check("a*ab", "aaab", Some(4));
        check("%d+%.?%d*", "12.5x", Some(4));
        check("(.-)%1$", "abab", Some(4));
        check("%b()x", "(a(b))x", Some(7));
        check("[^%s,]+,", "ab,c", Some(3));
        check("[]]", "]", Some(1));
        check("[a-c%-]*z", "a-cz", Some(4));
        check("x-$", "xx", Some(2));
        check("%w+$", "ab!", None);
    }

    #[test]
    fn endless_backtracking_is_given_up() {
        let text = vec![b'a'; 10_000];
        let hostile = [b".-".repeat(20), b"b".to_vec()].concat();
        let ends = |pattern: &[u8], search| ends_within(100_000, &text, pattern, search);
        assert!(!ends(&hostile, Search::First));
        assert!(!ends(b"^.-.-.-b$", Search::All));
        assert!(ends(b"^%s*(.-)%s*$", Search::First));
        assert!(ends(b"a", Search::All));
        assert!(ends(b".-a", Search::All));
        assert!(!ends(b".-b", Search::All));
    }

    #[test]
    fn malformed_patterns_end_the_search() {
        let text = vec![b'a'; 100];
        for pattern in ["[a*", "%", "a+%b", "(((a*", "a*)", "%9a*a*a*", "[%", "[^", "a*%f"] {
            assert!(is_affordable(&text, pattern.as_bytes(), Search::All), "{pattern}");
        }
    }
}
