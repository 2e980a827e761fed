//! Lifetimes from TOML.
//!
//! One reader per form; which form a table has is told by the one setting
//! that only that form has.

use std::collections::HashSet;

use toml::de::{DeTable, DeValue};

use super::draft::KeyDraft;
use super::table::{Entry, Located, Table, duration, text};
use super::template::resolve_or_report;
use crate::checks::{
    bad_unit, given_bounds, given_without_default, lifetime_cases, malformed_lifetime,
    optional_subject, subject_type, template_kinds, unbound_placeholder, unknown_subject,
};
use crate::derived::Binding;
use crate::diagnostic::Report;
use crate::lifetime::{Excess, Lifetime, Renew, Subject, Total};
use crate::nearest::nearest;
use crate::pattern::Kind;
use crate::schema::DataType;
use crate::settings::Scope;
use crate::shape::{Field, Type};
use crate::units::Duration;

/// The settings of a lifetime that tell its forms apart, and what may stand beside each.
/// The other settings beside `by` are the values of its subject.
pub const FORMS: [(&str, &[&str]); 5] = [
    ("after", &["renew", "excess", "max", "from"]),
    ("by", &["renew"]),
    ("until", &[]),
    ("with", &[]),
    ("given", &["min", "max", "default", "excess"]),
];

/// The settings of a lifetime by cases that are no cases.
const BESIDE_CASES: [&str; 2] = ["by", "renew"];

/// Reads `ttl`. A key without one lives as in Redis.
pub(super) fn read(
    draft: &KeyDraft<'_>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<Lifetime> {
    let Some(entry) = draft.table.entry("ttl") else { return Some(Lifetime::Free) };
    if let Some(found) = bad_unit::endless(entry) {
        report.push(found);
        return None;
    }
    match entry.value.get_ref() {
        DeValue::String(word) if word == "none" => Some(Lifetime::Forever),
        DeValue::String(_) => {
            let after = duration(entry, report)?.value;
            Some(Lifetime::Within { after, excess: Excess::Refuse })
        }
        DeValue::Table(table) => read_table(entry, table, draft, drafts, report),
        _ => {
            report.push(bad_unit::found(entry, "a duration such as \"5m\", \"none\", or a table"));
            None
        }
    }
}

