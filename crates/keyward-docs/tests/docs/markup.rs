//! The HTML page: well-formed, self-contained, and deaf to markup in a schema.

use std::collections::BTreeSet;

use keyward_docs::html;

use crate::{SHOP, schema};

/// Elements that have no end.
const VOID: [&str; 5] = ["meta", "input", "wbr", "br", "hr"];

/// Walks the tags of a page: each that opens closes, in order.
fn assert_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a bare > before {:.60}", &rest[start..]);
        let end = rest[start..].find('>').expect("every tag ends") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split_whitespace().next().expect("a name");
        if tag.starts_with('!') || VOID.contains(&name) {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order before {:.60}", rest);
            continue;
        }
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "<{tag}>");
        open.push(name);
        if name == "style" || name == "script" {
            rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "left open");
}

fn attributes<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let start = format!(" {name}=\"");
    page.split(&*start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn the_page_is_well_formed_and_its_links_lead_somewhere() {
    let shop = schema("shop.toml", SHOP);
    for page in [html(&[&shop]), html(&[&shop, &shop])] {
        assert_well_formed(&page);
        let ids = attributes(&page, "id");
        let distinct: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), distinct.len(), "an id twice");
        for link in attributes(&page, "href").iter().filter_map(|href| href.strip_prefix('#')) {
            assert!(link.is_empty() || distinct.contains(link), "nothing is called {link}");
        }
    }
}

#[test]
fn the_page_loads_nothing() {
    let page = html(&[&schema("shop.toml", SHOP)]);
    for loading in
        ["src=", "<link", "<img", "<iframe", "@import", "url(", "fetch(", "http-equiv=\"refresh"]
    {
        assert!(!page.contains(loading), "{loading}");
    }
    // What it links to, a reader may follow; nothing else names the web.
    let links = attributes(&page, "href").iter().filter(|href| href.contains("//")).count();
    assert_eq!(page.matches("://").count(), links);
}

#[test]
fn markup_in_a_schema_stays_text() {
    let hostile = r#"
[keyspace]
name = "<script>alert(1)</script>"
doc = "<img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](https://example.com/b.png)"
[key."a:{id}"]
group = "\"><svg onload=alert(1)>"
doc = "</article><script>alert(2)</script>"
type = "json"
example = { key = "a:<b>\"", value = '{"f": "</code><i>"}' }
[key."a:{id}".fields]
f = { type = "string", doc = "<u>x</u>" }
[[note]]
title = "</nav>"
text = "```\n</code></pre><b>\n```\n\n<div>\n<p onclick=x>\n</div>"
"#;
    let page = html(&[&schema("hostile.toml", hostile)]);
    assert_well_formed(&page);
    for tag in ["<img", "<svg", "<i>", "<u>", "<div>", "<p onclick", "<b>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    assert!(!page.contains("javascript:"));
}
