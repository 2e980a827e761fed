//! The schema language: any bytes get an answer.
//!
//! Inputs are the examples of the diagnostics' pages, joined, mutated by words,
//! lines and bytes, and now and then mere noise; by themselves, or in several
//! files that include each other with values. Promises: there is a schema if
//! and only if there is no error; findings are at most as many as are kept and
//! lie within their files; each can be shown; of an accepted schema the
//! matcher finds each example under its own pattern, documents can be written,
//! and the one text that stands for all files is accepted and has the same keys.

mod files;
mod input;

use std::path::Path;

use keyward_docs::render::{Style, human, json};
use keyward_schema::{Checked, Level, MAX_DIAGNOSTICS, Matcher, Schema, check, check_file, facts};

use crate::Random;

/// Checks one random file, or several.
pub fn round(random: &mut Random) {
    let checked = checked(random);
    judge(&checked);
    if let Some(schema) = &checked.schema {
        use_schema(schema);
    }
}

fn checked(random: &mut Random) -> Checked {
    if random.one_in(2) {
        return check("fuzz.toml", &input::file(random));
    }
    let files = files::Memory::of(random);
    check_file(Path::new(files::FIRST), files.first(), &files)
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
            let (file, span) = checked.source.locate(label.span);
            let range = span.range();
            assert!(range.start <= range.end, "a place that ends before it begins");
            let is_inside = file.text.get(range.clone()).is_some();
            assert!(is_inside, "{} at {range:?} of {}", found.rule.code, file.name);
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
    if schema.source.included().next().is_some() {
        is_told_by_one_text(schema);
    }
}

/// The text that includes nothing means the same.
fn is_told_by_one_text(schema: &Schema) {
    let flat = schema.source.whole_text();
    let again = check("flat.toml", flat.as_bytes());
    let found = &again.diagnostics;
    let again = again.schema.as_ref().unwrap_or_else(|| panic!("{found:?}\n{flat}"));
    let [files_say, text_says] = [schema, again].map(|schema| {
        let say = |id| format!("{} {:?}", schema.key(id).pattern, facts::of_key(schema, id));
        let mut said: Vec<String> = schema.ids().map(say).collect();
        said.sort();
        said
    });
    assert_eq!(files_say, text_says, "{flat}");
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
        let (mut sound, mut sound_with_others) = (0, 0);
        for seed in 0..6000 {
            let checked = checked(&mut Random::new(seed));
            codes.extend(checked.diagnostics.iter().map(|found| found.rule.code));
            let Some(schema) = &checked.schema else { continue };
            let count_of = match schema.source.included().next() {
                None => &mut sound,
                Some(_) => &mut sound_with_others,
            };
            *count_of += 1;
        }
        assert!(sound_with_others > 30, "only {sound_with_others} with others are accepted");
        assert!(sound > 100, "only {sound} by themselves are accepted");
        assert!(codes.len() > 45, "only {} rules are met: {codes:?}", codes.len());
    }
}
