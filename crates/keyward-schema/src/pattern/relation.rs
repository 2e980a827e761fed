//! How the key sets of two patterns lie to each other.
//!
//! Two patterns may both accept a key only if the keys of one are a proper
//! subset of the other's; the smaller one wins. Then all patterns that accept
//! one key form a chain, and its smallest member is the only answer.
//!
//! Decided exactly. Segments between colons are independent of each other (`segments`), so they
//! are compared one by one: words and the older kinds by a table, everything else, tails
//! included, by searching the product of automata (`product`).

use super::product::{Order, Product};
use super::steps::Steps;
use super::{Element, Kind, Part, Pattern, Segment};

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
///
/// Where patterns are too large to be compared (`product`), they count as overlapping and no
/// key is shown.
pub fn relate(left: &Pattern, right: &Pattern) -> (Relation, Option<Vec<u8>>) {
    let relation = relation(left, right);
    let witness = if relation == Disjoint { None } else { witness(left, right, &Steps::default()) };
    (relation, witness)
}

/// How the keys of `left` lie to those of `right`.
pub(crate) fn relation(left: &Pattern, right: &Pattern) -> Relation {
    relation_within(left, right, &Steps::default())
}

/// The same, as far as steps are left for it: where they are used up, patterns count as
/// overlapping.
pub fn relation_within(left: &Pattern, right: &Pattern, steps: &Steps) -> Relation {
    steps.begin_pair();
    let (left_closed, right_closed) = (&left.segments.closed[..], &right.segments.closed[..]);
    // Most patterns differ in their first word.
    if let (Some(Segment::Word(a)), Some(Segment::Word(b))) =
        (left_closed.first(), right_closed.first())
        && a != b
    {
        return Disjoint;
    }
    // Of the others, most differ in what they begin or end with.
    if part_at_an_end(left, right) {
        return Disjoint;
    }
    if is_same(left, right) {
        return Equal;
    }
    let shared = left_closed.len().min(right_closed.len());
    let has_more = |pattern: &Pattern| pattern.segments.count() > shared;
    let mut relation = match (has_more(left), has_more(right)) {
        (false, false) | (true, true) => Equal,
        _ => return Disjoint,
    };
    for (a, b) in left_closed[..shared].iter().zip(&right_closed[..shared]) {
        relation = relation.and(relate_segments((left, a), (right, b), steps));
        if relation == Disjoint {
            return Disjoint;
        }
    }
    match has_more(left) {
        true => relation.and(relate_remainders(left, right, shared, steps)),
        false => relation,
    }
}

/// Whether two patterns differ in the names of their placeholders at most.
fn is_same(left: &Pattern, right: &Pattern) -> bool {
    let mut pairs = left.placeholders.iter().zip(&right.placeholders);
    left.elements == right.elements && pairs.all(|(own, other)| own.kind == other.kind)
}

fn relate_segments(
    (left, a): (&Pattern, &Segment),
    (right, b): (&Pattern, &Segment),
    steps: &Steps,
) -> Relation {
    if let Some(relation) = relate_plainly(left, a, right, b) {
        return relation;
    }
    match (class(left, a), class(right, b)) {
        (Class::Words(a), Class::Words(b)) => relate_words(&a, &b),
        (Class::Words(words), Class::Kind(kind)) => relate_words_to(&words, kind, steps),
        (Class::Kind(kind), Class::Words(words)) => relate_words_to(&words, kind, steps).flipped(),
        (Class::Kind(a), Class::Kind(b)) => kinds_within(a, b, steps),
        (Class::Words(words), Class::Mixed(_)) => {
            words_within(&words, &right.part(&b.elements()), steps)
        }
        (Class::Mixed(_), Class::Words(words)) => {
            words_within(&words, &left.part(&a.elements()), steps).flipped()
        }
        // No value and no text in it holds a colon, and the text leaves something out.
        (Class::Mixed(_), Class::Kind(Kind::Str)) => Subset,
        (Class::Kind(Kind::Str), Class::Mixed(_)) => Superset,
        (Class::Mixed(own), Class::Mixed(other)) => match within_same_text(own, other) {
            Some((own, other)) => {
                kinds_within(&left.placeholders[own].kind, &right.placeholders[other].kind, steps)
            }
            None => by_search_behind(&left.part(own), &right.part(other), steps),
        },
        (Class::Mixed(elements), Class::Kind(kind))
        | (Class::Kind(kind), Class::Mixed(elements))
            if holds_foreign_byte(elements, kind) =>
        {
            Disjoint
        }
        _ => by_search(&left.part(&a.elements()), &right.part(&b.elements()), steps).0,
    }
}

