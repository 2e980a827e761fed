//! Why a key matches nothing: the nearest pattern, and where they part.
//!
//! Not on any hot path: it compares a key with every pattern, segment by
//! segment, and is asked only after the matcher found none.

use std::cmp::Reverse;

use crate::nearest::nearest;
use crate::pattern::{Element, Kind, Pattern, Segment};

/// The pattern that a key comes nearest to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// Which one, by its place in the list.
    pub pattern: usize,
    /// Where the key leaves it.
    pub reason: MissReason,
}

/// Where a key leaves a pattern. Segments are counted from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissReason {
    /// A segment is another word than the pattern's.
    Literal {
        /// Which segment.
        segment: usize,
        /// The pattern's word.
        expected: Box<str>,
    },
    /// A segment is not what the placeholder accepts.
    Placeholder {
        /// Which segment.
        segment: usize,
        /// The index of the placeholder.
        placeholder: usize,
    },
    /// A segment with text beside placeholders is not as the pattern has it.
    Form {
        /// Which segment; all that follows belongs to it where it may hold colons.
        segment: usize,
        /// What the pattern has there.
        expected: Box<str>,
    },
    /// The key ends too early.
    TooShort {
        /// How many segments the pattern has.
        expected: usize,
    },
    /// It has an address with colons where a placeholder takes none.
    Address {
        /// The index of the placeholder.
        placeholder: usize,
    },
    /// The key goes on behind the pattern's end.
    TooLong {
        /// How many segments the pattern has.
        expected: usize,
    },
}

/// The pattern that a key comes nearest to, if any looks like it at all: one
/// of the pattern's words must stand in the key, or nearly so.
pub fn near_miss<'p>(
    patterns: impl IntoIterator<Item = &'p Pattern>,
    key: &[u8],
) -> Option<NearMiss> {
    patterns
        .into_iter()
        .enumerate()
        .filter_map(|(index, pattern)| {
            let comparison = compare(pattern, key);
            let reason = comparison.reason?;
            let nearness = (comparison.begins, comparison.score);
            comparison.resembles.then_some((nearness, index, reason))
        })
        .max_by_key(|(nearness, index, _)| (*nearness, Reverse(*index)))
        .map(|(_, pattern, reason)| NearMiss { pattern, reason })
}

/// How a key lies to a pattern.
struct Comparison {
    /// Whether both begin with the same word: nearer than any that does not.
    begins: bool,
    /// The more, the nearer.
    score: i32,
    /// Whether a word of the pattern stands in the key, or nearly.
    resembles: bool,
    /// The first thing that does not fit; nothing if the key matches.
    reason: Option<MissReason>,
}

/// What a fitting segment counts. A word tells more than a value does.
const WORD: i32 = 6;
const NEAR_WORD: i32 = 4;
const VALUE: i32 = 3;
/// What a segment too many or too few costs.
const MISSING: i32 = 4;

fn compare(pattern: &Pattern, key: &[u8]) -> Comparison {
    let segments = pattern.segments();
    let count = segments.count();
    let limit = if segments.tail.is_some() { count } else { usize::MAX };
    let parts: Vec<&[u8]> = key.splitn(limit, |&byte| byte == b':').collect();
    let mut comparison = Comparison { begins: false, score: 0, resembles: false, reason: None };
    for (index, (segment, part)) in segments.closed.iter().zip(&parts).enumerate() {
        comparison.add(pattern, index, segment, part);
    }
    if let (Some(tail), Some(part)) = (&segments.tail, parts.get(count - 1)) {
        let tail = match &**tail {
            [Element::Placeholder(only)] => Segment::Placeholder(*only),
            elements => Segment::Mixed(elements.into()),
        };
        comparison.add(pattern, count - 1, &tail, part);
    }
    let difference = parts.len().abs_diff(count);
    comparison.score -= MISSING * i32::try_from(difference).unwrap_or(i32::MAX / MISSING);
    let length_reason = match parts.len() {
        length if length < count => Some(MissReason::TooShort { expected: count }),
        length if length > count => Some(MissReason::TooLong { expected: count }),
        _ => None,
    };
    let address = address(pattern, &segments.closed, &parts).filter(|_| segments.tail.is_none());
    comparison.reason = address.or(comparison.reason).or(length_reason);
    comparison
}

/// Whether a key has too many parts because of an address in the place of one placeholder,
/// which takes no colon.
fn address(pattern: &Pattern, segments: &[Segment], parts: &[&[u8]]) -> Option<MissReason> {
    let extra = parts.len().checked_sub(segments.len()).filter(|extra| *extra > 0)?;
    let fits = |(segment, part): (&Segment, &&[u8])| match segment {
        Segment::Word(word) => word.as_bytes() == *part,
        Segment::Placeholder(index) => pattern.placeholders()[*index].kind.accepts(part),
        Segment::Mixed(_) => true,
    };
    segments.iter().enumerate().find_map(|(at, segment)| {
        let Segment::Placeholder(placeholder) = segment else { return None };
        let behind = at + extra + 1;
        let is_address = pattern.placeholders()[*placeholder].kind == Kind::Str
            && Kind::Ip.accepts(&parts[at..behind].join(&b':'))
            && segments[..at].iter().zip(&parts[..at]).all(fits)
            && segments[at + 1..].iter().zip(&parts[behind..]).all(fits);
        is_address.then_some(MissReason::Address { placeholder: *placeholder })
    })
}