fn read_table(
    entry: Entry<'_>,
    table: &DeTable<'_>,
    draft: &KeyDraft<'_>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<Lifetime> {
    let at = entry.name_at;
    if table.contains_key("by") {
        // Its other settings are the values of the subject, whatever they are called.
        return read_by(&Table::open_unchecked(Scope::Lifetime, table, at), draft, report);
    }
    let has = |(form, _): &&(&'static str, _)| table.contains_key(*form);
    let (form, beside) = match FORMS.iter().filter(has).collect::<Vec<_>>()[..] {
        [(form, beside)] => (*form, *beside),
        ref several => {
            let forms: Vec<&str> = several.iter().map(|(form, _)| *form).collect();
            report.push(malformed_lifetime::found(&forms, at));
            return None;
        }
    };
    let table = Table::open(Scope::Lifetime, table, at, report);
    let fits = |name: &str| name == form || beside.contains(&name);
    for stray in table.entries().iter().filter(|entry| !fits(entry.name)) {
        if crate::settings::settings_of(Scope::Lifetime).any(|known| known.name == stray.name) {
            report.push(malformed_lifetime::stray(stray.name, form, stray.name_at));
        }
    }
    match form {
        "after" => read_after(&table, draft, report),
        "until" => read_until(&table, draft, report),
        "with" => read_with(&table, draft, drafts, report),
        _ => read_given(&table, draft, report),
    }
}

fn read_after(table: &Table<'_>, draft: &KeyDraft<'_>, report: &mut Report) -> Option<Lifetime> {
    let after = table.duration("after", report);
    let excess = read_excess(table, report);
    let renew = table.choice("renew", Renew::NAMES, Renew::named, report).map(|renew| renew.value);
    let after = after?;
    if let (Some(_), Some(entry)) = (renew, table.entry("excess")) {
        report.push(malformed_lifetime::stray("excess", "renew", entry.name_at));
    }
    let total = match renew {
        Some(Renew::Write | Renew::Access) => read_total(table, after, draft, report)?,
        None | Some(Renew::Never) => {
            for stray in ["max", "from"].iter().filter_map(|name| table.entry(name)) {
                report.push(malformed_lifetime::without_renewal(stray.name, stray.name_at));
            }
            None
        }
    };
    let after = after.value;
    Some(match renew {
        None => Lifetime::Within { after, excess },
        Some(Renew::Never) => Lifetime::Window { after },
        Some(renew) => Lifetime::Renewed { after, renew, total },
    })
}

/// Reads `max` and `from` beside `renew`: both, or neither.
fn read_total(
    table: &Table<'_>,
    after: Located<Duration>,
    draft: &KeyDraft<'_>,
    report: &mut Report,
) -> Option<Option<Total>> {
    let (max, from) = match (table.entry("max"), table.entry("from")) {
        (None, None) => return Some(None),
        (Some(_), Some(_)) => (table.duration("max", report)?, table.text("from", report)?),
        (Some(lone), None) | (None, Some(lone)) => {
            report.push(malformed_lifetime::half_a_total(lone.name, lone.name_at));
            return None;
        }
    };
    if max.value <= after.value {
        report.push(malformed_lifetime::total_too_short(after, max));
        return None;
    }
    let (index, field) = subject_field("from", from, draft, report)?;
    if !matches!(field.shape.ty, Type::Timestamp | Type::TimestampMs) {
        report.push(subject_type::time("from", field, from.at));
        return None;
    }
    Some(Some(Total { max: max.value, from: index }))
}

fn read_excess(table: &Table<'_>, report: &mut Report) -> Excess {
    let excess = table.choice("excess", Excess::NAMES, Excess::named, report);
    excess.map_or(Excess::Refuse, |excess| excess.value)
}

fn read_by(table: &Table<'_>, draft: &KeyDraft<'_>, report: &mut Report) -> Option<Lifetime> {
    let name = table.text("by", report)?;
    let (subject, words) = match placeholder_name(name.value) {
        Some(placeholder) => by_placeholder(placeholder, name, draft, report)?,
        None => by_field(name, draft, report)?,
    };
    let renew = table.choice("renew", Renew::NAMES, Renew::named, report).map(|renew| renew.value);
    let known: HashSet<&str> = words.iter().map(|word| &**word).collect();
    if let Some(taken) = BESIDE_CASES.into_iter().find(|name| known.contains(name)) {
        report.push(lifetime_cases::unnameable(taken, name.at));
        return None;
    }
    let given = table.entries().iter().filter(|entry| !BESIDE_CASES.contains(&entry.name));
    let mut misspelt = Vec::new();
    for stray in given.clone().filter(|entry| !known.contains(entry.name)) {
        if FORMS.iter().any(|(form, _)| *form == stray.name) {
            report.push(malformed_lifetime::found(&["by", stray.name], table.at));
            return None;
        }
        report.push_with(&lifetime_cases::RULE, || {
            let meant = nearest(stray.name, words.iter().map(|word| &**word));
            misspelt.extend(meant);
            lifetime_cases::surplus(stray.name, &words, meant, stray.name_at)
        });
    }
    let given: HashSet<&str> = given.map(|entry| entry.name).collect();
    let missing: Vec<&str> =
        words.iter().map(|word| &**word).filter(|word| !given.contains(word)).collect();
    if !missing.is_empty() {
        // One that is there under a misspelt name has been told.
        if missing.iter().any(|word| !misspelt.contains(word)) {
            report.push(lifetime_cases::missing(&missing, name.at));
        }
        return None;
    }
    let case = |word: &str| {
        let after = duration(table.entry(word)?, report)?.value;
        Some((word.into(), after))
    };
    let cases = words
        .iter()
        .map(|word| &**word)
        .map(case)
        .collect::<Option<Vec<(Box<str>, Duration)>>>()?;
    Some(Lifetime::By { subject, cases, renew })
}

/// `{window}` names a placeholder, `window` a field.
fn placeholder_name(subject: &str) -> Option<&str> {
    subject.strip_prefix('{')?.strip_suffix('}')
}

type Words = Box<[Box<str>]>;

fn by_placeholder(
    name: &str,
    at: Located<&str>,
    draft: &KeyDraft<'_>,
    report: &mut Report,
) -> Option<(Subject, Words)> {
    let pattern = draft.pattern.as_ref()?;
    let Some(index) = pattern.placeholder(name) else {
        report.push(unknown_subject::placeholder(name, pattern, at.at));
        return None;
    };
    match &pattern.placeholders()[index].kind {
        Kind::Enum(words) => Some((Subject::Placeholder(index), words.clone())),
        kind => {
            report
                .push(subject_type::placeholder(name, kind, at.at).see(draft.at, "declared here"));
            None
        }
    }
}

fn by_field(
    name: Located<&str>,
    draft: &KeyDraft<'_>,
    report: &mut Report,
) -> Option<(Subject, Words)> {
    let (index, field) = subject_field("by", name, draft, report)?;
    match &field.shape.ty {
        Type::Kind(Kind::Enum(words)) => Some((Subject::Field(index), words.clone())),
        _ => {
            report.push(subject_type::by(field, name.at));
            None
        }
    }
}

fn read_until(table: &Table<'_>, draft: &KeyDraft<'_>, report: &mut Report) -> Option<Lifetime> {
    let name = table.text("until", report)?;
    let (index, field) = subject_field("until", name, draft, report)?;
    match field.shape.ty {
        Type::Timestamp | Type::TimestampMs => Some(Lifetime::Until { field: index }),
        _ => {
            report.push(subject_type::time("until", field, name.at));
            None
        }
    }
}

/// The required field that `by`, `until` or `from` names.
fn subject_field<'d>(
    setting: &str,
    name: Located<&str>,
    draft: &'d KeyDraft<'_>,
    report: &mut Report,
) -> Option<(usize, &'d Field)> {
    let content = draft.content.as_ref()?;
    let Some(object) = content.content.object() else {
        report.push(unknown_subject::no_fields(setting, name));
        return None;
    };
    let Some(index) = object.field(name.value) else {
        report.push(unknown_subject::field(setting, name, object));
        return None;
    };
    let field = &object.fields[index];
    if !field.required || field.shape.nullable {
        report.push(optional_subject::found(setting, field, name.at));
        return None;
    }
    Some((index, field))
}

