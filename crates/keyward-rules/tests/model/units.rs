//! Units: what a command leaves wrong is judged at the unit's end, against a naive judge that
//! looks at all rows there are then and knows nothing of what happened before.

use std::collections::{BTreeMap, BTreeSet};

use keyward_rules::{Element, Holds, Row, RowType};
use keyward_schema::Derived;
use keyward_testkit::Random;

use crate::SCHEMA;
use crate::host::{Host, Outcome};
use crate::keyspace::{Bytes, Keyspace, Stored};
use crate::random::{command, computed_keys_are_true, rows_are_sound};

/// How many units each seed runs.
const UNITS: usize = 700;
const SEEDS: u64 = 4;

#[test]
fn a_unit_stands_exactly_if_all_rows_are_right_at_its_end() {
    let (mut stood, mut mended, mut undone, mut open) = (0, 0, 0, 0);
    for seed in 1..=SEEDS {
        let mut host = Host::new(SCHEMA);
        let mut random = Random::new(seed);
        for step in 0..UNITS {
            let before = host.keyspace.clone();
            host.begin_unit();
            let commands: Vec<Vec<Bytes>> = (0..1 + random.below(2))
                .flat_map(|_| match random.below(3) {
                    0 => recipe(&mut random, &host),
                    _ => vec![unit_command(&mut random, &host)],
                })
                .collect();
            let done: Vec<&Vec<Bytes>> =
                commands.iter().filter(|it| host.run_words(it) == Outcome::Done).collect();
            let written: BTreeSet<&Bytes> = done.iter().flat_map(|it| &it[1..]).collect();
            let (wrong, is_open) = what_is_wrong(&host, &before, &written);
            let (refusal, deferred) = host.end_unit();
            let told = || {
                let words = |command: &Vec<Bytes>| {
                    String::from_utf8_lossy(&command.join(&b' ')).into_owned()
                };
                let commands: Vec<String> = commands.iter().map(words).collect();
                format!("seed {seed}, step {step}: {commands:#?}\n{refusal:?}\n{wrong:#?}")
            };
            assert!(is_open || refusal.is_some() != wrong.is_empty(), "{}", told());
            open += usize::from(is_open);
            if refusal.is_some() {
                host.keyspace = before;
                undone += 1;
            } else if deferred > 0 {
                mended += 1;
            } else {
                stood += 1;
            }
            if random.below(4) == 0 {
                host.wait(random.below(1500) as i64);
            }
            computed_keys_are_true(&host, &told);
            rows_are_sound(&host, &told);
            assert!(host.warnings.is_empty(), "{}: {:?}", told(), host.warnings);
        }
    }
    let all = (stood, mended, undone, open);
    assert!(stood > UNITS && mended > UNITS / 10 && undone > UNITS / 4, "{all:?}");
    assert!(open < UNITS / 20, "{all:?}");
}

/// Commands in the wrong order, which come to something right where nobody is in the way.
fn recipe(random: &mut Random, host: &Host) -> Vec<Vec<Bytes>> {
    let (a, b) = (random.below(3), random.below(3));
    let whole = format!("HSET user:{a} status active plan gold email m{b}");
    let doc = format!("SET doc:{a} {{\"kind\":\"text\",\"ends\":{}}}", host.now_ms + 5_000);
    let lines = match random.below(8) {
        0 => vec![format!("ZADD recent:{a} 1 {b}"), format!("SET msg:{a}:{b} x")],
        1 => vec![format!("HSET user:{a} plan gold"), format!("HSET user:{a} status active")],
        2 => vec![format!("SADD active {a}"), format!("SET by_email:m{b} {a}"), whole],
        3 => vec![format!("SADD notes:{a} {b}"), format!("SET note:{a}:{b} t"), doc],
        4 => vec![
            format!("SET code:{a} c{b}"),
            format!("SET code:{b} c{a}"),
            format!("SET code:{} x", 3 - a.min(b)),
        ],
        5 => vec![format!("HDEL user:{a} status"), whole],
        6 => {
            vec![format!("HSET stock:{a} most 10 left -1"), format!("HSET stock:{a} left 1 most 9")]
        }
        _ => vec![format!("SET owner:c{b} {a}"), format!("SET code:{a} c{b}")],
    };
    lines.iter().map(|line| line.split(' ').map(Into::into).collect()).collect()
}

