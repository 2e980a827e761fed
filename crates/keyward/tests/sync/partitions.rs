//! Partitions for months, and the rights that storing needs.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use keyward_testkit::wait_until;

use crate::stage::{PROGRAM, Stage, begun, call_all, said};

const SHOP: &str = r#"
[keyspace]
name = "shop"

[key."usage:{user:int}:{month:month}"]
type   = "hash"
ttl    = "35d"
fields = { total = "uint" }
sink   = { archive = "usage", retain = "2y", merge = "add" }

[key."user:{id:int}"]
type   = "hash"
ttl    = "none"
fields = { name = "string" }
sink   = { mirror = "users" }

[key."tx:{user:int}"]
type  = "list"
ttl   = "none"
items = { id = "str" }
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx", drop = "1y" }

[key."queue"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "queue" }
"#;

const PARTITIONS: &str = "SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text) \
    FROM pg_inherits WHERE inhparent = 'usage'::regclass";
const DROP_PARTITIONS: &str = "DO $$ DECLARE part regclass; BEGIN \
    FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'usage'::regclass \
    LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$";
const END: &str = "HSET usage:7:2090-05 total 1\nDEL usage:7:2090-05";

/// Somebody who reads a table for a long time, as long as this lives.
struct Reader(Child);

impl Reader {
    fn of(stage: &Stage, table: &str) -> Reader {
        let query = format!("BEGIN; SELECT 1 FROM {table}; SELECT pg_sleep(60)");
        let child = Command::new(stage.postgres.program("psql"))
            .args(["-q", "-c", &query, &stage.postgres.url()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql runs");
        wait_until(|| {
            let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            stage.postgres.query(sleeping) == "1"
        });
        Reader(child)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_month_that_the_database_does_not_know_is_a_dead_letter_and_holds_nobody_up() {
    let (stage, server, mut client) = begun(SHOP, "RPUSH queue a");
    call_all(&mut client, "HSET usage:7:0000-01 total 1\nDEL usage:7:0000-01\nRPUSH queue b");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("1 item was refused"), "{told}");
    stage.check("SELECT count(*) FROM queue", "2");
    stage.check("SELECT convert_from(key, 'UTF8') FROM keyward_dead_letters", "usage:7:0000-01");
}

#[test]
fn a_new_month_does_not_wait_for_readers_nor_they_for_it() {
    let (stage, server, mut client) = begun(SHOP, "RPUSH queue a");
    said(&stage.sync_once(&server));
    let reader = Reader::of(&stage, "usage");
    call_all(&mut client, END);
    let began = Instant::now();
    said(&stage.sync_once(&server));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    stage.check("SELECT count(*) FROM usage_2090_05", "1");
    drop(reader);
    // It is a partition as any other.
    stage.check(
        "SELECT count(*) FROM pg_index WHERE indrelid = 'usage_2090_05'::regclass AND indisprimary",
        "1",
    );
    let url = stage.postgres.url();
    let checked =
        Command::new(PROGRAM).args(["sql", "--check", &url, stage.schema_text()]).output();
    assert!(checked.as_ref().is_ok_and(|output| output.status.success()), "{checked:?}");
}

#[test]
fn a_table_may_have_an_identity_column() {
    let (stage, server, mut client) = begun(SHOP, "RPUSH queue a");
    stage.postgres.query(DROP_PARTITIONS);
    stage.postgres.query("ALTER TABLE usage ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY");
    call_all(&mut client, END);
    said(&stage.sync_once(&server));
    stage.check("SELECT number FROM usage_2090_05", "1");
}

#[test]
fn months_are_there_before_they_begin() {
    let (stage, server, _) = begun(SHOP, "RPUSH queue a");
    stage.postgres.query(DROP_PARTITIONS);
    stage.check(PARTITIONS, "");
    said(&stage.sync_once(&server));
    let months = "SELECT to_char(now(), '\"usage\"_YYYY_MM ') || \
                  to_char(date_trunc('month', now()) + interval '1 month', '\"usage\"_YYYY_MM')";
    stage.check(PARTITIONS, &stage.postgres.query(months));
}

#[test]
fn partitions_of_somebody_elses_making_are_used() {
    for bounds in ["FOR VALUES FROM ('2019-01-01') TO (MAXVALUE)", "DEFAULT"] {
        let (stage, server, mut client) = begun(SHOP, "RPUSH queue a");
        stage.postgres.query(
            "DO $$ DECLARE part regclass; BEGIN FOR part IN SELECT inhrelid::regclass FROM pg_inherits \
             WHERE inhparent = 'usage'::regclass LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$",
        );
        stage.postgres.query(&format!("CREATE TABLE all_of_it PARTITION OF usage {bounds}"));
        call_all(&mut client, END);
        said(&stage.sync_once(&server));
        stage.check(PARTITIONS, "all_of_it");
        stage.check("SELECT count(*) FROM all_of_it", "1");
    }
}

#[test]
fn a_detached_table_of_a_months_name_is_told_in_a_sentence() {
    let (stage, server, mut client) = begun(SHOP, "RPUSH queue a");
    stage.postgres.query("CREATE TABLE usage_2090_05 (LIKE usage)");
    call_all(&mut client, END);
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    let expected = "there is a table usage_2090_05 that is none of its partitions, where rows of \
                    2090-05 belong: give it another name, or attach it (ALTER TABLE usage ATTACH \
                    PARTITION usage_2090_05 FOR VALUES FROM ('2090-05-01') TO ('2090-06-01'))";
    assert!(told.contains(expected), "{told}");
    stage.postgres.query("ALTER TABLE usage_2090_05 RENAME TO older");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM usage", "1");
}

#[test]
fn long_names_that_begin_alike_have_partitions_and_indexes_of_their_own() {
    let long = "u".repeat(58);
    let table = |key: &str, ending: &str| {
        format!(
            "[key.\"{key}:{{user:int}}:{{month:month}}\"]\ntype = 'hash'\nttl = '35d'\n\
             fields = {{ total = 'uint' }}\n\
             sink = {{ archive = '{long}{ending}', retain = '2y', key = ['month', 'user', 'entry'] }}\n"
        )
    };
    let schema = format!("[keyspace]\nname = 'shop'\n{}{}", table("a", "a"), table("b", "b"));
    let (stage, server, mut client) = begun(&schema, "");
    call_all(
        &mut client,
        "HSET a:7:2090-05 total 1\nDEL a:7:2090-05\nHSET b:7:2090-05 total 1\nDEL b:7:2090-05",
    );
    said(&stage.sync_once(&server));
    for ending in ["a", "b"] {
        stage.check(&format!("SELECT count(*) FROM {long}{ending}"), "1");
    }
}

/// What docs/postgresql.md says that storing needs.
const RIGHTS: &str = "GRANT USAGE ON SCHEMA public TO storing; \
    GRANT TEMPORARY ON DATABASE postgres TO storing; \
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO storing";

#[test]
fn the_rights_that_are_documented_are_enough() {
    let docs = include_str!("../../../../docs/postgresql.md");
    let user = docs.lines().find_map(|line| line.strip_prefix("ACL SETUSER storing "));
    let user = user.expect("the rights of a user of the server").replace("NAME", "shop");
    for right in RIGHTS.split("; ") {
        let right = right
            .split(" TO ")
            .next()
            .expect("a right")
            .replace("DATABASE postgres", "DATABASE shop");
        assert!(docs.contains(&right), "{right}");
    }
    let (stage, server, mut client) =
        begun(SHOP, "HSET user:1 name Ann\nRPUSH tx:7 '{\"id\":\"t1\"}'\nRPUSH queue a");
    call_all(&mut client, &format!("ACL SETUSER storing {user}"));
    stage.postgres.query(&format!("CREATE ROLE storing LOGIN; {RIGHTS}"));
    let url = stage.postgres.url().replace("user=keyward", "user=storing");
    let source = format!("redis://storing:hush@{}", server.address());
    let run = |command: &str, options: &[&str]| {
        let output = Command::new(PROGRAM)
            .args([command, "--postgres", &url, "--source", &source, stage.schema_text()])
            .args(options)
            .output()
            .expect("the binary runs");
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), told)
    };
    let (code, told) = run("sync", &["--once"]);
    assert_eq!(code, Some(0), "{told}");
    stage.check("SELECT name FROM users", "Ann");
    // Partitions are there for this month and the next ones, which keyward sql has made.
    let month = stage.postgres.query("SELECT to_char(now(), 'YYYY-MM')");
    call_all(&mut client, &format!("HSET usage:7:{month} total 1\nDEL usage:7:{month}"));
    stage.postgres.query("UPDATE tx SET pushed_at = '2020-01-01'");
    let (code, told) = run("sync", &["--once"]);
    assert!(code == Some(0) && told.contains("1 items that are stored were dropped"), "{told}");
    stage.check("SELECT count(*) FROM usage", "1");
    let (code, told) = run("verify", &[]);
    assert_eq!(code, Some(0), "{told}");
    // Another month needs more, and that is told in one sentence.
    call_all(&mut client, END);
    let (code, told) = run("sync", &["--once"]);
    assert_eq!(code, Some(2), "{told}");
    let expected = "usage: cannot be written now, so nothing is stored: the user may not make the \
                    partition usage_2090_05, for which it has to own usage and needs CREATE on its \
                    schema: ";
    assert!(told.contains(expected) && told.contains("42501"), "{told}");
    stage
        .postgres
        .query("GRANT CREATE ON SCHEMA public TO storing; ALTER TABLE usage OWNER TO storing");
    let (code, told) = run("sync", &["--once"]);
    assert_eq!(code, Some(0), "{told}");
    stage.check("SELECT count(*) FROM usage", "2");
    // A right that lacks is named too, on either side.
    call_all(&mut client, "RPUSH tx:7 '{\"id\":\"t2\"}'");
    for right in ["time", "lindex", "xinfo|groups", "xrange", "scan"] {
        call_all(&mut client, &format!("ACL SETUSER storing -{right}"));
        stage.postgres.query("UPDATE keyward_place SET compares = true");
        call_all(&mut client, "RPUSH queue c");
        let (code, told) = run("sync", &["--once"]);
        assert!(code == Some(2), "{right}: {told}");
        assert!(told.contains(&format!("; the user needs the right +{right}\n")), "{told}");
        call_all(&mut client, &format!("ACL SETUSER storing +{right}"));
    }
    let (code, told) = run("sync", &["--once"]);
    assert_eq!(code, Some(0), "{told}");
    stage.postgres.query("REVOKE INSERT ON queue FROM storing");
    call_all(&mut client, "RPUSH queue b");
    let (code, told) = run("sync", &["--once"]);
    assert!(code == Some(2) && told.contains("queue: cannot be written now"), "{told}");
    assert!(told.contains("the user lacks a right: permission denied for table queue"), "{told}");
}
