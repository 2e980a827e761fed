//! Patterns with text beside placeholders, rests and addresses: reading, comparing and matching
//! against a naive reader written from the definition, on random patterns and keys that nearly
//! belong to them.

use keyward_schema::{Element, Kind, Matcher, MatcherError, Pattern, Relation, relate};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The values of a key by the definition, byte by byte.
fn naive(pattern: &Pattern, key: &[u8]) -> Option<Vec<Vec<u8>>> {
    let elements = pattern.elements();
    let open = open_element(pattern);
    let (before, behind) = match open {
        Some(open) => (&elements[..open], &elements[open + 1..]),
        None => (elements, &elements[..0]),
    };
    let mut values = vec![None; pattern.placeholders().len()];
    let left = forwards(pattern, before, key, open.is_none(), &mut values)?;
    let left = backwards(pattern, behind, left, &mut values)?;
    match open {
        Some(open) => take(pattern, &elements[open], left, &mut values)?,
        None if !left.is_empty() => return None,
        None => {}
    }
    values.into_iter().collect()
}

/// `rest`, or else the first address before text that an address can contain.
fn open_element(pattern: &Pattern) -> Option<usize> {
    let elements = pattern.elements();
    let kind = |at: usize| match &elements[at] {
        Element::Placeholder(index) => Some(&pattern.placeholders()[*index].kind),
        Element::Literal(_) => None,
    };
    let is_of_address = |at: usize| match elements.get(at) {
        Some(Element::Literal(text)) => {
            text.chars().all(|c| c.is_ascii_hexdigit() || ".:".contains(c))
        }
        _ => false,
    };
    (0..elements.len()).find(|&at| kind(at) == Some(&Kind::Rest)).or_else(|| {
        (0..elements.len()).find(|&at| kind(at) == Some(&Kind::Ip) && is_of_address(at + 1))
    })
}

type Found = [Option<Vec<u8>>];

fn take(pattern: &Pattern, element: &Element, value: &[u8], values: &mut Found) -> Option<()> {
    let Element::Placeholder(index) = element else { panic!("a placeholder") };
    values[*index] = Some(value.to_vec());
    pattern.placeholders()[*index].kind.accepts(value).then_some(())
}

fn length(pattern: &Pattern, element: &Element) -> Option<usize> {
    let Element::Placeholder(index) = element else { return None };
    pattern.placeholders()[*index].kind.fixed_length()
}

fn forwards<'k>(
    pattern: &Pattern,
    elements: &[Element],
    key: &'k [u8],
    is_whole: bool,
    values: &mut Found,
) -> Option<&'k [u8]> {
    let mut left = key;
    for (at, element) in elements.iter().enumerate() {
        if let Element::Literal(text) = element {
            left = left.strip_prefix(text.as_bytes())?;
            continue;
        }
        let text = match elements.get(at + 1) {
            Some(Element::Literal(text)) => text.as_bytes(),
            _ => b"",
        };
        let is_end = |end: &usize| {
            let is_last = is_whole && at + 2 >= elements.len();
            match is_last {
                true => left[*end..] == *text,
                false => left[*end..].starts_with(text),
            }
        };
        let end = length(pattern, element).or_else(|| (0..=left.len()).find(is_end))?;
        take(pattern, element, left.get(..end)?, values)?;
        left = &left[end..];
    }
    Some(left)
}

fn backwards<'k>(
    pattern: &Pattern,
    elements: &[Element],
    key: &'k [u8],
    values: &mut Found,
) -> Option<&'k [u8]> {
    let mut left = key;
    for (at, element) in elements.iter().enumerate().rev() {
        if let Element::Literal(text) = element {
            left = left.strip_suffix(text.as_bytes())?;
            continue;
        }
        let Element::Literal(text) = &elements[at - 1] else { panic!("text before it") };
        let start = match length(pattern, element) {
            Some(length) => left.len().checked_sub(length)?,
            None => (0..=left.len()).rev().find(|&at| left[..at].ends_with(text.as_bytes()))?,
        };
        take(pattern, element, &left[start..], values)?;
        left = &left[..start];
    }
    Some(left)
}

const TEXTS: [&str; 14] =
    ["-", ".", ":", "a", "a-", "--", "ab", ":a:", ".a", "{{", "}}", "/", "a:", "\u{6}\u{16}"];

const KINDS: [&str; 18] = [
    "",
    "",
    "",
    ":uint",
    ":int",
    ":hex",
    ":uuid",
    ":date",
    ":month",
    ":ulid",
    ":slug",
    ":base64url",
    ":text(2)",
    ":text(ab-)",
    ":text(a-c, 3)",
    ":a|b|ab",
    ":rest",
    ":ip",
];

const VALUES: [&str; 26] = [
    "a",
    "b",
    "ab",
    "a-",
    "a-b",
    "-",
    ".",
    "7",
    "42",
    "-7",
    "0",
    "cafe",
    "a.a",
    "a:b",
    "abc",
    "cab",
    "123e4567-e89b-12d3-a456-426614174000",
    "2025-12-31",
    "2025-12",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "127.0.0.1",
    "::1",
    "fe80::a:b",
    "",
    "a}",
    "}",
];

