//! KW0802: keys of this type have no such sink.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::schema::DataType;
use crate::sink::SinkKind;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0802",
    level: Level::Error,
    title: "keys of this type have no such sink",
    why: "
Rows of a table are rows of a key, or items of one: hashes, JSON, texts, bytes and
numbers are mirrored and archived, what is pushed to a list or added to a stream
is appended, and a list can be drained. What Keyward derives from other keys goes
nowhere by itself: its sources have all of it. Rows that end with another key go by
the thousand when that does, and have no sink either.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."cart:{id}"]
type = "list"
ttl = "1d"
sink = { mirror = "carts" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."cart:{id}"]
type = "list"
ttl = "1d"
sink = { append = "carts" }
"#,
};

pub(crate) fn found(kind: SinkKind, data: DataType, at: Span) -> Diagnostic {
    let takers = match kind {
        SinkKind::Mirror | SinkKind::Archive => "hashes, JSON, texts, bytes and numbers",
        SinkKind::Append => "lists and streams",
        SinkKind::Drain => "lists",
    };
    RULE.at(at, format!("the key is of type {}", data.name()))
        .saying(format!("`{}` is a sink of {takers}", kind.name()))
}

pub(crate) fn derived(at: Span, key: Span) -> Diagnostic {
    RULE.at(at, "its sources have all of it")
        .saying("a derived key has no sink")
        .see(key, "derived")
        .help("remove `sink`")
}

/// A key whose rows end with those of another.
pub(crate) fn companion(at: Span, ttl: Span) -> Diagnostic {
    RULE.at(at, "ends with another key")
        .saying("a key that ends with another has no sink")
        .see(ttl, "its lifetime")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn rows_are_mirrored_and_items_appended() {
        let check = |data: &str, kind: &str, expected: &str| {
            let key = format!("[key.\"a:{{x}}\"]\ntype = '{data}'\nttl = '1d'");
            check(&format!("{key}\nsink = {{ {kind} = 'a' }}"), expected);
        };
        for data in ["hash", "json", "string", "int", "float", "decimal"] {
            check(data, "mirror", "");
            check(data, "archive", "");
        }
        check("list", "append", "");
        check("stream", "append", "");
        check("list", "drain", "");
        check(
            "set",
            "mirror",
            "KW0802 4:10 `mirror` is a sink of hashes, JSON, texts, bytes and numbers [the key is of type set]",
        );
        check(
            "hash",
            "append",
            "KW0802 4:10 `append` is a sink of lists and streams [the key is of type hash]",
        );
        check(
            "stream",
            "drain",
            "KW0802 4:10 `drain` is a sink of lists [the key is of type stream]",
        );
    }

    #[test]
    fn companions_have_none() {
        check(
            "[key.\"u:{id}\"]\ntype = 'string'\nttl = '1d'\n[key.\"n:{id}\"]\ntype = 'string'\nttl = { with = 'u:{id}' }\nsink = { mirror = 'a' }",
            "KW0802 7:10 a key that ends with another has no sink [ends with another key] | see 6:1 its lifetime",
        );
    }

    #[test]
    fn derived_keys_have_none() {
        check(
            "[key.\"u:{id}\"]\ntype = 'hash'\nfields = { e = 'str' }\n[key.\"by:{e}\"]\ntype = 'string'\nlookup = { of = 'u:{id}', field = 'e' }\nsink = { mirror = 'a' }",
            "KW0802 7:10 a derived key has no sink [its sources have all of it] | see 4:6 derived | help: remove `sink`",
        );
    }
}