impl Comparison {
    fn add(&mut self, pattern: &Pattern, index: usize, segment: &Segment, part: &[u8]) {
        let reason = match segment {
            Segment::Word(word) if word.as_bytes() == part => {
                self.begins |= index == 0;
                self.score += WORD;
                self.resembles = true;
                return;
            }
            Segment::Word(word) => {
                let part = std::str::from_utf8(part).unwrap_or_default();
                if nearest(part, [&**word]).is_some() {
                    self.score += NEAR_WORD;
                    self.resembles = true;
                }
                MissReason::Literal { segment: index, expected: word.clone() }
            }
            Segment::Placeholder(own) if pattern.placeholders()[*own].kind.accepts(part) => {
                self.score += VALUE;
                return;
            }
            Segment::Placeholder(own) => {
                MissReason::Placeholder { segment: index, placeholder: *own }
            }
            Segment::Mixed(elements) => {
                let form = pattern.part(elements);
                if form.accepts(part) {
                    self.score += WORD;
                    self.resembles = true;
                    return;
                }
                if resembles(elements, part) {
                    self.score += NEAR_WORD;
                    self.resembles = true;
                }
                MissReason::Form { segment: index, expected: form.text().into() }
            }
        };
        self.reason.get_or_insert(reason);
    }
}

/// Whether a part of a key begins or ends with the text that a form begins or ends with.
fn resembles(elements: &[Element], part: &[u8]) -> bool {
    let begins = match elements.first() {
        Some(Element::Literal(text)) => part.starts_with(text.as_bytes()),
        _ => false,
    };
    let ends = match elements.last() {
        Some(Element::Literal(text)) => part.ends_with(text.as_bytes()),
        _ => false,
    };
    begins || ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], key: &str, expected: Option<(usize, MissReason)>) {
        let patterns: Vec<Pattern> =
            patterns.iter().map(|text| Pattern::parse(text).expect(text)).collect();
        let found = near_miss(&patterns, key.as_bytes());
        assert_eq!(found.map(|miss| (miss.pattern, miss.reason)), expected, "{key}");
    }

    #[test]
    fn an_address_in_the_place_of_a_placeholder_is_recognised() {
        let patterns = ["rate:{ip}", "seen:{ip}:{day:date}", "any:{key:rest}"];
        let address = |pattern| Some((pattern, MissReason::Address { placeholder: 0 }));
        check(&patterns, "rate:2001:db8::1", address(0));
        check(&patterns, "rate:::1", address(0));
        check(&patterns, "seen:2001:db8::1:2025-12-04", address(1));
        check(&patterns, "rate:some:thing", Some((0, MissReason::TooLong { expected: 2 })));
    }

    #[test]
    fn a_pattern_that_begins_with_the_same_word_is_nearest() {
        let patterns = ["user:{id:uint}", "users:{name}"];
        let expected = MissReason::Placeholder { segment: 1, placeholder: 0 };
        check(&patterns, "user:abc", Some((0, expected)));
    }

    #[test]
    fn names_the_segment_that_does_not_fit() {
        let patterns = ["user:{id:uint}", "user:{id:uint}:cart", "order:{id:uuid}"];
        let placeholder = |segment, placeholder| MissReason::Placeholder { segment, placeholder };
        let literal =
            |segment, expected: &str| MissReason::Literal { segment, expected: expected.into() };
        check(&patterns, "user:abc", Some((0, placeholder(1, 0))));
        check(&patterns, "user:7:crat", Some((1, literal(2, "cart"))));
        check(&patterns, "usr:7", Some((0, literal(0, "user"))));
        check(&patterns, "order:7", Some((2, placeholder(1, 0))));
        check(&patterns, "user", Some((0, MissReason::TooShort { expected: 2 })));
        check(&patterns, "user:7:cart:x", Some((1, MissReason::TooLong { expected: 3 })));
    }

    #[test]
    fn nothing_is_near_what_shares_no_word() {
        check(&["user:{id}"], "session:7", None);
        check(&["{a}:{b}"], "x:y:z", None);
        check(&[], "x", None);
    }

    #[test]
    fn a_rest_takes_all_colons() {
        let reason = MissReason::Placeholder { segment: 1, placeholder: 0 };
        check(&["log:{id:uint}:{text:rest}"], "log:x:a:b:c", Some((0, reason)));
    }

    #[test]
    fn text_beside_placeholders_is_compared_as_a_whole() {
        let patterns = ["task-meta-{id:uuid}", "{id:uint}.reply", "log:{a:rest}.{n:uint}"];
        let form =
            |segment, expected: &str| MissReason::Form { segment, expected: expected.into() };
        check(&patterns, "task-meta-7", Some((0, form(0, "task-meta-{id:uuid}"))));
        check(&patterns, "x.reply", Some((1, form(0, "{id:uint}.reply"))));
        check(&patterns, "log:a:b.c", Some((2, form(1, "{a:rest}.{n:uint}"))));
        check(&patterns, "other-7", None);
    }

    #[test]
    fn a_key_that_matches_misses_nothing() {
        check(&["user:{id}"], "user:7", None);
    }

    #[test]
    fn bytes_that_are_no_text_are_compared_too() {
        let patterns = [Pattern::parse("user:{id:uint}").expect("valid")];
        assert!(near_miss(&patterns, b"user:\xff").is_some());
        assert!(near_miss(&patterns, b"\xff:7").is_none());
    }
}
