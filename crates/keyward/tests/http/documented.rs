//! `docs/metrics.md` lists every family.

use keyward_testkit::markdown;
use std::path::Path;

#[test]
fn the_page_lists_every_family() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let mut is_there = false;
    let renewed = markdown::renew(&page, |part| {
        let is_list = part.kind == "families";
        is_there |= is_list;
        is_list.then(keyward_http::markdown)
    });
    assert!(is_there, "the page has a place for the list");
    markdown::keep(&path, &page, &renewed);
}
