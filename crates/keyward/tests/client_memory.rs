//! `maxmemory-clients`: who is disconnected when clients take too much together, on
//! Keyward and on a real Redis.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_for};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);
const MB: usize = 1024 * 1024;

fn servers(settings: &[&str]) -> [Server; 2] {
    let keyward = Path::new(env!("CARGO_BIN_EXE_keyward"));
    [Server::keyward(keyward, settings), Server::redis(settings)]
}

fn call(client: &mut Client, command: &[&str]) -> Frame {
    client.call(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// A client of this name that has sent the better part of a command.
fn half_sent(server: &Server, name: &str, bytes: usize) -> Client {
    let mut client = server.client();
    call(&mut client, &["CLIENT", "SETNAME", name]);
    // A server that has had enough does not take the rest: that is its right.
    let _ = client.send(&[format!("*2\r\n${bytes}\r\n").as_bytes(), &vec![b'v'; bytes]].concat());
    client
}

fn text(frame: Frame) -> String {
    let Frame::Bulk(bytes) = frame else { panic!("{frame:?} is no text") };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The names of the clients there are that have one, the control's aside.
fn names(control: &mut Client) -> Vec<String> {
    let list = text(call(control, &["CLIENT", "LIST"]));
    let name =
        |line: &str| line.split(' ').find_map(|word| word.strip_prefix("name=")).map(str::to_owned);
    let mut names: Vec<String> = list.lines().filter_map(name).filter(|n| !n.is_empty()).collect();
    names.sort();
    names
}

fn wait_for_names(control: &mut Client, expected: &[&str]) {
    wait_for(|| {
        let names = names(control);
        if names == expected { Ok(()) } else { Err(format!("{names:?} instead of {expected:?}")) }
    });
}

fn evicted(control: &mut Client) -> String {
    let info = text(call(control, &["INFO", "stats"]));
    info.lines().find(|line| line.starts_with("evicted_clients:")).expect("a figure").to_owned()
}

#[test]
fn the_largest_go_until_the_rest_fits() {
    for server in servers(&[]) {
        let mut control = server.client();
        let _small = half_sent(&server, "small", MB / 2);
        let _large = half_sent(&server, "large", 4 * MB);
        let _middle = half_sent(&server, "middle", MB);
        wait_for_names(&mut control, &["large", "middle", "small"]);
        std::thread::sleep(Duration::from_millis(200));
        call(&mut control, &["CONFIG", "SET", "maxmemory-clients", "3mb"]);
        wait_for_names(&mut control, &["middle", "small"]);
        assert_eq!(evicted(&mut control), "evicted_clients:1");
        call(&mut control, &["CONFIG", "SET", "maxmemory", "100mb", "maxmemory-clients", "1%"]);
        wait_for_names(&mut control, &["small"]);
        call(&mut control, &["CONFIG", "RESETSTAT"]);
        assert_eq!(evicted(&mut control), "evicted_clients:0");
    }
}

#[test]
fn who_asked_not_to_be_evicted_stays() {
    for server in servers(&["--maxmemory-clients", "2mb"]) {
        let mut control = server.client();
        call(&mut control, &["CLIENT", "NO-EVICT", "ON"]);
        let [mut goes, mut stays] = [(); 2].map(|()| server.client());
        call(&mut goes, &["CLIENT", "SETNAME", "goes"]);
        call(&mut stays, &["CLIENT", "SETNAME", "stays"]);
        call(&mut stays, &["CLIENT", "NO-EVICT", "ON"]);
        stays.send(format!("*2\r\n${}\r\n", 4 * MB).as_bytes()).expect("the server reads");
        stays.send(&vec![b'v'; 4 * MB]).expect("the server reads");
        wait_for_names(&mut control, &["stays"]);
    }
}

#[test]
fn a_transaction_subscriptions_and_unread_messages_count() {
    for server in servers(&["--maxmemory-clients", "1mb"]) {
        let mut control = server.client();
        call(&mut control, &["CLIENT", "NO-EVICT", "ON"]);
        let value = "v".repeat(MB / 4);
        let mut queues = server.client();
        call(&mut queues, &["CLIENT", "SETNAME", "queues"]);
        call(&mut queues, &["MULTI"]);
        for _ in 0..5 {
            // The last ones meet a closed connection.
            let _ = queues.call(["SET", "k", &value]);
        }
        wait_for_names(&mut control, &[]);
        let mut listens = server.client();
        call(&mut listens, &["CLIENT", "SETNAME", "listens"]);
        call(&mut listens, &["SUBSCRIBE", "news"]);
        let deadline = Instant::now() + PATIENCE;
        while !names(&mut control).is_empty() {
            assert!(Instant::now() < deadline, "who never reads is never evicted");
            call(&mut control, &["PUBLISH", "news", &value]);
        }
    }
}
