//! `allow`: warnings that do not apply, and why.
//!
//! An allowance on a key silences a warning about that key, one on the
//! keyspace the warning in the whole file. One that silences nothing is told.
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
        match rule(code) {
            Some(rule) if rule.level == Level::Warning => {
                allowances
                    .push(Allowance { code: rule.code.into(), reason: reason.map(Into::into) });
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

/// Which warnings are silenced: those of a key, by its index, or of all.
type Scope = (Option<usize>, &'static str);

/// The way of warnings into the report.
pub(crate) struct Warnings<'r> {
    allowed: Vec<(Scope, Span)>,
    /// Whether each allowance has silenced something.
    used: HashMap<Scope, bool>,
    report: &'r mut Report,
}

impl<'r> Warnings<'r> {
    /// Collects what the file allows. What cannot be allowed has been told.
    pub(crate) fn new(
        keyspace: Option<&Table<'_>>,
        drafts: &[KeyDraft<'_>],
        report: &'r mut Report,
    ) -> Warnings<'r> {
        let owners = keyspace.map(|table| (None, table)).into_iter();
        let owners =
            owners.chain(drafts.iter().enumerate().map(|(key, draft)| (Some(key), &draft.table)));
        let mut allowed: Vec<(Scope, Span)> = Vec::new();
        for (owner, table) in owners {
            for text in table.texts("allow", &mut Report::default()) {
                let rule = rule(split(text.value).0).filter(|rule| rule.level == Level::Warning);
                allowed.extend(rule.map(|rule| ((owner, rule.code), text.at)));
            }
        }
        let used = allowed.iter().map(|(scope, _)| (*scope, false)).collect();
        Warnings { allowed, used, report }
    }

    /// Reports a warning about the key of that index, unless it is allowed.
    pub(crate) fn push_with(
        &mut self,
        key: usize,
        rule: &'static Rule,
        describe: impl FnOnce() -> Diagnostic,
    ) {
        if !self.is_allowed(Some(key), rule) {
            self.report.push_with(rule, describe);
        }
    }

    fn is_allowed(&mut self, owner: Option<usize>, rule: &Rule) -> bool {
        let mut allowed = false;
        for scope in [(owner, rule.code), (None, rule.code)] {
            if let Some(used) = self.used.get_mut(&scope) {
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
