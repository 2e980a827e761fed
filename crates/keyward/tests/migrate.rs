//! MIGRATE: keys move to a Redis and from it, and are never in no place.

use keyward_resp::{Frame, split_words};
use keyward_testkit::{Client, Server, wait_until};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

fn keyward(options: &[&str]) -> Server {
    Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), options)
}

fn call(client: &mut Client, command: &str) -> Frame {
    let words = split_words(command.as_bytes()).expect("tests quote well");
    client.call(words).expect("an answer")
}

/// Moves to a server what the rest of the call says.
fn migrate(client: &mut Client, to: &Server, rest: &str) -> Frame {
    call(client, &format!("MIGRATE 127.0.0.1 {} {rest}", to.address().port()))
}

fn error(text: &str) -> Frame {
    Frame::Error(text.as_bytes().to_vec())
}

const OK: &str = "OK";

#[test]
fn rows_of_every_type_move_to_a_redis_and_back_with_their_lifetimes() {
    let debug = ["--enable-debug-command", "yes"];
    let (keyward, redis) = (keyward(&debug), Server::redis(&debug));
    let (mut here, mut there) = (keyward.client(), redis.client());
    let made = [
        "SET text some-text PX 600000",
        "RPUSH list a b c",
        "SADD set 1 2 3",
        "SADD words one two",
        "ZADD zset 1.5 a 2 b",
        "HSET hash f 1 g 2",
        "SET number 12345",
    ];
    made.iter().for_each(|command| drop(call(&mut here, command)));
    let keys = "text list set words zset hash number";
    let digest = call(&mut here, "DEBUG DIGEST");
    let all = format!("\"\" 0 5000 KEYS missing {keys}");
    assert_eq!(migrate(&mut here, &redis, &all), Frame::Simple(OK.into()));
    assert_eq!(call(&mut here, "DBSIZE"), Frame::Integer(0));
    assert_eq!(call(&mut there, "DEBUG DIGEST"), digest);
    let Frame::Integer(left_ms) = call(&mut there, "PTTL text") else { panic!("a number") };
    assert!((590_000..=600_000).contains(&left_ms), "{left_ms} ms are left");

    assert_eq!(migrate(&mut there, &keyward, &all), Frame::Simple(OK.into()));
    assert_eq!(call(&mut there, "DBSIZE"), Frame::Integer(0));
    assert_eq!(call(&mut here, "DEBUG DIGEST"), digest);
}

#[test]
fn copies_stay_and_what_the_other_server_refuses_does_too() {
    let (keyward, redis) = (keyward(&[]), Server::redis(&[]));
    let (mut here, mut there) = (keyward.client(), redis.client());
    call(&mut here, "MSET a 1 b 2 c 3");
    assert_eq!(migrate(&mut here, &redis, "a 0 5000 COPY"), Frame::Simple(OK.into()));
    assert_eq!(call(&mut here, "GET a"), Frame::Bulk(b"1".into()));
    call(&mut here, "SET a changed");
    let busy = "ERR Target instance replied with error: BUSYKEY Target key name already exists.";
    // The others have moved all the same.
    assert_eq!(migrate(&mut here, &redis, "\"\" 0 5000 KEYS b a c"), error(busy));
    assert_eq!(call(&mut here, "KEYS *"), Frame::Array(vec![Frame::Bulk(b"a".into())]));
    assert_eq!(call(&mut there, "EXISTS a b c"), Frame::Integer(3));
    assert_eq!(call(&mut there, "GET a"), Frame::Bulk(b"1".into()));
    assert_eq!(migrate(&mut here, &redis, "a 0 5000 REPLACE"), Frame::Simple(OK.into()));
    assert_eq!(call(&mut there, "GET a"), Frame::Bulk(b"changed".into()));
    assert_eq!(migrate(&mut here, &redis, "a 0 5000"), Frame::Simple("NOKEY".into()));
    call(&mut here, "SET d 4");
    let range = "ERR Target instance replied with error: ERR DB index is out of range";
    assert_eq!(migrate(&mut here, &redis, "d 99 5000"), error(range));
    assert_eq!(call(&mut here, "GET d"), Frame::Bulk(b"4".into()));
}

