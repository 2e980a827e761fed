//! What commands on sorted sets log and tell.

use crate::harness::{TestEngine, check_last as check, request};
use keyward_engine::Progress;

#[test]
fn changes_are_logged_and_told_and_nothing_else_is() {
    check(&["ZADD z 1 a"], &["0: ZADD z 1 a"], &["zadd z"]);
    check(&["ZADD z 1 a", "ZADD z 1 a"], &[], &[]);
    check(&["ZADD z 1 a", "ZADD z GT 0 a"], &[], &[]);
    check(&["ZADD z XX 1 a"], &[], &[]);
    check(&["ZINCRBY z 1 a"], &["0: ZINCRBY z 1 a"], &["zincr z"]);
    check(&["ZADD z INCR 1 a"], &["0: ZADD z INCR 1 a"], &["zincr z"]);
    check(&["ZADD z inf a", "ZINCRBY z -inf a"], &[], &[]);
    check(&["ZADD z 1 a", "ZREM z b"], &[], &[]);
    check(&["ZADD z 1 a", "ZREM z a b"], &["0: ZREM z a b"], &["zrem z", "del z"]);
    check(&["ZADD z 1 a", "ZREMRANGEBYSCORE z 5 6"], &[], &[]);
    check(
        &["ZADD z 1 a 2 b", "ZREMRANGEBYRANK z 0 0"],
        &["0: ZREMRANGEBYRANK z 0 0"],
        &["zremrangebyrank z"],
    );
    check(&["ZADD z 1 a", "ZRANDMEMBER z"], &[], &[]);
}

#[test]
fn a_pop_from_one_of_several_keys_is_logged_as_what_it_came_to() {
    check(&["ZADD z 1 a 2 b", "ZPOPMAX z"], &["0: ZPOPMAX z"], &["zpopmax z"]);
    check(&["ZADD z 1 a", "ZPOPMIN z 0"], &[], &[]);
    check(&["ZADD z 1 a", "BZPOPMIN n z 0"], &["0: ZPOPMIN z"], &["zpopmin z", "del z"]);
    check(&["ZADD z 1 a 2 b 3 c", "ZMPOP 2 n z MAX COUNT 2"], &["0: ZPOPMAX z 2"], &["zpopmax z"]);
    check(
        &["ZADD z 1 a", "BZMPOP 0 1 z MIN COUNT 9"],
        &["0: ZPOPMIN z 1"],
        &["zpopmin z", "del z"],
    );
}

#[test]
fn a_stored_result_is_one_change_and_an_empty_one_a_removal() {
    check(&["ZADD z 1 a", "ZUNIONSTORE d 1 z"], &["0: ZUNIONSTORE d 1 z"], &["zunionstore d"]);
    check(
        &["ZADD z 1 a", "ZRANGESTORE d z 0 -1"],
        &["0: ZRANGESTORE d z 0 -1"],
        &["zrangestore d"],
    );
    check(&["SET d x", "ZINTERSTORE d 1 n"], &["0: ZINTERSTORE d 1 n"], &["del d"]);
    check(&["ZADD z 1 a", "ZDIFFSTORE d 2 z z"], &[], &[]);
}

#[test]
fn a_client_that_waited_is_logged_behind_what_woke_it() {
    let mut test = TestEngine::new(1);
    let (waiting, other) = (test.engine.connect(), test.engine.connect());
    let (progress, _) = test.send(waiting, &request("BZMPOP 0 2 y z MAX COUNT 2"));
    assert_eq!(progress, Progress::Blocked);
    test.call(other, "ZADD z 1 a 2 b 3 c");
    assert_eq!(test.effect_lines(), ["0: ZADD z 1 a 2 b 3 c", "0: ZPOPMAX z 2"]);
    assert_eq!(test.call(other, "ZRANGE z 0 -1"), "*1\r\n$1\r\na\r\n");
}
