//! The commands that a client would use on a key, as lines for redis-cli.

use keyward_schema::facts::is_read_only;
use keyward_schema::{Content, DataType, Example, ExampleValue, Key, Kind, Lifetime, Type};

use super::json::compact;

/// Lines that can be pasted into redis-cli, each below a comment.
pub(super) fn lines(key: &Key, example: &Example) -> String {
    let at = quote(&example.key);
    let mut lines = Lines { text: String::new(), at: &at };
    match key.data {
        DataType::Hash => hash(&mut lines, key, example),
        DataType::List => list(&mut lines, key, example),
        DataType::Set => set(&mut lines, key, example),
        DataType::Zset => zset(&mut lines, key, example),
        DataType::Stream => {
            let fields = match &example.value {
                Some(ExampleValue::Pairs(pairs)) if !pairs.is_empty() => {
                    let pairs = pairs.iter().flat_map(|(name, value)| [name, value]);
                    pairs.map(|text| quote(text)).collect::<Vec<_>>().join(" ")
                }
                _ => "field value".to_owned(),
            };
            if !key.is_changefeed {
                lines.add("Append an entry", &format!("XADD {{}} * {fields}"));
            }
            lines.add("Read the first ten", "XRANGE {} - + COUNT 10");
            lines.add("Wait for the next", "XREAD BLOCK 0 STREAMS {} $");
        }
        DataType::Hll => {
            lines.add("Count something", "PFADD {} something");
            lines.add("How many different things, roughly", "PFCOUNT {}");
        }
        DataType::Any => lines.add("What it is", "TYPE {}"),
        _ => string(&mut lines, key, example),
    }
    if !is_read_only(key) && !key.is_changefeed {
        if key.lifetime != Lifetime::Forever {
            lines.add("Seconds left", "TTL {}");
        }
        lines.add("Delete", "DEL {}");
    }
    lines.text
}

/// An argument as redis-cli's prompt reads it: bare where it can be, in
/// single quotes, or in double quotes where it holds what those cannot.
pub(super) fn quote(argument: &str) -> String {
    let is_bare = |c: char| c.is_alphanumeric() || "_-.:@/+{}[]()*,=%!?<>|&~^$;#".contains(c);
    if !argument.is_empty() && argument.chars().all(is_bare) {
        return argument.to_owned();
    }
    let single = !argument.chars().any(char::is_control)
        && !argument.contains("\\'")
        && !argument.ends_with('\\');
    if single {
        return format!("'{}'", argument.replace('\'', "\\'"));
    }
    let mut quoted = String::from("\"");
    for c in argument.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    quoted.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

struct Lines<'a> {
    text: String,
    at: &'a str,
}

impl Lines<'_> {
    /// Adds a command; `{}` stands for the key.
    fn add(&mut self, comment: &str, command: &str) {
        self.text.push_str(&format!("# {comment}\n{}\n", command.replacen("{}", self.at, 1)));
    }
}

/// The option that says how long, where the writer must.
fn given_lifetime(key: &Key) -> String {
    let Lifetime::Given { min, max, default, .. } = &key.lifetime else { return String::new() };
    match default.or(*min).or(*max).map(keyward_schema::Duration::as_ms) {
        Some(ms) if ms % 1000 == 0 => format!(" EX {}", ms / 1000),
        Some(ms) => format!(" PX {ms}"),
        None => " EX 60".to_owned(),
    }
}

fn string(lines: &mut Lines<'_>, key: &Key, example: &Example) {
    let value = match &example.value {
        Some(ExampleValue::Text(json)) if key.data == DataType::Json => Some(quote(&compact(json))),
        Some(ExampleValue::Text(value)) => Some(quote(value)),
        _ => None,
    };
    if let Some(value) = value.filter(|_| !is_read_only(key)) {
        let lifetime = given_lifetime(key);
        match key.data {
            DataType::Flag => {
                lines.add(
                    "Set it; the answer is nil if it was set before",
                    &format!("SET {{}} {value}{lifetime} NX"),
                );
            }
            _ => lines.add("Write", &format!("SET {{}} {value}{lifetime}")),
        }
        match key.data {
            DataType::Int => lines.add("Count one up, if it is a counter", "INCR {}"),
            DataType::Float | DataType::Decimal => lines.add("Add to it", "INCRBYFLOAT {} 1.5"),
            _ => {}
        }
    }
    match key.data {
        DataType::Flag => lines.add("Is it set?", "EXISTS {}"),
        _ => lines.add("Read", "GET {}"),
    }
}

