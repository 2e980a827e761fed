//! Rows that a schema costs besides what it does to single ones: for want of memory, and at the
//! next start. Nothing of it happens unannounced.

use crate::shop::{Shop, Told};

const ROWS: u64 = 2000;

fn orders(keyspace: &str, key: &str) -> String {
    format!(
        "[keyspace]\nname = \"shop\"\n{keyspace}\n[key.\"order:{{id:uint}}\"]\ntype = \"string\"\n{key}\n"
    )
}

/// A shop with so many orders, unlike each other: what many rows hold is stored once.
fn filled(schema: &str) -> Shop {
    let mut shop = Shop::new(1, schema);
    for id in 0..ROWS {
        let value = format!("{id}{}", "x".repeat(100));
        assert_eq!(shop.words(&["SET", &format!("order:{id}"), &value]), "+OK");
    }
    shop
}

fn destroys(plan: &Told) -> u64 {
    figure(plan, "destroys")
}

/// The last figure of this name: that of the last pattern.
fn figure(plan: &Told, name: &str) -> u64 {
    let rest = plan.rest();
    let told = rest.rsplit(&format!("\n{name}\n:")).next().expect("it is told");
    told.lines().next().and_then(|line| line.parse().ok()).expect("a number")
}

fn rows(shop: &mut Shop) -> u64 {
    (0..2000).for_each(|_| {
        shop.test.tick();
    });
    shop.call("DBSIZE")[1..].parse().expect("a number")
}

/// A plan that costs rows for want of memory is told, applied only if that is said, and costs
/// about as many.
fn check_asked(shop: &mut Shop, plan: &Told) {
    let told = destroys(plan);
    assert!((ROWS / 2..ROWS).contains(&told), "{}", plan.rest());
    assert_eq!(figure(plan, "evicted"), told);
    let words = plan.rest();
    assert!(words.contains("may take 102400 (max_memory): rows are evicted, about"), "{words}");
    let refused = shop.apply(plan, 0);
    // Rows are packed meanwhile, where memory is short.
    let now = refused.split("say DESTROY ").nth(1).and_then(|count| count.parse::<u64>().ok());
    assert!(now.is_some_and(|now| now <= told), "{refused}");
    assert!(shop.apply(plan, 1).starts_with("-SCHEMA "));
    assert_eq!(rows(shop), ROWS, "nothing has happened");
    assert!(shop.apply(plan, told).starts_with('*'));
    let left = rows(shop);
    assert!(left.abs_diff(ROWS - told) < ROWS / 10, "{left} of {ROWS}, {told} announced");
}

#[test]
fn a_smaller_limit_costs_rows_only_if_that_is_said() {
    let mut shop = filled(&orders("", ""));
    let plan = shop.plan(&orders("max_memory = \"100kb\"", ""));
    check_asked(&mut shop, &plan);
}

#[test]
fn rows_that_may_be_evicted_from_now_on_go_only_if_that_is_said() {
    for (never, sometimes) in [
        ("ttl = \"1d\"\nevict = \"never\"", "ttl = \"1d\"\nevict = \"lru\""),
        ("ttl = \"1d\"\nevict = \"never\"", "ttl = \"1d\"\nevict = \"first\""),
        ("ttl = \"1d\"\nevict = \"never\"", "ttl = \"1d\"\nevict = \"ttl\""),
        ("ttl = \"none\"", "ttl = \"1d\""),
    ] {
        let mut shop = filled(&orders("", never));
        let limited = shop.plan(&orders("max_memory = \"100kb\"", never));
        assert_eq!(destroys(&limited), 0, "nothing may go");
        assert!(shop.apply(&limited, 0).starts_with('*'));
        let plan = shop.plan(&orders("max_memory = \"100kb\"", sometimes));
        check_asked(&mut shop, &plan);
    }
}

#[test]
fn a_change_that_has_nothing_to_do_with_memory_is_not_asked_about_a_full_keyspace() {
    let limit = "max_memory = \"100kb\"";
    let mut shop = filled(&orders(limit, ""));
    let plan = shop.plan(&orders(limit, "doc = \"An order.\""));
    assert_eq!(destroys(&plan), 0, "{}", plan.rest());
    assert!(shop.apply(&plan, 0).starts_with('*'));
    // More room costs nothing, and neither does less than is in use by rows that stay.
    let plan = shop.plan(&orders("max_memory = \"200kb\"", ""));
    assert_eq!(destroys(&plan), 0, "{}", plan.rest());
}

