//! Large ends: what goes with a row goes in steps, and nobody sees any of it meanwhile.

use crate::harness::{START_MS, TestEngine};
use crate::large_ends_model::{SCHEMA, ask, loaded, members};
use keyward_engine::{ClientId, Delivery};
use keyward_resp::push_request;

fn governed() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    (test, client)
}

fn all_ticks(test: &mut TestEngine) -> usize {
    let mut ticks = 0;
    while test.engine.has_pending_ends() {
        test.tick();
        ticks += 1;
    }
    ticks
}

#[test]
fn a_mirrored_set_goes_in_steps_that_nobody_sees() {
    let (mut test, client) = governed();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 5000)));
    test.call(client, "SADD user:2000:following 7");
    test.effects();
    assert_eq!(test.call(client, "DEL user:1:followers"), ":1\r\n");
    assert_eq!(
        test.effect_lines(),
        ["0: EXISTS keyward:ends members 1 user:1:followers", "0: DEL user:1:followers"]
    );
    assert!(test.engine.has_pending_ends());
    // A key that would be empty is not there; one that has more has only that.
    assert_eq!(test.call(client, "EXISTS user:1000:following"), ":0\r\n");
    assert_eq!(test.call(client, "SMEMBERS user:2000:following"), "*1\r\n$1\r\n7\r\n");
    assert_eq!(test.call(client, "KEYS user:300?:following"), "*0\r\n");
    assert_eq!(
        test.call(client, "KEYS *"),
        "*2\r\n$19\r\nuser:2000:following\r\n$16\r\nuser:7:followers\r\n"
    );
    // It is made anew meanwhile.
    assert_eq!(test.call(client, "SADD user:1:followers 4000 9000"), ":2\r\n");
    let ticks = all_ticks(&mut test);
    assert!(ticks > 50, "{ticks} steps");
    assert_eq!(test.call(client, "SMEMBERS user:4000:following"), "*1\r\n$1\r\n1\r\n");
    assert_eq!(test.call(client, "SMEMBERS user:9000:following"), "*1\r\n$1\r\n1\r\n");
    assert_eq!(test.call(client, "DBSIZE"), ":5\r\n");
    let done = "0: EXISTS keyward:ends done 1";
    assert_eq!(test.effect_lines().iter().filter(|line| *line == done).count(), 1);
}

#[test]
fn companions_go_in_steps_and_come_back_as_a_new_generation() {
    let (mut test, client) = governed();
    test.call(client, "SET session:a x");
    for n in 0..1000 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    assert_eq!(test.call(client, "DEL session:a"), ":1\r\n");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "GET item:a:5"), "$-1\r\n");
    assert_eq!(test.call(client, "KEYS *"), "*0\r\n");
    assert_eq!(test.call(client, "SET session:a y EX 100"), "+OK\r\n");
    assert_eq!(test.call(client, "GET item:a:6"), "$-1\r\n");
    assert_eq!(test.call(client, "SET item:a:7 new"), "+OK\r\n");
    assert_eq!(test.call(client, "TTL item:a:7"), ":100\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":2\r\n");
    assert_eq!(test.call(client, "GET item:a:7"), "$3\r\nnew\r\n");
}

#[test]
fn companions_have_the_deadline_of_their_leader_before_it_is_written_to_them() {
    let (mut test, client) = governed();
    test.call(client, "SET session:a x EX 10");
    for n in 0..1000 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    assert_eq!(test.call(client, "EXPIRE session:a 1000"), ":1\r\n");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "TTL item:a:5"), ":1000\r\n");
    // The deadline that is still written to most is over.
    test.set_time(START_MS + 20_000);
    let keys = test.call(client, "KEYS item:*");
    assert!(keys.starts_with("*1000\r\n"), "{}", &keys[..20]);
    assert_eq!(test.call(client, "GET item:a:6"), "$1\r\nx\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":1001\r\n");
    assert_eq!(test.call(client, "TTL item:a:999"), ":980\r\n");
}

