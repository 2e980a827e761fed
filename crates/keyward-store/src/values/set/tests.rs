//! Sets against a naive model, in every form and across the switches.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const GROWTH: Growth = Growth { intset_members_max: 512, hasher: KeyHasher::new([1, 2]) };

fn texts(set: &Set) -> BTreeSet<Vec<u8>> {
    set.iter().map(|member| member.text().as_bytes().to_vec()).collect()
}

fn add(set: &mut Set, text: &str) -> bool {
    set.add(&GROWTH, Item::of(text.as_bytes()))
}

fn numbers(count: usize) -> Set {
    let mut set = Set::default();
    for number in 0..count {
        assert!(add(&mut set, &number.to_string()));
    }
    set
}

#[test]
fn numbers_are_an_intset_up_to_the_limit() {
    let mut set = numbers(512);
    assert_eq!(set.encoding(), "intset");
    assert!(!add(&mut set, "511"));
    assert_eq!(set.encoding(), "intset");
    assert!(add(&mut set, "512"));
    assert_eq!((set.encoding(), set.len()), ("hashtable", 513));
}

#[test]
fn a_member_that_is_no_number_makes_a_hashtable_for_good() {
    let mut set = numbers(10);
    assert!(add(&mut set, "007"));
    assert_eq!((set.encoding(), set.len()), ("hashtable", 11));
    assert!(set.remove(Item::Bytes(b"007")));
    assert_eq!((set.encoding(), set.len()), ("hashtable", 10));
    assert!(set.contains(Item::Int(9)));
}

#[test]
fn without_room_for_numbers_there_is_no_intset() {
    let growth = Growth { intset_members_max: 0, ..GROWTH };
    let mut set = Set::default();
    assert!(set.add(&growth, Item::Int(1)));
    assert_eq!(set.encoding(), "hashtable");
}

#[test]
fn a_small_set_is_one_short_run() {
    let mut set = Set::default();
    for member in 0..10 {
        add(&mut set, &format!("member:{member:03}"));
    }
    assert!(matches!(set.word.form(), Form::Small(run) if run.len() == 1 + 10 * 11));
}

#[test]
fn few_long_or_many_members_are_indexed() {
    let is_indexed = |set: &Set| matches!(set.word.form(), Form::Large(_));
    let mut set = Set::default();
    for member in 0..PACKED_MEMBERS_MAX {
        add(&mut set, &format!("m{member}"));
    }
    assert!(!is_indexed(&set));
    add(&mut set, "one more");
    assert!(is_indexed(&set));
    let mut set = Set::default();
    add(&mut set, &"x".repeat(PACKED_MEMBER_BYTES_MAX));
    assert!(!is_indexed(&set));
    add(&mut set, &"x".repeat(PACKED_MEMBER_BYTES_MAX + 1));
    assert!(is_indexed(&set));
}

#[test]
fn every_member_is_drawn_about_equally_often() {
    let mut random = Random::from_seed(3);
    for (count, prefix) in [(20, ""), (20, "m"), (600, "m")] {
        let mut set = Set::default();
        for member in 0..count {
            add(&mut set, &format!("{prefix}{member}"));
        }
        let mut drawn = std::collections::BTreeMap::new();
        for _ in 0..count * 200 {
            *drawn.entry(set.sample(&mut random)).or_insert(0) += 1;
        }
        assert_eq!(drawn.len(), count);
        assert!(drawn.values().all(|times| (100..350).contains(times)), "{drawn:?}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add(String),
    Remove(String),
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..90u32).prop_map(|number| number.to_string()),
        2 => (0..90u32).prop_map(|number| format!("m{number}")),
        1 => any::<i64>().prop_map(|number| number.to_string()),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => member().prop_map(Step::Add),
        2 => member().prop_map(Step::Remove),
    ];
    proptest::collection::vec(step, 0..300)
}

proptest! {
    #[test]
    fn sets_change_as_a_naive_set_does(steps in steps(), intset_members_max in 0usize..100) {
        let growth = Growth { intset_members_max, ..GROWTH };
        let (mut set, mut model) = (Set::default(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Add(text) => {
                    let member = Item::of(text.as_bytes());
                    prop_assert_eq!(set.add(&growth, member), model.insert(text.clone().into_bytes()));
                    prop_assert!(set.contains(member));
                }
                Step::Remove(text) => {
                    let member = Item::of(text.as_bytes());
                    prop_assert_eq!(set.remove(member), model.remove(text.as_bytes()));
                    prop_assert!(!set.contains(member));
                }
            }
            prop_assert_eq!((set.len(), set.is_empty()), (model.len(), model.is_empty()));
        }
        prop_assert_eq!(texts(&set), model.clone());
        prop_assert_eq!(texts(&set.clone()), model.clone());
        let (mut scanned, mut cursor) = (BTreeSet::new(), 0);
        loop {
            cursor = set.scan(cursor, |member| {
                scanned.insert(member.text().as_bytes().to_vec());
            });
            if cursor == 0 { break; }
        }
        prop_assert_eq!(scanned, model);
    }
}
