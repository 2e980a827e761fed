//! Another schema for rows that are there: planned, then applied.

use crate::harness::START_MS;
use crate::shop::Shop;

const OLD: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
[key."user:{id:uint}".fields]
email = "str"
plan = "str"

[key."users:on:{plan}"]
type = "set"
ttl = "none"
members = { of = "user:{id}" }

[key."note:{id}"]
type = "string"
ttl = "none"
"#;

/// The old one without the set of members, with a lookup and stricter plans.
const NEW: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "1h"
[key."user:{id:uint}".fields]
email = "str"
plan = "free | paid"

[key."users:by_email:{email}"]
type = "string"
ttl = "none"
lookup = { of = "user:{id}", field = "email" }

[key."note:{id:uint}"]
type = "string"
ttl = { with = "user:{id}" }
"#;

/// Users 1 and 2 with a note each, and one without a user.
fn shop() -> Shop {
    let mut shop = Shop::new(1, OLD);
    shop.check(&[
        ("HSET user:1 email a@x plan free", ":2"),
        ("HSET user:2 email b@x plan gold", ":2"),
        ("SET note:1 one", "+OK"),
        ("SET note:9 nine", "+OK"),
        ("SET note:x misnamed", "+OK"),
        ("DBSIZE", ":7"),
    ]);
    shop
}

#[test]
fn a_plan_tells_what_would_happen_and_does_nothing() {
    let mut shop = shop();
    let before = shop.test.state();
    let told = shop.plan(NEW).rest();
    assert_eq!(shop.test.state(), before);
    shop.check(&[(
        "KEYWARD SCHEMA APPLY none",
        "-ERR no such plan of this database; KEYWARD SCHEMA PLAN makes one",
    )]);
    insta::assert_snapshot!(told.replace("\n:", " ").replace("pattern\n", "\npattern "));
}

#[test]
fn applying_does_what_the_plan_says_and_is_logged_row_by_row() {
    let mut shop = shop();
    let plan = shop.plan(NEW);
    let id = plan.id();
    let refusal = "-SCHEMA this plan destroys 3 rows and entries of derived keys, not 0; if that \
                   is meant, say DESTROY 3";
    shop.check(&[
        (&format!("KEYWARD SCHEMA APPLY {id}"), refusal),
        (&format!("KEYWARD SCHEMA APPLY {id} DESTROY"), "-ERR syntax error"),
        ("EXISTS users:on:free", ":1"),
    ]);
    shop.test.effects();
    let reply = shop.apply(&plan, 3);
    assert!(reply.starts_with("*4 $8 destroys :3 $8 patterns *4 "), "{reply}");
    let mut effects = shop.test.effect_lines();
    effects.sort();
    let hour = START_MS + 3_600_000;
    assert_eq!(
        effects,
        [
            "0: DEL note:9".to_owned(),
            "0: DEL users:on:free".to_owned(),
            "0: DEL users:on:gold".to_owned(),
            format!("0: PEXPIREAT note:1 {hour}"),
            format!("0: PEXPIREAT user:1 {hour}"),
            format!("0: PEXPIREAT user:2 {hour}"),
            "0: SET users:by_email:a@x 1".to_owned(),
            "0: SET users:by_email:b@x 2".to_owned(),
        ]
    );
    let gold = shop.call("HSET user:2 email c@x");
    assert!(gold.starts_with(':'), "what does not fit may stay: {gold}");
    shop.check(&[
        ("GET users:by_email:c@x", "$1 2"),
        ("HGET user:2 plan", "$4 gold"),
        ("GET note:x", "$8 misnamed"),
        ("TTL note:1", ":3600"),
        (
            &format!("KEYWARD SCHEMA APPLY {id}"),
            "-ERR no such plan of this database; KEYWARD SCHEMA PLAN makes one",
        ),
    ]);
    let refused = shop.call("HSET user:1 plan gold");
    assert!(refused.starts_with("-SCHEMA user:1: plan must be "), "{refused}");
    assert!(shop.call("SET note:x again").starts_with("-SCHEMA note:x: matches no pattern"));
    assert_eq!(shop.call("KEYWARD SCHEMA SHOW"), format!("${} {}", NEW.len(), NEW.trim_end()));
}

#[test]
fn what_a_plan_destroys_is_counted_when_it_is_applied() {
    let mut shop = shop();
    let plan = shop.plan(NEW);
    shop.check(&[("HSET user:3 email d@x plan free", ":2")]);
    let refused = shop.apply(&plan, 3);
    assert!(refused.starts_with("-SCHEMA this plan destroys 4 rows"), "{refused}");
    let applied = shop.apply(&plan, 4);
    assert!(applied.starts_with("*4 "), "{applied}");
    shop.check(&[("GET users:by_email:d@x", "$1 3")]);
}

