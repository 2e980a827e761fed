use super::*;
use crate::tables::table::{Found, Table};
use crate::values::hasher::{DbIndex, Key, TableIndex};
use std::collections::BTreeMap;
use std::sync::Arc;

const SCHEMA: &str = r#"
[keyspace]
name = "test"
db   = 0
[key."row:{kind}:{id:uint}"]
type = "json"
ttl  = "1d"
fields = { name = "string?", tags = "string[]?" }
extra = "allow"
"#;

fn table() -> Table {
    let schema = keyward_schema::check("test.toml", SCHEMA.as_bytes()).schema;
    let schema = Arc::new(schema.expect("the schema is sound"));
    Table::governed(KeyHasher::new([5, 6]), &schema.keys[0])
}

fn key<'a>(table: &Table, bytes: &'a [u8]) -> Key<'a> {
    Key { bytes, hash: table.hasher().hash(bytes), table: TableIndex::PLAIN, db: DbIndex::WITHIN }
}

/// What a row is, for comparing.
type Content = (Vec<u8>, Option<i64>, u32);

fn content(row: &Row) -> Content {
    let text = Text::of(row.value()).map(|text| text.as_bytes().to_vec());
    (text.unwrap_or_default(), row.deadline(), row.clock())
}

fn value(random: &mut Random) -> Vec<u8> {
    let number = random.below(1000);
    let text = match random.below(6) {
        0 => format!("{number}"),
        1 => "x".repeat(random.below(3000) as usize),
        2 => format!("{{\"name\":\"n{number}\",\"tags\":[\"a{}\",\"b\"]}}", number % 7),
        3 => format!("{{\"name\": \"{}\"}}", "long ".repeat(number as usize % 60)),
        4 => format!("raw {number} text"),
        _ => format!("{{\"name\":\"n{}\",\"at\":\"2025-12-04T15:30:00Z\"}}", number % 3),
    };
    text.into_bytes()
}

/// Fills, rewrites, marks, moves deadlines, removes, expires and packs, and holds the
/// table against a map all the while.
#[test]
fn a_table_agrees_with_a_map_through_a_long_life() {
    let mut random = Random::from_seed(11);
    let mut table = table();
    let mut model: BTreeMap<Vec<u8>, Content> = BTreeMap::new();
    // It grows, shrinks to nothing and grows again.
    for step in 0..60_000u32 {
        let target = [1500, 60, 3000, 0][step as usize / 15_000];
        let bytes = format!("row:k{}:{}", random.below(20), random.below(200)).into_bytes();
        let key = key(&table, &bytes);
        let deadline =
            (random.below(3) > 0).then(|| random.below(100_000) as i64 + i64::from(step));
        let wants_more = model.len() < target;
        match (random.below(10), table.locate(key)) {
            (0..6, None) if wants_more => {
                let text = value(&mut random);
                let mut row = Row::new(&bytes, crate::values::text::encode(&text), deadline);
                row.set_clock(step);
                table.insert(key.hash, row);
                model.insert(bytes, (text, deadline, step));
            }
            (0..3, Some(spot)) => {
                let text = value(&mut random);
                table.replace(spot, key.hash, crate::values::text::encode(&text), deadline);
                table.set_clock_at(Found::Loose(spot), step);
                model.insert(bytes, (text, deadline, step));
            }
            (3, Some(spot)) => {
                table.set_deadline(spot, key.hash, deadline);
                model.get_mut(&bytes).unwrap().1 = deadline;
            }
            (4..7, Some(_)) if !wants_more => {
                let row = table.remove(key).expect("the row is there");
                assert_eq!(Some(content(&row)), model.remove(&bytes));
            }
            (7, _) if !wants_more => {
                if let Some(due) = table.due_key(i64::from(step) + 50_000) {
                    let first = model.values().filter_map(|row| row.1).min();
                    assert_eq!(table.next_deadline(), first);
                    table.remove(self::key(&table, &due)).expect("what is due is there");
                    model.remove(&*due);
                }
            }
            (8, _) => {
                table.pack(random.below(200) as usize);
            }
            (_, found) => assert_eq!(found.is_some(), model.contains_key(&bytes)),
        }
        if step % 1000 == 999 {
            check(&table, &model, &mut random);
        }
    }
    table.pack(usize::MAX);
    check(&table, &model, &mut random);
}

