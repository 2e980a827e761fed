//! What a start says: the table of a schema that only observes, at every start; keys without a
//! pattern, by database; findings by the text that they are of.

use super::{NOTES, Place, accepted, log, text};
use keyward_resp::Frame;
use keyward_testkit::{Server, call};

/// A data directory with what a Redis saved: notes without an end, and a stranger.
fn foreign() -> Place {
    let place = Place::new(false);
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    call(&mut theirs.client(), "MSET note:1 a note:2 b stranger 1");
    call(&mut theirs.client(), "SAVE");
    place
}

fn day() -> String {
    NOTES
        .replace("name = \"notes\"", "name = \"notes\"\nunknown = \"allow\"")
        .replace("ttl = \"none\"", "ttl = \"1d\"")
}

/// The lines of tables in a log, with those before them that say what they are about.
fn tables(told: &str) -> Vec<String> {
    let lines = told.lines().map(|line| line.split_once("# ").map_or(line, |(_, text)| text));
    let is_table = |line: &&str| {
        line.starts_with("  ")
            || line.starts_with("Database 0") && line.contains("observes")
            || line.starts_with("Database 0, /")
    };
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    lines.filter(is_table).map(words).collect()
}

const FIGURES: [&str; 3] = ["pattern keys dated", "(no pattern) 1 0", "note:{id:uint} 2 2"];
const NOT_DONE: &str = "Database 0: the schema only observes, and none of this was done";

#[test]
fn every_start_that_observes_logs_what_the_schema_would_do() {
    let place = foreign();
    let observing = day().replace("\"notes\"", "\"notes\"\nmode = \"observe\"");
    let by_option = |place: &Place| place.serve(&[&day()], &["--observe"]);
    let by_file = |place: &Place| place.start(&observing);
    let kinds: [&dyn Fn(&Place) -> Server; 2] = [&by_option, &by_file];
    for start in kinds {
        let place = foreign();
        for number in 1..=3 {
            let server = start(&place);
            let told = tables(&log(&server));
            assert!(told[0].starts_with("Database 0, /"), "start {number}: {told:?}");
            let says = match number {
                1 => "the rows come from elsewhere, or were there before any schema.",
                _ => "what this schema, which only observes, would do to its rows.",
            };
            assert!(told[0].ends_with(says), "start {number}: {told:?}");
            assert_eq!(told[1..4], FIGURES, "start {number}: {told:?}");
            assert_eq!(told[4..], [NOT_DONE], "start {number}: {told:?}");
            assert_eq!(call(&mut server.client(), "TTL note:1"), Frame::Integer(-1));
            place.end(server);
        }
    }
    // Where nothing would change, nothing is said.
    let server = place.serve(&[&day().replace("\"1d\"", "\"none\"")], &["--observe"]);
    assert_eq!(tables(&log(&server)), Vec::<String>::new(), "{}", log(&server));
}

/// A plan that was told before a start that observes is the one that is accepted after it.
#[test]
fn observing_leaves_the_name_of_a_plan_as_it_was_and_tells_it() {
    let listed =
        format!("{}[key.\"notes\"]\ntype = \"set\"\nmembers = {{ of = \"note:{{id}}\" }}\n", day());
    let of_redis = (foreign(), &listed);
    // Under another schema before: the set of this one goes.
    let unlisted = day();
    let governed = (foreign(), &unlisted);
    let told = accepted(&governed.0.refusal(&listed));
    governed.0.end(governed.0.serve(&[&listed], &["--accept", &told]));
    for (place, schema) in [of_redis, governed] {
        let plan = accepted(&place.refusal(schema));
        for number in 1..=3 {
            let server = place.serve(&[schema], &["--observe"]);
            let told = log(&server);
            let line = "Database 0: to have it done, start without --observe and with --accept ";
            let named = told.lines().filter_map(|it| it.split_once(line).map(|(_, plan)| plan));
            assert_eq!(named.collect::<Vec<_>>(), [plan.as_str()], "start {number}: {told}");
            place.end(server);
        }
        let server = place.serve(&[schema], &["--accept", &plan]);
        assert!(log(&server).contains("rows "), "{}", log(&server));
        assert_ne!(call(&mut server.client(), "TTL note:1"), Frame::Integer(-1));
        place.end(server);
    }
}

