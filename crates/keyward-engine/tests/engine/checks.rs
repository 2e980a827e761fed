//! `check` and `same` on rows: judged with what is stored, refused with both values.

use crate::shop::Shop;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."event:{id:uint}"]
type  = "hash"
ttl   = "none"
check = ["registered <= capacity", { check = "price > 0", when = "kind != free" }]
[key."event:{id:uint}".fields]
id         = { type = "uint", same = "{id}" }
registered = "uint"
capacity   = "uint?"
kind       = "free | paid?"
price      = "decimal(2)?"
note       = "string?"

[key."plan:{name}"]
type  = "json"
ttl   = "none"
check = ["min <= max"]
[key."plan:{name}".fields]
name = { type = "str", same = "{name}" }
min  = "int"
max  = "int | null"

[key."ledger:{user}"]
type    = "list"
ttl     = "none"
max_len = 100
[key."ledger:{user}".items]
check = [{ check = "amount > 0", when = "type = topup" }]
[key."ledger:{user}".items.fields]
user   = { type = "str", same = "{user}" }
type   = "topup | charge"
amount = "decimal(2)"
"#;

fn refused(shop: &mut Shop, command: &str, problem: &str) {
    let reply = shop.call(command);
    assert_eq!(reply.strip_suffix(')'), Some(&*format!("-SCHEMA {problem}")), "{command}: {reply}");
}

#[test]
fn fields_are_compared_with_what_is_stored_whatever_command_writes_them() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[
        ("HSET event:1 id 1 registered 2 capacity 3", ":3"),
        ("HINCRBY event:1 registered 1", ":3"),
    ]);
    let full = "event:1: breaks registered <= capacity: registered is 4, capacity is 3 (test/keyward.toml:8";
    refused(&mut shop, "HINCRBY event:1 registered 1", full);
    refused(&mut shop, "HSET event:1 registered 4", full);
    refused(&mut shop, "HMSET event:1 registered 4 note x", full);
    refused(
        &mut shop,
        "HSET event:1 capacity 2",
        "event:1: breaks registered <= capacity: registered is 3, capacity is 2 (test/keyward.toml:8",
    );
    shop.check(&[
        ("HGETALL event:1", "*6 $2 id $1 1 $10 registered $1 3 $8 capacity $1 3"),
        // Both at once, in either order.
        ("HSET event:1 registered 9 capacity 9", ":0"),
        ("HINCRBY event:1 capacity 1", ":10"),
        // A comparison with what is not there holds.
        ("HDEL event:1 capacity", ":1"),
        ("HINCRBY event:1 registered 9000", ":9009"),
    ]);
    refused(
        &mut shop,
        "HSETNX event:1 capacity 5",
        "event:1: breaks registered <= capacity: registered is 9009, capacity is 5 (test/keyward.toml:8",
    );
    refused(
        &mut shop,
        "HSET event:1 price 0 kind paid",
        "event:1: breaks price > 0 when kind != free: price is 0 (test/keyward.toml:8",
    );
    shop.check(&[("HSET event:1 price 0 kind free", ":2")]);
    // A field that goes can make a condition hold.
    refused(
        &mut shop,
        "HDEL event:1 kind",
        "event:1: breaks price > 0 when kind != free: price is 0 (test/keyward.toml:8",
    );
    shop.check(&[("HINCRBYFLOAT event:1 price 0.1", "$3 0.1"), ("HSET event:1 kind paid", ":0")]);
    refused(
        &mut shop,
        "HINCRBYFLOAT event:1 price -0.1",
        "event:1: breaks price > 0 when kind != free: price is 0 (test/keyward.toml:8",
    );
    shop.check(&[("HGET event:1 price", "$3 0.1")]);
}

