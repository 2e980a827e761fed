//! Large ends on a real server: nobody waits, nothing is lost, nothing comes back.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Members of the set that goes, and rows that live with one.
const MANY: usize = 20_000;
/// Those of one command.
const AT_ONCE: usize = 5_000;
/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &str = r#"
[keyspace]
name    = "ends"
unknown = "allow"

[key."fans:{id:uint}"]
type = "set"
ttl  = "none"

[key."idols:{id:uint}"]
type    = "set"
ttl     = "none"
inverse = "fans:{member}"

[key."lease:{id:uint}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }

[key."grant:{lease_id:uint}:{n:uint}"]
type = "string"
ttl  = { with = "lease:{lease_id}" }
"#;

fn keyward(directory: &Path, options: &[&str]) -> Server {
    let schema = directory.join("keyward.toml");
    fs::write(&schema, SCHEMA).expect("a file");
    let [schema, directory] = [&*schema, directory].map(|path| path.to_str().expect("UTF-8"));
    let first = [schema, "--dir", directory, "--enable-debug-command", "yes"];
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    Server::keyward(program, &[&first, options].concat())
}

/// Makes a set of many members with as many mirrors.
fn gain_fans(client: &mut Client) {
    for first in (0..MANY).step_by(AT_ONCE) {
        let members = (first..first + AT_ONCE).map(|id| id.to_string()).collect::<Vec<_>>();
        let command = format!("SADD fans:1 {}", members.join(" "));
        assert!(matches!(call(client, &command), Frame::Integer(1..)));
    }
}

/// Makes a row with which many live.
fn lead(client: &mut Client) {
    call(client, "SET lease:1 x");
    for first in (0..MANY).step_by(AT_ONCE) {
        for id in first..first + AT_ONCE {
            client.send_command(["SET", &format!("grant:1:{id}"), "x"]).expect("it is sent");
        }
        for reply in client.receive_batch(AT_ONCE).expect("replies") {
            assert_eq!(reply.frame, Frame::Simple(b"OK".to_vec()));
        }
    }
}

fn size(client: &mut Client) -> i64 {
    match call(client, "DBSIZE") {
        Frame::Integer(rows) => rows,
        other => panic!("no size: {other:?}"),
    }
}

/// Waits until no rows are left but so many.
fn wait_for_size(client: &mut Client, rows: i64) {
    let deadline = Instant::now() + PATIENCE;
    while size(client) > rows {
        assert!(Instant::now() < deadline, "{} rows are left", size(client));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(size(client), rows);
}

/// Waits until the append-only file is rewritten.
fn wait_for_rewrite(client: &mut Client) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let info = call(client, "INFO persistence");
        let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
        let is = |line: &str| info.contains(&format!("{line}\r\n"));
        if is("aof_rewrite_in_progress:0") && is("aof_rewrite_scheduled:0") {
            assert!(is("aof_last_bgrewrite_status:ok"));
            return;
        }
        assert!(Instant::now() < deadline, "the file is not rewritten");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_goes_with_a_row_holds_nobody_up_and_is_never_seen() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "yes"]);
    let (mut client, mut other) = (server.client(), server.client());
    gain_fans(&mut client);
    lead(&mut client);
    let members = MANY as i64;
    assert_eq!(size(&mut client), 2 * members + 2);
    assert_eq!(call(&mut client, "DEL fans:1 lease:1"), Frame::Integer(2));
    let mut served = 0;
    let mut id = 0;
    while size(&mut other) > 0 {
        // Those that come last are looked at while the first go.
        id = (id + 7919) % MANY;
        assert_eq!(call(&mut other, &format!("EXISTS idols:{id} grant:1:{id}")), Frame::Integer(0));
        assert_eq!(call(&mut other, &format!("GET grant:1:{id}")), Frame::NullBulk);
        served += 3;
    }
    // All of it takes seconds: had any of these waited for it, there were few of them.
    assert!(served > 300, "{served} commands were served meanwhile");
}

#[test]
fn a_server_that_is_killed_amid_a_large_end_goes_on_with_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    gain_fans(&mut client);
    lead(&mut client);
    call(&mut client, "SADD idols:7 2");
    call(&mut client, "DEL fans:1 lease:1");
    // Both are made anew, and a row of each.
    call(&mut client, "SADD fans:1 9");
    call(&mut client, "SET lease:1 y");
    call(&mut client, "SET grant:1:5 y");
    let left = size(&mut client);
    assert!(left > 1_000, "{left} rows are left: there is nothing to kill amid");
    drop(server);

    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    assert_eq!(call(&mut client, "EXISTS idols:8 grant:1:6"), Frame::Integer(0));
    assert_eq!(call(&mut client, "GET grant:1:5"), Frame::Bulk(b"y".to_vec()));
    wait_for_size(&mut client, 6);
    let keys = "fans:1 fans:2 idols:7 idols:9 lease:1 grant:1:5";
    assert_eq!(call(&mut client, &format!("EXISTS {keys}")), Frame::Integer(6));
    assert_eq!(call(&mut client, "SCARD idols:7"), Frame::Integer(1));
    wait_for_rewrite(&mut client);
    // Another end, of which all is in the log.
    gain_fans(&mut client);
    call(&mut client, "DEL fans:1");
    wait_for_size(&mut client, 4);
    let digest = call(&mut client, "DEBUG DIGEST");
    drop(server);

    // What the log says of ends is nothing to a plain Redis.
    let directory = directory.path().to_str().expect("UTF-8");
    let redis = Server::redis(&["--dir", directory, "--appendonly", "yes"]);
    let mut client = redis.client();
    assert_eq!(size(&mut client), 4);
    assert_eq!(call(&mut client, "DEBUG DIGEST"), digest);
    assert_eq!(call(&mut client, "EXISTS keyward:ends"), Frame::Integer(0));
}

#[test]
fn what_is_saved_amid_a_large_end_has_nothing_of_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "no", "--save", ""]);
    let (mut client, mut other) = (server.client(), server.client());
    gain_fans(&mut client);
    lead(&mut client);
    call(&mut client, "SADD fans:2 3");
    call(&mut client, "DEL fans:1 lease:1");
    call(&mut client, "BGSAVE");
    // It is asked for, not yet begun, or under way: others are served.
    assert_eq!(call(&mut other, "GET lease:1"), Frame::NullBulk);
    let deadline = Instant::now() + PATIENCE;
    while !directory.path().join("dump.rdb").exists() {
        assert!(Instant::now() < deadline, "nothing was saved");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(server);
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    let mut client = server.client();
    assert_eq!(size(&mut client), 2);
    assert_eq!(call(&mut client, "EXISTS fans:2 idols:3"), Frame::Integer(2));
}

#[test]
fn who_shuts_down_amid_a_large_end_saves_nothing_of_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    let mut client = server.client();
    gain_fans(&mut client);
    call(&mut client, "DEL fans:1");
    client.send_command(["SHUTDOWN", "SAVE"]).expect("it is sent");
    assert!(server.wait(PATIENCE).success());
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    assert_eq!(size(&mut server.client()), 0);
}
