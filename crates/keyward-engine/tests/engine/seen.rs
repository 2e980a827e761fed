//! What of a keyspace can be asked for: rows that do not fit, refusals, figures.

use crate::shop::Shop;
use std::collections::BTreeSet;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
[key."user:{id:uint}".fields]
age = "uint"
token = { type = "string?", secret = true }
email = "str?"

[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }

[key."note:{id:uint}"]
type = "string"
ttl = "1h"
value = "uint"
"#;

/// The texts of a reply, line by line, without what the protocol adds.
fn texts(reply: &str) -> Vec<&str> {
    reply.split(' ').filter(|word| !word.starts_with(['*', '$'])).collect()
}

/// The keys of all rows that do not fit, page by page.
fn misfits(shop: &mut Shop, count: &str) -> Vec<Vec<String>> {
    let mut cursor = "0".to_owned();
    let mut pages = Vec::new();
    loop {
        let page = shop.words(&["KEYWARD", "MISFITS", "CURSOR", &cursor, "COUNT", count]);
        let words = texts(&page);
        cursor = words[0].to_owned();
        let keys = words.windows(2).filter(|pair| pair[0] == "key").map(|pair| pair[1].to_owned());
        pages.push(keys.collect());
        if cursor == "0" {
            return pages;
        }
    }
}

#[test]
fn one_call_lists_a_bounded_number_of_misfits_whatever_it_asks_for() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[("KEYWARD MODE warn", "+OK")]);
    for id in 0..3000 {
        shop.call(&format!("SET note:{id} x{id}"));
    }
    for count in ["3000", "9223372036854775807"] {
        let pages = misfits(&mut shop, count);
        let longest = pages.iter().map(Vec::len).max().unwrap_or(0);
        assert!((100..120).contains(&longest), "{longest} rows in a page");
        let seen: BTreeSet<&String> = pages.iter().flatten().collect();
        assert_eq!(seen.len(), 3000);
    }
    // Those that are passed over count too, though there may be more of them.
    shop.check(&[("HSET user:7 age old", ":1")]);
    let first = shop.call("KEYWARD MISFITS user:{id:uint} COUNT 3000");
    assert_ne!(texts(&first)[0], "0", "{first}");
}

#[test]
fn rows_that_do_not_fit_are_listed_with_their_reasons_page_by_page() {
    let mut shop = Shop::new(1, &SCHEMA.replace("secret = true", "secret = false"));
    shop.check(&[("KEYWARD MODE warn", "+OK")]);
    for id in 0..500 {
        shop.call(&format!("SET note:{id} x{id}"));
    }
    shop.check(&[
        ("HSET user:7 age old", ":1"),
        ("HSET user:8 age 8 email a@x", ":2"),
        ("HSET user:9 age 9 email a@x", ":2"),
    ]);
    let pages = misfits(&mut shop, "20");
    let seen: BTreeSet<&String> = pages.iter().flatten().collect();
    assert_eq!(seen.len(), 502, "{seen:?}");
    assert!(pages.len() >= 20, "{} pages", pages.len());
    let users = shop.call("KEYWARD MISFITS user:{id:uint} COUNT 1000");
    assert!(users.contains("age must be a whole number not below zero, not \"old\""), "{users}");
    assert!(users.contains("user:9: email belongs to 8 already"), "{users}");
    assert!(!users.contains("note:"), "{users}");
    let one = shop.call("KEYWARD MISFITS user:7");
    assert!(one.starts_with("*2 $1 0 *1 ") && one.contains("user:7"), "by a key: {one}");
    shop.check(&[
        ("KEYWARD MISFITS user:8", "*2 $1 0 *0"),
        ("KEYWARD MISFITS user:1", "*2 $1 0 *0"),
    ]);
    assert!(shop.call("KEYWARD MISFITS no* COUNT 1000").contains("note:"), "by a glob");
    shop.check(&[
        ("HSET user:7 age 7", ":0"),
        ("DEL user:9", ":1"),
        ("KEYWARD MISFITS user:{id:uint} COUNT 1000", "*2 $1 0 *0"),
        ("KEYWARD MISFITS nothing", "-ERR no such pattern"),
        ("KEYWARD MISFITS note:1 x", "-ERR syntax error"),
        ("KEYWARD MISFITS COUNT 0", "-ERR syntax error"),
        ("KEYWARD MISFITS CURSOR x", "-ERR invalid cursor"),
    ]);
}

