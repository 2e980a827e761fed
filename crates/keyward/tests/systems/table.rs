//! The last table of a system's README: the document's statements, how each is met, and where
//! that is tested.
//!
//! The last cell of a row names its tests, divided by semicolons, and every name must be
//! there: a table of statements that names a test which was renamed or never written is worse
//! than none. A row without a test says why in the cell before: `to come: …` for what Keyward
//! does not have yet, `outside: …` for what is no server's to keep.

use crate::{System, all, archive, scenario, text_of};

const TITLE: &str = "## The document, line by line";
/// What the rows of a table are at the least: a table that was not found has none.
const ROWS_MIN: usize = 20;
/// Why a statement has no test.
const REASONS: [&str; 2] = ["to come: ", "outside: "];

/// Every row names tests, and every test that is named exists.
pub(crate) fn names_tests_that_exist(system: &System) {
    let page = system.text("README.md");
    let rows = rows(&page);
    assert!(rows.len() >= ROWS_MIN, "{} rows below {TITLE:?}", rows.len());
    let problems: Vec<String> = rows
        .iter()
        .filter_map(|row| problem(system, row).map(|problem| format!("{problem}: {row:?}")))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The cells of each row, without the head and without the titles of chapters.
fn rows(page: &str) -> Vec<[String; 3]> {
    let (_, table) = page.split_once(TITLE).expect("README.md has the table");
    let lines = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    lines
        .map(cells)
        .filter(|[statement, met, _]| !(statement.starts_with("**") && met.is_empty()))
        .collect()
}

/// A row's three cells. A bar within one is written `\|`.
fn cells(line: &str) -> [String; 3] {
    let line = line.replace("\\|", "\0");
    let cells = line.trim().trim_start_matches('|').trim_end_matches('|').split('|');
    let cells: Vec<String> = cells.map(|cell| cell.trim().replace('\0', "|")).collect();
    cells.try_into().unwrap_or_else(|cells| panic!("three cells are wanted: {cells:?}"))
}

/// What is wrong with a row.
fn problem(system: &System, [_, met, tests]: &[String; 3]) -> Option<String> {
    let has_reason = REASONS.iter().any(|reason| met.starts_with(reason));
    if tests.is_empty() {
        return (!has_reason).then(|| "neither a test nor a reason".to_owned());
    }
    tests.split("; ").find_map(|test| {
        let (kind, names) = kind_and_names(test);
        if names.is_empty() {
            return Some(format!("{test} names nothing"));
        }
        names
            .iter()
            .find(|name| !exists(system, kind, name))
            .map(|name| format!("no {kind} {name}"))
    })
}

/// ``scenario `one`, `other` `` is a kind and two names; ``  `tests/x.rs` `name` `` has its
/// file for a kind.
fn kind_and_names(test: &str) -> (&str, Vec<&str>) {
    let mut quoted = test.split('`').skip(1).step_by(2);
    let kind = match test.split('`').next().unwrap_or_default().trim() {
        "" => quoted.next().unwrap_or_default(),
        kind => kind,
    };
    (kind, quoted.collect())
}

/// Whether there is a test of this kind and name.
fn exists(system: &System, kind: &str, name: &str) -> bool {
    match kind {
        "cases" => system.text("cases.toml").lines().any(|line| is_case(line, name)),
        "scenario" => is_played(&scenario::source(system), name),
        "postgres" => is_played(&archive::source(system), name),
        "beside" => scenario::source_beside(system).contains(name),
        "wire" => system.text("functions.wire").lines().any(|line| calls(line, name)),
        "tour" => system
            .text("README.md")
            .lines()
            .any(|line| line.starts_with("> ") && line.contains(name)),
        "figures" => {
            let shared = text_of(&all().join("gauge.py"));
            is_measured(&(system.text("figures.py") + &shared), name)
        }
        "settings" => {
            let system =
                system.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            has_setting(include_str!("settings.rs"), &system, name)
        }
        "failures" => defines(include_str!("failures.rs"), name),
        file => {
            let path = all().join("..").join(file);
            path.is_file() && defines(&text_of(&path), name)
        }
    }
}

/// Whether the table of figures has a line whose title begins so: a text that is the first
/// within parentheses.
fn is_measured(source: &str, title: &str) -> bool {
    let mut firsts = source.split('(').map(|rest| rest.trim_start().trim_start_matches('f'));
    firsts.any(|first| first.strip_prefix('"').is_some_and(|text| text.starts_with(title)))
}

/// Whether a line begins the cases of this pattern, or, of a name that ends with a colon, of a
/// pattern that begins with it.
fn is_case(line: &str, name: &str) -> bool {
    let pattern = line.strip_prefix("[\"").and_then(|rest| rest.strip_suffix("\"]"));
    pattern
        .is_some_and(|pattern| pattern == name || name.ends_with(':') && pattern.starts_with(name))
}

/// Whether a scenario has a part of this name and runs it.
fn is_played(source: &str, name: &str) -> bool {
    let calls = source.matches(&format!("{name}(")).count();
    defines(source, name) && calls > 1
}

/// Whether a line of a script calls a function.
fn calls(line: &str, function: &str) -> bool {
    let mut words = line.trim_start_matches("> ").split(' ');
    words.next().is_some_and(|word| word.starts_with("FCALL")) && words.next() == Some(function)
}

/// Whether a source in Rust, Python or JavaScript defines a function of this name, or a script
/// of the wire has such a command.
fn defines(source: &str, name: &str) -> bool {
    let heads = ["fn", "def", "function"].map(|head| format!("{head} {name}("));
    let is_head = |line: &str| heads.iter().any(|head| line.contains(head.as_str()));
    source.lines().any(|line| is_head(line) || line.starts_with(&format!("> {name}")))
}

/// Whether the test of a system's settings has this one.
fn has_setting(source: &str, system: &str, setting: &str) -> bool {
    let Some((_, rest)) = source.split_once(&format!("\"{system}\",\n")) else { return false };
    let document = rest.split("],").next().unwrap_or_default();
    document.contains(&format!("(\"{setting}\", "))
}

#[test]
fn a_row_is_held_against_what_is_there() {
    let system = System::read("calls-bot");
    let row = |met: &str, tests: &str| ["a statement", met, tests].map(str::to_owned);
    for (met, tests) in [
        ("to come: Sentinel", ""),
        ("a lifetime", "scenario `the_document`, `to_the_end`; cases `coupon:`"),
        ("a function", "wire `claim_token`; tour `FCALL claim_token`"),
        ("measured", "figures `what decides on a notification`"),
        ("kept", "`crates/keyward/tests/systems/table.rs` `a_row_is_held_against_what_is_there`"),
    ] {
        assert_eq!(problem(&system, &row(met, tests)), None, "{tests}");
    }
    for (met, tests) in [
        ("a lifetime", ""),
        ("a lifetime", "scenario"),
        ("a lifetime", "scenario `the_documents`"),
        ("a lifetime", "scenario `YEAR`"),
        ("a lifetime", "cases `coupons:`"),
        ("a lifetime", "cases `coupon`"),
        ("a function", "wire `claim_tokens`"),
        ("a function", "tour `claims_token`"),
        ("measured", "figures `seconds`"),
        ("measured", "figures `decides on a notification`"),
        ("a setting", "settings `maxmemory`"),
        ("kept", "`crates/keyward/tests/systems/tables.rs` `a_row`"),
        ("kept", "`crates/keyward/tests/systems/table.rs` `another_row`"),
    ] {
        assert!(problem(&system, &row(met, tests)).is_some(), "{tests}");
    }
    assert!(has_setting(include_str!("settings.rs"), "events", "timeout"));
    assert!(!has_setting(include_str!("settings.rs"), "api-billing", "timeout"));
}
