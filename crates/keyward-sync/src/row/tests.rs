//! Rows of small schemas.

use super::*;
use keyward_schema::Schema;

const ORIGIN: Origin =
    Origin { id: EntryId { ms: 1_764_862_200_123, seq: 4 }, item: None, again: None };

fn schema(key: &str) -> Schema {
    let text = format!("[keyspace]\nname = 'test'\n{key}");
    let checked = keyward_schema::check("test.toml", text.as_bytes());
    let Some(schema) = checked.schema else { panic!("{:#?}", checked.diagnostics) };
    schema
}

/// The rows that something is, as lines, `-` for nothing.
fn shown(
    schema: &Schema,
    name: &str,
    held: &Held<'_>,
    item: Option<usize>,
) -> Result<Vec<String>, Unfit> {
    let key = &schema.keys[0];
    let sink = key.sink.as_ref().expect("a sink");
    let rows = rows_of(key, sink, name.as_bytes(), held, Origin { item, ..ORIGIN })?;
    let line = |row: &Row| {
        let values = row.iter().map(|value| value.as_deref().unwrap_or("-"));
        values.collect::<Vec<_>>().join(" | ")
    };
    Ok(rows.iter().map(line).collect())
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pair = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    fields.iter().map(pair).collect()
}

#[test]
fn a_hash_is_a_row() {
    let schema = schema(
        "[key.\"u:{id:uint}:{m:month}\"]\ntype = 'hash'\nfields = { name = 'string', hash = { type = 'string?', prefix = 'sha256:' }, seen = 'timestamp_ms?' }\nsink = { mirror = 'u', deleted = 'mark', columns = { hash = { strip = 'sha256:' }, seen = { type = 'timestamptz' } } }",
    );
    let held = pairs(&[("name", "Ann"), ("hash", "sha256:ab"), ("seen", "1764862200123")]);
    let rows = shown(&schema, "u:7:2025-12", &Held::Fields(&held), None);
    let expected = "7 | 2025-12-01 | Ann | ab | 2025-12-04T15:30:00.123Z | -";
    assert_eq!(rows, Ok(vec![expected.to_owned()]));
    let gone = key_of(
        &schema.keys[0],
        schema.keys[0].sink.as_ref().expect("a sink"),
        b"u:7:2025-12",
        ORIGIN,
    );
    let gone = gone.expect("a key");
    assert_eq!(gone[0].as_deref(), Some("7"));
    assert_eq!(gone[5].as_deref(), Some("2025-12-04T15:30:00.123Z"));
}

#[test]
fn json_is_a_row_with_its_numbers_as_they_are() {
    let schema = schema(
        "[key.\"k:{id}\"]\ntype = 'json'\nextra = 'allow'\nfields = { n = 'decimal', t = 'string', list = 'string[]?', gone = '(string | null)?' }\nsink = { mirror = 'k' }",
    );
    let text =
        br#"{"n":0.10000000000000000000001,"t":"a\"b","list":["x", "y"],"gone":null,"more":1.50}"#;
    let rows = shown(&schema, "k:a", &Held::Text(text), None);
    let expected = r#"a | 0.10000000000000000000001 | a"b | ["x", "y"] | - | {"more":1.50}"#;
    assert_eq!(rows, Ok(vec![expected.to_owned()]));
}

