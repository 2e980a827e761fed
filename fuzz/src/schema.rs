//! The schema language: any bytes get an answer.
//!
//! Inputs are the examples of the diagnostics' pages, joined, mutated by words,
//! lines and bytes, and now and then mere noise. Promises: there is a schema if
//! and only if there is no error; findings are at most as many as are kept and
//! lie within the file; each can be shown; of an accepted schema the
//! matcher finds each example under its own pattern, and documents can be written.

mod input;

use keyward_docs::render::{Style, human, json};
use keyward_schema::{Checked, Level, MAX_DIAGNOSTICS, Matcher, Schema, check, facts};

use crate::Random;

/// Checks one random file.
pub fn round(random: &mut Random) {
    let bytes = input::file(random);
    let checked = check("fuzz.toml", &bytes);
    judge(&checked);
    if let Some(schema) = &checked.schema {
        use_schema(schema);
    }
}

fn judge(checked: &Checked) {
    let found = &checked.diagnostics;
    let has_error = found.iter().any(|found| found.rule.level == Level::Error);
    assert!(found.len() <= MAX_DIAGNOSTICS, "more findings than are kept");
    assert_eq!(
        checked.schema.is_none(),
        has_error,
        "there is a schema if and only if there is no error:\n{}",
        checked.source.text
    );
    for found in found {
        let labels = found.related.iter().chain([&found.primary]);
        for label in labels {
            let range = label.span.range();
            assert!(range.start <= range.end, "a place that ends before it begins");
            let text = &checked.source.text;
            assert!(text.get(range.clone()).is_some(), "{} at {range:?}", found.rule.code);
        }
        assert!(!found.message.is_empty());
        human(&checked.source, found, Style::Plain);
        json(&checked.source, found);
    }
}

fn use_schema(schema: &Schema) {
    let patterns = schema.keys.iter().map(|key| &key.pattern);
    let matcher = Matcher::new(patterns).expect("the patterns of a schema go together");
    for (index, key) in schema.keys.iter().enumerate() {
        if let Some(example) = &key.example {
            let found = matcher.find(example.key.as_bytes()).map(|found| found.pattern);
            assert_eq!(found, Some(index), "the example of `{}`", key.pattern);
        }
    }
    keyward_docs::markdown(&[schema]);
    keyward_docs::html(&[schema]);
    facts::lifetimes(schema);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_files_keep_every_promise() {
        for seed in 0..1000 {
            round(&mut Random::new(seed));
        }
    }

    /// A fuzzer whose inputs are all refused at the first line finds nothing.
    #[test]
    fn inputs_reach_most_rules_and_some_are_sound() {
        let mut codes = std::collections::BTreeSet::new();
        let mut sound = 0;
        for seed in 0..3000 {
            let checked = check("fuzz.toml", &input::file(&mut Random::new(seed)));
            codes.extend(checked.diagnostics.iter().map(|found| found.rule.code));
            sound += usize::from(checked.schema.is_some());
        }
        assert!(sound > 100, "only {sound} of 3000 are accepted");
        assert!(codes.len() > 45, "only {} rules are met: {codes:?}", codes.len());
    }
}
