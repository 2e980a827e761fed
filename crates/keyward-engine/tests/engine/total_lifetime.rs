//! A lifetime that use renews, up to a total from a birth that cannot be changed:
//! `{ after = "30m", renew = "access", max = "24h", from = "created_at" }`.

use crate::harness::{START_MS, TestEngine};
use keyward_store::keyspace::client_id::ClientId;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

const SCHEMA: &str = r#"
[keyspace]
name = "totals"

[key."session:{id}"]
type   = "hash"
ttl    = { after = "30m", renew = "access", max = "24h", from = "created_at" }
fields = { created_at = "timestamp_ms", note = "string?" }

[key."ticket:{id}"]
type   = "json"
ttl    = { after = "30m", renew = "write", max = "24h", from = "born" }
fields = { born = "timestamp_ms", note = "string?" }
"#;

struct Sessions {
    test: TestEngine,
    client: ClientId,
}

impl Sessions {
    fn new() -> Sessions {
        let mut test = TestEngine::governed(1, SCHEMA);
        let client = test.engine.connect();
        Sessions { test, client }
    }

    fn call(&mut self, command: &str) -> String {
        self.test.call(self.client, command).trim_end().to_owned()
    }

    fn at(&mut self, ms: i64) -> &mut Sessions {
        self.test.set_time(START_MS + ms);
        self
    }

    /// How long a key has, in minutes.
    fn left(&mut self, key: &str) -> i64 {
        let ms = self.call(&format!("PTTL {key}"));
        let ms: i64 = ms[1..].parse().expect("PTTL returns a number");
        if ms < 0 { ms } else { ms / MINUTE }
    }
}

#[test]
fn use_renews_up_to_the_total() {
    let mut sessions = Sessions::new();
    sessions.call(&format!("HSET session:1 created_at {START_MS}"));
    assert_eq!(sessions.left("session:1"), 30);
    for minutes in (20..=23 * 60 + 40).step_by(20) {
        assert_eq!(sessions.at(minutes * MINUTE).call("HGET session:1 note"), "$-1");
        assert_eq!(sessions.left("session:1"), (24 * 60 - minutes).min(30), "{minutes}");
    }
    let last = 24 * HOUR;
    assert_eq!(sessions.at(last - 1).call("HSET session:1 note late"), ":1");
    assert_eq!(sessions.at(last + 1).call("EXISTS session:1"), ":0");
}

#[test]
fn a_writer_may_ask_for_the_whole_at_once_and_use_does_not_shorten_it() {
    let mut sessions = Sessions::new();
    sessions.call(&format!("HSET session:1 created_at {START_MS}"));
    // A little later than it was born: the total is counted from its birth.
    assert_eq!(sessions.at(300).call("EXPIRE session:1 86400"), ":1");
    assert_eq!(sessions.call("PTTL session:1"), format!(":{}", 24 * HOUR - 300));
    sessions.at(HOUR).call("HGET session:1 note");
    sessions.call("HSET session:1 note x");
    assert_eq!(sessions.left("session:1"), 23 * 60);
    assert_eq!(
        sessions.call("EXPIRE session:1 86401"),
        "-SCHEMA session:1: may live at most 1 day, not 1 day 1 second (test/keyward.toml:7)"
    );
    assert_eq!(sessions.call("EXPIRE session:1 60"), ":1");
    assert_eq!(sessions.left("session:1"), 1);
    assert_eq!(
        sessions.call("PERSIST session:1"),
        "-SCHEMA session:1: must have a lifetime, which PERSIST would take away (test/keyward.toml:7)"
    );
}

#[test]
fn a_birth_cannot_be_changed() {
    let mut sessions = Sessions::new();
    let refusal = |key: &str, field: &str, line: u32| {
        format!(
            "-SCHEMA {key}: lives 1 day in all from {field}, which cannot be changed; delete \
             the key and write it anew (test/keyward.toml:{line})"
        )
    };
    let later = START_MS + 20 * MINUTE;
    sessions.call(&format!("HSET session:1 created_at {START_MS}"));
    sessions.call(&format!("HSET session:2 created_at {later}"));
    assert_eq!(sessions.call(&format!("HSET session:1 created_at {START_MS}")), ":0");
    for command in [
        format!("HSET session:1 note x created_at {later}"),
        "HINCRBY session:1 created_at 1".to_owned(),
        "RENAME session:2 session:1".to_owned(),
        "COPY session:2 session:1 REPLACE".to_owned(),
    ] {
        assert_eq!(sessions.call(&command), refusal("session:1", "created_at", 7), "{command}");
    }
    assert_eq!(
        sessions.call("HGETALL session:1"),
        format!("*2\r\n$10\r\ncreated_at\r\n$13\r\n{START_MS}")
    );
    assert_eq!(sessions.call(&format!("SET ticket:1 {{\"born\":{START_MS}}}")), "+OK");
    for end in ["", " KEEPTTL", " EX 60"] {
        let command = format!("SET ticket:1 {{\"born\":{later}}}{end}");
        assert_eq!(sessions.call(&command), refusal("ticket:1", "born", 12), "{command}");
    }
    sessions.at(10 * MINUTE).call(&format!("SET ticket:1 {{\"born\":{START_MS},\"note\":\"x\"}}"));
    assert_eq!(sessions.left("ticket:1"), 30);
    // A key that is written anew is born anew.
    sessions.call("DEL session:1");
    assert_eq!(sessions.call(&format!("HSET session:1 created_at {later}")), ":1");
}

#[test]
fn a_row_whose_total_is_over_ends_at_once() {
    let mut sessions = Sessions::new();
    let long_ago = START_MS - 25 * HOUR;
    assert_eq!(sessions.call(&format!("HSET session:1 created_at {long_ago}")), ":1");
    assert_eq!(sessions.call("EXISTS session:1"), ":0");
}

#[test]
fn a_birth_cannot_be_changed_by_several_commands_of_a_unit() {
    let mut sessions = Sessions::new();
    let later = START_MS + 20 * MINUTE;
    sessions.call(&format!("HSET session:1 created_at {START_MS} note x"));
    sessions.call("MULTI");
    sessions.call("HDEL session:1 created_at");
    sessions.call(&format!("HSET session:1 created_at {later}"));
    let reply = sessions.call("EXEC");
    assert!(reply.contains("which cannot be changed"), "{reply}");
    assert_eq!(sessions.call("HGET session:1 created_at"), format!("$13\r\n{START_MS}"));
    // One that ends in the unit is born anew.
    sessions.call("MULTI");
    sessions.call("DEL session:1");
    sessions.call(&format!("HSET session:1 created_at {later}"));
    assert!(sessions.call("EXEC").ends_with(":1"));
}

#[test]
fn a_birth_is_not_still_to_come() {
    let mut sessions = Sessions::new();
    let refusal = |key: &str, field: &str, line: u32| {
        format!(
            "-SCHEMA {key}: lives 1 day in all from {field}, which is still to come \
             (test/keyward.toml:{line})"
        )
    };
    let later = START_MS + 30 * MINUTE + 1;
    let reply = sessions.call(&format!("HSET session:1 created_at {later}"));
    assert_eq!(reply, refusal("session:1", "created_at", 7));
    let reply = sessions.call(&format!("SET ticket:1 {{\"born\":{later}}}"));
    assert_eq!(reply, refusal("ticket:1", "born", 12));
    assert_eq!(sessions.call("EXISTS session:1 ticket:1"), ":0");
    // Clocks differ.
    assert_eq!(sessions.call(&format!("HSET session:1 created_at {}", later - 1)), ":1");
    assert_eq!(sessions.left("session:1"), 30);
}
