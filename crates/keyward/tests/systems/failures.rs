//! What a system's README says under "When something is full or fails", tried over a socket.
//!
//! A full limit: what the schema lets go has gone, all else is there, whoever wants more gets
//! Redis's error, and reads and deletes go on. Fan-out: a command at the bound passes, one
//! beyond it does nothing. What takes many callers or time is in the scenarios.

use crate::System;
use keyward_resp::Frame;
use keyward_testkit::{Client, Server};

const OOM: &str = "OOM command not allowed when used memory > 'maxmemory'.";
/// What a derived key takes of one command (`max_fanout`).
const MAX_FANOUT: usize = 10_000;
/// How much may be written above what is there when the limit is set.
const ROOM_BYTES: i64 = 200_000;
/// More rows than fit into that.
const ROWS_MAX: usize = 100_000;
const AT: &str = "2025-12-04T15:30:00Z";

const QUEUE: &str = "queue:sync:likes";

type Command = Vec<String>;

#[test]
fn calls_bot_that_is_full_lets_caches_go_and_nothing_else() {
    let price = format!(r#"{{"fdv": 1.5, "note": "{}"}}"#, long());
    let verified = format!(r#"{{"amount": "1", "note": "{}"}}"#, long());
    let caches = many(100, |n| {
        vec![
            words(&["SET", &format!("token_price:t{n}"), &price]),
            words(&["SET", &format!("price:t{n}"), "125000.50"]),
            words(&["SET", &format!("channel:@c{n}:info"), &price]),
            words(&["SET", &format!("conversation_state:{n}"), &long()]),
            words(&["SET", &format!("payment_verification:{n}"), &verified]),
            // A key without a pattern goes by `maxmemory-policy`.
            words(&["SET", &format!("daily_report:{n}"), &long()]),
        ]
    });
    let ended = r#""expires_at": "2100-01-25T10:00:00Z""#;
    let stay = lines(&[
        r#"SET user_settings:1 {"min_win_rate":30}"#,
        &format!(
            r#"SET subscription:1 {{"plan":"monthly","status":"active",{}}}"#,
            ended.replace(' ', "")
        ),
        "SET user_referred_by:1 2",
        "SET user_referral_code:1 ABC123",
        "SET blocked_user:1 1",
        &format!(r#"SET processed_token:t:1 {{"status":"accepted","timestamp":"{AT}"}}"#),
        &format!(
            r#"SET multiplier:t:1 {{"channel_id":"@c","fdv_at_call":1,"highest_multiplier_sent":1,"timestamp":"{AT}"}}"#
        ),
        "SET used_transaction:x 1",
        "SET pending_commission:1 {}",
        r#"SET paid_commission:1 {"tx_hash":"x"}"#,
        r#"SET coupon:C {"discount_percent":5,"max_uses":1,"used_count":0,"valid_until":"2100-01-01T00:00:00Z"}"#,
        "SET coupon_usage:C:1 1",
    ]);
    fills_up("calls-bot", &caches, &stay, |n| {
        words(&["SET", &format!("user_referral_code:{n}"), &format!("{n}{}", long())])
    });
}

#[test]
fn social_that_is_full_lets_cached_rows_and_viewers_go_and_nothing_else() {
    let caches = many(150, |n| {
        vec![
            words(&["HSET", &format!("user:{n}"), "bio", &long()]),
            words(&["HSET", &format!("news:{n}"), "title", &long()]),
            words(&["SET", &format!("viewed:{n}:team:7"), &long()]),
        ]
    });
    let stay = lines(&[
        "SADD user:1:followers 2",
        "SADD shout:7:retweets 1",
        &format!("HSET comment:1001 user_id 42 text hi created_at {AT}"),
        "RPUSH snap:8:comments 1001",
        "INCR team:7:views",
        "INCR team:7:views:2025-12-04",
        "RPUSH queue:sync:likes team:7:42",
    ]);
    let (_server, mut client) = fills_up("social", &caches, &stay, |n| {
        words(&["SADD", &format!("team:{n}:likes"), &format!("{n}{}", long())])
    });
    // Queues are drained, and nobody needs room to go.
    runs_when_full(
        &mut client,
        &[
            ("FCALL unfollow 2 user:2:following user:1:followers", "unfollowed"),
            ("FCALL undo_retweet 1 shout:7:retweets 1", "undone"),
            (&format!("FCALL drain_queue 3 {QUEUE} {QUEUE}:leases {QUEUE}:batch:b1 10 60"), ""),
            (&format!("FCALL confirm_drained 2 {QUEUE}:leases {QUEUE}:batch:b1"), "confirmed"),
        ],
    );
}

#[test]
fn api_billing_that_is_full_lets_its_products_go_and_nothing_else() {
    let product = format!(
        r#"{{"reliapi": {{"id": "reliapi", "name": "{}", "status": "active", "pricing":
        {{"per_request": 0.001}}, "endpoints": []}}}}"#,
        long().repeat(200)
    );
    let caches = vec![words(&["SET", "products:config", &product])];
    let booked = format!(
        r#"{{"id":"t","type":"topup","amount_usd":1,"balance_before":0,"balance_after":1,"created_at":"{AT}"}}"#
    );
    let stay = lines(&[
        &format!(
            "HSET user:42 user_id 42 created_at {AT} balance_usd 1 status active last_active_at {AT}"
        ),
        &format!(
            r#"SET api_key:kikuai_a {{"key":"kikuai_a","key_hash":"sha256:01","user_id":42,"created_at":"{AT}","status":"active"}}"#
        ),
        "HINCRBY usage:42:2025-12 total_requests 1",
        "HINCRBY usage:42:2025-12-04 requests 1",
        &format!("RPUSH transactions:42 {booked}"),
        &format!("LPUSH transactions:42:recent {booked}"),
        "INCR ratelimit:42:day",
        "SET webhook:paddle:ptx_1 processed",
    ]);
    let (_server, mut client) = fills_up("api-billing", &caches, &stay, |n| {
        let row = format!(
            r#"{{"user_id": {n}, "state": "{}", "data": {{}}, "created_at": "{AT}"}}"#,
            long()
        );
        words(&["SET", &format!("session:s{n}"), &row])
    });
    let derived = words(&["EXISTS", "users:by_api_key:kikuai_a", "users:active"]);
    assert_eq!(told(&mut client, &derived), "2", "what follows from them is there too");
}

