//! KW0110: the patterns are too entangled to match quickly.

use crate::checks::overlap;
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::matcher::{Matcher, MatcherError};
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

/// Answers the table of all patterns, in the order of the drafts that have one,
/// unless none can be built.
pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) -> Option<Matcher> {
    // Where patterns overlap, there is none, and that has been said.
    if report.has_any(&[overlap::RULE.code]) {
        return None;
    }
    let patterns = drafts.iter().filter_map(|draft| draft.pattern.as_ref());
    match Matcher::new(patterns) {
        Ok(matcher) => Some(matcher),
        Err(MatcherError::Conflict { .. }) => None,
        Err(MatcherError::Entangled { patterns }) => {
            let first = patterns.iter().map(|pattern| &*pattern.text).next();
            let draft = drafts.iter().find(|draft| Some(draft.text) == first).or(drafts.first());
            let at = draft.map_or(Span::default(), |draft| draft.at);
            report.push(
                RULE.at(at, format!("one of {} that share most of their words", patterns.len()))
                    .help("begin each of them with a literal of its own"),
            );
            None
        }
    }
}

/// The patterns of files that share a database are, together.
pub(crate) fn together(at: Span) -> Diagnostic {
    RULE.at(at, "with those of the database's other files")
        .help("begin the keys of each file with a literal of its own")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn patterns_that_share_almost_all_words_in_every_segment() {
        let key = |own: char| {
            let others: Vec<String> =
                ('a'..='z').filter(|&letter| letter != own).map(String::from).collect();
            let segments = (0..10).map(|place| format!("{{p{place}:{}}}:", others.join("|")));
            format!("[key.\"{}{own}\"]\ntype = \"hash\"\n", segments.collect::<String>())
        };
        check(
            &('a'..='z').map(key).collect::<String>(),
            "KW0110 5:6 the patterns are too entangled to match quickly [one of 21 that share most of their words] | help: begin each of them with a literal of its own",
        );
    }
}
