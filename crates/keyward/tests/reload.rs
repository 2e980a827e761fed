//! SIGHUP reads the schemas and their functions anew: all files or none, and never so that
//! a row changes. And schemas that clients plan are read while everybody else is served.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_for, wait_until};
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(30);
const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");

const SHOP: &str = r#"[keyspace]
name = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
[key."user:{id:uint}".fields]
plan = "free | paid"

[key."note:{id:uint}"]
type = "string"
ttl = "none"
"#;

const EVENTS: &str = r#"[keyspace]
name = "events"
db = 1

[key."event:{id:uint}"]
type = "string"
ttl = "none"
"#;

/// A server of files that can be changed.
struct Shop {
    server: Server,
    folder: tempfile::TempDir,
}

impl Shop {
    fn new(files: &[(&str, &str)], options: &[&str]) -> Shop {
        let folder = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        let place = |name: &str| folder.path().join(name).display().to_string();
        let is_schema = |name: &&str| name.ends_with(".toml") && !name.starts_with("library/");
        let schemas = files.iter().map(|(name, _)| *name).filter(is_schema);
        let arguments: Vec<String> = schemas.map(place).collect();
        let log = place("log");
        let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
        all.extend(["--logfile", &log, "--enable-debug-command", "yes"]);
        all.extend(options);
        let server = Server::keyward(Path::new(PROGRAM), &all);
        Shop { server, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).expect("a log")
    }

    fn hang_up(&self) {
        let id = self.server.process_id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().expect("kill runs").success());
    }

    /// Sends SIGHUP and waits until so many reloads have ended; what the log says of this one.
    fn reload(&self) -> String {
        let before = self.log();
        self.hang_up();
        self.await_end(1, &before)
    }

    fn await_end(&self, count: usize, before: &str) -> String {
        wait_for(|| {
            let new = self.log()[before.len()..].to_owned();
            let ends = new
                .lines()
                .filter(|line| line.contains(" reloaded: ") || line.contains(" not reloaded: "));
            if ends.count() >= count { Ok(new) } else { Err(new) }
        })
    }

    fn in_force(&self, db: &str) -> String {
        let mut client = self.server.client();
        client.call(["SELECT", db]).expect("a reply");
        let shown = client.call(["KEYWARD", "SCHEMA", "SHOW"]).expect("a reply");
        String::from_utf8(shown.as_bytes().expect("text").to_vec()).expect("text")
    }
}

fn text(reply: &Frame) -> String {
    match reply {
        Frame::Error(text) | Frame::Simple(text) | Frame::Bulk(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        other => format!("{other:?}"),
    }
}

fn call(client: &mut Client, command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    text(&client.call(words).expect("a reply"))
}

#[test]
fn a_change_that_changes_no_row_comes_into_force() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut client = shop.server.client();
    assert_eq!(call(&mut client, "HSET user:1 plan gold").split(' ').next(), Some("SCHEMA"));
    call(&mut client, "HSET user:1 plan paid");
    call(&mut client, "SET later:1 5");
    let wider = SHOP.replace("free | paid", "free | paid | gold")
        + "\n[key.\"later:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\nvalue = \"uint\"\n";
    shop.write("shop.toml", &wider);
    let log = shop.reload();
    assert!(log.contains("reloaded: 1 of 1 schemas are new"), "{log}");
    assert_eq!(shop.in_force("0"), wider);
    assert_eq!(call(&mut client, "HSET user:1 plan gold"), ":0");
    // A row that had no pattern has one now.
    assert_eq!(call(&mut client, "SET later:1 x").split(' ').next(), Some("SCHEMA"));
    assert_eq!(call(&mut client, "GET later:1"), "5");
    // Nothing new is nothing to do.
    let log = shop.reload();
    assert!(log.contains("the schemas are the same as before"), "{log}");
    // SIGHUP never ends the server.
    assert_eq!(call(&mut client, "PING"), "PONG");
}

