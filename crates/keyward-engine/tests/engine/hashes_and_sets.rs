//! What commands on hashes and sets log and tell.

use crate::harness::{TestEngine, check_last as check};

#[test]
fn changes_of_hashes_are_logged_and_told_and_nothing_else_is() {
    check(&["HSET h a 1 b 2"], &["0: HSET h a 1 b 2"], &["hset h"]);
    check(&["HSET h a 1", "HSETNX h a 2"], &[], &[]);
    check(&["HSET h a 1", "HSETNX h b 2"], &["0: HSETNX h b 2"], &["hset h"]);
    check(&["HINCRBY h a 1"], &["0: HINCRBY h a 1"], &["hincrby h"]);
    check(&["HSET h a x", "HINCRBY h a 1"], &[], &[]);
    check(&["HSET h a 0.1", "HINCRBYFLOAT h a 0.2"], &["0: HSET h a 0.3"], &["hincrbyfloat h"]);
    check(&["HSET h a 1 b 2", "HDEL h a c"], &["0: HDEL h a c"], &["hdel h"]);
    check(&["HSET h a 1", "HDEL h c"], &[], &[]);
    check(&["HSET h a 1", "HDEL h a"], &["0: HDEL h a"], &["hdel h", "del h"]);
    check(&["HSET h a 1", "HRANDFIELD h"], &[], &[]);
}

#[test]
fn changes_of_sets_are_logged_and_told_and_nothing_else_is() {
    check(&["SADD s a b"], &["0: SADD s a b"], &["sadd s"]);
    check(&["SADD s a", "SADD s a"], &[], &[]);
    check(&["SADD s a", "SREM s b"], &[], &[]);
    check(&["SADD s a", "SREM s a b"], &["0: SREM s a b"], &["srem s", "del s"]);
    check(&["SADD s a b", "SRANDMEMBER s 1"], &[], &[]);
    check(
        &["SADD s a", "SADD t b", "SMOVE s t a"],
        &["0: SMOVE s t a"],
        &["srem s", "del s", "sadd t"],
    );
    check(&["SADD s a b", "SADD t b", "SMOVE s t b"], &["0: SMOVE s t b"], &["srem s"]);
    check(&["SADD s a", "SMOVE s s a"], &[], &[]);
    check(&["SADD s a", "SUNIONSTORE t s"], &["0: SUNIONSTORE t s"], &["sunionstore t"]);
    check(&["SADD s a", "SDIFFSTORE t s"], &["0: SDIFFSTORE t s"], &["sdiffstore t"]);
    check(&["SET t x", "SINTERSTORE t s"], &["0: SINTERSTORE t s"], &["del t"]);
    check(&["SINTERSTORE t s"], &[], &[]);
}

#[test]
fn a_pop_is_logged_as_the_removal_it_came_to() {
    check(&["SADD s a", "SPOP s"], &["0: SREM s a"], &["spop s", "del s"]);
    check(&["SADD s 7 7", "SPOP s 1"], &["0: DEL s"], &["spop s", "del s"]);
    check(&["SADD s a b", "SPOP s 5"], &["0: DEL s"], &["spop s", "del s"]);
    check(&["SADD s a", "SPOP s 0"], &[], &[]);
    check(&["SADD s a", "SPOP nothing 3"], &[], &[]);
}

#[test]
fn pops_replayed_elsewhere_leave_the_same_sets() {
    let (mut ours, mut theirs) = (TestEngine::new(7), TestEngine::new(8));
    let (client, replica) = (ours.engine.connect(), theirs.engine.connect());
    let members = |test: &mut TestEngine, client| {
        let reply = test.call(client, "SMEMBERS s");
        let mut members: Vec<String> = reply.split('$').map(str::to_owned).collect();
        members.sort_unstable();
        members
    };
    for round in 0..40 {
        let count = 1 + round * 37 % 3000;
        let prefix = ["", "m"][round % 2];
        let added: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
        ours.call(client, &format!("SADD s {}", added.join(" ")));
        for taken in [String::new(), (count / 10).to_string(), (count * 7 / 10).to_string()] {
            ours.call(client, &format!("SPOP s {taken}"));
        }
        for line in ours.effect_lines() {
            theirs.call(replica, line.strip_prefix("0: ").expect("database 0 is selected"));
        }
        assert_eq!(members(&mut ours, client), members(&mut theirs, replica), "round {round}");
    }
}

#[test]
fn more_draws_than_memory_holds_are_refused() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for command in ["SADD s a", "HSET h f v", "ZADD z 1 a"] {
        test.call(client, command);
    }
    for (command, key) in [("SRANDMEMBER", "s"), ("HRANDFIELD", "h"), ("ZRANDMEMBER", "z")] {
        let mut draw = |key| test.call(client, &format!("{command} {key} -9223372036854775807"));
        assert_eq!(draw(key), "-ERR value is out of range\r\n", "{command}");
        assert_eq!(draw("nothing"), "*0\r\n", "{command}");
    }
}
