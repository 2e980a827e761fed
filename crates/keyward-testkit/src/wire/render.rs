//! Replies in redis-cli's notation.

use keyward_resp::Frame;

/// A reply as redis-cli prints it to a terminal.
pub fn text(frame: &Frame) -> String {
    match frame {
        Frame::Simple(text) => plain(text),
        Frame::Error(text) | Frame::BulkError(text) => format!("(error) {}", plain(text)),
        Frame::Integer(number) => format!("(integer) {number}"),
        Frame::Bulk(bytes) => quoted(bytes),
        Frame::Verbatim(_, bytes) => quoted(bytes),
        Frame::NullBulk | Frame::NullArray | Frame::Null => "(nil)".to_owned(),
        Frame::Double(number) => format!("(double) {number}"),
        Frame::Boolean(value) => format!("({value})"),
        Frame::BigNumber(digits) => format!("(big number) {}", plain(digits)),
        Frame::Array(items) => list(items, "(empty array)", ')'),
        Frame::Set(items) => list(items, "(empty set)", '~'),
        Frame::Push(items) => list(items, "(empty push)", '>'),
        Frame::Map(pairs) => map(pairs),
        Frame::Attributed(_, frame) => text(frame),
    }
}

fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes between quotes, as redis-cli prints and reads them.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\'' => text.push('\''),
            other => text.push_str(&other.escape_ascii().to_string()),
        }
    }
    text.push('"');
    text
}

fn list(items: &[Frame], empty: &str, mark: char) -> String {
    if items.is_empty() {
        return empty.to_owned();
    }
    let width = items.len().to_string().len();
    let item = |(index, frame): (usize, &Frame)| {
        let head = format!("{:>width$}{mark} ", index + 1);
        head.clone() + &hang(&text(frame), head.len())
    };
    items.iter().enumerate().map(item).collect::<Vec<_>>().join("\n")
}

fn map(pairs: &[(Frame, Frame)]) -> String {
    if pairs.is_empty() {
        return "(empty hash)".to_owned();
    }
    let width = pairs.len().to_string().len();
    let pair = |(index, (key, value)): (usize, &(Frame, Frame))| {
        let head = format!("{:>width$}# {} => ", index + 1, text(key));
        let is_nested = matches!(value, Frame::Array(_) | Frame::Map(_) | Frame::Set(_));
        let value = hang(&text(value), width + 2);
        if is_nested && value.contains('\n') {
            format!("{}\n{}{value}", head.trim_end(), " ".repeat(width + 2))
        } else {
            head + &value
        }
    };
    pairs.iter().enumerate().map(pair).collect::<Vec<_>>().join("\n")
}

/// Indents every line but the first.
fn hang(text: &str, columns: usize) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(columns)))
}

/// The same reply with the elements of arrays, sets and maps in order.
pub(super) fn sorted(frame: Frame) -> Frame {
    let sort = |items: Vec<Frame>| {
        let mut items: Vec<Frame> = items.into_iter().map(sorted).collect();
        items.sort_by_key(text);
        items
    };
    match frame {
        Frame::Array(items) => Frame::Array(sort(items)),
        Frame::Set(items) => Frame::Set(sort(items)),
        Frame::Push(items) => Frame::Push(sort(items)),
        Frame::Map(pairs) => {
            let mut pairs: Vec<_> =
                pairs.into_iter().map(|(k, v)| (sorted(k), sorted(v))).collect();
            pairs.sort_by_key(|(key, _)| text(key));
            Frame::Map(pairs)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_replies_are_indented() {
        let inner = Frame::Array(vec![Frame::Integer(1), Frame::Bulk(b"a\r\n\"".to_vec())]);
        let frame = Frame::Array(vec![inner.clone(), Frame::NullBulk]);
        assert_eq!(text(&frame), "1) 1) (integer) 1\n   2) \"a\\r\\n\\\"\"\n2) (nil)");
        let map = Frame::Map(vec![(Frame::Bulk(b"k".to_vec()), inner)]);
        assert_eq!(text(&map), "1# \"k\" =>\n   1) (integer) 1\n   2) \"a\\r\\n\\\"\"");
    }
}
