//! KW0108: the pattern can match no key.

use crate::diagnostic::{Level, Report, Rule};
use crate::pattern::{Kind, Pattern, Relation, relate};
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
    let Some(choices) = choices(pattern) else { return false };
    choices.iter().all(|choice| {
        Pattern::parse(choice).is_ok_and(|choice| {
            others.iter().any(|(other, _)| {
                matches!(relate(&choice, other).0, Relation::Subset | Relation::Equal)
            })
        })
    })
}

/// The pattern with every combination of its enums' words as literals; nothing
/// if there are no enums or too many combinations.
fn choices(pattern: &Pattern) -> Option<Vec<String>> {
    let mut choices = vec![pattern.text().to_owned()];
    for placeholder in pattern.placeholders() {
        let Kind::Enum(words) = &placeholder.kind else { continue };
        if choices.len().saturating_mul(words.len()) > MAX_COMBINATIONS {
            return None;
        }
        let written = format!("{{{}:", placeholder.name);
        let replace = |choice: &String, word: &str| {
            let start = choice.find(&written)?;
            let end = start + choice[start..].find('}')? + 1;
            Some(format!("{}{word}{}", &choice[..start], &choice[end..]))
        };
        choices = choices
            .iter()
            .flat_map(|choice| {
                words.iter().filter_map(|word| replace(choice, word)).collect::<Vec<_>>()
            })
            .collect();
    }
    (choices.len() > 1).then_some(choices)
}
