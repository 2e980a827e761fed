//! The segments of a form between its colons, and how the keys of two forms lie to each other.
//!
//! Owns joining forms that a schema could not hold beside each other: some keys fit both, and each
//! has some of its own (KW0107). That is judged from the parts alone, in no time: forms that might
//! be so are taken to be so.

use super::{DIGITS, Part};

/// What stands between two colons.
pub(super) type Segment = Vec<Part>;

/// How the keys of one lie to those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Disjoint,
    Equal,
    Within,
    Around,
    /// Some may be in both, and each may have some of its own.
    Across,
}

use Lie::{Across, Around, Disjoint, Equal, Within};

/// The segments of a form.
pub(super) fn segments(form: &[Part]) -> Vec<Segment> {
    let mut segments = vec![Segment::new()];
    for part in form {
        let Part::Text(text) = part else {
            segments.last_mut().expect("there is one").push(part.clone());
            continue;
        };
        for (index, piece) in text.split(|byte| *byte == b':').enumerate() {
            if index > 0 {
                segments.push(Segment::new());
            }
            let own = segments.last_mut().expect("there is one");
            if !piece.is_empty() {
                own.push(Part::Text(piece.into()));
            }
        }
    }
    segments
}

/// A form of these segments.
pub(super) fn joined(segments: &[Segment]) -> Vec<Part> {
    let mut form: Vec<Part> = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let colon = (index > 0).then(|| Part::Text(b":".as_slice().into()));
        for part in colon.iter().chain(segment) {
            match (form.last_mut(), part) {
                // Separators beside each other are one part, as they are read.
                (Some(Part::Text(before)), Part::Text(text)) if ends_apart(before, text) => {
                    *before = [before, &text[..]].concat().into();
                }
                _ => form.push(part.clone()),
            }
        }
    }
    form
}

/// Whether two texts beside each other both separate.
fn ends_apart(before: &[u8], text: &[u8]) -> bool {
    let separates = |byte: Option<&u8>| byte.is_some_and(|byte| !super::is_wordy(*byte));
    separates(before.last()) && separates(text.first())
}

/// The same form with any value for a segment; none if nothing varies then.
pub(super) fn with_value_for(segments: &[Segment], place: usize) -> Option<Vec<Part>> {
    let own = &segments[place];
    let varies = !own.is_empty() && !own.iter().any(is_open) && *own != [Part::Value("str")];
    varies.then(|| {
        let mut segments = segments.to_vec();
        segments[place] = vec![Part::Value("str")];
        joined(&segments)
    })
}

/// The first segment of a form, and whatever follows; none if that is all it has.
pub(super) fn family(segments: &[Segment]) -> Option<Vec<Part>> {
    let [first, second, rest @ ..] = segments else { return None };
    if second.is_empty() && rest.is_empty() {
        return None;
    }
    let is_named = !first.is_empty() && first.iter().all(|part| matches!(part, Part::Text(_)));
    is_named.then(|| joined(&[first.clone(), vec![Part::Value("rest")]]))
}

/// Whether a value may have colons.
fn is_open(part: &Part) -> bool {
    matches!(part, Part::Value("rest" | "ip"))
}

/// One form for the keys of two, if a schema could not hold both.
pub(super) fn reconciled(one: &[Part], other: &[Part]) -> Option<Vec<Part>> {
    let (one, other) = (segments(one), segments(other));
    (lie(&one, &other) == Across).then(|| union(&one, &other))
}

fn lie(one: &[Segment], other: &[Segment]) -> Lie {
    let mut so_far = Equal;
    for (place, (this, that)) in one.iter().zip(other).enumerate() {
        let opens = |segment: &Segment| segment.iter().any(is_open);
        let is_rest = |segment: &Segment| *segment == [Part::Value("rest")];
        if this == that && opens(this) {
            // What follows an address is not compared any further.
            let is_same = one[place..] == other[place..];
            return if is_same { so_far } else { and(so_far, Across) };
        }
        let ends_empty =
            |segments: &[Segment], own: &Segment| own.is_empty() && segments.len() == place + 1;
        match (opens(this), opens(that)) {
            (false, false) => {}
            // A rest is never empty.
            _ if ends_empty(one, this) || ends_empty(other, that) => return Disjoint,
            (true, false) if is_rest(this) => return and(so_far, Around),
            (false, true) if is_rest(that) => return and(so_far, Within),
            (is_this, _) => {
                let beside = if is_this { that } else { this };
                return match is_apart_from_address(beside) {
                    true => Disjoint,
                    false => and(so_far, Across),
                };
            }
        }
        so_far = and(so_far, lie_of_segments(this, that));
        if so_far == Disjoint {
            return Disjoint;
        }
    }
    if one.len() == other.len() { so_far } else { Disjoint }
}

