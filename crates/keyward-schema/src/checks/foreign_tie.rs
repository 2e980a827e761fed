//! KW0521: a key follows from a key of another owner.

use super::tied::tied;
use super::warnings::{Keyspaced, Warnings};
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::schema::Key;

pub(crate) static RULE: Rule = Rule {
    code: "KW0521",
    level: Level::Warning,
    title: "a key follows from a key of another owner",
    why: r#"
Rights are asked for the keys that a command names, never for what follows from
it: the tie is the grant. Here the two keys of a tie have different owners, so
whoever may write the one changes, ends or reveals the other, which belongs to
somebody else. Let both have one owner, or say why that is meant.
"#,
    wrong: r#"
[keyspace]
name = "shop"
owner = "accounts"

[key."user:{id}"]
type = "hash"
[key."users"]
type = "set"
owner = "marketing"
members = { of = "user:{id}" }
"#,
    right: r#"
[keyspace]
name = "shop"
owner = "accounts"

[key."user:{id}"]
type = "hash"
[key."users"]
type = "set"
members = { of = "user:{id}" }
"#,
};

pub(crate) fn check(
    keyspaces: &[Keyspaced<'_>],
    keys: &[Option<Key>],
    warnings: &mut Warnings<'_>,
) {
    let table = keyspaces.first().and_then(|own| own.table.as_ref());
    let whole = table.and_then(|table| table.owned_text("owner", &mut Report::default()));
    let owner = |key: &Key| key.owner.clone().or_else(|| whole.clone());
    for (index, key, other) in tied(keys) {
        if let (Some(own), Some(others)) = (owner(key), owner(other))
            && own != others
        {
            warnings.push_with(index, &RULE, || found(key, other, [&own, &others]));
        }
    }
}

fn found(key: &Key, other: &Key, [own, others]: [&str; 2]) -> Diagnostic {
    RULE.at(key.at, format!("of {own}"))
        .saying(format!(
            "`{}` follows from `{}`, which has another owner",
            key.pattern, other.pattern
        ))
        .see(other.at, format!("of {others}"))
        .help(format!("owner = \"{others}\", or allow = [\"KW0521: …\"] with the reason"))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn ties_across_owners_are_named() {
        check(
            r#"
[key."user:{id}"]
type = "hash"
owner = "accounts"
[key."users"]
type = "set"
owner = "marketing"
members = { of = "user:{id}" }
[key."note:{id}"]
type = "string"
ttl = { with = "user:{id}" }
owner = "accounts"
"#,
            "KW0521 4:6 `users` follows from `user:{id}`, which has another owner [of marketing] | \
             see 1:6 of accounts | \
             help: owner = \"accounts\", or allow = [\"KW0521: …\"] with the reason",
        );
        check(
            r#"
[key."user:{id}"]
type = "hash"
fields = { mail = "str" }
owner = "accounts"
[key."users"]
type = "set"
owner = "marketing"
allow = ["KW0521: they pay for it"]
members = { of = "user:{id}" }
[key."by:{mail}"]
type = "string"
lookup = { of = "user:{id}", field = "mail" }
"#,
            "",
        );
    }
}
