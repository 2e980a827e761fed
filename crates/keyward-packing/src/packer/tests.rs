use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

fn schema(text: &str) -> keyward_schema::Schema {
    let text = format!("[keyspace]\nname = \"test\"\ndb = 0\n{text}");
    let checked = keyward_schema::check("test.toml", text.as_bytes());
    checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics))
}

fn packer(text: &str) -> Packer {
    Packer::new(&schema(text).keys[0], [1, 2]).expect("rows of this key are packed")
}

/// Packs a text, expects it and its key back, and returns the body.
fn check_text(packer: &mut Packer, key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    assert!(packer.pack_text(key, text, &mut body), "{}", key.escape_ascii());
    let (mut key_back, mut text_back) = (Vec::new(), Vec::new());
    packer.unpack_key(&body, &mut key_back).unwrap();
    packer.unpack_text(&body, key, &mut text_back).unwrap();
    assert_eq!(key_back.escape_ascii().to_string(), key.escape_ascii().to_string());
    assert_eq!(text_back.escape_ascii().to_string(), text.escape_ascii().to_string());
    assert!(packer.has_key(&body, key) && !packer.has_key(&body, &[key, b"x"].concat()));
    body
}

/// Packs the fields of a hash, expects them back, and returns the body.
fn check_fields(packer: &mut Packer, key: &[u8], fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    assert!(packer.pack_fields(key, fields, &mut body));
    let mut back = Vec::new();
    packer
        .unpack_fields(&body, key, |name, value| back.push((name.to_vec(), value.to_vec())))
        .unwrap();
    let fields: Vec<_> = fields.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
    assert_eq!(back, fields);
    body
}

fn check_items(packer: &mut Packer, key: &[u8], items: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    assert!(packer.pack_items(key, items, &mut body));
    let mut back = Vec::new();
    packer.unpack_items(&body, key, |item| back.push(item.to_vec())).unwrap();
    assert!(back.iter().eq(items.iter()));
    body
}

const PROCESSED_TOKEN: &str = r#"
[key."processed_token:{token_address}:{user_id:uint}"]
type = "json"
ttl = "14d"
[key."processed_token:{token_address}:{user_id:uint}".fields]
status = "accepted | rejected"
timestamp = "timestamp"
channels_checked = "string[]?"
channels_called_at = "{string: timestamp}?"
"#;

const ADDRESS: &str = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";

