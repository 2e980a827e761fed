//! The key patterns of the five systems, in one table.
//!
//! Two systems claim keys such as `user:42`. So those of one of them bear its
//! name in front, a segment more than in their own schema.

use keyward_schema::{Pattern, check};

const SYSTEMS: [&str; 5] = ["calls-bot", "social", "api-billing", "telegram-gateway", "events"];

/// The system whose patterns bear its name in front.
const APART: &str = "social";

/// The patterns of the five systems.
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

/// So many patterns, made from those of the five systems by numbering their
/// first word, or the one that follows the system's name.
pub(crate) fn variations(count: usize) -> Vec<Pattern> {
    let originals = of_five_systems();
    (0..count)
        .map(|index| {
            let original = originals[index % originals.len()].text();
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