#[test]
fn a_start_under_the_schema_from_before_observing_does_not_speak_of_another() {
    let place = Place::new(true);
    let warning = day().replace("\"notes\"", "\"notes\"\nmode = \"warn\"");
    let server = place.start(&warning);
    for command in ["SET note:1 a", "PERSIST note:1"] {
        let reply = call(&mut server.client(), command);
        assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    }
    drop(server);
    drop(place.serve(&[NOTES], &["--observe"]));
    let refused = place.refusal(&warning);
    let origin = "this schema governed these rows until they were only observed.\n  pattern";
    assert!(refused.contains(origin), "{refused}");
    let other = place.refusal(&warning.replace("1d", "2d"));
    assert!(other.contains("another schema governed these rows.\n"), "{other}");
    let server = place.serve(&[&warning], &["--accept", &accepted(&refused)]);
    assert_ne!(call(&mut server.client(), "TTL note:1"), Frame::Integer(-1));
}

#[test]
fn the_end_of_observing_has_one_table_and_it_is_the_right_one() {
    let place = foreign();
    let listed =
        format!("{}[key.\"notes\"]\ntype = \"set\"\nmembers = {{ of = \"note:{{id}}\" }}\n", day());
    place.end(place.serve(&[&listed], &["--observe"]));
    let refused = place.refusal(&listed);
    assert_eq!(refused.matches("  pattern ").count(), 1, "the log is shown too: {refused}");
    assert_eq!(refused.matches("another schema governed these rows").count(), 1, "{refused}");
    assert!(!refused.contains("elsewhere") && !refused.contains("only observes"), "{refused}");
    let server = place.serve(&[&listed], &["--accept", &accepted(&refused)]);
    let told = log(&server);
    assert!(!told.contains("elsewhere") && !told.contains("only observes"), "{told}");
    let line = "by the schema that came: 2 rows dated, 2 entries of derived keys built";
    assert!(told.contains(line), "{told}");
}

#[test]
fn keys_without_a_pattern_are_counted_by_every_start_and_database() {
    let jobs = |db: usize| {
        NOTES
            .replace("\"notes\"", &format!("\"jobs{db}\"\ndb = {db}\nunknown = \"warn\""))
            .replace("note:", "job:")
    };
    let with_notes = |text: String| text + &NOTES[NOTES.find("[key.").expect("a key")..];
    for place in Place::both() {
        let server = place.serve(&[&with_notes(jobs(0)), &with_notes(jobs(3))], &[]);
        assert!(!log(&server).contains("match no pattern"), "{}", log(&server));
        let mut client = server.client();
        for command in
            ["MSET job:1 x note:1 x note:2 x", "SET stray x", "SELECT 3", "MSET note:7 x job:1 x"]
        {
            assert_eq!(text(&call(&mut client, command)), "OK", "{command}");
        }
        place.end(server);
        // Two patterns are gone from the files: no row changes, and the log tells.
        let server = place.serve(&[&jobs(0), &jobs(3)], &[]);
        let told = log(&server);
        let first = "Database 0: 3 keys match no pattern (unknown = \"warn\"), 2 of which matched \
                     one of the schema before; KEYWARD UNKNOWN groups them by their form";
        let second = "Database 3: 1 key matches no pattern (unknown = \"warn\"), 1 of which \
                      matched one of the schema before;";
        assert!(told.contains(first) && told.contains(second), "{told}");
        place.end(server);
        let server = place.serve(&[&jobs(0), &jobs(3)], &[]);
        let told = log(&server);
        let first = "Database 0: 3 keys match no pattern (unknown = \"warn\"); KEYWARD";
        let second = "Database 3: 1 key matches no pattern (unknown = \"warn\"); KEYWARD";
        assert!(told.contains(first) && told.contains(second), "{told}");
        place.end(server);
    }
}

#[test]
fn findings_of_the_schema_before_are_not_told_by_lines_of_the_edited_file() {
    for place in Place::both() {
        let warning = NOTES.replace("\"none\"", "\"none\"\nmode = \"warn\"\nmax_size = 3");
        let server = place.start(&warning);
        call(&mut server.client(), "SET note:1 too-long");
        place.end(server);
        // Nothing is too long any more, and the key stands elsewhere in the file.
        let edited =
            format!("# one\n# more\n{}", NOTES.replace("\"none\"", "\"none\"\nmax_size = 20"));
        let server = place.start(&edited);
        let told = log(&server);
        let found: Vec<&str> = told.lines().filter(|line| line.contains("SCHEMA note:1")).collect();
        assert!(
            found.iter().all(|line| line.ends_with("s0.toml as it came with the data:5)")),
            "{told}"
        );
        assert!(
            call(&mut server.client(), "KEYWARD MISFITS").as_elements().expect("two")[1]
                .as_elements()
                .expect("rows")
                .is_empty()
        );
        place.end(server);
        // What it finds itself is told by its own lines.
        let narrow = edited.replace("max_size = 20", "mode = \"warn\"\nmax_size = 2");
        let server = place.start(&narrow);
        let told = log(&server);
        let found: Vec<&str> = told.lines().filter(|line| line.contains("SCHEMA note:1")).collect();
        assert_eq!(found.len(), 1, "{told}");
        assert!(found[0].ends_with("s0.toml:7)"), "{told}");
        place.end(server);
    }
}

