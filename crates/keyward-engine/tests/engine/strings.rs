//! Strings at the limits of their length.

use crate::harness::{TestEngine, request};
use keyward_engine::{ClientId, Tunables};

/// An engine whose clients may send strings of any length.
fn unlimited() -> (TestEngine, ClientId) {
    let mut test = TestEngine::new(1);
    test.engine.set_tunables(Tunables { text_bytes_max: u64::MAX, ..Tunables::default() });
    let client = test.engine.connect();
    assert_eq!(test.call(client, "SET k abcdef"), "+OK\r\n");
    (test, client)
}

#[test]
fn no_command_makes_a_string_longer_than_a_row_can_hold() {
    const TOO_LONG: &str = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
    const NO_OFFSET: &str = "-ERR bit offset is not an integer or out of range\r\n";
    let (mut test, client) = unlimited();
    let cases = [
        // Begins within the longest string and ends behind it.
        ("BITFIELD k SET i64 34359738352 1", TOO_LONG),
        ("BITFIELD k SET u1 0 1 INCRBY u8 34359738353 1", TOO_LONG),
        ("BITFIELD other SET i64 #536870911 1", TOO_LONG),
        ("BITFIELD k SET u1 34359738360 1", NO_OFFSET),
        ("BITFIELD k SET u1 9223372036854775807 1", NO_OFFSET),
        ("SETBIT k 34359738360 1", NO_OFFSET),
        ("SETRANGE k 4294967295 x", TOO_LONG),
        ("SETRANGE k 4294967296 x", TOO_LONG),
        ("SETRANGE other 4294967295 x", TOO_LONG),
        ("DEBUG POPULATE 1 key 4294967296", TOO_LONG),
    ];
    for (command, reply) in cases {
        assert_eq!(test.call(client, command), reply, "{command}");
        assert_eq!(test.call(client, "GET k"), "$6\r\nabcdef\r\n", "{command}");
        assert_eq!(test.call(client, "DBSIZE"), ":1\r\n", "{command}");
    }
    let compat = keyward_commands::compat_markdown();
    let told = compat.lines().find(|line| line.contains("strings longer than 4 GB"));
    for reply in [TOO_LONG, NO_OFFSET] {
        let text = format!("`{}`", reply.trim_start_matches('-').trim_end());
        assert!(told.is_some_and(|told| told.contains(&text)), "{text}");
    }
    // What only reads may look anywhere that a string can reach.
    assert_eq!(test.call(client, "BITFIELD_RO k GET i64 34359738352"), "*1\r\n:0\r\n");
}

#[test]
#[should_panic(expected = "a string has at most 4294967295 bytes")]
fn an_edit_beyond_the_longest_string_panics() {
    let (mut test, _) = unlimited();
    let keys = test.engine.keyspace();
    let key = keys.key_in(0, b"k");
    let mut edit = keys.edit_text(key).expect("it is a string").expect("it is there");
    edit.patch(1 << 32, b"");
}

#[test]
fn a_string_that_would_be_too_long_is_refused_before_it_is_made() {
    let schema = "[keyspace]\nname = \"shop\"\nunknown = \"allow\"\n\
                  [key.\"blob:{id}\"]\ntype = \"bytes\"\nttl = \"1h\"\nmax_size = \"1mb\"\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    for command in [
        "SETRANGE blob:1 536870911 x",
        "SETBIT blob:1 4294967295 1",
        "BITFIELD blob:1 SET u8 4294967288 1",
    ] {
        let (_, reply) = test.send(client, &request(command));
        let reply = String::from_utf8(reply).expect("text");
        assert!(reply.contains("may hold at most 1 MB (max_size), not 512 MB"), "{reply}");
    }
    assert_eq!(test.call(client, "EXISTS blob:1"), ":0\r\n");
    // Redis's own errors come first all the same.
    assert!(test.call(client, "SETRANGE blob:1 536870912 x").starts_with("-ERR string exceeds"));
    assert!(test.call(client, "SETBIT blob:1 4294967295 2").starts_with("-ERR bit is not"));
}
