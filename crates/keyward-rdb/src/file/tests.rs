use super::*;
use crate::decode::testing::Seen;
use crate::payload::Sum;
use crate::{Element, Error, FileOptions, Form};

const OPTIONS: FileOptions = FileOptions { compresses: true, sums: true };

fn read(file: &[u8]) -> Result<Vec<String>, Error> {
    let mut reader = FileReader::new(file, Sum::Checked)?;
    let mut lines = Vec::new();
    loop {
        let mut seen = Seen::default();
        let Some(entry) = reader.next(&mut seen)? else { return Ok(lines) };
        lines.push(match entry {
            Record::Fact(name, value) => {
                format!("{} is {}", name.escape_ascii(), value.escape_ascii())
            }
            Record::Library(source) => format!("library {}", source.escape_ascii()),
            Record::Database(number) => format!("database {number}"),
            Record::Sizes(sizes) => format!("{} rows, {} expiring", sizes.rows, sizes.expiring),
            Record::Row(RowHead { key, deadline_ms, usage }) => {
                let key = key.escape_ascii();
                format!("{key} {deadline_ms:?} {usage:?}: {}", seen.text())
            }
            Record::EmptyRow => "empty".to_owned(),
            Record::Unsupported(key, what) => format!("{}: {what}", key.escape_ascii()),
        });
    }
}

