//! KW0803: a column is filled from nothing.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::Pattern;
use crate::read::table::Located;

pub(crate) static RULE: Rule = Rule {
    code: "KW0803",
    level: Level::Error,
    title: "a column is filled from nothing",
    why: "
A column is filled from a declared field, from a `{placeholder}` of the key, from
`value` or `item` where the key has no fields, or from `extra`, the fields that
are not listed. `{product}_requests`, with a word of its own in braces, makes rows
of those: every such column of a table has the same word.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { mail = "string" }
sink = { mirror = "users", columns = { email = "e_mail" } }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { mail = "string" }
sink = { mirror = "users", columns = { email = "mail" } }
"#,
};

pub(crate) fn found(from: Located<&str>, fields: &[&str], pattern: &Pattern) -> Diagnostic {
    let placeholders = pattern.placeholders().iter();
    let braced: Vec<String> = placeholders.map(|own| format!("{{{}}}", own.name)).collect();
    let known = || fields.iter().copied().chain(braced.iter().map(String::as_str));
    let near = nearest(from.value, known());
    let known: Vec<&str> = known().collect();
    RULE.at(from.at, "nothing of that name")
        .saying(match &known[..] {
            [] => format!("the key has no `{}`", from.value),
            known => format!("the key has no `{}`; it has {}", from.value, known.join(", ")),
        })
        .maybe_help(near.map(|near| format!("write `{near}`")))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn columns_are_filled_from_what_is_declared() {
        let check = |columns: &str, expected: &str| {
            let key = "[key.\"u:{id:uint}:{month:month}\"]\ntype = 'hash'\nttl = '1d'\nextra = 'uint'\nfields = { total = 'uint' }";
            check(
                &format!("{key}\nsink = {{ archive = 'u', columns = {{ {columns} }} }}"),
                expected,
            );
        };
        check("user_id = '{id}', sum = 'total', others = 'extra'", "");
        check("requests = '{product}_requests', tokens = '{product}_tokens'", "");
        check(
            "sum = 'totl'",
            "KW0803 6:43 the key has no `totl`; it has total, {id}, {month} [nothing of that name] | help: write `total`",
        );
        check(
            "a = '{product}_a', b = '{other}_b'",
            "KW0803 6:60 the key has no `{other}_b`; it has total, {id}, {month} [nothing of that name]",
        );
        check(
            "a = '{id}_a'",
            "KW0803 6:41 the key has no `{id}_a`; it has total, {id}, {month} [nothing of that name]",
        );
    }
}
