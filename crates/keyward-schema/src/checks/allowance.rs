//! `allow`: warnings that do not apply, and why.
//!
//! An allowance on a key silences a warning about that key, one on the
//! keyspace the warning in the whole file. One that silences nothing is told.

use super::{bad_allowance, rule, unused_allowance};
use crate::diagnostic::{Level, Report};
use crate::read::KeyDraft;
use crate::read::table::{Located, Table};
use crate::schema::Allowance;
use crate::source::Span;

/// Reads the allowances of a table, and reports those that cannot be.
pub(crate) fn read_allowances(table: &Table<'_>, report: &mut Report) -> Vec<Allowance> {
    let texts = table.texts("allow", report);
    let mut allowances = Vec::new();
    for text in texts {
        let (code, reason) = split(text.value);
        match rule(code) {
            Some(rule) if rule.level == Level::Warning => {
                allowances
                    .push(Allowance { code: rule.code.into(), reason: reason.map(Into::into) });
            }
            _ => report.push(bad_allowance::found(code, text.at)),
        }
    }
    allowances
}

/// `KW0310: the reason`.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((code, reason)) => {
            (code.trim(), Some(reason.trim()).filter(|reason| !reason.is_empty()))
        }
        None => (text.trim(), None),
    }
}

/// Takes what is allowed out of the report.
pub(crate) fn apply_allowances(
    keyspace: Option<&Table<'_>>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) {
    let mut entries: Vec<(Located<&str>, Option<usize>, bool)> = Vec::new();
    for (owner, table) in keyspace
        .map(|table| (None, table))
        .into_iter()
        .chain(drafts.iter().enumerate().map(|(index, draft)| (Some(index), &draft.table)))
    {
        // Texts of another kind have been told once.
        let texts = table.texts("allow", &mut Report::default());
        entries.extend(texts.into_iter().map(|text| (text, owner, false)));
    }
    let owners = KeyRanges::new(drafts);
    report.retain(|found| {
        let owner = owners.owner(found.primary.span);
        let mut silenced = false;
        for (text, scope, used) in &mut entries {
            let applies = split(text.value).0.eq_ignore_ascii_case(found.rule.code)
                && (scope.is_none() || *scope == owner)
                && found.rule.level == Level::Warning;
            *used |= applies;
            silenced |= applies;
        }
        !silenced
    });
    for (text, _, used) in entries {
        let code = split(text.value).0;
        let is_warning = rule(code).is_some_and(|rule| rule.level == Level::Warning);
        if !used && is_warning {
            report.push(unused_allowance::found(code, text.at));
        }
    }
}

/// Which part of the file each key takes: from its pattern to the next one's.
struct KeyRanges {
    starts: Vec<(u32, usize)>,
}

impl KeyRanges {
    fn new(drafts: &[KeyDraft<'_>]) -> KeyRanges {
        let mut starts: Vec<(u32, usize)> =
            drafts.iter().enumerate().map(|(index, draft)| (draft.at.start, index)).collect();
        starts.sort_unstable();
        KeyRanges { starts }
    }

    fn owner(&self, span: Span) -> Option<usize> {
        let after = self.starts.partition_point(|(start, _)| *start <= span.start);
        after.checked_sub(1).map(|last| self.starts[last].1)
    }
}
