//! A look at some keys of a pattern, and at what they hold.
//!
//! Owns which are shown, and how much of each. A look is made of commands of the user who asks
//! (SCAN, TYPE, PTTL, a command that reads and one that counts), so that rights are the server's, and such reads
//! count. What the schema calls secret or personal is masked by the one place that decides that
//! (`keyward_rules::Books`).
//! Invariants: without a password nothing is shown; a key whose lifetime its reads renew is
//! shown without what it holds, since a look would keep it alive.

use super::{Asked, elements, is_open, not_found, place, text};
use crate::response::Response;
use keyward_commands::lookup;
use keyward_resp::{ArgBuf, Frame};
use keyward_rules::{Books, REDACTED, RuleBook, Sender};
use keyward_schema::{KeyId, Lifetime, Renew};
use serde_json::{Value, json};

/// Keys that are shown, and keys of which those are chosen that the user may read.
const KEYS_MAX: usize = 10;
const CANDIDATES_MAX: usize = 100;
/// Steps of SCAN in which they are looked for, and how far each goes.
const SCANS_MAX: usize = 40;
const SCAN_COUNT: &[u8] = b"500";
/// Parts of a value that are shown, and bytes of each.
const PARTS_MAX: usize = 12;
const PART_BYTES_MAX: usize = 300;

/// What a type is read with, and the write by whose words it is masked.
struct Reader {
    data: &'static str,
    read: &'static [&'static [u8]],
    /// What follows the key.
    rest: &'static [&'static [u8]],
    /// The command that would write it.
    write: &'static [u8],
    /// The command that says how much it holds.
    length: &'static [u8],
}

const READERS: &[Reader] = &[
    Reader {
        data: "string",
        read: &[b"GETRANGE"],
        rest: &[b"0", b"299"],
        write: b"SET",
        length: b"STRLEN",
    },
    Reader {
        data: "hash",
        read: &[b"HSCAN"],
        rest: &[b"0", b"COUNT", b"12"],
        write: b"HSET",
        length: b"HLEN",
    },
    Reader {
        data: "list",
        read: &[b"LRANGE"],
        rest: &[b"0", b"11"],
        write: b"RPUSH",
        length: b"LLEN",
    },
    Reader {
        data: "set",
        read: &[b"SSCAN"],
        rest: &[b"0", b"COUNT", b"12"],
        write: b"SADD",
        length: b"SCARD",
    },
    Reader {
        data: "zset",
        read: &[b"ZRANGE"],
        rest: &[b"0", b"11", b"WITHSCORES"],
        write: b"ZADD",
        length: b"ZCARD",
    },
];

/// Some keys of a table.
pub(super) fn look(asked: &Asked<'_>, id: usize) -> Result<Value, Response> {
    let (db, book, key) = place(asked, id).ok_or_else(not_found)?;
    let Some(key) = key else {
        return Ok(json!({ "keys": [], "why": "Keys without a pattern are not shown." }));
    };
    if is_open(asked) {
        return Ok(json!({ "keys": [], "why": "Keys are shown where a password is set." }));
    }
    let mask = asked.reading.layout.mask(db).unwrap_or(book);
    let number = db.to_string();
    let select: [&[u8]; 2] = [b"SELECT", number.as_bytes()];
    let names = find(asked, &select, book, key)?;
    let mut asking: Vec<Vec<&[u8]>> = vec![select.to_vec()];
    for name in &names {
        asking.push(vec![b"TYPE", name]);
        asking.push(vec![b"PTTL", name]);
    }
    let replies = call(asked, &asking)?;
    let (names, kinds) = readable(&names, replies.get(1..).unwrap_or_default())?;
    let is_renewed = matches!(
        &book.schema().key(key).lifetime,
        Lifetime::Renewed { renew: Renew::Access, .. }
            | Lifetime::By { renew: Some(Renew::Access), .. }
    );
    let values = match is_renewed {
        true => Vec::new(),
        false => values(asked, &select, &names, &kinds)?,
    };
    let shown = names.iter().zip(&kinds).enumerate().map(|(at, (name, (kind, left)))| {
        let reader = READERS.iter().find(|reader| reader.data == kind);
        let (parts, length) = match (reader, values.get(at)) {
            (Some(reader), Some([reply, length])) => {
                let parts = parts(mask, key, name, reader, reply);
                // How long a secret is belongs to it.
                let is_hidden = kind == "string" && parts.iter().any(|[_, it]| it == REDACTED);
                let length = text(length).parse::<u64>().ok().filter(|_| !is_hidden);
                (parts, length)
            }
            _ => (Vec::new(), None),
        };
        json!({
            "name": masked(mask, &[b"GET", name]).get(1).map(|name| cut(name)),
            "type": kind,
            "left": if *left < 0 { Value::Null } else { json!(*left as f64 / 1000.0) },
            "parts": parts,
            "length": length,
        })
    });
    let why = match is_renewed {
        true => "What they hold is not shown: a look would renew their lifetime.",
        false => "",
    };
    Ok(json!({ "keys": shown.collect::<Vec<_>>(), "why": why }))
}

