//! How the key sets of two patterns lie to each other.
//!
//! Two patterns may both accept a key only if the keys of one are a proper
//! subset of the other's; the smaller one wins. Then all patterns that accept
//! one key form a chain, and its smallest member is the only answer.

use super::{Kind, Pattern, Placeholder, Segment};

/// How a first set lies to a second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// No key is in both.
    Disjoint,
    /// The same keys are in both.
    Equal,
    /// Every key of the first is in the second, and not the other way round.
    Subset,
    /// Every key of the second is in the first, and not the other way round.
    Superset,
    /// Some keys are in both, and each has some of its own.
    Overlap,
}

use Relation::{Disjoint, Equal, Overlap, Subset, Superset};

impl Relation {
    fn flipped(self) -> Relation {
        match self {
            Subset => Superset,
            Superset => Subset,
            same => same,
        }
    }

    /// The relation of two products of sets, one factor more.
    fn and(self, next: Relation) -> Relation {
        match (self, next) {
            (Disjoint, _) | (_, Disjoint) => Disjoint,
            (Equal, other) | (other, Equal) => other,
            (Subset, Subset) => Subset,
            (Superset, Superset) => Superset,
            _ => Overlap,
        }
    }
}

/// How the keys of `left` lie to those of `right`, and a key of both if there is one.
pub fn relate(left: &Pattern, right: &Pattern) -> (Relation, Option<Vec<u8>>) {
    let relation = relation(left, right);
    let witness = (relation != Disjoint).then(|| witness(left, right));
    (relation, witness)
}

/// How the keys of `left` lie to those of `right`.
pub(crate) fn relation(left: &Pattern, right: &Pattern) -> Relation {
    // Most patterns differ in their first word.
    if let (Some(Segment::Literal(a)), Some(Segment::Literal(b))) =
        (left.segments.first(), right.segments.first())
        && a != b
    {
        return Disjoint;
    }
    let (left_open, right_open) = (left.ends_in_rest(), right.ends_in_rest());
    let fixed = |pattern: &Pattern| pattern.segments.len() - usize::from(pattern.ends_in_rest());
    let (left_fixed, right_fixed) = (fixed(left), fixed(right));
    let tail = match (left_open, right_open) {
        (false, false) if left_fixed == right_fixed => Equal,
        (false, false) => return Disjoint,
        (true, false) if right_fixed > left_fixed => rest_against(right, left_fixed),
        (true, false) => return Disjoint,
        (false, true) if left_fixed > right_fixed => rest_against(left, right_fixed).flipped(),
        (false, true) => return Disjoint,
        (true, true) if left_fixed == right_fixed => Equal,
        // The longer prefix leaves less to its rest.
        (true, true) if left_fixed > right_fixed => Subset,
        (true, true) => Superset,
    };
    let shared = left_fixed.min(right_fixed);
    let mut relation = tail;
    for (a, b) in left.segments[..shared].iter().zip(&right.segments[..shared]) {
        relation = relation.and(class(left, a).relate(class(right, b)));
        if relation == Disjoint {
            break;
        }
    }
    relation
}

/// `rest` against the segments of a closed pattern from `from` on. A single
/// empty literal is the one thing that `rest` does not accept.
fn rest_against(closed: &Pattern, from: usize) -> Relation {
    match &closed.segments[from..] {
        [Segment::Literal(only)] if only.is_empty() => Disjoint,
        _ => Superset,
    }
}

