//! Rows that leave the append-only file because `persist` says so: a start asks for them as a plan
//! does, and snapshots have them as soon as they can.

use super::{Place, accepted, fill, log, orders, text};
use keyward_resp::Frame;
use keyward_testkit::{Server, call, wait_until};

const SAVES: [&str; 2] = ["", "3600 100000000"];

fn logged() -> String {
    orders("", "ttl = \"none\"")
}

fn saved() -> String {
    orders("persist = \"rdb\"", "ttl = \"none\"")
}

fn rows(server: &Server) -> Frame {
    call(&mut server.client(), "DBSIZE")
}

#[test]
fn an_edited_file_that_takes_rows_out_of_the_append_only_file_is_asked_about() {
    for saves in SAVES {
        let place = Place::new(true);
        let options = ["--save", saves];
        let server = place.serve(&[&logged()], &options);
        fill(&server, "order:", 20);
        let told = server.client().call(["KEYWARD", "SCHEMA", "PLAN", &saved()]).expect("a plan");
        assert_eq!(told.as_elements().expect("a map")[5], Frame::Integer(20));
        drop(server);
        let refused = place.refusal_by(&[&saved()], &options);
        let line = "20 rows leave the append-only file (persist = \"rdb\") once a snapshot has \
                    them: from then on a crash loses what has changed since the last one";
        assert!(refused.contains(line), "save {saves:?}: {refused}");
        let server = place.serve(&[&logged()], &options);
        assert_eq!(rows(&server), Frame::Integer(20), "a refused start changes nothing");
        drop(server);
        let accept = accepted(&refused);
        let server = place.serve(&[&saved()], &[&options[..], &["--accept", &accept]].concat());
        assert!(log(&server).contains(line), "save {saves:?}: {}", log(&server));
        assert_eq!(rows(&server), Frame::Integer(20));
        // A server with save points saves by itself.
        if saves.is_empty() {
            call(&mut server.client(), "SAVE");
        }
        wait_until(|| place.data.path().join("dump.rdb").exists());
        drop(server);
        let server = place.serve(&[&saved()], &options);
        assert_eq!(rows(&server), Frame::Integer(20), "save {saves:?}");
    }
}

#[test]
fn rows_that_an_applied_schema_takes_out_of_the_append_only_file_are_saved_first() {
    let place = Place::new(true);
    let server = place.start(&logged());
    fill(&server, "order:", 20);
    let mut client = server.client();
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", &saved()]).expect("a plan");
    let plan = text(&told.as_elements().expect("a map")[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &plan, "DESTROY", "20"]);
    assert!(!matches!(applied.expect("a reply"), Frame::Error(_)));
    wait_until(|| log(&server).contains("Background saving terminated with success"));
    let log = log(&server);
    let end_of_rewriting = log.find("Background AOF rewrite finished successfully");
    let end_of_saving = log.find("Background saving terminated with success");
    assert!(end_of_rewriting.is_none_or(|end| Some(end) > end_of_saving), "{log}");
    drop(server);
    assert_eq!(rows(&place.start(&saved())), Frame::Integer(20));
}
