use insta::assert_snapshot;

use crate::run::Folder;

const SHOP: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"

[key."cart:{{{id:uint}}}:{day:date}"]
type = "json"
ttl  = "7d"

[key."limit:{id:uint}:{window:minute|hour}"]
type = "int"
ttl  = { by = "{window}", minute = "60s", hour = "1h" }

[key."page:{path:rest}"]
type = "bytes"
"#;

fn shop() -> Folder {
    Folder::new(&[("shop.toml", SHOP)])
}

#[test]
fn each_key_is_told_its_pattern() {
    assert_snapshot!(shop().run(&[
        "match",
        "shop.toml",
        "user:42",
        "cart:{7}:2025-12-31",
        "limit:7:hour",
        r"page:a:\xff\n\x1b",
    ]));
}

#[test]
fn what_matches_nothing_is_told_why() {
    assert_snapshot!(shop().run(&[
        "match",
        "shop.toml",
        "usr:42",
        "user:abc",
        "user",
        "user:7:x",
        "cart:7:2025-12-31",
        "cart:{7}:2025-02-30",
        "limit:7:day",
        "limit::hour",
        r"user:\x1b[31m",
        "session:1",
        "",
    ]));
}

#[test]
fn scripts_get_a_record_for_each_key() {
    assert_snapshot!(shop().run(&[
        "match",
        "--format",
        "json",
        "shop.toml",
        "user:42",
        "user:\\xff",
        "x"
    ]));
}

#[test]
fn one_matching_key_needs_no_summary() {
    assert_snapshot!(shop().run(&["match", "shop.toml", "user:42"]));
}

#[test]
fn keys_from_stdin_are_taken_as_they_are() {
    let input = b"user:42\npage:\\x41\xff\n\nuser:7";
    assert_snapshot!(
        shop().run_with_input(&["match", "--format", "json", "shop.toml", "-"], input)
    );
}

#[test]
fn an_endless_line_of_stdin_is_refused() {
    let input = vec![b'x'; (1 << 20) + 1];
    let transcript = shop().run_with_input(&["match", "shop.toml", "-"], &input);
    assert_eq!(
        transcript,
        "exit 2\n--- stderr\nkeyward: a line of stdin has more than 1048576 bytes\n"
    );
}

#[test]
fn a_schema_with_errors_cannot_be_matched_against() {
    let folder = Folder::new(&[("shop.toml", &SHOP.replace("\"hash\"", "\"hsah\""))]);
    assert_snapshot!(folder.run(&["match", "shop.toml", "user:42"]));
}