#[test]
fn a_password_is_given_and_never_shown() {
    let (keyward, redis) = (keyward(&[]), Server::redis_with_password("secret"));
    let mut here = keyward.client();
    call(&mut here, "CONFIG SET slowlog-log-slower-than 0");
    call(&mut here, "SET a 1");
    let refused = migrate(&mut here, &redis, "a 0 5000");
    let unknown = "ERR Target instance replied with error: NOAUTH Authentication required.";
    assert_eq!(refused, error(unknown));
    assert_eq!(migrate(&mut here, &redis, "a 0 5000 AUTH secret"), Frame::Simple(OK.into()));
    call(&mut here, "SET a 1");
    let with_user = "a 0 5000 REPLACE AUTH2 default secret";
    assert_eq!(migrate(&mut here, &redis, with_user), Frame::Simple(OK.into()));
    let slow = format!("{:?}", call(&mut here, "SLOWLOG GET"));
    let shown = format!("{:?}", Frame::Bulk(b"secret".into()));
    assert!(!slow.contains(&shown), "{slow}");
}

#[test]
fn what_was_not_acknowledged_stays_and_what_was_is_logged_as_gone() {
    let keyward = keyward(&["--appendonly", "yes", "--enable-debug-command", "yes"]);
    let mut here = keyward.client();
    call(&mut here, "MSET a 1 b 2");
    // A server that acknowledges SELECT and the first key, and is gone.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).expect("requests");
        stream.write_all(b"+OK\r\n+OK\r\n").expect("it reads");
        read
    });
    let answer = call(&mut here, &format!("MIGRATE 127.0.0.1 {port} \"\" 0 5000 KEYS a b"));
    assert_eq!(answer, error("IOERR error or timeout reading to target instance"));
    assert!(other.join().expect("it does not panic") > 0);
    assert_eq!(call(&mut here, "KEYS *"), Frame::Array(vec![Frame::Bulk(b"b".into())]));
    call(&mut here, "DEBUG LOADAOF");
    assert_eq!(call(&mut here, "KEYS *"), Frame::Array(vec![Frame::Bulk(b"b".into())]));
}

/// A server that is to answer when a test says so.
struct Silent(TcpListener);

