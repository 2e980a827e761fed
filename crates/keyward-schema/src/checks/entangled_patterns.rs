//! KW0110: the patterns are too entangled to match quickly.

use crate::checks::overlap;
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::escape::escape;
use crate::matcher::{Limit, Matcher, MatcherError, NamedPattern};
use crate::pattern::{MAX_PAIR_STEPS, Steps};
use crate::read::KeyDraft;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0110",
    level: Level::Error,
    title: "the patterns are too entangled to match quickly",
    why: "
Keys are matched by a table over all patterns, built so that no key is tried
twice. Patterns that mix literals and placeholders at many places in ever
other combinations can make that table explode, and long texts of given
lengths make it a long search which keys two of them share. Both are
bounded: the message says which limit was met, and by which patterns. Begin
each of them with a literal of its own, or shorten the lengths.
",
    wrong: "",
    right: "",
};

/// Returns the table of all patterns, in the order of the drafts that have one,
/// unless none can be built.
pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) -> Option<Matcher> {
    // Where patterns overlap, there is none, and that has been said.
    if report.has_any(&[overlap::RULE.code, RULE.code]) {
        return None;
    }
    let patterns = drafts.iter().filter_map(|draft| draft.pattern.as_ref());
    match Matcher::new(patterns) {
        Ok(matcher) => Some(matcher),
        Err(MatcherError::Conflict { .. }) => None,
        Err(MatcherError::Entangled { patterns, limit }) => {
            report.push(found(drafts, &patterns, limit));
            None
        }
    }
}

/// How many of the patterns are pointed at.
const MAX_SHOWN: usize = 8;

/// How many of them the message names, and how much of each.
const MAX_NAMED: usize = 3;
const MAX_NAMED_CHARS: usize = 40;

fn found(drafts: &[KeyDraft<'_>], patterns: &[NamedPattern], limit: Limit) -> Diagnostic {
    let at = |pattern: &NamedPattern| {
        let draft = drafts.iter().find(|draft| *draft.text == *pattern.text);
        draft.map_or(Span::default(), |draft| draft.at)
    };
    let named = |pattern: &NamedPattern| {
        let mut text: String = escape(&pattern.text).chars().take(MAX_NAMED_CHARS).collect();
        if text.len() < pattern.text.len() {
            text.push('…');
        }
        format!("`{text}`")
    };
    let mut names = patterns.iter().take(MAX_NAMED).map(named).collect::<Vec<_>>().join(", ");
    if let Some(more) = patterns.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        names += &format!(" and {more} more");
    }
    let first = patterns.first().map_or(Span::default(), at);
    let found = RULE
        .at(first, format!("one of {} that are too entangled", patterns.len()))
        .saying(format!("the patterns {names} are too entangled to match quickly: {limit}"))
        .help("begin each of them with a literal of its own");
    let others = patterns.iter().skip(1).take(MAX_SHOWN - 1);
    others.fold(found, |found, other| found.see(at(other), "and this one"))
}

/// Steps are used up before it is known how this pattern lies to those before it, the one at
/// `rival` for instance.
pub(crate) fn incomparable(
    at: Span,
    rival: Option<Span>,
    (patterns_left, steps): (usize, &Steps),
) -> Diagnostic {
    let mut found = RULE
        .at(at, "here the steps are used up")
        .saying(format!(
            "the patterns are too entangled: which keys two of them share takes more than \
             {MAX_PAIR_STEPS} steps, or more than {} for all of them",
            steps.allowed()
        ))
        .help("begin each of them with a literal of its own, or shorten the lengths of texts");
    if let Some(rival) = rival {
        found = found.see(rival, "compared with this one");
    }
    match patterns_left {
        0 => found,
        left => found.see(at, format!("{left} patterns behind this one were not compared")),
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
    fn addresses_before_several_words_are_told_apart() {
        let words = ["until", "count", "why", "last", "first", "note", "{x}"];
        let key = |word| format!("[key.\"ban:{{a:ip}}/{word}\"]\ntype = \"hash\"\n");
        check(&words.map(key).concat(), "");
    }

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
            "KW0110 5:6 the patterns `{p0:a|b|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|…`, `{p0:a|b|c|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|…`, `{p0:a|b|c|d|f|g|h|i|j|k|l|m|n|o|p|q|r|s|…` and 18 more are too entangled to match quickly: the states of the table would have more than 4194304 patterns [one of 21 that are too entangled] | see 7:6 and this one | see 9:6 and this one | see 11:6 and this one | see 13:6 and this one | see 17:6 and this one | see 19:6 and this one | see 21:6 and this one | help: begin each of them with a literal of its own",
        );
    }
}
