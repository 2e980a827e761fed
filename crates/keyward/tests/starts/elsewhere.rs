//! Files that another server wrote, or went on with, where the append-only file leaves rows to
//! snapshots or to nothing, or does not say: nothing of them is dropped in silence.

use super::cover::{count, say};
use super::{Place, accepted, fill, log, orders};
use keyward_resp::Frame;
use keyward_testkit::{Server, wait_until};
use std::fs;
use std::time::Duration;

fn kept(persist: &str) -> String {
    orders(&format!("persist = \"{persist}\""), "ttl = \"none\"")
}

/// A stock Redis that goes on with the files. What it acknowledged is there if it is killed.
fn redis(place: &Place, appends: &str) -> Server {
    let data = place.data.path().to_str().expect("a path in UTF-8");
    let settings = ["--dir", data, "--appendonly", appends, "--appendfsync", "always"];
    Server::redis(&[&settings[..], &["--save", "3600 100000000"]].concat())
}

fn end(server: Server, how: &str) {
    let words: Vec<&str> = how.split(' ').collect();
    let _ = server.client().call(&words);
    server.wait(Duration::from_secs(20));
}

/// Twenty rows of a keyspace, and a server that was ended with a snapshot.
fn left(persist: &str) -> Place {
    let place = Place::new(true);
    let server = place.start(&kept(persist));
    fill(&server, "order:", 20);
    end(server, "SHUTDOWN");
    place
}

#[test]
fn what_redis_appended_is_served_with_the_rows_of_the_snapshot() {
    let place = left("rdb");
    let theirs = redis(&place, "yes");
    // It does not look at the snapshot.
    assert_eq!(count(&theirs), Frame::Integer(0));
    say(&theirs, "SET order:7 theirs");
    say(&theirs, "SET order:20 theirs");
    drop(theirs);
    for start in 1..=3 {
        let server = place.start(&kept("rdb"));
        assert_eq!(count(&server), Frame::Integer(21), "start {start}");
        let theirs = server.client().call(["GET", "order:7"]).expect("a reply");
        assert_eq!(theirs, Frame::Bulk(b"theirs".to_vec()), "start {start}");
        let is_told = log(&server).contains("another server has appended some");
        assert_eq!(is_told, start == 1, "{}", log(&server));
    }
    // From the next snapshot on they are in that alone.
    let server = place.start(&kept("rdb"));
    say(&server, "DEL order:20");
    say(&server, "SAVE");
    say(&server, "SET order:21 unsaved");
    drop(server);
    assert_eq!(count(&place.start(&kept("rdb"))), Frame::Integer(20));
}

#[test]
fn what_redis_appended_is_served_where_no_file_keeps_rows() {
    let place = left("none");
    let theirs = redis(&place, "yes");
    assert_eq!(count(&theirs), Frame::Integer(0));
    say(&theirs, "SET order:20 theirs");
    drop(theirs);
    // They come from elsewhere: what becomes of them is asked first.
    let accept = accepted(&place.refusal(&kept("none")));
    let server = place.serve(&[&kept("none")], &["--accept", &accept]);
    assert_eq!(count(&server), Frame::Integer(1));
    assert!(log(&server).contains("another server has appended some"), "{}", log(&server));
    say(&server, "SET order:21 ours");
    drop(server);
    // They are what the schema says, from then on.
    assert_eq!(count(&place.start(&kept("none"))), Frame::Integer(0));
}

#[test]
fn a_stock_redis_without_its_append_only_file_takes_over_what_snapshots_keep() {
    let place = left("rdb");
    let theirs = redis(&place, "no");
    assert_eq!(count(&theirs), Frame::Integer(20));
    say(&theirs, "SET order:20 theirs");
    end(theirs, "SHUTDOWN SAVE");
    let server = place.start(&kept("rdb"));
    assert_eq!(count(&server), Frame::Integer(21));
}

#[test]
fn an_append_only_file_that_redis_wrote_anew_is_not_preferred_in_silence() {
    let place = left("rdb");
    let theirs = redis(&place, "yes");
    say(&theirs, "SET order:20 theirs");
    say(&theirs, "BGREWRITEAOF");
    wait_until(|| {
        let info = theirs.client().call(["INFO", "persistence"]).expect("a reply");
        let info = super::text(&info);
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrites:1")
    });
    drop(theirs);
    let (code, refused) = place.ending(&[&kept("rdb")], &[]);
    assert_eq!(code, Some(2), "{refused}");
    assert!(refused.contains("rows of database 0, and so has the append-only file"), "{refused}");
    assert!(refused.contains("move the file away to start without it"), "{refused}");
    // Both ways out.
    let dump = place.data.path().join("dump.rdb");
    let aside = place.own.path().join("dump.rdb");
    fs::rename(&dump, &aside).expect("it is moved");
    let accept = accepted(&place.refusal(&kept("rdb")));
    let server = place.serve(&[&kept("rdb")], &["--accept", &accept]);
    assert_eq!(count(&server), Frame::Integer(1));
    drop(server);
    fs::remove_dir_all(place.data.path().join("appendonlydir")).expect("it is removed");
    fs::copy(&aside, &dump).expect("it is back");
    assert_eq!(count(&place.start(&kept("rdb"))), Frame::Integer(20));
}

#[test]
fn rows_that_only_an_older_snapshot_of_redis_has_are_not_guessed_about() {
    let place = Place::new(true);
    let theirs = redis(&place, "yes");
    say(&theirs, "SET order:1 gone");
    say(&theirs, "SAVE");
    say(&theirs, "DEL order:1");
    std::thread::sleep(Duration::from_millis(1100));
    say(&theirs, "BGREWRITEAOF");
    wait_until(|| {
        let info = theirs.client().call(["INFO", "persistence"]).expect("a reply");
        let info = super::text(&info);
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrites:1")
    });
    drop(theirs);
    let (code, refused) = place.ending(&[], &[]);
    assert_eq!(code, Some(2), "{refused}");
    assert!(refused.contains("which is newer, says nothing of it"), "{refused}");
    // Where the file tells of a database, it is right.
    let theirs = redis(&place, "yes");
    say(&theirs, "SET order:2 there");
    drop(theirs);
    assert_eq!(count(&place.serve(&[], &[])), Frame::Integer(1));
}

#[test]
fn a_snapshot_that_is_missing_is_told() {
    let place = left("rdb");
    let server = place.serve(&[&kept("rdb")], &["--dbfilename", "other.rdb"]);
    assert_eq!(count(&server), Frame::Integer(0));
    assert!(log(&server).contains("leaves its rows to the last snapshot, and there is no"));
    drop(server);
    assert_eq!(count(&place.start(&kept("rdb"))), Frame::Integer(20));
}

#[test]
fn fewer_databases_than_the_snapshot_has_rows_of_are_refused() {
    let place = Place::new(true);
    let schema = kept("rdb").replace("name = \"shop\"", "name = \"shop\"\ndb = 12");
    let server = place.start(&schema);
    let mut client = server.client();
    for words in ["SELECT 12", "SET order:1 x"] {
        client.call(words.split(' ').collect::<Vec<_>>()).expect("a reply");
    }
    end(server, "SHUTDOWN");
    let (code, told) = place.ending(&[], &["--databases", "8"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("the snapshot has a database 12, but there are 8"), "{told}");
    let server = place.start(&schema);
    let mut client = server.client();
    client.call(["SELECT", "12"]).expect("a reply");
    assert_eq!(client.call(["DBSIZE"]).expect("a reply"), Frame::Integer(1));
}
