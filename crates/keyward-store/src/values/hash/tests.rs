//! Hashes against a naive model, in both forms and across the switch.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const GROWTH: Growth =
    Growth { packed_fields_max: 128, packed_text_bytes_max: 64, hasher: KeyHasher::new([1, 2]) };

fn set(hash: &mut Hash, field: &str, value: &str) -> bool {
    hash.set(&GROWTH, (Item::of(field.as_bytes()), Item::of(value.as_bytes())))
}

fn text(item: Item<'_>) -> String {
    String::from_utf8(item.text().as_bytes().to_vec()).unwrap()
}

fn pairs(hash: &Hash) -> Vec<(String, String)> {
    hash.iter().map(|(field, value)| (text(field), text(value))).collect()
}

fn filled(count: usize) -> Hash {
    let mut hash = Hash::default();
    for field in 0..count {
        assert!(set(&mut hash, &format!("field:{field}"), &field.to_string()));
    }
    hash
}

#[test]
fn a_small_hash_keeps_the_order_of_its_fields() {
    let mut hash = Hash::default();
    for (field, value) in [("b", "1"), ("a", "2"), ("10", "x"), ("b", "longer"), ("a", "3")] {
        set(&mut hash, field, value);
    }
    let shown = pairs(&hash);
    let shown: Vec<(&str, &str)> = shown.iter().map(|(f, v)| (&**f, &**v)).collect();
    assert_eq!(shown, [("b", "longer"), ("a", "3"), ("10", "x")]);
}

#[test]
fn the_number_of_fields_decides_the_form() {
    let mut hash = filled(128);
    set(&mut hash, "field:0", "again");
    assert_eq!(hash.encoding(), "listpack");
    set(&mut hash, "one more", "");
    assert_eq!((hash.encoding(), hash.len()), ("hashtable", 129));
    hash.remove(Item::Bytes(b"one more"));
    assert_eq!(hash.encoding(), "hashtable");
}

#[test]
fn a_long_field_or_value_decides_the_form() {
    let (longest, longer) = ("x".repeat(64), "x".repeat(65));
    for (field, value, encoding) in [
        (&*longest, &*longest, "listpack"),
        (&*longer, "1", "hashtable"),
        ("1", &*longer, "hashtable"),
    ] {
        let mut hash = filled(3);
        assert!(set(&mut hash, field, value));
        assert_eq!(hash.encoding(), encoding);
        assert_eq!(hash.get(Item::of(field.as_bytes())).map(text).as_deref(), Some(value));
    }
}

#[test]
fn an_update_after_the_limit_was_lowered_leaves_the_compact_form() {
    let mut hash = filled(20);
    let lowered = Growth { packed_fields_max: 10, ..GROWTH };
    assert!(!hash.set(&lowered, (Item::Bytes(b"field:0"), Item::Int(1))));
    assert_eq!((hash.encoding(), hash.len()), ("hashtable", 20));
}

#[test]
fn every_field_is_drawn_about_equally_often_with_its_value() {
    let mut random = Random::from_seed(3);
    for count in [20, 600] {
        let hash = filled(count);
        let mut drawn = BTreeMap::new();
        for _ in 0..count * 200 {
            let (field, value) = hash.sample(&mut random);
            assert_eq!(text(field), format!("field:{}", text(value)));
            *drawn.entry(field).or_insert(0) += 1;
        }
        assert_eq!(drawn.len(), count);
        assert!(drawn.values().all(|times| (100..350).contains(times)), "{drawn:?}");
    }
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..40u32).prop_map(|number| number.to_string()),
        (0..40u32).prop_map(|number| format!("field{number}")),
    ]
}

fn content() -> impl Strategy<Value = String> {
    prop_oneof![any::<i64>().prop_map(|number| number.to_string()), "[a-z]{0,70}"]
}

proptest! {
    #[test]
    fn hashes_change_as_a_naive_map_does(
        steps in proptest::collection::vec((name(), proptest::option::weighted(0.6, content())), 0..200),
        packed_fields_max in 0usize..50,
    ) {
        let growth = Growth { packed_fields_max, ..GROWTH };
        let (mut hash, mut model) = (Hash::default(), BTreeMap::new());
        for (field, value) in steps {
            let name = Item::of(field.as_bytes());
            match value {
                Some(value) => {
                    let is_new = hash.set(&growth, (name, Item::of(value.as_bytes())));
                    prop_assert_eq!(is_new, model.insert(field.clone(), value).is_none());
                }
                None => prop_assert_eq!(hash.remove(name), model.remove(&field).is_some()),
            }
            prop_assert_eq!(hash.get(name).map(text), model.get(&field).cloned());
            prop_assert_eq!(hash.len(), model.len());
        }
        let sorted = |hash: &Hash| pairs(hash).into_iter().collect::<BTreeMap<_, _>>();
        prop_assert_eq!(sorted(&hash), model.clone());
        prop_assert_eq!(sorted(&hash.clone()), model.clone());
        let (mut scanned, mut cursor) = (BTreeMap::new(), 0);
        loop {
            cursor = hash.scan(cursor, |(field, value)| {
                scanned.insert(text(field), text(value));
            });
            if cursor == 0 { break; }
        }
        prop_assert_eq!(scanned, model);
    }
}