#[test]
fn a_change_that_would_change_rows_is_refused_with_its_numbers() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut client = shop.server.client();
    for id in 0..300 {
        call(&mut client, &format!("HSET user:{id} plan paid"));
        call(&mut client, &format!("SET note:{id} x"));
    }
    let digest = call(&mut client, "DEBUG DIGEST");
    let set = "\n[key.\"users:on:{plan}\"]\ntype = \"set\"\nttl = \"none\"\nmembers = { of = \"user:{id}\" }\n";
    for (text, told) in [
        (
            SHOP.replace("type = \"string\"\nttl = \"none\"", "type = \"string\"\nttl = \"1h\""),
            "300 rows given another end",
        ),
        (SHOP.replace("free | paid", "free | gold"), "300 rows that would no longer fit"),
        (format!("{SHOP}{set}"), "300 entries of derived keys built"),
    ] {
        shop.write("shop.toml", &text);
        let log = shop.reload();
        assert!(log.contains(told), "{log}");
        assert!(
            log.contains("KEYWARD SCHEMA PLAN") && log.contains("KEYWARD SCHEMA APPLY"),
            "{log}"
        );
        assert!(log.contains("not reloaded: everything stays as it was"), "{log}");
        assert_eq!(shop.in_force("0"), SHOP);
        assert_eq!(call(&mut client, "DEBUG DIGEST"), digest);
    }
    // What does not fit already is not held against a reload.
    call(&mut client, "KEYWARD MODE warn");
    call(&mut client, "HSET user:1 plan odd");
    call(&mut client, "KEYWARD MODE schema");
    let wider = SHOP.replace("free | paid", "free | paid | gold");
    shop.write("shop.toml", &wider);
    let log = shop.reload();
    assert_eq!(shop.in_force("0"), wider, "{log}");
}

#[test]
fn of_several_files_all_come_into_force_or_none() {
    let files = [("shop.toml", SHOP), ("events.toml", EVENTS)];
    let shop = Shop::new(&files, &[]);
    let (wider, longer) = (
        SHOP.replace("free | paid", "free | paid | gold"),
        EVENTS.to_owned() + "doc = \"An event.\"\n",
    );
    shop.write("shop.toml", &wider);
    shop.write(
        "events.toml",
        "[keyspace]\nname = \"events\"\ndb = 1\n[key.\"event:{id:wint}\"]\ntype = \"strong\"\n",
    );
    let log = shop.reload();
    let findings = log.lines().filter(|line| line.contains("events.toml:")).count();
    assert!(findings >= 2, "all findings are told: {log}");
    assert_eq!((shop.in_force("0"), shop.in_force("1")), (SHOP.to_owned(), EVENTS.to_owned()));
    // One that rows stand against holds up the other, too.
    let mut client = shop.server.client();
    call(&mut client, "SELECT 1");
    call(&mut client, "SET event:1 x");
    shop.write("events.toml", &EVENTS.replace("ttl = \"none\"", "ttl = \"1h\""));
    let log = shop.reload();
    assert!(log.contains("1 row given another end"), "{log}");
    assert_eq!((shop.in_force("0"), shop.in_force("1")), (SHOP.to_owned(), EVENTS.to_owned()));
    shop.write("events.toml", &longer);
    let log = shop.reload();
    assert!(log.contains("2 of 2 schemas are new"), "{log}");
    assert_eq!((shop.in_force("0"), shop.in_force("1")), (wider, longer));
    // A file that is gone, or names another database.
    fs::remove_file(shop.path("events.toml")).expect("a file");
    shop.write("shop.toml", SHOP);
    let log = shop.reload();
    assert!(log.contains("cannot read") && log.contains("not reloaded"), "{log}");
    shop.write("events.toml", &EVENTS.replace("db = 1", "db = 2"));
    let log = shop.reload();
    assert!(log.contains("names database 2 now, and 1 before"), "{log}");
}

#[test]
fn functions_are_reloaded_with_the_schemas_or_not_at_all() {
    let one = "#!lua name=lib\nredis.register_function('answer', function() return 1 end)\n";
    let first = "#!lua name=first\nredis.register_function('first', function() return 0 end)\n";
    let files = [("shop.toml", SHOP), ("functions/first.lua", first), ("functions/lib.lua", one)];
    let shop = Shop::new(&files, &[]);
    let mut client = shop.server.client();
    assert_eq!(call(&mut client, "FCALL answer 0"), ":1");
    shop.write("functions/lib.lua", &one.replace("return 1", "return 2"));
    shop.reload();
    assert_eq!(call(&mut client, "FCALL answer 0"), ":2");
    let wider = SHOP.replace("free | paid", "free | paid | gold");
    shop.write("shop.toml", &wider);
    shop.write("functions/lib.lua", "#!lua name=lib\nthis is not Lua\n");
    let log = shop.reload();
    assert!(log.contains("functions of the schema cannot be loaded"), "{log}");
    let file = shop.path("functions/lib.lua").display().to_string();
    assert!(log.contains(&format!("{file}: ")), "the log names {file}: {log}");
    assert_eq!(shop.in_force("0"), SHOP);
    assert_eq!(call(&mut client, "FCALL answer 0"), ":2");
    shop.write("functions/lib.lua", &one.replace("return 1", "return 3"));
    shop.reload();
    assert_eq!((shop.in_force("0"), call(&mut client, "FCALL answer 0")), (wider, ":3".into()));
}