#[test]
fn a_field_must_equal_the_key_that_it_stands_under() {
    let mut shop = Shop::new(1, SCHEMA);
    let other =
        "event:2: id must be {id} of its key, which is \"2\", not \"1\" (test/keyward.toml:10";
    refused(&mut shop, "HSET event:2 id 1 registered 0", other);
    shop.check(&[("HSET event:1 id 1 registered 0", ":2")]);
    refused(&mut shop, "RENAME event:1 event:2", other);
    refused(&mut shop, "COPY event:1 event:2", other);
    shop.check(&[("EXISTS event:1 event:2", ":1")]);
    refused(
        &mut shop,
        r#"SET plan:a {"name":"b","min":1,"max":2}"#,
        "plan:a: name must be {name} of its key, which is \"a\", not \"b\" (test/keyward.toml:22",
    );
    refused(
        &mut shop,
        r#"RPUSH ledger:ann {"user":"bob","type":"charge","amount":1}"#,
        "ledger:ann: user must be {user} of its key, which is \"ann\", not \"bob\" (test/keyward.toml:33",
    );
    shop.check(&[(r#"RPUSH ledger:ann {"user":"ann","type":"charge","amount":1}"#, ":1")]);
    refused(
        &mut shop,
        "LMOVE ledger:ann ledger:bob LEFT LEFT",
        "ledger:bob: user must be {user} of its key, which is \"bob\", not \"ann\" (test/keyward.toml:33",
    );
}

#[test]
fn json_and_items_are_compared_as_they_are_written() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[
        (r#"SET plan:a {"name":"a","min":1,"max":1}"#, "+OK"),
        (r#"SET plan:a {"name":"a","min":1,"max":null}"#, "+OK"),
    ]);
    let wrong = "plan:a: breaks min <= max: min is 9007199254740993, max is 9007199254740992 (test/keyward.toml:20";
    refused(
        &mut shop,
        r#"SET plan:a {"min":9007199254740993,"max":9007199254740992,"name":"a"}"#,
        wrong,
    );
    refused(
        &mut shop,
        r#"MSET plan:a {"min":9007199254740993,"max":9007199254740992,"name":"a"}"#,
        wrong,
    );
    shop.check(&[(r#"SET plan:a {"name":"a","min":1,"max":1}"#, "+OK")]);
    refused(
        &mut shop,
        "SETRANGE plan:a 18 2",
        "plan:a: breaks min <= max: min is 2, max is 1 (test/keyward.toml:20",
    );
    shop.check(&[
        (r#"RPUSH ledger:ann {"user":"ann","type":"charge","amount":-1}"#, ":1"),
        (r#"RPUSH ledger:ann {"user":"ann","type":"topup","amount":"0.01"}"#, ":2"),
    ]);
    refused(
        &mut shop,
        r#"LSET ledger:ann 0 {"user":"ann","type":"topup","amount":"-0.01"}"#,
        "ledger:ann: an item breaks amount > 0 when type = topup: amount is -0.01 (test/keyward.toml:31",
    );
}

#[test]
fn a_new_check_finds_misfits_that_are_kept_until_their_fields_are_written() {
    let plain: String = SCHEMA
        .lines()
        .filter(|line| !line.starts_with("check = [\"reg"))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut shop = Shop::new(1, &plain);
    shop.check(&[
        ("HSET event:1 id 1 registered 5 capacity 3", ":3"),
        ("HSET event:2 id 2 registered 5 capacity 5", ":3"),
    ]);
    let plan = shop.plan(SCHEMA);
    let rest = plan.rest();
    assert!(
        rest.contains("Checks: nothing -> registered <= capacity; price > 0 when kind != free"),
        "{rest}"
    );
    assert!(rest.contains("event:{id:uint}\nkeys\n:2\nmoved\n:0\nmisfits\n:1\n"), "{rest}");
    shop.apply(&plan, 0);
    let listed = shop.call("KEYWARD MISFITS event:{id:uint} COUNT 100");
    assert!(
        listed.contains("event:1: breaks registered <= capacity: registered is 5, capacity is 3"),
        "{listed}"
    );
    shop.check(&[("HSET event:1 note x", ":1"), ("EXPIRE event:2 5", "-SCHEMA event:2: lives until it is deleted (ttl = \"none\") and takes no lifetime (test/keyward.toml as applied:7)")]);
    refused(
        &mut shop,
        "HSET event:1 registered 4",
        "event:1: breaks registered <= capacity: registered is 4, capacity is 3 (test/keyward.toml as applied:8",
    );
    shop.check(&[("HSET event:1 registered 3", ":0"), ("KEYWARD MISFITS COUNT 100", "*2 $1 0 *0")]);
}

#[test]
fn a_refusal_of_secrets_shows_neither_side() {
    let schema = SCHEMA.replace("\"uint?\"", "{ type = \"uint?\", secret = true }");
    let mut shop = Shop::new(1, &schema);
    refused(
        &mut shop,
        "HSET event:1 id 1 registered 4 capacity 3",
        "event:1: breaks registered <= capacity (test/keyward.toml:8",
    );
}

#[test]
fn a_field_that_goes_is_judged_where_a_condition_holds_without_it() {
    const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."quota:{id:uint}"]
type  = "hash"
ttl   = "none"
check = [{ check = "used <= most", when = "state != open" }]
[key."quota:{id:uint}".fields]
state = "open | shut?"
used  = "uint?"
most  = "uint?"
"#;
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[("HSET quota:1 state open used 5 most 3", ":3")]);
    let broken = "quota:1: breaks used <= most when state != open: used is 5, most is 3 (test/keyward.toml:8";
    refused(&mut shop, "HDEL quota:1 state", broken);
    shop.check(&[
        ("MULTI", "+OK"),
        ("HDEL quota:1 state", "+QUEUED"),
        ("EXEC", &format!("-EXECABORT Transaction discarded because of: SCHEMA {broken})")),
        ("HGET quota:1 state", "$4 open"),
        ("HDEL quota:1 used", ":1"),
        ("HDEL quota:1 state", ":1"),
    ]);
}
