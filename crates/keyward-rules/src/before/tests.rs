use std::borrow::Cow;
use std::collections::HashMap;

use keyward_commands::lookup;
use keyward_resp::{ArgBuf, split_words};

use super::*;
use crate::verdict::Substitute;
use crate::view::Element;

const NOW: i64 = 1_800_000_000_000;

/// Rows as a test writes them down.
#[derive(Default)]
struct Rows(HashMap<Vec<u8>, TestRow>);

struct TestRow {
    deadline: Option<i64>,
    content: TestContent,
}

enum TestContent {
    Text(&'static str),
    Hash(&'static [(&'static str, &'static str)]),
    List(usize),
}

impl Rows {
    fn with(mut self, key: &str, content: TestContent, deadline: Option<i64>) -> Rows {
        self.0.insert(key.as_bytes().to_vec(), TestRow { deadline, content });
        self
    }
}

impl View for Rows {
    fn now_ms(&self) -> i64 {
        NOW
    }

    fn row(&self, key: &[u8]) -> Result<Option<&dyn Row>, NotYet> {
        Ok(self.0.get(key).map(|row| row as &dyn Row))
    }

    fn each_companion(&self, _key: &[u8], _visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet> {
        Ok(())
    }
}

impl Row for TestRow {
    fn row_type(&self) -> RowType {
        match self.content {
            TestContent::Text(_) => RowType::String,
            TestContent::Hash(_) => RowType::Hash,
            TestContent::List(_) => RowType::List,
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.deadline
    }

    fn len(&self) -> usize {
        match self.content {
            TestContent::Text(text) => text.len(),
            TestContent::Hash(fields) => fields.len(),
            TestContent::List(count) => count,
        }
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        match self.content {
            TestContent::Text(text) => Some(Cow::Borrowed(text.as_bytes())),
            _ => None,
        }
    }

    fn field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let TestContent::Hash(fields) = self.content else { return None };
        let (_, value) = fields.iter().find(|(field, _)| field.as_bytes() == name)?;
        Some(Cow::Borrowed(value.as_bytes()))
    }

    fn contains(&self, _member: &[u8]) -> bool {
        false
    }

    fn score(&self, _member: &[u8]) -> Option<f64> {
        None
    }

    fn each(&self, _visit: &mut dyn FnMut(Element<'_>)) {}
}

fn book(schema: &str) -> RuleBook {
    let checked = keyward_schema::check("t.toml", schema.as_bytes());
    RuleBook::new(checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics)))
}

/// One key pattern `k:{id}` of that type and lifetime, and what else is said of it.
fn book_of(data: &str, ttl: &str, more: &str) -> RuleBook {
    let head = "[keyspace]\nname = 'test'\n[key.'k:{id}']\n";
    let ttl = if ttl.is_empty() { String::new() } else { format!("ttl = {ttl}\n") };
    book(&format!("{head}type = '{data}'\n{ttl}{more}\n"))
}

fn judge(book: &RuleBook, view: &dyn View, call: &str) -> String {
    let words = split_words(call.as_bytes()).expect("balanced quotes");
    let args: ArgBuf = words.iter().collect();
    let command = lookup(args.args().at(0)).expect("a command of the table");
    let table_of = |position| book.table_of(args.args().at(position));
    match book.before(view, command, args.args(), &table_of) {
        Err(NotYet) => "not yet".to_owned(),
        Ok(Verdict::Run(judged)) => format!("run, judged {judged:?}"),
        Ok(Verdict::RunUntil(end, judged)) => format!("until +{}, judged {judged:?}", end - NOW),
        Ok(Verdict::Instead(other)) => {
            let Substitute { command, reply } = *other;
            let words: Vec<String> =
                command.args().iter().map(|word| word.escape_ascii().to_string()).collect();
            format!("instead {} -> {}", words.join(" "), reply.escape_ascii())
        }
        Ok(Verdict::Answer(number)) => format!("answer {number}"),
        Ok(Verdict::Refuse(refusal)) => refusal.text().to_owned(),
    }
}

fn check(book: &RuleBook, rows: &Rows, call: &str, expected: &str) {
    assert_eq!(judge(book, rows, call), expected, "{call}");
}

fn check_queued(book: &RuleBook, call: &str, expected: Option<&str>) {
    let words = split_words(call.as_bytes()).expect("balanced quotes");
    let args: ArgBuf = words.iter().collect();
    let command = lookup(args.args().at(0)).expect("a command of the table");
    let table_of = |position| book.table_of(args.args().at(position));
    let found = book.arguments(NOW, command, args.args(), &table_of);
    assert_eq!(found.as_ref().map(|refusal| refusal.text()), expected, "{call}");
}

#[test]
fn a_string_gets_the_lifetime_of_its_pattern() {
    let rows = Rows::default();
    let within = book_of("string", "'5m'", "");
    check(&within, &rows, "SET k:1 v", "until +300000, judged All");
    check(&within, &rows, "GETSET k:1 v", "until +300000, judged All");
    check(&within, &rows, "SET k:1 v EX 60", "run, judged All");
    check(
        &within,
        &rows,
        "SET k:1 v EX 3600",
        "SCHEMA k:1: may live at most 5 minutes, not 1 hour (t.toml:5)",
    );
    check(&within, &rows, "SET k:1 v KEEPTTL", "until +300000, judged All");
    let living = Rows::default().with("k:1", TestContent::Text("v"), Some(NOW + 7));
    check(&within, &living, "SET k:1 v KEEPTTL", "run, judged All");
    let clamp = book_of("string", "{ after = '5m', excess = 'clamp' }", "");
    check(&clamp, &rows, "SET k:1 v EX 3600", "until +300000, judged All");
    let forever = book_of("string", "'none'", "");
    check(&forever, &rows, "SET k:1 v", "run, judged All");
    check(
        &forever,
        &rows,
        "SETEX k:1 10 v",
        "SCHEMA k:1: lives until it is deleted (ttl = \"none\") and takes no lifetime (t.toml:5)",
    );
}

#[test]
fn a_window_is_never_extended() {
    let book = book_of("int", "{ after = '60s', renew = 'never' }", "");
    let living = Rows::default().with("k:1", TestContent::Text("4"), Some(NOW + 20_000));
    check(&book, &Rows::default(), "SET k:1 1", "until +60000, judged All");
    check(&book, &living, "SET k:1 1", "until +20000, judged All");
    check(&book, &living, "SET k:1 1 EX 60", "until +20000, judged All");
    check(&book, &living, "SET k:1 1 EX 5", "run, judged All");
    check(&book, &living, "EXPIRE k:1 60", "answer 0");
    check(&book, &living, "EXPIRE k:1 5", "run, judged All");
    check(&book, &living, "INCR k:1", "run, judged All");
    check(&book, &Rows::default(), "INCR k:1", "until +60000, judged All");
    check(&book, &Rows::default(), "DECRBY k:1 5", "until +60000, judged All");
    check_queued(&book, "EXPIRE k:1 60", None);
    let too_long = "SCHEMA k:1: may live at most 1 minute, not 2 minutes (t.toml:5)";
    check_queued(&book, "SET k:1 1 EX 120", Some(too_long));
    let persist = "SCHEMA k:1: must have a lifetime, which PERSIST would take away (t.toml:5)";
    check_queued(&book, "PERSIST k:1", Some(persist));
}

#[test]
fn the_content_can_decide() {
    let by = book_of(
        "json",
        "{ by = 'status', good = '14d', bad = '1h' }",
        "[key.'k:{id}'.fields]\nstatus = 'good | bad'\nnote = 'string?'",
    );
    let rows = Rows::default();
    check(&by, &rows, r#"SET k:1 '{"status": "bad"}'"#, "until +3600000, judged All");
    check(&by, &rows, r#"SET k:1 '{"note":"x","status":"good"}'"#, "until +1209600000, judged All");
    check(
        &by,
        &rows,
        r#"SET k:1 '{"status": "god"}'"#,
        "SCHEMA k:1: status must be good or bad, not \"god\" (t.toml:7)",
    );
    check(
        &by,
        &rows,
        r#"SET k:1 '{"note": "x"}'"#,
        "SCHEMA k:1: lacks the required field status (t.toml:3)",
    );
    check(
        &by,
        &rows,
        r#"SET k:1 '{"status": "bad"}' EX 7200"#,
        "SCHEMA k:1: may live at most 1 hour, not 2 hours (t.toml:5)",
    );
    let until = book_of("json", "{ until = 'end' }", "[key.'k:{id}'.fields]\nend = 'timestamp_ms'");
    check(&until, &rows, r#"SET k:1 '{"end": 1800000005000}'"#, "until +5000, judged All");
    check(&until, &rows, r#"SET k:1 '{"end": 1800000005400}' EX 5"#, "until +5400, judged All");
    check(
        &until,
        &rows,
        r#"SET k:1 '{"end": 1800000005000}' EX 60"#,
        "SCHEMA k:1: ends at the time in end; change that field instead (t.toml:5)",
    );
    check(&until, &rows, r#"SET k:1 '{"end": 5}'"#, "run, judged Nothing");
}

#[test]
fn companions_take_the_deadline_of_their_leader() {
    let book = book(
        "[keyspace]\nname = 'test'\n[key.'lead:{id}']\ntype = 'string'\nttl = '1h'\n\
         [key.'with:{id}:{n}']\ntype = 'flag'\nttl = { with = 'lead:{id}' }\n",
    );
    let leader = |deadline| Rows::default().with("lead:1", TestContent::Text("v"), deadline);
    check(&book, &leader(Some(NOW + 9)), "SET with:1:7 1", "until +9, judged All");
    check(&book, &leader(None), "SET with:1:7 1", "run, judged All");
    check(
        &book,
        &Rows::default(),
        "SET with:1:7 1",
        "SCHEMA with:1:7: lives with lead:1, which does not exist; create that first (t.toml:8)",
    );
    check(&book, &Rows::default(), "SET lead:1 v", "until +3600000, judged Rows");
    check(&book, &Rows::default(), "DEL lead:1", "run, judged Nothing");
    check(&book, &Rows::default(), "DEL with:1:7", "run, judged All");
}

#[test]
fn the_writer_says_within_bounds() {
    let ttl = "{ given = true, min = '1m', max = '1h', default = '2m' }";
    let book = book_of("int", ttl, "");
    let rows = Rows::default();
    check(&book, &rows, "SET k:1 1", "until +120000, judged All");
    check(&book, &rows, "SET k:1 1 EX 600", "run, judged All");
    check(
        &book,
        &rows,
        "SET k:1 1 EX 5",
        "SCHEMA k:1: must live at least 1 minute, not 5 seconds (t.toml:5)",
    );
    check(&book, &rows, "EXPIRE k:1 -1", "run, judged All");
    let unsaid = book_of("string", "{ given = true, max = '1h' }", "");
    check(
        &unsaid,
        &rows,
        "SETNX k:1 v",
        "SCHEMA k:1: must be written with a lifetime: add EX, PX, EXAT or PXAT (t.toml:5)",
    );
}

#[test]
fn decimals_are_added_exactly() {
    let text = book_of("decimal", "'none'", "");
    let rows = Rows::default().with("k:1", TestContent::Text("0.1"), None);
    check(&text, &rows, "INCRBYFLOAT k:1 0.2", "instead SET k:1 0.3 KEEPTTL -> 0.3");
    check(&text, &rows, "INCRBYFLOAT k:2 -5.50", "instead SET k:2 -5.5 KEEPTTL -> -5.5");
    check(&text, &rows, "INCRBYFLOAT k:1 1e2", "instead SET k:1 100.1 KEEPTTL -> 100.1");
    check(&text, &rows, "INCRBYFLOAT k:1 -1e-05", "instead SET k:1 0.09999 KEEPTTL -> 0.09999");
    check_queued(&text, "INCRBYFLOAT k:1 1e2", None);
    let not_plain = "SCHEMA k:1: the increment must be a decimal number such as 12.50 or 1e-05, \
                     not \"1e401\" (t.toml:3)";
    check(&text, &rows, "INCRBYFLOAT k:1 1e401", not_plain);
    check_queued(&text, "INCRBYFLOAT k:1 1e401", Some(not_plain));
    for odd in ["-1E401", "1e-401", "1e4000", "+1"] {
        let not_plain = not_plain.replace("1e401", odd);
        check(&text, &rows, &format!("INCRBYFLOAT k:1 {odd}"), &not_plain);
    }
    for no_number in ["ten", "inf", "nan", "1e", "1e5x"] {
        check(&text, &rows, &format!("INCRBYFLOAT k:1 {no_number}"), "run, judged Nothing");
    }
    let hash =
        book_of("hash", "'none'", "[key.'k:{id}'.fields]\nbalance = 'decimal'\nrate = 'float?'\n");
    let odd = Rows::default().with("k:1", TestContent::Hash(&[("balance", "1e500")]), None);
    let rows =
        Rows::default().with("k:1", TestContent::Hash(&[("balance", "90071992547409.93")]), None);
    check(
        &hash,
        &rows,
        "HINCRBYFLOAT k:1 balance 0.001",
        "instead HSET k:1 balance 90071992547409.931 -> 90071992547409.931",
    );
    let small = Rows::default().with("k:1", TestContent::Hash(&[("balance", "2e-05")]), None);
    check(
        &hash,
        &small,
        "HINCRBYFLOAT k:1 balance -1e-05",
        "instead HSET k:1 balance 0.00001 -> 0.00001",
    );
    check(&hash, &rows, "HINCRBYFLOAT k:1 rate 0.5", "run, judged Nothing");
    check(
        &hash,
        &odd,
        "HINCRBYFLOAT k:1 balance 1",
        "SCHEMA k:1: balance: the number it is added to must be a decimal number such as \
         12.50 or 1e-05, not \"1e500\" (t.toml:7)",
    );
    check(
        &hash,
        &rows,
        "HINCRBYFLOAT k:1 balanse 1",
        "SCHEMA k:1: has no field \"balanse\"; did you mean balance? (t.toml:3)",
    );
}

#[test]
fn elements_are_judged_by_the_arguments() {
    let rows = Rows::default();
    let list = book_of("list", "'1h'", "items = 'uint'\nmax_len = 3");
    let living = |count| Rows::default().with("k:1", TestContent::List(count), Some(NOW + 9));
    check(&list, &rows, "LPUSH k:1 1 2", "run, judged Nothing");
    check(&list, &living(1), "LPUSH k:1 1 2", "run, judged All");
    check(&list, &living(2), "LPUSH k:1 1 2", "run, judged Nothing");
    check(
        &list,
        &rows,
        "RPUSH k:1 1 x",
        "SCHEMA k:1: an item must be a whole number not below zero, not \"x\" (t.toml:3)",
    );
    check(&list, &rows, "SADD k:1 1", "SCHEMA k:1: is declared a list, not a set (t.toml:3)");
    check_queued(&list, "SADD k:1 1", Some("SCHEMA k:1: is declared a list, not a set (t.toml:3)"));
    check(&list, &rows, "SET k:1 1", "SCHEMA k:1: is declared a list, not a string (t.toml:3)");
    let hash = book_of("hash", "'none'", "[key.'k:{id}'.fields]\na = 'int'\nb = 'int?'\n");
    let whole = Rows::default().with("k:1", TestContent::Hash(&[("a", "1")]), None);
    check(&hash, &rows, "HSET k:1 b 2", "run, judged Nothing");
    check(&hash, &whole, "HSET k:1 b 2", "run, judged All");
    check(&hash, &whole, "HDEL k:1 b", "run, judged Nothing");
    check(
        &hash,
        &whole,
        "HSET k:1 b two",
        "SCHEMA k:1: b must be a whole number, not \"two\" (t.toml:8)",
    );
    let zset = book_of("zset", "'none'", "score = { type = 'float', max = 10 }");
    check(
        &zset,
        &rows,
        "ZADD k:1 11 a",
        "SCHEMA k:1: the score must be at most 10, not \"11\" (t.toml:3)",
    );
    let ids = book_of("zset", "'none'", "items = 'uint'");
    check(
        &ids,
        &rows,
        "ZADD k:1 11 a",
        "SCHEMA k:1: a member must be a whole number not below zero, not \"a\" (t.toml:3)",
    );
}

#[test]
fn a_size_that_rounds_to_the_limit_is_told_in_bytes() {
    let book = book_of("string", "'none'", "max_size = '1mb'");
    let most = 1 << 20;
    for (bytes, told) in [
        (most + 1, "1048576 bytes (max_size), not 1048577 bytes"),
        (2 * most, "1 MB (max_size), not 2 MB"),
    ] {
        let command = format!("SET k:1 {}", "x".repeat(bytes));
        let expected = format!("SCHEMA k:1: may hold at most {told} (t.toml:3)");
        check(&book, &Rows::default(), &command, &expected);
    }
}

#[test]
fn a_key_of_no_pattern_is_not_brought_to_be() {
    let reject = book_of("string", "'none'", "");
    let rows = Rows::default();
    check(
        &reject,
        &rows,
        "SET k:2001:db8::1 v",
        "SCHEMA k:2001:db8::1: matches no pattern of test; nearest is k:{id}, whose {id} takes no \
         colon; write {id:ip} for addresses (t.toml)",
    );
    check(
        &reject,
        &rows,
        "SET k:1:2 v",
        "SCHEMA k:1:2: matches no pattern of test; nearest is k:{id}, which has 2 parts (t.toml)",
    );
    check(
        &reject,
        &rows,
        "RENAME k:1 elsewhere",
        "SCHEMA elsewhere: matches no pattern of test (t.toml)",
    );
    check(&reject, &rows, "DEL x", "run, judged All");
    check(&reject, &rows, "EXPIRE x 5", "run, judged All");
    check(&reject, &rows, "MOVE x 3", "run, judged Nothing");
    check(&reject, &rows, "COPY k:1 x DB 3", "run, judged Nothing");
    let uint = book("[keyspace]\nname = 'shop'\n[key.'foo:{id:uint}']\ntype = 'string'\n");
    check(
        &uint,
        &rows,
        "SET foo:bar v",
        "SCHEMA foo:bar: matches no pattern of shop; nearest is foo:{id:uint}, whose second part \
         must be a whole number not below zero (t.toml)",
    );
    let allow = book("[keyspace]\nname = 'shop'\nunknown = 'allow'\n[key.'a']\ntype = 'string'\n");
    check(&allow, &rows, "SET x v", "run, judged All");
    check(&allow, &rows, "MSET x v a w", "run, judged All");
    check(&allow, &rows, "RENAME a x", "run, judged Nothing");
}

#[test]
fn a_warning_mode_refuses_nothing() {
    let book = book_of("int", "'5m'", "");
    let rows = Rows::default();
    book.set_mode(0, Some(keyward_schema::Mode::Warn));
    for call in ["SET k:1 x", "SET k:1 5 EX 999", "LPUSH k:1 x", "SET nothing x", "PERSIST k:1"] {
        let found = judge(&book, &rows, call);
        assert!(found.starts_with("run, judged "), "{call}: {found}");
        check_queued(&book, call, None);
    }
    check(&book, &rows, "SET k:1 5", "until +300000, judged All");
}

#[test]
fn several_strings_are_judged_together() {
    let forever = book_of("int", "'none'", "");
    let rows = Rows::default();
    check(&forever, &rows, "MSET k:1 1 k:2 2", "run, judged All");
    check(
        &forever,
        &rows,
        "MSET k:1 1 k:2 two",
        "SCHEMA k:2: the value must be a whole number, not \"two\" (t.toml:3)",
    );
    check(&book_of("int", "'1h'", ""), &rows, "MSET k:1 1", "run, judged Nothing");
}

#[test]
fn a_value_has_its_largest_size() {
    let book = book_of("string", "'none'", "max_size = '4b'");
    let rows = Rows::default();
    check(&book, &rows, "SET k:1 four", "run, judged All");
    check(
        &book,
        &rows,
        "SET k:1 fifth",
        "SCHEMA k:1: may hold at most 4 bytes (max_size), not 5 bytes (t.toml:3)",
    );
    let too_long = "SCHEMA k:1: may hold at most 4 bytes (max_size), not 512 MB (t.toml:3)";
    check(&book, &rows, "SETRANGE k:1 536870911 x", too_long);
    check(&book, &rows, "SETBIT k:1 4294967295 1", too_long);
    check(&book, &rows, "BITFIELD k:1 SET u8 4294967288 1", too_long);
    check(&book, &rows, "SETRANGE k:1 3 x", "run, judged Nothing");
}

#[test]
fn secrets_are_not_shown() {
    let book =
        book_of("string", "'none'", "value = { type = 'str', prefix = 'sk_', secret = true }");
    let found = judge(&book, &Rows::default(), "SET k:1 hunter2");
    assert!(found.starts_with("SCHEMA k:1: the value must be") && !found.contains("hunter2"));
}

/// The examples of the five systems fit, so no argument of theirs is refused.
#[test]
fn the_examples_of_the_systems_pass() {
    use keyward_schema::{Content, ExampleValue};
    let systems = [
        ("api-billing", include_str!("../../../../systems/api-billing/keyward.toml")),
        ("calls-bot", include_str!("../../../../systems/calls-bot/keyward.toml")),
        ("events", include_str!("../../../../systems/events/keyward.toml")),
        ("social", include_str!("../../../../systems/social/keyward.toml")),
        ("telegram-gateway", include_str!("../../../../systems/telegram-gateway/keyward.toml")),
    ];
    let mut count = 0;
    for (system, schema) in systems {
        let checked = keyward_schema::check(system, schema.as_bytes());
        let book = RuleBook::new(checked.schema.expect(system));
        for key in &book.schema().keys {
            let Some(example) = &key.example else { continue };
            let name: &str = &example.key;
            let call: Vec<&str> = match (&key.content, &example.value) {
                (_, Some(ExampleValue::Text(text))) => vec!["SET", name, text],
                (Content::Fields(_), Some(ExampleValue::Pairs(pairs))) => {
                    let pairs = pairs.iter().flat_map(|(field, value)| [&**field, &**value]);
                    ["HSET", name].into_iter().chain(pairs).collect()
                }
                (_, Some(ExampleValue::Pairs(pairs))) => {
                    let pairs = pairs.iter().flat_map(|(member, score)| [&**score, &**member]);
                    ["ZADD", name].into_iter().chain(pairs).collect()
                }
                (_, Some(ExampleValue::Items(items))) => {
                    let add = if key.data.name() == "set" { "SADD" } else { "RPUSH" };
                    [add, name].into_iter().chain(items.iter().map(|item| &**item)).collect()
                }
                (_, None) => continue,
            };
            let args: ArgBuf = call.iter().collect();
            let command = lookup(args.args().at(0)).expect("a command of the table");
            let table_of = |position| book.table_of(args.args().at(position));
            let found = book.arguments(NOW, command, args.args(), &table_of);
            assert_eq!(found.map(|refusal| refusal.to_string()), None, "{call:?}");
            count += 1;
        }
    }
    assert!(count > 50, "{count} examples");
}

#[test]
fn a_misfit_points_to_the_line_of_its_field() {
    let rows = Rows::default();
    let list = book_of(
        "list",
        "'1h'",
        "[key.'k:{id}'.items.fields]\nid = 'str'\nkind = 'a | b'\nmore = 'int?'\n",
    );
    check(
        &list,
        &rows,
        r#"RPUSH k:1 '{"id": "x", "kind": "c"}'"#,
        "SCHEMA k:1: kind must be a or b, not \"c\" (t.toml:8)",
    );
    check(
        &list,
        &rows,
        r#"RPUSH k:1 '{"id": "x"}'"#,
        "SCHEMA k:1: an item lacks the required field kind (t.toml:3)",
    );
    let set = book_of("set", "'none'", "items = 'uint'");
    check(
        &set,
        &rows,
        "SADD k:1 x",
        "SCHEMA k:1: a member must be a whole number not below zero, not \"x\" (t.toml:3)",
    );
    check(&set, &rows, "SET k:1 x", "SCHEMA k:1: is declared a set, not a string (t.toml:3)");
    let json = book_of("json", "'none'", "");
    check(&json, &rows, "LPUSH k:1 x", "SCHEMA k:1: is declared JSON, not a list (t.toml:3)");
    let nested = book_of(
        "json",
        "'none'",
        "[key.'k:{id}'.fields]\na = 'int'\n[key.'k:{id}'.fields.b]\ntype = 'object'\n\
         fields = { c = 'int' }\n",
    );
    check(
        &nested,
        &rows,
        r#"SET k:1 '{"a": 1, "b": {"c": "x"}}'"#,
        "SCHEMA k:1: b.c must be a whole number, not \"x\" (t.toml:10)",
    );
}
