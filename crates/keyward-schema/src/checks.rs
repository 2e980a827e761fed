//! The rules of the language, one file each.
//!
//! Owns every diagnostic: its declaration with the page that explains it, its
//! words and help, and for rules about the whole schema the check itself.
//! Rules about one construct are applied where it is read (`read`).
//! Invariants: codes never change their meaning and are never used again;
//! each page's wrong example breaks its rule and each right one does not,
//! which a test here tries.

mod allowance;

pub(crate) use allowance::{apply_allowances, read_allowances};

use crate::diagnostic::{Report, Rule};
use crate::read::KeyDraft;
use crate::schema::Key;

macro_rules! rules {
    ($($name:ident),+ $(,)?) => {
        $(pub(crate) mod $name;)+

        /// Every rule, by code.
        pub static RULES: &[&Rule] = &[$(&$name::RULE),+];
    };
}

rules! {
    // The file.
    syntax, too_large, not_text, unknown_setting, misplaced_setting, wrong_value, missing_setting,
    bad_unit, too_many, bad_allowance, unused_allowance,
    // Patterns.
    malformed_pattern, overlap, unreachable_pattern, secret_in_placeholder, entangled_patterns,
    // Types and shapes.
    unknown_type, malformed_shape, misplaced_shape, null_in_text, bad_limits, bad_value_type,
    money_as_float,
    // Lifetimes.
    malformed_lifetime, unknown_subject, optional_subject, lifetime_cases, subject_type,
    given_without_default, given_bounds, lifetime_cycle, endless_growth, short_guard,
    // Bounds and storage.
    bound_on_wrong_type, evict_contradiction,
    // Derived keys.
    no_such_pattern, unbound_placeholder, member_count, derived_of_derived, derived_type,
    source_type, no_such_field, value_misfit, template_kinds, rank_type, bad_condition,
    inverse_mismatch, several_derivations, derived_setting,
    // Functions.
    function_key, malformed_function, function_variable,
    // Examples.
    example_key, example_value,
}

/// The rule of that code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// The rules that look at several keys at once. `keys` stand beside their
/// drafts; `None` where one has an error.
pub(crate) fn check_whole(drafts: &[KeyDraft<'_>], keys: &[Option<Key>], report: &mut Report) {
    overlap::check(drafts, report);
    unreachable_pattern::check(drafts, report);
    entangled_patterns::check(drafts, report);
    secret_in_placeholder::check(drafts, keys, report);
    money_as_float::check(drafts, report);
    lifetime_cycle::check(keys, report);
    endless_growth::check(keys, report);
    short_guard::check(keys, report);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::check;

    #[test]
    fn codes_are_unique_and_in_order() {
        let codes: Vec<&str> = RULES.iter().map(|rule| rule.code).collect();
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(codes, sorted);
    }

    #[test]
    fn every_page_shows_what_it_speaks_of() {
        for rule in RULES {
            let codes = |schema: &str| -> Vec<&str> {
                check("page.toml", schema.as_bytes())
                    .diagnostics
                    .iter()
                    .map(|found| found.rule.code)
                    .collect()
            };
            assert!(!rule.why.trim().is_empty(), "{} has no reason", rule.code);
            if rule.wrong.is_empty() {
                continue;
            }
            assert!(
                codes(rule.wrong).contains(&rule.code),
                "{}: the wrong example passes",
                rule.code
            );
            assert_eq!(
                codes(rule.right),
                Vec::<&str>::new(),
                "{}: the right example fails",
                rule.code
            );
        }
    }
}