/// As Python writes it.
fn processed_token(channels: &[usize]) -> String {
    let times = ["2025-12-25T10:00:00.123456+00:00", "2025-12-25T10:00:01.000001+00:00"];
    let mut text =
        format!(r#"{{"status": "rejected", "timestamp": "{}", "channels_checked": ["#, times[0]);
    let names: Vec<String> = channels.iter().map(|n| format!(r#""@channel{n}""#)).collect();
    let called: Vec<String> =
        names.iter().map(|name| format!(r#"{name}: "{}""#, times[1])).collect();
    write!(text, r#"{}], "channels_called_at": {{{}}}}}"#, names.join(", "), called.join(", "))
        .unwrap();
    text
}

#[test]
fn a_processed_token_takes_as_few_bytes_as_estimated() {
    let mut packer = packer(PROCESSED_TOKEN);
    let key = |user: usize| format!("processed_token:{ADDRESS}:{user}").into_bytes();
    for user in 0..600 {
        let text = processed_token(&[user % 300, (user + 7) % 300, (user + 11) % 300]);
        check_text(&mut packer, &key(user), text.as_bytes());
    }
    let text = processed_token(&[1, 2, 3]);
    let body = check_text(&mut packer, &key(77), text.as_bytes());
    // These channels are among the first words, of one byte; a time of microseconds takes nine.
    assert_eq!(body.len(), 1 + 2 + 2 + 1 + 9 + 3 + 3 * (1 + 9), "{text}");
}

#[test]
fn json_like_that_of_the_last_rows_has_their_skeleton() {
    let mut packer = packer(PROCESSED_TOKEN);
    let mut users = (0..31).cycle();
    let mut check = |status: &str, numbers: usize| {
        let user = users.next().unwrap();
        let key = format!("processed_token:{ADDRESS}:{user}").into_bytes();
        let numbers = vec!["-1.5"; numbers].join(", ");
        let text = format!(r#"{{"status": "{status}", "extra": [{numbers}], "last": true}}"#);
        check_text(&mut packer, &key, text.as_bytes()).len()
    };
    for numbers in (0..6).chain(0..6) {
        check("new", numbers);
    }
    for numbers in [5, 5, 0, 3, 1, 4, 2, 2] {
        // The key, the form, the skeleton, a status, decimals of three bytes, a constant.
        assert_eq!(check("", numbers), 1 + 1 + 1 + 1 + 1 + 3 * numbers + 1, "{numbers}");
        for status in [r#"\""#, r"\\", r#"a\"b"#, r"\u0041", "é", "a\0b", "unlike,", "\"x"] {
            check(status, numbers);
        }
    }
}

#[test]
fn what_a_schema_does_not_expect_is_kept_as_it_is() {
    let mut packer = packer(PROCESSED_TOKEN);
    let key = format!("processed_token:{ADDRESS}:7").into_bytes();
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1,2",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1,}",
        "\"open",
        "\"\\",
        "null",
        "  [ ] ",
        "{\"status\" :\t\"x\"\n, \"new\":{\"deep\":[[[]]]} }",
        "{\"\0\":\"\0\"}",
        "{\"channels_called_at\":{\"\0\":1}}",
        "1 2",
        "nonsense",
        "{\"a\":1}x",
        "\u{feff}{}",
    ] {
        check_text(&mut packer, &key, text.as_bytes());
        check_text(&mut packer, &key, text.as_bytes());
    }
    let deep = "[".repeat(5000);
    check_text(&mut packer, &key, deep.as_bytes());
}

#[test]
fn keys_that_mean_the_same_to_a_reader_stay_apart() {
    let mut packer = packer("[key.\"user:{id}:x\"]\ntype = \"string\"\nttl = \"none\"\n");
    let keys =
        ["user:7:x", "user:007:x", "user:+7:x", "user:7.0:x", "user:AB:x", "user:ab:x", "user::x"];
    let mut bodies = Vec::new();
    for key in keys {
        bodies.push(check_text(&mut packer, key.as_bytes(), b"1"));
    }
    for (one, body) in bodies.iter().enumerate() {
        for (other, key) in keys.iter().enumerate() {
            assert_eq!(packer.has_key(body, key.as_bytes()), one == other);
        }
    }
    let mut out = Vec::new();
    for key in ["user:7", "user:7:x:y", "user:7:y", "use", ""] {
        assert!(!packer.pack_text(key.as_bytes(), b"1", &mut out), "{key}");
    }
    assert!(out.is_empty());
}

#[test]
fn hash_tags_and_rests_come_back() {
    let mut tagged = packer("[key.\"user:{{{id:uint}}}:x\"]\ntype = \"int\"\nttl = \"none\"\n");
    assert_eq!(check_text(&mut tagged, b"user:{123}:x", b"5").len(), 4);
    let mut rest = packer("[key.\"page:{path:rest}\"]\ntype = \"string\"\nttl = \"none\"\n");
    check_text(&mut rest, b"page:/a:b:{c}:", b"5");
}

#[test]
fn a_hash_of_declared_fields_has_no_names() {
    let mut packer = packer(
        r#"
[key."usage:{user_id:uint}:{month:month}"]
type = "hash"
extra = "uint"
ttl = "35d"
[key."usage:{user_id:uint}:{month:month}".fields]
total_requests = "uint?"
last_updated = "timestamp?"
"#,
    );
    let fields: &[(&[u8], &[u8])] = &[
        (b"total_requests", b"1500"),
        (b"reliapi_requests", b"1000"),
        (b"last_updated", b"2025-12-04T15:30:00Z"),
    ];
    let key = b"usage:123456789:2025-12";
    let first = check_fields(&mut packer, b"usage:123456788:2025-12", fields).len();
    let body = check_fields(&mut packer, key, fields);
    assert!(first > body.len());
    // The key, the skeleton, and each value; the name that is not declared is a word.
    assert_eq!(body.len(), (5 + 3) + 2 + 3 + (1 + 3) + 6);
    check_fields(&mut packer, key, &[]);
    check_fields(&mut packer, key, &[(b"", b""), (b"\0\xff", b"\0")]);
}

#[test]
fn a_value_names_what_stands_in_its_key() {
    let mut packer = packer(
        r#"
[key."telegram:msg:{channel_id:int}:{message_id:uint}"]
type = "json"
ttl = "1h"
fields = { channel_id = "str", text = "string" }
"#,
    );
    let text = br#"{"channel_id":"-1001649127710","text":"BUY"}"#;
    check_text(&mut packer, b"telegram:msg:-1001649127710:6", text);
    let body = check_text(&mut packer, b"telegram:msg:-1001649127710:5", text);
    // A number is as short by itself as any name of it would be, but for this one.
    assert!(body.len() <= 7 + 1 + 2 + 7 + 4, "{} bytes", body.len());
}

#[test]
fn words_go_with_the_last_row_that_names_them() {
    let mut packer = packer(PROCESSED_TOKEN);
    let mut bodies = Vec::new();
    let pinned = packer.words();
    for user in 0..1000 {
        let key = format!("processed_token:{ADDRESS}:{user}").into_bytes();
        bodies.push(check_text(&mut packer, &key, processed_token(&[user % 9]).as_bytes()));
    }
    assert!(packer.words() > pinned + 10);
    bodies.iter().for_each(|body| packer.release(body));
    assert_eq!(packer.words(), pinned);
}

const TRANSACTIONS: &str = r#"
[key."transactions:{user_id:uint}"]
type = "list"
ttl = "none"
max_len = 1000
[key."transactions:{user_id:uint}".items]
id = "string"
type = "topup | usage"
amount_usd = "decimal(2)"
created_at = "timestamp"
extra = "string?"
"#;

fn transaction(number: u32) -> String {
    format!(
        r#"{{"id": "txn_{number}", "type": "topup", "amount_usd": {number}.25, "created_at": "2025-12-04T15:30:{:02}Z"}}"#,
        number % 60
    )
}

#[test]
fn items_are_packed_by_their_shape_and_their_words_go_with_them() {
    let mut packer = packer(TRANSACTIONS);
    let pinned = packer.words();
    let items: Vec<String> = (1000..1050).map(transaction).collect();
    let items: Vec<&[u8]> = items.iter().map(|item| item.as_bytes()).collect();
    check_items(&mut packer, b"transactions:1", &items);
    let body = check_items(&mut packer, b"transactions:2", &items);
    let bytes: usize = items.iter().map(|item| item.len()).sum();
    assert!(body.len() * 4 < bytes, "{} of {bytes} bytes", body.len());
    let few = check_items(&mut packer, b"transactions:3", &[b"no JSON", b"", items[0]]);
    check_items(&mut packer, b"transactions:4", &[]);
    assert!(packer.unpack_items(&few[..few.len() - 1], b"transactions:3", |_| ()).is_err());
    assert!(packer.words() > pinned);
}

#[test]
fn single_rows_and_large_collections_are_not_packed() {
    for text in [
        "[key.\"products:config\"]\ntype = \"json\"\nttl = \"none\"\n",
        "[key.\"set:{id}\"]\ntype = \"set\"\nitems = \"string\"\nttl = \"1d\"\n",
    ] {
        assert!(Packer::new(&schema(text).keys[0], [1, 2]).is_none(), "{text}");
    }
}

/// A key of every kind of placeholder and a value of every type of shape.
const EVERYTHING: &str = r#"
[key."k:{a}:{b:int}:{c:uint}:{d:uuid}:{e:base58}:{f:hex}:{g:date}:{h:month}:{i:one|two}:{j:rest}"]
type = "json"
ttl = "1d"
[key."k:{a}:{b:int}:{c:uint}:{d:uuid}:{e:base58}:{f:hex}:{g:date}:{h:month}:{i:one|two}:{j:rest}".fields]
text = "string?"
number = "int?"
float = "float?"
decimal = "decimal(2)?"
bool = "bool?"
at = "timestamp?"
at_ms = "timestamp_ms?"
id = "uuid?"
any = "json?"
word = "red | green"
list = "string[]?"
map = "{string: int}?"
maybe = "int | null"
"#;

fn any_json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:?}")),
        "\"[ -!#-\\[\\]-~]{0,12}\"",
        Just("\"\\u00e9\\\"\"".to_owned()),
        Just("\"red\"".to_owned()),
        Just("\"2025-11-03T10:30:00.000Z\"".to_owned()),
    ];
    let spacing = prop_oneof![Just(("", "")), Just((" ", "")), Just((" ", "\n  "))];
    let name = prop_oneof![
        Just("text"),
        Just("number"),
        Just("any"),
        Just("list"),
        Just("map"),
        Just("word"),
        Just("at"),
        Just("x")
    ];
    scalar.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..5), spacing.clone()).prop_map(
                |(items, (space, line))| format!(
                    "[{line}{}]",
                    items.join(&format!(",{space}{line}"))
                )
            ),
            (proptest::collection::vec((name.clone(), inner), 0..5), spacing.clone()).prop_map(
                |(members, (space, line))| {
                    let members: Vec<String> = members
                        .iter()
                        .map(|(name, value)| format!("\"{name}\":{space}{value}"))
                        .collect();
                    format!("{{{line}{}}}", members.join(&format!(",{space}{line}")))
                }
            ),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    "k:[ -9;-~]{1,12}:-?[0-9]{1,19}:[0-9]{1,19}:[0-9a-fA-F]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[1-9A-HJ-NP-Za-km-z]{1,90}:[0-9a-fA-F]{1,64}:20[0-9]{2}-[01][0-9]-[0-3][0-9]:[0-9]{4}-[01][0-9]:(one|two):[ -~]{1,20}"
}

proptest! {
    #[test]
    fn any_json_under_any_key_comes_back(keys in proptest::collection::vec(any_key(), 1..4), texts in proptest::collection::vec(any_json(), 1..6)) {
        let mut packer = packer(EVERYTHING);
        for text in texts.iter().chain(&texts) {
            for key in &keys {
                check_text(&mut packer, key.as_bytes(), text.as_bytes());
            }
        }
    }

    #[test]
    fn any_bytes_come_back(texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..6), key in any_key()) {
        let mut packer = packer(EVERYTHING);
        for text in texts.iter().chain(&texts) {
            check_text(&mut packer, key.as_bytes(), text);
        }
    }

    #[test]
    fn any_fields_come_back(
        fields in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..20), proptest::collection::vec(any::<u8>(), 0..50)), 0..10),
    ) {
        let mut packer = packer("[key.\"h:{id}\"]\ntype = \"hash\"\nttl = \"1d\"\nextra = \"allow\"\nfields = { a = \"string?\" }\n");
        let mut fields: Vec<(&[u8], &[u8])> = fields.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        fields.push((b"a", b"b"));
        check_fields(&mut packer, b"h:1", &fields);
        check_fields(&mut packer, b"h:1", &fields);
    }

    #[test]
    fn any_items_come_back(
        texts in proptest::collection::vec(any_json(), 0..6),
        bytes in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..6),
    ) {
        let mut packer = packer(TRANSACTIONS);
        let pinned = packer.words();
        let items = texts.iter().map(|text| text.as_bytes()).chain(bytes.iter().map(|item| &item[..]));
        let items: Vec<&[u8]> = items.clone().chain(items).collect();
        let bodies = [
            check_items(&mut packer, b"transactions:1", &items),
            check_items(&mut packer, b"transactions:2", &items),
        ];
        bodies.iter().for_each(|body| packer.release(body));
        prop_assert_eq!(packer.words(), pinned);
    }

    #[test]
    fn damaged_bodies_are_told_and_release_no_more_than_there_is(
        cut in 0usize..60,
        flips in proptest::collection::vec((0usize..60, any::<u8>()), 0..4),
    ) {
        let mut packer = packer(PROCESSED_TOKEN);
        let key = format!("processed_token:{ADDRESS}:77").into_bytes();
        for _ in 0..3 {
            check_text(&mut packer, &key, processed_token(&[1, 2]).as_bytes());
        }
        let mut body = check_text(&mut packer, &key, processed_token(&[1, 2]).as_bytes());
        for (at, byte) in flips {
            let at = at % body.len();
            body[at] = byte;
        }
        body.truncate(body.len() - cut.min(body.len()));
        let mut out = Vec::new();
        let _ = packer.unpack_key(&body, &mut out);
        let _ = packer.unpack_text(&body, &key, &mut out);
        let _ = packer.unpack_fields(&body, &key, |_, _| ());
        let _ = packer.unpack_items(&body, &key, |_| ());
        packer.has_key(&body, &key);
        packer.release(&body);
        prop_assert!(out.len() < 60 * 4096);
    }
}
