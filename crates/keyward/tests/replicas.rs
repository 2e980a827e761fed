//! SYNC: a snapshot, then every change as a command, on Keyward and on a real Redis.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

const SETTINGS: &[&str] = &["--repl-diskless-sync-delay", "0"];

fn servers() -> [Server; 2] {
    [Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), SETTINGS), Server::redis(SETTINGS)]
}

fn call(client: &mut Client, command: &str) -> Frame {
    let words = keyward_resp::split_words(command.as_bytes()).expect("quotes are closed");
    client.call(&words).unwrap_or_else(|error| panic!("{command}: {error}"))
}

/// A connection that has sent SYNC and read the snapshot.
struct Replica {
    stream: BufReader<TcpStream>,
    snapshot: Vec<u8>,
}

impl Replica {
    fn of(server: &Server) -> Replica {
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.write_all(b"SYNC\r\n").expect("the server reads");
        let mut replica = Replica { stream: BufReader::new(stream), snapshot: Vec::new() };
        // Redis sends empty lines while it prepares the snapshot.
        let head = loop {
            let line = replica.line();
            if !line.is_empty() {
                break line;
            }
        };
        let bytes = head.strip_prefix('$').expect("a bulk").parse().expect("its length");
        replica.snapshot = vec![0; bytes];
        replica.stream.read_exact(&mut replica.snapshot).expect("a snapshot");
        replica
    }

    fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).expect("a line");
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    /// The next command of the stream, its name in lower case.
    fn command(&mut self) -> String {
        let count: usize = self.line().trim_start_matches('*').parse().expect("a count");
        let mut words = Vec::new();
        for _ in 0..count {
            self.line();
            words.push(self.line());
        }
        words[0].make_ascii_lowercase();
        words.join(" ")
    }
}

#[test]
fn a_replica_gets_a_snapshot_and_then_every_change() {
    for server in servers() {
        let mut client = server.client();
        call(&mut client, "SET before snapshot");
        let mut replica = Replica::of(&server);
        assert!(replica.snapshot.starts_with(b"REDIS00"), "{:?}", &replica.snapshot[..9]);
        for command in [
            "SET a 1",
            "GET a",
            "SELECT 1",
            "RPUSH l x y",
            "BLPOP l 0",
            "EVAL \"redis.call('set','s',1) redis.call('incr','s')\" 0",
            "PUBLISH channel message",
            "MULTI",
            "SET b 2",
            "EXEC",
        ] {
            call(&mut client, command);
        }
        let expected = [
            "select 0",
            "set a 1",
            "select 1",
            "rpush l x y",
            "lpop l",
            "multi",
            "set s 1",
            "incr s",
            "exec",
            "publish channel message",
            "set b 2",
        ];
        for line in expected {
            assert_eq!(replica.command(), line);
        }
    }
}

#[test]
fn a_second_replica_gets_what_came_before_it_in_its_snapshot_only() {
    for server in servers() {
        let mut client = server.client();
        let mut first = Replica::of(&server);
        call(&mut client, "SET early 1");
        let mut second = Replica::of(&server);
        call(&mut client, "SET late 1");
        assert_eq!(["select 0", "set early 1"], [first.command(), first.command()]);
        // The stream is the same for both, so that it selects again.
        assert_eq!(["select 0", "set late 1"], [first.command(), first.command()]);
        assert_eq!(["select 0", "set late 1"], [second.command(), second.command()]);
        assert!(second.snapshot.windows(5).any(|window| window == b"early"));
    }
}