#[test]
fn fields_are_split_into_rows() {
    let schema = schema(
        "[key.\"usage:{id:uint}\"]\ntype = 'hash'\nttl = '1d'\nextra = 'uint'\nfields = { total = 'uint?' }\nsink = { archive = 'u', merge = 'add', columns = { requests = '{product}_requests', tokens = '{product}_tokens' } }",
    );
    let held = pairs(&[
        ("total", "9"),
        ("a_requests", "1"),
        ("a_tokens", "2"),
        ("b_requests", "3"),
        ("other", "4"),
    ]);
    let rows = shown(&schema, "usage:7", &Held::Fields(&held), None);
    let expected =
        [r#"7 |  | 9 | - | - | {"other":"4"}"#, "7 | a | - | 1 | 2 | -", "7 | b | - | 3 | - | -"];
    assert_eq!(rows, Ok(expected.map(str::to_owned).to_vec()));
    let held = pairs(&[("a_requests", "1")]);
    let rows = shown(&schema, "usage:7", &Held::Fields(&held), None);
    assert_eq!(rows, Ok(vec!["7 | a | - | 1 | - | -".to_owned()]));
}

#[test]
fn items_are_rows_with_their_place() {
    let schema = schema(
        "[key.\"q\"]\ntype = 'list'\nttl = 'none'\nallow = ['KW0310: drained']\nitems = { id = 'str' }\nsink = { drain = 'q' }",
    );
    let rows = shown(&schema, "q", &Held::Text(br#"{"id":"a"}"#), Some(2));
    let expected = "a | 2025-12-04T15:30:00.123Z | 1764862200123-4-2";
    assert_eq!(rows, Ok(vec![expected.to_owned()]));
    let rows = shown(&schema, "q", &Held::Text(b"nonsense"), Some(2));
    assert_eq!(rows.map_err(|unfit| unfit.problem), Err("is no JSON object"));
}

#[test]
fn what_postgresql_would_take_for_another_value_is_told() {
    let schema = schema(
        "[key.\"u:{id:uuid}\"]\ntype = 'hash'\nfields = { at = 'timestamp?', text = 'string?' }\nsink = { mirror = 'u' }",
    );
    let check = |name: &str, field: (&str, &[u8]), expected: Option<&str>| {
        let held = [(field.0.as_bytes().to_vec(), field.1.to_vec())];
        let rows = shown(&schema, name, &Held::Fields(&held), None);
        assert_eq!(rows.err().map(|unfit| unfit.problem), expected, "{name} {field:?}");
    };
    let (small, large) =
        ("u:0b5a6a1c-2222-4444-8888-aaaaaaaaaaaa", "u:0B5A6A1C-2222-4444-8888-AAAAAAAAAAAA");
    check(small, ("at", b"2025-12-04T15:30:00.123456Z"), None);
    check(small, ("at", b"2025-12-04T15:30:00.1234560Z"), None);
    let rounded = "is a time more exact than a microsecond, which PostgreSQL would round";
    check(small, ("at", b"2025-12-04T15:30:00.1234567Z"), Some(rounded));
    check(large, ("text", b"x"), Some("would be another key's value too, as PostgreSQL writes it"));
    let other = "u:0b5a6a1c222244448888aaaaaaaaaaaa";
    check(other, ("text", b"x"), Some("would be another key's value too, as PostgreSQL writes it"));
    check(small, ("text", b"a\0b"), Some("has a zero byte, which no text of PostgreSQL has"));
    check(small, ("text", b"\xff"), Some("is no text in UTF-8"));
}

#[test]
fn a_text_of_json_stays_one_in_a_column_of_json() {
    let schema = schema(
        "[key.\"k:{id}\"]\ntype = 'json'\nfields = { a = 'json', b = 'json', c = 'json?', t = 'string' }\nsink = { mirror = 'k' }",
    );
    let text = br#"{"a":"1","b":"say \"x\"","c":{"n":1},"t":"1"}"#;
    let rows = shown(&schema, "k:a", &Held::Text(text), None);
    let expected = r#"a | "1" | "say \"x\"" | {"n":1} | 1"#;
    assert_eq!(rows, Ok(vec![expected.to_owned()]));
}

#[test]
fn half_of_a_surrogate_pair_is_not_taken_for_another_text() {
    let schema = schema(
        "[key.\"k:{id}\"]\ntype = 'json'\nfields = { t = 'string' }\nsink = { mirror = 'k' }",
    );
    let key = &schema.keys[0];
    let sink = key.sink.as_ref().expect("a sink");
    let row = |text: &[u8]| rows_of(key, sink, b"k:a", &Held::Text(text), ORIGIN);
    let problem = "has half of a surrogate pair, which no text of PostgreSQL has";
    assert_eq!(row(br#"{"t":"cut \ud83d"}"#), Err(Unfit { column: "t".into(), problem }));
    let whole = row(br#"{"t":"\ud83d\ude00"}"#).expect("a row");
    assert_eq!(whole[0].last(), Some(&Some("\u{1f600}".to_owned())));
}

#[test]
fn an_id_that_was_given_before_bears_its_history() {
    let schema = schema(
        "[key.\"q\"]\ntype = 'list'\nttl = 'none'\nallow = ['KW0310: drained']\nitems = 'str'\nsink = { drain = 'q' }",
    );
    let key = &schema.keys[0];
    let sink = key.sink.as_ref().expect("a sink");
    let origin = Origin { item: Some(2), again: Some(0xab), ..ORIGIN };
    let rows = rows_of(key, sink, b"q", &Held::Text(b"x"), origin).expect("a row");
    assert_eq!(rows[0].last(), Some(&Some("1764862200123-4-2-000000ab".to_owned())));
}

#[test]
fn a_row_of_very_many_fields_takes_time_that_goes_with_their_number() {
    let schema = schema(
        "[key.\"k:{id}\"]\ntype = 'hash'\nttl = 'none'\nextra = 'string'\n[key.\"k:{id}\".sink]\nmirror = 'k'\ncolumns = { n = '{word}_n' }",
    );
    let key = &schema.keys[0];
    let sink = key.sink.as_ref().expect("a sink");
    let pair = |name: String| (name.into_bytes(), b"1".to_vec());
    let extra = (0..100_000).map(|at| pair(format!("f{at}")));
    let split = (0..100_000).map(|at| pair(format!("w{at}_n")));
    let pairs: Vec<_> = extra.chain(split).collect();
    let began = std::time::Instant::now();
    let rows = rows_of(key, sink, b"k:a", &Held::Fields(&pairs), ORIGIN).expect("rows");
    assert_eq!(rows.len(), 100_001);
    // A look at all others for each of them takes minutes.
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn what_is_secret_and_has_no_column_is_masked() {
    let schema = schema(
        "[key.\"q\"]\ntype = 'list'\nttl = 'none'\nallow = ['KW0310: drained']\n[key.\"q\".items]\nid = 'str'\ntoken = { type = 'str', secret = true }\npin = { type = 'str', secret = true }\n[key.\"q\".sink]\ndrain = 'q'\ncolumns = { pin = 'pin' }",
    );
    let key = &schema.keys[0];
    let sink = key.sink.as_ref().expect("a sink");
    let hidden = masked(key, Some(sink), br#"{"id":"a","token":"se-cret","pin":"1234"}"#);
    assert_eq!(
        hidden.escape_ascii().to_string(),
        r#"{\"id\":\"a\",\"pin\":\"1234\",\"token\":\"***\"}"#
    );
    assert_eq!(masked(key, Some(sink), b"se-cret"), b"***");
}

#[test]
fn a_row_is_as_large_as_its_columns_together() {
    let row = vec![Some("abc".to_owned()), None, Some("de".to_owned())];
    assert!(!is_larger(&row, 5) && is_larger(&row, 4));
}
