//! Following another server: wherever its stream is cut, what is lacking can be asked for, and
//! nothing is carried out twice.

use keyward_engine::{
    ClientId, Coverage, Delivery, DueRows, Loaded, Progress, Replay, Replicating, SnapshotOptions,
    Tunables,
};
use keyward_resp::{Batch, RequestLimits, RequestParser};
use keyward_testkit::Random;
use keyward_testkit::engine::{TestEngine, request};

const ID: &[u8] = b"0123456789abcdef0123456789abcdef01234567";

/// A replica that has everything up to the beginning of the stream.
fn replica() -> TestEngine {
    let mut test = TestEngine::new(7);
    test.engine.follow_from_start(&mut test.host, b"primary", 6379);
    test.engine.begin_copy(&mut test.host);
    let copied = test.engine.end_copy(&mut test.host, (ID, 0), 0, Loaded::default());
    copied.expect("it is an id");
    test
}

/// Hands bytes of the stream over as a connection does; gives what is not a whole command yet.
fn feed(test: &mut TestEngine, primary: ClientId, bytes: &[u8], step: usize) -> Vec<u8> {
    let (mut parser, mut buffer, mut out) = (RequestParser::new(), Vec::new(), Vec::new());
    for part in bytes.chunks(step) {
        buffer.extend_from_slice(part);
        let mut batch = Batch::new();
        let start = parser.complete_bytes();
        parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).expect("requests");
        let whole = start..parser.complete_bytes();
        let progress =
            test.engine.follow(&mut test.host, primary, (&buffer, whole), &batch, &mut out);
        assert_eq!(progress, Progress::Done);
        drop(batch);
        parser.consume(&mut buffer);
    }
    buffer
}

fn stream() -> Vec<u8> {
    let commands = [
        "SELECT 0",
        "SET a 1",
        "INCR n",
        "PING",
        "MULTI",
        "INCR n",
        "SELECT 3",
        "RPUSH list x y",
        "EXEC",
        "RPUSH list z",
        "REPLCONF GETACK *",
        "SET due 1 PXAT 1",
        "APPEND due 2",
        "MULTI",
        "INCR n",
        "EXEC",
        "SELECT 0",
        "INCR n",
    ];
    commands.iter().flat_map(|command| request(command)).collect()
}

#[test]
fn a_stream_that_is_cut_anywhere_goes_on_at_the_end_of_a_unit() {
    let stream = stream();
    let mut whole = replica();
    let primary = whole.engine.connect_primary();
    assert!(feed(&mut whole, primary, &stream, stream.len()).is_empty());
    let (expected, all) = (whole.state(), stream.len() as i64 + 1);
    assert_eq!(whole.engine.resumption().next, all);
    assert!(expected.contains("list"), "{expected}");
    for cut in 0..=stream.len() {
        let mut test = replica();
        let primary = test.engine.connect_primary();
        feed(&mut test, primary, &stream[..cut], 1 + cut % 7);
        test.engine.disconnect(primary);
        let resumption = test.engine.resumption();
        assert_eq!(resumption.id.as_bytes(), ID);
        let next = usize::try_from(resumption.next).expect("it goes on");
        assert!(next <= cut + 1, "{next} is beyond {cut}");
        let primary = test.engine.connect_primary();
        feed(&mut test, primary, &stream[next - 1..], 5);
        assert_eq!(test.state(), expected, "cut at {cut}");
        assert_eq!(test.engine.resumption().next, all, "cut at {cut}");
    }
}

#[test]
fn what_is_due_stays_until_the_primary_removes_it() {
    let mut test = replica();
    let (primary, reader) = (test.engine.connect_primary(), test.engine.connect());
    feed(&mut test, primary, &request("SET a 1 PX 100"), 3);
    assert_eq!(test.call(reader, "PTTL a"), ":100\r\n");
    test.pass(1000);
    test.tick();
    assert_eq!(test.call(reader, "GET a"), "$-1\r\n");
    assert_eq!(test.call(reader, "DBSIZE"), ":1\r\n");
    // To the primary it is there.
    feed(&mut test, primary, &request("PERSIST a"), 100);
    assert_eq!(test.call(reader, "GET a"), "$1\r\n1\r\n");
    feed(&mut test, primary, &request("PEXPIREAT a 5"), 100);
    assert_eq!(test.call(reader, "DBSIZE"), ":1\r\n");
    assert_eq!(test.call(reader, "REPLICAOF NO ONE"), "+OK\r\n");
    test.tick();
    assert_eq!(test.call(reader, "DBSIZE"), ":0\r\n");
}

