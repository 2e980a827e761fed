use insta::assert_snapshot;

use crate::run::Folder;

const SHOP: &str = r#"[keyspace]
name = "shop"
owner = "Team Shop"
writers = ["shop"]

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
readers = ["reports"]

[key."user:{id:uint}:notes"]
type = "list"
ttl = "30d"
max_len = 10
writers = ["support"]

[function.touch]
keys = ["user:{id}"]
"#;

#[test]
fn rules_are_written_and_what_a_glob_admits_besides_is_told() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    assert_snapshot!(folder.run(&["acl", "shop.toml"]));
}

#[test]
fn rules_by_patterns_admit_nothing_else() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    assert_snapshot!(folder.run(&["acl", "--exact", "shop.toml"]));
}

#[test]
fn what_is_allowed_is_a_pattern_of_the_schema() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    let told = folder.run(&["acl", "--allow", "user:{id:uint}:notes", "shop.toml"]);
    assert!(told.starts_with("exit 0\n") && !told.contains("also admits"), "{told}");
    let told = folder.run(&["acl", "--allow", "user:*", "shop.toml"]);
    assert!(told.starts_with("exit 2\n") && told.contains("no such pattern"), "{told}");
}
