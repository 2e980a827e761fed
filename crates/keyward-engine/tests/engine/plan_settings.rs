//! Every setting of the language: what a comparison of two schemas says of a difference in it,
//! against what a plan counts on rows that are there.
//!
//! A setting that `plan_settings.txt` lacks fails. Each line there is tried both ways, on rows
//! that were written under the schema that it begins with, and before that had the keys it knows.

use crate::harness::START_MS;
use crate::shop::{Shop, Told};
use keyward_rules::{Effect, compare_for_rows};
use keyward_schema::{Files, SETTINGS, Schema, check_file};
use std::path::{Path, PathBuf};

/// A setting, two schemas that differ in it, and of the way from the one to the other what a
/// plan counts, and what the comparison says.
struct Case {
    setting: &'static str,
    old: &'static str,
    new: &'static str,
    counts: Effect,
    says: Effect,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("plan_settings.txt").lines();
    let lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let effect = |word: &str| match word {
        "C" => Effect::Compatible,
        "R" => Effect::Rewrites,
        "D" => Effect::Destroys,
        other => panic!("{other} is no effect"),
    };
    let case = |lines: &[&'static str]| {
        let [head, old, new] = *lines else { panic!("{lines:?} is no case") };
        let words: Vec<&'static str> = head.split(' ').collect();
        let [setting, counts, says] = words[..] else { panic!("{head} is no head") };
        let (counts, says) = (effect(counts), effect(says));
        Case { setting, old: old.trim(), new: new.trim(), counts, says }
    };
    lines.chunks(3).map(case).collect()
}

const HASH: &str = "[key.'k:{id}']\ntype = 'hash'\nextra = 'allow'\n";
const JSON: &str = "[key.'k:{id}']\ntype = 'json'\nextra = 'allow'\n";
const LIST: &str = "[key.'k:{id}']\ntype = 'list'\n";
const SET: &str = "[key.'k:{id}']\ntype = 'set'\n";
const STREAM: &str = "[key.'k:{id}']\ntype = 'stream'\n";
const TEXT: &str = "[key.'k:{id}']\ntype = 'string'\n";
const ZSET: &str = "[key.'k:{id}']\ntype = 'zset'\n";
const FIELDS: &str = "fields = { plan = 'free | paid', n = 'int', email = 'str', at = 'timestamp', \
                      ms = 'timestamp_ms', later = 'timestamp_ms', past = 'timestamp_ms' }\n";
/// A file that is included.
const LIBRARY: &str =
    "[variables]\nprefix = ''\n[key.'${prefix}k:{id}']\ntype = 'string'\nttl = '1h'\n";

/// Keys that no command below writes.
const OTHER: &str = "[key.'other:{id}']\ntype = 'string'\n";
/// Users, whom other keys are derived from.
const USER: &str = "[key.'u:{id:uint}']\ntype = 'hash'\nttl = 'none'\nextra = 'allow'\n\
    fields = { plan = 'free | paid', n = 'int', email = 'str', at = 'timestamp' }\n";

/// The same with other types.
const NUMBERS: &str = "[key.'u:{id:uint}']\ntype = 'hash'\nttl = 'none'\nextra = 'allow'\n\
    fields = { plan = 'free | paid', n = 'float', email = 'str', at = 'timestamp_ms' }\n";
/// Others like them.
const OTHERS: &str = "[key.'v:{id:uint}']\ntype = 'hash'\nttl = 'none'\nextra = 'allow'\n\
    fields = { plan = 'free | paid', n = 'int', email = 'str' }\n";
/// A set whose members name users.
const FOLLOWS: &str = "[key.follows]\ntype = 'zset'\nttl = 'none'\nitems = 'uint'\n";
/// A set, and behind it one that could mirror it.
const LIKES: &str = "[key.'likes:{id:uint}']\ntype = 'set'\nttl = 'none'\nitems = 'uint'\n\
    [key.'liked:{id:uint}']\ntype = 'set'\nttl = 'none'\nitems = 'uint'\n";

