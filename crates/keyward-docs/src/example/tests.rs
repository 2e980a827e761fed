//! Examples fit: for random shapes, and for what derived keys show.

use keyward_schema::{Decimal, Extra, Field, Kind, Length, Limits, Object, Span};
use proptest::prelude::*;

use super::*;

fn kinds() -> impl Strategy<Value = Kind> {
    let word = "[a-z]{1,6}".prop_map(Box::from);
    prop_oneof![
        prop::sample::select(vec![
            Kind::Str,
            Kind::Int,
            Kind::Uint,
            Kind::Uuid,
            Kind::Base58,
            Kind::Hex,
            Kind::Date,
            Kind::Month,
        ]),
        prop::collection::btree_set(word, 2..5).prop_map(
            |words: std::collections::BTreeSet<Box<str>>| Kind::Enum(words.into_iter().collect())
        ),
    ]
}

fn plain(ty: Type) -> Shape {
    Shape::of(ty)
}

/// Bounds around a number, so that some number fits.
fn bounded(ty: Type, around: i64, scale: u32, below: Option<u32>, above: Option<u32>) -> Shape {
    let text = |number: i64| {
        let unit = 10_i64.pow(scale);
        let sign = if number < 0 { "-" } else { "" };
        let (whole, part) = (number.abs() / unit, number.abs() % unit);
        let width = scale as usize;
        let text = if scale == 0 {
            format!("{sign}{whole}")
        } else {
            format!("{sign}{whole}.{part:0width$}")
        };
        Decimal::parse(&text).expect("a decimal")
    };
    let limits = Limits {
        min: below.map(|below| text(around - i64::from(below))),
        max: above.map(|above| text(around + i64::from(above))),
        ..Limits::default()
    };
    Shape { limits, ..Shape::of(ty) }
}

/// Shapes that some value fits.
fn scalars() -> impl Strategy<Value = Shape> {
    let bounds = || (prop::option::of(0_u32..1000), prop::option::of(0_u32..1000));
    let number = (any::<i32>(), bounds());
    prop_oneof![
        kinds().prop_map(|kind| plain(Type::Kind(kind))),
        prop::sample::select(vec![
            Type::String,
            Type::Bool,
            Type::Timestamp,
            Type::TimestampMs,
            Type::Json
        ])
        .prop_map(plain),
        number.clone().prop_map(|(around, (below, above))| {
            bounded(Type::Kind(Kind::Int), around.into(), 0, below, above)
        }),
        (number.clone(), 0_u32..4).prop_map(|((around, (below, above)), scale)| {
            bounded(Type::Decimal { scale: Some(scale as u8) }, around.into(), scale, below, above)
        }),
        number.prop_map(|(around, (below, above))| bounded(
            Type::Float,
            around.into(),
            2,
            below,
            above
        )),
        ("[a-z_]{0,8}", 0_u64..200, 0_u64..200).prop_map(|(prefix, min, more)| {
            let min = min + prefix.len() as u64;
            let len = Some(Length { min, max: min + more });
            let limits = Limits { len, prefix: Some(prefix.into()), ..Limits::default() };
            Shape { limits, ..Shape::of(Type::String) }
        }),
        (1_u64..100, 0_u64..50).prop_map(|(min, more)| {
            let limits = Limits { len: Some(Length { min, max: min + more }), ..Limits::default() };
            Shape { limits, ..Shape::of(Type::Kind(Kind::Hex)) }
        }),
    ]
}

