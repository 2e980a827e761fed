//! Shapes against JSON: the one-pass reader against a slow model on a tree.
//!
//! Random shapes meet random trees, most of them made to fit; a tree is written
//! with random spacing and escapes. What JSON is at all is asked of serde_json.

#[path = "json/model.rs"]
mod model;
#[path = "json/random.rs"]
mod random;
#[path = "json/tree.rs"]
mod tree;

use keyward_schema::{MAX_JSON_DEPTH, Object, Shape, Type};
use proptest::prelude::*;

use model::fits;
use random::Generator;
use tree::Tree;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reader_and_the_model_agree(seed in any::<u64>()) {
        let random = &mut Generator::new(seed);
        let shape = random.shape(4);
        let tree = random.tree_for(&shape);
        let text = random.written(&tree);
        let found = shape.check_json(text.as_bytes());
        prop_assert_eq!(found.is_ok(), fits(&shape, &tree), "{} | {} | {:?}", shape, text, found);
    }

    #[test]
    fn declared_fields_come_by_with_their_values(seed in any::<u64>()) {
        let random = &mut Generator::new(seed);
        let object = random.object(2);
        let shape = Shape::of(Type::Object(object.clone()));
        let tree = random.tree_for(&shape);
        let text = random.written(&tree);
        let mut seen = Vec::new();
        let found = object.check_json(text.as_bytes(), |field| {
            seen.push((field.index, field.raw.to_vec(), field.text().into_owned()));
        });
        prop_assert_eq!(found.is_ok(), fits(&shape, &tree), "{} | {:?}", text, found);
        let Tree::Object(members) = &tree else { return Ok(()) };
        if found.is_err() {
            return Ok(());
        }
        let declared: Vec<_> = members
            .iter()
            .filter_map(|(name, value)| Some((object.field(name)?, value)))
            .collect();
        prop_assert_eq!(seen.len(), declared.len());
        for ((index, raw, text), (expected, value)) in seen.into_iter().zip(declared) {
            prop_assert_eq!(index, expected);
            let reread: serde_json::Value = serde_json::from_slice(&raw)?;
            prop_assert_eq!(&reread, &serde_json::from_str::<serde_json::Value>(&value.plain())?);
            match value {
                Tree::Text(plain) => prop_assert_eq!(text, plain.as_bytes()),
                _ => prop_assert_eq!(text, raw),
            }
        }
    }

    #[test]
    fn json_is_what_serde_json_takes(seed in any::<u64>()) {
        let random = &mut Generator::new(seed);
        let tree = random.tree(5);
        let mut bytes = random.written(&tree).into_bytes();
        for _ in 0..random.below(4) {
            random.mutate(&mut bytes);
        }
        let ours = Shape::of(Type::Json).check_json(&bytes);
        let theirs = serde_json::from_slice::<serde_json::Value>(&bytes);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert!(is_agreed(ours.is_ok(), &theirs), "{shown}: {ours:?}, {theirs:?}");
    }

    #[test]
    fn whatever_fits_a_shape_is_json(seed in any::<u64>()) {
        let random = &mut Generator::new(seed);
        let shape = random.shape(3);
        let tree = random.tree_for(&shape);
        let mut bytes = random.written(&tree).into_bytes();
        for _ in 0..=random.below(3) {
            random.mutate(&mut bytes);
        }
        if shape.check_json(&bytes).is_ok() {
            let theirs = serde_json::from_slice::<serde_json::Value>(&bytes);
            prop_assert!(is_agreed(true, &theirs), "{}: {theirs:?}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let ours = Shape::of(Type::Json).check_json(&bytes);
        let theirs = serde_json::from_slice::<serde_json::Value>(&bytes);
        prop_assert!(is_agreed(ours.is_ok(), &theirs), "{bytes:?}");
    }
}

/// Whether both accept, or the difference is a deliberate one: numbers beyond
/// a float, which a shape that leaves them open does not read, and halves of
/// surrogate pairs, which Python's and JavaScript's writers let through.
fn is_agreed(ours: bool, theirs: &Result<serde_json::Value, serde_json::Error>) -> bool {
    match theirs {
        Ok(_) => ours,
        Err(error) => {
            let told = error.to_string();
            let is_deliberate = told.starts_with("number out of range")
                || told.starts_with("lone leading surrogate")
                || told.starts_with("unexpected end of hex escape");
            !ours || is_deliberate
        }
    }
}

#[test]
fn open_json_nests_one_level_deeper_than_serde_json() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let ours = |depth| Shape::of(Type::Json).check_json(nested(depth).as_bytes()).is_ok();
    let theirs = |depth| serde_json::from_str::<serde_json::Value>(&nested(depth)).is_ok();
    assert!(ours(MAX_JSON_DEPTH) && !ours(MAX_JSON_DEPTH + 1));
    assert!(theirs(MAX_JSON_DEPTH - 1) && !theirs(MAX_JSON_DEPTH));
}

#[test]
fn a_value_that_is_no_object_is_told_as_such() {
    let told = |text: &str| {
        let found = Object::default().check_json(text.as_bytes(), |_| {});
        found.map_err(|misfit| misfit.to_string())
    };
    assert_eq!(told(" {} "), Ok(()));
    assert_eq!(told("[1]"), Err("the value must be a JSON object, not [1]".to_owned()));
    assert_eq!(
        told("[1"),
        Err("the value is not valid JSON: expected `,` or a closing bracket at byte 2".to_owned())
    );
}

/// A model that always says the same agrees with anything that does so too.
#[test]
fn about_as_many_trees_fit_as_do_not() {
    let fitting = (0..2000)
        .filter(|&seed| {
            let random = &mut Generator::new(seed);
            let shape = random.shape(4);
            fits(&shape, &random.tree_for(&shape))
        })
        .count();
    assert!((500..1500).contains(&fitting), "{fitting} of 2000 fit");
}
