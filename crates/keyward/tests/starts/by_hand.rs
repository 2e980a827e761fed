//! What clients wrote into derived keys while writes passed with a warning: a start under the
//! schema that governed them keeps it and tells it, another schema asks, and only what came from
//! keys whose time is over goes by itself.

use super::{Place, accepted, apply, image, log, text};
use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, wait_until};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const SHOP: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { name = "str", plan = "free | paid", score = "int" }

[key."by:{name}"]
type = "string"
lookup = { of = "user:{id}", field = "name" }

[key."score:{id:uint}"]
type = "string"
lookup = { of = "user:{id}", value = "score" }

[key."on:{plan}"]
type = "set"
members = { of = "user:{id}" }

[key."best"]
type = "zset"
rank = { of = "user:{id}", by = "score" }

[key."recent"]
type = "set"
items = "uint"
ttl = "none"
follows = "user:{member}"
"#;

pub(super) fn warning() -> String {
    SHOP.replace("name = \"shop\"", "name = \"shop\"\nmode = \"warn\"")
}

/// Two rows, and what their sources do not demand: a name nobody has, one that another has, a
/// value of its own, members, scores, a member that follows nothing, a lookup with an end, a row
/// of another type.
pub(super) const BY_HAND: [&str; 14] = [
    "HSET user:1 name ada plan paid score 5",
    "HSET user:2 name bob plan free score 6",
    "SET by:zz 1",
    "SET by:yy 42",
    "HSET user:3 name yy plan free score 7",
    "SET score:1 99",
    "SADD on:free 7 1",
    "ZADD best 9 77",
    "ZADD best 50 2",
    "SADD recent 55 1",
    "EXPIRE by:bob 100000",
    "DEL by:carl",
    "HSET user:4 name carl plan paid score 8",
    "SET by:ada 2",
];

fn write(client: &mut Client) {
    for command in BY_HAND {
        let reply = call(client, command);
        assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    }
}

/// The figures of each pattern that a reply of KEYWARD SCHEMA PLAN has, those that are not zero.
pub(super) fn planned(
    client: &mut Client,
    schema: &str,
) -> BTreeMap<String, BTreeMap<String, u64>> {
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a plan");
    let patterns = told.as_elements().expect("a map")[7].as_elements().expect("patterns").to_vec();
    let figures = patterns.iter().map(|pattern| {
        let words = pattern.as_elements().expect("a map");
        let figures = words[2..].chunks(2).filter_map(|pair| match pair {
            [name, Frame::Integer(figure)] if *figure > 0 => Some((text(name), *figure as u64)),
            _ => None,
        });
        (text(&words[1]), figures.collect())
    });
    figures.collect()
}

/// The same of the table of a refused start.
pub(super) fn refused(refusal: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut lines = refusal.lines().skip_while(|line| !line.trim_start().starts_with("pattern "));
    let head: Vec<&str> = lines.next().expect("a table").split_whitespace().skip(1).collect();
    let rows = lines.take_while(|line| line.starts_with("  ")).map(|line| {
        let line = line.replace("(no pattern)", "(none)");
        let mut words = line.split_whitespace();
        let pattern = words.next().expect("a pattern").to_owned();
        let figures = head.iter().zip(words.map(|word| word.parse::<u64>().expect("a figure")));
        let figures = figures.filter(|(_, figure)| *figure > 0);
        (pattern, figures.map(|(name, figure)| ((*name).to_owned(), figure)).collect())
    });
    rows.collect()
}

fn misfits(client: &mut Client) -> Vec<String> {
    let told = call(client, "KEYWARD MISFITS COUNT 100");
    let listed = told.as_elements().expect("two parts")[1].as_elements().expect("rows").to_vec();
    let mut keys: Vec<String> =
        listed.iter().map(|row| text(&row.as_elements().expect("a map")[1])).collect();
    keys.sort();
    keys
}