#[test]
fn reasons_say_what_was_found_in_fields_that_are_not_secret() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[("KEYWARD MODE warn", "+OK"), ("HSET user:7 age hunter2", ":1")]);
    let told = shop.call("KEYWARD MISFITS");
    assert!(told.contains("user:7: age must be a whole number not below zero"), "{told}");
    assert!(told.contains("not \"hunter2\""), "{told}");
}

#[test]
fn the_last_refusals_of_each_pattern_are_kept_without_secrets() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.call("CLIENT SETNAME till");
    for n in 0..40 {
        shop.call(&format!("SET note:{n} x"));
    }
    shop.call("HSET user:1 age old token hunter2");
    shop.check(&[("MULTI", "+OK")]);
    assert!(shop.call("SET note:77 queued").starts_with("-SCHEMA"), "it is refused at once");
    shop.call("DISCARD");
    let all = shop.call("KEYWARD REFUSALS COUNT 100");
    assert!(all.starts_with("*17 "), "16 of one pattern, one of the other: {all}");
    assert!(!all.contains("hunter2") && all.contains("(redacted)"), "{all}");
    let newest = shop.call("KEYWARD REFUSALS COUNT 1");
    let expected = "outcome $7 refused $7 pattern $14 note:{id:uint}";
    assert!(
        newest.starts_with("*1 *18 $2 id :41 $5 count :1 $4 time :1700000000000 $7 "),
        "{newest}"
    );
    assert!(newest.contains(expected) && newest.contains("name $4 till"), "{newest}");
    assert!(newest.contains("command *3 $3 SET $7 note:77 $"), "{newest}");
    shop.check(&[("KEYWARD MODE warn", "+OK"), ("SET note:5 passes", "+OK")]);
    let warned = shop.call("KEYWARD REFUSALS note:5 COUNT 1");
    assert!(warned.contains("outcome $6 warned"), "{warned}");
    assert!(shop.call("KEYWARD REFUSALS user:* COUNT 9").starts_with("*1 "));
    shop.check(&[
        ("KEYWARD REFUSALS by_email:{email}", "*0"),
        ("KEYWARD REFUSALS COUNT -1", "-ERR syntax error"),
        ("KEYWARD REFUSALS COUNT 0", "*0"),
    ]);
}

#[test]
fn an_error_of_redis_is_no_refusal() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[("SET note:1 1", "+OK")]);
    let reply = shop.call("HSET note:1 age old");
    assert!(reply.starts_with("-WRONGTYPE"), "{reply}");
    shop.check(&[("KEYWARD REFUSALS", "*0")]);
    assert!(shop.call("KEYWARD STATS note:1").contains("refused :0"));
}

#[test]
fn figures_are_told_of_a_pattern_a_key_and_a_glob() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[("SET note:1 1", "+OK"), ("SET stranger 1", "+OK")]);
    let of_pattern = shop.call("KEYWARD STATS note:{id:uint}");
    assert!(of_pattern.contains("keys :1"), "{of_pattern}");
    assert_eq!(shop.call("KEYWARD STATS note:1"), of_pattern);
    assert!(shop.call("KEYWARD STATS *:{*").starts_with("*3 *64 "), "all patterns");
    assert!(shop.call("KEYWARD STATS no*").starts_with("*1 *64 "), "a list, if of one");
    assert!(shop.call("KEYWARD STATS").starts_with("*4 "));
    shop.check(&[("KEYWARD STATS nothing", "-ERR no such pattern")]);
    let strangers = shop.words(&["KEYWARD", "STATS", ""]);
    assert!(strangers.contains("keys :1"), "{strangers}");
    let info = shop.test.call(shop.client, "INFO patterns");
    assert!(info.contains("\r\ndb0_unknown:pattern=,keys=1,"), "{info}");
}