/// As with Redis, a library is data: who has it gone says so to the server.
#[test]
fn a_library_whose_file_is_gone_stays_until_it_is_deleted() {
    let code = |name: &str| {
        format!(
            "#!lua name={name}\nredis.register_function('{name}_one', function() return 1 end)\n"
        )
    };
    let (old, new) = (code("old"), code("new"));
    let files = [("shop.toml", SHOP), ("functions/old.lua", &old), ("functions/new.lua", &new)];
    let shop = Shop::new(&files, &["--save", ""]);
    let mut client = shop.server.client();
    fs::remove_file(shop.path("functions/old.lua")).expect("it is there");
    shop.reload();
    assert_eq!(call(&mut client, "FCALL old_one 0"), ":1");
    assert_eq!(call(&mut client, "FUNCTION DELETE old"), "OK");
    shop.reload();
    assert_eq!(call(&mut client, "FCALL old_one 0"), "ERR Function not found");
}

/// Plans a schema; the name of the plan.
fn plan(client: &mut Client, schema: &str) -> Result<String, String> {
    let reply = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a reply");
    let Frame::Array(items) = &reply else { return Err(text(&reply)) };
    Ok(text(&items[1]))
}

#[test]
fn a_schema_that_was_applied_is_not_replaced_by_its_file() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut client = shop.server.client();
    let applied = SHOP.replace("free | paid", "free | paid | gold");
    let id = plan(&mut client, &applied).expect("a plan");
    client.call(["KEYWARD", "SCHEMA", "APPLY", &id]).expect("a reply");
    for file in [SHOP, &SHOP.replace("free | paid", "free | paid | silver")] {
        shop.write("shop.toml", file);
        let log = shop.reload();
        assert!(log.contains("KEYWARD SCHEMA APPLY put another schema in force"), "{log}");
        assert_eq!(shop.in_force("0"), applied);
    }
    // Once the file has it, the file counts again.
    shop.write("shop.toml", &applied);
    let log = shop.reload();
    assert!(log.contains("the schemas are the same as before"), "{log}");
    let wider = SHOP.replace("free | paid", "free | paid | gold | silver");
    shop.write("shop.toml", &wider);
    shop.reload();
    assert_eq!(shop.in_force("0"), wider);
}

#[test]
fn a_reload_that_is_refused_leaves_the_plan() {
    let files = [("shop.toml", SHOP), ("events.toml", EVENTS)];
    let shop = Shop::new(&files, &[]);
    let mut client = shop.server.client();
    call(&mut client, "HSET user:1 plan paid");
    let planned = SHOP.replace("free | paid", "free | paid | gold");
    let id = plan(&mut client, &planned).expect("a plan");
    // Refused by the rows, by the text, by the functions.
    shop.write("shop.toml", &SHOP.replace("free | paid", "free | gold"));
    let log = shop.reload();
    assert!(log.contains("1 row that would no longer fit"), "{log}");
    shop.write("shop.toml", "this is no schema");
    assert!(shop.reload().contains("not reloaded"), "{log}");
    shop.write("shop.toml", &SHOP.replace("free | paid", "free | paid | silver"));
    fs::create_dir(shop.path("functions")).expect("a directory");
    shop.write("functions/lib.lua", "#!lua name=lib\nthis is not Lua\n");
    let log = shop.reload();
    assert!(log.contains("functions of the schema cannot be loaded"), "{log}");
    // Rows that changed meanwhile are known to the plan.
    call(&mut client, "HSET user:2 plan free");
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &id]).expect("a reply");
    assert!(text(&applied).contains("functions of the schema cannot be loaded"), "{applied:?}");
    fs::remove_file(shop.path("functions/lib.lua")).expect("it was there");
    let id = plan(&mut client, &planned).expect("a plan");
    shop.write("shop.toml", &SHOP.replace("free | paid", "free | gold"));
    shop.reload();
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &id]).expect("a reply");
    assert!(!matches!(applied, Frame::Error(_)), "{applied:?}");
    assert_eq!(shop.in_force("0"), planned);
    call(&mut client, "HSET user:3 plan gold");
    assert_eq!(call(&mut client, "HGET user:3 plan"), "gold");
}

