//! What is remembered for clients that track keys, and for how long.

use crate::harness::TestEngine;
use keyward_resp::push_request;

#[test]
fn nothing_is_remembered_when_nobody_tracks_any_more() {
    let mut test = TestEngine::new(1);
    let (a, b) = (test.engine.connect(), test.engine.connect());
    for client in [a, b] {
        test.call(client, "CLIENT TRACKING ON");
        test.call(client, "GET k");
    }
    assert_eq!(test.engine.facts().tracking.readers, 2);
    test.call(a, "CLIENT TRACKING OFF");
    assert_eq!(test.engine.facts().tracking.keys, 1);
    test.engine.disconnect(b);
    let facts = test.engine.facts().tracking;
    assert_eq!((facts.clients, facts.keys, facts.readers), (0, 0, 0));
}

#[test]
fn what_a_script_reads_under_a_schema_is_remembered() {
    let schema = "[keyspace]\nname = 'open'\n[key.'k:{id}']\ntype = 'string'\nttl = 'none'";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    test.call(client, "CLIENT TRACKING ON");
    let mut call = Vec::new();
    push_request(&mut call, ["EVAL", "return redis.call('GET', KEYS[1])", "1", "k:1"].iter());
    test.send(client, &call);
    assert_eq!(test.engine.facts().tracking.keys, 1);
}