/// What `KEYWARD EXPIRING` says: its figures by name, then seconds, keys and bytes.
fn endings(
    shop: &mut Shop,
    of: &[&str],
) -> (std::collections::BTreeMap<String, u64>, Vec<[u64; 3]>) {
    let reply = shop.words(&[&["KEYWARD", "EXPIRING"], of].concat());
    let (figures, within) = reply.split_once("within *37 ").unwrap_or_else(|| panic!("{reply}"));
    let words = texts(figures);
    let figure = |pair: &[&str]| (pair[0].to_owned(), number(pair[1]));
    let figures = words.chunks_exact(2).map(figure).collect();
    let numbers: Vec<u64> =
        within.split(' ').filter(|word| word.starts_with(':')).map(number).collect();
    (figures, numbers.as_chunks::<3>().0.to_vec())
}

fn number(word: &str) -> u64 {
    word.trim_start_matches(':').parse().unwrap_or_else(|_| panic!("no number: {word}"))
}

#[test]
fn how_many_keys_end_when_is_told_exactly_by_the_end_of_each() {
    const LIVES: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"
[key."lease:{id:uint}"]
type = "string"
ttl = { given = true, max = "90d", default = "2h" }
[key."note:{id:uint}"]
type = "string"
ttl = "none"
[key."grant:{lease_id:uint}:{n:uint}"]
type = "string"
ttl = { with = "lease:{lease_id}" }
"#;
    let mut shop = Shop::new(1, LIVES);
    let minute = 60;
    // A moment before a bound, at it, and behind it; far away; for ever.
    for (id, seconds) in
        [1, 5 * minute, 5 * minute + 1, 61 * minute, 48 * 60 * minute, 60 * 24 * 60 * minute]
            .into_iter()
            .enumerate()
    {
        shop.check(&[(&*format!("SET lease:{id} x EX {seconds}"), "+OK")]);
    }
    shop.check(&[
        ("SET note:1 x", "+OK"),
        ("SET grant:3:1 x", "+OK"),
        ("SET stray x EX 30", "+OK"),
    ]);
    let (all, within) = endings(&mut shop, &[]);
    let counts: Vec<[u64; 2]> =
        within.iter().filter(|it| it[1] > 0).map(|[within, keys, _]| [*within, *keys]).collect();
    assert_eq!(counts, [[300, 3], [600, 1], [7200, 2], [604_800, 1]], "{within:?}");
    assert_eq!((within[11][0], within[12][0], within[34][0]), (3600, 7200, 86_400));
    assert_eq!((all["keys"], all["none_keys"], all["later_keys"], all["exact"]), (9, 1, 1, 1));
    let bytes: u64 = within.iter().map(|it| it[2]).sum();
    let sum = bytes + all["none_bytes"] + all["later_bytes"];
    assert!(sum.abs_diff(all["bytes"]) < 40, "{sum} of {all:?}");
    // Of one pattern, of a key of it, of a glob; time goes on.
    for of in ["lease:{id:uint}", "lease:77", "lease*"] {
        assert_eq!(endings(&mut shop, &[of]).0["keys"], 6, "{of}");
    }
    assert_eq!(endings(&mut shop, &[""]).0["keys"], 1, "keys without a pattern");
    // What is due counts until it is removed.
    shop.test.pass(minute * 1000 * 4 + 500);
    assert_eq!(endings(&mut shop, &["lease:{id:uint}"]).1[0][1], 3);
    shop.test.tick();
    let (_, within) = endings(&mut shop, &["lease:{id:uint}"]);
    assert_eq!(within[0][1], 2, "{within:?}");
    shop.check(&[
        ("KEYWARD EXPIRING nothing", "-ERR no such pattern"),
        ("KEYWARD EXPIRING lease:1 x", "-ERR syntax error"),
    ]);
}