fn hash(lines: &mut Lines<'_>, key: &Key, example: &Example) {
    if let Some(ExampleValue::Pairs(pairs)) = &example.value {
        let fields: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{} {}", quote(name), quote(value))).collect();
        lines.add("Write", &format!("HSET {{}} {}", fields.join(" ")));
    }
    lines.add("Read all fields", "HGETALL {}");
    let Content::Fields(object) = &key.content else { return };
    if let Some(field) = object.fields.first() {
        lines.add("Read one field", &format!("HGET {{}} {}", quote(&field.name)));
    }
    let is_id = |name: &str| name == "id" || name.ends_with("_id");
    let counter = object.fields.iter().find(|field| {
        matches!(field.shape.ty, Type::Kind(Kind::Int | Kind::Uint)) && !is_id(&field.name)
    });
    if let Some(field) = counter {
        lines.add("Count one up", &format!("HINCRBY {{}} {} 1", quote(&field.name)));
    }
    let amount = object.fields.iter().find(|field| matches!(field.shape.ty, Type::Decimal { .. }));
    if let Some(field) = amount {
        lines.add("Add to an amount", &format!("HINCRBYFLOAT {{}} {} 1.5", quote(&field.name)));
    }
}

/// The first item or member of an example.
fn first(example: &Example) -> Option<String> {
    match &example.value {
        Some(ExampleValue::Items(items)) => items.first().map(|item| quote(item)),
        Some(ExampleValue::Pairs(pairs)) => pairs.first().map(|(member, _)| quote(member)),
        _ => None,
    }
}

fn list(lines: &mut Lines<'_>, key: &Key, example: &Example) {
    if let Some(item) = first(example) {
        let comment = match key.bounds.max_len {
            Some(_) => "Put in front; what is too much leaves at the back",
            None => "Put in front",
        };
        lines.add(comment, &format!("LPUSH {{}} {item}"));
        lines.add("Append", &format!("RPUSH {{}} {item}"));
    }
    lines.add("Read the first ten", "LRANGE {} 0 9");
    lines.add("How many", "LLEN {}");
}

fn set(lines: &mut Lines<'_>, key: &Key, example: &Example) {
    if let Some(member) = first(example) {
        if !is_read_only(key) {
            lines.add("Add", &format!("SADD {{}} {member}"));
            lines.add("Remove", &format!("SREM {{}} {member}"));
        }
        lines.add("Is it in?", &format!("SISMEMBER {{}} {member}"));
    }
    lines.add("All members", "SMEMBERS {}");
    lines.add("How many", "SCARD {}");
}

fn zset(lines: &mut Lines<'_>, key: &Key, example: &Example) {
    if let Some(ExampleValue::Pairs(pairs)) = &example.value
        && let Some((member, score)) = pairs.first()
    {
        if !is_read_only(key) {
            lines.add("Add, or change the score", &format!("ZADD {{}} {score} {}", quote(member)));
        }
        lines.add("Score of one", &format!("ZSCORE {{}} {}", quote(member)));
    }
    lines.add("The ten highest", "ZRANGE {} 0 9 REV WITHSCORES");
    lines.add("How many", "ZCARD {}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_as_redis_cli_reads_them() {
        let check = |argument, quoted: &str| assert_eq!(quote(argument), quoted);
        check("user:42", "user:42");
        check("", "''");
        check("a b", "'a b'");
        check(r#"{"a":"b"}"#, r#"'{"a":"b"}'"#);
        check("it's", r"'it\'s'");
        check("a\\'b", r#""a\\'b""#);
        check("ends in \\", r#""ends in \\""#);
        check("two\nlines", r#""two\nlines""#);
        check("bell\u{7}", r#""bell\x07""#);
    }
}
