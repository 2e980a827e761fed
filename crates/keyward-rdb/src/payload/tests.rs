use super::*;
use crate::decode::testing::Seen;

fn value(payload: &[u8]) -> Result<String, String> {
    let mut seen = Seen::default();
    read_payload(payload, Sum::Checked, &mut seen).map_err(|error| error.to_string())?;
    Ok(seen.text())
}

fn sealed(content: &[u8]) -> Vec<u8> {
    let mut out = content.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    let sum = crc64::update(0, &out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

#[test]
fn a_payload_of_redis_is_written_alike() {
    // SET k 10; DUMP k
    let ten = b"\0\xc0\n\n\0n\x9fWE\x0e\xaec\xbb";
    assert_eq!(write_payload(Form::String, true, |out| out.string(Element::Int(10))), ten);
    assert_eq!(write_payload(Form::String, true, |out| out.string(Element::Bytes(b"10"))), ten);
    assert_eq!(value(ten).as_deref(), Ok("10"));
}

#[test]
fn a_part_of_a_list_without_bytes_is_refused() {
    // One part of this form, and its text: an element by itself, or packed ones.
    for form in [b"\x12\x01\x01", b"\x12\x01\x02"] {
        let refused = value(&sealed(&[form.as_slice(), b"\0"].concat())).expect_err("no bytes");
        assert!(refused.contains("a part of a list without bytes"), "{refused}");
    }
    // Beside others too; one byte is enough.
    assert!(value(&sealed(b"\x12\x02\x01\x01a\x01\0")).is_err());
    assert!(value(&sealed(b"\x12\x02\x01\x01a\x01\x01b")).is_ok());
}

#[test]
fn a_payload_cut_anywhere_is_refused() {
    let payload = write_payload(Form::String, true, |out| out.string(Element::Bytes(b"text")));
    for len in 0..payload.len() {
        assert!(value(&payload[..len]).is_err(), "{len}");
    }
    assert!(value(&payload).is_ok());
}

#[test]
fn versions_of_redis_8_and_valkey_9_are_read_and_later_ones_refused() {
    for (version, is_read) in [(1, true), (12, true), (13, false), (80, true), (81, false)] {
        let mut payload = b"\0\x01a".to_vec();
        payload.extend_from_slice(&u16::to_le_bytes(version));
        let sum = crc64::update(0, &payload);
        payload.extend_from_slice(&sum.to_le_bytes());
        assert_eq!(value(&payload).is_ok(), is_read, "{version}");
    }
}

#[test]
fn libraries_come_back() {
    let long = b"return 1 ".repeat(8000);
    let sources: [&[u8]; 4] = [b"", b"a", &long[..100], &long];
    for compresses in [false, true] {
        let payload = write_libraries(sources.into_iter(), compresses);
        assert_eq!(read_libraries(&payload).unwrap(), sources);
    }
}

#[test]
fn a_compressed_dump_of_redis_is_read() {
    let payload =
        b"\xf5\xc3@K@P\x1f#!lua name=a\nredis.register_func\ttion(\"f\", \xe0\x00\r\x07) \
        return \x06@.\rcall(\"x\") end)\n\x00>\xb4\xc3\xe8\xaf([B";
    let source =
        b"#!lua name=a\nredis.register_function(\"f\", function() return redis.call(\"x\") end)";
    assert_eq!(read_libraries(payload).unwrap(), [source]);
}

#[test]
fn what_is_no_library_is_told() {
    let error = |content: &[u8]| read_libraries(&sealed(content)).unwrap_err();
    assert!(matches!(error(b"\x00"), Error::Unsupported { .. }));
    for content in [
        &b"\xf5"[..],
        b"\xf5\x05abc",
        b"\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xf5\xc3\x02\x05\x20\x00",
        b"\xf5\xc3\x02\x7f\x00a",
    ] {
        let error = error(content);
        assert!(matches!(error, Error::Malformed { .. } | Error::Truncated { .. }), "{error}");
    }
}

#[test]
fn what_is_not_served_is_named() {
    for (kind, name) in [
        (7, "holds a value of a module, which is not supported, at byte 1"),
        (22, "holds a hash whose fields have lifetimes, which is not supported, at byte 1"),
        (25, "holds a hash whose fields have lifetimes, which is not supported, at byte 1"),
        (99, "is damaged before byte 1: a value of an unknown type"),
    ] {
        assert_eq!(value(&sealed(&[kind, 1, 1])).unwrap_err(), name);
    }
}

#[test]
fn a_length_that_is_only_claimed_costs_nothing() {
    for kind in 0..=25 {
        for length in [&b"\x80\xff\xff\xff\xff"[..], b"\x81\x00\xff\xff\xff\xff\xff\xff\xff"] {
            assert!(value(&sealed(&[&[kind], length].concat())).is_err(), "{kind}");
        }
    }
}