/// What becomes of one command of the stream.
fn follow(test: &mut TestEngine, primary: ClientId, command: &str) -> Progress {
    let (mut buffer, mut batch, mut out) = (request(command), Batch::new(), Vec::new());
    let mut parser = RequestParser::new();
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).expect("a request");
    let whole = 0..buffer.len();
    test.engine.follow(&mut test.host, primary, (&buffer, whole), &batch, &mut out)
}

#[test]
fn what_would_change_the_server_itself_is_not_carried_out_for_a_primary() {
    for command in [
        "REPLICAOF NO ONE",
        "REPLICAOF other 6379",
        "CONFIG SET maxmemory 1",
        "SHUTDOWN NOSAVE",
        "ACL SETUSER eve on nopass +@all ~*",
        "DEBUG SLEEP 0",
        "MONITOR",
        "SUBSCRIBE news",
        "MIGRATE other 6379 a 0 100",
        "RESET",
        "QUIT",
    ] {
        let mut test = replica();
        let (primary, reader) = (test.engine.connect_primary(), test.engine.connect());
        assert_eq!(follow(&mut test, primary, "SET a 1"), Progress::Done);
        assert_eq!(follow(&mut test, primary, command), Progress::Closing, "{command}");
        assert_eq!(test.call(reader, "GET a"), "$1\r\n1\r\n", "{command}");
        assert!(test.call(reader, "ROLE").contains("slave"), "{command}");
        assert!(!test.call(reader, "ACL LIST").contains("eve"), "{command}");
    }
}

#[test]
fn rows_for_a_database_that_is_not_there_go_to_no_other() {
    let mut test = replica();
    let (primary, reader) = (test.engine.connect_primary(), test.engine.connect());
    assert_eq!(follow(&mut test, primary, "SELECT 99"), Progress::Closing);
    assert_eq!(test.call(reader, "DBSIZE"), ":0\r\n");
}

#[test]
fn who_failed_to_do_as_its_primary_does_not_go_on_with_its_history() {
    for (command, is_kept) in [("INCR a", true), ("LPUSH a 1", false)] {
        let mut test = replica();
        let (primary, reader) = (test.engine.connect_primary(), test.engine.connect());
        assert_eq!(follow(&mut test, primary, "SET a 1"), Progress::Done);
        assert_eq!(follow(&mut test, primary, command), Progress::Done);
        // It is remembered when the link comes back.
        test.engine.disconnect(primary);
        test.engine.connect_primary();
        assert_eq!(test.call(reader, "REPLICAOF NO ONE"), "+OK\r\n");
        let info = test.call(reader, "INFO replication");
        let past = format!("master_replid2:{}", String::from_utf8_lossy(ID));
        assert_eq!(info.contains(&past), is_kept, "{command}: {info}");
    }
}

#[test]
fn debug_change_repl_id_makes_another_history_of_it() {
    let mut test = replica();
    let (primary, reader) = (test.engine.connect_primary(), test.engine.connect());
    assert_eq!(follow(&mut test, primary, "SET a 1"), Progress::Done);
    assert_eq!(test.call(reader, "REPLICAOF NO ONE"), "+OK\r\n");
    let ids = |info: String| {
        let line = |name| info.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        ["master_replid:", "master_replid2:", "master_repl_offset:"].map(line)
    };
    let [before, past, offset] = ids(test.call(reader, "INFO replication"));
    assert_eq!(past.as_deref(), Some(&*String::from_utf8_lossy(ID)));
    assert_eq!(test.call(reader, "DEBUG CHANGE-REPL-ID"), "+OK\r\n");
    let [after, past, offset_after] = ids(test.call(reader, "INFO replication"));
    assert!(after.is_some() && after != before, "{after:?}");
    assert_eq!((past, offset_after), (Some("0".repeat(40)), offset));
}

#[test]
fn a_step_of_loading_ends_when_it_has_read_much_or_taken_long() {
    let mut full = TestEngine::new(3);
    let client = full.engine.connect();
    for number in 0..1000 {
        full.call(client, &format!("SET k{number} {}", "x".repeat(2000)));
    }
    let options = SnapshotOptions { coverage: Coverage::Everything, sums: true, used_bytes: 0 };
    let file = full.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    // So many steps, of at most so many rows.
    let steps = |step_ns: u64, rows_max: u64| {
        let mut test = TestEngine::new(4);
        test.host.step_ns = step_ns;
        let opened =
            test.engine.open_snapshot(file.as_slice(), Coverage::Everything, DueRows::Kept);
        let mut loader = opened.expect("a snapshot");
        let (mut steps, mut before) = (0, 0);
        while test.engine.load_rows(&mut test.host, &mut loader, usize::MAX).expect("it is sound") {
            let rows = loader.loaded.rows - before;
            assert!(rows <= rows_max, "{rows} in a step");
            (steps, before) = (steps + 1, loader.loaded.rows);
        }
        assert_eq!(loader.loaded.rows, 1000);
        steps
    };
    // A snapshot compresses such texts: the rows are small there, and time bounds the step.
    assert!(steps(1_000_000, 64) >= 15);
    assert!(steps(0, 5000) <= 3);
}