#[test]
fn what_clients_wrote_into_derived_keys_outlives_starts_under_the_same_schema() {
    for (schema, mode) in [(warning(), None), (SHOP.to_owned(), Some("warn"))] {
        for place in Place::both() {
            let server = place.start(&schema);
            let mut client = server.client();
            mode.into_iter().for_each(|mode| {
                assert_eq!(text(&call(&mut client, &format!("KEYWARD MODE {mode}"))), "OK");
            });
            write(&mut client);
            let derived = |keys: Vec<String>| -> Vec<String> {
                // Members that follow nothing are found by starts only.
                keys.into_iter().filter(|key| key != "recent").collect()
            };
            let listed = derived(misfits(&mut client));
            assert_eq!(text(&call(&mut client, "KEYWARD MODE enforce")), "OK");
            let before = image(&mut client);
            assert!(before.iter().any(|(key, ..)| key == "by:zz"), "{before:?}");
            call(&mut client, "DEBUG RELOAD");
            assert_eq!(image(&mut client), before, "by DEBUG RELOAD");
            place.end(server);
            for start in 1..=2 {
                let server = place.start(&schema);
                let mut client = server.client();
                assert_eq!(image(&mut client), before, "start {start}");
                let told = log(&server);
                assert!(!told.contains("destroyed") && !told.contains("built"), "{told}");
                assert!(told.contains("rows do not fit"), "{told}");
                assert!(told.contains("SCHEMA by:"), "{told}");
                assert_eq!(derived(misfits(&mut client)), listed, "start {start}");
                place.end(server);
            }
            // It is held against them until they agree.
            let server = place.start(&schema);
            let mut client = server.client();
            call(&mut client, "KEYWARD MODE warn");
            for (command, gone) in [("DEL by:zz", "by:zz"), ("SREM on:free 7 1", "on:free")] {
                assert!(misfits(&mut client).contains(&gone.to_owned()), "{command}");
                call(&mut client, command);
                assert!(!misfits(&mut client).contains(&gone.to_owned()), "{command}");
            }
            place.end(server);
        }
    }
}

/// How many rows of a pattern do not fit, and how many claim what another has.
fn counted(client: &mut Client, pattern: &str) -> (i64, i64) {
    let told = client.call(["KEYWARD", "STATS", pattern]).expect("a reply");
    let told = told.as_elements().expect("figures");
    let figure = |name: &str| {
        let at = told.iter().position(|word| text(word) == name).expect("the figure is told");
        let Frame::Integer(figure) = told[at + 1] else { panic!("{:?}", told[at + 1]) };
        figure
    };
    (figure("misfits"), figure("conflicts"))
}

#[test]
fn what_is_counted_is_listed_and_both_end_as_lookups_come_to_agree() {
    for place in Place::both() {
        let mut server = place.start(&warning());
        for (command, listed, of_users, of_lookups) in [
            ("HSET user:1 name ada plan paid score 5", &[][..], (0, 0), (0, 0)),
            ("HSET user:2 name ada plan paid score 6", &["user:2"], (0, 1), (0, 0)),
            ("DEL by:ada", &["by:ada", "user:1", "user:2"], (0, 2), (1, 0)),
            ("SET by:ada 2", &["by:ada", "user:1"], (0, 1), (1, 0)),
            ("", &["user:1"], (0, 1), (0, 0)),
            ("SET by:ada 1", &["by:ada", "user:2"], (0, 1), (1, 0)),
            ("SET by:ada 7", &["by:ada", "user:1", "user:2"], (0, 2), (1, 0)),
            ("", &["by:ada", "user:1", "user:2"], (0, 2), (1, 0)),
            ("HSET user:2 name bob", &["by:ada", "user:1"], (0, 1), (1, 0)),
            ("SET by:ada 1", &[], (0, 0), (0, 0)),
        ] {
            if command.is_empty() {
                place.end(server);
                server = place.start(&warning());
            } else {
                let reply = call(&mut server.client(), command);
                assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
            }
            let mut client = server.client();
            assert_eq!(misfits(&mut client), listed, "{command}");
            assert_eq!(counted(&mut client, "user:{id:uint}"), of_users, "{command}");
            assert_eq!(counted(&mut client, "by:{name}"), of_lookups, "{command}");
        }
        place.end(server);
    }
}

#[test]
fn a_file_that_ends_warn_asks_first_with_the_figures_of_the_plan() {
    for place in Place::both() {
        let server = place.start(&warning());
        let mut client = server.client();
        write(&mut client);
        let before = image(&mut client);
        let plan = planned(&mut client, SHOP);
        place.end(server);
        let told = place.refusal(SHOP);
        let mut plan_told = plan.clone();
        // Of patterns without changes the table says nothing.
        plan_told.retain(|_, figures| figures.keys().any(|name| name != "keys"));
        let table = refused(&told);
        let of = |figures: &BTreeMap<String, BTreeMap<String, u64>>, name: &str| -> u64 {
            figures.values().filter_map(|own| own.get(name)).sum()
        };
        for name in ["destroyed", "built", "dated", "shortened", "conflicts", "misfits"] {
            assert_eq!(of(&table, name), of(&plan, name), "{name}: {told}\n{plan:?}");
        }
        assert!(of(&table, "destroyed") >= 8, "{told}");
        for pattern in ["by:{name}", "on:{plan}", "best", "score:{id:uint}", "recent"] {
            assert_eq!(
                table[pattern]["destroyed"], plan[pattern]["destroyed"],
                "{pattern}: {told}"
            );
        }
        // Nothing was done: the schema before has all of it.
        let server = place.start(&warning());
        assert_eq!(image(&mut server.client()), before);
        place.end(server);
        let server = place.serve(&[SHOP], &["--accept", &accepted(&told)]);
        let mut client = server.client();
        let line = format!(
            "Database 0, by the schema that came: {} rows and entries of derived keys destroyed",
            of(&table, "destroyed")
        );
        assert!(log(&server).contains(&line), "{line}\n{}", log(&server));
        assert!(!log(&server).contains("by the schema that governed these rows"));
        assert_eq!(text(&call(&mut client, "GET by:ada")), "1");
        assert_eq!(text(&call(&mut client, "GET by:yy")), "3");
        assert_eq!(call(&mut client, "EXISTS by:zz"), Frame::Integer(0));
        assert_eq!(misfits(&mut client), Vec::<String>::new());
    }
}

