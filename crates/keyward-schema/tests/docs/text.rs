//! The Markdown of a schema that uses every construct, byte for byte.
//!
//! `KEYWARD_UPDATE=1 cargo test` writes the expected file anew; its change is
//! then to be read like any other.

use keyward_schema::docs::{html, markdown};

use crate::{SHOP, schema};

#[test]
fn markdown_is_what_was_agreed() {
    let found = markdown(&[&schema("shop.toml", SHOP)]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/shop.md");
    if std::env::var_os("KEYWARD_UPDATE").is_some() {
        std::fs::write(path, &found).expect("the expected file can be written");
    }
    let expected = std::fs::read_to_string(path).expect("the expected file is there");
    let lines = || found.lines().zip(expected.lines()).enumerate();
    if let Some((number, (found, expected))) =
        lines().find(|(_, (found, expected))| found != expected)
    {
        panic!("line {}: {found:?} instead of {expected:?}", number + 1);
    }
    assert_eq!(found.len(), expected.len(), "one of them goes on");
}

#[test]
fn the_same_schema_gives_the_same_bytes() {
    let (one, two) = (schema("shop.toml", SHOP), schema("shop.toml", SHOP));
    assert_eq!(markdown(&[&one]), markdown(&[&two]));
    assert_eq!(html(&[&one, &two]), html(&[&two, &one]));
}

#[test]
fn links_of_markdown_lead_to_headings() {
    let (shop, other) = (schema("shop.toml", SHOP), schema("other.toml", SHOP));
    for text in [markdown(&[&shop]), markdown(&[&shop, &other])] {
        let mut anchors: Vec<String> = Vec::new();
        for heading in text.lines().filter(|line| line.starts_with('#')) {
            // Comments in blocks of commands look like headings of level one.
            let Some((_, title)) = heading.split_once("# ") else { continue };
            let plain: String = title
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || " _-".contains(*c))
                .collect();
            anchors.push(plain.replace(' ', "-"));
        }
        for link in text.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            let base = link.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
            let leads = anchors.iter().any(|anchor| anchor == link || anchor == base);
            assert!(leads, "no heading for #{link}");
        }
    }
}