/// The leader's time is over before anybody has written its deadline to what lives with it, and
/// before anybody has removed it.
#[test]
fn companions_are_gone_with_a_leader_whose_end_came_before_theirs_was_written() {
    let (mut test, client) = governed();
    test.call(client, "SET session:a x EX 1000");
    for n in 0..1000 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    assert_eq!(test.call(client, "PEXPIRE session:a 2"), ":1\r\n");
    assert!(test.engine.has_pending_ends());
    test.set_time(START_MS + 10);
    assert_eq!(test.call(client, "EXISTS item:a:5"), ":0\r\n");
    assert_eq!(test.call(client, "GET item:a:6"), "$-1\r\n");
    assert_eq!(test.call(client, "PTTL item:a:7"), ":-2\r\n");
    test.call(client, "MULTI");
    test.call(client, "GET item:a:8");
    assert_eq!(test.call(client, "EXEC"), "*1\r\n$-1\r\n");
    assert_eq!(test.call(client, "KEYS *"), "*0\r\n");
    let refused = test.call(client, "SET item:a:9 new");
    assert!(refused.contains("lives with session:a, which does not exist"), "{refused}");
    // A snapshot waits until nothing is pending, and there is nothing for it then.
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn who_needs_more_than_one_key_of_a_large_end_waits_while_others_go_on() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, "SET team:1 x");
    for n in 0..1000 {
        test.call(client, &format!("SET badge:{n} code{n}"));
        test.call(client, &format!("ZADD recent {n} {n}"));
    }
    assert_eq!(test.call(client, "ZCARD recent"), ":1000\r\n");
    assert_eq!(test.call(client, "DEL team:1"), ":1\r\n");
    assert_eq!(test.call(client, "ZCARD recent"), "", "it waits");
    assert_eq!(test.call(other, "PING"), "+PONG\r\n");
    assert_eq!(test.call(other, "GET cart:1"), "$-1\r\n");
    all_ticks(&mut test);
    assert_eq!(test.resume(client), ":0\r\n");
}

#[test]
fn a_script_sees_the_end_of_what_it_has_not_named() {
    let (mut test, client) = governed();
    test.call(client, "SET cart:a x");
    for n in 0..1000 {
        test.call(client, &format!("SET line:a:{n} x"));
    }
    assert_eq!(test.call(client, "DEL cart:a"), ":1\r\n");
    assert_eq!(test.call(client, "EVAL return(redis.call('SCARD','lines:a')) 0"), ":0\r\n");
}

#[test]
fn many_sources_that_are_due_at_once_hold_up_only_who_asks_for_what_they_feed() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, "SET team:1 x EX 10");
    test.call(client, "SET cart:a x EX 5");
    for n in 0..400 {
        test.call(client, &format!("SET line:a:{n} x"));
    }
    test.set_time(START_MS + 6_000);
    assert_eq!(test.call(other, "PING"), "+PONG\r\n");
    assert_eq!(test.call(other, "GET team:1"), "$1\r\nx\r\n");
    let reply = test.call(client, "SCARD lines:a");
    let reply = if reply.is_empty() {
        while test.deliveries().is_empty() {
            test.tick();
        }
        test.resume(client)
    } else {
        reply
    };
    assert_eq!(reply, ":0\r\n");
}

#[test]
fn a_watch_of_what_goes_breaks_with_the_end_of_its_source() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 200)));
    test.call(other, "WATCH user:1100:following");
    assert_eq!(test.call(client, "DEL user:1:followers"), ":1\r\n");
    test.call(other, "MULTI");
    test.call(other, "SET team:5 x");
    assert_eq!(test.call(other, "EXEC"), "*-1\r\n");
}

