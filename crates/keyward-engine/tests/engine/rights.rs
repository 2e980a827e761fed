//! Rights: what Redis does not have of them. The rest is compared with Redis (`tests/wire`).

use keyward_engine::{ClientId, Delivery};
use keyward_testkit::engine::TestEngine;

const SHOP: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"
[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { email = "str", age = { type = "uint?", max = 150 } }
[key."user:{id:uint}:followers"]
type = "set"
ttl = "none"
allow = ["KW0310: a test"]
[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }
"#;

/// An engine, whoever may do everything, and a client of a user with these rules.
fn shop(rules: &str) -> (TestEngine, ClientId, ClientId) {
    let mut test = TestEngine::governed(1, SHOP);
    let admin = test.engine.connect();
    assert_eq!(test.call(admin, &format!("ACL SETUSER ann on nopass {rules}")), "+OK\r\n");
    let ann = test.engine.connect();
    assert_eq!(test.call(ann, "AUTH ann x"), "+OK\r\n");
    (test, admin, ann)
}

fn is_denied(reply: &str) -> bool {
    reply.starts_with("-NOPERM")
}

#[test]
fn a_pattern_of_the_schema_grants_exactly_its_keys() {
    let (mut test, admin, ann) = shop("+@all %R=user:{id:uint}");
    assert_eq!(test.call(ann, "HGETALL user:7"), "*0\r\n");
    for call in ["HSET user:7 email a", "SMEMBERS user:7:followers", "GET user:x", "GET other"] {
        assert!(is_denied(&test.call(ann, call)), "{call}");
    }
    test.call(admin, "ACL SETUSER ann %W=user:{id:uint}");
    assert_eq!(test.call(ann, "HSET user:7 email a"), ":1\r\n");
    let list = test.call(admin, "ACL LIST");
    assert!(list.contains("user ann on nopass =user:{id:uint} resetchannels +@all"), "{list}");
    test.call(admin, "ACL SETUSER ann resetkeys ~user:*");
    assert_eq!(test.call(ann, "SMEMBERS user:7:followers"), "*0\r\n");
}

#[test]
fn a_pattern_of_the_schema_is_read_in_the_database_of_the_key() {
    let (mut test, _, ann) = shop("+@all =user:{id:uint}");
    assert_eq!(test.call(ann, "HSET user:7 email a"), ":1\r\n");
    // There is no schema there, so the pattern is nobody's.
    for call in ["COPY user:7 user:8 DB 1", "MOVE user:7 1"] {
        assert!(is_denied(&test.call(ann, call)), "{call}");
    }
    assert!(!is_denied(&test.call(ann, "COPY user:7 user:8 DB 0")));
    test.call(ann, "SELECT 1");
    assert!(is_denied(&test.call(ann, "HGETALL user:7")));
    test.call(ann, "MULTI");
    assert_eq!(test.call(ann, "SELECT 0"), "+QUEUED\r\n");
    assert_eq!(test.call(ann, "HGET user:7 email"), "+QUEUED\r\n");
    assert_eq!(test.call(ann, "EXEC"), "*2\r\n+OK\r\n$1\r\na\r\n");
}

#[test]
fn a_rule_that_is_no_pattern_is_refused() {
    let (mut test, admin, _) = shop("");
    for rule in ["=user:{", "%X=a", "%=a", "="] {
        let reply = test.call(admin, &format!("ACL SETUSER ann {rule}"));
        assert_eq!(reply, format!("-ERR Error in ACL SETUSER modifier '{rule}': Syntax error\r\n"));
    }
}

#[test]
fn rights_are_asked_for_what_a_command_names_and_not_for_what_follows() {
    let (mut test, admin, ann) = shop("+@all ~user:?");
    assert_eq!(test.call(ann, "HSET user:7 email a"), ":1\r\n");
    assert_eq!(test.call(admin, "GET by_email:a"), "$1\r\n7\r\n");
    assert!(is_denied(&test.call(ann, "GET by_email:a")));
}

#[test]
fn a_refusal_names_another_key_only_to_who_may_read_it() {
    let (mut test, admin, ann) = shop("+@all ~user:1");
    test.call(admin, "HSET user:7 email a");
    let told = test.call(admin, "HSET user:1 email a");
    assert!(told.contains("belongs to 7 already"), "{told}");
    let told = test.call(ann, "HSET user:1 email a");
    assert!(told.contains("belongs to another row already"), "{told}");
    test.call(admin, "ACL SETUSER ann %R~user:7");
    let told = test.call(ann, "HSET user:1 email a");
    assert!(told.contains("belongs to 7 already"), "{told}");
}

#[test]
fn refusals_are_shown_to_who_may_read_their_keys() {
    let (mut test, admin, ann) = shop("+keyward|refusals %R~user:1");
    test.call(admin, "HSET user:7 email a");
    test.call(admin, "HSET user:1 email a");
    test.call(admin, "HSET user:7 age 200");
    let shown = test.call(ann, "KEYWARD REFUSALS");
    assert!(shown.starts_with("*1\r\n"), "{shown}");
    assert!(shown.contains("belongs to another row already"), "{shown}");
    assert!(test.call(admin, "KEYWARD REFUSALS").starts_with("*2\r\n"));
    assert!(test.call(admin, "KEYWARD REFUSALS").contains("belongs to 7 already"));
}

/// `424242` and `hidden` are in the rows below, and in no command that is refused.
const ROOMS: &str = r#"
[keyspace]
name = "rooms"
[key."room:{id:uint}"]
type = "hash"
ttl = "none"
fields = { capacity = "uint", registered = "uint" }
check = ["registered <= capacity"]
[key."note:{id:uint}"]
type = "string"
ttl = "none"
value = "slug"
"#;

/// Calls that break the schema with what was there before.
const BREAKING: &[&str] = &[
    "HSET room:1 registered 500000",
    "APPEND note:1 !",
    "SETRANGE note:1 3 !",
    "EVAL redis.call('HSET','room:1','registered','500000') 0",
    "EVAL redis.call('APPEND','note:1','!') 0",
];

/// An engine with rows, an administrator, and a client who may write and not read them.
fn rooms() -> (TestEngine, ClientId, ClientId) {
    let mut test = TestEngine::governed(1, ROOMS);
    let admin = test.engine.connect();
    test.call(admin, "HSET room:1 capacity 424242 registered 1");
    test.call(admin, "SET note:1 hidden");
    test.call(admin, "ACL SETUSER ann on nopass +@all %W~*");
    let ann = test.engine.connect();
    assert_eq!(test.call(ann, "AUTH ann x"), "+OK\r\n");
    (test, admin, ann)
}

fn shows_found(text: &str) -> bool {
    text.contains("424242") || text.contains("hid")
}

#[test]
fn a_refusal_of_a_write_shows_what_was_found_only_to_who_may_read_it() {
    let (mut test, admin, ann) = rooms();
    for call in BREAKING {
        let told = test.call(admin, call);
        assert!(told.contains("SCHEMA ") && shows_found(&told), "{call}: {told}");
        let told = test.call(ann, call);
        assert!(told.contains("SCHEMA ") && !shows_found(&told), "{call}: {told}");
    }
}

#[test]
fn a_refusal_at_the_end_of_a_transaction_shows_what_was_found_only_to_who_may_read_it() {
    let (mut test, admin, ann) = rooms();
    for call in BREAKING {
        for client in [admin, ann] {
            test.call(client, "MULTI");
            assert_eq!(test.call(client, call), "+QUEUED\r\n");
            let told = test.call(client, "EXEC");
            assert!(told.contains("SCHEMA "), "{call}: {told}");
            assert_eq!(shows_found(&told), client == admin, "{call}: {told}");
        }
    }
}

#[test]
fn what_transactions_and_scripts_broke_is_shown_to_who_may_read_the_key_of_it() {
    let (mut test, admin, ann) = rooms();
    for call in BREAKING {
        test.call(admin, call);
        test.call(admin, "MULTI");
        test.call(admin, call);
        test.call(admin, "EXEC");
    }
    let all = test.call(admin, "KEYWARD REFUSALS COUNT 100");
    assert!(all.starts_with("*6\r\n") && shows_found(&all), "{all}");
    assert_eq!(test.call(ann, "KEYWARD REFUSALS COUNT 100"), "*0\r\n");
    test.call(admin, "ACL SETUSER ann %R~room:1");
    let own = test.call(ann, "KEYWARD REFUSALS COUNT 100");
    assert!(
        own.starts_with("*3\r\n") && own.contains("424242") && !own.contains("note:1"),
        "{own}"
    );
}

#[test]
fn refusals_show_neither_scripts_nor_their_arguments_to_who_may_read_some_keys() {
    let (mut test, admin, ann) = shop("+keyward|refusals %R~user:?");
    test.call(admin, "HSET user:7 email a");
    let script =
        "EVAL redis.call('SET','elsewhere',ARGV[1])redis.call('HSET','user:1','email','a') 0";
    let inner = "EVAL redis.call('HSET','user:1','age',ARGV[1]) 0";
    for mode in ["SCHEMA", "WARN"] {
        test.call(admin, &format!("KEYWARD MODE {mode}"));
        test.call(admin, &format!("{script} 424242"));
        test.call(admin, &format!("{inner} 424242"));
        test.call(admin, "MULTI");
        test.call(admin, "SET elsewhere 424242");
        test.call(admin, "HSET user:1 age 999");
        test.call(admin, "EXEC");
        test.call(admin, "SORT elsewhere STORE user:1");
    }
    let all = test.call(admin, "KEYWARD REFUSALS COUNT 100");
    assert!(all.contains("424242") && all.contains("ARGV[1]"), "{all}");
    let shown = test.call(ann, "KEYWARD REFUSALS COUNT 100");
    assert!(shown.contains("$4\r\nEVAL\r\n$6\r\nreason\r\n"), "{shown}");
    assert!(shown.contains("SCHEMA user:1: "), "{shown}");
    assert!(!shown.contains("ARGV") && !shown.contains("elsewhere"), "{shown}");
    assert!(!shown.contains("424242"), "{shown}");
}

/// Words of a reply to a call with arguments of any bytes.
fn ask(test: &mut TestEngine, client: ClientId, words: &[&str]) -> String {
    String::from_utf8_lossy(&test.ask(client, words).1).into_owned()
}

#[test]
fn rights_are_the_same_after_they_were_told_and_read() {
    let keys = ["q", "\"q\"", "its", "it's", "a", "a)", "aA", "a\\x41\"", "k", "k1", "other"];
    let rules: [&[&str]; 2] = [
        &["%R~*", "%W~*", "%R~k1", "+get"],
        &[
            r#"(~'"q"' +get)"#,
            r#"(~"it's" +get)"#,
            r#"(~"a)" +get)"#,
            r#"(~"a\\x41\"" +get)"#,
            "(%R~* %W~* ~k +set)",
        ],
    ];
    for rules in rules {
        let (mut test, admin, _) = shop("");
        let set = [&["ACL", "SETUSER", "bob", "reset", "on"], rules].concat();
        assert_eq!(ask(&mut test, admin, &set), "+OK\r\n", "{rules:?}");
        let granted = |test: &mut TestEngine| {
            let get = |key| ask(test, admin, &["ACL", "DRYRUN", "bob", "GET", key]);
            keys.map(get)
        };
        let before = granted(&mut test);
        let list = test.call(admin, "ACL LIST");
        let line = list.lines().find(|line| line.starts_with("user bob ")).expect("a line");
        let told: Vec<&str> = line.split(' ').skip(2).collect();
        let set = [&["ACL", "SETUSER", "bob", "reset"], told.as_slice()].concat();
        assert_eq!(ask(&mut test, admin, &set), "+OK\r\n", "{line}");
        assert_eq!(granted(&mut test), before, "{line}");
    }
}

#[test]
fn misfits_are_shown_to_who_may_read_them() {
    let (mut test, admin, ann) = shop("+keyward|misfits %R~user:1");
    test.call(admin, "KEYWARD MODE WARN");
    test.call(admin, "HSET user:1 email a age 200");
    test.call(admin, "HSET user:7 email b age 200");
    let all = test.call(admin, "KEYWARD MISFITS COUNT 100");
    assert!(all.contains("user:1") && all.contains("user:7"), "{all}");
    let shown = test.call(ann, "KEYWARD MISFITS COUNT 100");
    assert!(shown.contains("user:1") && !shown.contains("user:7"), "{shown}");
}

#[test]
fn keys_without_a_pattern_are_shown_to_who_may_read_them() {
    let (mut test, admin, ann) = shop("+keyward|unknown %R~mine:*");
    test.call(admin, "MSET mine:1 a mine:2 b theirs:1 c");
    let shown = test.call(ann, "KEYWARD UNKNOWN");
    assert!(shown.contains("mine:") && !shown.contains("theirs"), "{shown}");
    assert!(test.call(admin, "KEYWARD UNKNOWN").contains("theirs"));
}

#[test]
fn only_what_one_may_run_is_explained() {
    let (mut test, admin, ann) = shop("+keyward|explain +hset ~user:1");
    let told = test.call(admin, "KEYWARD EXPLAIN HSET user:1 email secret-mail");
    assert!(told.contains("by_email:secret-mail"), "{told}");
    let told = test.call(ann, "KEYWARD EXPLAIN HSET user:1 email secret-mail");
    assert!(told.starts_with('*') && !told.contains("by_email:secret-mail"), "{told}");
    for call in ["HSET user:7 email a", "HGETALL user:1"] {
        assert!(is_denied(&test.call(ann, &format!("KEYWARD EXPLAIN {call}"))), "{call}");
    }
}

#[test]
fn who_plans_and_switches_is_an_administrator() {
    let (mut test, _, ann) = shop("+@all -@admin allkeys");
    for call in ["KEYWARD MODE OBSERVE", "KEYWARD SCHEMA SHOW", "KEYWARD SCHEMA APPLY x"] {
        assert!(is_denied(&test.call(ann, call)), "{call}");
    }
    let (mut test, _, ann) = shop("+@all -@dangerous allkeys");
    assert!(is_denied(&test.call(ann, "KEYWARD MODE OBSERVE")));
}

#[test]
fn the_clients_of_a_user_who_is_removed_are_closed_also_where_they_wait() {
    let (mut test, admin, ann) = shop("+@all ~list");
    assert_eq!(test.call(ann, "BLPOP list 0"), "");
    assert_eq!(test.call(admin, "ACL DELUSER ann"), ":1\r\n");
    let closed = test.deliveries();
    assert!(closed.iter().any(|it| matches!(it, Delivery::Close(id) if *id == ann)), "{closed:?}");
}

#[test]
fn a_listener_who_loses_its_channel_is_closed_and_others_are_not() {
    let (mut test, admin, ann) = shop("+@all &a &b");
    test.call(ann, "SUBSCRIBE a");
    test.call(admin, "ACL SETUSER ann resetchannels &a");
    assert!(test.deliveries().is_empty());
    test.call(admin, "ACL SETUSER ann resetchannels &b");
    let closed = test.deliveries();
    assert!(closed.iter().any(|it| matches!(it, Delivery::Close(id) if *id == ann)), "{closed:?}");
}

#[test]
fn who_is_removed_or_killed_hears_and_takes_nothing_of_what_follows_at_once() {
    for end in ["ACL DELUSER ann", "ACL SETUSER ann reset", "CLIENT KILL USER ann"] {
        for (wait, call, reply) in [
            ("SUBSCRIBE news", "PUBLISH news secret", ":0\r\n"),
            ("PSUBSCRIBE n*", "PUBLISH news secret", ":0\r\n"),
            ("BLPOP list 0", "RPUSH list secret", ":1\r\n"),
            ("MONITOR", "SET key secret", "+OK\r\n"),
        ] {
            // Only those who listen lose by a change of what may be listened to.
            if end.contains("reset") && !wait.contains("SUB") {
                continue;
            }
            let (mut test, admin, ann) = shop("+@all ~* &*");
            test.call(ann, wait);
            assert_ne!(test.call(admin, end), ":0\r\n", "{end}");
            assert_eq!(test.call(admin, call), reply, "{end}, {wait}");
            let told = test.deliveries();
            let [Delivery::Close(id)] = told.as_slice() else { panic!("{end}, {wait}: {told:?}") };
            assert_eq!(*id, ann);
            assert_eq!(
                test.call(admin, "LLEN list"),
                format!(":{}\r\n", u8::from(wait.starts_with('B')))
            );
            assert_eq!(test.call(admin, &format!("CLIENT UNBLOCK {}", ann.0)), ":0\r\n");
            assert_eq!(test.call(admin, &format!("CLIENT KILL ID {}", ann.0)), ":0\r\n");
        }
    }
}

#[test]
fn a_change_of_rights_counts_from_the_next_command_on() {
    let (mut test, admin, ann) = shop("+@all ~* &*");
    assert_eq!(test.call(ann, "PING"), "+PONG\r\n");
    test.call(admin, "ACL SETUSER ann -ping");
    assert!(is_denied(&test.call(ann, "PING")));
    test.call(admin, "ACL SETUSER ann +@all");
    assert_eq!(test.call(ann, "PING"), "+PONG\r\n");
}

#[test]
fn pfmerge_without_sources_needs_the_right_to_its_key() {
    let (mut test, _, ann) = shop("+@all ~mine");
    assert!(is_denied(&test.call(ann, "PFMERGE other")));
    assert_eq!(test.call(ann, "PFMERGE mine"), "+OK\r\n");
}

#[test]
fn users_with_the_same_and_with_other_commands_are_told_each_with_their_own() {
    let (mut test, admin, _) = shop("-@all +get");
    for (name, rules) in [("bob", "-@all +get"), ("eve", "+@all -get (-@all +get ~a)")] {
        assert_eq!(test.call(admin, &format!("ACL SETUSER {name} {rules}")), "+OK\r\n");
    }
    let list = test.call(admin, "ACL LIST");
    for line in [
        "user ann on nopass resetchannels -@all +get\r\n",
        "user bob off resetchannels -@all +get\r\n",
        "user eve off resetchannels +@all -get (~a resetchannels -@all +get)\r\n",
    ] {
        assert!(list.contains(line), "{line} is not in {list}");
    }
}
