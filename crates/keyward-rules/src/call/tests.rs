use keyward_resp::ArgBuf;

use super::*;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"
[key."coupon:{code}"]
type = "string"
[key."used:{code}:{user:uint}"]
type = "flag"
[key."team:{id}:likes"]
type = "int"
[key."news:{id}:likes"]
type = "int"
[function.redeem]
keys = ["coupon:{code}", "used:{code}:{user}"]
args = ["amount: decimal", "kind: once | always", "note: string?", "by: uint?"]
[function.like]
keys = ["{kind:team|news}:{id}:likes"]
args = ["weights: float..."]
[function.forget]
keys = ["coupon:{code}", "used:{code}:{user}..."]
"#;

fn check(call: &[&str], expected: Option<&str>) {
    let checked = keyward_schema::check("t.toml", SCHEMA.as_bytes());
    let book = RuleBook::new(checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics)));
    let args: ArgBuf = ["FCALL"].iter().chain(call).collect();
    let found = book.call_misfit(args.args());
    assert_eq!(found.as_ref().map(Refusal::text), expected, "{call:?}");
}

#[test]
fn what_fits_is_called() {
    check(&["redeem", "2", "coupon:A", "used:A:7", "1.50", "once"], None);
    check(&["redeem", "2", "coupon:A", "used:A:7", "1.50", "once", "", "7"], None);
    check(&["like", "1", "team:5:likes"], None);
    check(&["like", "1", "news:5:likes", "1", "2.5", "3"], None);
    check(&["forget", "1", "coupon:A"], None);
    check(&["forget", "3", "coupon:A", "used:A:1", "used:A:2"], None);
}

#[test]
fn what_the_schema_does_not_declare_is_not_judged() {
    check(&["other", "1", "x"], None);
    check(&["redeem", "many"], None);
    check(&["redeem", "-1"], None);
    check(&["redeem", "9", "coupon:A"], None);
}

#[test]
fn keys_must_be_the_declared_ones() {
    check(
        &["redeem", "1", "coupon:A", "1.50", "once"],
        Some(
            "SCHEMA redeem: takes the keys coupon:{code}, used:{code}:{user}, not 1 key \
             (t.toml:12)",
        ),
    );
    check(
        &["redeem", "2", "coupon:A", "used:B:7", "1.50", "once"],
        Some("SCHEMA redeem: key 2 must be used:{code}:{user}, not \"used:B:7\" (t.toml:12)"),
    );
    check(
        &["redeem", "2", "coupon:A", "used:A:x", "1.50", "once"],
        Some("SCHEMA redeem: key 2 must be used:{code}:{user}, not \"used:A:x\" (t.toml:12)"),
    );
    check(
        &["like", "1", "coupon:A"],
        Some(
            "SCHEMA like: key 1 must be {kind:team|news}:{id}:likes, not \"coupon:A\" (t.toml:15)",
        ),
    );
    check(
        &["forget", "3", "coupon:A", "used:A:1", "used:B:2"],
        Some("SCHEMA forget: key 3 must be used:{code}:{user}, not \"used:B:2\" (t.toml:18)"),
    );
}

#[test]
fn arguments_must_have_their_shapes() {
    let keys = ["redeem", "2", "coupon:A", "used:A:7"];
    let with = |args: &[&'static str]| [&keys, args].concat();
    check(
        &with(&["1.50"]),
        Some(
            "SCHEMA redeem: takes the arguments amount, kind, note?, by?, not 1 argument \
             (t.toml:12)",
        ),
    );
    check(&with(&["-1e-05", "once"]), None);
    check(
        &with(&["1e401", "once"]),
        Some("SCHEMA redeem: amount must be a decimal number, not \"1e401\" (t.toml:12)"),
    );
    check(
        &with(&["1", "never"]),
        Some("SCHEMA redeem: kind must be once or always, not \"never\" (t.toml:12)"),
    );
    check(
        &["like", "1", "team:5:likes", "1", "much"],
        Some("SCHEMA like: weights must be a number, not \"much\" (t.toml:15)"),
    );
}