#[test]
fn what_a_failed_function_ended_is_there_again() {
    let (mut test, client) = governed();
    let code = "#!lua name=f\nredis.register_function('f', function(keys)\n\
                redis.call('DEL', 'user:1:followers')\n\
                redis.call('SREM', 'user:1100:following', '1')\n\
                redis.call('DEL', 'session:a')\n\
                redis.call('SET', 'session:a', 'z')\n\
                redis.call('GET', 'item:a:3')\n\
                redis.call('SET', 'item:a:4', 'z')\n\
                return redis.error_reply('ERR no') end)";
    let words = ["FUNCTION", "LOAD", code];
    let mut bytes = Vec::new();
    push_request(&mut bytes, words.iter());
    test.send(client, &bytes);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 200)));
    test.call(client, "SET session:a x");
    for n in 0..200 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    test.effects();
    let before = test.call(client, "DEBUG DIGEST");
    let reply = test.call(client, "FCALL f 0");
    assert_eq!(reply, "-ERR no\r\n");
    assert!(test.effects().is_empty(), "a function that fails did nothing");
    assert!(!test.engine.has_pending_ends());
    assert_eq!(test.call(client, "DEBUG DIGEST"), before);
}

/// Sends a script that ends in an error.
fn fail(test: &mut TestEngine, client: ClientId, lua: &str) {
    let reply = ask(test, client, &format!("EVAL {lua}error('enough') 0"));
    assert!(reply.contains("enough"), "{reply}");
}

/// What a set and its mirrors say.
fn mirrors(test: &mut TestEngine, client: ClientId, member: u64) -> [String; 2] {
    let of = format!("SISMEMBER user:1:followers {member}");
    [of, format!("SISMEMBER user:{member}:following 1")].map(|it| ask(test, client, &it))
}

fn lead(test: &mut TestEngine, client: ClientId, sid: &str, items: u64) {
    test.call(client, &format!("SET session:{sid} x EX 10"));
    for n in 0..items {
        test.call(client, &format!("SET item:{sid}:{n} x"));
    }
}

#[test]
fn a_script_that_fails_amid_two_ends_leaves_both_as_they_were() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 500);
    lead(&mut test, client, "b", 300);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 100)));
    test.call(client, "EXPIRE session:a 2000");
    fail(
        &mut test,
        client,
        "redis.call('DEL','user:1:followers')redis.call('DEL','session:b')\
         redis.call('TTL','item:a:499')redis.call('GET','item:b:7');",
    );
    assert_eq!(mirrors(&mut test, client, 1005), [":1\r\n", ":1\r\n"]);
    assert_eq!(test.call(client, "GET item:b:7"), "$1\r\nx\r\n");
    all_ticks(&mut test);
    assert!(test.call(client, "KEYS item:b:*").starts_with("*300\r\n"));
    assert_eq!(test.call(client, "TTL item:a:499"), ":2000\r\n");
    // They still live with it.
    test.call(client, "DEL session:b");
    assert_eq!(test.call(client, "KEYS item:b:*"), "*0\r\n");
}

#[test]
fn a_set_that_came_again_and_whose_second_end_is_undone_keeps_its_mirrors() {
    let (mut test, client) = governed();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    test.call(client, "DEL user:1:followers");
    test.call(client, &format!("SADD user:1:followers {}", members(2900, 100)));
    fail(
        &mut test,
        client,
        "redis.call('DEL','user:1:followers')redis.call('SMEMBERS','user:2950:following');",
    );
    all_ticks(&mut test);
    assert_eq!(mirrors(&mut test, client, 2950), [":1\r\n", ":1\r\n"]);
    assert_eq!(mirrors(&mut test, client, 1500), [":0\r\n", ":0\r\n"]);
}

#[test]
fn what_a_failed_script_finished_is_not_forgotten_by_the_log() {
    let (mut test, client) = governed();
    test.engine.log_changes(true);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    test.call(client, "DEL user:1:followers");
    fail(&mut test, client, "redis.call('SMEMBERS','user:2999:following');");
    all_ticks(&mut test);
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let mut loaded = loaded(&log, usize::MAX, test.now_ms);
    assert_eq!(loaded.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn an_end_that_was_open_in_the_log_is_not_closed_by_a_later_one_of_its_key() {
    let (mut test, client) = governed();
    test.engine.log_changes(true);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    lead(&mut test, client, "a", 500);
    test.call(client, "DEL user:1:followers session:a");
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let mut test = loaded(&log, usize::MAX, test.now_ms);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
    test.effects();
    test.engine.log_changes(true);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 100)));
    lead(&mut test, client, "a", 100);
    test.call(client, "DEL user:1:followers session:a");
    all_ticks(&mut test);
    test.call(client, "SET session:a x");
    test.engine.take_log(&mut log);
    let mut test = loaded(&log, usize::MAX, test.now_ms);
    assert_eq!(test.call(client, "KEYS *"), "*1\r\n$9\r\nsession:a\r\n");
}

