//! KW0108: the pattern can match no key.

use crate::checks::entangled_patterns;
use crate::diagnostic::{Level, Report, Rule};
use crate::pattern::{Kind, Pattern, Relation, SpelledOut, Steps, is_covered, relation_within};
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

/// How many comparisons of patterns the whole check may take. Real schemas
/// take some hundreds; beyond it an unreachable pattern goes unnoticed.
const MAX_COMPARISONS: usize = 1 << 21;

/// How many smaller patterns are considered together.
const MAX_TOGETHER: usize = 32;

/// How many of the patterns that claim its keys are shown.
const MAX_SHOWN: usize = 8;

pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) {
    // What could not be compared was said.
    if report.has_any(&[entangled_patterns::RULE.code]) {
        return;
    }
    let steps = Steps::among(drafts.len());
    let patterns: Vec<(&Pattern, Span)> =
        drafts.iter().filter_map(|draft| Some((draft.pattern.as_ref()?, draft.at))).collect();
    let mut budget = MAX_COMPARISONS;
    for (pattern, at) in &patterns {
        if budget == 0 || steps.are_used_up() {
            return;
        }
        if !pattern.placeholders().iter().any(|own| is_finite(&own.kind)) {
            continue;
        }
        let smaller: Vec<(&Pattern, Span)> = patterns
            .iter()
            .filter(|(other, _)| relation_within(other, pattern, &steps) == Relation::Subset)
            .copied()
            .collect();
        budget = budget.saturating_sub(patterns.len());
        // One smaller pattern leaves something over, or it would not be smaller.
        if smaller.len() < 2 {
            continue;
        }
        if !is_claimed(pattern, &smaller, &mut budget, &steps) {
            continue;
        }
        let found = RULE.at(*at, "all its keys are claimed by others").help("remove it");
        let shown = smaller.iter().take(MAX_SHOWN);
        report.push(shown.fold(found, |found, (_, at)| found.see(*at, "claims some")));
    }
}

/// Whether some smaller kinds and words can make up all of a kind.
fn is_finite(kind: &Kind) -> bool {
    matches!(kind, Kind::Enum(_) | Kind::Text(_) | Kind::Date | Kind::Month)
}

/// Whether the others claim all keys of a pattern: exactly, unless there are too many of them,
/// and then word by word.
fn is_claimed(
    pattern: &Pattern,
    others: &[(&Pattern, Span)],
    budget: &mut usize,
    steps: &Steps,
) -> bool {
    if others.len() <= MAX_TOGETHER {
        let patterns: Vec<&Pattern> = others.iter().map(|(other, _)| *other).collect();
        if let Some(is_covered) = is_covered(pattern, &patterns, steps) {
            return is_covered;
        }
    }
    match pattern.spelled_out(MAX_COMBINATIONS) {
        Some(combinations) => are_claimed(&combinations, others, budget, steps),
        None => false,
    }
}

/// Whether each of the combinations lies within one of the others.
fn are_claimed(
    combinations: &[SpelledOut],
    others: &[(&Pattern, Span)],
    budget: &mut usize,
    steps: &Steps,
) -> bool {
    combinations.iter().all(|combination| {
        others.iter().any(|(other, _)| {
            *budget = budget.saturating_sub(1);
            let lies = || relation_within(&combination.pattern, other, steps);
            *budget > 0 && matches!(lies(), Relation::Subset | Relation::Equal)
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn all_words_claimed_by_others() {
        check(
            r#"
[key."limit:{w:hour|day}"]
type = "hash"
[key."limit:hour"]
type = "hash"
[key."limit:day"]
type = "hash"
"#,
            "KW0108 1:6 the pattern can match no key [all its keys are claimed by others] | see 3:6 claims some | see 5:6 claims some | help: remove it",
        );
        check(
            r#"
[key."l:{a:x|y}:{b:1|2}"]
type = "hash"
[key."l:x:{b:1|2}"]
type = "hash"
[key."l:y:1"]
type = "hash"
[key."l:y:2"]
type = "hash"
"#,
            "KW0108 1:6 the pattern can match no key [all its keys are claimed by others] | see 3:6 claims some | see 5:6 claims some | see 7:6 claims some | help: remove it",
        );
        check(
            r#"
[key."l:{{{a:x|y}}}:{id}"]
type = "hash"
[key."l:{{x}}:{id}"]
type = "hash"
[key."l:{{y}}:{id}"]
type = "hash"
"#,
            "KW0108 1:6 the pattern can match no key [all its keys are claimed by others] | see 3:6 claims some | see 5:6 claims some | help: remove it",
        );
    }

    #[test]
    fn a_literal_that_looks_like_the_placeholder_is_not_taken_for_it() {
        check(
            r#"
[key."x{{w:{w:a|b}"]
type = "hash"
[key."x{{w:a"]
type = "hash"
[key."x{{w:b"]
type = "hash"
"#,
            "KW0108 1:6 the pattern can match no key [all its keys are claimed by others] | see 3:6 claims some | see 5:6 claims some | help: remove it",
        );
    }

    #[test]
    fn what_is_claimed_by_kinds_and_forms_together() {
        check(
            r#"
[key."v{n:text(0-2, 1)}"]
type = "hash"
[key."v{n:text(0-1, 1)}"]
type = "hash"
[key."v2"]
type = "hash"
"#,
            "KW0108 1:6 the pattern can match no key [all its keys are claimed by others] | see 3:6 claims some | see 5:6 claims some | help: remove it",
        );
        check(
            r#"
[key."a-{x:text(a-z0-9, 3)}"]
type = "hash"
[key."a-{x:text(a-z0-9, 2)}0"]
type = "hash"
[key."a-{x:text(a-z0-9, 2)}{{1"]
type = "hash"
"#,
            "",
        );
    }

    #[test]
    fn one_word_left_over_is_enough() {
        check(
            r#"
[key."limit:{w:hour|day|week}"]
type = "hash"
[key."limit:hour"]
type = "hash"
[key."limit:day"]
type = "hash"
"#,
            "",
        );
        check(
            r#"
[key."l:{a:x|y}:{id}"]
type = "hash"
[key."l:x:{id}"]
type = "hash"
[key."l:y:{id:uint}"]
type = "hash"
"#,
            "",
        );
    }
}
