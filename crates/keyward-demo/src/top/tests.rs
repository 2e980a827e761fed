use super::*;
use crate::output::Screen;

fn pattern(pattern: &str, keys: u64, hits: u64, writes: u64) -> Pattern {
    let (keyspace, bytes) = ("shop".to_owned(), keys * 100);
    Pattern {
        keyspace,
        pattern: pattern.to_owned(),
        keys,
        bytes,
        hits,
        writes,
        ..Pattern::default()
    }
}

/// A table after two seconds in which each pattern was read twice as often as it has keys.
fn table() -> Top {
    let mut top = Top::new(Column::Memory, "");
    let start = Instant::now();
    let of = |hits: u64| {
        let patterns = [("user:{id}", 20), ("page:{name}", 500), ("cart:{id}", 3)];
        patterns.map(|(text, keys)| pattern(text, keys, hits * keys, 0)).to_vec()
    };
    top.take(of(0), start);
    top.take(of(4), start + Duration::from_secs(2));
    top
}

/// The first words of the lines below the heads.
fn names(top: &Top) -> Vec<String> {
    let drawn = top.draw("here", None);
    let first = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    drawn.lines().skip(1).map(first).collect()
}

#[test]
fn rows_are_sorted_and_the_other_way_round() {
    let mut top = table();
    assert_eq!(names(&top), ["page:{name}", "user:{id}", "cart:{id}"]);
    top.press(Key::Text('r'));
    assert_eq!(names(&top), ["cart:{id}", "user:{id}", "page:{name}"]);
    top.press(Key::Left);
    top.press(Key::Left);
    assert_eq!(names(&top), ["cart:{id}", "page:{name}", "user:{id}"], "by their names");
    assert!(top.draw("here", None).contains("pattern↑"));
}

#[test]
fn rates_are_since_the_last_figures() {
    let drawn = table().draw("here", None);
    let line = drawn.lines().find(|line| line.starts_with("page:")).expect("a line");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        words,
        ["page:{name}", "500", "48.8", "kB", "1,000", "0", "100", "%", "0", "0", "0", "0"]
    );
}

#[test]
fn a_filter_is_typed_kept_and_cleared() {
    let mut top = table();
    "/USER".chars().for_each(|sign| assert_eq!(top.press(Key::Text(sign)), Wish::GoOn));
    assert_eq!(names(&top), ["user:{id}"]);
    top.press(Key::Enter);
    assert_eq!(top.press(Key::Text('j')), Wish::GoOn);
    assert_eq!(names(&top), ["user:{id}"], "it is kept");
    top.press(Key::Escape);
    assert_eq!(names(&top).len(), 3);
    "/q".chars().for_each(|sign| assert_eq!(top.press(Key::Text(sign)), Wish::GoOn));
    top.press(Key::Escape);
    assert_eq!(top.press(Key::Text('q')), Wish::End);
}

#[test]
fn one_pattern_is_shown_in_detail_and_stays_chosen() {
    let mut top = table();
    top.press(Key::Down);
    top.press(Key::Enter);
    assert_eq!(top.detailed(), Some((0, "shop", "user:{id}")));
    top.tell(vec![("Lifetime".to_owned(), vec!["\u{1b}[31mone hour".to_owned()])]);
    let screen = Some(Screen { columns: 80, rows: 40 });
    let drawn = top.draw("here", screen);
    assert!(drawn.contains("user:{id}") && drawn.contains("40 a second, 100 % found"), "{drawn}");
    assert!(drawn.contains("Lifetime") && drawn.contains("one hour"), "{drawn}");
    assert!(!drawn.contains("\u{1b}[31mone"), "{drawn}");
    assert_eq!(top.press(Key::Text('q')), Wish::GoOn, "back to the table");
    assert_eq!(top.detailed(), None);
}

#[test]
fn names_are_whole_where_there_is_no_screen() {
    let (long, keyspace) =
        (format!("{}:{{id}}", "long:".repeat(40)), "a-keyspace-with-a-long-name");
    let mut top = Top::new(Column::Memory, "");
    let other = Pattern { keyspace: keyspace.to_owned(), ..pattern("other", 1, 0, 0) };
    top.take(vec![pattern(&long, 2, 0, 0), other], Instant::now());
    let drawn = top.draw("here", None);
    assert!(drawn.contains(&long) && drawn.contains(keyspace), "{drawn}");
    let narrow = top.draw("here", Some(Screen { columns: 120, rows: 10 }));
    assert!(!narrow.contains(&long), "{narrow}");
}