fn small_file(options: FileOptions) -> Vec<u8> {
    let mut writer = FileWriter::new(Vec::new(), options);
    writer.fact("redis-ver", "7.0.15").unwrap();
    writer.library(b"#!lua name=a").unwrap();
    writer.database(3, Sizes { rows: 2, expiring: 1 }).unwrap();
    let head = RowHead { key: b"list", deadline_ms: None, usage: None };
    let elements = [Element::Int(7), Element::Bytes(b"x")];
    writer.row(head, Form::List).unwrap().list(elements.into_iter()).unwrap();
    let usage = Some(Usage::IdleSeconds(100));
    let head = RowHead { key: b"7", deadline_ms: Some(-5), usage };
    writer.row(head, Form::String).unwrap().string(Element::Bytes(&[b'y'; 30])).unwrap();
    let usage = Some(Usage::Frequency(200));
    let head = RowHead { key: b"zset", deadline_ms: Some(1 << 41), usage };
    let members = [(Element::Bytes(b"a"), f64::NEG_INFINITY), (Element::Int(5), 1.5)];
    let output = writer.row(head, Form::PackedSortedSet).unwrap();
    output.packed_sorted_set(members.into_iter()).unwrap();
    writer.finish().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let expected = [
        "redis-ver is 7.0.15",
        "library #!lua name=a",
        "database 3",
        "2 rows, 1 expiring",
        "list None None: 7 x",
        "7 Some(-5) Some(IdleSeconds(100)): yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        "zset Some(2199023255552) Some(Frequency(200)): a -inf 5 1.5",
    ];
    for (compresses, sums) in [(true, true), (false, false)] {
        let file = small_file(FileOptions { compresses, sums });
        assert_eq!(read(&file).unwrap(), expected);
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let file = small_file(OPTIONS);
    for len in 0..file.len() {
        let error = read(&file[..len]).unwrap_err();
        assert!(matches!(error, Error::NotRdb | Error::Truncated { .. }), "{len}: {error}");
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let file = small_file(OPTIONS);
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        // Version 11 differs from 10 in nothing that is in this file, but in its sum.
        assert!(read(&changed).is_err(), "{at}");
    }
}

#[test]
fn long_values_are_read_and_written_in_pieces() {
    let texts: Vec<String> = (0..20_000).map(|n| format!("element number {n}")).collect();
    let elements = || texts.iter().map(|text| Element::Bytes(text.as_bytes()));
    let mut writer = FileWriter::new(Vec::new(), OPTIONS);
    for (key, form) in [(b"l", Form::List), (b"s", Form::Set)] {
        let head = RowHead { key, deadline_ms: None, usage: None };
        let output = writer.row(head, form).unwrap();
        match form {
            Form::List => output.list(elements()).unwrap(),
            _ => output.set(elements()).unwrap(),
        }
    }
    let written = writer.written();
    let file = writer.finish().unwrap();
    assert_eq!(file.len() as u64, written + 9);
    let expected = texts.join(" ");
    let rows = read(&file).unwrap();
    assert_eq!(rows, [format!("l None None: {expected}"), format!("s None None: {expected}")]);
}

#[test]
fn other_files_and_versions_are_told() {
    let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(error(b""), "is not an RDB file");
    assert_eq!(error(b"REDIS00x0"), "is not an RDB file");
    assert_eq!(error(b"REDIS0013"), "is of version 13, which is not known");
    assert_eq!(error(b"VALKEY099"), "is of version 99, which is not known");
    assert_eq!(read(b"VALKEY080\xff\0\0\0\0\0\0\0\0").unwrap(), [""; 0]);
    assert_eq!(read(b"REDIS0004\xff").unwrap(), [""; 0]);
}

/// Rows of old files, as they were written by the Redis of their time.
#[test]
fn forms_of_old_files_are_read() {
    let check = |content: &[u8], expected: &str| {
        let file = [b"REDIS0003", content, b"\xff"].concat();
        assert_eq!(read(&file).unwrap(), [expected], "{}", content.escape_ascii());
    };
    check(b"\x01\x01k\x02\x01a\xc0\x05", "k None None: a 5");
    check(b"\x02\x01k\x02\x01a\x01b", "k None None: a b");
    check(b"\x03\x01k\x03\x01a\x031.5\x01b\xfe\x01c\xff", "k None None: a 1.5 b inf c -inf");
    check(b"\x04\x01k\x01\x01f\x01v", "k None None: f v");
    check(b"\xfd\x01\0\0\0\0\x01k\x01v", "k Some(1000) None: v");
    check(b"\x09\x01k\x0c\x01\x03foo\x03\x01bar.\xff", "k None None: foo bar");
    check(b"\x0a\x01k\x0d\x0d\0\0\0\x0a\0\0\0\x01\0\x00\xf3\xff", "k None None: 2");
    check(b"\x0b\x01k\x0c\x02\0\0\0\x02\0\0\0\x01\0\x02\0", "k None None: 1 2");
    check(b"\x0d\x01k\x0f\x0f\0\0\0\x0a\0\0\0\x02\0\x00\xf3\x02\xf4\xff", "k None None: 2 3");
    check(b"\x0c\x01k\x0f\x0f\0\0\0\x0a\0\0\0\x02\0\x00\xf3\x02\xf4\xff", "k None None: 2 3");
    check(b"\x0e\x01k\x01\x0d\x0d\0\0\0\x0a\0\0\0\x01\0\x00\xf3\xff", "k None None: 2");
    check(b"\x14\x01k\x0a\x0a\0\0\0\x01\0\x81a\x02\xff", "k None None: a");
    check(b"\x01\x01k\x00", "empty");
    check(b"\xf4\x01\x02\x03\x00\x01k\x01v", "k None None: v");
}

#[test]
fn what_is_there_twice_is_damage() {
    for content in [
        &b"\x02\x01k\x02\x01a\x01a"[..],
        b"\x04\x01k\x02\x01f\x01v\x01f\x01w",
        b"\x03\x01k\x02\x01a\x011\x01a\x012",
        b"\x03\x01k\x01\x01a\xfd",
    ] {
        let file = [b"REDIS0003", content, b"\xff"].concat();
        assert!(matches!(read(&file), Err(Error::Malformed { .. })), "{}", content.escape_ascii());
    }
}

/// Values that are not served, as Redis and Valkey write them: what follows them is read.
#[test]
fn what_is_not_served_is_read_over_and_named() {
    let check = |magic: &[u8], content: &[u8], expected: &str| {
        let end = b"\x00\x01k\x01v\xff\0\0\0\0\0\0\0\0";
        let file = [magic, content, end].concat();
        let expected = [expected, "k None None: v"];
        assert_eq!(read(&file).unwrap(), expected, "{}", content.escape_ascii());
        for len in 0..content.len() {
            read(&file[..magic.len() + len]).unwrap_err();
        }
    };
    check(b"REDIS0012", b"\x18\x01hmmmmmmmm\x02\x00\x01f\x01v\x05\x01g\x01w", HASH);
    check(b"REDIS0012", b"\x19\x01hmmmmmmmm\x03lll", HASH);
    check(
        b"VALKEY080",
        b"\x16\x01h\x02\x01f\x01v\xff\xff\xff\xff\xff\xff\xff\xff\x01g\x01wtttttttt",
        HASH,
    );
    let id = module_id("vectorset", 3);
    let module =
        [b"\x07\x01m\x81".as_slice(), &id, b"\x01\x05\x02\x06\x03ffff\x04dddddddd\x05\x03abc\x00"];
    check(b"REDIS0012", &module.concat(), "m: a value of the module vectorset");
}

/// Streams of all three forms, as Redis 5, 7.0 and 7.2 write them.
#[test]
fn streams_of_every_form_are_read_part_by_part() {
    let check = |magic: &[u8], content: &[u8], expected: &str| {
        let end = b"\x00\x01k\x01v\xff\0\0\0\0\0\0\0\0";
        let file = [magic, content, end].concat();
        assert_eq!(read(&file).unwrap(), [expected, "k None None: v"]);
        for len in 0..content.len() {
            read(&file[..magic.len() + len]).unwrap_err();
        }
    };
    // A node, the lengths, a group with one entry that a consumer has not acknowledged.
    let id = b"\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x06";
    let node = [b"\x01\x10".as_slice(), id, b"\x03lll"].concat();
    let groups = |lengths: &[u8], seen: &[u8]| {
        let pending = [b"\x01".as_slice(), id, b"\x07\0\0\0\0\0\0\0\x09"].concat();
        [b"\x01\x01g", lengths, &pending, b"\x01\x01c", seen, b"\x01", id].concat()
    };
    let told = |facts: &str, told: &str, read: &str| {
        format!(
            "s None None: Node((5,\\x206),\\x20[108,\\x20108,\\x20108]) \
             Facts(StreamFacts\\x20{{\\x20{facts}\\x20}},\\x20{told}) \
             Group([103],\\x20(1,\\x202),\\x20{read}) Pending((5,\\x206),\\x207,\\x209) \
             Consumer([99],\\x208) Owned((5,\\x206)) End"
        )
        .replace("\\x20", " ")
    };
    let seen = b"\x08\0\0\0\0\0\0\0";
    let some = "length: 1, last_id: (2, 3), first_id: (0, 0), removed_id: (0, 0), added: 0";
    let first = [b"\x0f\x01s", &node[..], b"\x01\x02\x03", &groups(b"\x01\x02", seen)].concat();
    check(b"REDIS0009", &first, &told(some, "Some", "None"));
    let all = "length: 1, last_id: (2, 3), first_id: (4, 5), removed_id: (6, 7), added: 8";
    let counts = b"\x01\x02\x03\x04\x05\x06\x07\x08";
    let second = [b"\x13\x01s", &node[..], counts, &groups(b"\x01\x02\x03", seen)].concat();
    check(b"REDIS0010", &second, &told(all, "All", "Some(3)"));
    let seen = [&seen[..], b"aaaaaaaa"].concat();
    let third = [b"\x15\x01s", &node[..], counts, &groups(b"\x01\x02\x03", &seen)].concat();
    check(b"REDIS0011", &third, &told(all, "All", "Some(3)"));
}

const HASH: &str = "h: a hash whose fields have lifetimes";

/// The number of a module's type, as its name is packed.
fn module_id(name: &str, version: u64) -> [u8; 8] {
    let place = |character: char| match character {
        'A'..='Z' => u64::from(character) - u64::from('A'),
        'a'..='z' => u64::from(character) - u64::from('a') + 26,
        '0'..='9' => u64::from(character) - u64::from('0') + 52,
        '-' => 62,
        _ => 63,
    };
    let packed = name.chars().fold(0, |id, character| id << 6 | place(character));
    (packed << 10 | version).to_be_bytes()
}

#[test]
fn what_cannot_be_read_over_is_refused_by_name() {
    let check = |magic: &[u8], content: &[u8], expected: &str| {
        let error = read(&[magic, content].concat()).unwrap_err().to_string();
        assert_eq!(error, expected);
    };
    let early = "holds a hash whose fields have lifetimes, the key \"h\\n\", which is not supported, at byte 13";
    check(b"REDIS0012", b"\x16\x02h\n", early);
    check(b"VALKEY080", b"\x18\x02h\n", early);
    let unknown = "holds a value of type 40, the key \"k\", which is not supported, at byte 12";
    check(b"REDIS0012", b"\x28\x01k", unknown);
    let module = "holds a value of a module, the key \"m\", which is not supported, at byte 12";
    check(b"REDIS0009", b"\x06\x01m", module);
    let data = [b"\xf7\x81".as_slice(), &module_id("bloom-flt", 1)].concat();
    check(
        b"REDIS0011",
        &data,
        "holds data of the module bloom-flt, which is not supported, at byte 19",
    );
    let early =
        "holds a function of Redis 7.0's release candidates, which is not supported, at byte 10";
    check(b"REDIS0010", b"\xf6", early);
}
