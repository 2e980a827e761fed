//! The way of warnings into the report, past what silences them.
//!
//! An allowance on a key silences a warning about that key, one on the
//! keyspace the warning in the whole schema, one on the `[keyspace]` of an
//! included file the warning about that file's keys. One that silences nothing is reported.
//! Invariant: an allowed warning never takes the place of another one in the
//! report, so warnings pass through here before they are counted.

use std::collections::HashMap;

use super::unused_allowance;
use crate::diagnostic::{Diagnostic, Report, Rule};
use crate::read::KeyDraft;
use crate::read::table::Table;
use crate::source::Span;

/// Whose warnings are silenced.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// Those of all keys.
    All,
    /// Those of the keys of an included file, by its place among the files.
    File(usize),
    /// Those of a key, by its index.
    Key(usize),
}

type Scope = (Owner, &'static str);

/// A file of a schema, and its `[keyspace]`.
pub(crate) struct Keyspaced<'t> {
    /// Where the file begins among the texts of the schema.
    pub(crate) base: u32,
    pub(crate) table: Option<Table<'t>>,
}

/// The way of warnings into the report.
pub(crate) struct Warnings<'r> {
    allowed: Vec<(Scope, Span)>,
    /// Whether each allowance has silenced something.
    used: HashMap<Scope, bool>,
    /// The file of each key.
    files: Vec<usize>,
    report: &'r mut Report,
}

impl<'r> Warnings<'r> {
    /// Collects what the files allow; `allowed_by` reads it of a table.
    pub(crate) fn new(
        keyspaces: &[Keyspaced<'_>],
        drafts: &[KeyDraft<'_>],
        allowed_by: impl Fn(&Table<'_>) -> Vec<(&'static str, Span)>,
        report: &'r mut Report,
    ) -> Warnings<'r> {
        let owner = |file| if file == 0 { Owner::All } else { Owner::File(file) };
        let keyspaces_read = keyspaces.iter().enumerate();
        let owners =
            keyspaces_read.filter_map(|(file, own)| Some((owner(file), own.table.as_ref()?)));
        let keys = drafts.iter().enumerate();
        let owners = owners.chain(keys.map(|(key, draft)| (Owner::Key(key), &draft.table)));
        let mut allowed: Vec<(Scope, Span)> = Vec::new();
        for (owner, table) in owners {
            let codes = allowed_by(table).into_iter();
            allowed.extend(codes.map(|(code, at)| ((owner, code), at)));
        }
        let used = allowed.iter().map(|(scope, _)| (*scope, false)).collect();
        let file_of = |draft: &KeyDraft<'_>| {
            keyspaces.partition_point(|file| file.base <= draft.at.start).saturating_sub(1)
        };
        let files = drafts.iter().map(file_of).collect();
        Warnings { allowed, used, files, report }
    }

    /// Reports a warning about the key of that index, unless it is allowed.
    pub(crate) fn push_with(
        &mut self,
        key: usize,
        rule: &'static Rule,
        describe: impl FnOnce() -> Diagnostic,
    ) {
        if !self.is_allowed(Owner::Key(key), rule) {
            self.report.push_with(rule, describe);
        }
    }

    fn is_allowed(&mut self, owner: Owner, rule: &Rule) -> bool {
        let mut allowed = false;
        let file = match owner {
            Owner::Key(key) => Owner::File(self.files[key]),
            other => other,
        };
        for owner in [owner, file, Owner::All] {
            if let Some(used) = self.used.get_mut(&(owner, rule.code)) {
                *used = true;
                allowed = true;
            }
        }
        allowed
    }

    /// Tells of the allowances that silenced nothing.
    pub(crate) fn finish(mut self) {
        let own_code = unused_allowance::RULE.code;
        let (own, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.allowed)
            .into_iter()
            .partition(|((_, code), _)| *code == own_code);
        for (scope, at) in others {
            if !self.used[&scope] && !self.is_allowed(scope.0, &unused_allowance::RULE) {
                self.report
                    .push_with(&unused_allowance::RULE, || unused_allowance::found(scope.1, at));
            }
        }
        for (scope, at) in own {
            if !self.used[&scope] {
                self.report
                    .push_with(&unused_allowance::RULE, || unused_allowance::found(scope.1, at));
            }
        }
    }
}