#[test]
fn the_end_of_observing_costs_rows_for_want_of_memory_only_if_that_is_said() {
    let observing = orders("mode = \"observe\"\nmax_memory = \"100kb\"\npersist = \"none\"", "");
    let mut shop = filled(&observing);
    let refused = shop.await_reply(&["KEYWARD", "MODE", "enforce"]);
    assert!(refused.contains("rows or so evicted, since the keyspace"), "{refused}");
    assert!(refused.contains("rows no longer kept in the files"), "{refused}");
    assert_eq!(rows(&mut shop), ROWS);
    let said = refused.trim_end().split("say ").nth(1).expect("what to say").to_owned();
    assert!(said.contains(" DESTROY 2000"), "{said}");
    let reply = shop.await_reply(&said.split(' ').collect::<Vec<_>>());
    assert!(reply.starts_with('*'), "{reply}");
    assert!(rows(&mut shop) < ROWS / 2);
}

#[test]
fn rows_that_files_have_no_more_are_destroyed_by_the_next_start_and_said_so() {
    let mut shop = filled(&orders("", "ttl = \"none\""));
    let plan = shop.plan(&orders("persist = \"none\"", "ttl = \"none\""));
    assert_eq!((destroys(&plan), figure(&plan, "unkept")), (ROWS, ROWS), "{}", plan.rest());
    assert!(plan.rest().contains("2000 rows are not kept (persist = \"none\")"));
    assert!(shop.apply(&plan, 0).ends_with("say DESTROY 2000"));
    assert!(shop.apply(&plan, ROWS).starts_with('*'));
    assert_eq!(rows(&mut shop), ROWS, "they are served until the server ends");
    let back = shop.plan(&orders("", "ttl = \"none\""));
    assert_eq!(destroys(&back), 0);
}

#[test]
fn rows_that_come_from_no_pattern_count_for_the_keyspace_that_gets_them() {
    let text = orders("unknown = \"allow\"\nmax_memory = \"100kb\"", "");
    let mut shop = filled(&text.replace("order:", "other:"));
    assert_eq!(rows(&mut shop), ROWS, "keys without a pattern are not the keyspace's");
    let plan = shop.plan(&text);
    check_asked(&mut shop, &plan);
}

#[test]
fn keys_without_a_pattern_do_not_fill_the_only_keyspace() {
    let mut shop =
        Shop::new(1, &orders("unknown = \"allow\"\nmax_memory = \"100kb\"", "ttl = \"none\""));
    for id in 0..ROWS {
        let value = format!("{id}{}", "x".repeat(100));
        assert_eq!(shop.words(&["SET", &format!("foreign:{id}"), &value]), "+OK");
    }
    shop.check(&[("SET order:1 x", "+OK"), ("DBSIZE", ":2001")]);
    // And a full one does not refuse what is not its own.
    let large = "x".repeat(200_000);
    assert_eq!(shop.words(&["SET", "order:2", &large]), "+OK");
    assert!(shop.call("SET order:3 x").starts_with("-OOM "));
    shop.check(&[("SET foreign:1 x", "+OK")]);
}

const LISTS: &str = "[keyspace]\nname = \"shop\"\n[key.\"recent\"]\ntype = \"list\"\nitems = \"string\"\nmax_len = LEN\n";

#[test]
fn a_plan_tells_what_the_next_write_cuts_and_the_next_use_shortens() {
    let mut shop = Shop::new(1, &LISTS.replace("LEN", "1000"));
    for item in 0..101 {
        shop.call(&format!("RPUSH recent {item}"));
    }
    let plan = shop.plan(&LISTS.replace("LEN", "10"));
    assert_eq!((figure(&plan, "cut_later"), destroys(&plan)), (1, 0), "{}", plan.rest());
    assert!(shop.apply(&plan, 0).starts_with('*'));
    shop.check(&[("LLEN recent", ":101"), ("RPUSH recent x", ":102"), ("LLEN recent", ":10")]);

    let mut shop = Shop::new(1, &orders("", "ttl = \"10d\""));
    shop.check(&[("SET order:1 x", "+OK")]);
    let plan = shop.plan(&orders("", "ttl = { after = \"1h\", renew = \"access\" }"));
    assert_eq!((figure(&plan, "overlong"), figure(&plan, "shortened_later")), (1, 1));
    assert!(shop.apply(&plan, 0).starts_with('*'));
    shop.check(&[("TTL order:1", ":864000"), ("GET order:1", "$1 x"), ("TTL order:1", ":3600")]);
    let plan = shop.plan(&orders("", "ttl = \"10m\""));
    assert_eq!((figure(&plan, "overlong"), figure(&plan, "shortened_later")), (1, 0));
}

#[test]
fn a_text_for_another_database_is_not_planned() {
    let mut shop = filled(&orders("", ""));
    let refused = shop.await_reply(&["KEYWARD", "SCHEMA", "PLAN", &orders("db = 3", "")]);
    let expected = "-SCHEMA the text is for database 3 (db), and this keyspace is in 0: no \
                    schema moves rows to another database\r\n";
    assert_eq!(refused, expected);
}