#[test]
fn a_log_that_is_cut_within_the_unit_of_an_end_has_nothing_of_it() {
    let (mut test, client) = governed();
    test.engine.log_changes(true);
    lead(&mut test, client, "a", 300);
    test.call(client, "DEL session:a");
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let whole = log.windows(4).filter(|bytes| bytes == b"EXEC").count();
    assert_eq!(whole, 1, "the end is a transaction of its own");
    let end = log.len() - b"*1\r\n$4\r\nEXEC\r\n".len();
    let mut cut = loaded(&log[..end], usize::MAX, test.now_ms);
    assert!(cut.call(client, "KEYS item:*").starts_with("*300\r\n"));
    let mut whole = loaded(&log, usize::MAX, test.now_ms);
    assert_eq!(whole.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn a_set_that_came_and_went_in_one_transaction_is_gone_after_a_crash() {
    let (mut test, client) = governed();
    test.engine.log_changes(true);
    test.call(client, "MULTI");
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 300)));
    test.call(client, "DEL user:1:followers");
    test.call(client, "EXEC");
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let mut test = loaded(&log, usize::MAX, test.now_ms);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn who_lives_with_a_companion_lives_on_with_the_leader_of_both() {
    let (mut test, client) = governed();
    test.call(client, "SET top:a x EX 10");
    for m in 0..100 {
        test.call(client, &format!("SET mid:a:{m} x"));
        test.call(client, &format!("SET leaf:a:{m}:1 x"));
    }
    test.engine.log_changes(true);
    test.call(client, "EXPIRE top:a 1000");
    test.set_time(START_MS + 20_000);
    assert_eq!(ask(&mut test, client, "TTL leaf:a:77:1"), ":980\r\n");
    assert!(ask(&mut test, client, "KEYS leaf:*").starts_with("*100\r\n"));
    all_ticks(&mut test);
    while test.tick() {}
    assert_eq!(test.call(client, "DBSIZE"), ":301\r\n", "with the sets of leaves");
}

#[test]
fn a_crash_before_companions_have_their_new_deadline_costs_none_of_them() {
    let (mut test, client) = governed();
    test.engine.log_changes(true);
    lead(&mut test, client, "a", 500);
    test.call(client, "EXPIRE session:a 1000");
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let mut test = loaded(&log, usize::MAX, START_MS + 20_000);
    assert_eq!(test.call(client, "DBSIZE"), ":501\r\n");
    assert_eq!(test.call(client, "TTL item:a:499"), ":980\r\n");
}

#[test]
fn undoing_another_deadline_leaves_the_one_before_in_force() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 500);
    test.call(client, "EXPIRE session:a 1000");
    fail(&mut test, client, "redis.call('EXPIRE','session:a','5000');");
    fail(&mut test, client, "redis.call('DEL','session:a');");
    all_ticks(&mut test);
    for n in [0, 250, 499] {
        assert_eq!(test.call(client, &format!("TTL item:a:{n}")), ":1000\r\n");
    }
}