#[test]
fn only_the_last_plan_can_be_applied() {
    let mut shop = shop();
    let (first, second) = (shop.plan(NEW), shop.plan(OLD));
    let (first, second) = (first.id(), second.id());
    assert_ne!(first, second);
    let none = "-ERR no such plan of this database; KEYWARD SCHEMA PLAN makes one";
    shop.check(&[(&format!("KEYWARD SCHEMA APPLY {first} DESTROY 3"), none), ("SELECT 1", "+OK")]);
    shop.check(&[(&format!("KEYWARD SCHEMA APPLY {second}"), none), ("SELECT 0", "+OK")]);
    let applied = shop.call(&format!("KEYWARD SCHEMA APPLY {second}"));
    assert!(applied.starts_with("*4 $8 destroys :0 "), "{applied}");
}

#[test]
fn a_schema_comes_over_rows_that_had_none() {
    let mut shop = Shop::new(1, OLD);
    shop.check(&[
        ("SELECT 3", "+OK"),
        ("KEYWARD SCHEMA", "-ERR this database has no schema"),
        ("HSET user:1 email a@x plan free", ":2"),
    ]);
    assert_eq!(shop.ask(&["SELECT", "3"]).as_deref(), Some("+OK\r\n"));
    let plan = shop.plan(NEW);
    let applied = shop.apply(&plan, 0);
    assert!(applied.starts_with("*4 "), "{applied}");
    shop.check(&[("GET users:by_email:a@x", "$1 1"), ("TTL user:1", ":3600")]);
    shop.test.set_time(START_MS + 3_600_001);
    shop.check(&[("GET users:by_email:a@x", "$-1"), ("DBSIZE", ":0")]);
}

#[test]
fn a_text_that_is_not_sound_is_refused_with_its_first_problem() {
    let mut shop = shop();
    let text = "[keyspace]\nname = \"x\"\n[key.\"a\"]\ntype = \"lits\"\n[key.\"b\"]\ntype = 1\n";
    let refused = shop.words(&["KEYWARD", "SCHEMA", "PLAN", text]);
    assert!(refused.starts_with("-SCHEMA the text is not sound: KW"), "{refused}");
    assert!(refused.ends_with("(line 4), and 1 more"), "{refused}");
    for garbage in ["", "\u{0}", "[key", "\r\n-OK\r\n"] {
        let refused = shop.words(&["KEYWARD", "SCHEMA", "PLAN", garbage]);
        assert!(refused.starts_with("-SCHEMA the text is not sound: "), "{refused}");
    }
    shop.check(&[
        ("KEYWARD SCHEMA PLAN", "-ERR syntax error"),
        ("KEYWARD SCHEMA x", "-ERR syntax error"),
    ]);
}

#[test]
fn figures_and_the_mode_go_on_under_the_new_schema() {
    let mut shop = shop();
    shop.check(&[("KEYWARD MODE warn", "+OK"), ("HGET user:1 plan", "$4 free")]);
    let plan = shop.plan(NEW);
    shop.apply(&plan, 3);
    shop.check(&[("KEYWARD MODE", "$4 warn"), ("KEYWARD MODE schema", "+OK")]);
    let stats = shop.words(&["KEYWARD", "STATS", "user:{id:uint}"]);
    assert!(stats.contains("$4 hits :1 "), "{stats}");
    assert!(stats.contains("$7 misfits :1 "), "{stats}");
}

#[test]
fn rows_that_live_longer_than_they_may_keep_their_deadline_and_are_counted() {
    let mut shop = Shop::new(1, NEW);
    shop.check(&[
        ("HSET user:1 email a@x plan free", ":2"),
        ("HSET user:2 email b@x plan free", ":2"),
        ("EXPIRE user:2 60", ":1"),
    ]);
    let plan = shop.plan(&NEW.replace("1h", "10m"));
    let told = plan.rest();
    assert!(told.contains("overlong\n:1\n"), "{told}");
    assert!(told.contains("redated\n:0\n") && !told.contains("redated\n:1\n"), "{told}");
    shop.apply(&plan, 0);
    shop.check(&[("TTL user:1", ":3600"), ("TTL user:2", ":60")]);
    let refused = shop.call("EXPIRE user:1 3500");
    assert!(refused.starts_with("-SCHEMA user:1: may live at most 10 minutes"), "{refused}");
    shop.check(&[("EXPIRE user:1 500", ":1")]);
}

#[test]
fn applying_loads_the_functions_of_the_schema_or_does_nothing() {
    let mut shop = shop();
    let plan = shop.plan(NEW);
    let good = "#!lua name=a\nredis.register_function('f', function() return 'new' end)";
    shop.test.host.libraries = vec![good, "#!lua name=b\nnonsense"];
    let refused = shop.apply(&plan, 3);
    let cannot = "-SCHEMA the functions of the schema cannot be loaded: functions/0.lua: ERR ";
    assert!(refused.starts_with(cannot), "{refused}");
    shop.check(&[("FCALL f 0", "-ERR Function not found"), ("TTL user:1", ":-1")]);
    let plan = shop.plan(NEW);
    shop.test.host.libraries = vec![good];
    shop.apply(&plan, 3);
    shop.check(&[("FCALL f 0", "$3 new"), ("TTL user:1", ":3600")]);
}