fn read_with(
    table: &Table<'_>,
    draft: &KeyDraft<'_>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<Lifetime> {
    let entry = table.entry("with")?;
    let template = text(entry, report)?;
    let own = draft.pattern.as_ref()?;
    let resolved = resolve_or_report("with", template, drafts, report)?;
    let unbound: Vec<&str> = resolved
        .names()
        .map(|(name, _)| name)
        .filter(|name| own.placeholder(name).is_none())
        .collect();
    if !unbound.is_empty() {
        report.push(
            unbound_placeholder::found("with", &unbound, own, template.at)
                .see(draft.at, "this key"),
        );
        return None;
    }
    let places = [draft.at, drafts[resolved.key.index()].at];
    template_kinds::check(&resolved, own, template.at, places, report)?;
    let key =
        resolved.reference(|name| own.placeholder(name).map_or(Binding::Member, Binding::Bound));
    Some(Lifetime::With { key })
}

fn read_given(table: &Table<'_>, draft: &KeyDraft<'_>, report: &mut Report) -> Option<Lifetime> {
    let given = table.switch("given", report)?;
    if !given.value {
        report.push(malformed_lifetime::not_given(given.at));
        return None;
    }
    let min = table.duration("min", report);
    let max = table.duration("max", report);
    let default = table.duration("default", report);
    let excess = read_excess(table, report);
    given_bounds::check(min, max, default, report)?;
    if table.entry("default").is_none() && draft.data.is_some_and(needs_default) {
        report.push(given_without_default::found(draft, max.or(min), table.at));
        return None;
    }
    let value = |bound: Option<Located<Duration>>| bound.map(|bound| bound.value);
    Some(Lifetime::Given { min: value(min), max: value(max), default: value(default), excess })
}

/// Whether the usual writes of this type have no way to name a lifetime.
fn needs_default(data: DataType) -> bool {
    !matches!(data, DataType::String | DataType::Json | DataType::Bytes | DataType::Flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetime(ttl: &str) -> Option<Lifetime> {
        let schema = format!(
            "[keyspace]\nname = 'limits'\n[key.'limit:{{id}}:{{window:minute|hour}}']\ntype = 'int'\nttl = {ttl}"
        );
        let schema = crate::check("limits.toml", schema.as_bytes()).schema?;
        Some(schema.keys[0].lifetime.clone())
    }

    #[test]
    fn cases_may_be_windows_that_nothing_extends() {
        let renewal = |ttl: &str| match lifetime(ttl) {
            Some(Lifetime::By { renew, cases, .. }) if cases.len() == 2 => renew,
            other => panic!("{ttl}: {other:?}"),
        };
        let cases = "by = '{window}', minute = '1m', hour = '1h'";
        assert_eq!(renewal(&format!("{{ {cases} }}")), None);
        assert_eq!(renewal(&format!("{{ {cases}, renew = 'never' }}")), Some(Renew::Never));
        assert_eq!(lifetime(&format!("{{ {cases}, renew = 'often' }}")), None);
    }
}
