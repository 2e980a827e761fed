//! Tests of the rules, for `promtool test rules`.
//!
//! Owns three cases for each alert, made from its definition: figures beyond the threshold fire
//! it after its time and not before, figures within it do not, and silence does not. What is of
//! the whole server is so of another one too, which does not serve the keyspace: it fires nothing.

use super::measure::{Measure, Source, quoted};
use super::name;
use super::rules::{annotations, group, labels, scalar};
use crate::families::Id;
use keyward_schema::{AlertComparison, AlertUnit, DeclaredAlert, Schema};
use std::fmt::Write as _;

/// Minutes of each case.
const MINUTES: u64 = 60 * 26;

/// An alert's rule by itself, so that no other of its name fires beside it, and its tests.
#[derive(Debug)]
pub struct RuleTest {
    /// The file of the rule.
    pub rules: String,
    /// The file of its tests.
    pub tests: String,
    /// How many cases it has.
    pub cases: usize,
}

/// The tests of every alert; `file` names the file of the rule that has this place.
pub fn rule_tests(schemas: &[&Schema], file: impl Fn(usize) -> String) -> Vec<RuleTest> {
    let alerts = schemas.iter().flat_map(|schema| schema.alerts());
    let test = |(place, declared): (usize, DeclaredAlert<'_>)| {
        let mut tests =
            format!("rule_files: [{}]\nevaluation_interval: 1m\ntests:\n", scalar(&file(place)));
        let cases = [Case::Beyond, Case::Within, Case::Silent];
        let cases = cases.map(|case| usize::from(write_case(&mut tests, &declared, case)));
        let rules = format!("groups:\n{}", group("keyward", &[declared]));
        RuleTest { rules, tests, cases: cases.iter().sum() }
    };
    alerts.enumerate().map(test).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Beyond,
    Within,
    Silent,
}

/// What a figure is in a case, if it can be that.
fn value(declared: &DeclaredAlert<'_>, case: Case) -> Option<f64> {
    let threshold = declared.alert.threshold;
    let is_low = matches!(threshold.comparison, AlertComparison::Below | AlertComparison::AtMost);
    let highest = match (declared.alert.figure, threshold.unit) {
        // No more can be found than is looked for.
        (keyward_schema::AlertFigure::HitRatio, _) => 1.0,
        (_, AlertUnit::Share) => threshold.value * 2.0 + 1.0,
        _ => threshold.value * 2.0 + 10.0,
    };
    let value = if is_low == (case == Case::Beyond) { 0.0 } else { highest };
    let is_beyond = threshold.comparison.holds(value, threshold.value);
    (is_beyond == (case == Case::Beyond)).then_some(value)
}

/// Writes a case; whether there is one.
fn write_case(text: &mut String, declared: &DeclaredAlert<'_>, case: Case) -> bool {
    let measure = Measure::of(declared);
    let figure = match case {
        // Nothing is silent but what is counted.
        Case::Silent if !measure.grows || measure.per.is_none() => return false,
        Case::Silent => 0.0,
        case => match value(declared, case) {
            Some(value) => value,
            None => return false,
        },
    };
    // Whole numbers, as counters are.
    let base = if measure.per.is_some() { 1_000_000.0 } else { 1.0 };
    let series = |number: f64| match (measure.grows, case) {
        (true, Case::Silent) => format!("7+0x{MINUTES}"),
        (true, _) => format!("0+{}x{MINUTES}", number.ceil()),
        (false, _) => format!("{}+0x{MINUTES}", number.ceil()),
    };
    let over_m = declared.alert.over.as_ms().div_ceil(60_000).max(1);
    // Growth over the whole time is a minute's growth so many times.
    let of = match measure.grows && measure.per.is_none() {
        true => (figure / over_m as f64).ceil(),
        false => figure * base,
    };
    let _ = writeln!(text, "- interval: 1m\n  input_series:");
    write_series(text, declared, measure.of, &series(of));
    if measure.of.is_of_server() {
        write_servers(text, declared, measure.of, &series(of));
    }
    if let Some(per) = measure.per {
        write_series(text, declared, per, &series(base));
    }
    let hold_m = declared.alert.hold.as_ms().div_ceil(60_000);
    let window_m = if measure.grows { over_m } else { 0 };
    let at_m = (window_m + hold_m + 5).min(MINUTES);
    let _ = writeln!(text, "  alert_rule_test:");
    write_expectation(text, declared, at_m, case == Case::Beyond);
    if hold_m > 1 && case == Case::Beyond {
        write_expectation(text, declared, 0, false);
    }
    true
}

fn write_series(text: &mut String, declared: &DeclaredAlert<'_>, source: Source, values: &str) {
    let mut own = source.labels(declared);
    if !own.is_empty() {
        own.push(("db", "db0".to_owned()));
    }
    let own = own.into_iter().map(|(name, value)| format!("{name}={}", quoted(&value)));
    let all: Vec<String> =
        ["job=\"keyward\"", "instance=\"one\""].map(str::to_owned).into_iter().chain(own).collect();
    let series = format!("{}{{{}}}", source.family(), all.join(","));
    let _ = writeln!(text, "  - series: {}\n    values: {}", scalar(&series), scalar(values));
}

/// Two servers, of which the other one has the same figure and another keyspace.
fn write_servers(text: &mut String, declared: &DeclaredAlert<'_>, source: Source, values: &str) {
    let info = Id::SchemaInfo.family().name;
    let other = format!("{} too", declared.keyspace.name);
    let has = |instance: &str, keyspace: &str| {
        let keyspace = quoted(keyspace);
        format!(
            "{info}{{job=\"keyward\",instance=\"{instance}\",db=\"db0\",keyspace={keyspace},mode=\"enforce\"}}"
        )
    };
    let figure = format!("{}{{job=\"keyward\",instance=\"two\"}}", source.family());
    for (series, values) in [
        (has("one", &declared.keyspace.name), format!("1+0x{MINUTES}")),
        (has("two", &other), format!("1+0x{MINUTES}")),
        (figure, values.to_owned()),
    ] {
        let _ = writeln!(text, "  - series: {}\n    values: {}", scalar(&series), scalar(&values));
    }
}

fn write_expectation(text: &mut String, declared: &DeclaredAlert<'_>, at_m: u64, fires: bool) {
    let _ = writeln!(text, "  - eval_time: {at_m}m\n    alertname: {}", name(declared));
    if !fires {
        let _ = writeln!(text, "    exp_alerts: []");
        return;
    }
    let _ = writeln!(text, "    exp_alerts:\n    - exp_labels:");
    let mut all = labels(declared);
    all.extend([("job", "keyward".to_owned()), ("instance", "one".to_owned())]);
    if !Measure::of(declared).of.labels(declared).is_empty() {
        all.push(("db", "db0".to_owned()));
    }
    for (label, value) in all {
        let _ = writeln!(text, "        {label}: {}", scalar(&value));
    }
    let _ = writeln!(text, "      exp_annotations:");
    for (label, value) in annotations(declared) {
        let _ = writeln!(text, "        {label}: {}", scalar(&value));
    }
}
