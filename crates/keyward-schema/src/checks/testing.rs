//! What the tests of the rules share: a schema in, its findings as text out.
//!
//! A finding is one line, `KW0107 3:6 message [label] | see 1:6 label | help: help`.

use crate::diagnostic::Diagnostic;
use crate::read::{Checked, check as check_file};

/// Stands behind every schema, where it moves no line.
const KEYSPACE: &str = "\n[keyspace]\nname = \"test\"\n";

/// Checks that the keys and functions of a schema have just these findings,
/// one to a line.
#[track_caller]
pub(crate) fn check(source: &str, expected: &str) {
    let source = source.trim_start_matches('\n');
    assert_eq!(findings(&format!("{source}{KEYSPACE}")), expected.trim(), "{source}");
}

/// The same for a whole file.
#[track_caller]
pub(crate) fn check_whole_file(source: &str, expected: &str) {
    let source = source.trim_start_matches('\n');
    assert_eq!(findings(source), expected.trim(), "{source}");
}

/// Checks that a schema has one finding, that its help offers `right`, and that
/// nothing is left to find with `right` in the place of `wrong`.
#[track_caller]
pub(crate) fn check_help(source: &str, wrong: &str, right: &str) {
    let file = format!("{source}{KEYSPACE}");
    let found = check_file("test.toml", file.as_bytes()).diagnostics;
    let [Diagnostic { help: Some(help), .. }] = &found[..] else {
        panic!("one finding with help expected:\n{}", findings(&file));
    };
    assert!(help.contains(right), "the help is not `{right}`: {help}");
    assert!(source.contains(wrong), "`{wrong}` is not there");
    assert_eq!(findings(&file.replace(wrong, right)), "", "mended by `{right}`");
}

/// The same for bytes that may not even be text.
#[track_caller]
pub(crate) fn check_bytes(bytes: &[u8], expected: &str) {
    assert_eq!(findings_in(bytes), expected);
}

fn findings(file: &str) -> String {
    findings_in(file.as_bytes())
}

fn findings_in(bytes: &[u8]) -> String {
    let checked = check_file("test.toml", bytes);
    let lines: Vec<String> =
        checked.diagnostics.iter().map(|found| line(&checked, found)).collect();
    lines.join("\n")
}

fn line(checked: &Checked, found: &Diagnostic) -> String {
    let place = |start: u32| {
        let position = checked.source.position(start);
        format!("{}:{}", position.line, position.column)
    };
    let primary = &found.primary;
    let mut line = format!(
        "{} {} {} [{}]",
        found.rule.code,
        place(primary.span.start),
        found.message,
        primary.text
    );
    for label in &found.related {
        line.push_str(&format!(" | see {} {}", place(label.span.start), label.text));
    }
    if let Some(help) = &found.help {
        line.push_str(&format!(" | help: {}", help.replace('\n', "; ")));
    }
    line
}
