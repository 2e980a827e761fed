//! `allow`: warnings that do not apply, and why.
//!
//! An allowance on a key silences a warning about that key, one on the
//! keyspace the warning in the whole schema, one on the `[keyspace]` of an
//! included file the warning about that file's keys. One that silences nothing is told.
//! Invariant: an allowed warning never takes the place of another one in the
//! report, so warnings pass through here before they are counted.

use std::collections::HashMap;

use super::{bad_allowance, rule, unused_allowance};
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::read::KeyDraft;
use crate::read::table::Table;
use crate::schema::Allowance;
use crate::source::Span;

/// Reads the allowances of a table, and reports those that cannot be.
pub(crate) fn read_allowances(table: &Table<'_>, report: &mut Report) -> Vec<Allowance> {
    let texts = table.texts("allow", report);
    let mut allowances = Vec::new();
    for text in texts {
        let (code, reason) = split(text.value);
        match (rule(code), reason) {
            (Some(rule), Some(reason)) if rule.level == Level::Warning => {
                allowances.push(Allowance { code: rule.code.into(), reason: reason.into() });
            }
            (Some(rule), None) if rule.level == Level::Warning => {
                report.push_with(&bad_allowance::RULE, || {
                    bad_allowance::without_reason(rule, text.at)
                });
            }
            _ => report.push_with(&bad_allowance::RULE, || bad_allowance::found(code, text.at)),
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
    /// Collects what the file allows, with a reason or without. What cannot be allowed has
    /// been told.
    pub(crate) fn new(
        keyspaces: &[Keyspaced<'_>],
        drafts: &[KeyDraft<'_>],
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
            for text in table.texts("allow", &mut Report::default()) {
                let rule = rule(split(text.value).0).filter(|rule| rule.level == Level::Warning);
                allowed.extend(rule.map(|rule| ((owner, rule.code), text.at)));
            }
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

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_key_s_allowance_is_not_another_s() {
        check(
            r#"
[key."a:{x}"]
type = "list"
allow = ["KW0310: small"]
[key."b:{x}"]
type = "list"
"#,
            r#"KW0310 4:6 `b:{x}` may live and grow for ever [nothing says when it ends] | help: allow = ["KW0310: what bounds it"], or ttl = "30d", or max_len = 1000, which drops items at the far end: the oldest jobs of a queue"#,
        );
    }

    #[test]
    fn fields_that_stand_far_from_their_key_are_still_its_own() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = ["KW0207: cents of no importance"]
[key."b:{x}"]
type = "hash"
[key."a:{x}".fields]
fee = "float"
"#,
            "",
        );
        check(
            r#"
[key."a:{x}".fields]
fee = "float"
[key."b:{x}"]
type = "hash"
allow = ["KW0207: none"]
[key."a:{x}"]
type = "hash"
"#,
            r#"
KW0207 2:1 `fee` looks like money and is a float [a float] | help: fee = "decimal"
KW0011 5:10 KW0207 does not occur here [not needed] | help: remove it
"#,
        );
    }
}
