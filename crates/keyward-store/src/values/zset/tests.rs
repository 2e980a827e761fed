//! Both forms of a sorted set against a plain sorted list.

use super::*;
use proptest::prelude::*;

fn growth(packed_entries_max: usize) -> Growth {
    let hasher = KeyHasher::new([1, 2]);
    Growth { packed_entries_max, packed_member_bytes_max: 64, hasher }
}

fn set(zset: &mut ZSet, growth: &Growth, member: &[u8], score: f64) {
    zset.update(growth, member, |_| Some(score));
}

fn of(growth: &Growth, pairs: &[(&str, f64)]) -> ZSet {
    let mut zset = ZSet::default();
    for (member, score) in pairs {
        set(&mut zset, growth, member.as_bytes(), *score);
    }
    zset
}

fn members(zset: &ZSet, ranks: Range<usize>) -> Vec<String> {
    zset.iter(ranks).map(|(member, _)| String::from_utf8_lossy(member).into_owned()).collect()
}

#[test]
fn a_sorted_set_is_one_word() {
    assert_eq!(size_of::<Option<ZSet>>(), 8);
}

#[test]
fn one_entry_too_many_or_a_long_member_ends_the_packing_for_good() {
    let growth = growth(3);
    let mut zset = of(&growth, &[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
    assert_eq!(zset.encoding(), "listpack");
    set(&mut zset, &growth, b"d", 0.0);
    assert_eq!((zset.encoding(), zset.len()), ("skiplist", 4));
    zset.remove_ranks(0..3);
    assert_eq!((zset.encoding(), zset.len()), ("skiplist", 1));

    let mut zset = of(&growth, &[("a", 1.0)]);
    set(&mut zset, &growth, &[b'x'; 64], 1.0);
    assert_eq!(zset.encoding(), "listpack");
    set(&mut zset, &growth, &[b'x'; 65], 1.0);
    assert_eq!(zset.encoding(), "skiplist");
}

#[test]
fn minus_zero_equals_zero_in_order() {
    for growth in [growth(128), growth(0)] {
        let zset = of(&growth, &[("b", -0.0), ("a", 0.0), ("c", -0.0)]);
        assert_eq!(members(&zset, 0..3), ["a", "b", "c"]);
    }
}

#[test]
fn spans_of_members_begin_and_end_where_the_cuts_say() {
    let pairs = ["alpha", "bar", "cool", "down", "elephant", "foo"].map(|member| (member, 0.0));
    for growth in [growth(128), growth(0)] {
        let zset = of(&growth, &pairs);
        let cases = [
            ([Cut::Start, Cut::AfterMember(b"cool")], 0..3),
            ([Cut::AfterMember(b"bar"), Cut::BeforeMember(b"down")], 2..3),
            ([Cut::BeforeMember(b"bar"), Cut::End], 1..6),
            ([Cut::BeforeMember(b"x"), Cut::End], 0..0),
            ([Cut::BeforeMember(b"down"), Cut::AfterMember(b"bar")], 0..0),
        ];
        for (cuts, expected) in cases {
            for direction in [Direction::Forward, Direction::Reverse] {
                let span = zset.span(cuts, direction);
                assert_eq!(span.len(), expected.len(), "{cuts:?}");
                assert!(span.is_empty() || span == expected, "{cuts:?}");
            }
        }
    }
}

#[test]
fn a_copy_shares_nothing() {
    for growth in [growth(128), growth(0)] {
        let mut zset = of(&growth, &[("a", 1.0), ("b", 2.0)]);
        let copy = zset.clone();
        zset.remove(b"a");
        set(&mut zset, &growth, b"b", 9.0);
        drop(zset);
        assert_eq!((copy.score(b"a"), copy.score(b"b")), (Some(1.0), Some(2.0)));
    }
}

#[test]
fn a_set_made_in_order_takes_the_form_its_members_ask_for() {
    let long = "x".repeat(65);
    let cases = [
        (vec!["a", "b", "c"], "listpack"),
        (vec!["a", "b", "c", "d"], "skiplist"),
        (vec!["a", &long], "skiplist"),
    ];
    for (names, encoding) in cases {
        let pairs: Vec<(&[u8], f64)> = names.iter().map(|name| (name.as_bytes(), 1.5)).collect();
        let zset = ZSet::from_ordered(&growth(3), pairs.iter().copied());
        assert_eq!(zset.encoding(), encoding);
        assert_eq!(zset.iter(0..zset.len()).collect::<Vec<_>>(), pairs);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Set(u8, i8),
    Increase(u8, i8),
    Remove(u8),
    RemoveRanks(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (any::<u8>(), -9i8..9).prop_map(|(member, score)| Step::Set(member, score)),
        2 => (any::<u8>(), -3i8..3).prop_map(|(member, by)| Step::Increase(member, by)),
        2 => any::<u8>().prop_map(Step::Remove),
        1 => (any::<usize>(), 0usize..5).prop_map(|(at, length)| Step::RemoveRanks(at, length)),
    ]
}

fn name(number: u8) -> Vec<u8> {
    format!("member:{number}").into_bytes()
}

proptest! {
    #[test]
    fn a_sorted_set_agrees_with_a_sorted_list(
        steps in proptest::collection::vec(step(), 0..400),
        packed_entries_max in prop_oneof![Just(0usize), Just(20), Just(1_000)],
    ) {
        let growth = growth(packed_entries_max);
        let mut zset = ZSet::default();
        let mut model: Vec<(i64, Vec<u8>)> = Vec::new();
        for step in steps {
            match step {
                Step::Set(member, score) => {
                    let (member, score) = (name(member), i64::from(score));
                    let old = model.iter().position(|(_, m)| *m == member);
                    let expected = match old.map(|at| model.remove(at).0) {
                        None => Change::Added,
                        Some(old) if old == score => Change::None,
                        Some(_) => Change::Rescored,
                    };
                    let change = zset.update(&growth, &member, |_| Some(score as f64));
                    prop_assert_eq!(change, expected);
                    model.push((score, member));
                }
                Step::Increase(member, by) => {
                    let member = name(member);
                    let by = i64::from(by);
                    zset.update(&growth, &member, |old| old.map(|old| old + by as f64));
                    if let Some(pair) = model.iter_mut().find(|(_, m)| *m == member) {
                        pair.0 += by;
                    }
                }
                Step::Remove(member) => {
                    let member = name(member);
                    let at = model.iter().position(|(_, m)| *m == member);
                    prop_assert_eq!(zset.remove(&member), at.is_some());
                    at.map(|at| model.remove(at));
                }
                Step::RemoveRanks(at, length) => {
                    let start = at % (model.len() + 1);
                    let ranks = start..(start + length).min(model.len());
                    zset.remove_ranks(ranks.clone());
                    model.drain(ranks);
                }
            }
            model.sort();
            prop_assert_eq!(zset.len(), model.len());
        }
        for (rank, (score, member)) in model.iter().enumerate() {
            prop_assert_eq!(zset.rank_of(member), Some(rank));
            prop_assert_eq!(zset.score(member), Some(*score as f64));
            prop_assert_eq!(zset.at(rank), (&**member, *score as f64));
        }
        let (start, end) = (model.len() / 4, model.len() / 4 * 3);
        let forward: Vec<&[u8]> = zset.iter(start..end).map(|(member, _)| member).collect();
        let expected: Vec<&[u8]> = model[start..end].iter().map(|(_, m)| &**m).collect();
        prop_assert_eq!(&forward, &expected);
        let mut backward: Vec<&[u8]> = zset.iter(start..end).rev().map(|(m, _)| m).collect();
        backward.reverse();
        prop_assert_eq!(&backward, &expected);
        for score in -10i64..10 {
            let cuts = [Cut::BeforeScore(score as f64), Cut::AfterScore(score as f64 + 2.0)];
            let inside = |(s, _): &&(i64, Vec<u8>)| (score..=score + 2).contains(s);
            let expected = model.iter().filter(inside).count();
            prop_assert_eq!(zset.span(cuts, Direction::Forward).len(), expected);
        }
        let mut seen = 0;
        let mut cursor = zset.scan(0, |_, _| seen += 1);
        while cursor != 0 {
            cursor = zset.scan(cursor, |_, _| seen += 1);
        }
        prop_assert_eq!(seen, model.len());
    }
}
