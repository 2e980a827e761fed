//! `check` and `same` on real bytes, against naive comparisons of scaled whole numbers.

use std::cmp::Ordering;

use keyward_schema::{Content, ExampleValue, Schema, check};

/// Chance that can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

fn schema(text: &str) -> Schema {
    let text = format!("[keyspace]\nname = \"x\"\n{text}");
    let checked = check("x.toml", text.as_bytes());
    checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics))
}

/// Digits behind the point of every number here.
const SCALE: u32 = 3;

/// A number of thousandths: near powers of two and of ten, so that floats would round it.
fn thousandths(chance: &mut Chance) -> i128 {
    let near = [0, 1 << 53, 1 << 62, 10_i128.pow(18), 10_i128.pow(25)][chance.below(5) as usize];
    let sign = [1, -1][chance.below(2) as usize];
    sign * (near * 1000 + i128::from(chance.below(5)) * [1, 10, 1000][chance.below(3) as usize])
}

/// The same as a decimal, with or without needless zeros behind.
fn written(number: i128, chance: &mut Chance) -> String {
    let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
    let one = 10_u128.pow(SCALE);
    let text = format!("{sign}{}.{:03}", size / one, size % one);
    match chance.below(2) {
        0 => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => text,
    }
}

fn admits(operator: &str, order: Ordering) -> bool {
    match operator {
        "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => unreachable!("there are six"),
    }
}

#[test]
fn comparisons_hold_where_those_of_whole_numbers_do() {
    let mut chance = Chance(3);
    let mut broken = 0;
    for operator in ["=", "!=", "<", "<=", ">", ">="] {
        let limit = thousandths(&mut chance);
        let bound = written(limit, &mut chance);
        let schema = schema(&format!(
            "[key.\"h:{{id}}\"]\ntype = \"hash\"\ncheck = [\"a {operator} b\", {{ check = \"a \
             {operator} {bound}\", when = \"on = yes\" }}]\nfields = {{ a = \"decimal?\", b = \
             \"decimal?\", on = \"yes | no?\" }}\n\
             [key.\"j:{{id}}\"]\ntype = \"json\"\ncheck = [\"a {operator} b\", {{ check = \"a \
             {operator} {bound}\", when = \"on = yes\" }}]\nfields = {{ a = \"decimal | null?\", b \
             = \"decimal?\", on = \"yes | no?\" }}\n"
        ));
        for _ in 0..3_000 {
            let side = |chance: &mut Chance| {
                let number = if chance.below(4) == 0 { limit } else { thousandths(chance) };
                (chance.below(6) > 0).then_some(number)
            };
            let a = side(&mut chance);
            let b = if chance.below(4) == 0 { a } else { side(&mut chance) };
            let on = ["yes", "no", ""][chance.below(3) as usize];
            let compares = |left: Option<i128>, right: Option<i128>| {
                left.zip(right).is_none_or(|(left, right)| admits(operator, left.cmp(&right)))
            };
            let expected = compares(a, b) && (on != "yes" || compares(a, Some(limit)));
            broken += usize::from(!expected);
            let mut pairs: Vec<(String, String)> = Vec::new();
            for (name, number) in [("a", a), ("b", b)] {
                pairs.extend(number.map(|number| (name.to_owned(), written(number, &mut chance))));
            }
            if !on.is_empty() {
                pairs.push(("on".to_owned(), on.to_owned()));
            }
            let hash =
                pairs.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into()));
            let hash = ExampleValue::Pairs(hash.collect());
            let told = schema.keys[0].content.check(&hash);
            assert_eq!(told.is_ok(), expected, "{operator} {bound}: {pairs:?}: {told:?}");
            let member = |(name, value): &(String, String)| match chance.below(2) {
                0 if name != "on" => format!("\"{name}\": {value}"),
                _ => format!("\"{name}\":\"{value}\""),
            };
            let mut members: Vec<String> = pairs.iter().map(member).collect();
            if a.is_none() {
                members.push("\"a\":null".to_owned());
            }
            let json = format!("{{{}}}", members.join(", "));
            let told = schema.keys[1].content.check(&ExampleValue::Text(json.as_str().into()));
            assert_eq!(told.is_ok(), expected, "{operator} {bound}: {json}: {told:?}");
        }
    }
    assert!(broken > 2_000, "{broken}");
}

