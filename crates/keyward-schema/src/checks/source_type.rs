//! KW0506: nothing can be derived from a key of this type so.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::KeyDraft;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0506",
    level: Level::Error,
    title: "nothing can be derived from a key of this type so",
    why: "
A lookup indexes a field of a hash or of a JSON object, or the whole value of
a plain string. The mirror of a set is a set.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."recent:{user_id}"]
type = "list"
ttl = "7d"
[key."by_recent:{value}"]
type = "string"
lookup = { of = "recent:{user_id}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."nick:{user_id}"]
type = "string"
value = "str"
[key."by_nick:{nick}"]
type = "string"
lookup = { of = "nick:{user_id}" }
"#,
};

pub(crate) fn lookup(source: &KeyDraft<'_>, at: Span) -> Diagnostic {
    let data = source.data.map_or("unknown", |data| data.name());
    let found = RULE
        .at(at, format!("of type {data}"))
        .saying(format!("`{}` has no single value to index", source.text))
        .see(source.at, "declared here");
    match source.object().and_then(|object| object.fields.first()) {
        Some(field) => found.help(format!("name a field: field = {}", text_form(&field.name))),
        None => found,
    }
}

pub(crate) fn inverse(source: &KeyDraft<'_>, at: Span) -> Diagnostic {
    RULE.at(at, "not a set")
        .saying(format!("the mirror of a set is a set, and `{}` is none", source.text))
        .see(source.at, "declared here")
        .help("type = \"set\"")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn what_can_be_indexed_and_mirrored() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}" }
"#,
            r#"KW0506 6:17 `u:{id}` has no single value to index [of type hash] | see 1:6 declared here | help: name a field: field = "e""#,
        );
        check(
            r#"
[key."l:{id}"]
type = "list"
ttl = "1h"
[key."by:{e}"]
type = "string"
lookup = { of = "l:{id}" }
"#,
            "KW0506 6:17 `l:{id}` has no single value to index [of type list] | see 1:6 declared here",
        );
        check(
            r#"
[key."f:{id}"]
type = "set"
max_members = 5
inverse = "g:{member}"
[key."g:{id}"]
type = "zset"
max_members = 5
"#,
            r#"KW0506 4:11 the mirror of a set is a set, and `g:{id}` is none [not a set] | see 5:6 declared here | help: type = "set""#,
        );
        check(
            r#"
[key."v:{id}"]
type = "string"
value = "uuid"
[key."by:{v:uuid}"]
type = "string"
lookup = { of = "v:{id}" }
"#,
            "",
        );
    }
}
