//! MIGRATE: keys move to a Redis and from it, and are never in no place.

use keyward_resp::{Frame, split_words};
use keyward_testkit::{Client, Server};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

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
