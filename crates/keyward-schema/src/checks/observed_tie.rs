//! KW0520: a tie to a key that observes is not kept.

use super::tied::tied;
use super::warnings::{Keyspaced, Warnings};
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::schema::{Key, Mode};

pub(crate) static RULE: Rule = Rule {
    code: "KW0520",
    level: Level::Warning,
    title: "a tie to a key that observes is not kept",
    why: r#"
Where a key observes, nothing follows from its rows: what is derived from them,
mirrors or follows them, or lives with them is kept only if neither of the two
keys observes. Here one does and the other does not, so clients that rely on
the other find it as others left it. Let both observe, or none.
"#,
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
mode = "observe"
[key."users"]
type = "set"
members = { of = "user:{id}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
mode = "observe"
[key."users"]
type = "set"
mode = "observe"
members = { of = "user:{id}" }
"#,
};

pub(crate) fn check(
    keyspaces: &[Keyspaced<'_>],
    keys: &[Option<Key>],
    warnings: &mut Warnings<'_>,
) {
    let table = keyspaces.first().and_then(|own| own.table.as_ref());
    let said = table
        .and_then(|table| table.choice("mode", Mode::NAMES, Mode::named, &mut Report::default()));
    let whole = said.map_or(Mode::Enforce, |choice| choice.value);
    let observes = |key: &Key| key.mode.unwrap_or(whole) == Mode::Observe;
    for (index, key, other) in tied(keys) {
        if observes(key) != observes(other) {
            warnings.push_with(index, &RULE, || found(key, other, observes(key)));
        }
    }
}

fn found(key: &Key, other: &Key, own_observes: bool) -> Diagnostic {
    let (own, others) = match own_observes {
        true => ("observes", "does not"),
        false => ("does not observe", "observes"),
    };
    RULE.at(key.at, own)
        .saying(format!("`{}` is not kept with `{}`", key.pattern, other.pattern))
        .see(other.at, others)
        .help("mode = \"observe\", for both or for none")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn ties_are_kept_only_where_neither_observes() {
        check(
            r#"
[key."user:{id}"]
type = "hash"
mode = "observe"
[key."users"]
type = "set"
members = { of = "user:{id}" }
[key."note:{id}"]
type = "string"
ttl = { with = "user:{id}" }
mode = "observe"
"#,
            "KW0520 4:6 `users` is not kept with `user:{id}` [does not observe] | see 1:6 observes | \
             help: mode = \"observe\", for both or for none",
        );
        check(
            r#"
[key."user:{id}"]
type = "hash"
[key."users"]
type = "set"
members = { of = "user:{id}" }
"#,
            "",
        );
    }
}