/// A unique index of users.
const LOOKUP: &str = "[key.'by:{email}']\ntype = 'string'\n\
    lookup = { of = 'u:{id}', field = 'email' }\n";
/// Sets of users.
const MEMBERS: &str = "[key.'on:{plan}']\ntype = 'set'\nmembers = { of = 'u:{id}' }\n";

struct Library;

impl Files for Library {
    fn identity(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn read(&self, _: &Path, _: usize) -> Result<Vec<u8>, String> {
        Ok(LIBRARY.into())
    }
}

/// The text of a schema.
fn text(line: &str) -> String {
    let mut text = line.replace("\\n", "\n");
    let names = [
        ("{HASH}", HASH),
        ("{JSON}", JSON),
        ("{LIST}", LIST),
        ("{SET}", SET),
        ("{STREAM}", STREAM),
        ("{TEXT}", TEXT),
        ("{ZSET}", ZSET),
        ("{FIELDS}", FIELDS),
        ("{OTHER}", OTHER),
        ("{USER}", USER),
        ("{NUMBERS}", NUMBERS),
        ("{OTHERS}", OTHERS),
        ("{FOLLOWS}", FOLLOWS),
        ("{LIKES}", LIKES),
        ("{LOOKUP}", LOOKUP),
        ("{MEMBERS}", MEMBERS),
    ];
    for (name, stands_for) in names {
        text = text.replace(name, stands_for);
    }
    // What is about the file stands before the keyspace, and what is about that behind it.
    let mut head = String::new();
    while let Some(rest) = text.strip_prefix("include").or(text.strip_prefix("[variables]\n")) {
        let end = text.len() - rest.len() + rest.find('\n').map_or(rest.len(), |end| end + 1);
        head.push_str(&text[..end]);
        text = text[end..].to_owned();
    }
    let name = if text.starts_with("name = ") { "" } else { "name = 'shop'\n" };
    format!("{head}[keyspace]\n{name}{text}")
}

fn schema(text: &str) -> Schema {
    let checked = check_file(Path::new("x.toml"), text.as_bytes(), &Library);
    let found = checked.diagnostics.first().map(|found| &found.message);
    checked.schema.unwrap_or_else(|| panic!("{found:?} in\n{text}"))
}

/// Writes rows of every type, with an end and without. What is refused is not there.
fn fill(shop: &mut Shop, many: bool) {
    let (soon, late, later) = (START_MS + 15_000, START_MS + 86_400_000, START_MS + 90_000_000);
    let past = START_MS - 86_400_000;
    let time = "2030-01-01T00:00:00Z";
    let fields = |plan: &str, n: u32, ms: i64| {
        format!("plan {plan} n {n} email {n}@x at {time} ms {ms} later {later} past {past}")
    };
    let json = |plan: &str, n: u32, ms: i64| {
        format!(
            r#"{{"plan":"{plan}","n":{n},"email":"{n}@x","at":"{time}","ms":{ms},"later":{later},"past":{past}}}"#
        )
    };
    let mut commands = vec![
        "SET k:1 7777".to_owned(),
        "SET k:2 7777 EX 100".to_owned(),
        "SET k:3 7777 EX 864000".to_owned(),
        "SADD k:7 1 2 3 4 5".to_owned(),
        "RPUSH k:6 1 2 3 4 5".to_owned(),
        "ZADD k:8 1 1 2 2 3 3 4 4".to_owned(),
        "XADD k:9 1-1 n 1".to_owned(),
        "XADD k:9 1-2 n 2".to_owned(),
        "XADD k:9 1-3 n 3".to_owned(),
        "PFADD k:10 a b".to_owned(),
        format!("SET k:11 {}", json("free", 1, soon)),
        format!("SET k:12 {}", json("paid", 2, late)),
        format!("SET k:12 {} EX 1000", json("paid", 2, late)),
        format!("HSET k:4 {}", fields("free", 1, soon)),
        format!("HSET k:5 {}", fields("paid", 2, late)),
        "EXPIRE k:5 1000".to_owned(),
        "EXPIRE k:6 1000".to_owned(),
        "EXPIRE k:8 1000".to_owned(),
        "SET m:1 x".to_owned(),
        "SET m:2 x EX 60".to_owned(),
        "SET k:1:9 x".to_owned(),
        "PERSIST k:2".to_owned(),
        "ZADD follows 1 1 9 9".to_owned(),
        "SET by:zz 1".to_owned(),
        "SADD on:free 9".to_owned(),
        "SADD likes:1 2".to_owned(),
        "ZADD rank 5 9".to_owned(),
    ];
    for id in 1..4 {
        commands.push(format!("HSET u:{id} {}", fields("free", id, late)));
    }
    if many {
        let value = "x".repeat(100);
        commands.extend((100..400).map(|id| format!("SET k:{id} {id}{value}")));
    }
    for command in commands {
        shop.call(&command);
    }
}

/// The worst that a plan counts.
fn worst(plan: &Told) -> Effect {
    let rest = plan.rest();
    let lines: Vec<&str> = rest.lines().collect();
    let counts = |names: &[&str]| {
        lines
            .windows(2)
            .any(|pair| names.contains(&pair[0]) && pair[1].starts_with(':') && pair[1] != ":0")
    };
    if counts(&["destroyed", "evicted", "unkept", "cut_later"]) {
        Effect::Destroys
    } else if counts(&["redated", "dated", "shortened", "built", "shortened_later"]) {
        Effect::Rewrites
    } else {
        Effect::Compatible
    }
}

/// What a plan counts and what the comparison says on the way from one schema to another.
fn on_the_way(old: &str, new: &str) -> (Effect, Effect) {
    let [old, new] = [old, new].map(|line| schema(&text(line)));
    let differences = compare_for_rows(&old, &new);
    let says = differences.iter().map(|difference| difference.effect).max();
    let says = says.unwrap_or(Effect::Compatible);
    let [old, new] = [old, new].map(|schema| schema.source.whole_text().to_owned());
    // Rows that no pattern accepts were there before keys like theirs were refused.
    let lenient = match old.contains("unknown = ") {
        true => old.clone(),
        false => old.replacen("[keyspace]\n", "[keyspace]\nunknown = 'allow'\n", 1),
    };
    let mut shop = Shop::new(7, &lenient);
    fill(&mut shop, old.contains("max_memory") || new.contains("max_memory"));
    let plan = shop.plan(&old);
    shop.apply_whatever(&plan);
    fill(&mut shop, false);
    shop.test.set_time(START_MS + 20_000);
    (0..50).for_each(|_| {
        shop.test.tick();
    });
    let plan = shop.plan(&new);
    (worst(&plan), says)
}

#[test]
fn every_setting_has_a_line() {
    let cases = cases();
    let names = SETTINGS.iter().map(|setting| format!("{:?}.{}", setting.scope, setting.name));
    let has_none = |name: &String| !cases.iter().any(|case| case.setting == name);
    assert_eq!(names.clone().filter(has_none).collect::<Vec<_>>(), Vec::<String>::new());
    let names: Vec<String> = names.collect();
    let unknown =
        cases.iter().map(|case| case.setting).find(|name| !names.iter().any(|own| own == name));
    assert_eq!(unknown, None, "no such setting");
}

#[test]
fn no_difference_of_a_setting_does_more_to_rows_than_is_said() {
    let mut problems = Vec::new();
    for Case { setting, old, new, counts, says } in cases() {
        let what = format!("{setting}: {old} -> {new}");
        let is = on_the_way(old, new);
        if is != (counts, says) {
            problems.push(format!("{what}: a plan counts and the comparison says {is:?}"));
        }
        let (is, said) = on_the_way(new, old);
        if is > said {
            problems.push(format!("{what}, and back: a plan counts {is:?}, and {said:?} is said"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
