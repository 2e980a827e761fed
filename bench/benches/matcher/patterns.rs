//! The key patterns of the five systems and of the library's schemas, in one table.
//!
//! Two systems claim keys such as `user:42`. So those of one of them bear its
//! name in front, a segment more than in their own schema.

use std::path::{Path, PathBuf};

use keyward_schema::{Pattern, check};

const SYSTEMS: [&str; 5] = ["calls-bot", "social", "api-billing", "telegram-gateway", "events"];

/// The system whose patterns bear its name in front.
const APART: &str = "social";

/// What the library's schemas are told where they could not share a database as they are:
/// `docs/library.md` says so.
const GIVEN: [(&str, &str, &str); 3] = [
    ("bullmq", "prefix", "bullmq"),
    ("sidekiq", "host", "worker-{number:uint}"),
    ("rate-limiter-flexible", "key", "{address:ip}"),
];

/// The patterns of the five systems and of the library.
pub(crate) fn of_systems_and_programs() -> Vec<Pattern> {
    of_five_systems().into_iter().chain(of_library()).collect()
}

/// The patterns of all schemas in the library.
fn of_library() -> Vec<Pattern> {
    let folder = format!("{}/../library", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has schemas");
    paths.iter().flat_map(|path| of_program(path)).collect()
}

fn of_program(path: &Path) -> Vec<Pattern> {
    let (name, shown) = (path.file_stem().unwrap_or_default(), path.display());
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let given: Vec<_> = GIVEN.iter().filter(|(of, ..)| *of == name).collect();
    let line = |line: &str| {
        let it = given.iter().find(|(_, variable, _)| {
            line.strip_prefix(variable).is_some_and(|rest| rest.trim_start().starts_with('='))
        });
        it.map_or(line.to_owned(), |(_, variable, value)| format!("{variable} = {value:?}"))
    };
    // They are made to be included: the keyspace is who does so.
    let head = ["[keyspace]".to_owned(), "name = \"library\"".to_owned()];
    let text: Vec<String> = head.into_iter().chain(text.lines().map(line)).collect();
    let checked = check(&shown.to_string(), text.join("\n").as_bytes());
    let schema = checked.schema.unwrap_or_else(|| panic!("{shown}: {:?}", checked.diagnostics));
    schema.keys.iter().map(|key| parse(key.pattern.text())).collect()
}

/// The patterns of the five systems alone.
pub(crate) fn of_five_systems() -> Vec<Pattern> {
    SYSTEMS.iter().flat_map(|system| of_system(system)).collect()
}

fn of_system(system: &str) -> Vec<Pattern> {
    let path = format!("{}/../systems/{system}/keyward.toml", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let schema = check(&path, &bytes).schema.unwrap_or_else(|| panic!("{path} has errors"));
    // Of two systems with a `user:{id}` one bears its name in front.
    let front = if system == APART { format!("{system}:") } else { String::new() };
    schema.keys.iter().map(|key| parse(&format!("{front}{}", key.pattern.text()))).collect()
}

/// So many patterns, made from those of the systems and programs: those of systems by numbering
/// their first word, or the one that follows the system's name, the others by a number in front.
pub(crate) fn variations(count: usize) -> Vec<Pattern> {
    let originals = of_systems_and_programs();
    let of_systems = of_five_systems().len();
    (0..count)
        .map(|index| {
            let original = originals[index % originals.len()].text();
            if index % originals.len() >= of_systems {
                return parse(&format!("v{}-{original}", index / originals.len()));
            }
            let mut segments: Vec<&str> = original.splitn(3, ':').collect();
            let place = usize::from(segments[0] == APART);
            let numbered = format!("{}_{}", segments[place], index / originals.len());
            segments[place] = &numbered;
            parse(&segments.join(":"))
        })
        .collect()
}

fn parse(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}
