//! `allow`: warnings that do not apply, and why.
//!
//! Owns reading it. Not here: what is silenced by it (`warnings`).

use super::{bad_allowance, rule};
use crate::diagnostic::{Level, Report};
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

/// The warnings that a table allows, with a reason or without, each with its place. What
/// cannot be allowed has been reported.
pub(crate) fn allowed_by(table: &Table<'_>) -> Vec<(&'static str, Span)> {
    let texts = table.texts("allow", &mut Report::default()).into_iter();
    let allowed = texts.filter_map(|text| {
        let rule = rule(split(text.value).0).filter(|rule| rule.level == Level::Warning)?;
        Some((rule.code, text.at))
    });
    allowed.collect()
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