#[test]
fn a_reload_that_comes_into_force_voids_the_plan_and_says_so() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut client = shop.server.client();
    let id = plan(&mut client, &SHOP.replace("free | paid", "free | paid | gold")).expect("a plan");
    shop.write("shop.toml", &SHOP.replace("free | paid", "free | paid | silver"));
    let log = shop.reload();
    assert!(log.contains("reloaded: 1 of 1 schemas are new"), "{log}");
    assert!(log.contains(&format!("the plan {id} is void")), "{log}");
    let applied = call(&mut client, &format!("KEYWARD SCHEMA APPLY {id}"));
    assert!(applied.contains("no such plan"), "{applied}");
}

#[test]
fn a_reload_that_takes_rows_their_pattern_is_refused() {
    for unknown in ["", "unknown = \"warn\"\n"] {
        let schema = SHOP.replace("unknown = \"allow\"\n", unknown);
        let shop = Shop::new(&[("shop.toml", &schema)], &[]);
        let mut client = shop.server.client();
        for id in 0..30 {
            call(&mut client, &format!("SET note:{id} x"));
        }
        let end = schema.find("[key.\"note").expect("it is there");
        shop.write("shop.toml", &schema[..end]);
        let log = shop.reload();
        assert!(log.contains("30 rows that would have no pattern"), "{log}");
        assert!(log.contains("not reloaded: everything stays as it was"), "{log}");
        assert_eq!(call(&mut client, "SET note:1 y"), "OK");
        // Rows may come to another pattern.
        shop.write("shop.toml", &schema.replace("note:{id:uint}", "note:{id:str}"));
        let log = shop.reload();
        assert!(log.contains("reloaded: 1 of 1 schemas are new"), "{log}");
    }
}

#[test]
fn a_reload_tells_that_persistence_changes() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let volatile = SHOP.replace("unknown = \"allow\"", "unknown = \"allow\"\npersist = \"none\"");
    let told = |now, before| {
        format!("persist of {} is {now} now, and was {before}", shop.path("shop.toml").display())
    };
    for (text, told) in [(&*volatile, told("none", "aof")), (SHOP, told("aof", "none"))] {
        shop.write("shop.toml", text);
        let log = shop.reload();
        assert!(log.contains("reloaded: 1 of 1 schemas are new"), "{log}");
        assert!(log.contains(&told), "{log}");
    }
}

#[test]
fn a_reload_waits_for_a_plan_and_two_signals_are_obeyed() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut client = shop.server.client();
    for id in 0..20_000 {
        client.send_command(["HSET", &format!("user:{id}"), "plan", "paid"]).expect("it is sent");
    }
    for _ in 0..20_000 {
        client.receive().expect("a reply");
    }
    let wider = SHOP.replace("free | paid", "free | paid | gold");
    let before = shop.log();
    let mut planner = asker(&shop, "planner", &wider);
    shop.write("shop.toml", &wider);
    shop.hang_up();
    let planned = planner.receive().expect("a reply");
    assert!(!matches!(planned, Frame::Error(_)), "{planned:?}");
    shop.await_end(1, &before);
    assert_eq!(shop.in_force("0"), wider);
    // The plan was made from what is no longer in force.
    let Frame::Array(items) = &planned else { panic!("{planned:?}") };
    let applied = call(&mut client, &format!("KEYWARD SCHEMA APPLY {}", text(&items[1])));
    assert!(applied.contains("no such plan"), "{applied}");
    let wider = SHOP.replace("free | paid", "free | paid | silver");
    shop.write("shop.toml", &wider);
    for round in 0..20 {
        shop.write("shop.toml", if round % 2 == 0 { &wider } else { SHOP });
        shop.hang_up();
    }
    shop.write("shop.toml", &wider);
    shop.reload();
    wait_until(|| shop.in_force("0") == wider);
}

