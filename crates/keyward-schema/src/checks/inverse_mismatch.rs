//! KW0512: two mirrored sets do not mirror each other.

use crate::diagnostic::{Level, Report, Rule};
use crate::read::KeyDraft;
use crate::read::mirrors::Mirrors;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0512",
    level: Level::Error,
    title: "two mirrored sets do not mirror each other",
    why: "
If one set is the `inverse` of another, that other one mirrors this one and no
third, and is not derived in another way. It may say so itself, or say nothing.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}:following"]
type = "set"
max_members = 5000
inverse = "user:{member}:blocked"
[key."user:{id}:followers"]
type = "set"
max_members = 5000
inverse = "user:{member}:following"

[key."user:{id}:blocked"]
type = "set"
max_members = 5000
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}:following"]
type = "set"
max_members = 5000
inverse = "user:{member}:followers"
[key."user:{id}:followers"]
type = "set"
max_members = 5000
inverse = "user:{member}:following"
"#,
};

/// Two keys by their index; the first calls the second its mirror.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) key: usize,
    pub(crate) mirror: usize,
}

/// Whether the mirror agrees. `None` if not.
pub(crate) fn check(
    Pair { key, mirror }: Pair,
    at: Span,
    drafts: &[KeyDraft<'_>],
    mirrors: &Mirrors,
    report: &mut Report,
) -> Option<()> {
    let (draft, other) = (&drafts[key], &drafts[mirror]);
    let Some(declared) = other.derivations().next() else {
        // It says nothing itself, so it can be the mirror of one only.
        let Some(rival) = mirrors.rival(key, mirror).filter(|&rival| rival < key) else {
            return Some(());
        };
        let rival = &drafts[rival];
        let message = format!("`{}` and `{}` both mirror `{}`", draft.text, rival.text, other.text);
        report.push(
            RULE.at(at, "the mirror of two")
                .saying(message)
                .see(rival.at, "the other one")
                .help("remove one `inverse`"),
        );
        return None;
    };
    if declared.name != "inverse" {
        report.push(
            RULE.at(at, "derived in another way")
                .saying(format!("`{}` is derived from something else", other.text))
                .see(declared.name_at, "so")
                .help("remove one of the two"),
        );
        return None;
    }
    if !mirrors.names(mirror, key) {
        report.push(
            RULE.at(at, "not mutual")
                .saying(format!("`{}` does not mirror `{}`", other.text, draft.text))
                .see(declared.value.span().into(), "names another key")
                .help("let each name the other, or only one of them name the other"),
        );
        return None;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn mirrors_are_mutual_and_two() {
        check(
            r#"
[key."a:{id}"]
type = "set"
max_members = 5
inverse = "b:{member}"
[key."b:{id}"]
type = "set"
max_members = 5
inverse = "c:{member}"
[key."c:{id}"]
type = "set"
max_members = 5
"#,
            "KW0512 4:11 `b:{id}` does not mirror `a:{id}` [not mutual] | see 8:11 names another key | help: let each name the other, or only one of them name the other",
        );
        check(
            r#"
[key."a:{id}"]
type = "set"
max_members = 5
inverse = "c:{member}"
[key."b:{id}"]
type = "set"
max_members = 5
inverse = "c:{member}"
[key."c:{id}"]
type = "set"
max_members = 5
"#,
            "KW0512 8:11 `b:{id}` and `a:{id}` both mirror `c:{id}` [the mirror of two] | see 1:6 the other one | help: remove one `inverse`",
        );
        check(
            r#"
[key."m:{x}:{id}"]
type = "hash"
[key."a:{id}"]
type = "set"
max_members = 5
inverse = "c:{member}"
[key."c:{id}"]
type = "set"
follows = "m:{id}:{member}"
"#,
            "KW0512 6:11 `c:{id}` is derived from something else [derived in another way] | see 9:1 so | help: remove one of the two",
        );
        check(
            r#"
[key."friends:{id}"]
type = "set"
max_members = 5
inverse = "friends:{member}"
"#,
            "",
        );
    }
}