#[test]
fn an_undone_flush_leaves_leaders_their_companions() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 300);
    fail(&mut test, client, "redis.call('DEL','session:a')redis.call('FLUSHALL');");
    assert!(test.call(client, "KEYS item:*").starts_with("*300\r\n"));
    test.call(client, "DEL session:a");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn no_client_can_write_what_the_log_says_of_ends() {
    let (mut test, client) = governed();
    test.engine.log_changes(true);
    lead(&mut test, client, "a", 100);
    for command in [
        "SADD keyward:ends companions 7 session:a",
        "EXISTS keyward:ends companions 7 session:a",
        "SREM keyward:ends companions 7 session:a",
        "EVAL return(redis.call('EXISTS','keyward:ends','companions','7','session:a')) 0",
    ] {
        test.call(client, command);
    }
    test.call(client, "SADD keyward:ends x");
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let mut loaded = loaded(&log, usize::MAX, test.now_ms);
    assert!(loaded.call(client, "KEYS item:*").starts_with("*100\r\n"));
    assert_eq!(loaded.call(client, "SMEMBERS keyward:ends"), "*1\r\n$1\r\nx\r\n");
}

#[test]
fn scripts_and_transactions_scan_nothing_that_is_going() {
    let (mut test, client) = governed();
    let fill = |test: &mut TestEngine| {
        ask(test, client, "SET cart:a x");
        for n in 0..500 {
            ask(test, client, &format!("SET line:a:{n} x"));
        }
    };
    fill(&mut test);
    test.call(client, "DEL cart:a");
    assert_eq!(ask(&mut test, client, "EVAL return(redis.call('KEYS','line*')) 0"), "*0\r\n");
    fill(&mut test);
    for command in ["MULTI", "DEL cart:a", "KEYS line*", "SCAN 0 COUNT 1000"] {
        test.call(client, command);
    }
    let reply = ask(&mut test, client, "EXEC");
    assert_eq!(reply, "*3\r\n:1\r\n*0\r\n*2\r\n$1\r\n0\r\n*0\r\n");
}

#[test]
fn an_end_that_brings_others_about_is_seen_whole_by_a_script() {
    let (mut test, client) = governed();
    test.call(client, "SET top:a x");
    for m in 0..70 {
        test.call(client, &format!("SET mid:a:{m} x"));
        for l in 0..70 {
            test.call(client, &format!("SET leaf:a:{m}:{l} x"));
        }
    }
    test.call(client, "DEL top:a");
    let script = "EVAL return{redis.call('SCARD','leaves:a:1'),redis.call('EXISTS','mid:a:1')} 0";
    assert_eq!(ask(&mut test, client, script), "*2\r\n:0\r\n:0\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn so_many_ends_may_be_pending_and_no_more() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    for user in 0..300 {
        test.call(client, &format!("SADD user:{user}:followers {}", members(1000, 70)));
    }
    let mut waits = 0;
    for user in 0..300 {
        let reply = test.call(client, &format!("DEL user:{user}:followers"));
        waits += u64::from(reply.is_empty());
        if reply.is_empty() {
            break;
        }
    }
    assert_eq!(waits, 1, "who writes waits");
    assert_eq!(test.call(other, "GET team:1"), "$-1\r\n", "who reads does not");
    all_ticks(&mut test);
}

#[test]
fn who_waits_for_due_rows_does_not_where_nobody_sweeps() {
    let (mut test, client) = governed();
    for n in 0..100 {
        test.call(client, &format!("SET cart:c{n} x EX 5"));
        test.call(client, &format!("SET line:c{n}:1 x"));
    }
    test.call(client, "DEBUG SET-ACTIVE-EXPIRE 0");
    test.set_time(START_MS + 6_000);
    assert_eq!(test.call(client, "EVAL return(1) 0"), ":1\r\n");
}

#[test]
fn a_client_that_tracks_what_goes_is_told_by_the_step() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 200)));
    test.call(other, "HELLO 3");
    test.call(other, "CLIENT TRACKING ON");
    test.call(other, "SMEMBERS user:1100:following");
    test.call(client, "DEL user:1:followers");
    all_ticks(&mut test);
    let is_told = |delivery: &Delivery| {
        matches!(delivery, Delivery::Output(to, bytes)
            if *to == other && String::from_utf8_lossy(bytes).contains("user:1100:following"))
    };
    assert!(test.deliveries().iter().any(is_told));
}