#[test]
fn under_load_every_write_is_kept_and_judged_by_one_of_the_schemas() {
    let shop = Shop::new(&[("shop.toml", SHOP), ("events.toml", EVENTS)], &[]);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let (mut client, stop) = (shop.server.client(), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    let key = format!("user:{writer}{count}");
                    let reply = client.call(["HSET", &key, "plan", "paid"]).expect("a reply");
                    assert_eq!(reply, Frame::Integer(1));
                    count += 1;
                }
                count
            })
        })
        .collect();
    let wider = SHOP.replace("free | paid", "free | paid | gold");
    for round in 0..6 {
        shop.write("shop.toml", if round % 2 == 0 { &wider } else { SHOP });
        let log = shop.reload();
        assert!(log.contains("reloaded: 1 of 2 schemas are new"), "{log}");
    }
    stop.store(true, Ordering::Relaxed);
    let written: i64 = writers.into_iter().map(|writer| writer.join().expect("it ends")).sum();
    let size = shop.server.client().call(["DBSIZE"]).expect("a reply");
    assert_eq!(size, Frame::Integer(written));
    assert_eq!(shop.in_force("0"), SHOP);
}

#[test]
fn systemd_is_told_of_a_reload() {
    let folder = tempfile::tempdir().expect("a directory");
    let place = folder.path().join("notify");
    let manager = UnixDatagram::bind(&place).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let file = folder.path().join("shop.toml");
    fs::write(&file, SHOP).expect("a file");
    let mut server = Command::new(PROGRAM)
        .args(["serve", "--port", "0", "--supervised", "systemd", "--appendonly", "no", "--dir"])
        .arg(folder.path())
        .arg(&file)
        .env("NOTIFY_SOCKET", &place)
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary runs");
    let hear = |line: &str| loop {
        let mut bytes = [0; 4096];
        let count = manager.recv(&mut bytes).expect("a message");
        let said = String::from_utf8_lossy(&bytes[..count]).into_owned();
        if said.lines().any(|said| said == line) {
            return said;
        }
    };
    hear("READY=1");
    assert!(Command::new("kill").args(["-HUP", &server.id().to_string()]).status().is_ok());
    let said = hear("RELOADING=1");
    assert!(said.lines().any(|line| line.starts_with("MONOTONIC_USEC=")), "{said}");
    hear("READY=1");
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}

// Schemas that clients plan.

/// Four megabytes that take long to read, and are no schema.
fn brackets() -> String {
    "[".repeat(4 << 20)
}

/// Whether a client of this name waits.
fn is_waiting(client: &mut Client, name: &str) -> bool {
    let list = call(client, "CLIENT LIST");
    let line = list.lines().find(|line| line.contains(&format!(" name={name} ")));
    line.is_some_and(|line| line.contains(" flags=b "))
}

/// A client that has asked for a plan of this text, and waits.
fn asker(shop: &Shop, name: &str, text: &str) -> Client {
    let (mut asker, mut other) = (shop.server.client(), shop.server.client());
    call(&mut asker, &format!("CLIENT SETNAME {name}"));
    asker.send_command(["KEYWARD", "SCHEMA", "PLAN", text]).expect("it is sent");
    let deadline = Instant::now() + PATIENCE;
    while !is_waiting(&mut other, name) {
        assert!(Instant::now() < deadline, "it never waits");
    }
    asker
}

#[test]
fn others_are_served_while_a_hostile_text_is_read() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut asker = asker(&shop, "asker", &brackets());
    let mut other = shop.server.client();
    assert_eq!(call(&mut other, "PING"), "PONG");
    assert_eq!(
        plan(&mut other, SHOP),
        Err("ERR another schema is being planned; try again later".into())
    );
    // The mode can be set while another thread looks at the schema.
    assert_eq!(call(&mut other, "KEYWARD MODE warn"), "OK");
    assert_eq!(call(&mut other, "KEYWARD MODE schema"), "OK");
    let reply = text(&asker.receive().expect("a reply"));
    assert!(reply.starts_with("SCHEMA the text is not sound: KW"), "{reply}");
    plan(&mut other, SHOP).expect("a plan");
}

#[test]
fn who_waits_for_a_text_to_be_read_may_be_unblocked_or_go() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut other = shop.server.client();
    let mut asker_one = asker(&shop, "one", &brackets());
    let list = call(&mut other, "CLIENT LIST");
    let line = list.lines().find(|line| line.contains(" name=one ")).expect("a client");
    let id = line.split(' ').next().and_then(|word| word.strip_prefix("id=")).expect("an id");
    assert_eq!(call(&mut other, &format!("CLIENT UNBLOCK {id}")), ":1");
    let reply = text(&asker_one.receive().expect("a reply"));
    let unknown = "the outcome of its command is not known";
    assert_eq!(reply, format!("UNBLOCKED client unblocked via CLIENT UNBLOCK, {unknown}"));
    // It may wait for something else when the text is read at last.
    asker_one.send_command(["BLPOP", "list", "0"]).expect("it is sent");
    let plan_at_last = |other: &mut Client| {
        wait_for(|| {
            plan(other, SHOP).inspect_err(|refusal| {
                assert_eq!(refusal, "ERR another schema is being planned; try again later");
            })
        });
    };
    plan_at_last(&mut other);
    call(&mut other, "RPUSH list x");
    assert!(
        matches!(asker_one.receive().expect("a reply"), Frame::Array(items) if items.len() == 2)
    );
    drop(asker(&shop, "two", &brackets()));
    plan_at_last(&mut other);
}