#[test]
fn a_replica_is_shown_as_one_and_cannot_write() {
    let server = Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), SETTINGS);
    let mut client = server.client();
    let mut replica = Replica::of(&server);
    let Frame::Bulk(list) = call(&mut client, "CLIENT LIST TYPE replica") else {
        panic!("no list")
    };
    assert!(String::from_utf8_lossy(&list).contains(" flags=S "));
    let Frame::Bulk(info) = call(&mut client, "INFO replication") else { panic!("no lines") };
    assert!(String::from_utf8_lossy(&info).contains("connected_slaves:1\r\n"));
    replica.stream.get_mut().write_all(b"SET a 1\r\n").expect("the server reads");
    // As in Redis, one that asks for a reply is not waited for any longer.
    assert_eq!(replica.line(), "");
    let is_gone = |client: &mut Client| {
        let Frame::Bulk(info) = call(client, "INFO replication") else { panic!("no lines") };
        String::from_utf8_lossy(&info).contains("connected_slaves:0\r\n")
    };
    wait_until(|| is_gone(&mut client));
}

/// A connection that has asked for a snapshot and nothing else, and the mark it ends with.
fn snapshot_only(server: &Server) -> (BufReader<TcpStream>, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.write_all(b"REPLCONF capa eof rdb-only 1\r\n").expect("the server reads");
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).expect("a line");
    assert_eq!(line, b"+OK\r\n");
    stream.get_mut().write_all(b"SYNC\r\n").expect("the server reads");
    while line.first() != Some(&b'$') {
        line.clear();
        stream.read_until(b'\n', &mut line).expect("a line");
    }
    let mark = line.trim_ascii_end().strip_prefix(b"$EOF:").expect("a mark").to_vec();
    assert_eq!(mark.len(), 40);
    (stream, mark)
}

fn read_to_mark((mut stream, mark): (BufReader<TcpStream>, Vec<u8>)) -> Vec<u8> {
    let mut snapshot = Vec::new();
    while !snapshot.ends_with(&mark) {
        let count = stream.fill_buf().expect("more").len();
        assert!(count > 0, "the connection ended after {} bytes", snapshot.len());
        snapshot.extend_from_slice(&stream.buffer()[..count]);
        stream.consume(count);
    }
    snapshot.truncate(snapshot.len() - mark.len());
    snapshot
}

#[test]
fn a_client_that_wants_a_snapshot_only_gets_one_of_one_instant() {
    for server in servers() {
        let mut client = server.client();
        let fill = "EVAL \"for i = 1, 20000 do redis.call('set', 'k' .. i, 'before') end\" 0";
        call(&mut client, fill);
        let snapshot = snapshot_only(&server);
        // All of them change while it is on its way.
        let change = "EVAL \"for i = 1, 20000 do redis.call('set', 'k' .. i, 'after!') end\" 0";
        call(&mut client, change);
        let snapshot = read_to_mark(snapshot);
        let count = |word: &[u8]| snapshot.windows(6).filter(|window| *window == word).count();
        assert_eq!((count(b"before"), count(b"after!")), (20_000, 0));
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("dump.rdb"), &snapshot).expect("a file");
        let again = Server::redis(&["--dir", directory.path().to_str().expect("UTF-8")]);
        assert_eq!(call(&mut again.client(), "DBSIZE"), Frame::Integer(20_000));
    }
}

#[test]
fn a_snapshot_whose_client_goes_does_not_hold_up_others() {
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let server = Server::keyward(program, &["--enable-debug-command", "yes"]);
    let mut client = server.client();
    call(&mut client, "DEBUG POPULATE 100000 key 200");
    for _ in 0..3 {
        // It waits for its client after some megabytes.
        drop(snapshot_only(&server));
    }
    let slow = snapshot_only(&server);
    call(&mut client, "BGSAVE");
    call(&mut client, "SET a 1");
    let snapshot = read_to_mark(slow);
    assert!(snapshot.len() > 20_000_000, "{} bytes", snapshot.len());
    let is_saved = |client: &mut Client| {
        let info = call(client, "INFO persistence");
        String::from_utf8_lossy(info.as_bytes().expect("a text"))
            .contains("rdb_bgsave_in_progress:0")
    };
    wait_until(|| is_saved(&mut client));
    assert!(server.directory().join("dump.rdb").exists());
}