#[test]
fn who_shows_any_row_waits_for_all_ends_and_then_who_writes_does_too() {
    let (mut test, client) = governed();
    let [writer, reader] = [(); 2].map(|()| test.engine.connect());
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    test.call(client, "DEL user:1:followers");
    // Nearly all that is there is going: no key can be drawn.
    for command in ["RANDOMKEY", "SAVE", "DEBUG DIGEST"] {
        let waiting = test.engine.connect();
        assert_eq!(test.call(waiting, command), "", "{command} waits");
    }
    assert_eq!(test.call(writer, "SET team:1 x"), "+OK\r\n");
    test.set_time(START_MS + 1_000);
    assert_eq!(test.call(writer, "SET team:1 y"), "", "they have waited for a second");
    assert_eq!(test.call(reader, "GET team:1"), "$1\r\nx\r\n");
    all_ticks(&mut test);
    test.tick();
    assert_eq!(test.resume(writer), "+OK\r\n");
}

#[test]
fn who_writes_waits_while_ends_are_drained_for_a_snapshot() {
    let (mut test, client) = governed();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    test.call(client, "DEL user:1:followers");
    test.engine.drain_ends(true);
    assert_eq!(test.call(client, "SET team:1 x"), "");
    all_ticks(&mut test);
    test.engine.drain_ends(false);
    test.tick();
    assert_eq!(test.resume(client), "+OK\r\n");
}

#[test]
fn a_client_that_leaves_while_it_waits_is_not_waited_for() {
    let (mut test, client) = governed();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    test.call(client, "DEL user:1:followers");
    let waiting = test.engine.connect();
    assert_eq!(test.call(waiting, "RANDOMKEY"), "");
    assert_eq!(test.engine.facts().blocked_clients, 1);
    test.engine.disconnect(waiting);
    assert_eq!(test.engine.facts().blocked_clients, 0);
    test.set_time(START_MS + 2_000);
    assert_eq!(test.call(client, "SET team:1 x"), "+OK\r\n");
}

#[test]
fn no_step_takes_more_rows_than_another() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 20_000);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 20_000)));
    test.call(client, "DEL session:a user:1:followers");
    test.effects();
    let mut most = 0;
    while test.engine.has_pending_ends() {
        test.tick();
        most = most.max(test.effects().len());
    }
    assert!((1..200).contains(&most), "{most} rows at a time");
}

#[test]
fn companions_live_through_the_last_millisecond_of_their_leader() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 150);
    test.call(client, "PEXPIRE session:a 3");
    test.set_time(START_MS + 3);
    assert_eq!(test.call(client, "GET item:a:7"), "$1\r\nx\r\n");
    test.tick();
    assert_eq!(test.call(client, "EXPIRE session:a 1000"), ":1\r\n");
    all_ticks(&mut test);
    assert!(test.call(client, "KEYS item:*").starts_with("*150\r\n"));
    assert_eq!(test.call(client, "TTL item:a:7"), ":1000\r\n");
}

#[test]
fn nothing_is_let_in_under_a_leader_that_is_going() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    test.call(client, "SET top:a x");
    for mid in 0..2000 {
        test.call(client, &format!("SET mid:a:{mid} x"));
    }
    test.call(client, "DEL top:a");
    for command in ["SET leaf:a:1500:1 x", "SETNX leaf:a:1501:1 x", "MSET leaf:a:1502:1 x"] {
        let reply = ask(&mut test, client, command);
        assert!(reply.contains("which does not exist"), "{command}: {reply}");
    }
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn a_mirrored_set_that_lives_on_elsewhere_ends_in_steps_too() {
    for (command, other) in
        [("MOVE user:1:followers 1", "user:1:followers"), ("RENAME user:1:followers x", "x")]
    {
        let mut test = TestEngine::governed(1, SCHEMA);
        let client = test.engine.connect();
        test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
        let reply = test.call(client, command);
        assert!(reply == ":1\r\n" || reply == "+OK\r\n", "{reply}");
        assert!(test.engine.has_pending_ends(), "{command}");
        assert_eq!(test.call(client, "EXISTS user:1500:following"), ":0\r\n");
        test.call(client, "SADD user:1:followers 1600");
        all_ticks(&mut test);
        assert_eq!(test.call(client, "SMEMBERS user:1600:following"), "*1\r\n$1\r\n1\r\n");
        assert!(test.call(client, "KEYS user:*:following").starts_with("*1\r\n"), "{command}");
        if command.starts_with("MOVE") {
            test.call(client, "SELECT 1");
        }
        assert_eq!(test.call(client, &format!("SCARD {other}")), ":2000\r\n");
    }
}

