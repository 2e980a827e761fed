//! The matcher, case by case.

use keyward_schema::{MAX_CANDIDATES, MAX_SEGMENTS, MAX_TAILS, Matcher, MatcherError, Pattern};

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
        MatcherError::Entangled { patterns, .. } => {
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
        MatcherError::Entangled { patterns, .. } => assert_eq!(patterns.len(), texts.len()),
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
        MatcherError::Entangled { patterns, .. } => assert_eq!(patterns.len(), texts.len()),
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