#[test]
fn a_reload_does_not_take_the_turn_of_a_plan_whose_text_is_being_read() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let before = shop.log();
    // A comment of three megabytes takes a while to be read.
    let long = format!("{SHOP}# {}\n", "#".repeat(3 << 20));
    let mut planner = asker(&shop, "planner", &long);
    let wider = SHOP.replace("free | paid", "free | paid | gold");
    shop.write("shop.toml", &wider);
    shop.hang_up();
    let planned = planner.receive().expect("a reply");
    assert!(matches!(planned, Frame::Array(_)), "{planned:?}");
    shop.await_end(1, &before);
    assert_eq!(shop.in_force("0"), wider);
}

#[test]
fn a_plan_is_refused_where_nobody_may_wait() {
    let shop = Shop::new(&[("shop.toml", SHOP)], &[]);
    let mut client = shop.server.client();
    call(&mut client, "MULTI");
    let refused = plan(&mut client, SHOP).expect_err("it is refused");
    assert_eq!(refused, "ERR Command not allowed inside a transaction");
    call(&mut client, "DISCARD");
    call(&mut client, "DEBUG SET-DISABLE-DENY-SCRIPTS 1");
    let script = "return redis.pcall('KEYWARD', 'SCHEMA', 'PLAN', ARGV[1]).err";
    let reply = client.call(["EVAL", script, "0", SHOP]).expect("a reply");
    assert!(text(&reply).contains("a schema cannot be planned inside a"), "{reply:?}");
    plan(&mut client, SHOP).expect("a plan");
}

const INCLUDING: &str = "include = [{ file = \"library/sess.toml\", with = { prefix = \"s:\" } }]

[keyspace]
name = \"shop\"

[key.\"user:{id:uint}\"]
type = \"string\"
ttl = \"none\"
";

const INCLUDED: &str = "[variables]
prefix = \"sess:\"

[key.\"${prefix}{id:uint}\"]
type = \"int\"
ttl = \"1h\"
";

#[test]
fn a_changed_file_that_a_schema_includes_comes_into_force() {
    let shop = Shop::new(&[("shop.toml", INCLUDING), ("library/sess.toml", INCLUDED)], &[]);
    let place = |line: u32| format!("({}:{line})", shop.path("library/sess.toml").display());
    let mut client = shop.server.client();
    let refused = text(&client.call(["SET", "s:7", "x"]).expect("a reply"));
    assert!(refused.ends_with(&place(4)), "{refused}");
    assert_eq!(text(&client.call(["SET", "s:7", "1"]).expect("a reply")), "OK");

    // The same with other lines is new: refusals name them.
    shop.write("library/sess.toml", &format!("# Sessions.\n{INCLUDED}"));
    let told = shop.reload();
    assert!(told.contains("reloaded: 1 of 1 schemas are new"), "{told}");
    let refused = text(&client.call(["SET", "s:7", "x"]).expect("a reply"));
    assert!(refused.ends_with(&place(5)), "{refused}");

    let told = shop.reload();
    assert!(told.contains("the schemas are the same as before"), "{told}");

    shop.write("library/sess.toml", &INCLUDED.replace("int\"\n", "string\"\n"));
    shop.reload();
    assert_eq!(text(&client.call(["SET", "s:8", "x"]).expect("a reply")), "OK");

    shop.write("library/sess.toml", "[key.\"a\"]\ntype = \"hsah\"\n");
    let told = shop.reload();
    let place = format!("{}:2: KW0201", shop.path("library/sess.toml").display());
    assert!(told.contains(&place) && told.contains("not reloaded"), "{told}");
    fs::remove_file(shop.path("library/sess.toml")).expect("it is there");
    let told = shop.reload();
    assert!(told.contains("shop.toml:1: KW0013") && told.contains("not reloaded"), "{told}");
    assert_eq!(text(&client.call(["SET", "s:9", "x"]).expect("a reply")), "OK");
}

#[test]
fn a_schema_over_the_wire_includes_nothing_and_its_one_text_means_the_same() {
    let shop = Shop::new(&[("shop.toml", INCLUDING), ("library/sess.toml", INCLUDED)], &[]);
    let mut client = shop.server.client();
    let refused = client.call(["KEYWARD", "SCHEMA", "PLAN", INCLUDING]).expect("a reply");
    assert_eq!(
        text(&refused),
        "SCHEMA the text is not sound: KW0013: a schema that does not come from a file includes \
         nothing; send what `keyward flatten FILE` writes (line 1)"
    );
    let path = shop.path("shop.toml");
    let flat = Command::new(PROGRAM).arg("flatten").arg(&path).output().expect("it runs");
    let flat = String::from_utf8(flat.stdout).expect("text");
    assert_eq!(flat, shop.in_force("0"));
    assert!(flat.contains("sess.toml:4\n[key.\"s:{id:uint}\"]\n"), "{flat}");

    // Another text is applied, then the one text of the files, which are those in force again.
    let changed = flat.replace("1h", "2h");
    for (schema, told) in [(&changed, " not reloaded: "), (&flat, " reloaded: ")] {
        let plan = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a reply");
        let Frame::Array(parts) = &plan else { panic!("{plan:?}") };
        let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &text(&parts[1])]);
        assert!(!matches!(applied, Ok(Frame::Error(_)) | Err(_)), "{applied:?}");
        let log = shop.reload();
        assert!(log.contains(told), "{log}");
    }
    let refused = text(&client.call(["SET", "s:7", "x"]).expect("a reply"));
    let place = format!("({}:4)", shop.path("library/sess.toml").display());
    assert!(refused.ends_with(&place), "{refused}");
}

