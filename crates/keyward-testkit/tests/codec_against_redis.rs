//! The codec against a real redis-server 7.0: protocol errors, inline quoting, numbers
//! and every type of reply.

use keyward_resp::number::{parse_f64, parse_i64, push_f64};
use keyward_resp::{
    Batch, Frame, LINE_BYTES_MAX, Parsed, Protocol, ReplyWriter, RequestLimits, RequestParser,
};
use keyward_testkit::{Client, Random, Server};

/// Our answers to `input` if the only command were ECHO; nothing if the connection
/// would be left open.
fn our_answers(input: &[u8], authenticated: bool) -> Option<Vec<u8>> {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let limits = RequestLimits { authenticated, ..RequestLimits::default() };
    let (mut buffer, mut output) = (input.to_vec(), Vec::new());
    loop {
        let parsed = parser.parse(&mut buffer, &limits, &mut batch);
        let mut reply = ReplyWriter::new(&mut output, Protocol::Resp2);
        for command in batch.commands(&buffer) {
            assert!(command.at(0).eq_ignore_ascii_case(b"echo"), "{}", input.escape_ascii());
            if authenticated {
                reply.bulk(command.at(1));
            } else {
                reply.error(b"NOAUTH Authentication required.");
            }
        }
        batch.clear();
        match parsed {
            Ok(Parsed::BatchFull) => {}
            Ok(Parsed::NeedsInput) => return None,
            Err(error) => {
                reply.protocol_error(&error);
                return Some(output);
            }
        }
    }
}

#[test]
fn protocol_errors_are_redis_s() {
    let open = Server::redis(&[]);
    let locked = Server::redis_with_password("secret");
    let line = vec![b'1'; LINE_BYTES_MAX];
    let with_line = |start: &[u8]| [start, &line[..]].concat();
    let inputs: &[&[u8]] = &[
        b"*x\r\n",
        b"ECHO a\r\n*1x\r\n",
        b"*2\r\n$4\r\nECHO\r\n$1\r\na\r\n*1\r\n+OK\r\n",
        b"*2147483648\r\n",
        b"*1\r\n\r\n$1\r\n",
        b"*1\r\n\n\r\n",
        b"*1\r\n\xff\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$x\r\n",
        b"*1\r\n$536870913\r\n",
        b"ECHO \"a\r\n",
        b"ECHO 'a'b\r\n",
        b"ECHO \"\\x41\\n\\q\"\r\nECHO 'it\\'s'\r\nECHO foo\"bar\"\r\nECHO \x0bv\x0bt\r\n*x\r\n",
        b"*0\r\n\r\n*-5\r\nECHO ''\r\n*x\r\n",
        &with_line(b"*"),
        &with_line(b"*1\r\n$"),
        &with_line(b"ECHO "),
        &with_line(b"*1\0\r\n"),
    ];
    for input in inputs {
        check_closing(&open, input, true);
    }
    for input in [&b"*11\r\n"[..], b"*1\r\n$16385\r\n", b"ECHO a\r\n*11\r\n", b"*11x\r\n"] {
        check_closing(&locked, input, false);
    }
}

fn check_closing(server: &Server, input: &[u8], authenticated: bool) {
    let shown = input[..input.len().min(60)].escape_ascii().to_string();
    let ours = our_answers(input, authenticated).unwrap_or_else(|| panic!("{shown}: no error"));
    let mut client = server.client();
    client.send(input).unwrap();
    let theirs = client.receive_to_end().unwrap();
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    assert_eq!(text(&ours), text(&theirs), "{shown}");
}

fn call(client: &mut Client, command: &[&[u8]]) -> Frame {
    client.call(command.iter()).unwrap()
}

#[test]
fn doubles_are_read_and_printed_as_redis_does() {
    // A listpack would store -0 as the integer 0.
    let server = Server::redis(&["--zset-max-listpack-entries", "0"]);
    let mut client = server.client();
    for text in DOUBLES.lines().map(str::trim) {
        call(&mut client, &[b"DEL", b"k"]);
        let theirs = call(&mut client, &[b"ZADD", b"k", text.as_bytes(), b"m"]);
        let Some(value) = parse_f64(text.as_bytes()) else {
            assert_eq!(
                theirs,
                Frame::Error(b"ERR value is not a valid float".to_vec()),
                "{text:?}"
            );
            continue;
        };
        assert!(matches!(theirs, Frame::Integer(_)), "{text:?}: {theirs:?}");
        let mut ours = Vec::new();
        push_f64(&mut ours, value);
        assert_eq!(Frame::Bulk(ours), call(&mut client, &[b"ZSCORE", b"k", b"m"]), "{text:?}");
    }
}