fn and(one: Lie, other: Lie) -> Lie {
    match (one, other) {
        (Disjoint, _) | (_, Disjoint) => Disjoint,
        (Equal, lie) | (lie, Equal) => lie,
        (one, other) if one == other => one,
        _ => Across,
    }
}

fn lie_of_segments(one: &Segment, other: &Segment) -> Lie {
    match (&one[..], &other[..]) {
        (one, other) if one == other => Equal,
        ([], _) | (_, []) => Disjoint,
        ([Part::Value("str")], _) => Around,
        (_, [Part::Value("str")]) => Within,
        ([Part::Value(one)], [Part::Value(other)]) => lie_of_kinds(one, other),
        (one, other) => {
            let are_apart = starts_apart(one, other) || ends_otherwise(one, other);
            match (is_text(one), is_text(other)) {
                _ if are_apart => Disjoint,
                (true, true) => Disjoint,
                // A text may fit the other.
                (true, false) => Within,
                (false, true) => Around,
                (false, false) => Across,
            }
        }
    }
}

fn lie_of_kinds(one: &str, other: &str) -> Lie {
    let has_signs = |kind: &str| matches!(kind, "date" | "month" | "uuid");
    match (one, other) {
        ("uint", DIGITS) => Within,
        (DIGITS, "uint") => Around,
        _ if has_signs(one) || has_signs(other) => Disjoint,
        _ => Across,
    }
}

fn is_text(segment: &[Part]) -> bool {
    segment.iter().all(|part| matches!(part, Part::Text(_)))
}

/// Whether two segments begin with texts that differ.
fn starts_apart(one: &[Part], other: &[Part]) -> bool {
    let (Some(Part::Text(one)), Some(Part::Text(other))) = (one.first(), other.first()) else {
        return starts_as_no(one, other) || starts_as_no(other, one);
    };
    let shared = one.len().min(other.len());
    one[..shared] != other[..shared]
}

/// Whether one begins with a number, and the other with a text that none begins with.
fn starts_as_no(one: &[Part], other: &[Part]) -> bool {
    let (Some(Part::Value("uint" | DIGITS)), Some(Part::Text(text))) = (one.first(), other.first())
    else {
        return false;
    };
    !text.first().is_some_and(u8::is_ascii_digit)
}

/// Whether two segments end with texts that differ.
fn ends_otherwise(one: &[Part], other: &[Part]) -> bool {
    let (Some(Part::Text(one)), Some(Part::Text(other))) = (one.last(), other.last()) else {
        return false;
    };
    let shared = one.len().min(other.len());
    one[one.len() - shared..] != other[other.len() - shared..]
}

/// Whether no address begins like this segment.
fn is_apart_from_address(segment: &Segment) -> bool {
    match segment.first() {
        Some(Part::Text(text)) => !text.iter().all(u8::is_ascii_hexdigit),
        Some(Part::Value(kind)) => segment.len() == 1 && matches!(*kind, "date" | "month" | "uuid"),
        None => false,
    }
}

/// What the keys of both fit.
fn union(one: &[Segment], other: &[Segment]) -> Vec<Part> {
    let mut union: Vec<Segment> = Vec::new();
    let rest = || vec![Part::Value("rest")];
    for (this, that) in one.iter().zip(other) {
        let is_closed = |segment: &Segment| !segment.is_empty() && !segment.iter().any(is_open);
        match this == that {
            true if is_closed(this) || this.is_empty() => union.push(this.clone()),
            false if is_closed(this) && is_closed(that) && one.len() == other.len() => {
                union.push(vec![Part::Value("str")]);
            }
            _ => {
                union.push(rest());
                return joined(&union);
            }
        }
    }
    if one.len() != other.len() {
        union.push(rest());
    }
    joined(&union)
}