const BILLING: &str = "[keyspace]
name = \"billing\"
owner = \"team-billing\"

[key.\"invoice:{id:uint}\"]
type = \"int\"
ttl = \"none\"
";

const WEB: &str = "[keyspace]
name = \"web\"
mode = \"warn\"

[key.\"cart:{id:uint}\"]
type = \"int\"
ttl = \"1d\"
";

/// All texts of a reply.
fn flattened(frame: &Frame) -> String {
    match frame {
        Frame::Array(parts) => parts.iter().map(|part| flattened(part) + "\n").collect(),
        other => text(other),
    }
}

#[test]
fn files_that_share_a_database_are_planned_and_reloaded_one_by_one() {
    let shop = Shop::new(&[("billing.toml", BILLING), ("web.toml", WEB)], &[]);
    let mut client = shop.server.client();
    let refused = call(&mut client, "SET invoice:1 x");
    assert!(refused.ends_with("billing.toml:5)"), "{refused}");
    assert_eq!(call(&mut client, "SET cart:1 x"), "OK", "its file only warns");
    assert_eq!(call(&mut client, "SET cart:1 1"), "OK");

    // One of the files is changed.
    shop.write("web.toml", &WEB.replace("warn", "enforce"));
    let told = shop.reload();
    assert!(told.contains(" reloaded: "), "{told}");
    let refused = call(&mut client, "SET cart:1 x");
    assert!(refused.ends_with("web.toml:5)"), "{refused}");

    // One claims what is the other's.
    shop.write("web.toml", &WEB.replace("cart", "invoice"));
    let told = shop.reload();
    assert!(told.contains("web.toml:5: KW0116") && told.contains("not reloaded"), "{told}");
    assert!(told.contains("billing.toml:5)"), "{told}");
    shop.write("web.toml", &WEB.replace("warn", "enforce"));

    // One is planned and applied by its name.
    let longer = BILLING.replace("\"none\"", "\"1y\"");
    let refused = text(&client.call(["KEYWARD", "SCHEMA", "PLAN", &longer]).expect("a reply"));
    assert_eq!(refused, "ERR this database has several keyspaces; name one of billing, web");
    let claims = BILLING.replace("invoice", "cart");
    let refused = client.call(["KEYWARD", "SCHEMA", "PLAN", "billing", &claims]).expect("a reply");
    assert!(text(&refused).contains("KW0116"), "{refused:?}");
    let plan = client.call(["KEYWARD", "SCHEMA", "PLAN", "billing", &longer]).expect("a reply");
    let Frame::Array(parts) = &plan else { panic!("{plan:?}") };
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &text(&parts[1])]);
    assert!(!matches!(applied, Ok(Frame::Error(_)) | Err(_)), "{applied:?}");
    let told = flattened(&applied.expect("a reply"));
    assert!(told.contains("invoice:{id:uint}") && !told.contains("cart:"), "{told}");
    assert_eq!(call(&mut client, "KEYWARD SCHEMA SHOW billing"), longer);
    assert_eq!(call(&mut client, "KEYWARD SCHEMA SHOW web"), WEB.replace("warn", "enforce"));
    assert_eq!(call(&mut client, "SET invoice:2 1"), "OK");
    assert!(call(&mut client, "TTL invoice:2").contains("315"), "a year");
    assert_eq!(call(&mut client, "GET cart:1"), "1");

    // The file of what was applied is another one now; with its text all are again in force.
    assert!(shop.reload().contains("billing.toml: KEYWARD SCHEMA APPLY"));
    shop.write("billing.toml", &longer);
    assert!(shop.reload().contains("the schemas are the same as before"));
}

