//! What these tests share: the harness of `keyward-testkit`, and a check of effects and
//! events.

use keyward_engine::{NotifyFlags, Tunables};
pub(crate) use keyward_testkit::engine::{START_MS, TestEngine, number_after, request};

/// Runs commands and compares what the last one is logged as and which events
/// it is known by.
pub(crate) fn check_last(commands: &[&str], effects: &[&str], events: &[&str]) {
    let mut test = TestEngine::new(1);
    let notify = NotifyFlags::parse(b"KEA").expect("these letters exist");
    test.engine.set_tunables(Tunables { notify, ..Tunables::default() });
    let (client, listener) = (test.engine.connect(), test.engine.connect());
    test.call(listener, "PSUBSCRIBE __keyspace@*");
    for (at, command) in commands.iter().enumerate() {
        if at + 1 == commands.len() {
            test.effects();
            test.deliveries();
        }
        let reply = test.call(client, command);
        assert!(!reply.starts_with("-ERR unknown"), "{command}: {reply}");
    }
    assert_eq!(test.effect_lines(), effects, "{commands:?}");
    assert_eq!(test.events(listener), events, "{commands:?}");
}
