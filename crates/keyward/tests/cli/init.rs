use insta::assert_snapshot;

use crate::run::Folder;

#[test]
fn the_starter_is_written_and_sound() {
    let folder = Folder::new(&[]);
    assert_snapshot!("init", folder.run(&["init", "shop"]));
    assert_snapshot!("check", folder.run(&["check", "--deny-warnings", "shop/keyward.toml"]));
    assert!(folder.read("shop/keyward.toml").starts_with("#:schema ./keyward.schema.json\n"));
    let editor: serde_json::Value =
        serde_json::from_str(&folder.read("shop/keyward.schema.json")).expect("JSON");
    assert_eq!(editor, keyward_docs::editor::json_schema());
}

#[test]
fn nothing_is_overwritten_unless_forced() {
    for existing in ["keyward.toml", "keyward.schema.json"] {
        let folder = Folder::new(&[(existing, "mine")]);
        let refusal = folder.run(&["init"]);
        assert_eq!(
            refusal,
            format!("exit 2\n--- stderr\nkeyward: ./{existing} exists; --force overwrites it\n")
        );
        assert_eq!(folder.read(existing), "mine");
        assert_eq!(folder.path().read_dir().expect("a directory").count(), 1);
        assert!(folder.run(&["init", "--force"]).starts_with("exit 0\n"));
        assert_ne!(folder.read(existing), "mine");
    }
}

#[test]
fn the_editors_file_can_be_renewed_alone() {
    let folder = Folder::new(&[("keyward.toml", "mine"), ("keyward.schema.json", "old")]);
    assert_snapshot!(folder.run(&["init", "--editor-only"]));
    assert_eq!(folder.read("keyward.toml"), "mine");
    assert_ne!(folder.read("keyward.schema.json"), "old");
}

#[test]
fn a_place_that_cannot_be_written_is_told() {
    let folder = Folder::new(&[("file", "")]);
    assert!(folder.run(&["init", "file/inside"]).starts_with("exit 2\n"));
}
