//! The list of all families, for `docs/metrics.md`.

use crate::exporter::INFO_FAMILIES;
use crate::families::{FAMILIES, Family, PatternFigure, REFUSED, WARNED};
use keyward_rules::Reason;
use std::fmt::Write as _;

/// The tables of `docs/metrics.md`, in Markdown: those of patterns and keyspaces, those of the
/// server, and the plain numbers of INFO.
pub fn markdown() -> String {
    let ours = |family: &Family| family.name.starts_with("keyward_");
    let patterns = PatternFigure::ALL.iter().map(|figure| figure.family());
    let patterns: Vec<Family> = patterns.chain([REFUSED, WARNED]).collect();
    let own: Vec<Family> = FAMILIES.iter().copied().filter(ours).collect();
    let exporters: Vec<Family> = FAMILIES.iter().copied().filter(|it| !ours(it)).collect();
    let mut text = String::from("### Of each pattern\n\n");
    write_families(&mut text, &patterns);
    text.push_str("\n`reason` is one of\n\n| reason | what was wrong |\n| --- | --- |\n");
    for reason in Reason::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} |", reason.name(), reason.doc());
    }
    text.push_str("\n### Of keyspaces and the server\n\n");
    write_families(&mut text, &own);
    text.push_str("\n### Under redis_exporter's names, with labels\n\n");
    write_families(&mut text, &exporters);
    text.push_str("\n### Under redis_exporter's names, fields of INFO\n\n");
    text.push_str("| family | kind | field of INFO |\n| --- | --- | --- |\n");
    for family in INFO_FAMILIES {
        let _ =
            writeln!(text, "| `{}` | {} | `{}` |", family.name, family.kind.name(), family.field);
    }
    text
}

fn write_families(text: &mut String, families: &[Family]) {
    text.push_str("| family | kind | labels | what it is |\n| --- | --- | --- | --- |\n");
    for Family { name, kind, labels, help } in families {
        let labels = labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "| `{name}` | {} | {labels} | {help} |", kind.name());
    }
}
