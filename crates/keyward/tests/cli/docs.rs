use insta::assert_snapshot;

use crate::run::Folder;

const SHOP: &str = r#"[keyspace]
name = "shop"
doc  = "The shop.\u001b[31m"

[key."user:{id:uint}"]
doc    = "An account."
type   = "hash"
ttl    = "none"
fields = { name = "string", status = "active | blocked" }
"#;
const EVENTS: &str =
    "[keyspace]\nname = \"events\"\ndb = 1\n\n[key.\"event:{id}\"]\ntype = \"json\"\n";

#[test]
fn one_schema_is_one_page() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    let page = folder.run(&["docs", "shop.toml"]);
    assert!(page.starts_with("exit 0\n--- stdout\n# shop\n"), "{page}");
    assert!(page.contains("An account.") && page.contains("user:{id:uint}"), "{page}");
    assert!(!page.contains('\u{1b}'), "{page}");
}

#[test]
fn several_schemas_are_chapters_of_one_page() {
    let folder = Folder::new(&[("shop.toml", SHOP), ("events.toml", EVENTS)]);
    let page = folder.run(&["docs", "shop.toml", "events.toml"]);
    assert!(page.contains("\n## shop\n") && page.contains("\n## events\n"), "{page}");
}

#[test]
fn html_goes_to_a_file() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    assert_snapshot!(folder.run(&["docs", "--html", "-o", "shop.html", "shop.toml"]));
    let page = folder.read("shop.html");
    assert!(page.starts_with("<!doctype html>"), "{page:.100}");
    assert!(page.contains("An account.") && !page.contains('\u{1b}'));
}

#[test]
fn a_schema_is_not_replaced_by_its_document() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    assert_snapshot!(folder.run(&["docs", "-o", "./shop.toml", "shop.toml"]));
    assert_eq!(folder.read("shop.toml"), SHOP);
}

#[test]
fn what_is_not_sound_has_no_document() {
    let folder = Folder::new(&[("shop.toml", SHOP), ("bad.toml", "[keyspace]\nname = \"bad\"\n")]);
    assert_snapshot!(folder.run(&["docs", "shop.toml", "bad.toml"]));
}

#[test]
fn who_answers_for_a_keyspace_and_for_a_key_is_shown() {
    let shop = "[keyspace]\nname = 'shop'\nowner = 'team-web'\n[key.'cart:{id}']\ntype = 'hash'\nowner = 'team-checkout'\n";
    let folder = Folder::new(&[("shop.toml", shop)]);
    let page = folder.run(&["docs", "shop.toml"]);
    assert!(page.contains("- **Owner:** team-web\n"), "{page}");
    assert!(page.contains("- **Owner:** team-checkout\n"), "{page}");
}
