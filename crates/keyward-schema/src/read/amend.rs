//! `amend`: settings of a key that stands in another file.
//!
//! Owns the way of such settings to the key that they are of, before anything is read: each
//! replaces the one of its name there. So a file that includes another says of its keys what is
//! so in one place only, such as where their rows go.
//! Invariant: behind it no key amends another; what is read is one table for each pattern.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::table::{Entry, entries};
use crate::checks::{bad_include, no_such_key, wrong_value};
use crate::diagnostic::Report;
use crate::source::Span;

/// The settings of a key that amends another, its pattern, and where that stands.
type Amendment<'t> = (Spanned<DeString<'t>>, DeTable<'t>);

/// Puts amendments into the keys that they are of. The file that stands first amends last.
pub(super) fn apply(documents: &mut [DeTable<'_>], report: &mut Report) {
    for at in (0..documents.len()).rev() {
        for (pattern, settings) in take(&mut documents[at], report) {
            let mut others = documents.iter_mut().enumerate().filter(|(own, _)| *own != at);
            match others.find_map(|(_, document)| key_of(document, pattern.get_ref())) {
                Some(key) => {
                    for (name, value) in settings {
                        key.remove(&**name.get_ref());
                        key.insert(name, value);
                    }
                }
                // What cannot be read may have it.
                None if report.has_any(&[bad_include::RULE.code]) => {}
                None => {
                    let span: Span = pattern.span().into();
                    report.push(no_such_key::found(pattern.get_ref(), span));
                }
            }
        }
    }
}

/// Takes all keys of a file that amend others.
fn take<'t>(document: &mut DeTable<'t>, report: &mut Report) -> Vec<Amendment<'t>> {
    let Some(keys) = keys_of(document) else { return Vec::new() };
    let is_amendment = |entry: &Entry<'_>, report: &mut Report| {
        let DeValue::Table(key) = entry.value.get_ref() else { return false };
        let Some(amend) = entries(key).into_iter().find(|entry| entry.name == "amend") else {
            return false;
        };
        if !matches!(amend.value.get_ref(), DeValue::Boolean(_)) {
            report.push(wrong_value::found(amend, "true or false"));
        }
        matches!(amend.value.get_ref(), DeValue::Boolean(true))
    };
    let found = entries(keys).into_iter().filter(|entry| is_amendment(entry, report));
    let names: Vec<String> = found.map(|entry| entry.name.to_owned()).collect();
    let taken = names.into_iter().filter_map(|name| {
        let (name, value) = keys.remove_entry(name.as_str())?;
        let DeValue::Table(mut settings) = value.into_inner() else { return None };
        settings.remove("amend");
        Some((name, settings))
    });
    taken.collect()
}

fn keys_of<'d, 't>(document: &'d mut DeTable<'t>) -> Option<&'d mut DeTable<'t>> {
    match document.get_mut("key")?.get_mut() {
        DeValue::Table(keys) => Some(keys),
        _ => None,
    }
}

/// The settings of a key.
fn key_of<'d, 't>(document: &'d mut DeTable<'t>, pattern: &str) -> Option<&'d mut DeTable<'t>> {
    match keys_of(document)?.get_mut(pattern)?.get_mut() {
        DeValue::Table(key) => Some(key),
        _ => None,
    }
}
