//! The request parser: what is accepted, what is refused, and cuts at every byte.

use proptest::prelude::*;

use super::*;

type Commands = Vec<Vec<Vec<u8>>>;

const UNAUTHENTICATED: RequestLimits = RequestLimits {
    bulk_bytes_max: 512 * 1024 * 1024,
    batch_commands_max: 1024,
    authenticated: false,
    inline: true,
};

/// Feeds `pieces` one by one, consuming after each, and collects the commands.
fn parse_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limits: &RequestLimits,
) -> (Commands, Option<ProtocolError>) {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let (mut buffer, mut commands) = (Vec::new(), Commands::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let parsed = parser.parse(&mut buffer, limits, &mut batch);
            for command in batch.commands(&buffer) {
                commands.push(command.iter().map(<[u8]>::to_vec).collect());
            }
            batch.clear();
            match parsed {
                Ok(Parsed::BatchFull) => {}
                Ok(Parsed::NeedsInput) => break,
                Err(error) => return (commands, Some(error)),
            }
        }
        parser.consume(&mut buffer);
    }
    (commands, None)
}

fn check(input: &[u8], expected: &[&[&str]]) {
    let (commands, error) = parse_pieces([input], &RequestLimits::default());
    assert_eq!(error, None, "{}", input.escape_ascii());
    let text: Vec<Vec<String>> = commands
        .iter()
        .map(|c| c.iter().map(|a| String::from_utf8_lossy(a).into_owned()).collect())
        .collect();
    assert_eq!(text, expected, "{}", input.escape_ascii());
}

fn check_error(input: &[u8], limits: &RequestLimits, expected: ProtocolError) {
    let (_, error) = parse_pieces([input], limits);
    assert_eq!(error, Some(expected), "{}", input.escape_ascii());
}

