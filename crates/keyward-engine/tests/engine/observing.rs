//! Mode `observe`: what the schema would do is counted, and nothing of it is done.

use crate::shop::Shop;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"
MODE

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
check = ["low <= high"]
[key."user:{id:uint}".fields]
email = "str"
plan = "free | paid"
low = "int?"
high = "int?"
balance = "decimal(2)?"
own = { type = "str?", same = "{id}" }

[key."users:on:{plan}"]
type = "set"
members = { of = "user:{id}" }

[key."users:by_email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }

[key."order:{id:uint}"]
type = "string"
ttl = { after = "1h", renew = "access" }

[key."note:{id:uint}"]
type = "string"
max_size = "8B"
ttl = { with = "order:{id}" }

[key."recent"]
type = "list"
items = "uint"
max_len = 3
ttl = "none"
"#;

/// The schema with further settings of the keyspace; `observing_model` has it too.
pub(crate) fn schema(mode: &str) -> String {
    SCHEMA.replace("MODE", mode)
}

fn observing() -> Shop {
    Shop::new(1, &schema("mode = \"observe\""))
}

/// A figure of a pattern.
fn figure(shop: &mut Shop, pattern: &str, name: &str) -> u64 {
    let told = shop.words(&["KEYWARD", "STATS", pattern]);
    let rest = told.split(&format!(" {name} :")).nth(1).expect("the figure is told").to_owned();
    rest.split(' ').next().expect("a number").parse().expect("a number")
}

#[test]
fn nothing_is_refused_filled_in_derived_or_removed() {
    let mut shop = observing();
    shop.check(&[
        ("SET order:1 x", "+OK"),
        ("TTL order:1", ":-1"),
        ("EXPIRE order:1 999999", ":1"),
        ("GET order:1", "$1 x"),
        ("TTL order:1", ":999999"),
        ("PERSIST order:1", ":1"),
        ("HSET user:1 email a@x plan gold", ":2"),
        ("HSET user:2 email b@x plan free", ":2"),
        ("EXISTS users:by_email:a@x users:on:free users:on:gold", ":0"),
        ("SADD users:on:free 7", ":1"),
        ("HINCRBYFLOAT user:1 balance 0.1", "$3 0.1"),
        ("HINCRBYFLOAT user:1 balance 1e2", "$5 100.1"),
        ("SET note:9 alone", "+OK"),
        ("RPUSH recent 1 2 3 4", ":4"),
        ("LLEN recent", ":4"),
        ("HSET order:2 a b", ":1"),
        ("SET stranger 1", "+OK"),
        ("DBSIZE", ":8"),
    ]);
    let mut of = |pattern: &str, name: &str| figure(&mut shop, pattern, name);
    assert_eq!(of("order:{id:uint}", "would_date"), 2, "both that came without an end");
    assert_eq!(of("order:{id:uint}", "would_refuse"), 3, "EXPIRE, PERSIST, a hash");
    assert!(of("user:{id:uint}", "would_refuse") >= 1, "a plan that is none");
    assert_eq!(of("users:by_email:{email}", "would_derive"), 2);
    assert_eq!(of("users:on:{plan}", "would_derive"), 2);
    assert_eq!(of("users:on:{plan}", "would_refuse"), 1, "it says otherwise");
    assert_eq!(of("note:{id:uint}", "would_refuse"), 1, "there is no order 9");
    assert_eq!(of("recent", "would_remove"), 1, "one is too many");
    assert_eq!(of("order:{id:uint}", "refused") + of("order:{id:uint}", "warned"), 0);
    let refusals = shop.call("KEYWARD REFUSALS order:2");
    assert!(refusals.contains("outcome $8 observed"), "{refusals}");
    let explained = shop.call("KEYWARD EXPLAIN SET order:7 x");
    assert!(
        explained.contains("After: Then") || explained.contains("Before: Runs, and the key ends"),
        "what it would do is explained: {explained}"
    );
}

#[test]
fn a_key_observes_by_itself_and_ties_to_it_are_not_kept() {
    let text = schema("")
        .replace("[key.\"user:{id:uint}\"]\n", "[key.\"user:{id:uint}\"]\nmode = \"observe\"\n");
    let mut shop = Shop::new(1, &text);
    shop.check(&[
        ("HSET user:1 email a@x plan gold", ":2"),
        ("EXISTS users:by_email:a@x", ":0"),
        ("SADD users:on:free 1", ":1"),
        ("SET order:1 x", "+OK"),
        ("TTL order:1", ":3600"),
        ("SET note:1 x", "+OK"),
        ("TTL note:1", ":3600"),
    ]);
    assert!(shop.call("SET note:2 x").starts_with("-SCHEMA note:2"), "others are enforced");
    assert!(shop.call("SET users:on:free x").starts_with("-SCHEMA users:on:free"));
    assert_eq!(figure(&mut shop, "users:by_email:{email}", "would_derive"), 1);
}

#[test]
fn observing_ends_by_a_plan_where_rows_would_change() {
    let mut shop = Shop::new(1, &schema(""));
    shop.check(&[("SET order:1 x", "+OK"), ("HSET user:1 email a@x plan free", ":2")]);
    assert_eq!(shop.await_reply(&["KEYWARD", "MODE", "OBSERVE"]).trim_end(), "+OK");
    shop.check(&[
        ("KEYWARD MODE", "$7 observe"),
        ("TTL order:1", ":3600"),
        ("SET order:2 x", "+OK"),
        ("TTL order:2", ":-1"),
        ("HSET user:1 email b@x", ":0"),
        ("GET users:by_email:a@x", "$1 1"),
    ]);
    let refused = shop.await_reply(&["KEYWARD", "MODE", "schema"]);
    let expected = "-SCHEMA this mode would change rows: users:by_email:{email}: 1 row or \
                    entry of a derived key destroyed, 1 entry of a derived key built; \
                    order:{id:uint}: 1 row dated; if that is meant, say KEYWARD SCHEMA APPLY ";
    assert!(refused.starts_with(expected), "{refused}");
    shop.check(&[("KEYWARD MODE", "$7 observe"), ("TTL order:2", ":-1")]);
    let mut words = refused.trim_end().split("say ").nth(1).expect("what to say").split(' ');
    let words: Vec<&str> = words.by_ref().collect();
    assert_eq!(words[4..], ["DESTROY", "1"]);
    assert!(shop.await_reply(&words).starts_with('*'));
    shop.check(&[
        ("KEYWARD MODE", "$6 schema"),
        ("TTL order:2", ":3600"),
        ("GET users:by_email:b@x", "$1 1"),
        ("EXISTS users:by_email:a@x", ":0"),
    ]);
    assert!(shop.call("HSET user:1 plan gold").starts_with("-SCHEMA "));
    // Where nothing would change, it is switched at once.
    assert_eq!(shop.await_reply(&["KEYWARD", "MODE", "OBSERVE"]).trim_end(), "+OK");
    assert_eq!(shop.await_reply(&["KEYWARD", "MODE", "WARN"]).trim_end(), "+OK");
    shop.check(&[("KEYWARD MODE", "$4 warn"), ("SET order:3 x", "+OK"), ("TTL order:3", ":3600")]);
}

/// What is applied is what was asked for, whoever asks for another mode meanwhile.
#[test]
fn plans_of_two_modes_have_two_names() {
    let mut shop = Shop::new(1, &schema(""));
    shop.await_reply(&["KEYWARD", "MODE", "OBSERVE"]);
    shop.check(&[("SET order:1 x", "+OK")]);
    let mut apply = |mode: &str| -> Vec<String> {
        let refused = shop.await_reply(&["KEYWARD", "MODE", mode]);
        let words = refused.trim_end().split("say ").nth(1).expect("what to say");
        words.split(' ').map(str::to_owned).collect()
    };
    let (warn, enforce, again) = (apply("warn"), apply("enforce"), apply("enforce"));
    assert_ne!(warn, enforce);
    assert_eq!(enforce, again, "one mode has one name");
    let reply = shop.await_reply(&warn.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(reply.starts_with('-'), "the plan that was made last is another: {reply}");
    shop.check(&[("KEYWARD MODE", "$7 observe")]);
    let reply = shop.await_reply(&enforce.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(reply.starts_with('*'), "{reply}");
    shop.check(&[("KEYWARD MODE", "$7 enforce")]);
}

#[test]
fn a_plan_of_the_same_text_is_the_end_of_observing() {
    let mut shop = Shop::new(1, &schema(""));
    shop.await_reply(&["KEYWARD", "MODE", "OBSERVE"]);
    shop.check(&[("SET order:1 x", "+OK")]);
    let plan = shop.plan(&schema(""));
    assert!(shop.apply(&plan, 0).starts_with('*'));
    shop.check(&[("KEYWARD MODE", "$6 schema"), ("TTL order:1", ":3600")]);
}

#[test]
fn unique_values_that_two_rows_claim_are_told_by_the_plan_that_ends_observing() {
    let text = r#"
[keyspace]
name = "shop"
mode = "MODE"
[key."u:{id:uint}"]
type = "hash"
fields = { e = "str" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#;
    let mut shop = Shop::new(1, &text.replace("MODE", "observe"));
    shop.check(&[("HSET u:1 e a", ":1"), ("HSET u:2 e a", ":1")]);
    let plan = shop.plan(&text.replace("MODE", "enforce"));
    assert!(plan.rest().contains("conflicts\n:1\n"), "{}", plan.rest());
}

#[test]
fn memory_and_eviction_are_the_servers_own_while_a_keyspace_observes() {
    let text = schema("max_memory = \"1mb\"\npersist = \"none\"");
    let mut shop = Shop::new(1, &text);
    shop.await_reply(&["KEYWARD", "MODE", "OBSERVE"]);
    let value = "x".repeat(1000);
    for id in 0..2000 {
        assert_eq!(shop.words(&["SET", &format!("order:{id}"), &value]), "+OK");
    }
    shop.check(&[("DBSIZE", ":2000")]);
}

#[test]
fn keys_without_a_pattern_are_grouped_by_their_forms_without_holding_anybody_up() {
    let mut shop = Shop::new(1, &schema("unknown = \"allow\""));
    shop.check(&[("SET order:1 x", "+OK")]);
    for id in 0..5000 {
        shop.words(&["SET", &format!("tmp:job:{id}"), "x"]);
    }
    for id in 0..30 {
        shop.words(&["SET", &format!("lock:{id:08x}-0000-4000-8000-00000000000a"), "x"]);
    }
    let told = shop.ask(&["KEYWARD", "UNKNOWN"]);
    assert!(told.is_none(), "its client waits");
    shop.check(&[("SET tmp:job:x y", "+OK"), ("GET tmp:job:1", "$1 x")]);
    let told = shop.await_answer();
    let told = told.replace("\r\n", " ");
    assert!(told.contains("tmp:job:{n:uint} $4 keys :5000"), "{told}");
    assert!(told.contains("lock:{id:uuid} $4 keys :30"), "{told}");
    assert!(!told.contains("order:"), "{told}");
    let first = shop.await_reply(&["KEYWARD", "UNKNOWN", "COUNT", "1"]);
    assert!(first.starts_with("*1\r\n") && first.contains("tmp:job:{n:uint}"), "{first}");
}

#[test]
fn keys_without_a_pattern_are_told_without_the_secrets_that_they_may_hold() {
    let secret = "[key.\"token:{user:uint}:{token:hex}\"]\ntype = \"string\"\nttl = \"1h\"\n\
                  secret = [\"token\"]\n";
    let mut shop = Shop::new(1, &(schema("unknown = \"allow\"") + secret));
    // They begin as keys with a secret do, and fit no pattern.
    for id in 0..3 {
        shop.words(&["SET", &format!("token:{id}:hunter2-{id}"), "x"]);
    }
    shop.words(&["SET", "token:seven:hunter2", "x"]);
    shop.words(&["SET", "other:1", "x"]);
    let told = shop.await_reply(&["KEYWARD", "UNKNOWN"]);
    assert!(told.contains("other:1") && told.contains("(redacted)"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn a_script_that_fails_leaves_what_it_wrote_while_all_observes() {
    let mut shop = observing();
    let script = "redis.call('set','order:1','x')redis.call('set','stranger','x')error('no')";
    assert!(shop.words(&["EVAL", script, "0"]).starts_with('-'));
    shop.check(&[("GET order:1", "$1 x"), ("GET stranger", "$1 x")]);
    let mut shop = Shop::new(1, &schema(""));
    let script = "redis.call('set','order:1','x')error('no')";
    assert!(shop.words(&["EVAL", script, "0"]).starts_with('-'));
    shop.check(&[("EXISTS order:1", ":0")]);
}

#[test]
fn a_script_that_fails_is_undone_where_it_wrote_what_does_not_observe() {
    let text = schema("")
        .replace("[key.\"user:{id:uint}\"]\n", "[key.\"user:{id:uint}\"]\nmode = \"observe\"\n");
    let mut shop = Shop::new(1, &text);
    let watched = "redis.call('hset','user:1','email','a')error('no')";
    let mixed = "redis.call('hset','user:2','email','a')redis.call('set','order:1','x')error('no')";
    assert!(shop.words(&["EVAL", watched, "0"]).starts_with('-'));
    assert!(shop.words(&["EVAL", mixed, "0"]).starts_with('-'));
    shop.check(&[("EXISTS user:1", ":1"), ("EXISTS user:2 order:1", ":0")]);
}

#[test]
fn keys_without_a_pattern_that_would_be_refused_are_counted_so() {
    let mut shop = observing();
    shop.check(&[("SET stranger 1", "+OK"), ("SET stranger 2", "+OK")]);
    let refusals = shop.call("KEYWARD REFUSALS");
    assert!(refusals.contains("outcome $8 observed"), "{refusals}");
    assert!(!refusals.contains("outcome $6 warned"), "{refusals}");
    let figures = *shop.test.engine.keyspace().table_stats(0, None);
    assert_eq!((figures.would_refuse, figures.warned.total(), figures.refused.total()), (2, 0, 0));
    // Where it would only be warned of, it is.
    let mut shop = Shop::new(1, &schema("mode = \"observe\"\nunknown = \"warn\""));
    shop.check(&[("SET stranger 1", "+OK")]);
    let figures = *shop.test.engine.keyspace().table_stats(0, None);
    assert_eq!((figures.would_refuse, figures.warned.total()), (0, 1));
}

#[test]
fn units_are_counted_as_they_would_be_judged_at_their_end() {
    let mut shop = observing();
    shop.check(&[
        ("MULTI", "+OK"),
        ("SET note:1 x", "+QUEUED"),
        ("SET order:1 x", "+QUEUED"),
        ("HSET user:1 email a@x", "+QUEUED"),
        ("HSET user:1 plan free", "+QUEUED"),
        ("EXEC", "*4 +OK +OK :1 :1"),
    ]);
    let script = "redis.call('set','note:2','x')redis.call('set','order:2','x')";
    shop.words(&["EVAL", script, "0"]);
    assert_eq!(figure(&mut shop, "note:{id:uint}", "would_refuse"), 0, "its order came");
    assert_eq!(figure(&mut shop, "user:{id:uint}", "would_refuse"), 0, "its plan came");
    shop.check(&[
        ("MULTI", "+OK"),
        ("SET note:8 x", "+QUEUED"),
        ("HSET user:8 email b@x", "+QUEUED"),
        ("EXEC", "*2 +OK :1"),
    ]);
    let script = "redis.call('set','note:9','x')redis.call('set','order:8','x')";
    shop.words(&["EVAL", script, "0"]);
    let counted = ["note:{id:uint}", "user:{id:uint}"]
        .map(|pattern| figure(&mut shop, pattern, "would_refuse"));
    assert_eq!(counted, [1, 1], "each unit once: note 9, and user 8, which has no plan");
    shop.check(&[("EXISTS note:1 note:2 note:8 note:9 user:1 user:8", ":6")]);
}

#[test]
fn what_is_refused_by_its_words_is_counted_though_it_comes_to_nothing() {
    let mut shop = observing();
    shop.check(&[
        ("PEXPIRE order:5 99999999", ":0"),
        ("SUNIONSTORE order:5 users:on:free", ":0"),
        ("LPUSHX order:5 x", ":0"),
    ]);
    assert_eq!(figure(&mut shop, "order:{id:uint}", "would_refuse"), 3);
    shop.check(&[("MSET order:6 x stranger y", "+OK"), ("LPUSHX stranger:2 x", ":0")]);
    assert_eq!(shop.test.engine.keyspace().table_stats(0, None).would_refuse, 2);
    let explained = shop.call("KEYWARD EXPLAIN PEXPIRE order:5 99999999");
    assert!(explained.contains("Before: Refused: SCHEMA order:5: "), "{explained}");
    // What Redis itself finds wrong is not counted, in a transaction either.
    shop.check(&[("SET order:5 x", "+OK"), ("MULTI", "+OK"), ("LPUSH order:5 x", "+QUEUED")]);
    assert!(shop.call("EXEC").starts_with("*1 -WRONGTYPE"));
    assert!(shop.call("LPUSH order:5 x").starts_with("-WRONGTYPE"));
    assert_eq!(figure(&mut shop, "order:{id:uint}", "would_refuse"), 3);
}

#[test]
fn a_command_that_waits_is_counted_once() {
    let mut shop = observing();
    assert_eq!(shop.ask(&["BLMOVE", "stack", "order:5", "LEFT", "LEFT", "0"]), None);
    assert_eq!(figure(&mut shop, "order:{id:uint}", "would_refuse"), 1);
    shop.check(&[("RPUSH stack x", ":1"), ("LLEN order:5", ":1")]);
    assert_eq!(figure(&mut shop, "order:{id:uint}", "would_refuse"), 1);
}

#[test]
fn a_call_of_a_function_that_would_be_refused_is_counted() {
    let text = schema("mode = \"observe\"") + "[function.f]\nargs = [\"amount: uint\"]\n";
    let mut shop = Shop::new(1, &text);
    let code = "#!lua name=lib\nredis.register_function('f', function() return 7 end)";
    shop.words(&["FUNCTION", "LOAD", code]);
    shop.check(&[("FCALL f 0 5", ":7"), ("FCALL f 0 many", ":7"), ("FCALL f 0", ":7")]);
    assert_eq!(shop.test.engine.keyspace().table_stats(0, None).would_refuse, 2);
}

#[test]
fn a_row_whose_leader_observes_and_is_absent_is_counted() {
    let text = schema("")
        .replace("[key.\"order:{id:uint}\"]\n", "[key.\"order:{id:uint}\"]\nmode = \"observe\"\n");
    let mut shop = Shop::new(1, &text);
    shop.check(&[("SET note:9 alone", "+OK"), ("APPEND note:9 x", ":6")]);
    assert_eq!(figure(&mut shop, "note:{id:uint}", "would_refuse"), 2);
}

/// Ticks that switching a mode may take with some hundred rows to note.
const TICKS_MAX: usize = 1000;

/// Switches the mode; the reply, which must come in time.
fn switched(shop: &mut Shop, mode: &str) -> String {
    if let Some(reply) = shop.ask(&["KEYWARD", "MODE", mode]) {
        return reply;
    }
    for _ in 0..TICKS_MAX {
        shop.test.tick();
        if let Some(reply) = shop.answer(shop.admin) {
            return reply;
        }
    }
    panic!("KEYWARD MODE {mode} waits for ever");
}

#[test]
fn who_switches_the_mode_does_not_wait_for_itself_while_many_rows_are_noted() {
    for (write, mode, back) in [("SADD", "warn", "enforce"), ("OVERLONG", "observe", "warn")] {
        let mut shop = Shop::new(1, &schema(""));
        assert_eq!(switched(&mut shop, mode), "+OK\r\n");
        for id in 0..200 {
            let key = format!("order:{id}");
            let reply = match write {
                "SADD" => shop.words(&["SADD", &key, "x"]),
                _ => shop.words(&["SET", &key, "x", "EX", "900000"]),
            };
            assert!(!reply.starts_with('-'), "{reply}");
        }
        for mode in ["observe", "enforce", "observe", back, "observe", "schema"] {
            let reply = switched(&mut shop, mode);
            // What lives too long gets a nearer end by its next use, where that is not observed.
            let is_asked = write == "OVERLONG" && mode != "observe";
            let expected = if is_asked { "-SCHEMA this mode would change rows: " } else { "+OK" };
            assert!(reply.starts_with(expected), "{write} {mode}: {reply}");
            shop.check(&[("DBSIZE", ":200")]);
        }
    }
}
