//! The key patterns of the five systems, each behind its system's name.
//!
//! Two systems may both have `user:{id}`, so in one table each pattern gets
//! one segment more than it has in its own schema: what is measured here is
//! an upper bound.

use keyward_schema::{Pattern, check};

const SYSTEMS: [&str; 5] = ["calls-bot", "social", "api-billing", "telegram-gateway", "events"];

/// The patterns of the five systems.
pub(crate) fn of_five_systems() -> Vec<Pattern> {
    SYSTEMS.iter().flat_map(|system| of_system(system)).collect()
}

fn of_system(system: &str) -> Vec<Pattern> {
    let path = format!("{}/../systems/{system}/keyward.toml", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let schema = check(&path, &bytes).schema.unwrap_or_else(|| panic!("{path} has errors"));
    let keys = schema.keys.iter();
    keys.map(|key| parse(&format!("{system}:{}", key.pattern.text()))).collect()
}

/// So many patterns, made from those of the five systems by numbering the word
/// that follows the system's name.
pub(crate) fn variations(count: usize) -> Vec<Pattern> {
    let originals = of_five_systems();
    (0..count)
        .map(|index| {
            let original = originals[index % originals.len()].text();
            let mut segments: Vec<&str> = original.splitn(3, ':').collect();
            let numbered = format!("{}_{}", segments[1], index / originals.len());
            segments[1] = &numbered;
            parse(&segments.join(":"))
        })
        .collect()
}

fn parse(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}