#[test]
fn a_mirror_that_grows_beyond_its_bound_is_kept_and_counted() {
    let schema = |inverse: &str| {
        format!(
            "[keyspace]\nname = \"x\"\n[key.\"a:{{id}}\"]\ntype = \"set\"\nttl = \"none\"\n{inverse}\
             [key.\"b:{{id}}\"]\ntype = \"set\"\nttl = \"none\"\nmax_members = 2\n"
        )
    };
    let mut shop = Shop::new(1, &schema(""));
    shop.check(&[("SADD a:1 z", ":1"), ("SADD a:2 z", ":1"), ("SADD a:3 z y", ":2")]);
    let plan = shop.plan(&schema("inverse = \"b:{member}\"\n"));
    let told = plan.rest();
    assert!(told.contains("b:{id}\nkeys\n:0\nmoved\n:0\nmisfits\n:1\n"), "{told}");
    shop.apply(&plan, 0);
    shop.check(&[("SCARD b:z", ":3"), ("SCARD b:y", ":1")]);
    let stats = shop.words(&["KEYWARD", "STATS", "b:{id}"]);
    assert!(stats.contains("$7 misfits :1 "), "{stats}");
    let refused = shop.call("SADD a:4 z");
    assert!(refused.starts_with("-SCHEMA b:z: may have at most 2 members"), "{refused}");
    shop.check(&[("DEL a:1", ":1")]);
    let stats = shop.words(&["KEYWARD", "STATS", "b:{id}"]);
    assert!(stats.contains("$7 misfits :0 "), "{stats}");
}

/// The same patterns, whose rows go over as whole tables, with other shapes.
const SHAPES: [&str; 2] = [
    "[keyspace]\nname = \"shapes\"\n\
     [key.\"doc:{id}\"]\ntype = \"json\"\nttl = \"none\"\n\
     fields = { name = \"string\", n = \"int?\" }\nextra = \"allow\"\n\
     [key.\"row:{id:uint}\"]\ntype = \"hash\"\nttl = \"none\"\nextra = \"string\"\n\
     fields = { name = \"string?\" }\n",
    "[keyspace]\nname = \"shapes\"\n\
     [key.\"doc:{id}\"]\ntype = \"json\"\nttl = \"none\"\n\
     fields = { name = \"string\", at = \"timestamp?\", tags = \"{string: int}?\" }\n\
     extra = \"allow\"\n\
     [key.\"row:{id:uint}\"]\ntype = \"hash\"\nttl = \"none\"\nextra = \"string\"\n\
     fields = { n = \"string?\", name = \"string?\" }\n",
];

#[test]
fn rows_packed_before_and_after_a_change_of_the_schema_come_back() {
    let mut shop = Shop::new(1, SHAPES[0]);
    let mut written: Vec<(String, String)> = Vec::new();
    for round in 0..4 {
        for id in 0..60 {
            let key = format!("doc:{}", (round * 40 + id) % 100);
            let text = format!(
                r#"{{"name":"n{}","n":{id},"at":"2025-12-04T15:30:00Z","tags":{{"t{round}":1}}}}"#,
                id % 7
            );
            assert_eq!(shop.words(&["SET", &key, &text]), "+OK");
            written.retain(|(other, _)| *other != key);
            written.push((key, text));
            shop.call(&format!("HSET row:{id} name x{} n {round} other{id} y", id % 5));
        }
        shop.test.rest();
        let plan = shop.plan(SHAPES[(round + 1) % 2]);
        shop.apply(&plan, 0);
        assert!(shop.call("KEYWARD SCHEMA SHOW").contains("tags") == (round % 2 == 0));
        for (key, text) in &written {
            let expected = format!("${} {text}", text.len());
            assert_eq!(shop.call(&format!("GET {key}")), expected, "round {round}");
        }
        for id in 0..60 {
            let expected = format!("*3 $2 x{} $1 {round} $1 y", id % 5);
            assert_eq!(shop.call(&format!("HMGET row:{id} name n other{id}")), expected);
        }
        shop.test.rest();
    }
}

#[test]
fn keyward_schema_help_lists_what_there_is() {
    let told = shop().call("KEYWARD SCHEMA HELP");
    assert!(told.starts_with("*11 +KEYWARD SCHEMA <subcommand> [<arg> [value]"), "{told}");
    let words = [" +[SHOW [<keyspace>]] ", " +PLAN [<keyspace>] <text> "];
    for word in words.into_iter().chain([" +APPLY <plan> [DESTROY <count>] ", " +HELP "]) {
        assert!(told.contains(word), "{word} is missing: {told}");
    }
    assert_eq!(shop().call("KEYWARD SCHEMA HELP x"), "-ERR syntax error");
}
