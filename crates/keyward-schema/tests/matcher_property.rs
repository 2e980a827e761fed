//! The matcher against its definition, by chance.
//!
//! `PROPTEST_CASES=100000 cargo test --release -p keyward-schema --test matcher_property` tries
//! more.

use keyward_schema::{Kind, Matcher, Pattern, Relation, relate};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashMap;

/// Which of some patterns lie within which, found out once.
type Within = HashMap<(usize, usize), bool>;

/// The definition: of all patterns that accept the key, the one within all others.
fn naive(patterns: &[Pattern], within: &mut Within, key: &[u8]) -> Option<usize> {
    let accepting: Vec<usize> =
        (0..patterns.len()).filter(|&index| patterns[index].accepts(key)).collect();
    let mut is_within = |index: usize, other: usize| {
        *within
            .entry((index, other))
            .or_insert_with(|| relate(&patterns[index], &patterns[other]).0 == Relation::Subset)
    };
    accepting
        .iter()
        .copied()
        .find(|&index| accepting.iter().all(|&other| other == index || is_within(index, other)))
}

const LITERALS: [&str; 12] = [
    "a",
    "b",
    "c",
    "",
    "0",
    "42",
    "cafe",
    "{{a}}",
    "{{42}}",
    "2025-12",
    "a_word_longer_than_two_edges",
    "a_word_LONGER_than_two_edges",
];

const VALUES: [&str; 38] = [
    "a",
    "b",
    "c",
    "d",
    "",
    "0",
    "00",
    "42",
    "-42",
    "-0",
    "10",
    "cafe",
    "c0ffee",
    "7Yk2",
    "x-y",
    "9223372036854775807",
    "9223372036854775808",
    "123e4567-e89b-12d3-a456-426614174000",
    "123e4567-e89b-12d3-a456-42661417400g",
    "2025-12-31",
    "2025-02-29",
    "2025-12",
    "2025-13",
    "{a}",
    "{42}",
    "{}",
    "{cafe",
    "a_word_longer_than_two_edges",
    "a-b-c",
    "ab",
    "c0fe",
    "1.2.3.4",
    "::1",
    "2001:db8::8a2e:370:7334",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "\u{6}\u{16}",
    "\u{7f}",
    "é",
];

/// Kinds of placeholders that fill segments, whose keys are compared quickly.
const TYPES: [&str; 14] = [
    "",
    ":str",
    ":int",
    ":uint",
    ":uuid",
    ":base58",
    ":hex",
    ":date",
    ":month",
    ":a|b",
    ":b|c|d",
    ":42|cafe",
    ":a|10|x-y",
    ":0|7Yk2",
];

/// The other kinds.
const MORE_TYPES: [&str; 9] = [
    ":slug",
    ":base64url",
    ":ulid",
    ":text(a-c0-1)",
    ":text(a-c, 2)",
    ":text(0-9a-f, 4)",
    ":text(3)",
    ":ip",
    ":rest",
];

