//! KW0801: a sink cannot be read.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::{Entry, Located};
use crate::sink::SinkKind;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0801",
    level: Level::Error,
    title: "a sink cannot be read",
    why: r#"
A sink has one of `mirror`, `archive`, `append` and `drain`, which names a table,
and settings that go with it: `deleted` belongs to a mirror, `key` and `retain` to
all but a mirror, `merge` to an archive and a drain, `drop` to a list that is appended,
and it is at most as long as `retain`. Tables and columns have names that
PostgreSQL takes without quotes: small letters, digits and `_`. The primary key
consists of columns that every row has.
"#,
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "users", archive = "former_users" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "users", deleted = "mark" }
"#,
};

/// Not exactly one of the four.
pub(crate) fn not_one(kinds: &[Entry<'_>], at: Span) -> Diagnostic {
    let all = "`mirror`, `archive`, `append` and `drain`";
    match kinds {
        [_, second, ..] => RULE
            .at(second.name_at, "a second one")
            .saying(format!("a sink has one of {all}"))
            .help(format!("remove `{}`", second.name)),
        _ => RULE
            .at(at, "names no table")
            .saying(format!("a sink has one of {all}"))
            .help("sink = { mirror = \"…\" }"),
    }
}

/// A setting of another kind of sink.
pub(crate) fn foreign(entry: Entry<'_>, kind: SinkKind) -> Diagnostic {
    RULE.at(entry.name_at, "not its own")
        .saying(format!("`{}` says nothing of `{}`", entry.name, kind.name()))
        .help(format!("remove `{}`", entry.name))
}

/// A queue that would drop items before they are drained.
pub(crate) fn bounded_drain(at: Span) -> Diagnostic {
    RULE.at(at, "drops items")
        .saying("a queue that is drained keeps nothing, so there is nothing to bound")
        .help("remove `max_len`")
}

/// Entries of a stream, which no sink drops.
pub(crate) fn dropped_from_stream(at: Span) -> Diagnostic {
    RULE.at(at, "of a stream")
        .saying("`drop` is about the items of a list; `max_len` bounds a stream")
        .help("remove `drop`")
}

/// Items that the table would forget before they leave their list.
pub(crate) fn dropped_too_late(at: Span) -> Diagnostic {
    RULE.at(at, "longer than `retain`")
        .saying("an item leaves its list only while the table has it, so that none ever would")
        .help("write a `drop` that is at most as long as `retain`")
}

pub(crate) fn bad_name(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not a name").saying(format!(
        "`{name}` is no name of a table or column: those have small letters, digits and `_`"
    ))
}

/// A mirror that could not tell which row is gone.
pub(crate) fn nameless(at: Span) -> Diagnostic {
    RULE.at(at, "a placeholder has no column")
        .saying(
            "a mirror has a column for each placeholder, or it could not tell which row is gone",
        )
        .help("name a column for it in `columns`")
}

/// A field or placeholder whose name is none of a column.
pub(crate) fn unnamed(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "a column has no name")
        .saying(format!("`{name}` cannot be the name of a column"))
        .help(format!("columns = {{ … = \"{name}\" }}"))
}

pub(crate) fn column_twice(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "two columns of one name")
        .saying(format!("the table has two columns `{name}`"))
        .help("name one of them otherwise in `columns`")
}

/// A column of the primary key that is not there.
pub(crate) fn no_column(name: Located<&str>, known: &[&str]) -> Diagnostic {
    let near = nearest(name.value, known.iter().copied());
    RULE.at(name.at, "no such column")
        .saying(format!("the table has no column `{}`; it has {}", name.value, known.join(", ")))
        .maybe_help(near.map(|near| format!("write `{near}`")))
}

/// A column of the primary key that a row may lack.
pub(crate) fn absent_key(name: Located<&str>) -> Diagnostic {
    RULE.at(name.at, "may be absent")
        .saying(format!("`{}` is not in every row, so it is no part of a primary key", name.value))
}

/// The stream of changes cannot have the name that it must have.
pub(crate) fn no_changefeed(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "needs a changefeed").saying(format!(
        "changes are on their way in the stream `{name}`, which no other key may be"
    ))
}

