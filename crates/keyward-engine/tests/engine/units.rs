//! Units (MULTI/EXEC, scripts) under a schema: judged at their end, undone whole, and telling
//! nobody of what was undone.

use crate::harness::TestEngine;
use keyward_engine::{ClientId, NotifyFlags, Tunables};
use keyward_resp::push_request;

const OPEN: &str = "[keyspace]\nname = \"open\"\nunknown = \"allow\"\n\
    [key.\"declared:{id}\"]\ntype = \"string\"\n";

/// Runs a script without keys.
fn eval(test: &mut TestEngine, client: ClientId, script: &str) -> String {
    let mut bytes = Vec::new();
    push_request(&mut bytes, ["EVAL", script, "0"].iter());
    let (_, reply) = test.send(client, &bytes);
    String::from_utf8(reply).expect("tests use text")
}

#[test]
fn a_due_row_that_an_undone_script_came_upon_stays_ended_in_the_log_and_for_who_listens() {
    let mut test = TestEngine::governed(1, OPEN);
    let notify = NotifyFlags::parse(b"KEA").expect("these letters exist");
    test.engine.set_tunables(Tunables { notify, ..Tunables::default() });
    let (client, listener) = (test.engine.connect(), test.engine.connect());
    test.call(listener, "PSUBSCRIBE __keyspace@*");
    test.call(client, "SET k v PX 100");
    test.effects();
    test.deliveries();
    test.set_time(test.now_ms + 1_000);
    let script = "redis.call('SET','declared:1','x') redis.call('GET','k') \
                  redis.call('SET','k','again') return redis.error_reply('NO more')";
    assert_eq!(eval(&mut test, client, script), "-NO more\r\n");
    assert_eq!(test.call(client, "EXISTS k declared:1"), ":0\r\n");
    assert_eq!(test.effect_lines(), ["0: DEL k"]);
    assert_eq!(test.events(listener), ["expired k"]);
}

#[test]
fn an_undone_flush_breaks_no_watch_and_one_that_stands_does() {
    let mut test = TestEngine::governed(1, OPEN);
    let (client, other) = (test.engine.connect(), test.engine.connect());
    test.call(other, "SET k v");
    test.call(client, "WATCH k");
    eval(&mut test, other, "redis.call('SET','declared:1','x') redis.call('FLUSHDB') error('no')");
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*0\r\n");
    test.call(client, "WATCH k");
    eval(&mut test, other, "redis.call('FLUSHDB')");
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*-1\r\n");
}