#[test]
fn a_mode_is_that_of_one_keyspace_of_a_database() {
    let shop = Shop::new(&[("billing.toml", BILLING), ("web.toml", WEB)], &[]);
    let mut client = shop.server.client();
    assert_eq!(call(&mut client, "KEYWARD MODE warn billing"), "OK");
    assert_eq!(call(&mut client, "SET invoice:1 x"), "OK");
    assert_eq!(call(&mut client, "KEYWARD MODE enforce web"), "OK");
    assert!(call(&mut client, "SET cart:1 x").starts_with("SCHEMA cart:1"));
    assert_eq!(call(&mut client, "SET other 1"), "OK", "one of them only warns");
    assert_eq!(call(&mut client, "KEYWARD MODE enforce billing"), "OK");
    let refused = call(&mut client, "SET another 1");
    assert!(refused.contains("matches no pattern of billing and web"), "{refused}");
    assert!(refused.ends_with("web.toml)") && refused.contains("billing.toml, "), "{refused}");
    assert!(call(&mut client, "KEYWARD MODE warn").contains("several keyspaces"));
    assert!(call(&mut client, "KEYWARD MODE warn shop").contains("no such keyspace"));

    // A reload leaves modes alone.
    shop.write("web.toml", &format!("# Carts.\n{WEB}"));
    shop.reload();
    assert!(call(&mut client, "SET cart:1 x").starts_with("SCHEMA cart:1"));
    let stats = client.call(["KEYWARD", "STATS", "invoice:{id:uint}"]).expect("a reply");
    assert!(format!("{stats:?}").contains("team-billing"), "{stats:?}");
}

#[test]
fn a_keyspace_that_is_full_refuses_and_evicts_only_its_own_rows() {
    let limited = |evict: &str| {
        format!(
            "[keyspace]\nname = \"billing\"\nmax_memory = \"64kb\"\n\n\
             [key.\"invoice:{{id:uint}}\"]\ntype = \"string\"\nevict = \"{evict}\"\n"
        )
    };
    let web = WEB.replace("int\"\n", "string\"\n");
    let value = "x".repeat(1000);
    for (evict, is_refused) in [("never", true), ("lru", false)] {
        let shop = Shop::new(&[("billing.toml", &limited(evict)), ("web.toml", &web)], &[]);
        let mut client = shop.server.client();
        let fill = |client: &mut Client, key: &str| {
            let replies = (0..200).map(|id| {
                text(&client.call(["SET", &format!("{key}:{id}"), &value]).expect("a reply"))
            });
            replies.filter(|reply| reply.starts_with("OOM")).count()
        };
        assert_eq!(fill(&mut client, "cart"), 0, "{evict}");
        assert_eq!(fill(&mut client, "invoice") > 100, is_refused, "{evict}");
        assert_eq!(fill(&mut client, "cart"), 0, "{evict}");
        let keys = |client: &mut Client, pattern: &str| {
            let stats = client.call(["KEYWARD", "STATS", pattern]).expect("a reply");
            let Frame::Array(parts) = stats else { panic!("{stats:?}") };
            let place = parts.iter().position(|part| text(part) == "keys").expect("a figure");
            text(&parts[place + 1])
        };
        assert_eq!(keys(&mut client, "cart:{id:uint}"), ":200", "{evict}");
        assert_ne!(keys(&mut client, "invoice:{id:uint}"), ":200", "{evict}");
    }
}