/// The most frequent cases, which need no list of words.
fn relate_plainly(left: &Pattern, a: &Segment, right: &Pattern, b: &Segment) -> Option<Relation> {
    let against = |word: &str, kind: &Kind| match kind {
        Kind::Text(_) => None,
        kind if !kind.accepts(word.as_bytes()) => Some(Disjoint),
        Kind::Enum(words) if words.len() == 1 => Some(Equal),
        _ => Some(Subset),
    };
    match (a, b) {
        (Segment::Word(a), Segment::Word(b)) => Some(if a == b { Equal } else { Disjoint }),
        (Segment::Word(word), Segment::Placeholder(index)) => {
            against(word, &right.placeholders[*index].kind)
        }
        (Segment::Placeholder(index), Segment::Word(word)) => {
            against(word, &left.placeholders[*index].kind).map(Relation::flipped)
        }
        _ => None,
    }
}

/// What is left of two patterns behind as many segments of each.
fn relate_remainders(left: &Pattern, right: &Pattern, from: usize, steps: &Steps) -> Relation {
    let is_rest = |pattern: &Pattern| {
        pattern.segments.closed.len() == from
            && pattern.segments.has_plain_rest(&pattern.placeholders)
    };
    match (is_rest(left), is_rest(right)) {
        (true, true) => Equal,
        (true, false) => rest_against(right, from),
        (false, true) => rest_against(left, from).flipped(),
        (false, false) => by_search_behind(&remainder(left, from), &remainder(right, from), steps),
    }
}

/// `rest` against another remainder. A single empty segment is the one thing that `rest` does
/// not accept.
fn rest_against(other: &Pattern, from: usize) -> Relation {
    match (&other.segments.closed[from..], &other.segments.tail) {
        ([Segment::Word(only)], None) if only.is_empty() => Disjoint,
        _ => Superset,
    }
}

/// The segments from `from` on as a pattern.
fn remainder(pattern: &Pattern, from: usize) -> Pattern {
    let mut parts: Vec<Part> = Vec::new();
    let closed = pattern.segments.closed[from..].iter().map(Segment::elements);
    let tail = pattern.segments.tail.iter().map(|tail| tail.to_vec());
    for (index, elements) in closed.chain(tail).enumerate() {
        if index > 0 {
            parts.push(Part::Literal(":".into()));
        }
        parts.extend(pattern.part(&elements).parts());
    }
    Pattern::of_parts(parts).expect("a part of a sound pattern is sound")
}

/// Some patterns without what all of them begin with: the same text, and the same kind where
/// text follows that ends each of its values. What is left alone decides, and takes less to search.
fn behind_shared(patterns: &[&Pattern]) -> Vec<Pattern> {
    let mut all: Vec<Vec<Part>> = patterns.iter().map(|own| own.parts().collect()).collect();
    loop {
        drop_shared_text(&mut all);
        if !begin_with_one_kind(&all) {
            break;
        }
        all.iter_mut().for_each(|parts| drop(parts.remove(0)));
    }
    let pattern = |parts| Pattern::of_parts(parts).expect("a part of a sound pattern is sound");
    all.into_iter().map(pattern).collect()
}

/// Takes away the text that all begin with, but nothing of it from where no more would be left.
fn drop_shared_text(all: &mut [Vec<Part>]) {
    let text = |parts: &[Part]| match parts {
        [Part::Literal(text)] => {
            let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
            Some(text[..last].to_owned())
        }
        [Part::Literal(text), ..] => Some(text.to_string()),
        _ => None,
    };
    let Some(texts) = all.iter().map(|parts| text(parts)).collect::<Option<Vec<String>>>() else {
        return;
    };
    let Some((first, others)) = texts.split_first() else { return };
    let is_shared = |(at, letter): &(usize, char)| {
        others.iter().all(|other| other.get(*at..).is_some_and(|rest| rest.starts_with(*letter)))
    };
    let shared = first.char_indices().take_while(is_shared).map(|(_, letter)| letter.len_utf8());
    let shared: usize = shared.sum();
    for parts in all {
        if let Some(Part::Literal(text)) = parts.first_mut() {
            *text = text[shared..].into();
        }
        if matches!(parts.first(), Some(Part::Literal(text)) if text.is_empty()) {
            parts.remove(0);
        }
    }
}