#[test]
fn random_doubles_are_printed_as_redis_does() {
    let server = Server::redis(&[]);
    let mut client = server.client();
    let mut random = Random::new(1);
    for round in 0..3_000 {
        let state = random.number();
        let value = match round % 3 {
            0 => f64::from_bits(state),
            1 => (state >> 40) as f64 / 1000.0,
            _ => state as f64 / 1e6,
        };
        if value.is_nan() {
            continue;
        }
        let exact = format!("{value:e}");
        call(&mut client, &[b"ZADD", b"k", exact.as_bytes(), b"m"]);
        let mut ours = Vec::new();
        push_f64(&mut ours, value);
        assert_eq!(Frame::Bulk(ours), call(&mut client, &[b"ZSCORE", b"k", b"m"]), "{exact}");
    }
}

#[test]
fn integers_are_read_as_redis_does() {
    let server = Server::redis(&[]);
    let mut client = server.client();
    for text in [
        "0",
        "1",
        "-1",
        "+1",
        "01",
        "-0",
        "00",
        " 1",
        "1 ",
        "",
        "-",
        "1.0",
        "1e3",
        "0x10",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999",
    ] {
        call(&mut client, &[b"SET", b"k", b"0"]);
        let theirs = call(&mut client, &[b"INCRBY", b"k", text.as_bytes()]);
        match parse_i64(text.as_bytes()) {
            Some(value) => assert_eq!(theirs, Frame::Integer(value), "{text:?}"),
            None => assert!(matches!(theirs, Frame::Error(_)), "{text:?}: {theirs:?}"),
        }
    }
}

#[test]
fn every_type_of_reply_is_written_as_redis_does() {
    let server = Server::redis(&[]);
    for (protocol, version) in [(Protocol::Resp2, b"2"), (Protocol::Resp3, b"3")] {
        for (name, write) in DEBUG_REPLIES {
            if protocol == Protocol::Resp2 && ["attrib", "push"].contains(name) {
                // Redis refuses both in RESP2.
                continue;
            }
            let mut ours = Vec::new();
            write(&mut ReplyWriter::new(&mut ours, protocol));
            let mut client = server.client();
            call(&mut client, &[b"HELLO", version]);
            let request = format!("DEBUG PROTOCOL {name}\r\nQUIT\r\n");
            client.send(request.as_bytes()).unwrap();
            let theirs = client.receive_to_end().unwrap();
            ours.extend_from_slice(b"+OK\r\n");
            assert_eq!(
                ours.escape_ascii().to_string(),
                theirs.escape_ascii().to_string(),
                "{name} in {protocol:?}"
            );
        }
    }
}

type Write = fn(&mut ReplyWriter<'_>);

/// What `DEBUG PROTOCOL` answers for each type.
#[expect(clippy::approx_constant, reason = "it is what Redis answers, not pi")]
const DEBUG_REPLIES: &[(&str, Write)] = &[
    ("string", |w| w.bulk(b"Hello World")),
    ("integer", |w| w.integer(12345)),
    ("double", |w| w.double(3.141)),
    ("null", |w| w.null()),
    ("array", |w| {
        w.array(3);
        (0..3).for_each(|value| w.integer(value));
    }),
    ("set", |w| {
        w.set(3);
        (0..3).for_each(|value| w.integer(value));
    }),
    ("map", |w| {
        w.map(3);
        for value in 0..3 {
            w.integer(value);
            w.boolean(value == 1);
        }
    }),
    ("attrib", |w| {
        w.attribute(1);
        w.bulk(b"key-popularity");
        w.array(2);
        w.bulk(b"key:123");
        w.integer(90);
        w.bulk(b"Some real reply following the attribute");
    }),
    ("push", |w| {
        w.push(2);
        w.bulk(b"server-cpu-usage");
        w.integer(42);
        w.bulk(b"Some real reply following the push reply");
    }),
    ("bignum", |w| w.big_number(b"1234567999999999999999999999999999999")),
    ("true", |w| w.boolean(true)),
    ("false", |w| w.boolean(false)),
    ("verbatim", |w| w.verbatim(*b"txt", b"This is a verbatim\nstring")),
];

/// One text per line; the empty line is one of them.
const DOUBLES: &str = "0
    -0
    +0
    1
    007
    1.5
    .5
    5.
    -.5
    .
    +
    -
    1e5
    1E5
    1e+5
    1e-5
    1e
    1e+
    e5
    0.1
    0.3
    1e15
    1e16
    1e17
    1e21
    123456789012345678
    0.0001
    0.00001
    1e300
    1e308
    1.7976931348623157e308
    1.7976931348623159e308
    1e309
    -1e309
    1e-308
    4.9e-324
    2e-324
    1e-400
    0e999
    0e-999
    0x10
    0x1p3
    0X1P-3
    0x.8
    0x8.
    0x
    0xg
    0x1p
    0x1.fffffffffffff8p0
    0x1.fffffffffffff7p0
    0x1p-1074
    0x1p-1075
    0x1.8p-1075
    0x1p1023
    0x1p1024
    0x123456789abcdef01
    -0x1p3
    inf
    +inf
    -inf
    INF
    Infinity
    -infinity
    infinit
    infinityx
    nan
    -nan
    nan(1)
    1_000
    1,5
    1x
    --1
    4503599627370497.5
    9007199254740993
    ";
