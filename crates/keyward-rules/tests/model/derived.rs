//! Derived keys follow their sources, and say no to what contradicts them.

use crate::SCHEMA;
use crate::host::{Host, Outcome};

fn host(commands: &[&str]) -> Host {
    let mut host = Host::new(SCHEMA);
    for command in commands {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    host
}

#[track_caller]
fn refused(host: &mut Host, command: &str, expected: &str) {
    let keys_before = host.keyspace.clone().rows;
    assert_eq!(host.run(command), Outcome::Refused(expected.to_owned()), "{command}");
    assert_eq!(host.keyspace.rows, keys_before, "{command} leaves nothing behind");
}

#[track_caller]
fn shows(host: &Host, expected: &[(&str, &str)]) {
    for (key, content) in expected {
        assert_eq!(host.shown(key), *content, "{key}");
    }
}

const ANN: &str = "HSET user:1 email ann@x status active plan gold seen 5";
#[test]
fn a_row_is_ranked_by_its_key_while_a_test_holds() {
    let mut host = host(&[ANN, BOB]);
    shows(&host, &[("closed", "nothing")]);
    host.run("HSET user:2 status closed");
    host.run("HSET user:1 status closed");
    shows(&host, &[("closed", "1=1 2=2")]);
    host.run("RENAME user:1 user:30");
    host.run("HSET user:2 status active");
    shows(&host, &[("closed", "30=30")]);
    assert!(matches!(host.run("ZADD closed 31 30"), Outcome::Refused(_)));
    host.run("DEL user:30");
    shows(&host, &[("closed", "nothing")]);
}

const BOB: &str = "HSET user:2 email bob@x status active plan free";

#[test]
fn a_row_enters_every_key_that_its_fields_say() {
    let mut host = host(&[ANN, BOB]);
    shows(
        &host,
        &[
            ("by_email:ann@x", "1"),
            ("by_email:bob@x", "2"),
            ("seen", "1=5"),
            ("active", "1 2"),
            ("active:gold", "1"),
            ("active:free", "2"),
        ],
    );
    host.run("HSET user:1 plan free email ann@y seen 7.0");
    host.run("HSET user:1 plan free email ann@y seen 7");
    shows(
        &host,
        &[
            ("by_email:ann@x", "nothing"),
            ("by_email:ann@y", "1"),
            ("seen", "1=7"),
            ("active:gold", "nothing"),
            ("active:free", "1 2"),
        ],
    );
    host.run("HDEL user:1 email seen");
    host.run("HSET user:2 status closed");
    shows(
        &host,
        &[
            ("by_email:ann@y", "nothing"),
            ("seen", "nothing"),
            ("active", "1"),
            ("active:free", "1"),
        ],
    );
    host.run("DEL user:1");
    shows(&host, &[("active", "nothing"), ("active:free", "nothing"), ("by_email:bob@x", "2")]);
}

#[test]
fn a_row_that_expires_leaves_them() {
    let mut host = host(&[ANN]);
    host.wait(3_599_999);
    shows(&host, &[("active", "1"), ("by_email:ann@x", "1"), ("seen", "1=5")]);
    host.wait(1);
    assert!(host.keyspace.rows.is_empty(), "{:?}", host.keyspace.rows);
}

#[test]
fn a_renamed_row_is_another_source() {
    let mut host = host(&[ANN, "RENAME user:1 user:9"]);
    shows(&host, &[("by_email:ann@x", "9"), ("active", "9"), ("seen", "9=5")]);
    refused(
        &mut host,
        "COPY user:9 user:3 REPLACE",
        "SCHEMA user:3: email belongs to 9 already, and by_email:{email} is unique (shop.toml:9)",
    );
}

#[test]
fn a_unique_value_has_one_owner() {
    let mut host = host(&[ANN, BOB, "SET code:1 X", "SET code:2 Y"]);
    refused(
        &mut host,
        "HSET user:2 email ann@x",
        "SCHEMA user:2: email belongs to 1 already, and by_email:{email} is unique (shop.toml:9)",
    );
    refused(
        &mut host,
        "SET code:2 X",
        "SCHEMA code:2: the value belongs to 1 already, and owner:{code} is unique (shop.toml:30)",
    );
    refused(
        &mut host,
        "MSET code:3 Z code:4 Z",
        "SCHEMA code:4: the value belongs to 3 already, and owner:{code} is unique (shop.toml:30)",
    );
}

#[test]
fn uniqueness_is_judged_after_the_whole_command() {
    let mut host = host(&["SET code:1 X", "SET code:2 Y", "MSET code:1 Y code:2 X"]);
    shows(&host, &[("owner:X", "2"), ("owner:Y", "1")]);
    assert_eq!(host.run("RENAME code:1 code:2"), Outcome::Done);
    shows(&host, &[("owner:X", "nothing"), ("owner:Y", "2")]);
}

#[test]
fn a_write_that_agrees_passes_and_one_that_contradicts_is_refused() {
    let mut host = host(&[
        ANN,
        "SET code:1 X",
        "SADD active 1",
        "ZADD seen 5 1",
        "SET by_email:ann@x 1",
        "SREM active 2",
        "DEL active:none",
        "MSET code:1 Y owner:Y 1",
    ]);
    shows(&host, &[("owner:Y", "1"), ("owner:X", "nothing"), ("active", "1")]);
    let kept = |key: &str, source: &str, line: u32| {
        format!(
            "SCHEMA {key}: is kept by Keyward from {source}, which says otherwise; write that \
             instead (shop.toml:{line})"
        )
    };
    let user = "user:{id:uint}";
    refused(&mut host, "SADD active 2", &kept("active", user, 22));
    refused(&mut host, "SREM active 1", &kept("active", user, 22));
    refused(&mut host, "DEL active", &kept("active", user, 22));
    refused(&mut host, "ZADD seen 6 1", &kept("seen", user, 18));
    refused(&mut host, "SET by_email:ann@x 2", &kept("by_email:ann@x", user, 14));
    refused(&mut host, "SET by_email:zoe@x 1", &kept("by_email:zoe@x", user, 14));
    refused(&mut host, "RENAME active active:gold", &kept("active", user, 22));
    refused(&mut host, "MSET code:1 Z owner:Z 2", &kept("owner:Z", "code:{id:uint}", 35));
}

#[test]
fn a_lookup_holds_a_field_of_its_source_while_a_condition_holds() {
    let mut host = host(&["HSET card:7 card 7 user 1 state off", "HSET card:8 card 8 state on"]);
    shows(&host, &[("user_of:7", "nothing"), ("user_of:8", "nothing")]);
    for command in ["HSET card:7 state on", "HSET card:8 user 1"] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    shows(&host, &[("user_of:7", "1"), ("user_of:8", "1")]);
    assert_eq!(host.run("HSET card:7 user 2"), Outcome::Done);
    shows(&host, &[("user_of:7", "2")]);
    let kept = |key: &str| {
        format!(
            "SCHEMA {key}: is kept by Keyward from card:{{card:uint}}, which says otherwise; write \
             that instead (shop.toml:99)"
        )
    };
    refused(&mut host, "SET user_of:7 1", &kept("user_of:7"));
    refused(&mut host, "DEL user_of:7", &kept("user_of:7"));
    refused(&mut host, "SET user_of:9 1", &kept("user_of:9"));
    assert_eq!(host.run("SET user_of:7 2"), Outcome::Done, "it agrees");
    assert_eq!(host.run("HDEL card:8 user"), Outcome::Done);
    assert_eq!(host.run("DEL card:7"), Outcome::Done);
    shows(&host, &[("user_of:7", "nothing"), ("user_of:8", "nothing")]);
    host.run("HSET card:8 user 3");
    host.wait(3_600_000);
    assert!(host.keyspace.rows.is_empty(), "{:?}", host.keyspace.rows);
}

#[test]
fn a_value_is_unique_among_the_rows_whose_condition_holds() {
    // The other lookup of the field has no condition.
    let schema =
        SCHEMA.replace("field = \"email\" }", "field = \"email\", when = \"status = active\" }");
    let mut host = Host::new(&schema);
    for command in [ANN, "HSET user:2 email ann@x status closed plan free"] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    refused(
        &mut host,
        "HSET user:2 status active",
        "SCHEMA user:2: email belongs to 1 already, and by_email:{email} is unique (shop.toml:9)",
    );
    assert_eq!(host.run("HSET user:1 status closed"), Outcome::Done);
    shows(&host, &[("by_live_email:ann@x", "nothing")]);
    assert_eq!(host.run("HSET user:2 status active"), Outcome::Done);
    shows(&host, &[("by_live_email:ann@x", "2"), ("by_email:ann@x", "2")]);
}

#[test]
fn a_lookup_of_a_field_is_mended_by_its_source_alone() {
    let mut host = Host::new(&SCHEMA.replace("[keyspace]", "[keyspace]\nmode = \"warn\""));
    for command in ["HSET card:7 card 7 user 1 state on", "SET user_of:7 9", "HSET card:7 user 2"] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    shows(&host, &[("user_of:7", "2")]);
    for command in ["SET user_of:7 9", "DEL card:7"] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    shows(&host, &[("user_of:7", "nothing")]);
    assert_eq!(host.warnings.len(), 2, "{:?}", host.warnings);
}

#[test]
fn mirrored_sets_follow_each_other() {
    let mut host = host(&["SADD user:1:out 2 3", "SADD user:1:in 3"]);
    shows(
        &host,
        &[("user:2:in", "1"), ("user:3:in", "1"), ("user:3:out", "1"), ("user:1:out", "2 3")],
    );
    host.run("SMOVE user:1:out user:4:out 2");
    shows(&host, &[("user:2:in", "4"), ("user:4:out", "2"), ("user:1:out", "3")]);
    host.run("DEL user:3:in");
    shows(&host, &[("user:1:out", "nothing"), ("user:3:out", "1")]);
    host.run("RENAME user:3:out user:5:out");
    shows(&host, &[("user:1:in", "5")]);
    host.run("PEXPIRE user:1:in 1000");
    host.wait(1000);
    shows(&host, &[("user:5:out", "nothing")]);
    refused(
        &mut host,
        "SADD user:1:in x",
        "SCHEMA user:1:in: a member must name a key user:{id:uint}:out, and x cannot (shop.toml:68)",
    );
}

#[test]
fn a_mirror_has_bounds_too() {
    let mut host = host(&["SADD user:9:in 1 2 3 4"]);
    refused(
        &mut host,
        "SADD user:5:out 9",
        "SCHEMA user:9:in: may have at most 4 members (max_members), not 5 (shop.toml:68)",
    );
    refused(
        &mut host,
        "SADD user:5:out x",
        "SCHEMA user:5:out: a member must be a whole number not below zero, not \"x\" (shop.toml:63)",
    );
}

#[test]
fn a_follower_names_living_keys_and_loses_those_that_go() {
    let mut host = host(&["MSET msg:1:7 a msg:1:8 b", "ZADD recent:1 10 7 20 8"]);
    refused(
        &mut host,
        "ZADD recent:1 30 9",
        "SCHEMA recent:1: a member must name a living key, and msg:1:9 does not exist; write that \
         first (shop.toml:76)",
    );
    host.run("DEL msg:1:7");
    shows(&host, &[("recent:1", "8=20")]);
    host.wait(10_000);
    shows(&host, &[("recent:1", "nothing")]);
}

#[test]
fn companions_share_the_end_of_their_leader() {
    let doc = |ends: i64| format!("SET doc:1 {{\"ends\":{ends},\"kind\":\"text\"}}");
    let mut host = Host::new(SCHEMA);
    refused(
        &mut host,
        "SET note:1:5 hi",
        "SCHEMA note:1:5: lives with doc:1, which does not exist; create that first (shop.toml:53)",
    );
    for command in [&doc(1_005_000), "SET note:1:5 hi", "SADD notes:1 5"] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    let deadline = |host: &Host, key| host.row(key).and_then(|row| row.deadline);
    shows(&host, &[("docs:text", "1"), ("note_of:hi", "5")]);
    assert_eq!(deadline(&host, "note:1:5"), Some(1_005_000));
    host.run(&doc(1_009_000));
    assert_eq!(deadline(&host, "note:1:5"), Some(1_009_000));
    host.wait(9_000);
    assert!(host.keyspace.rows.is_empty(), "{:?}", host.keyspace.rows);
}

#[test]
fn rows_that_follow_their_leader_are_not_kept_while_they_do() {
    let doc = |ends: i64| format!("SET doc:2 {{\"ends\":{ends},\"kind\":\"text\"}}");
    let mut host = Host::new(SCHEMA);
    assert_eq!(host.run(&doc(1_005_000)), Outcome::Done);
    for note in 0..100 {
        assert_eq!(host.run(&format!("SET note:2:{note} hi")), Outcome::Done);
    }
    for command in [&doc(1_009_000), "PEXPIREAT doc:2 1009000", "DEL doc:2"] {
        host.rows_asked.set(0);
        assert_eq!(host.run(command), Outcome::Done, "{command}");
        let asked = host.rows_asked.get();
        assert!(asked <= 4, "{command}: {asked} rows were asked for");
    }
    assert!(host.keyspace.rows.is_empty(), "{:?}", host.keyspace.rows);
}

#[test]
fn an_end_in_the_past_takes_everything_along() {
    let doc = |ends: i64| format!("SET doc:1 {{\"ends\":{ends},\"kind\":\"text\"}}");
    let mut host = Host::new(SCHEMA);
    for command in [&doc(2_000_000), "SET note:1:5 hi", "SADD notes:1 5", &doc(5)] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    assert!(host.keyspace.rows.is_empty(), "{:?}", host.keyspace.rows);
}

#[test]
fn one_command_adds_only_so_many_entries() {
    let mut host = Host::new(&SCHEMA.replace("max_members = 4", "max_fanout = 2"));
    assert_eq!(host.run("SADD user:1:in 2 3"), Outcome::Done);
    refused(
        &mut host,
        "SADD user:1:in 4 5 6",
        "SCHEMA user:{id:uint}:out: one command may add at most 2 entries to it (max_fanout), \
         not 3; write in smaller steps (shop.toml:63)",
    );
}

/// A host with these followers of user 1 and of user 2, who may then change only two.
fn wide_host(followers: [std::ops::Range<u32>; 2]) -> Host {
    let schema = |fanout: &str| SCHEMA.replace("max_members = 4", fanout);
    let mut host = Host::new(&schema("max_fanout = 1000"));
    for (user, followers) in (1..).zip(followers) {
        for follower in followers {
            let command = format!("SADD user:{user}:in {follower}");
            assert_eq!(host.run(&command), Outcome::Done, "{command}");
        }
    }
    Host { keyspace: host.keyspace, ..Host::new(&schema("max_fanout = 2")) }
}

#[track_caller]
fn refused_unseen(host: &mut Host, command: &str, count: usize) {
    host.rows_asked.set(0);
    let expected = format!(
        "SCHEMA user:{{id:uint}}:out: one command may add at most 2 entries to it \
         (max_fanout), not {count}; write in smaller steps (shop.toml:63)"
    );
    refused(host, command, &expected);
    let asked = host.rows_asked.get();
    assert!(asked <= 4, "{command}: {asked} rows were looked at");
}

#[test]
fn too_wide_a_command_is_refused_before_mirrors_are_looked_at() {
    let mut host = wide_host([100..200, 150..230]);
    refused_unseen(&mut host, "SADD user:1:in 100 301 302 303 304 304", 4);
    refused_unseen(&mut host, "SUNIONSTORE user:3:in user:1:in user:2:in", 130);
    refused_unseen(&mut host, "SUNIONSTORE user:1:in user:2:in", 30);
    refused_unseen(&mut host, "RENAME user:1:in user:3:in", 100);
}

#[test]
fn what_leaves_has_no_limit() {
    let mut host = wide_host([100..200, 150..230]);
    for command in ["SREM user:1:in 100 101 102 103 999", "DEL user:1:in", "PEXPIREAT user:2:in 5"]
    {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    assert!(host.keyspace.rows.is_empty(), "{:?}", host.keyspace.rows);
}

#[test]
fn a_command_of_few_mirrors_is_counted_to_the_end() {
    let mut host = wide_host([100..102, 100..102]);
    // What the command itself takes out of the mirrors is not to be taken out again.
    let commands = ["DEL user:1:in", "SADD user:1:in 100 101", "DEL user:2:in user:100:out"];
    for command in commands {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    shows(&host, &[("user:1:in", "101"), ("user:101:out", "1"), ("user:100:out", "nothing")]);
}

const SOURCES: &str = r#"
[keyspace]
name = "sources"
[key."lead:{id:uint}"]
type = "string"
ttl = "none"
[key."code:{id:uint}"]
type = "string"
value = "str"
ttl = "none"
[key."owner:{code}"]
type = "string"
lookup = { of = "code:{id}" }
max_fanout = 20
[key."part:{lead_id:uint}:{n:uint}"]
type = "string"
ttl = { with = "lead:{lead_id}" }
[key."parts:{lead_id:uint}"]
type = "set"
members = { of = "part:{lead_id}:{n}" }
max_fanout = 20
"#;

/// A hundred rows with a unique value each, and a hundred that live with another.
fn host_of_sources() -> Host {
    let mut host = Host::new(SOURCES);
    assert_eq!(host.run("SET lead:1 x"), Outcome::Done);
    for n in 0..100 {
        for command in [format!("SET code:{n} c{n}"), format!("SET part:1:{n} x")] {
            assert_eq!(host.run(&command), Outcome::Done, "{command}");
        }
    }
    host
}

fn words_of(ids: std::ops::Range<u32>, word: impl Fn(u32) -> String) -> String {
    ids.map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_command_of_too_many_sources_is_refused_by_the_first_of_them() {
    let mut host = host_of_sources();
    let fresh = words_of(200..300, |n| format!("code:{n} d{n}"));
    let other = words_of(0..100, |n| format!("code:{n} d{n}"));
    let commands = [
        (format!("MSET {fresh}"), "owner:{code}", 11),
        (format!("MSET {other}"), "owner:{code}", 11),
    ];
    for (command, pattern, line) in commands {
        host.rows_asked.set(0);
        let expected = format!(
            "SCHEMA {pattern}: one command may add at most 20 entries to it (max_fanout), and \
             this one adds more; write in smaller steps (shop.toml:{line})"
        );
        refused(&mut host, &command, &expected);
        let asked = host.rows_asked.get();
        assert!(asked <= 60, "{command}: {asked} rows were looked at");
    }
}

#[test]
fn a_command_of_many_sources_that_demand_little_is_counted_to_the_end() {
    let mut host = host_of_sources();
    let same = words_of(0..100, |n| format!("code:{n} c{n}"));
    // Each is lost by one row and gained by another: one element a row changes.
    let swapped = words_of(0..20, |n| format!("code:{n} c{}", n ^ 1));
    let own = words_of(40..50, |n| format!("code:{n} owner:c{n}"));
    let codes = words_of(60..99, |n| format!("code:{n}"));
    let commands = [
        format!("MSET {same}"),
        format!("MSET {swapped}"),
        format!("DEL {own}"),
        format!("DEL {codes}"),
    ];
    for command in commands {
        assert_eq!(host.run(&command), Outcome::Done, "{command}");
    }
    shows(&host, &[("owner:c1", "0"), ("owner:c18", "19"), ("owner:c41", "nothing")]);
    let over = words_of(20..41, |n| format!("code:{n} c{}", n ^ 1));
    refused(
        &mut host,
        &format!("MSET {} code:99 x", &over[..over.rfind(" code").unwrap_or(0)]),
        "SCHEMA owner:{code}: one command may add at most 20 entries to it (max_fanout), not 21; \
         write in smaller steps (shop.toml:11)",
    );
}

#[test]
fn a_row_in_the_way_of_a_derived_one_goes() {
    let mut host = Host::new(&SCHEMA.replace("[keyspace]", "[keyspace]\nmode = \"warn\""));
    for command in [ANN, "SET active x", BOB] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    assert_eq!(host.warnings.len(), 1, "{:?}", host.warnings);
    shows(&host, &[("active", "2"), ("active:gold", "1")]);
}

#[test]
fn a_second_owner_that_passes_with_a_warning_owns_nothing() {
    let mut host = Host::new(&SCHEMA.replace("[keyspace]", "[keyspace]\nmode = \"warn\""));
    for command in ["SET code:1 X", "SET code:2 X", "DEL code:2"] {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    assert_eq!(host.warnings.len(), 1, "{:?}", host.warnings);
    shows(&host, &[("owner:X", "1")]);
}

#[test]
fn a_follow_up_that_fails_undoes_its_command_and_those_before_it() {
    let first = "HSET user:1 status active plan gold email ann seen 5";
    let commands = [
        "HSET user:1 status closed plan free email ben seen 6",
        "HDEL user:1 email seen",
        "RENAME user:1 user:2",
        "DEL user:1",
    ];
    for command in commands {
        for left in 0.. {
            let mut host = host(&[first, "SADD user:1:out 2"]);
            host.follow_ups_left = Some(left);
            let outcome = host.run(command);
            if host.follow_ups_left.is_some() {
                assert_eq!(outcome, Outcome::Done, "{command}");
                assert!(left > 0, "{command} has follow-ups");
                break;
            }
            // That it is undone the host has seen.
            assert_eq!(outcome, Outcome::Refused("as it was to".to_owned()), "{command}");
        }
    }
}
