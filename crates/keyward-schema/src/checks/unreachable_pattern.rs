//! KW0108: the pattern can match no key.

use crate::diagnostic::{Level, Report, Rule};
use crate::pattern::{Pattern, Relation, relate};
use crate::read::KeyDraft;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0108",
    level: Level::Error,
    title: "the pattern can match no key",
    why: "
Every key that this pattern accepts is claimed by a more specific one, so it
never has a row.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."limit:{window:hour|day}"]
type = "int"
ttl = "1d"
[key."limit:hour"]
type = "int"
ttl = "1h"
[key."limit:day"]
type = "int"
ttl = "1d"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."limit:{window:hour|day|week}"]
type = "int"
ttl = "1d"
[key."limit:hour"]
type = "int"
ttl = "1h"
[key."limit:day"]
type = "int"
ttl = "1d"
"#,
};

/// How many combinations of words are tried for one pattern.
const MAX_COMBINATIONS: usize = 4096;

pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) {
    let patterns: Vec<(&Pattern, Span)> =
        drafts.iter().filter_map(|draft| Some((draft.pattern.as_ref()?, draft.at))).collect();
    for (pattern, at) in &patterns {
        let smaller: Vec<(&Pattern, Span)> = patterns
            .iter()
            .filter(|(other, _)| relate(other, pattern).0 == Relation::Subset)
            .copied()
            .collect();
        // One smaller pattern leaves something over, or it would not be smaller.
        if smaller.len() < 2 || !is_covered(pattern, &smaller) {
            continue;
        }
        let found = RULE.at(*at, "all its keys are claimed by others");
        let related = smaller.iter().fold(found, |found, (_, at)| found.see(*at, "claims some"));
        report.push(related.help("remove it"));
    }
}

/// Whether each of the patterns that result from choosing words for the enums
/// lies within one of the others.
fn is_covered(pattern: &Pattern, others: &[(&Pattern, Span)]) -> bool {
    let Some(choices) = pattern.spelled_out(MAX_COMBINATIONS) else { return false };
    choices.iter().all(|choice| {
        Pattern::parse(&choice.text).is_ok_and(|choice| {
            others.iter().any(|(other, _)| {
                matches!(relate(&choice, other).0, Relation::Subset | Relation::Equal)
            })
        })
    })
}