pub(crate) fn no_key(at: Span) -> Diagnostic {
    RULE.at(at, "no primary key")
        .saying("nothing tells one row of the table from another")
        .help("key = [\"…\"]")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    fn hash(sink: &str) -> String {
        format!(
            "[key.\"u:{{id:uint}}\"]\ntype = 'hash'\nttl = '1d'\nfields = {{ name = 'string', age = 'uint?', 'E-mail' = 'string?' }}\nsink = {sink}"
        )
    }

    fn plain(sink: &str) -> String {
        format!("[key.\"u:{{id:uint}}\"]\ntype = 'string'\nttl = '1d'\nsink = {sink}")
    }

    #[test]
    fn one_of_the_four() {
        check(&plain("{ mirror = 'u' }"), "");
        check(
            &plain("{ retain = '2y' }"),
            "KW0801 4:1 a sink has one of `mirror`, `archive`, `append` and `drain` [names no table] | help: sink = { mirror = \"…\" }",
        );
        check(
            &plain("{ mirror = 'u', archive = 'v' }"),
            "KW0801 4:24 a sink has one of `mirror`, `archive`, `append` and `drain` [a second one] | help: remove `archive`",
        );
    }

    #[test]
    fn settings_go_with_their_kind() {
        check(&plain("{ mirror = 'u', deleted = 'mark' }"), "");
        check(&plain("{ archive = 'u', retain = '2y', merge = 'add' }"), "");
        check(
            &plain("{ mirror = 'u', merge = 'add' }"),
            "KW0801 4:24 `merge` says nothing of `mirror` [not its own] | help: remove `merge`",
        );
        check(
            &plain("{ archive = 'u', deleted = 'mark' }"),
            "KW0801 4:25 `deleted` says nothing of `archive` [not its own] | help: remove `deleted`",
        );
        check(
            "[key.\"q\"]\ntype = 'list'\nttl = 'none'\nmax_len = 9\nsink = { drain = 'q' }",
            "KW0801 4:1 a queue that is drained keeps nothing, so there is nothing to bound [drops items] | help: remove `max_len`",
        );
    }

    #[test]
    fn items_are_dropped_from_lists_alone() {
        let list = |sink: &str| {
            format!("[key.\"q\"]\ntype = 'list'\nttl = 'none'\nmax_len = 9\nsink = {sink}")
        };
        check(&list("{ append = 'q', drop = '1y' }"), "");
        check(
            &list("{ append = 'q', drop = 'soon' }").replace("max_len = 9\n", ""),
            "KW0008 4:31 `drop` wants a duration such as \"30s\", \"1h30m\" or \"14d\" [cannot be read]",
        );
        check(
            &plain("{ archive = 'u', drop = '1y' }"),
            "KW0801 4:25 `drop` says nothing of `archive` [not its own] | help: remove `drop`",
        );
        check(&list("{ append = 'q', drop = '1y', retain = '1y' }"), "");
        check(
            &list("{ append = 'q', retain = '1y', drop = '2y' }"),
            "KW0801 5:39 an item leaves its list only while the table has it, so that none ever would [longer than `retain`] | help: write a `drop` that is at most as long as `retain`",
        );
        check(
            &list("{ append = 'q', drop = '1y' }").replace("'list'", "'stream'"),
            "KW0801 5:24 `drop` is about the items of a list; `max_len` bounds a stream [of a stream] | help: remove `drop`",
        );
    }

    #[test]
    fn names_need_no_quotes() {
        check(&plain("{ mirror = 'crm.u' }"), "");
        for bad in ["", "Users", "a-b", "1a", "a.b.c", "a.", "u; drop table u"] {
            check(
                &plain(&format!("{{ mirror = '{bad}' }}")),
                &format!(
                    "KW0801 4:19 `{bad}` is no name of a table or column: those have small letters, digits and `_` [not a name]"
                ),
            );
        }
        check(
            &hash("{ mirror = 'u' }"),
            "KW0801 5:1 `E-mail` cannot be the name of a column [a column has no name] | help: columns = { … = \"E-mail\" }",
        );
        check(&hash("{ mirror = 'u', columns = { email = 'E-mail' } }"), "");
        check(&hash("{ mirror = 'u', columns = { 'E-mail' = false } }"), "");
    }

    #[test]
    fn the_changefeed_has_its_name_to_itself() {
        check(
            "[key.\"keyward:changefeed:{name}\"]\ntype = 'string'\nttl = '1d'\nsink = { mirror = 'u' }",
            "",
        );
        check(
            "[key.\"keyward:changefeed:test\"]\ntype = 'string'\nttl = '1d'\nsink = { mirror = 'u' }",
            "KW0801 4:1 changes are on their way in the stream `keyward:changefeed:test`, which no other key may be [needs a changefeed]",
        );
    }

    #[test]
    fn a_mirror_can_tell_which_row_is_gone() {
        check(
            "[key.\"u:{id}\"]\ntype = 'string'\nttl = '1d'\nsecret = ['id']\nsink = { mirror = 'u' }",
            "KW0801 5:1 a mirror has a column for each placeholder, or it could not tell which row is gone [a placeholder has no column] | help: name a column for it in `columns`\nKW0801 5:1 nothing tells one row of the table from another [no primary key] | help: key = [\"…\"]",
        );
        check(
            "[key.\"u:{id}\"]\ntype = 'string'\nttl = '1d'\nsecret = ['id']\nsink = { mirror = 'u', columns = { id = '{id}' } }",
            "",
        );
    }

    #[test]
    fn columns_differ_and_the_key_is_always_there() {
        check(
            &hash("{ mirror = 'u', columns = { id = 'E-mail' } }"),
            "KW0801 5:1 the table has two columns `id` [two columns of one name] | help: name one of them otherwise in `columns`",
        );
        let keyed = |key: &str| {
            hash(&format!("{{ archive = 'u', columns = {{ email = 'E-mail' }}, key = ['{key}'] }}"))
        };
        check(&keyed("name"), "");
        check(
            &keyed("nme"),
            "KW0801 5:64 the table has no column `nme`; it has id, name, age, email, ended_at, entry [no such column] | help: write `name`",
        );
        check(
            &keyed("age"),
            "KW0801 5:64 `age` is not in every row, so it is no part of a primary key [may be absent]",
        );
        check(
            "[key.\"q\"]\ntype = 'list'\nttl = 'none'\nsink = { drain = 'q', merge = 'add' }",
            "KW0801 4:1 nothing tells one row of the table from another [no primary key] | help: key = [\"…\"]",
        );
    }
}