/// Whether all begin with a placeholder of one kind, and behind it with a text whose first byte
/// none of its values has: so all read the same value.
fn begin_with_one_kind(all: &[Vec<Part>]) -> bool {
    let head = |parts: &Vec<Part>| match &parts[..] {
        [Part::Placeholder { kind, .. }, Part::Literal(text), ..] => {
            let byte = text.bytes().next()?;
            (!kind.may_hold(byte)).then(|| (kind.clone(), byte))
        }
        _ => None,
    };
    let heads: Option<Vec<(Kind, u8)>> = all.iter().map(head).collect();
    heads.is_some_and(|heads| heads.windows(2).all(|pair| pair[0] == pair[1]))
}

/// The relation by searching what is left behind what both begin with.
fn by_search_behind(left: &Pattern, right: &Pattern, steps: &Steps) -> Relation {
    let behind = behind_shared(&[left, right]);
    by_search(&behind[0], &behind[1], steps).0
}

/// Whether what stands at an end of both differs, so that they share no key.
fn part_at_an_end(left: &Pattern, right: &Pattern) -> bool {
    let differ = |a: Option<&Element>, b: Option<&Element>, is_end: bool| match (a, b) {
        (Some(Element::Literal(a)), Some(Element::Literal(b))) => match is_end {
            true => !a.ends_with(&**b) && !b.ends_with(&**a),
            false => !a.starts_with(&**b) && !b.starts_with(&**a),
        },
        (Some(Element::Literal(text)), Some(Element::Placeholder(index))) => {
            cannot_hold(text, &right.placeholders[*index].kind, is_end)
        }
        (Some(Element::Placeholder(index)), Some(Element::Literal(text))) => {
            cannot_hold(text, &left.placeholders[*index].kind, is_end)
        }
        _ => false,
    };
    let (left, right) = (&left.elements, &right.elements);
    differ(left.first(), right.first(), false) || differ(left.last(), right.last(), true)
}

/// Whether no value of a kind has the outermost byte of a text; no value is empty.
fn cannot_hold(text: &str, kind: &Kind, is_end: bool) -> bool {
    let byte = if is_end { text.bytes().next_back() } else { text.bytes().next() };
    byte.is_some_and(|byte| !kind.may_hold(byte))
}

/// The placeholders of two segments that have one each, with the same text on either side.
fn within_same_text(left: &[Element], right: &[Element]) -> Option<(usize, usize)> {
    let only = |elements: &[Element]| {
        let mut own = elements.iter().filter_map(|element| match element {
            Element::Placeholder(index) => Some(*index),
            Element::Literal(_) => None,
        });
        own.next().filter(|_| own.next().is_none())
    };
    let is_same = |(a, b): (&Element, &Element)| match (a, b) {
        (Element::Literal(a), Element::Literal(b)) => a == b,
        (Element::Placeholder(_), Element::Placeholder(_)) => true,
        _ => false,
    };
    let is_alike = left.len() == right.len() && left.iter().zip(right).all(is_same);
    Some((only(left)?, only(right)?)).filter(|_| is_alike)
}

/// Whether a text holds a byte that no value of a kind does.
fn holds_foreign_byte(elements: &[Element], kind: &Kind) -> bool {
    elements.iter().any(|element| match element {
        Element::Literal(text) => text.bytes().any(|byte| !kind.may_hold(byte)),
        Element::Placeholder(_) => false,
    })
}