#[test]
fn a_step_of_loading_takes_no_more_than_a_few_large_rows() {
    let mut full = TestEngine::new(3);
    let client = full.engine.connect();
    let mut random = Random::new(5);
    for number in 0..200 {
        // What cannot be compressed.
        let text: String = (0..2500).map(|_| format!("{:08x}", random.below(1 << 32))).collect();
        full.call(client, &format!("SET k{number} {text}"));
    }
    let options = SnapshotOptions { coverage: Coverage::Everything, sums: true, used_bytes: 0 };
    let file = full.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let mut test = TestEngine::new(4);
    let opened = test.engine.open_snapshot(file.as_slice(), Coverage::Everything, DueRows::Kept);
    let (mut loader, mut before) = (opened.expect("a snapshot"), 0);
    while test.engine.load_rows(&mut test.host, &mut loader, 1000).expect("it is sound") {
        let bytes = loader.offset() - before;
        assert!(bytes <= 64 * 1024 + 25_000, "{bytes} bytes in a step");
        before = loader.offset();
    }
    assert_eq!(loader.loaded.rows, 200);
}

#[test]
fn a_primary_is_heard_of_by_every_byte_and_not_by_commands_that_waited() {
    let mut test = replica();
    let primary = test.engine.connect_primary();
    let closes = |test: &mut TestEngine| {
        test.tick();
        test.deliveries()
            .iter()
            .any(|it| matches!(it, Delivery::Close(client) if *client == primary))
    };
    for _ in 0..10 {
        test.pass(40_000);
        test.engine.hear_primary(primary);
        assert!(!closes(&mut test));
    }
    test.pass(62_000);
    assert!(closes(&mut test), "{:?}", test.host.logged);
}

#[test]
fn rows_that_came_by_a_snapshot_stay_until_the_primary_removes_them() {
    let mut full = TestEngine::new(3);
    let client = full.engine.connect();
    full.call(client, "SET a 1 PX 100");
    let options = SnapshotOptions { coverage: Coverage::Everything, sums: true, used_bytes: 0 };
    let file = full.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let mut test = replica();
    test.engine.begin_copy(&mut test.host);
    let opened = test.engine.open_snapshot(file.as_slice(), Coverage::Everything, DueRows::Kept);
    let mut loader = opened.expect("a snapshot");
    while test.engine.load_rows(&mut test.host, &mut loader, 10).expect("it is sound") {}
    let copied = test.engine.end_copy(&mut test.host, (ID, 0), 0, loader.loaded);
    copied.expect("it is an id");
    let reader = test.engine.connect();
    test.pass(1000);
    test.tick();
    assert_eq!(test.call(reader, "DBSIZE"), ":1\r\n");
    assert_eq!(test.call(reader, "EXISTS a"), ":0\r\n");
}

#[test]
fn rows_of_clients_of_a_writable_replica_go_when_they_are_due() {
    let mut test = replica();
    let writable = Tunables::default();
    let replicating = Replicating { is_read_only: false, ..writable.replicating };
    test.engine.set_tunables(Tunables { replicating, ..writable });
    let (primary, client) = (test.engine.connect_primary(), test.engine.connect());
    feed(&mut test, primary, &request("SET theirs 1 PX 100"), 100);
    for command in ["SET own 1 PX 100", "SET moved 1 PX 100", "SET moved 2 PX 5000"] {
        assert_eq!(test.call(client, command), "+OK\r\n");
    }
    test.pass(1000);
    test.tick();
    // One of them is the primary's to remove.
    assert_eq!(test.call(client, "DBSIZE"), ":2\r\n");
    assert_eq!(test.call(client, "EXISTS moved"), ":1\r\n");
    test.pass(5000);
    test.tick();
    assert_eq!(test.call(client, "DBSIZE"), ":1\r\n");
    // Who gives a deadline up keeps its row, and what is the primary's by then stays.
    for command in ["SET kept 1 PX 100", "PERSIST kept", "SET over 1 PX 100"] {
        test.call(client, command);
    }
    feed(&mut test, primary, &request("SET over 2"), 100);
    test.pass(1000);
    test.tick();
    assert_eq!(test.call(client, "EXISTS kept over"), ":2\r\n");
}

