//! Passwords in MONITOR and SLOWLOG: the same words as Redis shows.

use keyward_resp::{Frame, split_words};
use keyward_testkit::{Client, Server};
use std::path::Path;

fn call(client: &mut Client, command: &str) -> Frame {
    let words = split_words(command.as_bytes()).expect("tests quote well");
    client.call(words).expect("an answer")
}

const CALLS: [&str; 12] = [
    "AUTH hunter2",
    "AUTH default hunter2",
    "HELLO 3 AUTH default hunter2 SETNAME me",
    "HELLO 2 SETNAME auth",
    "CONFIG SET requirepass hunter2",
    "CONFIG SET maxmemory-samples 5 masterauth hunter2 masteruser hunter2",
    "AUTH hunter2",
    "CONFIG SET requirepass \"\"",
    "MIGRATE 127.0.0.1 1 k 0 10 AUTH hunter2",
    "MIGRATE 127.0.0.1 1 k 0 10 COPY AUTH2 hunter2 hunter2 REPLACE",
    "MIGRATE 127.0.0.1 1 \"\" 0 10 AUTH keys KEYS auth k",
    "SET k v",
];

/// What MONITOR shows of the calls, without times and addresses, and the slow log.
fn seen(server: &Server) -> (Vec<String>, Vec<Vec<Vec<u8>>>) {
    let (mut client, mut monitor) = (server.client(), server.client());
    call(&mut client, "CONFIG SET slowlog-log-slower-than 0");
    call(&mut client, "SLOWLOG RESET");
    call(&mut monitor, "MONITOR");
    CALLS.iter().for_each(|command| drop(call(&mut client, command)));
    call(&mut client, "PING the-end");
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line: &String| !line.contains("the-end")) {
        let frame = monitor.receive().expect("a line");
        let line = String::from_utf8_lossy(frame.as_bytes().expect("a text")).into_owned();
        lines.push(line.split_once("] ").expect("who sent it").1.to_owned());
    }
    let log = call(&mut client, "SLOWLOG GET -1");
    let entries = log.as_elements().expect("entries").iter().map(|entry| {
        let words = entry.as_elements().expect("an entry")[3].as_elements().expect("its words");
        words.iter().map(|word| word.as_bytes().expect("a text").to_vec()).collect()
    });
    (lines, entries.collect())
}

#[test]
fn passwords_are_redacted_as_redis_redacts_them() {
    let keyward = Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &[]);
    let (ours, theirs) = (seen(&keyward), seen(&Server::redis(&[])));
    assert_eq!(ours, theirs);
    let text = format!("{:?}", ours.0);
    assert!(text.contains("(redacted)") && !text.contains("hunter2"), "{text}");
    let shown = ours.1.concat();
    assert!(!shown.contains(&b"hunter2".to_vec()) && shown.contains(&b"(redacted)".to_vec()));
}
