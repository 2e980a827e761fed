//! Alerts from TOML: `alert.hit_ratio = "< 70%"`, or a table with more.

use toml::de::DeValue;

use super::table::{Entry, Table, entries};
use crate::alert::{
    Alert, AlertFigure, DEFAULT_FOR, DEFAULT_OVER, MAX_OVER, MIN_OVER, Severity, Threshold,
};
use crate::checks::{bad_alert, missing_setting, wrong_value};
use crate::diagnostic::Report;
use crate::settings::Scope;

/// What alerts stand in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watched {
    /// A keyspace that may take so many bytes, if that is limited.
    Keyspace { max_memory: Option<u64> },
    /// A key of which so many are expected, if that is said.
    Key { expect: Option<u64> },
}

/// Reads `alert` of a keyspace or a key; `None` if something is wrong with one.
pub(super) fn read(table: &Table<'_>, watched: Watched, report: &mut Report) -> Option<Vec<Alert>> {
    let Some(alerts) = table.table("alert", report) else {
        return table.entry("alert").is_none().then(Vec::new);
    };
    let errors_before = report.errors_total();
    let alerts: Vec<Option<Alert>> =
        entries(alerts.value).into_iter().map(|entry| read_one(entry, watched, report)).collect();
    let all = alerts.into_iter().collect::<Option<Vec<Alert>>>();
    all.filter(|_| report.errors_total() == errors_before)
}

fn read_one(entry: Entry<'_>, watched: Watched, report: &mut Report) -> Option<Alert> {
    let Some(figure) = AlertFigure::named(entry.name) else {
        report.push(bad_alert::unknown(entry.name, watched, entry.name_at));
        return None;
    };
    let units = bad_alert::units(figure, watched);
    if units.is_empty() {
        report.push(bad_alert::elsewhere(figure, entry.name_at));
        return None;
    }
    let mut alert = Alert {
        figure,
        threshold: Threshold::parse("> 0%", &[crate::alert::AlertUnit::Share]).ok()?,
        hold: DEFAULT_FOR,
        over: DEFAULT_OVER,
        severity: Severity::Warning,
        say: None,
        at: entry.name_at,
    };
    let when = match entry.value.get_ref() {
        DeValue::String(_) => entry,
        DeValue::Table(table) => {
            let table = Table::open(Scope::Alert, table, entry.name_at, report);
            let when = table.entry("when");
            if when.is_none() {
                report.push(missing_setting::found(Scope::Alert, "when", table.at));
            }
            read_more(&table, &mut alert, report);
            when?
        }
        _ => {
            report.push(wrong_value::found(entry, "a comparison, or a table with one"));
            return None;
        }
    };
    let DeValue::String(text) = when.value.get_ref() else {
        report.push(wrong_value::found(when, "a comparison"));
        return None;
    };
    let at = when.value.span().into();
    match Threshold::parse(text, units) {
        Ok(threshold) => alert.threshold = threshold,
        Err(expected) => {
            report.push(bad_alert::threshold(figure, &expected, at));
            return None;
        }
    }
    if let Some(found) = bad_alert::baseless(&alert, watched, at) {
        report.push(found);
        return None;
    }
    Some(alert)
}

/// What a table says besides.
fn read_more(table: &Table<'_>, alert: &mut Alert, report: &mut Report) {
    if let Some(hold) = table.duration("for", report) {
        alert.hold = hold.value;
    }
    if let Some(over) = table.duration("over", report) {
        if !alert.figure.has_window() {
            report.push(bad_alert::no_window(alert.figure, over.at));
        } else if over.value > MAX_OVER {
            report.push(bad_alert::long_window(over.at));
        } else if over.value < MIN_OVER {
            report.push(bad_alert::short_window(over.at));
        }
        alert.over = over.value;
    }
    if let Some(severity) = table.choice("severity", Severity::NAMES, Severity::named, report) {
        alert.severity = severity.value;
    }
    alert.say = table.owned_text("say", report);
}