/// The relation by searching the product of both, and a key of both.
fn by_search(left: &Pattern, right: &Pattern, steps: &Steps) -> (Relation, Option<Vec<u8>>) {
    if part_at_an_end(left, right) {
        return (Disjoint, None);
    }
    let Ok(product) = Product::of(&[left, right], steps) else { return (Overlap, None) };
    let mut both = None;
    let of_both = product.search(
        Order::Shortest,
        steps,
        |may_accept| may_accept[0] && may_accept[1],
        |_, key| {
            both = Some(key);
            false
        },
    );
    // Most share nothing, which takes the least to find out.
    if of_both.is_ok() && both.is_none() {
        return (Disjoint, None);
    }
    let only = |own: usize, other: usize| {
        let mut is_found = false;
        let searched = product.search(
            Order::Any,
            steps,
            |may_accept| may_accept[own],
            |outcome, _| {
                is_found = !outcome[other];
                !is_found
            },
        );
        searched.map(|()| is_found)
    };
    let (Ok(()), Ok(only_left), Ok(only_right)) = (of_both, only(0, 1), only(1, 0)) else {
        return (Overlap, both);
    };
    let relation = match (&both, only_left, only_right) {
        (None, ..) => Disjoint,
        (_, false, false) => Equal,
        (_, false, true) => Subset,
        (_, true, false) => Superset,
        (_, true, true) => Overlap,
    };
    (relation, both)
}

/// Whether each key of a pattern belongs to one of the others; unknown if that is too large a
/// question.
pub(crate) fn is_covered(pattern: &Pattern, others: &[&Pattern], steps: &Steps) -> Option<bool> {
    let all: Vec<&Pattern> = std::iter::once(pattern).chain(others.iter().copied()).collect();
    let all = behind_shared(&all);
    let mut is_covered = true;
    let searched = Product::of(&all.iter().collect::<Vec<_>>(), steps).ok()?.search(
        Order::Any,
        steps,
        |may_accept| may_accept[0],
        |outcome, _| {
            is_covered = !(outcome[0] && outcome[1..].iter().all(|accepts| !accepts));
            is_covered
        },
    );
    searched.ok().map(|()| is_covered)
}

