//! FLUSHALL and the snapshot that it saves: neither a log that is carried out again nor a unit that
//! is undone empties the file.

use super::cover::{count, say};
use super::{Place, call, fill, log, orders, text};
use keyward_resp::{Frame, push_request};
use std::fs;
use std::io::Write;
use std::time::Duration;

fn saved() -> String {
    orders("persist = \"rdb\"", "ttl = \"none\"")
}

#[test]
fn flushall_in_the_log_leaves_the_snapshot_beside_it_alone() {
    let flushes: [&[&str]; 4] = [
        &["FLUSHALL"],
        &["FLUSHALL ASYNC"],
        &["EVAL \"redis.call('FLUSHALL')\" 0"],
        &["SET order:1 x", "FLUSHALL"],
    ];
    for commands in flushes {
        let place = Place::new(true);
        let server = place.start(&saved());
        commands.iter().for_each(|command| say(&server, command));
        fill(&server, "order:", 20);
        let _ = server.client().call(["SHUTDOWN"]);
        server.wait(Duration::from_secs(20));
        for start in 1..=2 {
            let server = place.start(&saved());
            assert_eq!(count(&server), Frame::Integer(20), "{commands:?}, start {start}");
        }
    }
}

/// No server writes such commands, but a file can be written by hand.
#[test]
fn what_is_no_change_of_rows_is_not_carried_out_again() {
    let place = Place::new(true);
    let server = place.start(&saved());
    fill(&server, "order:", 20);
    say(&server, "SAVE");
    drop(server);
    let mut file = fs::OpenOptions::new().append(true).open(place.increment()).expect("it opens");
    for words in [
        &["SAVE"][..],
        &["BGSAVE"],
        &["CONFIG", "SET", "dbfilename", "other.rdb"],
        &["DEBUG", "RELOAD"],
        &["SHUTDOWN", "NOSAVE"],
    ] {
        let mut request = Vec::new();
        push_request(&mut request, words.iter());
        file.write_all(&request).expect("it is written");
    }
    drop(file);
    let server = place.start(&saved());
    assert_eq!(count(&server), Frame::Integer(20));
    assert!(log(&server).contains("5 commands of "), "{}", log(&server));
}

/// Orders, and users that must have an address.
fn users(keyspace: &str) -> String {
    let user = "[key.\"user:{id:uint}\"]\ntype = \"hash\"\nttl = \"none\"\nfields = { email = \
                \"str\", age = \"uint?\" }\n";
    format!("{}\n{user}", orders(keyspace, "ttl = \"none\""))
}

const WIPE: &str = "#!lua name=wipe\nredis.register_function('wipe', function(keys, args) \
                    redis.call('FLUSHALL') return redis.error_reply('NO not today') end)";

#[test]
fn a_unit_that_is_undone_leaves_the_snapshot_alone() {
    let units: [&[&[&str]]; 5] = [
        &[&["MULTI"], &["FLUSHALL"], &["HSET", "user:1", "age", "5"], &["EXEC"]],
        &[&["EVAL", "redis.call('FLUSHALL') redis.call('HSET', 'user:1', 'age', '5')", "0"]],
        &[&["EVAL", "redis.call('FLUSHALL') return redis.error_reply('NO')", "0"]],
        &[&["FCALL", "wipe", "0"]],
        &[&["KEYWARD", "EXPLAIN", "FLUSHALL"]],
    ];
    for (keyspace, appends) in [("", false), ("persist = \"rdb\"", true)] {
        for unit in units {
            let place = Place::new(appends);
            let server = place.start(&users(keyspace));
            let mut client = server.client();
            client.call(["FUNCTION", "LOAD", WIPE]).expect("a reply");
            fill(&server, "order:", 20);
            say(&server, "SAVE");
            say(&server, "SET order:1 again");
            for words in unit {
                client.call(*words).expect("a reply");
            }
            let info = text(&call(&mut client, "INFO persistence"));
            assert!(info.contains("rdb_changes_since_last_save:1\r"), "{unit:?}: {info}");
            assert_eq!(count(&server), Frame::Integer(20), "{unit:?}");
            drop(server);
            assert_eq!(count(&place.start(&users(keyspace))), Frame::Integer(20), "{unit:?}");
        }
    }
}

#[test]
fn a_unit_that_stands_is_saved_with_its_flushall() {
    let units: [(&[&[&str]], i64); 3] = [
        (&[&["FLUSHALL"]], 0),
        (&[&["MULTI"], &["FLUSHALL"], &["SET", "order:1", "x"], &["EXEC"]], 1),
        (&[&["EVAL", "redis.call('FLUSHALL') redis.call('SET', 'order:1', 'x')", "0"]], 1),
    ];
    for (keyspace, appends) in [("", false), ("persist = \"rdb\"", true)] {
        for (unit, rows) in units {
            let place = Place::new(appends);
            let server = place.start(&users(keyspace));
            fill(&server, "order:", 20);
            say(&server, "SAVE");
            let mut client = server.client();
            for words in unit {
                client.call(*words).expect("a reply");
            }
            let info = text(&call(&mut client, "INFO persistence"));
            assert!(info.contains("rdb_changes_since_last_save:0\r"), "{unit:?}: {info}");
            drop(server);
            assert_eq!(count(&place.start(&users(keyspace))), Frame::Integer(rows), "{unit:?}");
        }
    }
}

#[test]
fn debug_loadaof_saves_nothing() {
    let place = Place::new(true);
    let server = place.start(&saved());
    say(&server, "FLUSHALL");
    fill(&server, "order:", 20);
    say(&server, "SAVE");
    say(&server, "SET order:20 unsaved");
    say(&server, "DEBUG LOADAOF");
    // What only the snapshot has is loaded from that.
    assert_eq!(count(&server), Frame::Integer(20));
    drop(server);
    assert_eq!(count(&place.start(&saved())), Frame::Integer(20));
}
