//! Bytes that are no text, on their way to a table and back.

use keyward_resp::Frame;
use keyward_testkit::Client;

use crate::stage::{Stage, said};

const BLOBS: &str = r#"
[keyspace]
name = "blobs"

[key."blob:{id:int}"]
type   = "hash"
ttl    = "none"
fields = { data = "bytes", note = "string?" }
sink   = { mirror = "blobs" }

[key."raw:{id}"]
type = "bytes"
ttl  = "none"
sink = { mirror = "raws" }

[key."frames"]
type  = "list"
ttl   = "none"
items = "bytes"
allow = ["KW0310: a row of the table each"]
sink  = { append = "frames" }

[key."text:{id}"]
type   = "hash"
ttl    = "none"
fields = { data = "bytes" }
sink   = { mirror = "texts", columns = { data = { type = "text" } } }
"#;

const BYTES: &[u8] = b"\x00\xff\\x41'\n";

fn call(client: &mut Client, words: &[&[u8]]) -> Frame {
    client.call(words).expect("a reply")
}

#[test]
fn bytes_are_stored_as_they_are_and_come_back() {
    let stage = Stage::new(BLOBS);
    let server = stage.serve();
    let mut client = server.client();
    call(&mut client, &[b"HSET", b"blob:1", b"data", BYTES, b"note", b"n"]);
    call(&mut client, &[b"HSET", b"blob:2", b"data", b""]);
    call(&mut client, &[b"SET", b"raw:a", BYTES]);
    call(&mut client, &[b"RPUSH", b"frames", BYTES, b"plain"]);
    call(&mut client, &[b"HSET", b"text:a", b"data", b"as a text"]);
    said(&stage.sync_once(&server));
    stage.check(
        "SELECT id, encode(data, 'hex'), note FROM blobs ORDER BY id",
        "1|00ff5c783431270a|n\n2||",
    );
    stage.check("SELECT encode(value, 'hex') FROM raws", "00ff5c783431270a");
    stage.check(
        "SELECT string_agg(encode(item, 'hex'), ' ' ORDER BY entry) FROM frames",
        "00ff5c783431270a 706c61696e",
    );
    stage.check("SELECT data FROM texts", "as a text");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "0");
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    // What is changed behind its back is found.
    stage.postgres.query("UPDATE raws SET value = '\\x00'");
    assert!(stage.verify(&server).contains("raw:a: is otherwise in raws"));
    stage.postgres.query("UPDATE raws SET value = '\\x00ff5c783431270a'");
    let cold = stage.serve_only(&[]);
    said(&stage.fill(&cold, &[]));
    let mut reader = cold.client();
    assert_eq!(call(&mut reader, &[b"HGET", b"blob:1", b"data"]), Frame::Bulk(BYTES.to_vec()));
    assert_eq!(call(&mut reader, &[b"HGET", b"blob:2", b"data"]), Frame::Bulk(Vec::new()));
    assert_eq!(call(&mut reader, &[b"GET", b"raw:a"]), Frame::Bulk(BYTES.to_vec()));
}