#[test]
fn wait_counts_nobody_who_was_sent_a_snapshot_and_has_said_nothing_since() {
    let mut test = TestEngine::new(7);
    let (client, follower) = (test.engine.connect(), test.engine.connect());
    // Nothing is streamed yet: the place of this write is the beginning.
    test.call(client, "SET a 1");
    test.call(follower, "REPLCONF capa eof capa psync2");
    test.call(follower, "PSYNC ? -1");
    let sync = test.engine.next_full_sync().expect("it waits");
    test.engine.begin_full_sync(&sync, true, 0);
    while !test.engine.step_snapshot(&mut |_| {}) {}
    test.engine.end_full_sync(&mut test.host, follower);
    assert_eq!(test.call(client, "WAIT 0 0"), ":0\r\n");
    assert_eq!(test.call(follower, "REPLCONF ACK 1000"), "");
    assert_eq!(test.call(client, "WAIT 1 0"), ":1\r\n");
}

#[test]
fn waiting_amid_a_unit_leaves_it_whole_in_the_log() {
    let log_of = |commands: &[&str]| {
        let mut test = TestEngine::new(7);
        test.engine.log_changes(true);
        let client = test.engine.connect();
        let mut log = Vec::new();
        for command in commands {
            let reply = test.call(client, command);
            assert!(!reply.starts_with('-'), "{command}: {reply}");
            test.engine.take_log(&mut log);
        }
        log.escape_ascii().to_string()
    };
    let plain = log_of(&["MULTI", "SET a 1", "SET b 2", "EXEC"]);
    for wait in ["WAIT 0 0", "WAIT 1 0", "WAITAOF 0 0 0", "WAITAOF 0 2 0"] {
        assert_eq!(log_of(&["MULTI", "SET a 1", wait, "SET b 2", "EXEC"]), plain, "{wait}");
    }
    let script = |calls: &str| {
        let mut test = TestEngine::new(7);
        test.engine.log_changes(true);
        let client = test.engine.connect();
        let (_, reply) = test.ask(client, &["EVAL", calls, "2", "a", "b"]);
        let mut log = Vec::new();
        test.engine.take_log(&mut log);
        (reply.escape_ascii().to_string(), log.escape_ascii().to_string())
    };
    let (reply, log) = script(
        "redis.call('SET', KEYS[1], '1')
        local told = redis.call('WAITAOF', '0', '2', '0')
        redis.call('SET', KEYS[2], '2')
        return told",
    );
    assert_eq!((reply.as_str(), log), ("*2\\r\\n:0\\r\\n:0\\r\\n", plain));
}

/// Commands that clients wait in, and what comes when none of the keys is there.
const WAITED_IN: [&str; 7] = [
    "BLPOP none 0.01",
    "BLMPOP 0 1 none LEFT",
    "BLMOVE none other LEFT RIGHT 0.01",
    "BZPOPMIN none 0",
    "BZMPOP 0.01 1 none MIN",
    "XREADGROUP GROUP g c BLOCK 5 STREAMS events >",
    "BRPOPLPUSH none other 0",
];

#[test]
fn no_command_of_a_stream_waits() {
    let mut test = replica();
    let (primary, reader) = (test.engine.connect_primary(), test.engine.connect());
    feed(&mut test, primary, &request("XGROUP CREATE events g $ MKSTREAM"), 100);
    for command in WAITED_IN.into_iter().chain(WAITED_IN) {
        assert_eq!(follow(&mut test, primary, command), Progress::Done, "{command}");
    }
    feed(&mut test, primary, &request("RPUSH none a b"), 100);
    assert_eq!(follow(&mut test, primary, "BLPOP none 0"), Progress::Done);
    assert_eq!(test.call(reader, "LRANGE none 0 -1"), "*1\r\n$1\r\nb\r\n");
    test.engine.disconnect(primary);
    test.pass(1000);
    test.tick();
    assert_eq!(test.engine.next_deadline(), None);
}

#[test]
fn no_command_of_an_append_only_file_waits() {
    let mut test = TestEngine::new(7);
    let mut buffer = request("XGROUP CREATE events g $ MKSTREAM");
    let others = ["WAIT 1 10", "WAITAOF 0 1 10", "MIGRATE other 6379 events 0 100"];
    for command in WAITED_IN.into_iter().chain(others) {
        buffer.extend(request(command));
    }
    let (mut parser, mut batch, mut replay) = (RequestParser::new(), Batch::new(), Replay::new());
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).expect("requests");
    test.engine.begin_loading();
    let loaded = test.engine.load_commands(&mut test.host, &mut replay, &buffer, &batch);
    loaded.expect("it is carried out");
    let mut settling = test.engine.begin_settling(false);
    while test.engine.settle_rows(&mut test.host, &mut settling, 100).expect("nothing is asked") {}
    test.engine.end_loading(&mut test.host, Loaded::default());
    let client = test.engine.connect();
    test.pass(1000);
    test.tick();
    assert_eq!(test.call(client, "EXISTS events"), ":1\r\n");
}