fn call(asked: &Asked<'_>, commands: &[Vec<&[u8]>]) -> Result<Vec<Frame>, Response> {
    let commands: Vec<&[&[u8]]> = commands.iter().map(Vec::as_slice).collect();
    (asked.call)(&commands)
}

/// A key's type and how long it has left, in milliseconds.
type KindAndLeft = (String, i64);

/// The keys that the user may read, with what TYPE and PTTL say of them; an error if there are
/// keys, and none that may be read.
fn readable(
    names: &[Vec<u8>],
    replies: &[Frame],
) -> Result<(Vec<Vec<u8>>, Vec<KindAndLeft>), Response> {
    let pairs = replies.as_chunks::<2>().0;
    let is_denied = |[kind, _]: &[Frame; 2]| matches!(kind, Frame::Error(_));
    if let Some([kind, _]) = pairs.first().filter(|_| pairs.iter().all(is_denied)) {
        elements(kind)?;
    }
    let found = names.iter().zip(pairs).filter(|(_, pair)| !is_denied(pair)).take(KEYS_MAX);
    Ok(found
        .map(|(name, [kind, left])| {
            (name.clone(), (text(kind), text(left).parse::<i64>().unwrap_or(-1)))
        })
        .unzip())
}

/// Names of keys of a table, as SCAN finds them.
fn find(
    asked: &Asked<'_>,
    select: &[&[u8]],
    book: &RuleBook,
    key: KeyId,
) -> Result<Vec<Vec<u8>>, Response> {
    let glob = book.schema().key(key).pattern.glob();
    let (mut found, mut cursor): (Vec<Vec<u8>>, Vec<u8>) = (Vec::new(), b"0".to_vec());
    for _ in 0..SCANS_MAX {
        let scan: Vec<&[u8]> =
            vec![b"SCAN", &cursor, b"MATCH", glob.as_bytes(), b"COUNT", SCAN_COUNT];
        let replies = call(asked, &[select.to_vec(), scan])?;
        let [next, names] = elements(replies.last().unwrap_or(&Frame::Null))? else { break };
        for name in names.as_elements().unwrap_or_default() {
            let name = name.as_bytes().unwrap_or_default();
            if book.table_of(name) == Some(key) && !found.iter().any(|it| it == name) {
                found.push(name.to_vec());
            }
        }
        let next = next.as_bytes().unwrap_or_default().to_vec();
        if next == b"0" || found.len() >= CANDIDATES_MAX {
            break;
        }
        cursor = next;
    }
    found.truncate(CANDIDATES_MAX);
    Ok(found)
}

/// What the keys hold, as far as it is shown, and how much there is; a key of a type that is not
/// shown is told as nothing.
fn values(
    asked: &Asked<'_>,
    select: &[&[u8]],
    names: &[Vec<u8>],
    kinds: &[KindAndLeft],
) -> Result<Vec<[Frame; 2]>, Response> {
    let mut asking: Vec<Vec<&[u8]>> = vec![select.to_vec()];
    for (name, (kind, _)) in names.iter().zip(kinds) {
        let reader = READERS.iter().find(|reader| reader.data == kind);
        let [read, length] = match reader {
            Some(reader) => {
                let read = [reader.read, &[name.as_slice()], reader.rest].concat();
                [read, vec![reader.length, name]]
            }
            None => [vec![&b"TYPE"[..], name], vec![&b"TYPE"[..], name]],
        };
        asking.extend([read, length]);
    }
    let replies = call(asked, &asking)?;
    Ok(replies.get(1..).unwrap_or_default().as_chunks::<2>().0.to_vec())
}