#[test]
fn members_that_leave_a_set_together_are_back_when_that_is_undone() {
    for command in ["'SREM','user:1:followers',unpack(m)", "'SPOP','user:1:followers',1500"] {
        let (mut test, client) = governed();
        test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
        let before = test.call(client, "DEBUG DIGEST");
        test.effects();
        let lua = "local_m={}for_n=1100,2599_do_m[n-1099]=n_end;".replace('_', "--[[]]");
        fail(&mut test, client, &format!("{lua}redis.call({command});"));
        assert!(!test.engine.has_pending_ends());
        assert!(test.effects().is_empty());
        assert_eq!(test.call(client, "SCARD user:1:followers"), ":2000\r\n");
        assert_eq!(test.call(client, "DEBUG DIGEST"), before, "{command}");
    }
}

#[test]
fn members_that_leave_a_mirrored_set_together_leave_its_mirrors_in_steps() {
    let (mut test, client) = governed();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 3000)));
    for (command, left) in [
        (format!("SREM user:1:followers {}", members(1000, 1000)), 2000),
        ("SPOP user:1:followers 500".to_owned(), 1500),
        ("SPOP user:1:followers 1450".to_owned(), 50),
    ] {
        test.call(client, &command);
        assert!(test.engine.has_pending_ends(), "{command}");
        assert_eq!(test.call(client, "SCARD user:1:followers"), format!(":{left}\r\n"));
        let mirrors = test.call(client, "KEYS user:*:following");
        assert!(mirrors.starts_with(&format!("*{left}\r\n")), "{command}");
        assert!(all_ticks(&mut test) > 5, "{command}");
        assert_eq!(test.call(client, "DBSIZE"), format!(":{}\r\n", left + 1));
    }
}

#[test]
fn a_key_is_drawn_among_those_that_stay() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 500);
    lead(&mut test, client, "b", 500);
    test.call(client, "DEL session:a");
    for _ in 0..50 {
        let key = test.call(client, "RANDOMKEY");
        assert!(key.contains("item:b:") || key.contains("session:b"), "{key}");
    }
    assert!(test.engine.has_pending_ends(), "nobody waits for what is going");
}

#[test]
fn sort_finishes_what_it_reads_and_no_more() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 500);
    lead(&mut test, client, "b", 3);
    test.call(client, "RPUSH digits 2 1");
    test.call(client, "DEL session:a");
    test.effects();
    let sort = "SORT digits BY item:a:* GET # GET item:a:* GET item:b:*";
    let expected = "*6\r\n$1\r\n1\r\n$-1\r\n$1\r\nx\r\n$1\r\n2\r\n$-1\r\n$1\r\nx\r\n";
    assert_eq!(test.call(client, sort), expected);
    assert_eq!(test.effect_lines(), ["0: DEL item:a:2", "0: DEL item:a:1"]);
    assert!(test.engine.has_pending_ends());
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":5\r\n");
}

#[test]
fn what_a_refused_sort_finished_is_hidden_again_and_finished_later() {
    let (mut test, client) = governed();
    lead(&mut test, client, "a", 500);
    test.call(client, "RPUSH digits 2 1");
    test.call(client, "DEL session:a");
    test.effects();
    fail(&mut test, client, "redis.call('SORT','digits','GET','item:a:*','STORE','kept');");
    assert!(test.effects().is_empty());
    assert_eq!(test.call(client, "EXISTS item:a:1 kept"), ":0\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "KEYS *"), "*1\r\n$6\r\ndigits\r\n");
}
