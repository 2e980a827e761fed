//! The matcher against its definition, and case by case.

use keyward_schema::{
    Kind, MAX_CANDIDATES, MAX_SEGMENTS, MAX_TAILS, Matcher, MatcherError, Pattern, Relation, relate,
};
use proptest::prelude::*;
use proptest::sample::select;

fn parse(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).expect(text)).collect()
}

/// A pattern and the values of its placeholders.
type Found<'a> = Option<(&'a str, &'a [&'a str])>;

/// For each key, what is to be found.
fn check(patterns: &[&str], expected: &[(&str, Found<'_>)]) {
    let parsed = parse(patterns);
    let matcher = Matcher::new(&parsed).expect("patterns that can be told apart");
    for (key, expected) in expected {
        let found = matcher.find(key.as_bytes()).map(|found| {
            let values = found.placeholders().map(|value| str::from_utf8(value).expect("text"));
            (patterns[found.pattern], values.collect::<Vec<_>>())
        });
        let expected = expected.map(|(pattern, values)| (pattern, values.to_vec()));
        assert_eq!(found, expected, "{key:?} among {patterns:?}");
    }
}

fn error(patterns: &[&str]) -> MatcherError {
    Matcher::new(&parse(patterns)).expect_err("patterns that cannot be told apart")
}

#[test]
fn a_word_that_turns_out_wrong_later_does_not_hide_a_placeholder() {
    check(
        &["a:b:c", "a:{x}:d"],
        &[
            ("a:b:c", Some(("a:b:c", &[]))),
            ("a:b:d", Some(("a:{x}:d", &["b"]))),
            ("a:x:d", Some(("a:{x}:d", &["x"]))),
            ("a:x:c", None),
            ("a:b", None),
            ("a:b:c:", None),
        ],
    );
}

#[test]
fn a_rest_takes_what_dies_deep_inside_a_closed_pattern() {
    check(
        &["a:{r:rest}", "a:b:{x:uint}:c"],
        &[
            ("a:b:7:c", Some(("a:b:{x:uint}:c", &["7"]))),
            ("a:b:7:d", Some(("a:{r:rest}", &["b:7:d"]))),
            ("a:b:7", Some(("a:{r:rest}", &["b:7"]))),
            ("a:b:7:c:d", Some(("a:{r:rest}", &["b:7:c:d"]))),
            ("a:b", Some(("a:{r:rest}", &["b"]))),
            ("a:b:", Some(("a:{r:rest}", &["b:"]))),
            ("a::", Some(("a:{r:rest}", &[":"]))),
            ("a:", None),
            ("a", None),
        ],
    );
}

#[test]
fn the_rest_with_the_longest_prefix_wins() {
    check(
        &["{all:rest}", "a:{r:rest}", "a:{x}:c:{r:rest}", "a:b:c:{r:rest}", "a:b:c:d"],
        &[
            ("a:b:c:d", Some(("a:b:c:d", &[]))),
            ("a:b:c:e", Some(("a:b:c:{r:rest}", &["e"]))),
            ("a:x:c:e:f", Some(("a:{x}:c:{r:rest}", &["x", "e:f"]))),
            ("a:b:c:", Some(("a:{r:rest}", &["b:c:"]))),
            ("a:b:c", Some(("a:{r:rest}", &["b:c"]))),
            ("a:", Some(("{all:rest}", &["a:"]))),
            (":", Some(("{all:rest}", &[":"]))),
            ("", None),
        ],
    );
}

#[test]
fn enum_words_win_over_wider_kinds() {
    check(
        &["r:{id}:{w:minute|hour}", "r:{id}:minute", "r:{id}:{n:uint}", "r:{id}:{n}", "r:{id}:7"],
        &[
            ("r:1:minute", Some(("r:{id}:minute", &["1"]))),
            ("r:1:hour", Some(("r:{id}:{w:minute|hour}", &["1", "hour"]))),
            ("r:1:8", Some(("r:{id}:{n:uint}", &["1", "8"]))),
            ("r:1:7", Some(("r:{id}:7", &["1"]))),
            ("r:1:07", Some(("r:{id}:{n}", &["1", "07"]))),
            ("r:1:", None),
        ],
    );
}

#[test]
fn kinds_that_overlap_are_told_apart_by_what_follows() {
    check(
        &["{h:hex}:h", "{b:base58}:b", "{i:int}:i", "{d:date}:h", "{m:month}:h"],
        &[
            ("42:h", Some(("{h:hex}:h", &["42"]))),
            ("42:b", Some(("{b:base58}:b", &["42"]))),
            ("42:i", Some(("{i:int}:i", &["42"]))),
            ("-42:i", Some(("{i:int}:i", &["-42"]))),
            ("10:b", None),
            ("cafe:i", None),
            ("2025-12-31:h", Some(("{d:date}:h", &["2025-12-31"]))),
            ("2025-12:h", Some(("{m:month}:h", &["2025-12"]))),
            ("2025-13:h", None),
        ],
    );
}

#[test]
fn the_braces_of_a_tag_are_no_part_of_the_value() {
    check(
        &["cart:{{{id:uint}}}:{x}", "cart:{{{w:a|b}}}:{x}", "cart:{id}:{x}", "cart:{{a}}:{x}"],
        &[
            ("cart:{7}:1", Some(("cart:{{{id:uint}}}:{x}", &["7", "1"]))),
            ("cart:{b}:1", Some(("cart:{{{w:a|b}}}:{x}", &["b", "1"]))),
            ("cart:{a}:1", Some(("cart:{{a}}:{x}", &["1"]))),
            ("cart:{c}:1", Some(("cart:{id}:{x}", &["{c}", "1"]))),
            ("cart:{}:1", Some(("cart:{id}:{x}", &["{}", "1"]))),
            ("cart:7:1", Some(("cart:{id}:{x}", &["7", "1"]))),
        ],
    );
}

#[test]
fn long_words_that_differ_only_in_the_middle_are_different() {
    let one = "beginning_one_of_a_very_long_word_of_more_than_sixty_four_bytes_ending";
    let two = "beginning_two_of_a_very_long_word_of_more_than_sixty_four_bytes_ending";
    let six = one.replace("one", "six");
    check(
        &[one, two, "{x}"],
        &[(one, Some((one, &[]))), (two, Some((two, &[]))), (&six, Some(("{x}", &[&six])))],
    );
}

#[test]
fn keys_have_any_bytes_and_any_number_of_segments() {
    let widest = vec!["a"; MAX_SEGMENTS - 1].join(":") + ":{x}";
    let patterns = parse(&["b:{x}", &widest, "c:{r:rest}", ":{x}"]);
    let matcher = Matcher::new(&patterns).expect("disjoint patterns");
    let find =
        |key: &[u8]| matcher.find(key).map(|found| (found.pattern, found.placeholder(0).to_vec()));
    assert_eq!(find(b"b:\xff\0"), Some((0, b"\xff\0".to_vec())));
    assert_eq!(find(b":\n"), Some((3, b"\n".to_vec())));
    assert_eq!(find(&patterns[1].fill(&["z"])), Some((1, b"z".to_vec())));
    assert_eq!(find(&[&patterns[1].fill(&["z"])[..], b":z"].concat()), None);
    assert_eq!(find(&b"a:".repeat(1_000)), None);
    assert_eq!(find(&[&b"c:"[..], &b":".repeat(1_000)].concat()), Some((2, b":".repeat(1_000))));
    assert_eq!(find(b""), None);
    assert_eq!(find(b":"), None);

    let value = vec![b'x'; 1 << 20];
    assert_eq!(find(&[b"b:", &value[..]].concat()), Some((0, value.clone())));
    assert_eq!(find(&[b"b:", &value[..], b":"].concat()), None);
}

#[test]
fn no_patterns_match_nothing() {
    let matcher = Matcher::new(&[]).expect("nothing to tell apart");
    assert!(matcher.find(b"").is_none());
    assert!(matcher.find(b"a:b").is_none());
}

#[test]
fn patterns_that_contradict_each_other_are_refused() {
    let check = |patterns: [&str; 3], expected: [usize; 2]| match error(&patterns) {
        MatcherError::Conflict { first, second } => {
            assert_eq!([first.index, second.index], expected, "{patterns:?}");
            assert_eq!(*first.text, *patterns[first.index]);
        }
        other => panic!("{other} of {patterns:?}"),
    };
    check(["user:{id}", "x", "user:{name}"], [0, 2]);
    check(["x", "a:{x}:b", "a:c:{y}"], [1, 2]);
    check(["a:{r:rest}", "{x}:b:{r:rest}", "x"], [0, 1]);
    check(["a:{x:b|c}", "a:{x:c|d}", "a:{x}"], [0, 1]);
    check(["{x}:b:c", "a:{r:rest}", "a:b:c:d"], [0, 1]);
    // All that the first two share belongs to a third, and still they conflict.
    check(["{x}:b", "a:{y}", "a:b"], [0, 1]);
}

/// Each pattern excludes one letter of its own wherever it stands, so every
/// selection of letters leaves another set of patterns.
#[test]
fn patterns_that_burst_the_automaton_are_refused() {
    let texts: Vec<String> = ('a'..='z')
        .map(|own| {
            let others: Vec<String> =
                ('a'..='z').filter(|&letter| letter != own).map(String::from).collect();
            let places = (0..10).map(|place| format!("{{p{place}:{}}}:", others.join("|")));
            places.collect::<String>() + &own.to_string()
        })
        .collect();
    match error(&texts.iter().map(String::as_str).collect::<Vec<_>>()) {
        MatcherError::Entangled { patterns } => {
            assert!(patterns.len() > 1);
            assert!(patterns.iter().all(|named| *named.text == *texts[named.index]));
        }
        other => panic!("{other}"),
    }
}

/// As many forms of a segment as a key may be held against, and one more.
#[test]
fn forms_of_a_segment_have_their_bound() {
    let forms = |count: usize| -> Vec<String> {
        (1..=count).map(|length| format!("{}{{x}}", "a".repeat(length))).collect()
    };
    let texts = forms(MAX_CANDIDATES + 1);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let parsed = parse(&texts[..MAX_CANDIDATES]);
    let matcher = Matcher::new(&parsed).expect("as many as there may be");
    for length in 1..=MAX_CANDIDATES {
        let key = format!("{}!", "a".repeat(length));
        let found = matcher.find(key.as_bytes()).map(|found| found.pattern);
        assert_eq!(found, Some(length - 1), "{key}");
    }
    match error(&texts) {
        MatcherError::Entangled { patterns } => assert_eq!(patterns.len(), texts.len()),
        other => panic!("{other}"),
    }
}

/// As many patterns with a tail as one key may be held against, and one more.
#[test]
fn tails_of_a_key_have_their_bound() {
    let texts: Vec<String> = (0..=MAX_TAILS).map(|end| format!("{{r:rest}}.{end}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let parsed = parse(&texts[..MAX_TAILS]);
    let matcher = Matcher::new(&parsed).expect("as many as there may be");
    for end in 0..=MAX_TAILS {
        let key = format!("a:b.{end}");
        let found = matcher.find(key.as_bytes()).map(|found| found.pattern);
        assert_eq!(found, (end < MAX_TAILS).then_some(end), "{key}");
    }
    match error(&texts) {
        MatcherError::Entangled { patterns } => assert_eq!(patterns.len(), texts.len()),
        other => panic!("{other}"),
    }
}

/// Tails that begin with text are found by it, so there may be more of them.
#[test]
fn tails_that_begin_with_text_are_found_by_it() {
    let texts: Vec<String> = (0..=2 * MAX_TAILS).map(|own| format!("{own}.{{r:rest}}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let parsed = parse(&texts);
    let matcher = Matcher::new(&parsed).expect("one key is held against one of them");
    for (own, text) in texts.iter().enumerate() {
        for key in [format!("{own}.a"), format!("{own}.a:b"), format!("{own}.:")] {
            let found = matcher.find(key.as_bytes()).map(|found| found.pattern);
            assert_eq!(found, Some(own), "{key} of {text}");
        }
        assert!(matcher.find(format!("{own}.").as_bytes()).is_none());
    }
    check(
        &["hu{r:rest}", "huey:a", "huey.r.{k:rest}", "{x:uint}:c"],
        &[
            ("huey:a", Some(("huey:a", &[]))),
            ("huey", Some(("hu{r:rest}", &["ey"]))),
            ("huey:b", Some(("hu{r:rest}", &["ey:b"]))),
            ("hu", None),
            ("huey.r.", Some(("hu{r:rest}", &["ey.r."]))),
            ("huey.r.:", Some(("huey.r.{k:rest}", &[":"]))),
            ("h:huey.r.x", None),
        ],
    );
}

/// The definition: of all patterns that accept the key, the one within all others.
fn naive(patterns: &[Pattern], key: &[u8]) -> Option<usize> {
    let accepting: Vec<usize> =
        (0..patterns.len()).filter(|&index| patterns[index].accepts(key)).collect();
    accepting.iter().copied().find(|&index| {
        accepting.iter().all(|&other| {
            other == index || relate(&patterns[index], &patterns[other]).0 == Relation::Subset
        })
    })
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

const VALUES: [&str; 28] = [
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
];

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
    prop::collection::vec(pattern, 1..60).prop_map(|candidates| {
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
    })
}

/// What a key is made of before the patterns are known.
#[derive(Clone, Debug)]
enum Recipe {
    Filled { pattern: prop::sample::Index, values: Vec<&'static str>, suffix: &'static str },
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
            Recipe::Filled { values, .. } | Recipe::Joined(values) => values.join(":").into_bytes(),
            Recipe::Bytes(bytes) => bytes.clone(),
        }
    }
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let values = |count| prop::collection::vec(select(&VALUES[..]), count);
    let suffix = prop_oneof![8 => Just(""), 1 => Just(":"), 1 => Just(":a"), 1 => Just("x")];
    prop_oneof![
        3 => (any::<prop::sample::Index>(), values(5..6), suffix)
            .prop_map(|(pattern, values, suffix)| Recipe::Filled { pattern, values, suffix }),
        1 => values(0..7).prop_map(Recipe::Joined),
        1 => prop::collection::vec(select(&b":::aab0{}-4\xff"[..]), 0..40).prop_map(Recipe::Bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn finds_what_the_definition_says(
        patterns in legal_patterns(),
        recipes in prop::collection::vec(recipe(), 100),
    ) {
        let matcher = Matcher::new(&patterns).expect("legal patterns");
        for recipe in recipes {
            let key = recipe.cook(&patterns);
            let found = matcher.find(&key);
            let shown = key.escape_ascii().to_string();
            prop_assert_eq!(
                found.as_ref().map(|found| found.pattern), naive(&patterns, &key), "{}", shown
            );
            if let Some(found) = found {
                let values: Vec<&[u8]> = found.placeholders().collect();
                let pattern = &patterns[found.pattern];
                prop_assert_eq!(values.len(), pattern.placeholders().len());
                prop_assert_eq!(&pattern.fill(&values), &key, "{}", pattern);
                for (value, placeholder) in values.iter().zip(pattern.placeholders()) {
                    prop_assert!(placeholder.kind.accepts(value), "{} in {}", shown, pattern);
                }
            }
        }
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
fn values_of(kind: &Kind) -> &'static [&'static str] {
    match kind {
        Kind::Uint => &["0", "42"],
        Kind::Uuid => &["123e4567-e89b-12d3-a456-426614174000"],
        Kind::Hex => &["cafe", "0"],
        Kind::Ip => &["1.2.3.4", "255.0.10.1", "::1", "2001:db8::8a2e:370:7334"],
        Kind::Enum(_) => &["second", "minute"],
        Kind::Text(text) => match text.length() {
            Some(2) => &["12", "00"],
            Some(8) => &["20251231"],
            Some(_) => &["c0fe", "1234"],
            None => &["a", "rt", "Shop_1", "lock"],
        },
        _ => &["x", "a.lock.b", "a.rl.b.w", "/7/minute", "a:b", ":", ".c0fe", "rt:x", "a::b"],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any of the patterns together, and keys of all of them, whole or with a byte changed, put in
    /// or taken out.
    #[test]
    fn finds_what_the_definition_says_of_patterns_of_programs(
        texts in prop::sample::subsequence(OF_PROGRAMS.to_vec(), 1..=OF_PROGRAMS.len()),
        recipes in prop::collection::vec(
            (select(&OF_PROGRAMS[..]), prop::array::uniform5(any::<prop::sample::Index>()),
             0..6_u8, any::<prop::sample::Index>(), select(&b":.-/ax0{"[..])),
            400,
        ),
    ) {
        let patterns = parse(&texts);
        let matcher = Matcher::new(&patterns).expect("patterns that stand side by side");
        for (text, choices, change, at, byte) in recipes {
            let pattern = Pattern::parse(text).expect(text);
            let chosen = pattern.placeholders().iter().zip(&choices);
            let values: Vec<&str> =
                chosen.map(|(own, choice)| *choice.get(values_of(&own.kind))).collect();
            let mut key = pattern.fill(&values);
            let at = at.index(key.len());
            match change {
                0 => key[at] = byte,
                1 => key.insert(at, byte),
                2 => drop(key.remove(at)),
                3 => key.truncate(at),
                _ => {}
            }
            let found = matcher.find(&key);
            let shown = key.escape_ascii().to_string();
            prop_assert_eq!(
                found.as_ref().map(|found| found.pattern), naive(&patterns, &key), "{}", shown
            );
            if let Some(found) = found {
                let read = patterns[found.pattern].read(&key).expect("it is accepted");
                prop_assert!(found.placeholders().eq(read.iter().copied()), "{}", shown);
            }
        }
    }
}