#[test]
fn telegram_gateway_that_is_full_of_flags_stores_nothing_of_a_message() {
    let text = format!(r#"{{"text": "{}"}}"#, long());
    let caches = many(100, |n| vec![words(&["SET", &format!("telegram:msg:1:{n}"), &text])]);
    let (_server, mut client) = fills_up("telegram-gateway", &caches, &[], |n| {
        words(&["SET", &format!("telegram:dedup:1:{n}"), "1"])
    });
    let keys = ["telegram:msg:2:1", "telegram:dedup:2:1", "telegram:channel:2:recent"];
    let mut receive = words(&["FCALL", "receive_message", "3"]);
    receive.extend(words(&keys));
    receive.extend(words(&[r#"{"text": "BUY"}"#, "1730649600000"]));
    assert_eq!(told(&mut client, &receive), OOM);
    assert_eq!(told(&mut client, &[&words(&["EXISTS"])[..], &words(&keys)].concat()), "0");
}

#[test]
fn events_that_is_full_lets_caches_logs_and_counters_go_and_nothing_else() {
    let caches = many(100, |n| {
        vec![
            words(&["SET", &format!("search:results:{n:032x}"), &format!(r#"["{}"]"#, long())]),
            words(&["LPUSH", &format!("analytics:activity:{n}"), &long()]),
            words(&["INCR", &format!("analytics:counters:page_views:w{n}")]),
        ]
    });
    let stay = lines(&[
        "FCALL sign_in 1 user:session:s1 1 a user",
        "SET user:password_reset:t1 1",
        "SET user:email_verification:t1 1",
        "SET rate_limit:user:1:api_calls 1 EX 3600",
        "SET ml:model:ranker:version 7",
        "SADD websocket:connections c-1",
        "SADD websocket:user:1 c-1",
        "SADD websocket:room:jazz c-1",
        "SET websocket:connection:c-1:user 1",
        "SET websocket:connection:c-1:node gateway-1",
        "SADD websocket:nodes gateway-1",
        "SADD websocket:node:gateway-1 c-1",
        "RPUSH websocket:queue:2 hello",
    ]);
    let (_server, mut client) = fills_up("events", &caches, &stay, |n| {
        words(&["SET", &format!("ab_test:checkout_button:{n}"), &format!("{n}{}", long())])
    });
    let connection = "websocket:connection:c-1";
    let node = "websocket:node:gateway-1";
    runs_when_full(
        &mut client,
        &[
            (&format!("FCALL touch_session 1 user:session:s1 {AT}"), "touched"),
            ("FCALL sign_out 1 user:session:s1", "signed_out"),
            ("FCALL consume_token 1 user:password_reset:t1", "1"),
            (&format!("FCALL ws_leave 2 {connection}:rooms websocket:room:jazz"), "left"),
            (
                &format!(
                    "FCALL ws_sweep 4 websocket:connections websocket:nodes {node} {node}:alive"
                ),
                "1",
            ),
            (&format!("FCALL ws_heartbeat 2 {node} {node}:alive"), "0"),
            ("FCALL drain_messages 1 websocket:queue:2", ""),
        ],
    );
}

#[test]
fn nodes_of_events_that_begin_anew_after_a_crash_have_the_connections_that_they_have() {
    let system = System::read("events");
    let server = system.on_keyward();
    let mut client = system.client(&server);
    let node = "websocket:node:g9";
    let own = |n: u8, part: &str| format!("websocket:connection:c-{n}:{part}");
    let connect = |client: &mut Client, n: u8| {
        let (user, place) = (own(n, "user"), own(n, "node"));
        let call = format!(
            "FCALL ws_connect 7 websocket:connections {user} websocket:user:{n} {place} \
             websocket:nodes {node} {node}:alive"
        );
        told(client, &words(&call.split(' ').collect::<Vec<_>>()))
    };
    for n in 0..3 {
        assert_eq!(connect(&mut client, n), "connected");
    }
    assert_eq!(told(&mut client, &words(&["SAVE"])), "OK");
    let [user, rooms, place] = ["user", "rooms", "node"].map(|part| own(0, part));
    let close = ["FCALL", "ws_disconnect", "5", "websocket:connections", &user, &rooms, &place];
    let close = words(&[&close[..], &["websocket:nodes"]].concat());
    assert_eq!(told(&mut client, &close), "disconnected");
    assert_eq!(connect(&mut client, 9), "connected");
    // As a crash leaves it: what was last saved.
    assert_eq!(told(&mut client, &words(&["DEBUG", "RELOAD", "NOSAVE"])), "OK");
    assert_eq!(told(&mut client, &words(&["EXISTS", "websocket:user:0"])), "1", "as it was saved");
    let start = ["FCALL", "ws_start", "4", "websocket:connections", "websocket:nodes", node];
    let start = words(&[&start[..], &[&format!("{node}:alive")]].concat());
    assert_eq!(told(&mut client, &start), "3");
    assert_eq!(told(&mut client, &start), "0");
    for n in [1, 2, 9] {
        assert_eq!(connect(&mut client, n), "connected");
    }
    for (n, is_online) in [(0, "0"), (1, "1"), (2, "1"), (9, "1")] {
        let user = format!("websocket:user:{n}");
        assert_eq!(told(&mut client, &words(&["EXISTS", &user])), is_online, "{user}");
    }
}

#[test]
fn calls_bot_adds_ten_thousand_subscribers_by_one_command_and_no_more() {
    let row = r#"{"plan": "monthly", "status": "active", "expires_at": "2100-01-25T10:00:00Z"}"#;
    let subscribe = |count: usize| {
        let rows = (0..count).flat_map(|n| [format!("subscription:{n}"), row.to_owned()]);
        [words(&["MSET"]), rows.collect()].concat()
    };
    fans_out("calls-bot", subscribe, &["SCARD", "active_subscribers"], "10000");
}

#[test]
fn social_adds_ten_thousand_followers_by_one_command_and_no_more() {
    let follow = |count: usize| {
        let users = (0..count).map(|n| n.to_string());
        [words(&["SADD", "user:misty:followers"]), users.collect()].concat()
    };
    fans_out("social", follow, &["SCARD", "user:misty:followers"], "10000");
}

#[test]
fn api_billing_adds_ten_thousand_api_keys_by_one_command_and_no_more() {
    let create = |count: usize| {
        let rows = (0..count).flat_map(|n| {
            let row = format!(
                r#"{{"key": "kikuai_{n}", "key_hash": "sha256:01", "user_id": 1, "created_at":
                "{AT}", "status": "active"}}"#
            );
            [format!("api_key:kikuai_{n}"), row]
        });
        [words(&["MSET"]), rows.collect()].concat()
    };
    fans_out("api-billing", create, &["GET", "users:by_api_key:kikuai_9999"], "1");
}

#[test]
fn social_drains_a_thousand_items_at_once_and_no_more() {
    let system = System::read("social");
    let server = system.on_keyward();
    let mut client = system.client(&server);
    let item =
        format!(r#"{{"entity":"team","id":"7","user_id":"42","change":"like","at":"{AT}"}}"#);
    let push = [words(&["RPUSH", "queue:sync:likes"]), vec![item; 1500]].concat();
    assert_eq!(told(&mut client, &push), "1500");
    let queue = "queue:sync:likes";
    let batch = format!("{queue}:batch:b1");
    let drain =
        ["FCALL", "drain_queue", "3", queue, &format!("{queue}:leases"), &batch, "5000", "30"];
    client.call(drain).expect("an answer");
    assert_eq!(told(&mut client, &words(&["LLEN", &batch])), "1000");
    assert_eq!(told(&mut client, &words(&["LLEN", queue])), "500");
}

#[test]
fn api_billing_may_call_again_what_its_readme_says() {
    let system = System::read("api-billing");
    let server = system.on_keyward();
    let mut client = system.client(&server);
    let book = "user:42 transactions:42 transactions:42:recent";
    for call in [
        format!("create_user 2 user:42 api_key:kikuai_a sha256:01 {AT}"),
        format!("use_api_key 2 api_key:kikuai_a user:42 {AT}"),
        format!("process_webhook 4 webhook:paddle:ptx_1 {book} txn_1 topup 10.00 {AT}"),
        format!("rotate_api_key 3 user:42 api_key:kikuai_a api_key:kikuai_b sha256:02 {AT}"),
        "revoke_api_key 2 user:42 api_key:kikuai_b".to_owned(),
    ] {
        let call: Command = format!("FCALL {call}").split(' ').map(str::to_owned).collect();
        let reply = client.call(&call).expect("an answer");
        assert!(!matches!(reply, Frame::Error(_)), "{call:?}: {reply:?}");
        let once = told(&mut client, &words(&["DEBUG", "DIGEST"]));
        client.call(&call).expect("an answer");
        assert_eq!(told(&mut client, &words(&["DEBUG", "DIGEST"])), once, "{call:?}");
    }
}

#[test]
fn telegram_gateway_begins_empty_and_gives_back_what_a_dead_worker_took() {
    let system = System::read("telegram-gateway");
    let server = system.on_keyward();
    let mut client = system.client(&server);
    let receive = "FCALL receive_message 3 telegram:msg:1:1 telegram:dedup:1:1 \
                   telegram:channel:1:recent {\"text\":\"BUY\"} 1730649600000";
    let status = |change: &str| format!("FCALL set_message_status 1 telegram:msg:1:1 {change}");
    let waiting = "ZRANGE telegram:channel:1:taken 0 -1";
    for (command, reply) in [
        (receive, "stored"),
        (&status("processing received"), "updated"),
        (&status("received processing"), "updated"),
        (&status("processing received"), "updated"),
    ] {
        let command: Command = command.split_whitespace().map(str::to_owned).collect();
        assert_eq!(told(&mut client, &command), reply, "{command:?}");
    }
    let open = client.call(waiting.split(' ').collect::<Vec<_>>()).expect("an answer");
    assert_eq!(open.as_elements().map(<[Frame]>::len), Some(1), "it is still open");
    assert_eq!(told(&mut client, &words(&["DEBUG", "RELOAD"])), "OK");
    assert_eq!(told(&mut client, &words(&["DBSIZE"])), "0", "nothing of a cache is kept");
}

/// Fills a limit: first with what may go, then with what may not, until that alone is left.
/// What stays is one row of each other pattern that may not go, the longest unused of all.
fn fills_up(
    name: &str,
    caches: &[Command],
    stay: &[Command],
    kept: impl Fn(usize) -> Command,
) -> (Server, Client) {
    let system = System::read(name);
    let server = system.on_keyward();
    let mut client = system.client(&server);
    for command in stay.iter().chain(caches) {
        let reply = client.call(command).expect("an answer");
        assert!(!matches!(reply, Frame::Error(_)), "{command:?}: {reply:?}");
    }
    let used = figure(&mut client, "used_memory");
    limit(&mut client, used + ROOM_BYTES);
    let mut written = Vec::new();
    let refusal = loop {
        assert!(written.len() < ROWS_MAX, "what may not go goes: the limit is never met");
        let command = kept(written.len());
        match client.call(&command).expect("an answer") {
            Frame::Error(error) => break String::from_utf8_lossy(&error).into_owned(),
            _ => written.push(command[1].clone()),
        }
    };
    assert_eq!(refusal, OOM);
    assert!(written.len() > 100, "{} rows", written.len());
    assert_eq!(present(&mut client, caches.iter().map(|command| &command[1])), 0, "caches");
    assert_eq!(present(&mut client, &written), written.len(), "what may not go is there");
    for command in stay {
        let key = if command[0] == "FCALL" { &command[3] } else { &command[1] };
        assert_eq!(present(&mut client, [key]), 1, "{key} is there");
    }
    // Deletes go on, and make room.
    let half = &written[..written.len() / 2];
    for key in half {
        assert_eq!(told(&mut client, &words(&["DEL", key])), "1");
    }
    let reply = client.call(kept(0)).expect("an answer");
    assert!(!matches!(reply, Frame::Error(_)), "there is room again: {reply:?}");
    // Full again, for whoever looks further.
    let is_full =
        (1..ROWS_MAX).any(|n| matches!(client.call(kept(n)).expect("an answer"), Frame::Error(_)));
    assert!(is_full);
    (server, client)
}

/// What frees memory, or changes what is there, is not refused where there is none.
fn runs_when_full(client: &mut Client, calls: &[(&str, &str)]) {
    for (call, wanted) in calls {
        let call: Command = call.split(' ').map(str::to_owned).collect();
        let reply = client.call(&call).expect("an answer");
        assert!(!matches!(reply, Frame::Error(_)), "{call:?}: {reply:?}");
        if !wanted.is_empty() {
            assert_eq!(line_of(&reply), *wanted, "{call:?}");
        }
    }
}

/// A command at the bound passes whole, one beyond it does nothing.
fn fans_out(name: &str, command: impl Fn(usize) -> Command, count: &[&str], wanted: &str) {
    let system = System::read(name);
    let server = system.on_keyward();
    let mut client = system.client(&server);
    let refusal = told(&mut client, &command(MAX_FANOUT + 1));
    assert!(refusal.starts_with("SCHEMA ") && refusal.contains("(max_fanout)"), "{refusal}");
    assert_eq!(told(&mut client, &words(&["DBSIZE"])), "0");
    let reply = told(&mut client, &command(MAX_FANOUT));
    assert!(reply == "OK" || reply == MAX_FANOUT.to_string(), "{reply}");
    assert_eq!(told(&mut client, &words(count)), wanted);
}

fn words(words: &[&str]) -> Command {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Commands whose words have no spaces.
fn lines(lines: &[&str]) -> Vec<Command> {
    lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn many(count: usize, commands: impl Fn(usize) -> Vec<Command>) -> Vec<Command> {
    (0..count).flat_map(commands).collect()
}

/// A value that takes its room.
fn long() -> String {
    "x".repeat(1000)
}

/// A reply of one line, as text; of an error what it says.
fn told(client: &mut Client, command: &[String]) -> String {
    line_of(&client.call(command).expect("an answer"))
}

fn line_of(reply: &Frame) -> String {
    match reply {
        Frame::Integer(number) => number.to_string(),
        Frame::Simple(text) | Frame::Error(text) | Frame::Bulk(text) => {
            String::from_utf8_lossy(text).into_owned()
        }
        other => panic!("not a line: {other:?}"),
    }
}

fn limit(client: &mut Client, bytes: i64) {
    let limit =
        ["CONFIG", "SET", "maxmemory", &bytes.to_string(), "maxmemory-policy", "allkeys-lru"];
    assert_eq!(told(client, &words(&limit)), "OK");
}

/// A figure of INFO.
fn figure(client: &mut Client, name: &str) -> i64 {
    let info = told(client, &words(&["INFO", "memory"]));
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("it is in INFO").trim().parse().expect("a number")
}

/// How many of these keys there are.
fn present<'a>(client: &mut Client, keys: impl IntoIterator<Item = &'a String>) -> usize {
    let keys: Vec<String> = keys.into_iter().cloned().collect();
    let counts = keys.chunks(100).map(|keys| {
        let exists = [words(&["EXISTS"]), keys.to_vec()].concat();
        told(client, &exists).parse::<usize>().expect("a count")
    });
    counts.sum()
}
