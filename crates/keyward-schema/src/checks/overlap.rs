//! KW0107: two patterns accept the same keys.

use crate::diagnostic::{Level, Report, Rule};
use crate::pattern::{Pattern, Relation, relate};
use crate::read::KeyDraft;

pub(crate) static RULE: Rule = Rule {
    code: "KW0107",
    level: Level::Error,
    title: "two patterns accept the same keys",
    why: "
Each key belongs to one pattern. Where two accept the same key, the keys of
one must be a proper subset of the other's; then the smaller one wins, as
`user:active` does against `user:{id}`. Here neither is smaller.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{name}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:login:{name}"]
type = "hash"
"#,
};

pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) {
    let patterns: Vec<(&Pattern, &KeyDraft<'_>)> =
        drafts.iter().filter_map(|draft| Some((draft.pattern.as_ref()?, draft))).collect();
    for (index, (pattern, draft)) in patterns.iter().enumerate() {
        for (earlier, earlier_draft) in &patterns[..index] {
            let (relation, witness) = relate(earlier, pattern);
            if !matches!(relation, Relation::Equal | Relation::Overlap) {
                continue;
            }
            let key = String::from_utf8_lossy(&witness.unwrap_or_default()).into_owned();
            report.push(
                RULE.at(draft.at, format!("also matches `{key}`"))
                    .see(earlier_draft.at, "first claimed here")
                    .help(format!("add a literal segment: \"{}\"", with_literal(pattern))),
            );
        }
    }
}

/// The same pattern with the name of its first placeholder before it.
fn with_literal(pattern: &Pattern) -> String {
    let Some(first) = pattern.placeholders().first() else { return format!("{pattern}:2") };
    let mut segments: Vec<&str> = split_segments(pattern.text());
    segments.insert(first.segment, &first.name);
    segments.join(":")
}

/// Cuts a pattern's text at the colons outside braces.
fn split_segments(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_cut = |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    };
    text.split(is_cut).collect()
}
