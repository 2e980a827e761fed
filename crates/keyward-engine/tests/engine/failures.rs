//! Follow-ups that fail where no command can be refused: they are counted, and the log says so.

use crate::changefeed::FEED;
use crate::harness::TestEngine;
use crate::shop::Shop;

const SCHEMA: &str = r#"
[keyspace]
name    = "shop"
unknown = "allow"

[key."page:{path}"]
type = "string"
ttl  = "1h"
sink = { archive = "pages" }

[key."token:{token}"]
type   = "string"
ttl    = "1h"
secret = ["token"]
sink   = { archive = "tokens" }
"#;

#[test]
fn an_archived_row_that_cannot_be_told_is_counted_and_logged() {
    let sinks = SCHEMA.lines().filter(|line| line.starts_with("sink"));
    let without = sinks.fold(SCHEMA.to_owned(), |schema, sink| schema.replace(sink, ""));
    let mut shop = Shop::new(1, &without);
    // What is there when sinks come is a stream that takes no more entries.
    let last = u64::MAX;
    let added = shop.call(&format!("XADD {FEED} {last}-{last} a b"));
    assert!(added.starts_with('$'), "{added}");
    let plan = shop.plan(SCHEMA);
    assert!(shop.apply(&plan, 0).starts_with('*'));
    let Shop { mut test, client, .. } = shop;
    test.call(client, "SET page:a text PX 100");
    test.call(client, "SET page:b text PX 100");
    test.call(client, "SET token:hunter2 text PX 20000");
    let count = |test: &mut TestEngine| -> u64 {
        let info = test.call(client, "INFO patterns");
        let line = info.split("\r\n").find_map(|line| line.strip_prefix("follow_ups_failed:"));
        line.and_then(|number| number.parse().ok()).expect("the section has it")
    };
    assert_eq!(count(&mut test), 0);
    test.host.expects_failures = true;
    let failed = |test: &TestEngine| -> Vec<String> {
        let lines = test.host.logged.iter().filter(|line| line.contains("failed"));
        lines.cloned().collect()
    };
    let reason = "failed, which follows from a change that nobody can be refused: ERR The stream \
                  has exhausted the last possible ID, unable to add more items";

    test.pass(1_000);
    test.tick();
    let first = failed(&test);
    assert_eq!(first.len(), 1, "{first:?}");
    let names = |page: &str| first[0] == format!("db0: XADD {FEED} of page:{page} {reason}");
    assert!(names("a") || names("b"), "{first:?}");
    assert_eq!(count(&mut test), 2);

    test.pass(20_000);
    test.tick();
    let others = "(and 1 others since the last such line)";
    let second = format!("db0: XADD {FEED} of token:(redacted) {reason} {others}");
    assert_eq!(failed(&test)[1..], [second], "a secret is not shown");
    assert_eq!(count(&mut test), 3);
}

#[test]
fn a_system_without_randomness_makes_no_passwords() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    assert!(test.call(client, "ACL GENPASS 8").starts_with("$2\r\n"));
    test.host.lacks_secrets = true;
    assert_eq!(test.call(client, "ACL GENPASS 8"), "-ERR the system has no randomness\r\n");
}
