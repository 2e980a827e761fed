//! Plans of one of several keyspaces of a database: whose patterns are told.

use super::{NOTES, Place, log, text};
use keyward_resp::Frame;
use keyward_testkit::call;

#[test]
fn a_plan_of_one_of_several_keyspaces_tells_of_its_patterns() {
    let place = Place::new(true);
    let other = NOTES.replace("notes", "jobs").replace("note:", "job:");
    let server = place.serve(&[NOTES, &other], &[]);
    let mut client = server.client();
    call(&mut client, "SET job:1 x");
    call(&mut client, "SET note:1 x");
    let day = NOTES.replace("\"none\"", "\"1d\"");
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", "notes", &day]).expect("a plan");
    let patterns = told.as_elements().expect("a map")[7].as_elements().expect("patterns");
    let patterns: Vec<String> =
        patterns.iter().map(|one| text(&one.as_elements().expect("a map")[1])).collect();
    assert_eq!(patterns, ["", "note:{id:uint}"]);
}

#[test]
fn a_plan_of_one_of_several_keyspaces_names_the_patterns_of_others_that_lose_something() {
    let place = Place::new(true);
    let other = r#"
[keyspace]
name = "jobs"
mode = "warn"

[key."job:{id:uint}"]
type = "hash"
ttl = "none"
fields = { state = "on | off" }

[key."jobs:on"]
type = "set"
members = { of = "job:{id}", when = "state = on" }
"#;
    let server = place.serve(&[NOTES, other], &[]);
    let mut client = server.client();
    for command in ["SET note:1 x", "HSET job:1 state on", "SADD jobs:on 9"] {
        call(&mut client, command);
    }
    let told_of = |told: &Frame, at: usize| -> Vec<(String, Frame)> {
        let patterns = told.as_elements().expect("a map")[at].as_elements().expect("patterns");
        let told = patterns.iter().map(|one| {
            let one = one.as_elements().expect("a map");
            let at = one.iter().position(|word| text(word) == "destroyed").expect("a figure");
            (text(&one[1]), one[at + 1].clone())
        });
        told.collect()
    };
    let expected = [("", 0), ("note:{id:uint}", 0), ("jobs:on", 1)]
        .map(|(pattern, count)| (pattern.to_owned(), Frame::Integer(count)));
    let day = NOTES.replace("\"none\"", "\"1d\"");
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", "notes", &day]).expect("a plan");
    assert_eq!(told_of(&told, 7), expected);
    let plan = text(&told.as_elements().expect("a map")[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &plan, "DESTROY", "1"]);
    assert_eq!(told_of(&applied.expect("a reply"), 3), expected);
}

/// A start told of them only where the schema of their own file had changed.
#[test]
fn rows_that_live_too_long_are_told_where_another_file_joins_or_leaves() {
    let lives = |days: &str| NOTES.replace("\"none\"", &format!("\"{days}\""));
    let other = NOTES.replace("notes", "jobs").replace("note:", "job:");
    let line = "Database 0: 1 row lives longer than it may; it is kept.";
    for place in Place::both() {
        let server = place.start(&lives("90d"));
        call(&mut server.client(), "SET note:1 x");
        place.end(server);
        for schemas in [
            &[lives("60d")][..],
            &[lives("60d"), other.clone()],
            &[lives("60d"), other.clone()],
            &[lives("60d")],
        ] {
            let schemas: Vec<&str> = schemas.iter().map(String::as_str).collect();
            let server = place.serve(&schemas, &[]);
            assert!(log(&server).contains(line), "{} files: {}", schemas.len(), log(&server));
            place.end(server);
        }
    }
}