/// The parts of a value, masked.
fn parts(
    book: &RuleBook,
    key: KeyId,
    name: &[u8],
    reader: &Reader,
    reply: &Frame,
) -> Vec<[String; 2]> {
    if let Frame::Error(line) = reply {
        return vec![[String::new(), cut(line)]];
    }
    let listed = match (reader.data, reply.as_elements()) {
        // A cursor stands before what was found.
        ("hash" | "set", Some([_, found])) => found.as_elements().unwrap_or_default(),
        (_, Some(found)) => found,
        (_, None) => std::slice::from_ref(reply),
    };
    let mut words: Vec<&[u8]> = listed.iter().map(|it| it.as_bytes().unwrap_or_default()).collect();
    if reader.data == "string" && book.schema().key(key).holds_secret() {
        return vec![[String::new(), REDACTED.to_owned()]];
    }
    if reader.data == "zset" {
        // ZADD has the score first.
        words.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.reverse());
    }
    let command: Vec<&[u8]> = [&[reader.write, name][..], &words].concat();
    let shown = masked(book, &command);
    let shown = shown.get(2..).unwrap_or_default();
    match reader.data {
        "hash" | "zset" => {
            let pairs = shown.as_chunks::<2>().0.iter().take(PARTS_MAX);
            pairs.map(|[left, right]| [cut(left), cut(right)]).collect()
        }
        _ => shown.iter().take(PARTS_MAX).map(|part| [String::new(), cut(part)]).collect(),
    }
}

/// The words of a command as others than its client see them.
pub(super) fn masked(book: &RuleBook, words: &[&[u8]]) -> Vec<Vec<u8>> {
    let buffer: ArgBuf = words.iter().collect();
    let Some(command) = words.first().and_then(|name| lookup(name)) else { return Vec::new() };
    let books = Books { own: Some(book), all: &[book] };
    let shown = books.shown(command, buffer.args(), Sender::Client);
    shown.into_iter().map(|word| word.into_owned()).collect()
}

/// As much of a text as is shown.
fn cut(bytes: &[u8]) -> String {
    match bytes.split_at_checked(PART_BYTES_MAX) {
        Some((start, rest)) if !rest.is_empty() => {
            format!("{}… ({} bytes)", String::from_utf8_lossy(start), bytes.len())
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_the_user_may_not_read_are_left_out_and_none_is_an_error() {
        let names = [b"a".to_vec(), b"b".to_vec()];
        let denied = || Frame::Error(b"NOPERM no".to_vec());
        let kind = || Frame::Simple(b"string".to_vec());
        let left = || Frame::Integer(5000);
        let replies = [denied(), denied(), kind(), left()];
        let (found, kinds) = readable(&names, &replies).expect("one may be read");
        assert_eq!(found, [b"b".to_vec()]);
        assert_eq!(kinds, [("string".to_owned(), 5000)]);
        assert!(readable(&names, &[denied(), denied(), denied(), denied()]).is_err());
        assert!(readable(&[], &[]).is_ok_and(|(found, _)| found.is_empty()), "there is none");
    }

    #[test]
    fn what_is_long_is_cut_and_its_length_told() {
        assert_eq!(cut(&[b'x'; 300]), "x".repeat(300));
        assert_eq!(cut(&[b'x'; 5000]), format!("{}… (5000 bytes)", "x".repeat(300)));
    }

    #[test]
    fn secrets_are_masked_in_names_and_values() {
        let text = "[keyspace]\nname = \"a\"\n[key.\"k:{token}\"]\ntype = \"hash\"\nttl = \"1h\"\n\
            secret = [\"token\"]\n[key.\"k:{token}\".fields]\nname = \"str\"\n\
            pin = { type = \"str\", secret = true }\n";
        let checked = keyward_schema::check("a.toml", text.as_bytes());
        let book = RuleBook::new(checked.schema.expect("a schema"));
        let name = b"k:abc";
        let key = book.table_of(name).expect("it fits");
        let bulk = |text: &str| Frame::Bulk(text.as_bytes().to_vec());
        let found = ["name", "Ann", "pin", "1234"].map(bulk).to_vec();
        let reply = Frame::Array(vec![bulk("0"), Frame::Array(found)]);
        let reader = READERS.iter().find(|it| it.data == "hash").expect("it is there");
        let shown = parts(&book, key, name, reader, &reply);
        let expected = [["name", "Ann"], ["pin", REDACTED]].map(|pair| pair.map(str::to_owned));
        assert_eq!(shown, expected);
        let name = masked(&book, &[b"GET", name]);
        assert_eq!(name[1], b"k:(redacted)");
    }
}
