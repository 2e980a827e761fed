use insta::assert_snapshot;

use crate::run::Folder;

const SHOP: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"
[key."user:{id:uint}".fields]
plan = "free | paid"

[key."users:on:{plan}"]
type    = "set"
ttl     = "none"
members = { of = "user:{id}" }

[key."page:{path}"]
type = "string"
ttl  = "5m"
"#;

fn run(arguments: &[&str]) -> String {
    Folder::new(&[("shop.toml", SHOP)]).run(&[&["explain"], arguments].concat())
}

#[test]
fn what_a_command_does_is_told_with_what_follows() {
    assert_snapshot!("lifetime", run(&["shop.toml", "SET", "page:home", "hello"]));
    assert_snapshot!("follow_up", run(&["shop.toml", "hset", "user:7", "plan", "paid"]));
}

#[test]
fn a_refusal_is_a_negative_answer() {
    assert_snapshot!("refused", run(&["shop.toml", "HSET", "user:7", "plan", "gold"]));
    assert!(run(&["shop.toml", "INCRBY", "page:home", "-x"]).starts_with("exit 1\n"));
}

#[test]
fn scripts_get_a_record_for_each_line() {
    assert_snapshot!(
        "records",
        run(&["--format", "json", "shop.toml", "SET", "page:\u{1b}[31m", "x"])
    );
}

#[test]
fn what_is_no_command_cannot_be_explained() {
    assert_snapshot!("unknown", run(&["shop.toml", "SEET", "a"]));
    assert!(run(&["shop.toml", "SET", "a"]).starts_with("exit 2\n"));
    assert!(run(&["missing.toml", "GET", "a"]).starts_with("exit 2\n"));
    assert!(run(&["shop.toml"]).starts_with("exit 2\n"));
}
