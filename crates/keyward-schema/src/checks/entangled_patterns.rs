//! KW0110: the patterns are too entangled to match quickly.

use crate::diagnostic::{Level, Report, Rule};
use crate::matcher::{Matcher, MatcherError};
use crate::pattern::Pattern;
use crate::read::KeyDraft;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0110",
    level: Level::Error,
    title: "the patterns are too entangled to match quickly",
    why: "
Keys are matched by a table over all patterns, built so that no key is tried
twice. Patterns that mix literals and placeholders at many places in ever
other combinations can make that table explode. Give them a common literal
segment in front that tells them apart.
",
    wrong: "",
    right: "",
};

pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) {
    // Where patterns overlap, that has been said, and no table can be built.
    let patterns: Vec<&Pattern> =
        drafts.iter().filter_map(|draft| draft.pattern.as_ref()).collect();
    if let Err(MatcherError::Entangled { .. }) = Matcher::new(patterns.iter().copied()) {
        let at = drafts.first().map_or(Span::default(), |draft| draft.at);
        report.push(RULE.at(at, "begins here"));
    }
}