impl Silent {
    fn new() -> Silent {
        Silent(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"))
    }

    /// Sends it keys, and waits until it has heard of them.
    fn hear(&self, client: &mut Client, rest: &str) -> TcpStream {
        let port = self.0.local_addr().expect("an address").port();
        send(client, &format!("MIGRATE 127.0.0.1 {port} {rest}"));
        let (mut stream, _) = self.0.accept().expect("a connection");
        assert!(stream.read(&mut [0; 65536]).expect("requests") > 0);
        stream
    }
}

fn send(client: &mut Client, command: &str) {
    let words = split_words(command.as_bytes()).expect("tests quote well");
    client.send_command(words).expect("it is sent");
}

fn is_silent(client: &mut Client) -> bool {
    client.try_receive().expect("a connection").is_none()
}

#[test]
fn nobody_waits_for_the_other_server_but_who_would_use_the_keys() {
    let (keyward, silent) = (keyward(&[]), Silent::new());
    let [mut mover, mut other] = [keyward.client(), keyward.client()];
    call(&mut other, "MSET a 1 b 2 c 3");
    call(&mut other, "RPUSH source x");
    let mut stream = silent.hear(&mut mover, "\"\" 0 60000 KEYS a missing b");
    // All others are served.
    assert_eq!(call(&mut other, "GET c"), Frame::Bulk(b"3".into()));
    assert_eq!(call(&mut other, "SET missing 1"), Frame::Simple(OK.into()));
    assert_eq!(call(&mut other, "SELECT 1"), Frame::Simple(OK.into()));
    assert_eq!(call(&mut other, "SET a in-another-database"), Frame::Simple(OK.into()));
    assert_eq!(call(&mut other, "DBSIZE"), Frame::Integer(1));
    let id = match call(&mut other, "CLIENT LIST") {
        Frame::Bulk(list) => String::from_utf8(list).expect("a text"),
        frame => panic!("{frame:?}"),
    };
    let mover_id = id.lines().find(|line| line.contains("cmd=migrate")).expect("it is listed");
    let mover_id = mover_id["id=".len()..].split(' ').next().expect("a number").to_owned();
    assert_eq!(call(&mut other, &format!("CLIENT UNBLOCK {mover_id}")), Frame::Integer(0));
    // Whoever would use these keys, or might.
    let commands = [
        "GET a",
        "SET b changed",
        "RENAME c b",
        "EVAL \"return redis.call('GET', 'a')\" 0",
        "FLUSHDB",
    ];
    let mut held: Vec<Client> = commands.iter().map(|_| keyward.client()).collect();
    for (client, command) in held.iter_mut().zip(commands) {
        send(client, command);
        // In this order.
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut unit = keyward.client();
    for command in ["MULTI", "GET c", "APPEND a x"] {
        call(&mut unit, command);
    }
    send(&mut unit, "EXEC");
    std::thread::sleep(Duration::from_millis(300));
    assert!(held.iter_mut().chain([&mut unit, &mut mover]).all(is_silent));
    assert_eq!(call(&mut other, "PING"), Frame::Simple("PONG".into()));
    stream.write_all(b"+OK\r\n+OK\r\n+OK\r\n").expect("it reads");
    assert_eq!(mover.receive().expect("an answer"), Frame::Simple(OK.into()));
    assert_eq!(held[0].receive().expect("an answer"), Frame::NullBulk);
    for client in &mut held[1..] {
        assert!(!matches!(client.receive().expect("an answer"), Frame::Error(_)));
    }
    unit.receive().expect("an answer");
}

#[test]
fn a_client_that_goes_does_not_keep_its_keys_from_moving() {
    let (keyward, silent) = (keyward(&[]), Silent::new());
    let [mut mover, mut other] = [keyward.client(), keyward.client()];
    call(&mut other, "MSET a 1 b 2");
    let mut stream = silent.hear(&mut mover, "\"\" 0 60000 KEYS a b");
    drop(mover);
    let is_one = |list: Frame| matches!(list, Frame::Bulk(list) if list.iter().filter(|b| **b == b'\n').count() == 1);
    wait_until(|| is_one(call(&mut other, "CLIENT LIST")));
    // One is taken, one refused.
    stream.write_all(b"+OK\r\n+OK\r\n-ERR no\r\n").expect("it reads");
    wait_until(|| call(&mut other, "DBSIZE") == Frame::Integer(1));
    assert_eq!(call(&mut other, "GET b"), Frame::Bulk(b"2".into()));
}

#[test]
fn who_waits_for_a_list_goes_on_when_what_it_moves_to_has_come_back() {
    let (keyward, silent) = (keyward(&[]), Silent::new());
    let [mut mover, mut waiter, mut other] = [keyward.client(), keyward.client(), keyward.client()];
    call(&mut other, "RPUSH target 1");
    send(&mut waiter, "BLMOVE source target LEFT RIGHT 0");
    wait_until(|| {
        let info = call(&mut other, "INFO clients");
        info.as_bytes()
            .is_some_and(|text| text.windows(17).any(|part| part == b"blocked_clients:1"))
    });
    let stream = silent.hear(&mut mover, "target 0 60000");
    call(&mut other, "RPUSH source 2");
    std::thread::sleep(Duration::from_millis(100));
    assert!(is_silent(&mut waiter));
    drop(stream);
    let answer = mover.receive().expect("an answer");
    assert_eq!(answer, error("IOERR error or timeout reading to target instance"));
    assert_eq!(waiter.receive().expect("an answer"), Frame::Bulk(b"2".into()));
    assert_eq!(call(&mut other, "LLEN target"), Frame::Integer(2));
}

#[test]
fn many_servers_are_talked_to_at_once_and_more_after_them() {
    let keyward = keyward(&[]);
    let mut other = keyward.client();
    let silent: Vec<(Silent, Client)> =
        (0..40).map(|_| (Silent::new(), keyward.client())).collect();
    let mut under_way = Vec::new();
    for (number, (silent, mut client)) in silent.into_iter().enumerate() {
        call(&mut other, &format!("SET key:{number} 1"));
        let port = silent.0.local_addr().expect("an address").port();
        send(&mut client, &format!("MIGRATE 127.0.0.1 {port} key:{number} 0 60000"));
        under_way.push((silent, client));
    }
    assert_eq!(call(&mut other, "PING"), Frame::Simple("PONG".into()));
    for (silent, client) in &mut under_way {
        let (mut stream, _) = silent.0.accept().expect("a connection");
        assert!(stream.read(&mut [0; 4096]).expect("requests") > 0);
        stream.write_all(b"+OK\r\n+OK\r\n").expect("it reads");
        assert_eq!(client.receive().expect("an answer"), Frame::Simple(OK.into()));
    }
    assert_eq!(call(&mut other, "DBSIZE"), Frame::Integer(0));
}

#[test]
fn inside_a_transaction_everybody_waits_as_in_redis() {
    let (keyward, silent) = (keyward(&[]), Silent::new());
    let [mut mover, mut other] = [keyward.client(), keyward.client()];
    call(&mut other, "SET a 1");
    call(&mut mover, "MULTI");
    let port = silent.0.local_addr().expect("an address").port();
    call(&mut mover, &format!("MIGRATE 127.0.0.1 {port} a 0 60000"));
    send(&mut mover, "EXEC");
    let (mut stream, _) = silent.0.accept().expect("a connection");
    send(&mut other, "PING");
    std::thread::sleep(Duration::from_millis(100));
    assert!(is_silent(&mut other));
    stream.write_all(b"+OK\r\n+OK\r\n").expect("it reads");
    let answer = mover.receive().expect("an answer");
    assert_eq!(answer, Frame::Array(vec![Frame::Simple(OK.into())]));
    assert_eq!(other.receive().expect("an answer"), Frame::Simple("PONG".into()));
}

#[test]
fn what_depends_on_a_key_goes_when_the_other_server_has_it() {
    const SCHEMA: &str = r#"
[keyspace]
name = "people"

[key."user:{id:uint}"]
type   = "hash"
ttl    = "none"
fields = { email = "str" }

[key."users:by_email:{email}"]
type   = "string"
ttl    = "none"
lookup = { of = "user:{id}", field = "email" }
"#;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("people.toml");
    std::fs::write(&file, SCHEMA).expect("it is written");
    let (keyward, silent) = (keyward(&[file.to_str().expect("a text")]), Silent::new());
    let [mut mover, mut other] = [keyward.client(), keyward.client()];
    call(&mut other, "HSET user:1 email a@example.org");
    let mut stream = silent.hear(&mut mover, "user:1 0 60000");
    assert_eq!(call(&mut other, "GET users:by_email:a@example.org"), Frame::Bulk(b"1".into()));
    let mut held = keyward.client();
    send(&mut held, "HSET user:1 email b@example.org");
    call(&mut other, "HSET user:2 email c@example.org");
    assert!(is_silent(&mut held));
    stream.write_all(b"+OK\r\n+OK\r\n").expect("it reads");
    assert_eq!(mover.receive().expect("an answer"), Frame::Simple(OK.into()));
    assert_eq!(held.receive().expect("an answer"), Frame::Integer(1));
    assert_eq!(call(&mut other, "EXISTS users:by_email:a@example.org"), Frame::Integer(0));
    assert_eq!(call(&mut other, "GET users:by_email:b@example.org"), Frame::Bulk(b"1".into()));
}

#[test]
fn a_key_that_a_follow_up_changes_on_its_way_stays() {
    const SCHEMA: &str = r#"
[keyspace]
name = "people"

[key."user:{id:uint}:following"]
type    = "set"
ttl     = "none"
inverse = "user:{member}:followers"
allow   = ["KW0310: a test"]

[key."user:{id:uint}:followers"]
type    = "set"
ttl     = "none"
inverse = "user:{member}:following"
allow   = ["KW0310: a test"]
"#;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("people.toml");
    std::fs::write(&file, SCHEMA).expect("it is written");
    let (keyward, silent) = (keyward(&[file.to_str().expect("a text")]), Silent::new());
    let [mut mover, mut other] = [keyward.client(), keyward.client()];
    call(&mut other, "SADD user:1:following 2");
    call(&mut other, "SADD user:1:following 5");
    let both = "\"\" 0 60000 KEYS user:2:followers user:5:followers";
    let mut stream = silent.hear(&mut mover, both);
    assert_eq!(call(&mut other, "SADD user:3:following 2"), Frame::Integer(1));
    stream.write_all(b"+OK\r\n+OK\r\n+OK\r\n").expect("it reads");
    let changed = "ERR a key was changed while it was on its way: it stays, and the other server \
                   has what it was";
    assert_eq!(mover.receive().expect("an answer"), error(changed));
    assert_eq!(call(&mut other, "SCARD user:2:followers"), Frame::Integer(2));
    assert_eq!(call(&mut other, "EXISTS user:5:followers"), Frame::Integer(0));
    // What is as it was sent goes.
    let mut stream = silent.hear(&mut mover, "user:2:followers 0 60000 REPLACE");
    stream.write_all(b"+OK\r\n+OK\r\n").expect("it reads");
    assert_eq!(mover.receive().expect("an answer"), Frame::Simple(OK.into()));
    assert_eq!(call(&mut other, "EXISTS user:2:followers"), Frame::Integer(0));
}
