//! Rows of a plain snapshot, loaded under a schema: what is derived is built, what
//! does not fit is kept and counted.

use crate::harness::{START_MS, TestEngine};
use keyward_engine::{Acceptance, Coverage, DueRows, Expected, SnapshotOptions, Unaccepted};

const SHOP: &str = include_str!("../../../../tests/schema/shop.toml");

/// An engine under the shop's schema that has loaded what these commands made of
/// one without a schema.
fn loaded(commands: &[&str]) -> TestEngine {
    let mut plain = TestEngine::new(1);
    let client = plain.engine.connect();
    for command in commands {
        let reply = plain.call(client, command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    load(&plain)
}

/// An engine under the shop's schema that has loaded what another holds, as a start does: what
/// would change rows is accepted by the names of the plans that were refused before.
fn load(from: &TestEngine) -> TestEngine {
    let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
    let file = from.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let refused = started(&file, Vec::new());
    let mut shop = refused.unwrap_or_else(|unaccepted| {
        started(&file, unaccepted.plans).expect("what is accepted is done")
    });
    assert!(shop.effects().is_empty(), "loading is not logged");
    shop
}

/// A start under the shop's schema on the rows of a file.
fn started(file: &[u8], accepted: Vec<Acceptance>) -> Result<TestEngine, Box<Unaccepted>> {
    started_under(SHOP, file, (false, accepted))
}

/// A start under a schema on the rows of a file.
pub(crate) fn started_under(
    schema: &str,
    file: &[u8],
    (observes, accepted): (bool, Vec<Acceptance>),
) -> Result<TestEngine, Box<Unaccepted>> {
    let mut shop = TestEngine::new(2);
    let schema = keyward_schema::check("keyward.toml", schema.as_bytes()).schema;
    let schemas = [(0, vec![schema.expect("the schema is sound")])].into();
    let TestEngine { engine, host, .. } = &mut shop;
    engine.expect_schemas(Expected { schemas, observes, accepted });
    let mut rows = engine.open_snapshot(file, Coverage::Whole, DueRows::Dropped).expect("a file");
    while engine.load_rows(host, &mut rows, 10).expect("the snapshot is sound") {}
    let mut settling = engine.begin_settling(false);
    while engine.settle_rows(host, &mut settling, 10)? {}
    engine.end_loading(host, rows.loaded);
    Ok(shop)
}

/// Compares replies, with spaces in place of the protocol's line ends.
fn check(shop: &mut TestEngine, dialogue: &[(&str, &str)]) {
    let client = shop.engine.connect();
    for (command, expected) in dialogue {
        let reply = shop.call(client, command).replace("\r\n", " ");
        assert_eq!(reply.trim_end(), *expected, "{command}");
    }
}

/// A figure of a pattern.
fn figure(shop: &mut TestEngine, pattern: &str, name: &str) -> String {
    let client = shop.engine.connect();
    let reply = shop.call(client, &format!("KEYWARD STATS {pattern}"));
    let mut lines = reply.lines().skip_while(|line| *line != name);
    lines.nth(1).expect("the figure is told").to_owned()
}

const ADA: &str = "HSET customer:1 email ada@x balance 1.00 plan paid seen_at 5";
const BOB: &str = "HSET customer:2 email bob@x balance 2.00 plan free";

#[test]
fn computed_rows_are_built_and_what_they_should_not_hold_goes() {
    let mut shop = loaded(&[
        ADA,
        BOB,
        "SADD customers:on:paid 2 9",
        "SADD customers:on:free 7",
        "ZADD customers:seen 1 1 3 8",
        "SET customers:by_email:nobody@x 4",
        "RPUSH customers:by_email:bob@x 2",
        "PEXPIRE customers:on:paid 5000",
    ]);
    check(
        &mut shop,
        &[
            ("SMEMBERS customers:on:paid", "*1 $1 1"),
            ("TTL customers:on:paid", ":-1"),
            ("SMEMBERS customers:on:free", "*1 $1 2"),
            ("ZRANGE customers:seen 0 -1 WITHSCORES", "*2 $1 1 $1 5"),
            ("GET customers:by_email:ada@x", "$1 1"),
            ("GET customers:by_email:bob@x", "$1 2"),
            ("EXISTS customers:by_email:nobody@x", ":0"),
            ("DBSIZE", ":7"),
        ],
    );
}

#[test]
fn nothing_happens_to_rows_before_it_is_accepted() {
    let mut plain = TestEngine::new(1);
    let client = plain.engine.connect();
    plain.call(client, "SADD customers:on:paid 2 9");
    plain.call(client, "SET hits:a 1");
    let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
    let file = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let Err(unaccepted) = started(&file, Vec::new()) else { panic!("it starts") };
    let Unaccepted { tables, plans, .. } = *unaccepted;
    assert_eq!(plans.len(), 1, "a plan for the database");
    assert!(tables.contains("customers:on:{plan}"), "{tables}");
    // The name depends on the kinds of change, not on how many there are.
    plain.call(client, "SET hits:b 1");
    plain.call(client, "SADD customers:on:paid 10");
    let more = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let names = |plans: &[Acceptance]| -> Vec<String> {
        plans.iter().map(|accepted| accepted.plan.clone()).collect()
    };
    let Err(of_more) = started(&more, plans.clone()) else { panic!("more goes than was told") };
    assert_eq!(names(&of_more.plans), names(&plans));
    assert_eq!(of_more.plans[0].destroys_max, plans[0].destroys_max + 1);
    assert!(started(&more, of_more.plans.clone()).is_ok());
    assert!(started(&file, of_more.plans).is_ok(), "it may be less");
    plain.call(client, "DEL customers:on:paid");
    let less = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let Err(of_less) = started(&less, plans.clone()) else { panic!("it starts") };
    assert_ne!(names(&of_less.plans), names(&plans), "another kind of change is another plan");
}

#[test]
fn a_derived_row_without_any_source_goes() {
    let mut shop = loaded(&["SADD orders:open 1 2", "SET customers:seen text"]);
    check(&mut shop, &[("DBSIZE", ":0")]);
}

#[test]
fn mirrors_agree_by_what_either_has() {
    let mut shop = loaded(&["SADD follows:1 2 3", "SADD followed:3 4"]);
    check(
        &mut shop,
        &[
            ("SMEMBERS followed:2", "*1 $1 1"),
            ("SMEMBERS followed:3", "*2 $1 1 $1 4"),
            ("SMEMBERS follows:1", "*2 $1 2 $1 3"),
            ("SMEMBERS follows:4", "*1 $1 3"),
        ],
    );
}

#[test]
fn followers_of_nothing_leave_and_companions_of_nothing_go() {
    let order = r#"SET order:1 {"state":"open","total":"1.00"}"#;
    let mut shop = loaded(&[order, "SADD recent 1 2", "SET note:1 a", "SET note:2 b"]);
    check(
        &mut shop,
        &[
            ("SMEMBERS recent", "*1 $1 1"),
            ("SMEMBERS orders:open", "*1 $1 1"),
            ("MGET note:1 note:2", "*2 $1 a $-1"),
            ("TTL order:1", ":604800"),
            ("TTL note:1", ":604800"),
        ],
    );
    // From now on they go together.
    shop.set_time(START_MS + 604_800_001);
    check(&mut shop, &[("SMEMBERS recent", "*0"), ("EXISTS order:1 note:1 orders:open", ":0")]);
}

#[test]
fn lifetimes_that_are_missing_begin_and_forbidden_ones_end() {
    let mut shop = loaded(&[
        "SET hits:a 1",
        "SET hits:b 1 PX 9000",
        "RPUSH cart:1 a",
        ADA,
        "PEXPIRE customer:1 5000",
    ]);
    check(
        &mut shop,
        &[
            ("TTL hits:a", ":60"),
            ("TTL hits:b", ":9"),
            ("TTL cart:1", ":1800"),
            ("TTL customer:1", ":-1"),
        ],
    );
}

#[test]
fn rows_that_live_longer_than_they_may_are_kept_and_named() {
    let mut shop = loaded(&["SET hits:a 1 PX 999000000", "SET hits:b 1 PX 9000"]);
    let logged = shop.host.logged.join("\n");
    let line = "SCHEMA hits:a: lives longer than the schema allows, and keeps its end";
    assert!(logged.contains("it is kept. That is:\n") && logged.contains(line), "{logged}");
    assert!(!logged.contains("hits:b"), "{logged}");
    check(&mut shop, &[("TTL hits:a", ":999000")]);
}

#[test]
fn rows_that_do_not_fit_are_kept_counted_and_named() {
    let mut shop = loaded(&[
        "HSET customer:1 email ada@x balance -1 plan paid",
        "SET customer:2 text",
        BOB.replace("customer:2", "customer:3").as_str(),
        "RPUSH cart:1 a b c d",
        "SET stranger 1",
    ]);
    assert_eq!(figure(&mut shop, "customer:{id:uint}", "misfits"), ":2");
    assert_eq!(figure(&mut shop, "cart:{customer:uint}", "misfits"), ":1");
    let logged = shop.host.logged.join("\n");
    assert!(logged.contains("Database 0: 3 rows do not fit; they are kept"), "{logged}");
    assert!(logged.contains("customer:2: "), "{logged}");
    check(
        &mut shop,
        &[
            ("HGET customer:1 balance", "$2 -1"),
            ("GET customer:2", "$4 text"),
            ("LLEN cart:1", ":4"),
            ("GET stranger", "$1 1"),
            ("SMEMBERS customers:on:paid", "*1 $1 1"),
        ],
    );
}

#[test]
fn of_several_claims_the_owner_or_the_first_has_the_unique_value() {
    let twin = |id: u8| format!("HSET customer:{id} email same@x balance 1.00 plan free");
    let (a, b) = (twin(1), twin(2));
    let mut shop = loaded(&[&a, &b, "SET customers:by_email:same@x 2"]);
    check(&mut shop, &[("GET customers:by_email:same@x", "$1 2")]);
    assert_eq!(figure(&mut shop, "customer:{id:uint}", "conflicts"), ":1");
    let logged = shop.host.logged.join("\n");
    assert!(logged.contains("SCHEMA customer:1: "), "{logged}");
    let mut shop = loaded(&[&b, &a]);
    check(&mut shop, &[("GET customers:by_email:same@x", "$1 1")]);
}

#[test]
fn what_was_true_is_loaded_as_it_was() {
    let mut first = TestEngine::governed(1, SHOP);
    check(
        &mut first,
        &[
            (ADA, ":4"),
            (BOB, ":3"),
            ("SADD follows:1 2", ":1"),
            (r#"SET order:1 {"state":"open","total":"1.00"}"#, "+OK"),
            ("SET note:1 a", "+OK"),
        ],
    );
    let sorted = |engine: &mut TestEngine| {
        let state = engine.state();
        let mut lines: Vec<_> = state.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let mut second = load(&first);
    assert_eq!(sorted(&mut second), sorted(&mut first));
    assert!(second.host.logged.is_empty(), "{:?}", second.host.logged);
}

/// Compares how many rows of the customers and of the carts do not fit.
fn check_misfits(shop: &mut TestEngine, customers: u64, carts: u64) {
    let found = ["customer:{id:uint}", "cart:{customer:uint}"]
        .map(|pattern| figure(shop, pattern, "misfits"));
    assert_eq!(found, [customers, carts].map(|count| format!(":{count}")));
}

#[test]
fn misfits_are_counted_as_rows_are_mended_deleted_renamed_and_end() {
    let mut shop = loaded(&[
        "HSET customer:1 email ada@x balance -1 plan paid",
        "HSET customer:2 email bob@x balance -2 plan paid",
        "HSET customer:3 email cid@x plan free",
        "RPUSH cart:1 a b c d",
        "RPUSH cart:2 a b c d",
        "PEXPIRE cart:2 5000",
    ]);
    check_misfits(&mut shop, 3, 2);
    // A write that leaves the wrong field alone mends nothing.
    check(&mut shop, &[("HSET customer:1 plan free", ":0")]);
    check_misfits(&mut shop, 3, 2);
    check(&mut shop, &[("HSET customer:1 balance 1.00", ":0"), ("LTRIM cart:1 0 1", "+OK")]);
    check_misfits(&mut shop, 2, 1);
    let undone = "EVAL redis.call('DEL','customer:2')error('no') 0";
    let client = shop.engine.connect();
    assert!(shop.call(client, undone).starts_with('-'));
    check_misfits(&mut shop, 2, 1);
    check(&mut shop, &[("DEL customer:2", ":1")]);
    check_misfits(&mut shop, 1, 1);
    shop.set_time(START_MS + 5_001);
    check(&mut shop, &[("EXISTS cart:2", ":0")]);
    check_misfits(&mut shop, 1, 0);
    let info = shop.call(client, "INFO patterns");
    assert!(info.contains("pattern=customer:{id:uint},keys=2,"), "{info}");
    assert!(info.contains(",misfits=1,"), "{info}");
    check(&mut shop, &[("FLUSHDB", "+OK")]);
    check_misfits(&mut shop, 0, 0);
}

#[test]
fn what_is_let_pass_with_a_warning_is_counted_while_it_is_there() {
    let mut shop = TestEngine::governed(1, SHOP);
    check(
        &mut shop,
        &[
            (ADA, ":4"),
            ("KEYWARD MODE warn", "+OK"),
            ("HSET customer:1 balance -1", ":0"),
            ("HSET customer:2 email ada@x balance 1.00 plan free", ":3"),
            ("RPUSH cart:1 a", ":1"),
            ("PERSIST cart:1", ":1"),
            ("SADD orders:open 7", ":1"),
        ],
    );
    check_misfits(&mut shop, 1, 1);
    assert_eq!(figure(&mut shop, "customer:{id:uint}", "conflicts"), ":1");
    assert_eq!(figure(&mut shop, "orders:open", "misfits"), ":1");
    check(
        &mut shop,
        &[
            ("KEYWARD MODE schema", "+OK"),
            ("HSET customer:1 balance 3.00", ":0"),
            ("HSET customer:2 email bob@x", ":0"),
            ("RPUSH cart:1 b", ":2"),
        ],
    );
    check_misfits(&mut shop, 0, 0);
    assert_eq!(figure(&mut shop, "customer:{id:uint}", "conflicts"), ":0");
    // What contradicts its sources does so until it is mended, over starts too.
    let mut reloaded = load(&shop);
    check(
        &mut reloaded,
        &[("SMEMBERS orders:open", "*1 $1 7"), ("GET customers:by_email:bob@x", "$1 2")],
    );
    assert_eq!(figure(&mut reloaded, "orders:open", "misfits"), ":1");
}

#[test]
fn a_lookup_that_was_overwritten_returns_as_it_is_and_what_lacks_comes_back() {
    let mut shop = TestEngine::governed(1, SHOP);
    check(
        &mut shop,
        &[
            (ADA, ":4"),
            (BOB, ":3"),
            ("KEYWARD MODE warn", "+OK"),
            ("SET customers:by_email:ada@x 2", "+OK"),
            ("SREM customers:on:paid 1", ":1"),
            ("DEL customers:by_email:bob@x", ":1"),
            ("SADD customers:by_email:bob@x 2", ":1"),
            ("ZADD customers:seen 9 2", ":1"),
        ],
    );
    let mut reloaded = load(&shop);
    check(
        &mut reloaded,
        &[
            ("GET customers:by_email:ada@x", "$1 2"),
            ("TYPE customers:by_email:bob@x", "+set"),
            ("SMEMBERS customers:on:paid", "*1 $1 1"),
            ("ZSCORE customers:seen 2", "$1 9"),
        ],
    );
    assert_eq!(figure(&mut reloaded, "customers:by_email:{email}", "misfits"), ":2");
    assert_eq!(figure(&mut reloaded, "customers:seen", "misfits"), ":1");
    assert_eq!(figure(&mut reloaded, "customer:{id:uint}", "conflicts"), ":2");
    let told = reloaded.host.logged.join("\n");
    assert!(
        told.contains("by the schema that governed these rows: 1 entry of a derived key built"),
        "{told}"
    );
    assert!(!told.contains("destroyed"), "{told}");
    // Who has it now is found out when it is free.
    check(
        &mut reloaded,
        &[
            ("KEYWARD MODE warn", "+OK"),
            ("DEL customers:by_email:bob@x", ":1"),
            ("SET customers:by_email:ada@x 1", "+OK"),
            ("SET customers:by_email:bob@x 2", "+OK"),
            ("ZREM customers:seen 2", ":1"),
        ],
    );
    assert_eq!(figure(&mut reloaded, "customers:by_email:{email}", "misfits"), ":0");
    assert_eq!(figure(&mut reloaded, "customers:seen", "misfits"), ":0");
}

#[test]
fn the_figures_of_patterns_go_on_when_a_database_is_emptied() {
    let mut shop = TestEngine::governed(1, SHOP);
    check(&mut shop, &[(ADA, ":4"), ("HGET customer:1 plan", "$4 paid"), ("FLUSHDB", "+OK")]);
    let figures =
        ["keys", "writes", "hits"].map(|name| figure(&mut shop, "customer:{id:uint}", name));
    assert_eq!(figures, [":0", ":1", ":1"]);
}

#[test]
fn what_contradicts_its_sources_is_counted_until_they_agree() {
    let mut shop = TestEngine::governed(1, SHOP);
    let plans = "customers:on:{plan}";
    let emails = "customers:by_email:{email}";
    check(&mut shop, &[(ADA, ":4"), (BOB, ":3"), ("KEYWARD MODE warn", "+OK")]);
    let mut after = |command: &str, reply: &str, pattern: &str, misfits: &str| {
        check(&mut shop, &[(command, reply)]);
        assert_eq!(figure(&mut shop, pattern, "misfits"), misfits, "{command}");
    };
    // A member that nobody demands: until it goes, or somebody does.
    after("SADD customers:on:free 7 8", ":2", plans, ":1");
    after("SREM customers:on:free 7", ":1", plans, ":1");
    after("HSET customer:8 email eve@x balance 1.00 plan free", ":3", plans, ":0");
    // One that is missing: until it comes, or its source goes.
    after("SREM customers:on:paid 1", ":1", plans, ":1");
    after("HSET customer:1 seen_at 9", ":0", plans, ":1");
    after("SADD customers:on:paid 1", ":1", plans, ":0");
    after("DEL customers:on:paid", ":1", plans, ":1");
    after("DEL customer:1", ":1", plans, ":0");
    // A score, a lifetime, a row of another type, a name that belongs to another.
    after("ZADD customers:seen 3 2", ":1", "customers:seen", ":1");
    after("HSET customer:2 seen_at 3", ":1", "customers:seen", ":0");
    after("EXPIRE customers:seen 100", ":1", "customers:seen", ":1");
    after("PERSIST customers:seen", ":1", "customers:seen", ":0");
    after("SET customers:by_email:bob@x 8", "+OK", emails, ":1");
    after("SET customers:by_email:bob@x 2", "+OK", emails, ":0");
    after("SET customers:by_email:none@x 8", "+OK", emails, ":1");
    after("DEL customers:by_email:none@x", ":1", emails, ":0");
    after("FLUSHDB", "+OK", plans, ":0");
}

#[test]
fn a_misfit_is_judged_when_it_is_renamed_and_a_sound_row_moves_as_it_is() {
    let mut shop = loaded(&[ADA, "HSET customer:3 email carl@x balance much plan free"]);
    let client = shop.engine.connect();
    let reply = shop.call(client, "RENAME customer:3 customer:4");
    assert!(reply.starts_with("-SCHEMA customer:4"), "{reply}");
    assert_eq!(figure(&mut shop, "customer:{id:uint}", "misfits"), ":1");
    check(
        &mut shop,
        &[
            ("RENAME customer:1 customer:5", "+OK"),
            ("HGET customer:5 plan", "$4 paid"),
            ("GET customers:by_email:ada@x", "$1 5"),
            ("SMEMBERS customers:on:paid", "*1 $1 5"),
        ],
    );
}

#[test]
fn a_start_that_observes_tells_what_a_refused_one_would() {
    const SCHEMA: &str = r#"
        [keyspace]
        name = "shop"
        [key."user:{id:uint}"]
        type = "hash"
        ttl = "none"
        fields = { email = "str" }
        [key."users:by_email:{email}"]
        type = "string"
        lookup = { of = "user:{id}", field = "email" }
        [key."order:{id:uint}"]
        type = "string"
        ttl = "1h"
        [key."note:{id:uint}"]
        type = "string"
        ttl = { with = "order:{id}" }
        [key."recent:{id:uint}"]
        type = "list"
        items = "string"
        max_len = 2
    "#;
    let mut plain = TestEngine::new(1);
    let client = plain.engine.connect();
    for command in [
        "HSET user:1 email a@x",
        "HSET user:2 email a@x",
        "HSET user:3 mail a@x",
        "SET order:1 x",
        "SET order:2 x EX 999999",
        "SET note:1 x",
        "SET note:7 x",
        "RPUSH recent:1 a b c",
        "RPUSH recent:2 a b",
        "SET stranger x",
    ] {
        assert!(!plain.call(client, command).starts_with('-'), "{command}");
    }
    let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
    let file = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let refused =
        started_under(SCHEMA, &file, (false, Vec::new())).err().expect("rows would change");
    let mut shop = started_under(SCHEMA, &file, (true, Vec::new())).expect("it changes nothing");
    let told = shop.host.logged.join("\n");
    for line in refused.tables.lines() {
        assert!(told.contains(line), "{line}\n is not in\n{told}");
    }
    assert!(refused.tables.contains("recent:{id:uint}"), "{}", refused.tables);
    check(
        &mut shop,
        &[("DBSIZE", ":10"), ("TTL order:1", ":-1"), ("EXISTS users:by_email:a@x", ":0")],
    );
    assert_eq!(figure(&mut shop, "recent:{id:uint}", "misfits"), ":1");
    assert_eq!(figure(&mut shop, "user:{id:uint}", "misfits"), ":1");
    assert_eq!(figure(&mut shop, "user:{id:uint}", "conflicts"), ":1");
    let client = shop.engine.connect();
    let misfits = shop.call(client, "KEYWARD MISFITS");
    assert!(misfits.contains("recent:1") && misfits.contains("user:3"), "{misfits}");
}

#[test]
fn an_end_that_the_log_rounded_up_is_not_overlong() {
    const SCHEMA: &str = r#"
        [keyspace]
        name = "sessions"
        [key."session:{id:uint}"]
        type = "string"
        ttl = { after = "16s", renew = "access" }
        [key."cart:{id:uint}"]
        type = "string"
        ttl = { with = "session:{id}" }
    "#;
    for (ms, is_overlong) in [(17_000, false), (17_001, true)] {
        let mut plain = TestEngine::new(1);
        let client = plain.engine.connect();
        for key in ["session:1", "cart:1"] {
            plain.call(client, &format!("SET {key} x PX {ms}"));
        }
        let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
        let file = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
        let started = started_under(SCHEMA, &file, (false, Vec::new()));
        assert_eq!(started.is_err(), is_overlong, "its next use would give it a nearer end");
        let accepted = started.err().map_or(Vec::new(), |asked| asked.plans);
        let mut shop = started_under(SCHEMA, &file, (false, accepted)).expect("it is accepted");
        let told = shop.host.logged.join("\n");
        assert_eq!(told.contains("1 row lives longer than it may"), is_overlong, "{told}");
        check(
            &mut shop,
            &[("PTTL session:1", &format!(":{ms}")), ("PTTL cart:1", &format!(":{ms}"))],
        );
    }
}

#[test]
fn figures_of_many_rows_that_changed_at_once_are_exact_some_ticks_later() {
    const SEATS: u64 = 5000;
    let schema = "[keyspace]\nname = \"seats\"\n\n[key.\"seat:{id:uint}\"]\ntype = \"string\"\n\
                  value = \"uint\"\nttl = \"none\"\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    assert_eq!(test.call(client, "KEYWARD MODE warn"), "+OK\r\n");
    let seats: Vec<String> = (0..SEATS).map(|id| format!("seat:{id} none")).collect();
    test.call(client, &format!("MSET {}", seats.join(" ")));
    let told = figure(&mut test, "seat:{id:uint}", "misfits");
    let told: u64 = told.trim_start_matches(':').parse().expect("a number");
    assert!((1..SEATS / 4).contains(&told), "one call judges some hundreds of rows: {told}");
    let mut ticks = 0;
    while figure(&mut test, "seat:{id:uint}", "misfits") != format!(":{SEATS}") {
        test.tick();
        ticks += 1;
        assert!(ticks < 100, "figures become exact");
    }
}