fn objects(inner: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = Object> {
    let field = ("[a-z_]{1,10}|expires_at|user_id|\\PC{1,4}", any::<bool>(), inner.clone());
    let extra = prop_oneof![
        Just(Extra::Reject),
        Just(Extra::Allow),
        inner.prop_map(|shape| Extra::Typed(Box::new(shape))),
    ];
    (prop::collection::vec(field, 0..5), extra).prop_map(|(fields, extra)| {
        let mut object = Object { extra, ..Object::default() };
        for (name, required, shape) in fields {
            if object.field(&name).is_none() {
                let at = Span::default();
                object.fields.push(Field {
                    name: name.into(),
                    required,
                    shape,
                    same: None,
                    doc: None,
                    at,
                });
            }
        }
        object
    })
}

fn shapes() -> BoxedStrategy<Shape> {
    scalars()
        .prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                (inner.clone(), 0_u64..5, 0_u64..5).prop_map(|(item, min, more)| {
                    let limits =
                        Limits { len: Some(Length { min, max: min + more }), ..Limits::default() };
                    Shape { limits, ..Shape::of(Type::Array(Box::new(item))) }
                }),
                (kinds(), inner.clone()).prop_map(|(key, value)| {
                    Shape::of(Type::Map { key: Box::new(Type::Kind(key)), value: Box::new(value) })
                }),
                inner.clone().prop_map(|shape| Shape { nullable: true, ..shape }),
                objects(inner).prop_map(|object| Shape::of(Type::Object(object))),
            ]
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_shape_has_an_example_that_fits(shape in shapes()) {
        let names = Names::default();
        let json = names.json("value", &shape).expect("some JSON fits");
        prop_assert_eq!(shape.check_json(json.as_bytes()), Ok(()));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        let text = names.text("value", &shape).expect("some text fits");
        prop_assert_eq!(shape.check(text.as_bytes()), Ok(()));
    }

    #[test]
    fn every_hash_has_an_example_that_fits(object in objects(shapes())) {
        match Names::default().fields(&object) {
            Some(pairs) => {
                let content = Content::Fields(object);
                prop_assert_eq!(content.check(&ExampleValue::Pairs(pairs)), Ok(()));
            }
            None => prop_assert!(object.fields.is_empty() && object.extra == Extra::Reject),
        }
    }

    #[test]
    fn every_pattern_has_an_example(kinds in prop::collection::vec((kinds(), any::<bool>()), 1..5)) {
        let segments = kinds.iter().enumerate().map(|(index, (kind, tagged))| {
            if *tagged { format!("{{{{{{p{index}:{kind}}}}}}}") } else { format!("{{p{index}:{kind}}}") }
        });
        let text = format!("key:{}", segments.collect::<Vec<_>>().join(":"));
        let schema = format!("[keyspace]\nname = 'x'\n[key.'{text}']\ntype = 'string'\n");
        let schema = keyward_schema::check("x.toml", schema.as_bytes()).schema.expect("sound");
        let example = Examples::of(&schema).get(schema.ids().next().expect("a key")).clone();
        prop_assert!(schema.keys[0].pattern.accepts(example.key.as_bytes()), "{} for {}", example.key, text);
    }

    /// Limits of any kind, most of which nothing fits: what there is fits.
    #[test]
    fn contradictory_limits_give_no_example(
        kind in kinds(), min in any::<i64>(), max in any::<i64>(), len in 0_u64..10_000, prefix in ".{0,5}",
    ) {
        let limits = Limits {
            min: Decimal::parse(&min.to_string()),
            max: Decimal::parse(&max.to_string()),
            len: Some(Length { min: len, max: len }),
            prefix: Some(prefix.into()),
        };
        let shape = Shape { limits, ..Shape::of(Type::Kind(kind)) };
        if let Some(text) = Names::default().text("value", &shape) {
            prop_assert_eq!(shape.check(text.as_bytes()), Ok(()));
        }
    }
}

fn examples(schema: &str) -> Vec<(String, Option<ExampleValue>)> {
    let checked = keyward_schema::check("x.toml", schema.as_bytes());
    let told: Vec<&str> = checked.diagnostics.iter().map(|found| &*found.message).collect();
    let schema = checked.schema.unwrap_or_else(|| panic!("{told:?}"));
    let examples = Examples::of(&schema);
    let all = schema.ids().map(|id| examples.get(id).clone());
    all.map(|example| (example.key.into(), example.value)).collect()
}

#[test]
fn derived_keys_show_their_sources_row() {
    let found = examples(
        r#"
[keyspace]
name = "x"
[key."user:{user_id:uint}"]
type = "hash"
ttl = "none"
example = { key = "user:7", value = { email = "bob", status = "off", seen = "1970-01-01T00:00:05Z" } }
fields = { email = "str", status = "on | off", seen = "timestamp" }
[key."by_email:{address}"]
type = "string"
lookup = { of = "user:{user_id}", field = "email" }
[key."seen"]
type = "zset"
rank = { of = "user:{user_id}", by = "seen" }
[key."users:{status}"]
type = "set"
members = { of = "user:{user_id}" }
"#,
    );
    let text = |text: &str| Some(ExampleValue::Text(text.into()));
    assert_eq!(found[1], ("by_email:bob".into(), text("7")));
    assert_eq!(
        found[2],
        ("seen".into(), Some(ExampleValue::Pairs(vec![("7".into(), "5000".into())])))
    );
    assert_eq!(found[3], ("users:off".into(), Some(ExampleValue::Items(vec!["7".into()]))));
}

#[test]
fn a_key_is_not_that_of_a_smaller_pattern() {
    let found = examples(
        "[keyspace]\nname = 'x'\n[key.'user:{id}']\ntype = 'string'\n[key.'user:{id:uint}']\ntype = 'string'\n",
    );
    assert!(
        found[0].0.strip_prefix("user:").is_some_and(|id| id.parse::<u64>().is_err()),
        "{found:?}"
    );
    assert_eq!(found[1].0, "user:42");
}