/// The set of byte strings that one segment accepts.
#[derive(Clone, Copy)]
enum Class<'a> {
    Words(&'a [Box<str>]),
    Placeholder(&'a Placeholder),
}

fn class<'a>(pattern: &'a Pattern, segment: &'a Segment) -> Class<'a> {
    match segment {
        Segment::Literal(word) => Class::Words(std::slice::from_ref(word)),
        Segment::Placeholder(index) => match &pattern.placeholders[*index] {
            Placeholder { kind: Kind::Enum(words), tagged: false, .. } => Class::Words(words),
            placeholder => Class::Placeholder(placeholder),
        },
    }
}

impl Class<'_> {
    fn relate(self, other: Class<'_>) -> Relation {
        match (self, other) {
            (Class::Words(left), Class::Words(right)) => relate_words(left, right),
            (Class::Words(words), Class::Placeholder(placeholder)) => {
                let inside =
                    words.iter().filter(|word| placeholder.accepts(word.as_bytes())).count();
                match inside {
                    0 => Disjoint,
                    // A tagged enum is finite too and may hold nothing else.
                    all if all == words.len() && is_covered_by(placeholder, words) => Equal,
                    all if all == words.len() => Subset,
                    _ if is_covered_by(placeholder, words) => Superset,
                    _ => Overlap,
                }
            }
            (Class::Placeholder(_), Class::Words(_)) => other.relate(self).flipped(),
            (Class::Placeholder(left), Class::Placeholder(right)) => {
                match (left.tagged, right.tagged) {
                    (true, true) | (false, false) => relate_kinds(&left.kind, &right.kind),
                    (true, false) if right.kind == Kind::Str => Subset,
                    (false, true) if left.kind == Kind::Str => Superset,
                    _ => Disjoint,
                }
            }
        }
    }
}

/// Whether every value of the placeholder is one of the words.
fn is_covered_by(placeholder: &Placeholder, words: &[Box<str>]) -> bool {
    match &placeholder.kind {
        Kind::Enum(own) => own.iter().all(|own| {
            let value = if placeholder.tagged { format!("{{{own}}}") } else { own.to_string() };
            words.iter().any(|word| **word == *value)
        }),
        _ => false,
    }
}

fn relate_words(left: &[Box<str>], right: &[Box<str>]) -> Relation {
    let shared = left.iter().filter(|word| right.contains(word)).count();
    match (shared, shared == left.len(), shared == right.len()) {
        (0, ..) => Disjoint,
        (_, true, true) => Equal,
        (_, true, false) => Subset,
        (_, false, true) => Superset,
        _ => Overlap,
    }
}

/// How two kinds other than `rest` lie to each other.
pub(super) fn relate_kinds(left: &Kind, right: &Kind) -> Relation {
    use Kind::{Base58, Enum, Hex, Int, Str, Uint};
    match (left, right) {
        (Enum(left), Enum(right)) => relate_words(left, right),
        (Enum(words), kind) => {
            match words.iter().filter(|word| kind.accepts(word.as_bytes())).count() {
                0 => Disjoint,
                all if all == words.len() => Subset,
                _ => Overlap,
            }
        }
        (_, Enum(_)) => relate_kinds(right, left).flipped(),
        _ if left == right => Equal,
        (_, Str) => Subset,
        (Str, _) => Superset,
        (Uint, Int | Hex) => Subset,
        (Int | Hex, Uint) => Superset,
        (Int | Uint, Base58) | (Base58, Int | Uint) => Overlap,
        (Int | Base58, Hex) | (Hex, Int | Base58) => Overlap,
        // What remains is told apart by its dashes.
        _ => Disjoint,
    }
}

/// A key that both accept.
fn witness(left: &Pattern, right: &Pattern) -> Vec<u8> {
    let (long, short) =
        if left.segments.len() >= right.segments.len() { (left, right) } else { (right, left) };
    let mut key = Vec::new();
    for (index, segment) in long.segments.iter().enumerate() {
        if index > 0 {
            key.push(b':');
        }
        let counterpart = short.segments.get(index).map(|segment| class(short, segment));
        key.extend(shared_sample(class(long, segment), counterpart));
    }
    key
}

/// Values of each kind, such that any two kinds that meet share one of them.
const SAMPLES: [&str; 8] = [
    "42",
    "-42",
    "cafe",
    "7Yk2",
    "x",
    "123e4567-e89b-12d3-a456-426614174000",
    "2025-12-31",
    "2025-12",
];

