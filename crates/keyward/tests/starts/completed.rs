//! What a start does by itself: it completes rows, which the append-only file has then, builds an
//! index that was not there, evicts nothing while it loads, and takes a text that means the same
//! for the same.

use super::{Place, log, text};
use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, wait_until};

const USERS: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "1d"
fields = { email = "str", state = "on | off" }
"#;

const ACTIVE: &str = r#"
[key."active"]
type = "set"
members = { of = "user:{id}", when = "state = on" }
"#;

const BY_EMAIL: &str = r#"
[key."email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }
"#;

fn warned() -> String {
    format!("{USERS}{ACTIVE}").replace("name = \"shop\"", "name = \"shop\"\nmode = \"warn\"")
}

fn say(server: &Server, commands: &[&str]) {
    let mut client = server.client();
    for command in commands {
        let reply = call(&mut client, command);
        assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    }
}

fn keys(client: &mut Client, glob: &str) -> Vec<String> {
    let keys = client.call(["KEYS", glob]).expect("a reply");
    let mut keys: Vec<String> = keys.as_elements().expect("keys").iter().map(text).collect();
    keys.sort();
    keys
}

#[test]
fn the_append_only_file_has_what_a_start_completes() {
    let place = Place::new(true);
    let server = place.start(&warned());
    say(&server, &["HSET user:1 email a state on", "HSET user:2 email b state on"]);
    say(&server, &["SREM active 1"]);
    drop(server);
    let server = place.start(&warned());
    assert_eq!(call(&mut server.client(), "SCARD active"), Frame::Integer(2));
    drop(server);
    let theirs = Server::redis(&place.settings()[..6]);
    assert_eq!(call(&mut theirs.client(), "SCARD active"), Frame::Integer(2));
    drop(theirs);
    let server = place.start(&warned());
    assert!(!log(&server).contains("built"), "it was built before: {}", log(&server));
}

#[test]
fn nothing_is_evicted_while_rows_are_loaded() {
    let place = Place::new(true);
    let schema = format!("{USERS}{BY_EMAIL}");
    let server = place.start(&schema);
    let mut client = server.client();
    for id in 0..3000 {
        let email = format!("{}{id}", "e".repeat(60));
        let user = format!("user:{id}");
        client.send_command(["HSET", &user, "email", &email, "state", "on"]).expect("it is sent");
    }
    client.receive_batch(3000).expect("it answers");
    call(&mut client, "BGREWRITEAOF");
    wait_until(|| log(&server).contains("Background AOF rewrite finished successfully"));
    drop((client, server));
    // Loaded rows take less.
    let server = place.start(&schema);
    let info = text(&call(&mut server.client(), "INFO memory"));
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("a figure");
    let used: u64 = used.parse().expect("a number");
    drop(server);
    let limit = (used - 650_000).to_string();
    let limits = ["--maxmemory", &limit, "--maxmemory-policy", "allkeys-lru"];
    let slowly = [&limits[..], &["--key-load-delay", "300"]].concat();
    let server = place.serve(&[&schema], &slowly);
    let mut client = server.client();
    let evicted = |client: &mut Client| {
        let info = text(&call(client, "INFO stats"));
        info.lines().find(|line| line.starts_with("evicted_keys:")).expect("a figure").to_owned()
    };
    let mut before = String::new();
    wait_until(|| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let now = evicted(&mut client);
        std::mem::replace(&mut before, now.clone()) == now && now != "evicted_keys:0"
    });
    call(&mut client, "CONFIG SET maxmemory 0");
    let (users, emails) = (keys(&mut client, "user:*"), keys(&mut client, "email:*"));
    assert!(users.len() < 3000 && !users.is_empty(), "{} users", users.len());
    assert_eq!(users.len(), emails.len(), "what is derived goes along");
    drop((client, server));
    let server = place.serve(&[&schema], &[]);
    assert_eq!(keys(&mut server.client(), "user:*"), users, "nobody comes back");
}

#[test]
fn an_index_that_was_not_there_is_built_by_a_start_and_told() {
    for place in Place::both() {
        let server = place.start(USERS);
        say(&server, &["HSET user:1 email a state on", "HSET user:2 email b state on"]);
        place.end(server);
        let indexed = format!("{USERS}{BY_EMAIL}{ACTIVE}");
        let server = place.start(&indexed);
        let told = log(&server);
        assert!(
            told.contains("by the schema that came: 4 entries of derived keys built"),
            "{told}"
        );
        assert_eq!(text(&call(&mut server.client(), "GET email:b")), "2");
        assert_eq!(call(&mut server.client(), "SCARD active"), Frame::Integer(2));
        place.end(server);
        assert!(!log(&place.start(&indexed)).contains("built"));
    }
}

#[test]
fn an_index_that_somebody_wrote_before_is_asked_about() {
    let schema = USERS.replace("name = \"shop\"", "name = \"shop\"\nunknown = \"allow\"");
    for (written, index, what) in [
        ("SET email:z 9", BY_EMAIL, "destroyed"),
        ("SET email:a 1", BY_EMAIL, "built"),
        ("SADD active 1", ACTIVE, "built"),
    ] {
        let place = Place::new(true);
        let server = place.start(&schema);
        say(&server, &["HSET user:1 email a state on", "HSET user:2 email b state on", written]);
        drop(server);
        let refused = place.refusal(&format!("{schema}{index}"));
        assert!(refused.contains("--accept ") && refused.contains(what), "{written}: {refused}");
    }
}

#[test]
fn a_text_that_means_the_same_is_the_same_schema() {
    let (warned, place) = (warned(), Place::new(true));
    let server = place.start(&warned);
    // By hand: another schema would take it out.
    say(&server, &["HSET user:1 email a state on", "SADD active 9"]);
    drop(server);
    for text in [
        format!("# A comment.\n{warned}"),
        warned.replace("type = \"hash\"", "doc = \"Who buys.\"\nowner = \"us\"\ntype = 'hash'"),
        warned
            .replace("mode = \"warn\"", "mode = \"warn\" # yet\ndoc = \"A shop.\"\nowner = \"us\""),
        warned.replace("mode = \"warn\"", "db = 0\npersist = \"aof\"\nmode = \"warn\""),
        warned.replace("type = \"hash\"", "expect = \"10k\"\ngroup = \"users\"\ntype = \"hash\""),
        warned.replace("\"1d\"", "\"24h\""),
        warned.clone(),
    ] {
        let server = place.start(&text);
        assert_eq!(call(&mut server.client(), "SCARD active"), Frame::Integer(2), "{text}");
        let shown = super::text(&call(&mut server.client(), "KEYWARD SCHEMA SHOW"));
        assert_eq!(shown, text, "the text that is served is in force");
    }
    let refused = place.refusal(&warned.replace("\"1d\"", "\"2d\""));
    assert!(refused.contains("--accept "), "another meaning is another schema: {refused}");
    let place = Place::new(true);
    let library = |comment: &str| {
        let keys = &warned[warned.find("[key.").expect("a key")..];
        place.file("users.toml", &format!("{comment}{keys}"));
    };
    let head = &warned[..warned.find("[key.").expect("a key")];
    let including = format!("include = [\"users.toml\"]\n{head}");
    library("");
    let server = place.start(&including);
    say(&server, &["HSET user:1 email a state on", "SADD active 9"]);
    drop(server);
    library("# Version 2.\n");
    let server = place.start(&including);
    assert_eq!(call(&mut server.client(), "SCARD active"), Frame::Integer(2));
}