/// Patterns of which any two may stand side by side.
fn legal_patterns() -> impl Strategy<Value = Vec<Pattern>> {
    #[derive(Clone, Debug)]
    enum Part {
        Literal(&'static str),
        Placeholder(&'static str),
        Tagged(&'static str),
    }
    let part = prop_oneof![
        3 => select(&LITERALS[..]).prop_map(Part::Literal),
        2 => select(&TYPES[..]).prop_map(Part::Placeholder),
        1 => select(&TYPES[..]).prop_map(Part::Tagged),
    ];
    let pattern = (prop::collection::vec(part, 0..5), prop::bool::weighted(0.2)).prop_map(
        |(parts, has_rest)| {
            let mut segments: Vec<String> = parts
                .iter()
                .enumerate()
                .map(|(place, part)| match part {
                    Part::Literal(word) => (*word).to_owned(),
                    Part::Placeholder(kind) => format!("{{p{place}{kind}}}"),
                    Part::Tagged(kind) => format!("{{{{{{p{place}{kind}}}}}}}"),
                })
                .collect();
            segments.extend(has_rest.then(|| "{r:rest}".to_owned()));
            Pattern::parse(&segments.join(":")).ok()
        },
    );
    prop::collection::vec(pattern, 1..60).prop_map(legal)
}

/// Those of some patterns that may stand beside all before them.
fn legal(candidates: Vec<Option<Pattern>>) -> Vec<Pattern> {
    let mut kept: Vec<Pattern> = Vec::new();
    for candidate in candidates.into_iter().flatten() {
        let is_legal = kept.iter().all(|other| {
            !matches!(relate(&candidate, other).0, Relation::Equal | Relation::Overlap)
        });
        if is_legal {
            kept.push(candidate);
        }
    }
    kept
}

/// What stands beside placeholders: separators, parts of each other and of values, colons, braces
/// of hash tags, bytes that are no printable ASCII.
const TEXTS: [&str; 24] = [
    "a",
    "b",
    "-",
    "-a",
    "--",
    ".",
    "..",
    "/",
    "0",
    "a.",
    "_",
    ":",
    "::",
    ":a:",
    ":a-",
    "a:b",
    "{{",
    "}}",
    "}}:",
    ":{{",
    " ",
    "\u{6}\u{16}",
    "é",
    "a_text_longer_than_a_word",
];

/// Patterns of several placeholders, each with any text beside it, one of them open now and then,
/// at whatever place.
fn legal_mixed_patterns() -> impl Strategy<Value = Vec<Pattern>> {
    let text = || prop::option::weighted(0.6, select(&TEXTS[..]));
    let kind = prop_oneof![select(&TYPES[..]), select(&MORE_TYPES[..])];
    let placeholders = prop::collection::vec((kind, select(&TEXTS[..])), 1..5);
    let pattern = (text(), placeholders, text()).prop_map(|(leading, placeholders, closing)| {
        let last = placeholders.len() - 1;
        let mut pattern = leading.unwrap_or_default().to_owned();
        for (place, (kind, text)) in placeholders.iter().enumerate() {
            pattern.push_str(&format!("{{p{place}{kind}}}"));
            pattern.push_str(if place < last { text } else { closing.unwrap_or_default() });
        }
        Pattern::parse(&pattern).ok()
    });
    prop::collection::vec(pattern, 1..9).prop_map(legal)
}

/// What a key is made of before the patterns are known.
#[derive(Clone, Debug)]
enum Recipe {
    Filled { pattern: prop::sample::Index, values: Vec<&'static str>, suffix: &'static str },
    Fitting { pattern: prop::sample::Index, values: [prop::sample::Index; 5], change: Change },
    Joined(Vec<&'static str>),
    Bytes(Vec<u8>),
}

impl Recipe {
    fn cook(&self, patterns: &[Pattern]) -> Vec<u8> {
        match self {
            Recipe::Filled { pattern, values, suffix } if !patterns.is_empty() => {
                let mut key = pattern.get(patterns).fill(values);
                key.extend_from_slice(suffix.as_bytes());
                key
            }
            Recipe::Fitting { pattern, values, change } if !patterns.is_empty() => {
                let pattern = pattern.get(patterns);
                let mut key = fitting(pattern, values);
                change.apply(&mut key);
                key
            }
            Recipe::Fitting { .. } => Vec::new(),
            Recipe::Filled { values, .. } | Recipe::Joined(values) => values.join(":").into_bytes(),
            Recipe::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// A change of one byte, or of none.
#[derive(Clone, Debug)]
struct Change {
    what: u8,
    at: prop::sample::Index,
    byte: u8,
}

impl Change {
    fn apply(&self, key: &mut Vec<u8>) {
        let at = self.at.index(key.len().max(1)).min(key.len());
        match self.what {
            0 if at < key.len() => key[at] = self.byte,
            1 => key.insert(at, self.byte),
            2 if at < key.len() => drop(key.remove(at)),
            3 => key.truncate(at),
            4 => key.push(self.byte),
            _ => {}
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let byte = select(&b":.-/ax0{\0\x06\x7f\x80\xff"[..]);
    (0..8_u8, any::<prop::sample::Index>(), byte).prop_map(|(what, at, byte)| Change {
        what,
        at,
        byte,
    })
}

/// A key of a pattern.
fn fitting(pattern: &Pattern, choices: &[prop::sample::Index]) -> Vec<u8> {
    let chosen = pattern.placeholders().iter().zip(choices);
    let values: Vec<&str> =
        chosen.map(|(own, choice)| *choice.get(&values_of(&own.kind))).collect();
    pattern.fill(&values)
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let values = |count| prop::collection::vec(select(&VALUES[..]), count);
    let suffix = prop_oneof![8 => Just(""), 1 => Just(":"), 1 => Just(":a"), 1 => Just("x")];
    prop_oneof![
        3 => (any::<prop::sample::Index>(), values(5..6), suffix)
            .prop_map(|(pattern, values, suffix)| Recipe::Filled { pattern, values, suffix }),
        3 => (any::<prop::sample::Index>(), any::<[prop::sample::Index; 5]>(), change())
            .prop_map(|(pattern, values, change)| Recipe::Fitting { pattern, values, change }),
        1 => values(0..7).prop_map(Recipe::Joined),
        1 => prop::collection::vec(select(&b":::aab0{}-./4\0\x06\x7f\x80\xff"[..]), 0..40)
            .prop_map(Recipe::Bytes),
    ]
}

/// Holds the matcher of some patterns against the definition.
fn check(
    patterns: &[Pattern],
    keys: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), TestCaseError> {
    let matcher = Matcher::new(patterns).expect("legal patterns");
    let mut within = Within::new();
    for key in keys {
        let found = matcher.find(&key);
        let shown = key.escape_ascii().to_string();
        let expected = naive(patterns, &mut within, &key);
        prop_assert_eq!(found.as_ref().map(|found| found.pattern), expected, "{}", shown);
        let Some(found) = found else { continue };
        let pattern = &patterns[found.pattern];
        let values: Vec<&[u8]> = found.placeholders().collect();
        let read = pattern.read(&key).expect("it is accepted");
        prop_assert_eq!(&values[..], &read[..], "{} in {}", shown, pattern);
        prop_assert_eq!(&pattern.fill(&values), &key, "{}", pattern);
        for (value, placeholder) in values.iter().zip(pattern.placeholders()) {
            prop_assert!(placeholder.kind.accepts(value), "{} in {}", shown, pattern);
        }
    }
    Ok(())
}

/// As many cases as `PROPTEST_CASES` says, or so many.
fn cases(count: u32) -> ProptestConfig {
    let said = std::env::var("PROPTEST_CASES").ok().and_then(|said| said.parse().ok());
    ProptestConfig::with_cases(said.unwrap_or(count))
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn finds_what_the_definition_says(
        patterns in legal_patterns(),
        recipes in prop::collection::vec(recipe(), 100),
    ) {
        check(&patterns, recipes.iter().map(|recipe| recipe.cook(&patterns)))?;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn finds_what_the_definition_says_of_text_beside_placeholders(
        patterns in legal_mixed_patterns(),
        recipes in prop::collection::vec(recipe(), 50),
    ) {
        check(&patterns, recipes.iter().map(|recipe| recipe.cook(&patterns)))?;
    }
}

/// Patterns as programs have them: text beside placeholders, tails behind text, addresses.
const OF_PROGRAMS: [&str; 34] = [
    ":{version:uint}:template.cache.{fragment:rest}.{hash:text(0-9a-f, 4)}",
    ":{version:uint}:views.decorators.cache.cache_page.{page:rest}",
    ":{version:uint}:django.contrib.sessions.cache{session:text(a-z0-9, 4)}",
    ":{version:uint}:{key:rest}",
    "LIMITS:LIMITER/{address:ip}/{scope:rest}/{amount:uint}/{per:second|minute}",
    "LIMITS:{{LIMITER/{address:ip}/{scope:rest}/{amount:uint}/{per:second|minute}}}",
    "LIMITS:{{LIMITER/{address:ip}/{scope:rest}/{amount:uint}/{per:second|minute}}}/-1",
    "_kombu.binding.{exchange:rest}",
    "_kombu.binding_deadlines",
    "_kombu.binding_permanent.{exchange:rest}",
    "celery",
    "celery-task-meta-{id:uuid}",
    "celery-taskset-meta-{id:uuid}",
    "celery-taskset-meta-{id:uuid}.c",
    "celery\u{6}\u{16}{priority:uint}",
    "deploylock-{commit:hex} {subject:rest}",
    "huey.c.{name:text(A-Za-z0-9_)}.{instance:text(A-Za-z0-9_-)}.rl.{limit:rest}",
    "huey.c.{name:text(A-Za-z0-9_)}.chord:{chord_id:uuid}",
    "huey.notify.{name:text(A-Za-z0-9_)}.{result:rest}",
    "huey.r.{name:text(A-Za-z0-9_)}.{instance:text(A-Za-z0-9_-)}.lock.{lock:rest}",
    "huey.r.{name:text(A-Za-z0-9_)}.{instance:text(A-Za-z0-9_-)}.rl.{limit:rest}.w",
    "huey.r.{name:text(A-Za-z0-9_)}.{key:rest}",
    "huey.r.{name:text(A-Za-z0-9_)}.{task_id:uuid}",
    "huey.r.{name:text(A-Za-z0-9_)}.rt:{task}",
    "huey.redis.{name:text(A-Za-z0-9_)}",
    "it-{jid:text(0-9a-f, 4)}",
    "rlflx:{address:ip}",
    "worker-{number:uint}:{pid:uint}:{nonce:text(0-9a-f, 4)}",
    "worker-{number:uint}:{pid:uint}:{nonce:text(0-9a-f, 4)}-signals",
    "{class:text(A-Za-z0-9_)}-{day:text(0-9, 2)}-{hour:text(0-9, 2)}:{minute:uint}",
    "{day:text(0-9, 8)}-marks",
    "{id:uuid}.reply.celery.pidbox",
    "{module:text(A-Za-z0-9_)}::{class:text(A-Za-z0-9_)}-{day:text(0-9, 2)}:{minute:uint}",
    "queue:{queue}",
];

/// Values that fit a kind, some of which look like the text of a pattern.
fn values_of(kind: &Kind) -> Vec<&'static str> {
    const MORE: [&str; 21] = [
        "x",
        "a.lock.b",
        "a.rl.b.w",
        "/7/minute",
        "a:b",
        ":",
        ".c0fe",
        "rt:x",
        "a::b",
        "rt",
        "Shop_1",
        "lock",
        "12",
        "00",
        "second",
        "minute",
        "255.0.10.1",
        "abc",
        "20251231",
        "a-",
        "-",
    ];
    VALUES.into_iter().chain(MORE).filter(|value| kind.accepts(value.as_bytes())).collect()
}

proptest! {
    #![proptest_config(cases(40))]

    /// Any of the patterns together, and keys of all of them, whole or with a byte changed, put in
    /// or taken out.
    #[test]
    fn finds_what_the_definition_says_of_patterns_of_programs(
        texts in prop::sample::subsequence(OF_PROGRAMS.to_vec(), 1..=OF_PROGRAMS.len()),
        recipes in prop::collection::vec(
            (select(&OF_PROGRAMS[..]), any::<[prop::sample::Index; 5]>(), change()), 400),
    ) {
        let parse = |text: &str| Pattern::parse(text).expect(text);
        let patterns: Vec<Pattern> = texts.into_iter().map(parse).collect();
        let keys = recipes.iter().map(|(text, values, change)| {
            let mut key = fitting(&parse(text), values);
            change.apply(&mut key);
            key
        });
        check(&patterns, keys)?;
    }
}