fn shared_sample(class: Class<'_>, counterpart: Option<Class<'_>>) -> Vec<u8> {
    let accepts = |class: Class<'_>, value: &[u8]| match class {
        Class::Words(words) => words.iter().any(|word| word.as_bytes() == value),
        Class::Placeholder(placeholder) => placeholder.accepts(value),
    };
    let mut candidates: Vec<Vec<u8>> = Vec::new();
    for class in [Some(class), counterpart].into_iter().flatten() {
        let words: &[Box<str>] = match class {
            Class::Words(words) => words,
            Class::Placeholder(Placeholder { kind: Kind::Enum(words), .. }) => words,
            Class::Placeholder(_) => &[],
        };
        candidates.extend(words.iter().map(|word| word.as_bytes().to_vec()));
    }
    candidates.extend(SAMPLES.iter().map(|sample| sample.as_bytes().to_vec()));
    let tagged: Vec<Vec<u8>> =
        candidates.iter().map(|inner| [b"{", &inner[..], b"}"].concat()).collect();
    candidates.extend(tagged);
    candidates
        .into_iter()
        .find(|value| {
            accepts(class, value) && counterpart.is_none_or(|other| accepts(other, value))
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &str, right: &str, expected: Relation) {
        let parse = |text| Pattern::parse(text).expect(text);
        let (left, right) = (parse(left), parse(right));
        for (left, right, expected) in
            [(&left, &right, expected), (&right, &left, expected.flipped())]
        {
            let (relation, witness) = relate(left, right);
            assert_eq!(relation, expected, "{left} against {right}");
            assert_eq!(witness.is_some(), expected != Disjoint);
            if let Some(key) = witness {
                let shown = String::from_utf8_lossy(&key).into_owned();
                assert!(left.accepts(&key), "{left} should accept the witness {shown}");
                assert!(right.accepts(&key), "{right} should accept the witness {shown}");
            }
        }
    }

    #[test]
    fn literals_and_placeholders() {
        check("user:{id}", "user:{name}", Equal);
        check("user:{id}", "user:active", Superset);
        check("user:{id}", "user:{id}:x", Disjoint);
        check("user:{id:uint}", "user:{id:uuid}", Disjoint);
        check("a:{x}:b", "a:c:{y}", Overlap);
        check("a:{x}:b", "a:c:d", Disjoint);
        check("a", "a", Equal);
        check("usage:{u}:{m:month}", "usage:{u}:{d:date}", Disjoint);
    }

    #[test]
    fn rest_takes_whatever_is_longer() {
        check("a:{r:rest}", "a:{x}", Superset);
        check("a:{r:rest}", "a:{x}:{y}", Superset);
        check("a:{r:rest}", "a", Disjoint);
        check("a:{r:rest}", "a:", Disjoint);
        check("a:{r:rest}", "a::", Superset);
        check("a:{r:rest}", "a:b:{r:rest}", Superset);
        check("{x}:{r:rest}", "a:{y:rest}", Superset);
        check("{x:uint}:{r:rest}", "a:{y:rest}", Disjoint);
        check("{x}:b:{r:rest}", "a:{y:rest}", Overlap);
    }

    #[test]
    fn enums_are_sets_of_words() {
        check("a:{x:b|c}", "a:b", Superset);
        check("a:{x:b|c}", "a:{y:c|b}", Equal);
        check("a:{x:b|c}", "a:{y:c|d}", Overlap);
        check("a:{x:1|c}", "a:{y:uint}", Overlap);
        check("a:{x:1|2}", "a:{y:uint}", Subset);
        check("{{{x:a|b}}}", "{{a}}", Superset);
        check("{{{x:a|b}}}", "{{{x:b|a}}}", Equal);
        check("{{{x:a|b}}}", "{{{x}}}", Subset);
        check("{{{x:a|b}}}", "{y}", Subset);
        check("{{{x}}}", "{y:uint}", Disjoint);
    }

    /// The table above the kinds, against what the kinds really accept.
    #[test]
    fn the_table_of_kinds_agrees_with_their_values() {
        let kinds: Vec<Kind> = Kind::NAMES
            .iter()
            .filter(|name| **name != "rest")
            .map(|name| Kind::named(name).expect("a kind"))
            .collect();
        let values =
            [&SAMPLES[..], &["10", "c0ffee", "zZ", "0", "-7", "A1", "2024-02-29", "1999-01"]]
                .concat();
        for left in &kinds {
            for right in &kinds {
                let both = |l: bool, r: bool| {
                    values.iter().any(|v| {
                        left.accepts(v.as_bytes()) == l && right.accepts(v.as_bytes()) == r
                    })
                };
                let seen = match (both(true, true), both(true, false), both(false, true)) {
                    (false, ..) => Disjoint,
                    (true, false, false) => Equal,
                    (true, false, true) => Subset,
                    (true, true, false) => Superset,
                    (true, true, true) => Overlap,
                };
                assert_eq!(relate_kinds(left, right), seen, "{left} against {right}");
            }
        }
    }
}