fn check(table: &Table, model: &BTreeMap<Vec<u8>, Content>, random: &mut Random) {
    assert_eq!(table.len(), model.len());
    assert_eq!(table.expiring(), model.values().filter(|row| row.1.is_some()).count());
    for (bytes, expected) in model {
        let row = table.find(key(table, bytes)).expect("a row that was written is there");
        assert_eq!((row.key(), content(&row)), (&bytes[..], expected.clone()));
    }
    let mut all: Vec<Vec<u8>> = table.iter().map(|row| row.key().to_vec()).collect();
    all.sort_unstable();
    assert!(all.iter().eq(model.keys()));
    let (mut cursor, mut seen) = (0, Vec::new());
    loop {
        cursor = table.scan(cursor, |row| seen.push(row.key().to_vec()));
        if cursor == 0 {
            break;
        }
    }
    seen.sort_unstable();
    assert!(seen.iter().eq(model.keys()), "a scan shows each row once while nothing changes");
    if let Some(drawn) = table.sample(random) {
        assert!(model.contains_key(drawn.key()));
    }
    let rows: usize = model.keys().filter_map(|bytes| table.usage(key(table, bytes))).sum();
    let all = table.heap_bytes();
    let is_near = rows.abs_diff(all) <= all / 5 + 30_000;
    assert!(is_near, "rows take {rows} bytes, the table {all}");
}

#[test]
fn a_scan_returns_what_stays_while_rows_are_packed_and_loosened() {
    let mut random = Random::from_seed(3);
    let mut table = table();
    let names: Vec<Vec<u8>> = (0..2000).map(|id| format!("row:k:{id}").into_bytes()).collect();
    for name in &names {
        let row = Row::new(name, NewValue::Text(b"{\"name\":\"n\"}"), Some(1_000_000));
        table.insert(key(&table, name).hash, row);
    }
    let (mut cursor, mut seen) = (0, std::collections::BTreeSet::new());
    loop {
        cursor = table.scan(cursor, |row| {
            seen.insert(row.key().to_vec());
        });
        if cursor == 0 {
            break;
        }
        for _ in 0..20 {
            let name = &names[random.below(2000) as usize];
            table.locate(key(&table, name));
        }
        table.pack(random.below(200) as usize);
    }
    assert!(names.iter().all(|name| seen.contains(name)));
}

#[test]
fn rows_of_one_table_take_few_bytes() {
    let mut table = table();
    for id in 0..20_000 {
        let name = format!("row:solana:{id}").into_bytes();
        let text = format!("{{\"name\": \"n{}\", \"tags\": [\"a\", \"b\"]}}", id % 50).into_bytes();
        let row = Row::new(&name, NewValue::Text(&text), Some(1_764_862_200_000 + id));
        table.insert(key(&table, &name).hash, row);
    }
    table.pack(usize::MAX);
    let bytes = table.heap_bytes() / 20_000;
    assert!(bytes <= 48, "{bytes} bytes per row");
}

#[test]
fn what_was_taken_out_leaves_nothing_behind() {
    let mut table = table();
    for round in 0..3 {
        for id in 0..5_000 {
            let name = format!("row:k{round}:{id}").into_bytes();
            let row = Row::new(&name, NewValue::Text(b"{\"name\":\"again and again\"}"), Some(id));
            table.insert(key(&table, &name).hash, row);
        }
        table.pack(usize::MAX);
        while let Some(due) = table.due_key(i64::MAX) {
            table.remove(key(&table, &due)).expect("what is due is there");
        }
        assert_eq!((table.len(), table.expiring()), (0, 0));
        assert!(table.heap_bytes() < 60_000, "{} bytes for nothing", table.heap_bytes());
    }
}