#[test]
fn what_observing_would_take_out_of_derived_keys_of_a_dump_is_listed() {
    let place = Place::new(false);
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    for command in ["SET note:1 a", "SADD notes 1 77", "SAVE"] {
        call(&mut theirs.client(), command);
    }
    drop(theirs);
    let listed = format!(
        "{}[key.\"notes\"]\ntype = \"set\"\nmembers = {{ of = \"note:{{id}}\" }}\n",
        NOTES.replace("\"notes\"", "\"notes\"\nunknown = \"allow\"")
    );
    let server = place.serve(&[&listed], &["--observe"]);
    let told = format!("{:?}", call(&mut server.client(), "KEYWARD MISFITS"));
    assert!(told.contains("notes: holds what its sources do not demand: 77 (note:77)"), "{told}");
    assert!(log(&server).contains("1 row does not fit; it is kept (derived keys among them"));
}

#[test]
fn an_acceptance_that_does_not_match_is_told_with_what_differs() {
    let place = foreign();
    let listed =
        format!("{}[key.\"notes\"]\ntype = \"set\"\nmembers = {{ of = \"note:{{id}}\" }}\n", day());
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    call(&mut theirs.client(), "SADD notes 7 8");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let option = accepted(&place.refusal(&listed));
    let (plan, _) = option.split_once(' ').expect("what it destroys");
    for (given, differs) in [
        ("123456789abc", format!("no plan here is called 123456789abc; {plan} was not accepted")),
        (plan, format!("{plan} destroys 2, and no DESTROY stands behind it")),
        (&format!("{plan} DESTROY 1"), format!("{plan} destroys 2, which is more than 1")),
    ] {
        let words: Vec<&str> = given.split(' ').collect();
        let told = place.refusal_by(&[&listed], &[&["--accept"], &words[..]].concat());
        let line = format!("What was accepted, {given}, is not this: {differs}");
        assert!(told.lines().any(|own| own == line), "{line}\n{told}");
    }
    assert!(!place.refusal(&listed).contains("What was accepted"));
}

/// What the next write or use takes from rows is asked for, though the start itself changes none.
#[test]
fn bounds_that_cut_rows_later_and_ends_that_come_nearer_are_asked_for() {
    let place = Place::new(false);
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    call(&mut theirs.client(), "RPUSH cart:1 a b c d e");
    call(&mut theirs.client(), "SET page:1 x EX 90000");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let schema = "[keyspace]\nname = \"shop\"\n\
                  [key.\"cart:{id:uint}\"]\ntype = \"list\"\nmax_len = 2\n\
                  [key.\"page:{id:uint}\"]\ntype = \"string\"\n\
                  ttl = { after = \"1h\", renew = \"access\" }\n";
    let refused = place.refusal(schema);
    let row = |pattern: &str| {
        let line = refused.lines().find(|line| line.trim_start().starts_with(pattern));
        line.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let heads = row("pattern ").expect("a table");
    let of = |pattern: &str, head: &str| {
        let at = heads.iter().position(|it| it == head).expect("a column");
        row(pattern).expect("a line")[at].clone()
    };
    assert_eq!(of("cart:", "cut_later"), "1", "{refused}");
    assert_eq!(of("page:", "shortened_later"), "1", "{refused}");
    // Nor does it come by a change of modes.
    let server = place.serve(&[schema], &["--observe"]);
    let mut client = server.client();
    let Ok(Frame::Error(told)) = client.call(["KEYWARD", "MODE", "enforce"]) else {
        panic!("it was switched");
    };
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(told.contains("SCHEMA this mode would change rows"), "{told}");
    assert!(told.contains("cart:{id:uint}: 1 row with more elements than it may have"), "{told}");
    assert_eq!(call(&mut client, "LLEN cart:1"), Frame::Integer(5));
    place.end(server);
    let server = place.serve(&[schema], &["--accept", &accepted(&refused)]);
    let told = log(&server);
    assert!(told.contains("of which its next write drops the rest"), "{told}");
    assert!(told.contains("1 row that gets a nearer end by its next use"), "{told}");
    let mut client = server.client();
    assert_eq!(call(&mut client, "LLEN cart:1"), Frame::Integer(5));
    call(&mut client, "RPUSH cart:1 f");
    assert_eq!(call(&mut client, "LLEN cart:1"), Frame::Integer(2));
}
