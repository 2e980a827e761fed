//! One table of what a schema would do to rows, whoever asks: KEYWARD SCHEMA PLAN, a start that is
//! refused and one that observes; and the guard, which stays while rows are observed.

use super::by_hand::{BY_HAND, SHOP, planned, refused, warning};
use super::{Place, accepted, image, log, text};
use keyward_resp::Frame;
use keyward_testkit::{Server, call};
use std::collections::BTreeMap;

type Table = BTreeMap<String, BTreeMap<String, u64>>;

/// The table that a server that observes has logged.
fn observed(server: &Server) -> Table {
    let lines: Vec<String> = log(server)
        .lines()
        .map(|line| line.split_once("# ").map_or(line, |(_, text)| text).to_owned())
        .collect();
    let told = "Database 0: the schema only observes, and none of this was done";
    assert_eq!(lines.iter().filter(|line| *line == told).count(), 1, "{lines:?}");
    refused(&lines.join("\n"))
}

/// What a table of a start has of a plan: patterns that something happens to or is wrong with.
fn as_table(plan: Table) -> Table {
    let names = [
        "keys",
        "destroyed",
        "shortened",
        "dated",
        "built",
        "misfits",
        "conflicts",
        "overlong",
        "evicted",
        "unkept",
    ];
    let mut table = Table::new();
    for (pattern, mut figures) in plan {
        let figure = |name: &str| figures.get(name).copied().unwrap_or(0);
        let undated = figure("redated") - figure("dated") - figure("shortened");
        figures.retain(|name, _| names.contains(&&**name));
        figures.extend((undated > 0).then(|| ("undated".to_owned(), undated)));
        let pattern = if pattern.is_empty() { "(none)".to_owned() } else { pattern };
        if figures.keys().any(|name| name != "keys") {
            table.insert(pattern, figures);
        }
    }
    table
}

/// The text of a schema without one of its keys.
fn without(schema: &str, pattern: &str) -> String {
    let begin = schema.find(&format!("[key.\"{pattern}\"]")).expect("a key");
    let rest = &schema[begin + 1..];
    let end = rest.find("[key.").map_or(schema.len(), |end| begin + 1 + end);
    format!("{}{}", &schema[..begin], &schema[end..])
}

#[test]
fn a_plan_a_refused_start_and_one_that_observes_have_one_table() {
    let day = SHOP.replacen("ttl = \"none\"", "ttl = \"1d\"", 1);
    // The file ends warn, dates rows, or does both; clients took entries away that derived keys
    // lack now.
    for edited in [SHOP, &day, &day.replace("name = \"shop\"", "name = \"shop\"\nmode = \"warn\"")]
    {
        for place in Place::both() {
            let server = place.start(&warning());
            let mut client = server.client();
            for command in BY_HAND.into_iter().chain(["SREM on:paid 4", "ZREM best 1"]) {
                call(&mut client, command);
            }
            let before = image(&mut client);
            let plan = as_table(planned(&mut client, edited));
            place.end(server);
            let told = place.refusal(edited);
            assert_eq!(refused(&told), plan, "{told}");
            assert!(!told.contains("entries of derived keys built\n"), "nothing was: {told}");
            let server = place.serve(&[edited], &["--observe"]);
            assert_eq!(observed(&server), plan, "{}", log(&server));
            assert_eq!(image(&mut server.client()), before);
            place.end(server);
        }
    }
}

#[test]
fn a_derived_pattern_that_is_dropped_is_told_and_asked_for_until_that_is_accepted() {
    let dropped = without(SHOP, "on:{plan}");
    for place in Place::both() {
        let server = place.start(SHOP);
        let mut client = server.client();
        call(&mut client, "HSET user:1 name ada plan paid score 5");
        call(&mut client, "HSET user:2 name bob plan paid score 6");
        let before = image(&mut client);
        let told = client.call(["KEYWARD", "SCHEMA", "PLAN", &dropped]).expect("a plan");
        let plan = text(&told.as_elements().expect("a map")[1]);
        assert_eq!(told.as_elements().expect("a map")[5], Frame::Integer(2));
        place.end(server);
        let option = format!("{plan} DESTROY 2");
        let refusal = place.refusal(&dropped);
        assert_eq!(accepted(&refusal), option);
        for start in 1..=2 {
            let server = place.serve(&[&dropped], &["--observe"]);
            assert_eq!(observed(&server), refused_strangers(&refusal), "start {start}");
            assert_eq!(image(&mut server.client()), before, "start {start}");
            place.end(server);
            assert_eq!(accepted(&place.refusal(&dropped)), option, "start {start}");
        }
        // The schema before is asked about too: nothing was kept of it meanwhile.
        let server = place.serve(&[&dropped], &["--observe"]);
        call(&mut server.client(), "HSET user:3 name eve plan free score 7");
        place.end(server);
        let back = place.refusal(SHOP);
        assert_eq!(refused(&back)["on:{plan}"]["built"], 1, "{back}");
        let words: Vec<&str> = option.split(' ').collect();
        let refused = place.refusal_by(&[&dropped], &[&["--accept"], &words[..]].concat());
        // What user:3 lacks is built now, so it is another plan.
        let option = accepted(&refused);
        let server = place.serve(&[&dropped], &["--accept", &option]);
        let mut client = server.client();
        assert_eq!(call(&mut client, "EXISTS on:paid"), Frame::Integer(0));
        assert_eq!(text(&call(&mut client, "GET by:eve")), "3");
        place.end(server);
        let server = place.start(&dropped);
        assert!(!log(&server).contains("pattern "), "{}", log(&server));
    }
}

/// The table of a refusal, whose rows without a pattern are gone.
fn refused_strangers(refusal: &str) -> Table {
    let table = refused(refusal);
    assert_eq!(table["(none)"]["destroyed"], 2, "{refusal}");
    table
}