/// A command as others are, or one that leaves something for others to mend.
fn unit_command(random: &mut Random, host: &Host) -> Vec<Bytes> {
    let few = |random: &mut Random| random.below(3);
    let (a, b) = (few(random), few(random));
    let status = *random.pick(&["active", "closed"]);
    let text = match random.below(40) {
        0 => format!("HSET user:{a} status {status}"),
        1 | 2 => format!("HSET user:{a} plan gold"),
        3 => format!("HSET user:{a} email m{b}"),
        4 => format!("HDEL user:{a} status"),
        5 => format!("SET owner:c{a} {b}"),
        6 => format!("SADD active {a}"),
        7 => format!("SREM active {a}"),
        8 => format!("SET code:{a} c{b}"),
        9 => format!("SET by_email:m{a} {b}"),
        10 => format!("RENAME user:{a} user:{b}"),
        11 => format!("SET note:{a}:{b} t"),
        12 => format!("SADD notes:{a} {b}"),
        13 => format!("ZADD seen {b} {a}"),
        14 => format!("DEL owner:c{a}"),
        15 => format!("HSET stock:{a} left {}", b as i64 - 1),
        16 => format!("HSET stock:{a} most 1{b}"),
        17 => format!("HDEL stock:{a} left"),
        _ => return command(random, host.now_ms),
    };
    text.split(' ').map(Into::into).collect()
}

/// All that is wrong with the rows at the end of a unit, given which words its commands had; and
/// whether they alone do not decide it.
fn what_is_wrong(
    host: &Host,
    before: &Keyspace,
    written: &BTreeSet<&Bytes>,
) -> (Vec<String>, bool) {
    let mut wrong = Vec::new();
    let mut demands: BTreeMap<(Bytes, Bytes), Holds> = BTreeMap::new();
    let mut owners: BTreeMap<Bytes, Bytes> = BTreeMap::new();
    for (key, row) in &host.keyspace.rows {
        let Some(table) = host.book.table_of(key) else { continue };
        let shown = key.escape_ascii();
        if host.book.traits(table).is_computed {
            continue;
        }
        wrong.extend(host.book.misfit_of(table, key, row).map(|misfit| misfit.to_string()));
        if let Some(leader) = host.book.leader(table, key)
            && !host.keyspace.rows.contains_key(&leader)
        {
            wrong.push(format!("{shown} has no leader"));
        }
        if let Some(Derived::Follows { of }) = &host.book.schema().key(table).derived {
            row.each(&mut |element| {
                let (Element::Member(member) | Element::Scored(member, _)) = element else {
                    return;
                };
                let named = host.book.referred(table, key, of, member);
                if !named.is_some_and(|named| host.keyspace.rows.contains_key(&named)) {
                    wrong.push(format!("{shown} names a stranger"));
                }
            });
        }
        for entry in host.book.entries_of(table, key, row) {
            if entry.holds == Holds::Text
                && let Some(owner) = owners.insert(entry.key.clone(), entry.member.clone())
                && owner != entry.member
            {
                wrong.push(format!("{shown} is not the only one"));
            }
            if host.book.traits(entry.table).is_computed {
                demands.insert((entry.key, entry.member), entry.holds);
            }
        }
    }
    let (contradictions, is_open) = contradictions(host, before, written, &demands);
    let is_open = is_open && wrong.is_empty() && contradictions.is_empty();
    wrong.extend(contradictions);
    (wrong, is_open)
}

/// What computed keys hold that is not what sources demand. A unique value that has become free
/// is given to its owner at the end, unless a client took it from that: of a key that clients
/// wrote to, whose owner was another before, the rows do not tell.
fn contradictions(
    host: &Host,
    before: &Keyspace,
    written: &BTreeSet<&Bytes>,
    demands: &BTreeMap<(Bytes, Bytes), Holds>,
) -> (Vec<String>, bool) {
    let mut wrong = Vec::new();
    let mut is_open = false;
    let mut held: BTreeMap<(Bytes, Bytes), Holds> = BTreeMap::new();
    for (key, row) in &host.keyspace.rows {
        let is_computed = |table| host.book.traits(table).is_computed;
        if host.book.table_of(key).is_some_and(is_computed) {
            held.extend(elements(row).into_iter().map(|(it, holds)| ((key.clone(), it), holds)));
        }
    }
    for (element, holds) in &held {
        // A row tells of its text, not of who may demand it.
        let demanded = demands.get(element).map(|holds| match holds {
            Holds::Value => Holds::Text,
            other => *other,
        });
        if demanded != Some(*holds) {
            wrong.push(format!("{} is held, though not demanded", element.0.escape_ascii()));
        }
    }
    for ((key, member), holds) in demands {
        if held.contains_key(&(key.clone(), member.clone())) {
            continue;
        }
        let owned = before.rows.get(key).and_then(|row| row.text());
        let is_same_owner = *holds != Holds::Text || owned.as_deref() == Some(member);
        match written.contains(key) {
            true if is_same_owner => {
                wrong.push(format!("{} is demanded, not held", key.escape_ascii()));
            }
            true => is_open = true,
            false => assert_eq!(*holds, Holds::Text, "{} was let go", key.escape_ascii()),
        }
    }
    (wrong, is_open)
}