#[test]
fn a_screen_is_never_overrun() {
    let mut top = table();
    for is_detailed in [false, true] {
        for (columns, rows) in [(200, 50), (80, 24), (40, 5), (20, 3), (8, 2), (1, 1)] {
            let drawn = top.draw("127.0.0.1:6379", Some(Screen { columns, rows }));
            let plain = |line: &str| {
                let mut rest = line;
                let mut text = String::new();
                while let Some((before, behind)) = rest.split_once('\u{1b}') {
                    text.push_str(before);
                    rest = behind.split_once('m').map_or("", |(_, rest)| rest);
                }
                text + rest
            };
            for line in drawn.lines() {
                assert!(plain(line).chars().count() <= columns, "{columns}: {line:?}");
            }
            assert!(drawn.lines().count() <= rows.max(1), "{rows}: {drawn}");
        }
        top.press(if is_detailed { Key::Escape } else { Key::Enter });
    }
}

#[test]
fn details_are_of_a_pattern_that_the_filter_shows() {
    let mut top = table();
    "/cart".chars().for_each(|sign| assert_eq!(top.press(Key::Text(sign)), Wish::GoOn));
    top.press(Key::Enter);
    top.press(Key::Enter);
    assert_eq!(top.detailed(), Some((0, "shop", "cart:{id}")));
    let drawn = top.draw("here", Some(Screen { columns: 80, rows: 24 }));
    assert!(drawn.contains("(shop, database 0)"), "{drawn}");
}

#[test]
fn details_can_be_scrolled_to_their_end() {
    let mut top = table();
    top.press(Key::Enter);
    top.tell((0..20).map(|at| (format!("Fact {at}"), vec![format!("line {at}")])).collect());
    let screen = Some(Screen { columns: 80, rows: 24 });
    let drawn = top.draw("here", screen);
    assert!(drawn.contains("keys") && !drawn.contains("line 19"), "{drawn}");
    (0..20).for_each(|_| assert_eq!(top.press(Key::Text(' ')), Wish::GoOn));
    let drawn = top.draw("here", screen);
    assert!(drawn.contains("line 19") && !drawn.contains("line 1\n"), "{drawn}");
    assert_eq!(drawn.lines().count(), 24, "{drawn}");
    (0..40).for_each(|_| assert_eq!(top.press(Key::Text('b')), Wish::GoOn));
    assert!(top.draw("here", screen).contains("(shop, database 0)"), "back at the beginning");
}

#[test]
fn patterns_that_differ_at_their_ends_are_told_apart_and_keyspaces_where_there_are_several() {
    let mut top = Top::new(Column::Pattern, "");
    let long = "customer:{customer_id:uuid}:settings:notifications:";
    let of = |end: &str| pattern(&format!("{long}{end}"), 1, 0, 0);
    top.take(vec![of("email"), of("phone")], Instant::now());
    let screen = Some(Screen { columns: 80, rows: 24 });
    let drawn = top.draw("here", screen);
    assert!(drawn.contains("ns:email ") && drawn.contains("ns:phone "), "{drawn}");
    assert!(!drawn.contains("keyspace"), "{drawn}");
    let other = Pattern { keyspace: "social".to_owned(), ..of("email") };
    top.take(vec![of("email"), other], Instant::now());
    let drawn = top.draw("here", Some(Screen { columns: 120, rows: 24 }));
    assert!(drawn.contains("keyspace") && drawn.contains("social    customer:{"), "{drawn}");
}

#[test]
fn lines_of_info_are_read() {
    let text = "# Patterns\r\ndb1_keyspace0:keyspace=social,bytes=1\r\n\
        db14_pattern0:pattern=a,b={id},keys=4,bytes=32,expected=9,expires=2,avg_ttl=500,\
        reads=5,hits=3,misses=2,hit_ratio=0.6000,writes=7,refused=1,keyspace=x,y\r\n";
    let read = read_info(text);
    let expected = Pattern {
        db: 14,
        keyspace: "x,y".to_owned(),
        pattern: "a,b={id}".to_owned(),
        keys: 4,
        expected: 9,
        bytes: 32,
        expiring: 2,
        remaining_ms: 500,
        hits: 3,
        misses: 2,
        writes: 7,
        refused: 1,
        ..Pattern::default()
    };
    assert_eq!(read, [expected]);
}
