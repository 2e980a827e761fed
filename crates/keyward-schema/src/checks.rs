//! The rules of the language, one file each.
//!
//! Owns every diagnostic: its declaration with the page that explains it, its
//! words and help, and for rules about the whole schema the check itself.
//! Rules about one construct are applied where it is read (`read`).
//! Invariants: codes never change their meaning and are never used again;
//! each page's wrong example breaks its rule and each right one does not,
//! which a test here tries.

pub(crate) mod address_beside_text;
pub(crate) mod adjacent_placeholders;
mod allowance;
pub(crate) mod ambiguous_template;
pub(crate) mod bad_alert;
pub(crate) mod bad_allowance;
pub(crate) mod bad_check;
pub(crate) mod bad_condition;
pub(crate) mod bad_include;
pub(crate) mod bad_limits;
pub(crate) mod bad_same;
pub(crate) mod bad_unit;
pub(crate) mod bad_value_type;
pub(crate) mod bound_on_wrong_type;
pub(crate) mod claimed_twice;
pub(crate) mod column_source;
pub(crate) mod column_type;
pub(crate) mod derived_of_derived;
pub(crate) mod derived_setting;
pub(crate) mod derived_type;
pub(crate) mod endless_growth;
pub(crate) mod entangled_patterns;
pub(crate) mod evict_contradiction;
pub(crate) mod example_key;
pub(crate) mod example_value;
pub(crate) mod foreign_placeholder;
pub(crate) mod foreign_tie;
pub(crate) mod function_key;
pub(crate) mod function_twice;
pub(crate) mod function_variable;
pub(crate) mod given_bounds;
pub(crate) mod given_without_default;
pub(crate) mod idle_compression;
pub(crate) mod include_cycle;
pub(crate) mod included_keyspace;
pub(crate) mod inverse_mismatch;
pub(crate) mod lifetime_cases;
pub(crate) mod lifetime_cycle;
pub(crate) mod lookup_value;
pub(crate) mod malformed_function;
pub(crate) mod malformed_lifetime;
pub(crate) mod malformed_pattern;
pub(crate) mod malformed_shape;
pub(crate) mod malformed_sink;
pub(crate) mod member_count;
pub(crate) mod misplaced_setting;
pub(crate) mod misplaced_shape;
pub(crate) mod missing_setting;
pub(crate) mod money_as_float;
pub(crate) mod no_such_field;
pub(crate) mod no_such_key;
pub(crate) mod no_such_pattern;
pub(crate) mod no_such_placeholder;
pub(crate) mod not_text;
pub(crate) mod null_in_text;
pub(crate) mod observed_tie;
pub(crate) mod optional_subject;
pub(crate) mod overlap;
pub(crate) mod rank_type;
pub(crate) mod second_rest;
pub(crate) mod secret_in_placeholder;
pub(crate) mod several_derivations;
pub(crate) mod shared_db;
pub(crate) mod short_guard;
pub(crate) mod sink_type;
pub(crate) mod source_type;
pub(crate) mod subject_type;
pub(crate) mod syntax;
pub(crate) mod table_twice;
pub(crate) mod template_kinds;
mod tied;
pub(crate) mod too_large;
pub(crate) mod too_many;
pub(crate) mod unbound_placeholder;
pub(crate) mod unknown_setting;
pub(crate) mod unknown_subject;
pub(crate) mod unknown_type;
pub(crate) mod unknown_variable;
pub(crate) mod unreachable_pattern;
pub(crate) mod unreadable_word;
pub(crate) mod unused_allowance;
pub(crate) mod value_misfit;
mod warnings;
pub(crate) mod wrong_value;

pub(crate) use allowance::read_allowances;
pub use shared_db::{MAX_SHARING, check_together, conflicts};
pub(crate) use warnings::Keyspaced;

use crate::diagnostic::{Report, Rule};
use crate::nearest::nearest;
use crate::read::KeyDraft;
use crate::schema::Key;
use warnings::Warnings;

/// Every rule, by code.
pub static RULES: &[&Rule] = &[
    // The file.
    &syntax::RULE,
    &too_large::RULE,
    &not_text::RULE,
    &unknown_setting::RULE,
    &misplaced_setting::RULE,
    &wrong_value::RULE,
    &missing_setting::RULE,
    &bad_unit::RULE,
    &too_many::RULE,
    &bad_allowance::RULE,
    &unused_allowance::RULE,
    &bad_include::RULE,
    &include_cycle::RULE,
    &unknown_variable::RULE,
    &included_keyspace::RULE,
    &shared_db::RULE,
    &no_such_key::RULE,
    // Patterns.
    &malformed_pattern::RULE,
    &overlap::RULE,
    &unreachable_pattern::RULE,
    &secret_in_placeholder::RULE,
    &entangled_patterns::RULE,
    &no_such_placeholder::RULE,
    &adjacent_placeholders::RULE,
    &second_rest::RULE,
    &address_beside_text::RULE,
    &unreadable_word::RULE,
    &claimed_twice::RULE,
    &foreign_placeholder::RULE,
    // Types and shapes.
    &unknown_type::RULE,
    &malformed_shape::RULE,
    &misplaced_shape::RULE,
    &null_in_text::RULE,
    &bad_limits::RULE,
    &bad_value_type::RULE,
    &money_as_float::RULE,
    &bad_check::RULE,
    &bad_same::RULE,
    // Lifetimes.
    &malformed_lifetime::RULE,
    &unknown_subject::RULE,
    &optional_subject::RULE,
    &lifetime_cases::RULE,
    &subject_type::RULE,
    &given_without_default::RULE,
    &given_bounds::RULE,
    &lifetime_cycle::RULE,
    &endless_growth::RULE,
    &short_guard::RULE,
    // Bounds and storage.
    &bound_on_wrong_type::RULE,
    &evict_contradiction::RULE,
    &idle_compression::RULE,
    // Derived keys.
    &no_such_pattern::RULE,
    &unbound_placeholder::RULE,
    &member_count::RULE,
    &derived_of_derived::RULE,
    &derived_type::RULE,
    &source_type::RULE,
    &no_such_field::RULE,
    &value_misfit::RULE,
    &template_kinds::RULE,
    &rank_type::RULE,
    &bad_condition::RULE,
    &inverse_mismatch::RULE,
    &several_derivations::RULE,
    &derived_setting::RULE,
    &ambiguous_template::RULE,
    &lookup_value::RULE,
    &observed_tie::RULE,
    &foreign_tie::RULE,
    // Functions.
    &function_key::RULE,
    &malformed_function::RULE,
    &function_variable::RULE,
    &function_twice::RULE,
    // Examples.
    &example_key::RULE,
    &example_value::RULE,
    // Sinks.
    &malformed_sink::RULE,
    &sink_type::RULE,
    &column_source::RULE,
    &column_type::RULE,
    &table_twice::RULE,
    // Alerts.
    &bad_alert::RULE,
];

