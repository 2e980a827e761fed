use insta::assert_snapshot;

use crate::run::Folder;

#[test]
fn a_page_tells_why_and_shows_wrong_and_right() {
    assert_snapshot!(Folder::new(&[]).run(&["explain-code", "kw0107"]));
}

#[test]
fn an_unknown_code_gets_the_nearest() {
    let folder = Folder::new(&[]);
    assert_snapshot!("near", folder.run(&["explain-code", "KW0170"]));
    assert_snapshot!("far", folder.run(&["explain-code", "\u{1b}[31mE0308"]));
}

#[test]
fn every_listed_code_has_a_page() {
    let folder = Folder::new(&[]);
    let list = folder.run(&["explain-code"]);
    let codes: Vec<&str> =
        list.lines().filter(|line| line.starts_with("KW")).map(|line| &line[..6]).collect();
    assert_eq!(codes.len(), keyward_schema::RULES.len());
    for code in codes {
        let page = folder.run(&["explain-code", code]);
        assert!(page.starts_with(&format!("exit 0\n--- stdout\n# {code} (")), "{page}");
    }
}

#[test]
fn scripts_get_records() {
    let folder = Folder::new(&[]);
    assert_snapshot!("page", folder.run(&["explain-code", "--format", "json", "KW0017"]));
    let list = folder.run(&["explain-code", "--format", "json"]);
    let first = list.lines().nth(2).expect("a record");
    assert_eq!(first, r#"{"code":"KW0001","level":"error","title":"the file is not valid TOML"}"#);
}
