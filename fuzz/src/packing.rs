//! Packed rows: what was packed comes back, and damaged bytes get an answer.
//!
//! Inputs are rows of one table, packed, thrown away and packed again, so that its
//! words come and go; then bodies with bytes changed, cut and doubled. Promises: every
//! sound body gives its key and its value back, whatever came and went meanwhile;
//! unpacking a damaged one ends without a panic, and makes no more bytes than its words
//! have.

use crate::Random;
use keyward_packing::Packer;

const SCHEMA: &str = r#"
[keyspace]
name = "packing"
db   = 0
[key."row:{name}:{number:int}"]
type   = "json"
ttl    = "1d"
fields = { status = "new | old", at = "timestamp?", tags = "string[]?", counts = "{string: int}?" }
extra  = "allow"
"#;

/// Rows that are packed in one round.
const ROWS: usize = 60;
/// An atom of one byte makes at most a word of a skeleton's length.
const EXPANSION_MAX: usize = 4096;

/// Packs, releases, damages and unpacks.
pub fn round(random: &mut Random) {
    let schema = keyward_schema::check("packing.toml", SCHEMA.as_bytes()).schema;
    let schema = schema.expect("the schema is sound");
    let mut packer = Packer::new(&schema.keys[0], [1, 2]).expect("its rows are packed");
    let mut rows: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> = Vec::new();
    for _ in 0..ROWS {
        if random.one_in(3) && !rows.is_empty() {
            let (_, _, body) = rows.swap_remove(random.below(rows.len()));
            packer.release(&body);
        }
        let key = format!("row:{}:{}", text(random), random.below(1000)).into_bytes();
        let value = value(random);
        let mut body = Vec::new();
        if packer.pack_text(&key, &value, &mut body) {
            rows.push((key, value, body));
        }
    }
    for (key, value, body) in &rows {
        let (mut key_back, mut value_back) = (Vec::new(), Vec::new());
        packer.unpack_key(body, &mut key_back).expect("a sound body has a key");
        packer.unpack_text(body, key, &mut value_back).expect("a sound body has a value");
        assert!(*key == key_back && *value == value_back, "a row came back as another");
    }
    for (key, _, mut body) in rows {
        (0..1 + random.below(4)).for_each(|_| damage(&mut body, random));
        let mut out = Vec::new();
        // Most are refused; that is for the packer to say.
        let _ = packer.unpack_key(&body, &mut out);
        let _ = packer.unpack_text(&body, &key, &mut out);
        let _ = packer.unpack_fields(&body, &key, |_, _| ());
        let _ = packer.unpack_items(&body, &key, |_| ());
        assert!(out.len() <= (body.len() + 1) * EXPANSION_MAX, "bytes from nowhere");
        packer.release(&body);
    }
}

fn text(random: &mut Random) -> String {
    match random.below(5) {
        0 => format!("name{}", random.below(4)),
        1 => random.below(100_000).to_string(),
        2 => format!("2025-12-{:02}", 1 + random.below(31)),
        3 => (0..8 + random.below(40)).map(|_| char::from(b'a' + random.below(6) as u8)).collect(),
        _ => format!("txn_{:08x}", random.below(1 << 20)),
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let (comma, colon) = *random.pick(&[(",", ":"), (", ", ": "), (",\n  ", ": ")]);
    let strings: Vec<String> =
        (0..random.below(4)).map(|_| format!("\"{}\"", text(random))).collect();
    let counts: Vec<String> =
        (0..random.below(3)).map(|n| format!("\"{}\"{colon}{n}", text(random))).collect();
    let members = [
        format!("\"status\"{colon}\"new\""),
        format!("\"tags\"{colon}[{}]", strings.join(comma)),
        format!("\"counts\"{colon}{{{}}}", counts.join(comma)),
        format!(
            "\"at\"{colon}\"2025-12-{:02}T10:00:00.{:03}Z\"",
            random.below(40),
            random.below(1000)
        ),
    ];
    let members: Vec<&str> =
        members.iter().filter(|_| !random.one_in(4)).map(String::as_str).collect();
    let mut value = format!("{{{}}}", members.join(comma)).into_bytes();
    if random.one_in(5) {
        damage(&mut value, random);
    }
    value
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(5) {
        0 => bytes.truncate(at),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes[at] ^= 1 << random.below(8),
        3 => bytes.insert(at, random.below(256) as u8),
        _ => {
            let part = bytes[at..].to_vec();
            bytes.extend_from_slice(&part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hundred_tables_keep_every_promise() {
        (0..300).for_each(|seed| round(&mut Random::new(seed)));
    }
}