#[test]
fn what_is_applied_or_reloaded_over_rows_by_hand_says_how_many_go() {
    let place = Place::new(true);
    let server = place.start(&warning());
    let mut client = server.client();
    write(&mut client);
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", SHOP]).expect("a plan");
    let told = told.as_elements().expect("a map");
    let Frame::Integer(destroyed) = told[5] else { panic!("{told:?}") };
    let (plan, count) = (text(&told[1]), destroyed.to_string());
    drop(server);
    // As many after a start.
    let server = place.start(&warning());
    let mut client = server.client();
    let again = client.call(["KEYWARD", "SCHEMA", "PLAN", SHOP]).expect("a plan");
    assert_eq!(text(&again.as_elements().expect("a map")[1]), plan);
    let done = client.call(["KEYWARD", "SCHEMA", "APPLY", &plan, "DESTROY", &count]);
    let done = done.expect("a reply");
    assert!(!matches!(done, Frame::Error(_)), "{done:?}");
    assert_eq!(call(&mut client, "EXISTS by:zz"), Frame::Integer(0));
}

const ENDING: &str = r#"
[keyspace]
name = "shop"

[key."visit:{id:uint}"]
type = "hash"
ttl = { given = true, default = "1h" }
fields = { name = "str", plan = "free | paid", score = "int" }

[key."by:{name}"]
type = "string"
lookup = { of = "visit:{id}", field = "name" }

[key."on:{plan}"]
type = "set"
members = { of = "visit:{id}" }

[key."best"]
type = "zset"
rank = { of = "visit:{id}", by = "score" }

[key."recent"]
type = "set"
items = "uint"
ttl = "none"
follows = "visit:{member}"

[key."fans:{id:uint}"]
type = "set"
items = "uint"

[key."idols:{id:uint}"]
type = "set"
items = "uint"
inverse = "fans:{member}"
"#;

fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = call(&mut server.client(), "KEYS *")
        .as_elements()
        .expect("keys")
        .iter()
        .map(text)
        .collect();
    keys.sort();
    keys
}

/// What is derived from keys that end while nobody serves goes with them, under the same schema
/// and under another one, and the files say so to whoever reads them.
#[test]
fn what_came_from_keys_that_ended_between_two_starts_goes_and_is_told() {
    let edited = ENDING.replace("plan = \"free | paid\"", "plan = \"free | paid | gold\"");
    for (place, schema) in Place::both().into_iter().flat_map(|place| {
        let appends = place.appends;
        [(place, ENDING), (Place::new(appends), &*edited)]
    }) {
        let server = place.start(ENDING);
        let mut client = server.client();
        for command in [
            "HSET visit:1 name ada plan paid score 5",
            "HSET visit:2 name bob plan free score 6",
            "SADD recent 1 2",
            "SADD fans:1 8",
            "SADD fans:2 9",
            "KEYWARD MODE warn",
            "PEXPIRE fans:1 2500",
            "PEXPIRE visit:1 2500",
        ] {
            let reply = call(&mut client, command);
            assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
        }
        call(&mut client, "SAVE");
        place.end(server);
        std::thread::sleep(Duration::from_millis(2600));
        let server = place.start(schema);
        let left = ["best", "by:bob", "fans:2", "idols:9", "on:free", "recent", "visit:2"];
        assert_eq!(keys(&server), left);
        let told = log(&server);
        assert!(!told.contains("do not fit") && !told.contains("destroyed"), "{told}");
        // Three of visit:1 and the member that follows it; the one of idols:8.
        let line = "Database 0: 5 entries of derived keys and members go with the keys that they \
                    came from, whose time was over before this start";
        assert!(told.contains(line), "{told}");
        let mut client = server.client();
        wait_until(|| call(&mut client, "DBSIZE") == Frame::Integer(7));
        place.end(server);
        let theirs = Server::redis(&place.settings()[..6]);
        assert_eq!(keys(&theirs), left, "of what a stock Redis loads");
        drop(theirs);
        let server = place.start(schema);
        assert_eq!(keys(&server), left);
        assert!(!log(&server).contains("derived keys"), "{}", log(&server));
        drop(server);
    }
}

