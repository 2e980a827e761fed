//! The Markdown of a schema that uses every construct, byte for byte.

use keyward_docs::{html, markdown};

use crate::{SHOP, schema};

#[test]
fn markdown_is_what_was_agreed() {
    insta::assert_snapshot!("shop", markdown(&[&schema("shop.toml", SHOP)]));
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