#[test]
fn commands_are_cut_out_of_the_buffer() {
    check(b"*1\r\n$4\r\nPING\r\n", &[&["PING"]]);
    check(b"PING\r\n", &[&["PING"]]);
    check(b"ping\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n", &[&["ping"], &["GET", ""]]);
    check(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\nset k 'a b'\r\n", &[&["GET", "k"], &["set", "k", "a b"]]);
}

#[test]
fn commands_without_arguments_are_skipped() {
    check(b"\r\n\n*0\r\n*-1\r\n*-9\r\n  \r\nPING\r\n", &[&["PING"]]);
}

#[test]
fn the_bytes_at_line_ends_are_not_judged() {
    check(b"*1\rX$4\rXPINGxx", &[&["PING"]]);
}

#[test]
fn malformed_requests_are_refused_as_redis_does() {
    use ProtocolError::*;
    let limits = RequestLimits { bulk_bytes_max: 100, ..RequestLimits::default() };
    for (input, error) in [
        (&b"*x\r\n"[..], InvalidMultibulkLength),
        (b"*\r\n", InvalidMultibulkLength),
        (b"*01\r\n", InvalidMultibulkLength),
        (b"*2147483648\r\n", InvalidMultibulkLength),
        (b"*1\r\n+OK\r\n", ExpectedDollar(b'+')),
        (b"*1\r\n\r\n", ExpectedDollar(b'\r')),
        (b"*1\r\n$\r\n", InvalidBulkLength),
        (b"*1\r\n$-1\r\n", InvalidBulkLength),
        (b"*1\r\n$101\r\n", InvalidBulkLength),
        (b"*1\r\n$99999999999999999999\r\n", InvalidBulkLength),
        (b"get \"a\r\n", UnbalancedQuotes),
    ] {
        check_error(input, &limits, error);
    }
}

#[test]
fn lines_without_an_end_are_refused() {
    let endless = |start: &[u8]| [start, &vec![b'1'; LINE_BYTES_MAX]].concat();
    let limits = RequestLimits::default();
    check_error(&endless(b"*"), &limits, ProtocolError::TooBigMultibulkHeader);
    check_error(&endless(b"*1\r\n$"), &limits, ProtocolError::TooBigBulkHeader);
    check_error(&endless(b"a"), &limits, ProtocolError::TooBigInlineRequest);
    // One byte less is still waited for.
    let (_, error) = parse_pieces([&endless(b"")[..]], &limits);
    assert_eq!(error, None);
}

#[test]
fn a_zero_byte_hides_the_end_of_a_line() {
    check(b"*1\0\r\n$4\r\nPING\r\n", &[]);
    check(b"PING\0\r\n", &[]);
}

#[test]
fn an_unauthenticated_client_is_kept_small() {
    check_error(b"*11\r\n", &UNAUTHENTICATED, ProtocolError::UnauthenticatedMultibulkLength);
    check_error(b"*1\r\n$16385\r\n", &UNAUTHENTICATED, ProtocolError::UnauthenticatedBulkLength);
    let (_, error) = parse_pieces([&b"*10\r\n$16384\r\n"[..]], &UNAUTHENTICATED);
    assert_eq!(error, None);
}

#[test]
fn a_batch_of_an_unauthenticated_client_holds_one_command() {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let mut buffer = b"AUTH x\r\n*11\r\n".to_vec();
    let parsed = parser.parse(&mut buffer, &UNAUTHENTICATED, &mut batch);
    assert_eq!((parsed, batch.len()), (Ok(Parsed::BatchFull), 1));
    batch.clear();
    // Authenticated by that command, the client may send the next one.
    let parsed = parser.parse(&mut buffer, &RequestLimits::default(), &mut batch);
    assert_eq!((parsed, batch.len()), (Ok(Parsed::NeedsInput), 0));
}

#[test]
fn a_released_batch_keeps_no_room_for_a_large_command() {
    let mut batch = Batch::new();
    batch.push(&vec![ArgRange { start: 0, len: 1 }; 100_000]);
    batch.clear();
    assert_eq!(batch.ranges.capacity(), KEPT_RANGES_MAX);
    batch.release();
    assert_eq!(batch.ranges.capacity(), RELEASED_RANGES_MAX);
}

#[test]
fn commands_before_an_error_are_kept() {
    let (commands, error) =
        parse_pieces([&b"PING\r\n*1\r\n$1\r\na\r\n*x\r\n"[..]], &RequestLimits::default());
    assert_eq!(commands, [[b"PING".to_vec()], [b"a".to_vec()]]);
    assert_eq!(error, Some(ProtocolError::InvalidMultibulkLength));
}

#[test]
fn the_missing_bytes_of_a_large_argument_are_known() {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let mut buffer = b"*1\r\n$100000\r\nabc".to_vec();
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
    assert_eq!(parser.missing_bytes(&buffer), 100_000 + 2 - 3);
    buffer.resize(buffer.len() + 100_000 - 1, b'x');
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
    assert_eq!((batch.len(), parser.missing_bytes(&buffer)), (1, 0));
}

#[test]
fn consuming_keeps_the_unfinished_command() {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let mut buffer = b"PING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab".to_vec();
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
    assert_eq!(batch.len(), 1);
    batch.clear();
    parser.consume(&mut buffer);
    assert_eq!(buffer, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab");
    buffer.extend_from_slice(b"cde\r\n");
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
    let words: Vec<&[u8]> = batch.command(0, &buffer).iter().collect();
    assert_eq!(words, [&b"SET"[..], b"k", b"abcde"]);
}

fn commands() -> impl Strategy<Value = Commands> {
    let argument = prop::collection::vec(any::<u8>(), 0..12);
    prop::collection::vec(prop::collection::vec(argument, 1..6), 0..6)
}

proptest! {
    #[test]
    fn encoded_commands_are_parsed_back(commands in commands()) {
        let mut bytes = Vec::new();
        commands.iter().for_each(|command| push_request(&mut bytes, command.iter()));
        let whole = parse_pieces([&bytes[..]], &RequestLimits::default());
        prop_assert_eq!(&whole, &(commands, None));
        let cut = parse_pieces(bytes.chunks(1), &RequestLimits::default());
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn input_cut_anywhere_gives_the_same_commands(
        text in "(\\*[0-3]\r\n|\\$[0-3]\r\n|[a\"' \0]{1,3}|\r\n){0,20}",
        sizes in prop::collection::vec(1usize..7, 1..40),
    ) {
        let bytes = text.as_bytes();
        let whole = parse_pieces([bytes], &RequestLimits::default());
        let mut rest = bytes;
        let pieces = sizes.iter().cycle().map_while(|size| {
            let (piece, left) = rest.split_at_checked(*size).unwrap_or((rest, b""));
            rest = left;
            (!piece.is_empty()).then_some(piece)
        });
        prop_assert_eq!(parse_pieces(pieces, &RequestLimits::default()), whole);
    }

    #[test]
    fn any_bytes_are_parsed_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        authenticated: bool,
    ) {
        let limits = RequestLimits { authenticated, ..RequestLimits::default() };
        let whole = parse_pieces([&bytes[..]], &limits);
        prop_assert_eq!(parse_pieces(bytes.chunks(3), &limits), whole);
    }
}

#[test]
fn a_header_says_the_length_whatever_it_is() {
    for len in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12_345] {
        let argument = vec![b'x'; len];
        let mut bytes = Vec::new();
        push_request(&mut bytes, [&argument].into_iter());
        let expected = format!("*1\r\n${len}\r\n{}\r\n", "x".repeat(len));
        assert!(bytes == expected.as_bytes(), "{len}");
    }
    let mut bytes = Vec::new();
    push_request(&mut bytes, std::iter::repeat_n("", 1234));
    assert!(bytes.starts_with(b"*1234\r\n$0\r\n\r\n"));
}

#[test]
fn a_line_of_words_is_no_command_where_there_are_none() {
    let limits = RequestLimits { inline: false, ..RequestLimits::default() };
    let check = |input: &[u8], expected: Option<ProtocolError>, count: usize| {
        let (commands, error) = parse_pieces([input], &limits);
        assert_eq!((commands.len(), error), (count, expected), "{}", input.escape_ascii());
    };
    check(b"*1\r\n$4\r\nPING\r\n\r\n\n*1\r\n$4\r\nPING\r\n", None, 2);
    check(b"*1\r\n$4\r\nPING\r\nPING\r\n", Some(ProtocolError::InlineFromPrimary), 1);
    // Not even the end of the line is waited for.
    check(b"P", Some(ProtocolError::InlineFromPrimary), 0);
}