fn pattern() -> impl Strategy<Value = Option<Pattern>> {
    let piece = prop_oneof![
        select(&TEXTS[..]).prop_map(|text| (text, None)),
        select(&KINDS[..]).prop_map(|kind| ("", Some(kind))),
    ];
    prop::collection::vec(piece, 1..8).prop_map(|pieces| {
        let piece = |(place, (text, kind)): (usize, &(&str, Option<&str>))| match kind {
            Some(kind) => format!("{{p{place}{kind}}}"),
            None => (*text).to_owned(),
        };
        let text: String = pieces.iter().enumerate().map(piece).collect();
        Pattern::parse(&text).ok()
    })
}

/// A key made of a pattern and values, which may not fit, with a byte changed perhaps.
#[derive(Clone, Debug)]
struct Recipe {
    pattern: Index,
    values: Vec<&'static str>,
    change: Option<(Index, u8)>,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let change = prop::option::weighted(0.2, (any::<Index>(), select(&b"a-.:{}7\x06"[..])));
    let values = prop::collection::vec(select(&VALUES[..]), 8);
    (any::<Index>(), values, change).prop_map(|(pattern, values, change)| Recipe {
        pattern,
        values,
        change,
    })
}

impl Recipe {
    fn cook(&self, patterns: &[Pattern]) -> Vec<u8> {
        let pattern = self.pattern.get(patterns);
        // Values that fit are more telling, so each is moved on to the next that does.
        let fitting: Vec<&str> = pattern
            .placeholders()
            .iter()
            .zip(&self.values)
            .map(|(own, value)| {
                let from = VALUES.iter().position(|known| known == value).unwrap_or(0);
                let mut others = VALUES[from..].iter().chain(&VALUES);
                let fits = |other: &&&str| own.kind.accepts(other.as_bytes());
                others.find(fits).unwrap_or(value)
            })
            .copied()
            .collect();
        let mut key = pattern.fill(&fitting);
        if let Some((place, byte)) = &self.change
            && !key.is_empty()
        {
            let at = place.index(key.len());
            key[at] = *byte;
        }
        key
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn keys_are_read_as_defined(
        pattern in pattern().prop_filter_map("a sound pattern", |pattern| pattern),
        recipes in prop::collection::vec(recipe(), 40),
    ) {
        let patterns = [pattern];
        for recipe in recipes {
            let key = recipe.cook(&patterns);
            let expected = naive(&patterns[0], &key);
            let read = patterns[0].read(&key).map(|values| values.iter().map(|v| v.to_vec()).collect());
            prop_assert_eq!(&read, &expected, "{} by {}", key.escape_ascii(), &patterns[0]);
            if read.is_some() {
                for end in 0..=key.len() {
                    prop_assert!(patterns[0].can_begin(&key[..end]), "{}", key[..end].escape_ascii());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn relations_hold_for_every_key(
        left in pattern().prop_filter_map("a sound pattern", |pattern| pattern),
        right in pattern().prop_filter_map("a sound pattern", |pattern| pattern),
        recipes in prop::collection::vec(recipe(), 60),
    ) {
        let (relation, witness) = relate(&left, &right);
        prop_assert_eq!(witness.is_some(), relation != Relation::Disjoint);
        let patterns = [left, right];
        let keys = recipes.iter().map(|recipe| recipe.cook(&patterns)).chain(witness.clone());
        for key in keys {
            let (own, other) = (naive(&patterns[0], &key).is_some(), naive(&patterns[1], &key).is_some());
            let is_possible = match relation {
                Relation::Disjoint => !(own && other),
                Relation::Equal => own == other,
                Relation::Subset => !own || other,
                Relation::Superset => own || !other,
                Relation::Overlap => true,
            };
            let [left, right] = &patterns;
            prop_assert!(is_possible, "{left} and {right} are {relation:?}, but {}", key.escape_ascii());
        }
        if let Some(key) = witness {
            prop_assert!(patterns.iter().all(|pattern| naive(pattern, &key).is_some()));
        }
    }

    #[test]
    fn the_matcher_finds_the_narrowest(
        candidates in prop::collection::vec(pattern(), 1..10),
        recipes in prop::collection::vec(recipe(), 60),
    ) {
        let mut patterns: Vec<Pattern> = Vec::new();
        for candidate in candidates.into_iter().flatten() {
            let is_legal = |other: &Pattern| {
                !matches!(relate(&candidate, other).0, Relation::Equal | Relation::Overlap)
            };
            if patterns.iter().all(is_legal) {
                patterns.push(candidate);
            }
        }
        prop_assume!(!patterns.is_empty());
        let matcher = match Matcher::new(&patterns) {
            Ok(matcher) => matcher,
            Err(MatcherError::Entangled { .. }) => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        for recipe in recipes {
            let key = recipe.cook(&patterns);
            let accepting: Vec<usize> =
                (0..patterns.len()).filter(|&at| naive(&patterns[at], &key).is_some()).collect();
            let expected = accepting.iter().copied().find(|&own| {
                accepting.iter().all(|&other| {
                    own == other || relate(&patterns[own], &patterns[other]).0 == Relation::Subset
                })
            });
            let found = matcher.find(&key);
            prop_assert_eq!(found.as_ref().map(|found| found.pattern), expected, "{}", key.escape_ascii());
            if let (Some(found), Some(expected)) = (found, expected) {
                let values: Vec<Vec<u8>> = found.placeholders().map(<[u8]>::to_vec).collect();
                prop_assert_eq!(Some(values), naive(&patterns[expected], &key));
            }
        }
    }
}