#[test]
fn writes_pack_as_much_as_they_add_once_too_much_waits() {
    let mut table = table();
    for number in 0..20_000u32 {
        let bytes = format!("row:k:{number}").into_bytes();
        let key = key(&table, &bytes);
        table.insert(key.hash, Row::new(&bytes, NewValue::Text(&[b'x'; 4_000]), None));
    }
    let waiting = table.fresh.row_bytes();
    assert!(waiting <= crate::tables::table::packing::FRESH_BYTES_MAX, "{waiting} bytes wait");
    assert_eq!(table.len(), 20_000);
}

/// A table whose long texts are compressed.
fn table_of_texts() -> Table {
    let schema = "[keyspace]\nname = \"test\"\ndb = 0\n[key.\"row:{id}\"]\n\
                  type = \"string\"\nttl = \"1d\"\ncompress = \"1kb\"\n";
    let schema = keyward_schema::check("test.toml", schema.as_bytes()).schema;
    Table::governed(KeyHasher::new([5, 6]), &schema.expect("the schema is sound").keys[0])
}

#[test]
fn a_text_that_changes_while_it_is_compressed_is_packed_as_it_is_then() {
    let mut table = table_of_texts();
    let texts = ["first text ".repeat(20_000), "second text ".repeat(20_000)];
    for id in 0..2 {
        let bytes = format!("row:{id}");
        let hash = table.hasher().hash(bytes.as_bytes());
        table.insert(hash, Row::new(bytes.as_bytes(), NewValue::Text(texts[0].as_bytes()), None));
    }
    let bytes = b"row:0";
    let key = key(&table, bytes);
    assert!(table.pack(1) > 0);
    let spot = table.locate(key).expect("it is not packed yet");
    table.replace(spot, key.hash, NewValue::Text(texts[1].as_bytes()), None);
    table.pack(usize::MAX);
    assert!(table.find_loose(key).is_none() && table.rows.len() == 0);
    let text_of = |bytes: &[u8]| {
        let row = table.find(self::key(&table, bytes)).expect("the row is there");
        content(&row).0
    };
    assert!(text_of(bytes) == texts[1].as_bytes() && text_of(b"row:1") == texts[0].as_bytes());
}

#[test]
fn a_step_packs_one_long_text_however_many_wait() {
    let mut table = table_of_texts();
    for id in 0..40 {
        let (bytes, text) = (format!("row:{id}"), format!("text {id} ").repeat(3_000));
        let hash = table.hasher().hash(bytes.as_bytes());
        table.insert(hash, Row::new(bytes.as_bytes(), NewValue::Text(text.as_bytes()), None));
    }
    for packed in 1..=40 {
        assert!(table.pack(32) >= 32);
        assert_eq!(table.packed.as_ref().map(|rows| rows.len()), Some(packed));
    }
    assert_eq!(table.pack(32), 0);
}

#[test]
fn a_table_that_is_not_used_any_more_goes_in_steps_and_so_do_its_words() {
    let mut table = table();
    let rows = 5_000;
    for id in 0..rows {
        let bytes = format!("row:k:{id}").into_bytes();
        let text = format!("{{\"name\":\"the name of {}\"}}", id / 2);
        let hash = key(&table, &bytes).hash;
        table.insert(hash, Row::new(&bytes, NewValue::Text(text.as_bytes()), Some(id)));
        table.pack(4);
    }
    let words = table.packed.as_ref().map_or(0, |rows| rows.packer.words());
    assert!(words > 2_000, "{words} words");
    let (mut left, mut steps_of_words) = (rows, 0);
    loop {
        let mut received = 0;
        let shed = table.shed(100, |_| received += 1);
        assert!(shed < 1_000 && received < 200, "{shed} at once, of which {received} rows");
        if shed == 0 {
            break;
        }
        left -= received;
        steps_of_words += usize::from(left == 0 && received == 0);
    }
    assert_eq!(left, 0);
    assert!(steps_of_words >= words / 100, "{steps_of_words} steps for {words} words");
    assert!(table.heap_bytes() < 300_000, "{} bytes are left", table.heap_bytes());
}
