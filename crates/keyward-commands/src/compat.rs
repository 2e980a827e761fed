//! What COMPAT.md tells of commands, written from the table, the list of absent commands and the list of tests
//! of Redis that are known to fail.
//!
//! Its head is prose (`compat_head.md`); the rest follows from the rows. `keyward-server`
//! adds the settings, and compares the file at the root of the repository with the whole.

use crate::absent::{ABSENT, Reason};
use crate::command::{Command, Group};
use crate::table::COMMANDS;

/// The text of COMPAT.md up to the settings.
pub fn compat_markdown() -> String {
    let mut text = include_str!("compat_head.md").to_owned();
    for group in Group::ALL {
        let rows = COMMANDS.iter().filter(|command| command.group == *group);
        table(&mut text, group.wire_name(), "", rows.map(row));
    }
    for reason in Reason::ALL {
        let rows = ABSENT.iter().filter(|absent| absent.reason == *reason);
        let names = rows.flat_map(|absent| absent.full_names());
        let lines = names.map(|name| format!("| {} | absent | |", shown(&name)));
        table(&mut text, reason.heading(), reason.sentence(), lines);
    }
    text.push_str(TOTALS_HEAD);
    push_totals(&mut text);
    text.push_str(KNOWN_FAILURES_HEAD);
    for line in KNOWN_FAILURES.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<String> = line.split('\t').map(|cell| cell.replace('|', "\\|")).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// File, name and reason of each test of Redis that is known to fail, separated by tabs.
const KNOWN_FAILURES: &str = include_str!("known_failures.txt");

/// File, tests that both pass, and tests that Redis passes, separated by tabs, from runs on a day
/// that the first line names.
const TOTALS: &str = include_str!("tcl_totals.txt");

const TOTALS_HEAD: &str = "
## Redis's own tests

`cargo xtask tcl` runs the files of the Tcl suite of Redis 7.0.15 on Keyward and on the installed `redis-server` of that version, and counts the tests that Redis passes. Written from `tcl_totals.txt` in `keyward-commands`.
";

const KNOWN_FAILURES_HEAD: &str = "
Tests that Redis passes and Keyward does not, and why. `*` stands for all tests of a file, about something that is absent altogether. Written from `known_failures.txt` in `keyward-commands`.

| file | test | reason |
| --- | --- | --- |
";

/// The totals by file, and of all.
fn push_totals(text: &mut String) {
    let day = TOTALS.lines().next().unwrap_or_default().trim_start_matches("# ");
    text.push_str(&format!("\n{day}\n\n| file | passed | of |\n| --- | --- | --- |\n"));
    let (mut all_passed, mut all) = (0, 0);
    for (file, passed, of) in totals() {
        all_passed += passed;
        all += of;
        text.push_str(&format!("| {file} | {passed} | {of} |\n"));
    }
    text.push_str(&format!("| **together** | **{all_passed}** | **{all}** |\n"));
}

/// File, tests passed, and how many Redis passes.
fn totals() -> impl Iterator<Item = (&'static str, usize, usize)> {
    TOTALS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.split('\t');
        let file = cells.next()?;
        let mut count = || cells.next()?.parse().ok();
        Some((file, count()?, count()?))
    })
}

/// A heading, a sentence if there is one, and a table of these lines.
fn table(text: &mut String, heading: &str, about: &str, lines: impl Iterator<Item = String>) {
    text.push_str(&format!("\n### {heading}\n\n"));
    if !about.is_empty() {
        text.push_str(&format!("{about}\n\n"));
    }
    text.push_str("| command | state | note |\n| --- | --- | --- |\n");
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
}

fn row(command: &Command) -> String {
    let note = match (command.deprecated_since, command.replaced_by) {
        (Some(since), Some(instead)) => format!("deprecated since {since}: use {instead}"),
        _ if command.group != Group::Keyward && command.is_newer() => {
            format!("from Redis {}; as Valkey 9.1 answers", command.since)
        }
        _ => String::new(),
    };
    format!("| {} | served | {note} |", shown(command.name)).replace("|  |", "| |")
}

/// `client|list` as people write it: `CLIENT LIST`.
fn shown(name: &str) -> String {
    name.replace('|', " ").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_that_is_not_passed_is_named() {
        let lines = TOTALS.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(totals().count(), lines.count(), "every line can be read");
        for (file, passed, of) in totals() {
            let of_file = |line: &&str| line.split('\t').next() == Some(file);
            let named = KNOWN_FAILURES.lines().filter(of_file).count();
            assert_eq!(of - passed, named, "{file}: {passed} of {of}, and {named} are named");
        }
    }
}