#[test]
fn a_mode_that_is_switched_back_leaves_rows_by_hand_and_the_next_apply_counts_them() {
    let place = Place::new(true);
    let server = place.start(SHOP);
    let mut client = server.client();
    call(&mut client, "KEYWARD MODE warn");
    call(&mut client, "HSET user:1 name ada plan paid score 5");
    call(&mut client, "SET by:zz 1");
    call(&mut client, "KEYWARD MODE schema");
    drop(server);
    let server = place.start(SHOP);
    let mut client = server.client();
    assert_eq!(text(&call(&mut client, "GET by:zz")), "1");
    let refused = client.call(["SET", "by:zz", "2"]).expect("a reply");
    assert!(matches!(refused, Frame::Error(_)), "{refused:?}");
    let wider = format!("{SHOP}\n[key.\"other:{{id}}\"]\ntype = \"string\"\nttl = \"1h\"\n");
    assert_eq!(planned(&mut client, &wider)["by:{name}"]["destroyed"], 1);
    drop(server);
    assert_eq!(refused_of(&place, &wider), 1);
    let server = place.start(SHOP);
    call(&mut server.client(), "KEYWARD MODE warn");
    call(&mut server.client(), "DEL by:zz");
    apply(&server, &wider);
}

/// A key that observes by itself does so again, which changes no row.
#[test]
fn a_mode_that_ended_observing_of_a_key_asks_nothing_at_the_next_start() {
    let observed = "[key.\"draft:{id}\"]\ntype = \"string\"\nttl = \"1h\"\nmode = \"observe\"\n";
    let schema = format!("{SHOP}\n{observed}");
    for place in Place::both() {
        let server = place.start(&schema);
        let mut client = server.client();
        for command in [
            "KEYWARD MODE warn",
            "HSET user:1 name ada plan paid score 5",
            "SET by:zz 1",
            "SET draft:1 x",
        ] {
            let reply = call(&mut client, command);
            assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
        }
        let rows = keys(&server);
        place.end(server);
        let server = place.start(&schema);
        let mut client = server.client();
        assert_eq!(keys(&server), rows);
        assert_ne!(call(&mut client, "TTL draft:1"), Frame::Integer(-1));
        call(&mut client, "SET draft:2 x");
        assert_eq!(call(&mut client, "TTL draft:2"), Frame::Integer(-1));
        place.end(server);
        // The end of observing is asked for, as ever.
        let refused = place.refusal(&schema.replace("mode = \"observe\"\n", ""));
        assert!(refused.contains("draft:{id}"), "{refused}");
    }
}

fn refused_of(place: &Place, schema: &str) -> u64 {
    refused(&place.refusal(schema))["by:{name}"]["destroyed"]
}

/// What a client wrote into a derived key in spite of a row does not go with that row.
#[test]
fn what_goes_with_keys_that_ended_is_counted_as_it_goes() {
    for place in Place::both() {
        let warning = ENDING.replacen("\n\n[key", "\nmode = \"warn\"\n\n[key", 1);
        let server = place.start(&warning);
        let mut client = server.client();
        for command in
            ["HSET visit:1 name ada plan paid score 5", "SADD on:free 1", "PEXPIRE visit:1 1500"]
        {
            let reply = call(&mut client, command);
            assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
        }
        call(&mut client, "SAVE");
        place.end(server);
        std::thread::sleep(Duration::from_millis(1600));
        let server = place.start(&warning);
        assert_eq!(keys(&server), ["on:free"]);
        let told = log(&server);
        assert!(told.contains("Database 0: 3 entries of derived keys and members go"), "{told}");
    }
}

#[test]
fn members_that_follow_nothing_are_counted_at_once_and_misfits_name_keys() {
    let place = Place::new(true);
    let server = place.start(&warning());
    let mut client = server.client();
    call(&mut client, "HSET user:1 name ada plan paid score 5");
    for command in ["SADD recent 1 55", "SADD on:free 7"] {
        call(&mut client, command);
    }
    let expected = [
        "SCHEMA on:free: is kept by Keyward from user:7, which says otherwise; write that instead",
        "SCHEMA recent: a member must name a living key, and user:55 does not exist; write that",
    ];
    let check = |client: &mut Client, when: &str| {
        assert_eq!(counted(client, "recent").0, 1, "{when}");
        let listed = format!("{:?}", call(client, "KEYWARD MISFITS COUNT 100"));
        for line in expected {
            assert!(listed.contains(line), "{when}: {line}: {listed}");
        }
    };
    check(&mut client, "at once");
    drop(server);
    let server = place.start(&warning());
    check(&mut server.client(), "after a start");
    assert!(log(&server).contains(expected[0]), "{}", log(&server));
    call(&mut server.client(), "SREM recent 55");
    assert_eq!(counted(&mut server.client(), "recent").0, 0);
}