fn told(content: &Content, names: &[&[u8]], value: &str) -> String {
    let value = match value.starts_with('{') || !value.contains('=') {
        true => ExampleValue::Text(value.into()),
        false => {
            let pairs = value.split(' ').filter_map(|pair| pair.split_once('='));
            ExampleValue::Pairs(pairs.map(|(name, value)| (name.into(), value.into())).collect())
        }
    };
    content.check_under(names, &value).err().map_or(String::new(), |misfit| misfit.to_string())
}

#[test]
fn what_does_not_hold_is_told_with_both_values_unless_they_are_secret() {
    let schema = schema(
        r#"
[key."h:{id}"]
type = "hash"
check = ["a <= b", "from != to", "begins < ends", { check = "a > 0", when = "from = me" }, "pin != old"]
[key."h:{id}".fields]
a = "int?"
b = "float?"
from = "str?"
to = "str?"
begins = "timestamp?"
ends = "timestamp_ms?"
pin = { type = "uint?", secret = true }
old = "uint?"
"#,
    );
    let check = |value: &str, expected: &str| {
        assert_eq!(told(&schema.keys[0].content, &[], value), expected, "{value}");
    };
    check("a=9007199254740993 b=9007199254740993.0", "");
    check(
        "a=9007199254740993 b=9007199254740992.5",
        "the value breaks a <= b: a is 9007199254740993, b is 9007199254740992.5",
    );
    check("a=11 b=1e1", "the value breaks a <= b: a is 11, b is 1e1");
    check("from=x to=x", "the value breaks from != to: from is \"x\", to is \"x\"");
    check("a=-5 from=me", "the value breaks a > 0 when from = me: a is -5");
    check("a=-5 from=you", "");
    check("begins=1970-01-01T01:00:00.0005+01:00 ends=1", "");
    check(
        "begins=1970-01-01T00:00:00.001Z ends=1",
        "the value breaks begins < ends: begins is 1970-01-01T00:00:00.001Z, ends is 1",
    );
    check("pin=7 old=7", "the value breaks pin != old");
}

#[test]
fn a_field_equals_its_placeholder_at_any_depth() {
    let schema = schema(
        r#"
[key."u:{id}"]
type = "json"
[key."u:{id}".fields]
id = { type = "string | null", same = "{id}" }
in = { type = "object[]?", fields = { n = { type = "decimal", same = "{id}" } } }
"#,
    );
    let check = |value: &str, expected: &str| {
        assert_eq!(told(&schema.keys[0].content, &[b"7"], value), expected, "{value}");
    };
    check(r#"{"id":"7"}"#, "");
    check(r#"{"id":null}"#, "");
    check(r#"{"id":"\u0037","in":[{"n":7},{"n":"7"}]}"#, "");
    check(r#"{"id":"8"}"#, r#"id must be {id} of its key, which is "7", not "8""#);
    check(
        r#"{"id":"7","in":[{"n":7},{"n":7.0}]}"#,
        r#"in[1].n must be {id} of its key, which is "7", not "7.0""#,
    );
    assert_eq!(told(&schema.keys[0].content, &[], r#"{"id":"8"}"#), "", "where no key is known");
}

#[test]
fn what_must_equal_a_secret_is_secret() {
    let text = r#"
[key."u:{token}"]
type = "hash"
secret = ["token"]
fields = { token = { type = "str", same = "{token}" } }
[key."v:{pin}"]
type = "json"
fields = { pin = { type = "str", same = "{pin}", secret = true } }
"#;
    let schema = schema(text);
    assert!(schema.keys[0].content.has_secret());
    assert_eq!(schema.keys[1].secret_placeholders, [0]);
    assert_eq!(
        told(&schema.keys[0].content, &[b"a"], "token=b"),
        "token must be {token} of its key"
    );
}