fn elements(row: &Stored) -> Vec<(Bytes, Holds)> {
    let mut elements = Vec::new();
    if row.row_type() == RowType::String {
        elements.extend(row.text().map(|text| (text.into_owned(), Holds::Text)));
    }
    row.each(&mut |element| match element {
        Element::Member(member) => elements.push((member.to_vec(), Holds::Member)),
        Element::Scored(member, score) => elements.push((member.to_vec(), Holds::Score(score))),
        Element::Field(..) | Element::Item(_) | Element::Entry(_) => {}
    });
    elements
}

/// Runs units one after the other; each stands or is refused with this text.
#[track_caller]
fn check(before: &[&str], unit: &[&str], expected: Option<&str>) -> Host {
    let mut host = Host::new(SCHEMA);
    for command in before {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    let rows = host.keyspace.rows.clone();
    assert_eq!(host.run_unit(unit).as_deref(), expected, "{unit:?}");
    if expected.is_some() {
        assert_eq!(host.keyspace.rows, rows, "{unit:?} leaves nothing behind");
    }
    host
}

const ANN: &str = "HSET user:1 email ann@x status active plan gold";
const BOB: &str = "HSET user:2 email bob@x status active plan free";

#[test]
fn what_is_complete_at_the_end_may_come_in_any_order() {
    let host = check(&[], &["ZADD recent:1 5 7", "SET msg:1:7 hello"], None);
    assert_eq!(host.shown("recent:1"), "7=5");
    let host = check(&[], &["HSET user:1 plan gold", "HSET user:1 status active"], None);
    assert_eq!(host.shown("active:gold"), "1");
    let doc = "SET doc:1 {\"ends\":1005000,\"kind\":\"text\"}";
    let host = check(&[], &["SADD notes:1 5", "SET note:1:5 hi", doc], None);
    assert_eq!(host.row("note:1:5").and_then(|row| row.deadline), Some(1_005_000));
    assert_eq!((host.shown("notes:1"), host.shown("note_of:hi")), ("5".into(), "5".into()));
    let host = check(&[], &["HSET stock:1 left -1 most 10", "HSET stock:1 left 0 most 9"], None);
    assert_eq!(host.shown("stock:1"), "left=0 most=9");
    let host = check(&[], &["SET owner:X 1", "SADD active 1", "SET code:1 X", ANN], None);
    assert_eq!((host.shown("owner:X"), host.shown("active")), ("1".into(), "1".into()));
}

#[test]
fn checks_and_what_equals_the_key_are_judged_at_the_end() {
    let card = "HSET card:1 card 1 state off used 5 quota 9";
    let host =
        check(&[], &["HSET card:1 state on used 5 quota 3", "HSET card:1 card 1 quota 9"], None);
    assert_eq!(host.shown("card:1"), "card=1 quota=9 state=on used=5");
    check(&[card], &["HSET card:1 card 2", "HSET card:1 card 1"], None);
    check(&[card], &["HSET card:1 used 12", "HSET card:1 quota 12"], None);
    check(
        &[card],
        &["HSET card:1 used 12", "HSET card:1 state on"],
        Some("SCHEMA card:1: breaks used <= quota: used is 12, quota is 9 (shop.toml:91)"),
    );
    check(
        &[card],
        &["HSET card:1 state on", "HSET card:1 card 2"],
        Some(
            "SCHEMA card:1: card must be {card} of its key, which is \"1\", not \"2\" (shop.toml:93)",
        ),
    );
}

#[test]
fn unique_values_can_be_swapped_and_handed_round() {
    let swap = ["HSET user:1 email bob@x", "HSET user:2 email ann@x"];
    let host = check(&[ANN, BOB], &swap, None);
    assert_eq!(host.shown("by_email:ann@x"), "2");
    assert_eq!(host.shown("by_email:bob@x"), "1");
    let host = check(
        &["SET code:1 X", "SET code:2 Y", "SET code:3 Z"],
        &["SET code:1 Y", "SET code:2 Z", "SET code:3 X"],
        None,
    );
    assert_eq!(["X", "Y", "Z"].map(|code| host.shown(&format!("owner:{code}"))), ["3", "1", "2"]);
}

#[test]
fn what_is_still_wrong_at_the_end_undoes_the_unit() {
    let taken = "SCHEMA user:2: email belongs to 1 already, and by_email:{email} is unique \
                 (shop.toml:9)";
    check(&[ANN, BOB], &["HSET user:2 email ann@x", "SET code:1 X"], Some(taken));
    let lacks = "SCHEMA user:1: lacks the required field status (shop.toml:5)";
    check(&[], &["HSET user:1 plan gold", "SET code:1 X"], Some(lacks));
    let least = "SCHEMA stock:1: left must be at least 0, not \"-1\" (shop.toml:110)";
    check(&["HSET stock:1 left 1"], &["HSET stock:1 left -1", "HSET stock:1 most 1"], Some(least));
    // What is wrong moves along with the row.
    let lacks = "SCHEMA user:2: lacks the required field status (shop.toml:5)";
    check(&[], &["HSET user:1 plan gold", "RENAME user:1 user:2"], Some(lacks));
    let stranger = "SCHEMA recent:1: a member must name a living key, and msg:1:7 does not exist; \
                    write that first (shop.toml:76)";
    let unit = ["DEL msg:1:7", "ZADD recent:1 5 7"];
    check(&["SET msg:1:7 a", "ZADD recent:1 5 7"], &unit, Some(stranger));
    let alone = "SCHEMA note:1:5: lives with doc:1, which does not exist; create that first \
                 (shop.toml:53)";
    check(&[], &["SET note:1:5 hi"], Some(alone));
    let kept = "SCHEMA active: is kept by Keyward from user:{id:uint}, which says otherwise; write \
                that instead (shop.toml:22)";
    check(&[ANN], &["SREM active 1"], Some(kept));
    let kept = "SCHEMA owner:X: is kept by Keyward from code:{id:uint}, which says otherwise; write \
                that instead (shop.toml:35)";
    check(&["SET code:1 X"], &["DEL owner:X", "SET code:2 X"], Some(kept));
}

#[test]
fn what_nothing_can_mend_is_refused_at_once() {
    let mut host = Host::new(SCHEMA);
    host.begin_unit();
    for command in [
        "HSET user:1 status lost",
        "HSET user:1 other x",
        "SADD user:1 x",
        "SET nobody x",
        "SET code:1 a:b",
        "SET doc:1 {\"ends\":1,\"kind\":\"sound\"}",
        "SADD user:1:in x",
    ] {
        assert_ne!(host.run(command), Outcome::Done, "{command}");
    }
    assert_eq!(host.run("SADD user:9:in 1 2 3 4"), Outcome::Done);
    assert!(matches!(host.run("SADD user:5:out 9"), Outcome::Refused(_)), "max_members");
    assert_eq!(host.end_unit(), (None, 0));
}

#[test]
fn a_unit_that_drops_more_of_a_computed_row_than_may_be_added_is_refused_at_once() {
    let mut host = Host::new(
        "[keyspace]\nname = \"t\"\n\n[key.\"user:{id:uint}\"]\ntype = \"hash\"\nttl = \"none\"\n\
         fields = { team = \"str\" }\n\n[key.\"team:{team}\"]\ntype = \"set\"\nttl = \"none\"\n\
         max_fanout = 3\nmembers = { of = \"user:{id}\" }\n",
    );
    for (user, team) in [(1, "a"), (2, "a"), (3, "a"), (4, "a"), (5, "b"), (6, "b"), (7, "b")] {
        assert_eq!(host.run(&format!("HSET user:{user} team {team}")), Outcome::Done);
    }
    host.begin_unit();
    assert!(matches!(host.run("DEL team:a"), Outcome::Refused(_)), "four of them");
    assert_eq!(host.run("DEL team:b"), Outcome::Done);
    assert!(host.end_unit().0.is_some(), "nothing mends it");
    host.begin_unit();
    assert_eq!(host.run("DEL team:b"), Outcome::Done);
    assert_eq!(host.run("DEL user:5 user:6 user:7"), Outcome::Done);
    assert_eq!(host.end_unit().0, None);
}
