//! What is remembered for clients that track keys, and for how long.

use crate::harness::TestEngine;

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