/// The set of byte strings that one segment accepts.
enum Class<'a> {
    Words(Vec<String>),
    Kind(&'a Kind),
    Mixed(&'a [Element]),
}

fn class<'a>(pattern: &'a Pattern, segment: &'a Segment) -> Class<'a> {
    match (segment.words(&pattern.placeholders), segment) {
        (Some(words), _) => Class::Words(words),
        (None, Segment::Placeholder(index)) => Class::Kind(&pattern.placeholders[*index].kind),
        (None, Segment::Mixed(elements)) => Class::Mixed(elements),
        (None, Segment::Word(word)) => Class::Words(vec![word.to_string()]),
    }
}

/// Words against an infinite set, or a large one: none is covered by words alone but by search.
fn relate_words_to(words: &[String], kind: &Kind, steps: &Steps) -> Relation {
    match kind {
        // A text of few bytes and months are finite.
        Kind::Text(_) => words_within(words, &Pattern::of_kind(kind), steps),
        _ => match words.iter().filter(|word| kind.accepts(word.as_bytes())).count() {
            0 => Disjoint,
            all if all == words.len() => Subset,
            _ => Overlap,
        },
    }
}

/// How words lie to the keys of a pattern, which may be finite too.
fn words_within(words: &[String], pattern: &Pattern, steps: &Steps) -> Relation {
    let inside = words.iter().filter(|word| pattern.accepts(word.as_bytes())).count();
    let literals: Vec<Pattern> = words.iter().map(|word| Pattern::of_word(word)).collect();
    let is_covered =
        || is_covered(pattern, &literals.iter().collect::<Vec<_>>(), steps) == Some(true);
    match inside {
        0 => Disjoint,
        all => match (all == words.len(), is_covered()) {
            (true, true) => Equal,
            (true, false) => Subset,
            (false, true) => Superset,
            (false, false) => Overlap,
        },
    }
}

fn relate_words(left: &[String], right: &[String]) -> Relation {
    let shared = left.iter().filter(|word| right.contains(word)).count();
    match (shared, shared == left.len(), shared == right.len()) {
        (0, ..) => Disjoint,
        (_, true, true) => Equal,
        (_, true, false) => Subset,
        (_, false, true) => Superset,
        _ => Overlap,
    }
}

/// How two kinds lie to each other.
fn relate_kinds(left: &Kind, right: &Kind) -> Relation {
    kinds_within(left, right, &Steps::default())
}

fn kinds_within(left: &Kind, right: &Kind, steps: &Steps) -> Relation {
    use Kind::{Base58, Date, Enum, Hex, Int, Ip, Month, Rest, Str, Text, Uint, Uuid};
    let words = |words: &[Box<str>]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    match (left, right) {
        _ if left == right => Equal,
        (Enum(left), Enum(right)) => relate_words(&words(left), &words(right)),
        (Enum(left), kind) => relate_words_to(&words(left), kind, steps),
        (kind, Enum(right)) => relate_words_to(&words(right), kind, steps).flipped(),
        (_, Rest) => Subset,
        (Rest, _) => Superset,
        (Ip, Str) | (Str, Ip) => Overlap,
        (Text(text), Str) if text.length().is_some() || text.characters().next().is_some() => {
            Subset
        }
        (Str, Text(_)) => kinds_within(right, left, steps).flipped(),
        (_, Str) => Subset,
        (Str, _) => Superset,
        (Uint, Int | Hex) => Subset,
        (Int | Hex, Uint) => Superset,
        (Int | Uint, Base58) | (Base58, Int | Uint) => Overlap,
        (Int | Base58, Hex) | (Hex, Int | Base58) => Overlap,
        // What remains of the older ones is told apart by its dashes.
        (
            Int | Uint | Uuid | Base58 | Hex | Date | Month,
            Int | Uint | Uuid | Base58 | Hex | Date | Month,
        ) => Disjoint,
        _ => by_search(&Pattern::of_kind(left), &Pattern::of_kind(right), steps).0,
    }
}

impl Kind {
    /// Whether every value of this kind is one of `other`.
    pub fn is_within(&self, other: &Kind) -> bool {
        matches!(relate_kinds(self, other), Equal | Subset)
    }

    /// Whether some value of this kind is one of `other`.
    pub fn meets(&self, other: &Kind) -> bool {
        relate_kinds(self, other) != Disjoint
    }
}

impl Pattern {
    /// A pattern that is one placeholder of this kind.
    pub(crate) fn of_kind(kind: &Kind) -> Pattern {
        let part = Part::Placeholder { name: "x".into(), kind: kind.clone() };
        Pattern::of_parts([part]).expect("one placeholder is sound")
    }

    /// A pattern that is one word.
    fn of_word(word: &str) -> Pattern {
        Pattern::of_parts([Part::Literal(word.into())]).expect("a word is sound")
    }
}

/// A key that both accept, if they are not too large to find one.
fn witness(left: &Pattern, right: &Pattern, steps: &Steps) -> Option<Vec<u8>> {
    let shared = left.segments.closed.len().min(right.segments.closed.len());
    let mut key = Vec::new();
    for index in 0..shared {
        if index > 0 {
            key.push(b':');
        }
        let (a, b) = (&left.segments.closed[index], &right.segments.closed[index]);
        key.extend(shared_sample((left, &a.elements()), (right, &b.elements()), steps)?);
    }
    if left.segments.count() > shared {
        if shared > 0 {
            key.push(b':');
        }
        let (left, right) = (remainder(left, shared), remainder(right, shared));
        let sample = shared_sample((&left, &left.elements), (&right, &right.elements), steps)?;
        key.extend(sample);
    }
    Some(key)
}

/// Values of each kind that read well in a message.
const SAMPLES: [&str; 12] = [
    "42",
    "-42",
    "cafe",
    "7Yk2",
    "x",
    "123e4567-e89b-12d3-a456-426614174000",
    "2025-12-31",
    "2025-12",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "some-words",
    "127.0.0.1",
    "::1",
];

/// A value that both accept: one that reads well, or else a shortest one.
fn shared_sample(
    (left, left_elements): (&Pattern, &[Element]),
    (right, right_elements): (&Pattern, &[Element]),
    steps: &Steps,
) -> Option<Vec<u8>> {
    let (left, right) = (left.part(left_elements), right.part(right_elements));
    let of_one = [&left, &right].into_iter().flat_map(|pattern| {
        let of_kind = |kind: &Kind| -> Vec<String> {
            let words = kind.words().iter().map(|word| word.to_string());
            let samples = SAMPLES.iter().map(|sample| (*sample).to_owned());
            words.chain(samples).filter(|sample| kind.accepts(sample.as_bytes())).collect()
        };
        let choices: Vec<Vec<String>> =
            pattern.placeholders.iter().map(|own| of_kind(&own.kind)).collect();
        (0..SAMPLES.len()).filter_map(move |nth| {
            let values: Option<Vec<&String>> =
                choices.iter().map(|choices| choices.get(nth).or(choices.first())).collect();
            values.map(|values| pattern.fill(&values))
        })
    });
    let plain = of_one.into_iter().find(|key| left.accepts(key) && right.accepts(key));
    plain.or_else(|| by_search(&left, &right, steps).1)
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

    #[test]
    fn text_beside_placeholders() {
        check("task-{id:uuid}", "task-{id}", Subset);
        check("task-{id}", "task-{id}.c", Superset);
        check("task-{id:uuid}", "taskset-{id:uuid}", Disjoint);
        check("task{x}", "{y}", Subset);
        check("a-{x}", "{y}-b", Overlap);
        check("a-{x:uint}", "a-{y:hex}", Subset);
        check("{a}-{b}", "{a}-{b}-{c}", Superset);
        check("{a}.{b}", "{x}-{y}", Overlap);
        check("{d:date}-{n:uint}", "{a}-{b}", Subset);
        check("{d:month}-{n:uint}", "{d:date}", Overlap);
        check("{m:month}-{n:text(0-9, 2)}", "{d:date}", Superset);
        check("{x:text(0-1, 1)}", "{y:0|1}", Equal);
        check("v{x:text(0-1, 1)}", "{y:v0|v1|v2}", Subset);
        check("v{x:a|b}", "{y:va|vb}", Equal);
        check("{a:uint}x{b:uint}", "{a:uint}x{b:hex}", Subset);
        check("k:{a}-{b}:z", "k:{a}:z", Subset);
        check("k:{a}-{b}:z", "k:{a}:{z:uint}", Disjoint);
    }

    #[test]
    fn rests_and_addresses_anywhere() {
        check("{q:rest}.c", "{r:rest}", Subset);
        check("{q:rest}.c", "{r}", Overlap);
        check("{q:rest}.c", "{r}.c", Superset);
        check("{q:rest}.c", "{r:rest}.d", Disjoint);
        check("{q:rest}.{n:uint}", "{r:rest}.{n:hex}", Subset);
        check("a:{q:rest}:z", "a:{x}:z", Superset);
        check("a:{q:rest}:z", "a:z", Disjoint);
        check("a:{q:rest}:z", "a:b:{r:rest}", Overlap);
        check("a:{q:rest}:z", "{r:rest}:z", Subset);
        check("l/{a:ip}/x", "l/{s}/x", Overlap);
        check("l/{a:ip}/x", "l/{s:rest}/x", Subset);
        check("{a:ip}:{p:uint}", "{x}:{p:uint}", Overlap);
        check("{a:ip}", "{x:rest}", Subset);
        check("{a:ip}", "{b:ip}:{p:uint}", Overlap);
        check("{a:ip}/until", "{b:ip}/{x}", Subset);
        check("{a:ip}/until", "{b:ip}/until2", Disjoint);
        check("{a:ip}/{x:uint}/a", "{b:ip}/{y:uint}/{z}", Subset);
        check("{a:ip}/{x:uint}/a", "{b:ip}/{y:hex}/{z}", Subset);
        check("{a:ip}/{x:uint}/a", "{b:ip}/1/{z}", Overlap);
        check("{a:ip}/{r:rest}", "{b:ip}/{z}", Superset);
        check("{a:ip}/{r:rest}.c", "{b:ip}/{s:rest}", Subset);
        check("{a:rest}x{k:text(32)}", "{a:rest}", Subset);
        check("{a:rest}x{k:text(a-z, 32)}", "{b:rest}x{k:text(32)}", Subset);
    }

    /// The table above the kinds, against what the kinds really accept.
    #[test]
    fn the_table_of_kinds_agrees_with_their_values() {
        let kinds: Vec<Kind> =
            Kind::NAMES.iter().map(|name| Kind::named(name).expect("a kind")).collect();
        for left in &kinds {
            for right in &kinds {
                let searched =
                    by_search(&Pattern::of_kind(left), &Pattern::of_kind(right), &Steps::default())
                        .0;
                assert_eq!(relate_kinds(left, right), searched, "{left} against {right}");
            }
        }
    }
}
