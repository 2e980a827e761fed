//! Rows and commands while clients are paused.

use crate::harness::{START_MS, TestEngine};
use crate::large_ends_model::{SCHEMA, members};
use keyward_engine::ClientId;

#[test]
fn a_pause_keeps_due_rows_until_it_ends() {
    let mut test = TestEngine::new(1);
    let (a, b) = (test.engine.connect(), test.engine.connect());
    test.call(a, "SET k v PX 10");
    test.call(a, "CLIENT PAUSE 1000 WRITE");
    test.set_time(test.now_ms + 100);
    test.tick();
    assert_eq!(test.call(a, "GET k"), "$-1\r\n");
    assert_eq!(test.call(a, "RANDOMKEY"), "$1\r\nk\r\n");
    assert_eq!(test.call(b, "SET k w"), "", "held back");
    assert_eq!(test.engine.facts().keys.expired, 0);
    test.set_time(test.now_ms + 1000);
    test.tick();
    assert_eq!(test.engine.facts().keys.expired, 1);
    assert_eq!(test.resume(b), "+OK\r\n");
    assert_eq!(test.call(a, "GET k"), "$1\r\nw\r\n");
}

/// Lets the pause end and all that waits be done; the reply that a client was kept waiting for.
fn unpaused(test: &mut TestEngine, admin: ClientId, client: ClientId) -> String {
    assert_eq!(test.call(admin, "CLIENT UNPAUSE"), "+OK\r\n");
    let reply = test.resume(client);
    match reply.is_empty() {
        false => reply,
        true => {
            while test.engine.has_pending_ends() {
                test.tick();
            }
            test.resume(client)
        }
    }
}

#[test]
fn a_read_that_would_finish_a_large_end_waits_while_writes_are_paused() {
    for (read, expected) in [
        ("EXISTS user:1000:following", ":0\r\n"),
        ("SMEMBERS user:2000:following", "*1\r\n$1\r\n7\r\n"),
        ("RANDOMKEY", ""),
        ("EVAL_RO return(1) 0", ":1\r\n"),
    ] {
        let mut test = TestEngine::governed(1, SCHEMA);
        let (admin, client) = (test.engine.connect(), test.engine.connect());
        test.call(client, &format!("SADD user:1:followers {}", members(1000, 3000)));
        test.call(client, "SADD user:2000:following 7");
        test.call(client, "DEL user:1:followers");
        test.call(admin, "CLIENT PAUSE 100000 WRITE");
        test.effects();
        // What has nothing to do with it is read.
        assert_eq!(test.call(admin, "SCARD user:7:followers"), ":1\r\n");
        assert_eq!(test.call(client, read), "", "{read} waits");
        for _ in 0..10 {
            test.tick();
        }
        assert!(test.engine.has_pending_ends());
        assert_eq!(test.effect_lines(), Vec::<String>::new(), "nothing is written");
        let reply = unpaused(&mut test, admin, client);
        assert!(reply == expected || expected.is_empty() && !reply.is_empty(), "{read}: {reply}");
    }
}

#[test]
fn a_transaction_that_would_finish_a_large_end_waits_while_writes_are_paused() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let (admin, client) = (test.engine.connect(), test.engine.connect());
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 3000)));
    test.call(client, "DEL user:1:followers");
    test.call(admin, "CLIENT PAUSE 100000 WRITE");
    test.effects();
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXISTS user:1000:following"), "+QUEUED\r\n");
    assert_eq!(test.call(client, "EXEC"), "", "it waits");
    assert_eq!(test.effect_lines(), Vec::<String>::new());
    assert_eq!(unpaused(&mut test, admin, client), "*1\r\n:0\r\n");
}

#[test]
fn a_read_of_what_due_rows_leave_behind_waits_while_writes_are_paused() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let (admin, client) = (test.engine.connect(), test.engine.connect());
    test.call(client, "SET cart:a x EX 5");
    test.call(client, "SET line:a:1 x");
    assert_eq!(test.call(client, "SCARD lines:a"), ":1\r\n");
    test.call(admin, "CLIENT PAUSE 100000 WRITE");
    test.effects();
    test.set_time(START_MS + 6_000);
    assert_eq!(test.call(admin, "GET cart:a"), "$-1\r\n");
    assert_eq!(test.call(client, "SCARD lines:a"), "", "it waits");
    assert_eq!(test.effect_lines(), Vec::<String>::new());
    assert_eq!(unpaused(&mut test, admin, client), ":0\r\n");
}
