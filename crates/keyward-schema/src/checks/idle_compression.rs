//! KW0403: there is nothing to compress.

use super::warnings::Warnings;
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Kind;
use crate::read::KeyDraft;
use crate::schema::{Content, DataType, Key, MAX_COMPRESSED, MAX_COMPRESSED_WHOLE};
use crate::shape::{Extra, Object, Shape, Type};
use crate::units::size_in_words;

pub(crate) static RULE: Rule = Rule {
    code: "KW0403",
    level: Level::Warning,
    title: "there is nothing to compress",
    why: "
`compress` says from which size on a value, a field of a hash or an item of a
list is compressed. A key without placeholders is only one and stays as it is;
numbers, dates and words are never that long; no value is longer than
`max_size`; and what is longer than 512 KB, or belongs to a hash or a list of
more than 96 KB, stays as it is, so that no command takes long.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."seen:{id}"]
type = "list"
items = "uint"
ttl = "1h"
compress = "4kb"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."seen:{id}"]
type = "list"
items = "string"
ttl = "1h"
compress = "4kb"
"#,
};

/// More than any number, date or address has.
const SHORT_BYTES: u64 = 64;

pub(crate) fn check(drafts: &[KeyDraft<'_>], keys: &[Option<Key>], warnings: &mut Warnings<'_>) {
    for (index, (draft, key)) in drafts.iter().zip(keys).enumerate() {
        let Some(key) = key else { continue };
        if let (Some(above), Some(reason)) = (key.compress, reason(key)) {
            warnings.push_with(index, &RULE, || found(draft, above, &reason));
        }
    }
}

fn found(draft: &KeyDraft<'_>, above: u64, reason: &str) -> Diagnostic {
    let at = draft.table.entry("compress").map_or(draft.at, |entry| entry.name_at);
    RULE.at(at, reason)
        .saying(format!("nothing of `{}` is above {}", draft.text, size_in_words(above)))
        .help("leave `compress` out, or lower it")
}

/// Why nothing of a key is ever compressed, if so it is.
fn reason(key: &Key) -> Option<String> {
    let above = key.compress?;
    let (is_whole, most) = match key.data {
        DataType::String | DataType::Json | DataType::Bytes => (true, MAX_COMPRESSED),
        DataType::Hash | DataType::List => (false, MAX_COMPRESSED_WHOLE),
        // That these have no such setting is another finding.
        _ => return None,
    };
    if key.pattern.placeholders().is_empty() {
        return Some("a key without placeholders is only one, and stays as it is".to_owned());
    }
    if above >= most {
        let what = if is_whole { "values" } else { "collections" };
        return Some(format!("{what} above {} stay as they are", size_in_words(most)));
    }
    if let Some(max) = key.bounds.max_size.filter(|max| *max <= above) {
        return Some(format!("`max_size` is {}", size_in_words(max)));
    }
    let longest = match &key.content {
        Content::Value(shape) | Content::Items(shape) => longest(shape),
        Content::Fields(object) => longest_field(object),
        Content::Json(_) | Content::Scored { .. } | Content::Entries(_) | Content::Opaque => None,
    };
    longest
        .filter(|longest| *longest <= above)
        .map(|longest| format!("at most {} by its type", size_in_words(longest)))
}

/// How many bytes a text of a shape has at most; `None` if there is no bound.
fn longest(shape: &Shape) -> Option<u64> {
    match &shape.ty {
        Type::Kind(Kind::Enum(words)) => words.iter().map(|word| word.len() as u64).max(),
        Type::Kind(
            Kind::Int | Kind::Uint | Kind::Uuid | Kind::Date | Kind::Month | Kind::Ulid | Kind::Ip,
        )
        | Type::Bool
        | Type::Timestamp
        | Type::TimestampMs => Some(SHORT_BYTES),
        Type::String | Type::Kind(_) => shape.limits.len.map(|len| len.max),
        _ => None,
    }
}

fn longest_field(object: &Object) -> Option<u64> {
    let extra = match &object.extra {
        Extra::Reject => 0,
        Extra::Allow => return None,
        Extra::Typed(shape) => longest(shape)?,
    };
    let longest = |most: u64, shape| Some(most.max(longest(shape)?));
    object.fields.iter().map(|field| &field.shape).try_fold(extra, longest)
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn what_is_never_that_long() {
        check(
            r#"
[key."a:{x}"]
type = "list"
items = "uint"
ttl = "1h"
compress = "1kb"
"#,
            "KW0403 5:1 nothing of `a:{x}` is above 1 kB [at most 64 bytes by its type] | help: leave `compress` out, or lower it",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "1h"
compress = "1kb"
[key."a:{x}".fields]
at = "timestamp"
state = "on | off"
note = { type = "string", len = "0..200" }
"#,
            "KW0403 4:1 nothing of `a:{x}` is above 1 kB [at most 200 bytes by its type] | help: leave `compress` out, or lower it",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
ttl = "1h"
max_size = "4kb"
compress = "4kb"
"#,
            "KW0403 5:1 nothing of `a:{x}` is above 4 kB [`max_size` is 4 kB] | help: leave `compress` out, or lower it",
        );
    }

    #[test]
    fn what_is_one_or_too_large() {
        check(
            r#"
[key."config"]
type = "json"
ttl = "1h"
compress = "1kb"
"#,
            "KW0403 4:1 nothing of `config` is above 1 kB [a key without placeholders is only one, and stays as it is] | help: leave `compress` out, or lower it",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
compress = "512kb"
[key."b:{x}"]
type = "hash"
ttl = "1h"
compress = "96kb"
"#,
            "KW0403 4:1 nothing of `a:{x}` is above 512 kB [values above 512 kB stay as they are] | help: leave `compress` out, or lower it
KW0403 8:1 nothing of `b:{x}` is above 96 kB [collections above 96 kB stay as they are] | help: leave `compress` out, or lower it",
        );
    }

    #[test]
    fn what_may_be_long_enough_is_no_finding() {
        check(
            r#"
[key."a:{x}"]
type = "list"
items = { text = "string" }
ttl = "1h"
compress = "1kb"
[key."b:{x}"]
type = "hash"
ttl = "1h"
compress = "199b"
[key."b:{x}".fields]
at = "timestamp"
note = { type = "string", len = "0..200" }
[key."c:{x}"]
type = "hash"
ttl = "1h"
extra = "allow"
compress = "1kb"
[key."d:{x}"]
type = "string"
ttl = "1h"
max_size = "4kb"
compress = "1kb"
"#,
            "",
        );
    }
}