/// The rule of that code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// The rule that was most likely meant by a code that does not exist.
pub fn nearest_rule(code: &str) -> Option<&'static Rule> {
    let code = code.trim();
    let digits = code.trim_start_matches(|c: char| !c.is_ascii_digit());
    let whole = format!("KW{digits:0>4}");
    rule(&whole).or_else(|| rule(nearest(code, RULES.iter().map(|rule| rule.code))?))
}

/// The rules that look at several keys at once. `keys` stand beside their
/// drafts; `None` where one has an error.
pub(crate) fn check_whole(
    keyspaces: &[Keyspaced<'_>],
    drafts: &[KeyDraft<'_>],
    keys: &[Option<Key>],
    report: &mut Report,
) {
    overlap::check(drafts, report);
    unreachable_pattern::check(drafts, report);
    if let Some(matcher) = entangled_patterns::check(drafts, report) {
        example_key::check_owners(drafts, keys, &matcher, report);
    }
    lifetime_cycle::check(keys, report);
    table_twice::check(keys, report);

    let mut warnings = Warnings::new(keyspaces, drafts, allowance::allowed_by, report);
    foreign_placeholder::check(drafts, &mut warnings);
    secret_in_placeholder::check(drafts, keys, &mut warnings);
    money_as_float::check(drafts, &mut warnings);
    endless_growth::check(keys, &mut warnings);
    short_guard::check(keys, &mut warnings);
    idle_compression::check(drafts, keys, &mut warnings);
    observed_tie::check(keyspaces, keys, &mut warnings);
    foreign_tie::check(keyspaces, keys, &mut warnings);
    warnings.finish();
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::include::Files;
    use crate::read::check_file;
    use std::path::{Path, PathBuf};

    #[test]
    fn codes_are_unique_and_in_order() {
        let codes: Vec<&str> = RULES.iter().map(|rule| rule.code).collect();
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(codes, sorted);
    }

    #[test]
    fn every_file_that_declares_a_rule_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/checks");
        let declares_a_rule = |entry: &std::fs::DirEntry| {
            std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("RULE: Rule ="))
        };
        let files = std::fs::read_dir(folder).expect("the folder of this module");
        assert_eq!(files.flatten().filter(declares_a_rule).count(), RULES.len());
    }

    #[test]
    fn a_code_is_found_by_less_than_all_of_it() {
        let check = |code, expected| {
            assert_eq!(nearest_rule(code).map(|rule| rule.code), expected, "{code}");
        };
        check("107", Some("KW0107"));
        check("kw107", Some("KW0107"));
        check("KW0170", Some("KW0107"));
        check("KX0107", Some("KW0107"));
        check("overlap", None);
        check("", None);
    }

    /// The files of an example: one, or several that each begin with a line `# NAME.toml`.
    struct Pages(Vec<(String, String)>);

    impl Pages {
        fn of(example: &str) -> Pages {
            let mut pages = Vec::new();
            for line in example.lines() {
                match line.strip_prefix("# ").filter(|name| name.ends_with(".toml")) {
                    Some(name) => pages.push((name.to_owned(), String::new())),
                    None if pages.is_empty() && line.is_empty() => {}
                    None => {
                        if pages.is_empty() {
                            pages.push(("page.toml".to_owned(), String::new()));
                        }
                        let (_, text) = pages.last_mut().expect("a page was begun");
                        *text += &format!("{line}\n");
                    }
                }
            }
            Pages(pages)
        }
    }

    impl Files for Pages {
        fn identity(&self, path: &Path) -> PathBuf {
            path.to_owned()
        }

        fn read(&self, path: &Path, _bytes_max: usize) -> Result<Vec<u8>, String> {
            let page = self.0.iter().find(|(name, _)| Path::new(name) == path);
            Ok(page.ok_or("no such file")?.1.clone().into_bytes())
        }
    }

    #[test]
    fn pages_about_several_files_show_them() {
        for code in ["KW0014", "KW0016", "KW0604"] {
            let rule = RULES.iter().find(|rule| rule.code == code).expect("a rule");
            assert!(Pages::of(rule.wrong).0.len() > 1, "{code}");
        }
    }

    #[test]
    fn every_page_shows_what_it_speaks_of() {
        for rule in RULES {
            let codes = |example: &str| -> Vec<&str> {
                let pages = Pages::of(example);
                let first = &pages.0[0];
                let checked = check_file(first.0.as_ref(), first.1.as_bytes(), &pages);
                checked.diagnostics.iter().map(|found| found.rule.code).collect()
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
