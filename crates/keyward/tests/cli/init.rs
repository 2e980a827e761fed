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
fn the_keyspace_is_called_like_its_directory() {
    let folder = Folder::new(&[]);
    for (arguments, file, name) in [
        (&["init", "billing"][..], "billing/keyward.toml", "billing"),
        (&["init", "--empty", "a b"], "a b/keyward.toml", "a b"),
    ] {
        assert!(folder.run(arguments).starts_with("exit 0\n"), "{arguments:?}");
        let text = folder.read(file);
        assert!(text.contains(&format!("[keyspace]\nname    = \"{name}\"\n")), "{text}");
    }
    assert!(folder.read("billing/keyward.toml").contains("\n[key.\"session:"));
    assert!(!folder.read("a b/keyward.toml").contains("\n[key.\""));
    let checked = folder.run(&["check", "--deny-warnings", "a b/keyward.toml"]);
    assert!(checked.starts_with("exit 0\n"), "{checked}");
}

#[test]
fn programs_of_the_library_are_included() {
    let folder = Folder::new(&[]);
    assert_snapshot!("with", folder.run(&["init", "--with", "connect-redis", "shop"]));
    assert_snapshot!("with_text", folder.read("shop/keyward.toml"));
    let checked = folder.run(&["check", "--deny-warnings", "shop/keyward.toml"]);
    assert_eq!(checked, "exit 0\n--- stderr\nno problems in 1 file\n");
    assert_snapshot!("with_match", folder.run(&["match", "shop/keyward.toml", "sess:abc"]));
    let again = folder.run(&["init", "--with", "connect-redis", "shop"]);
    assert!(again.starts_with("exit 2\n"), "{again}");
    let unknown = folder.run(&["init", "--with", "celry", "other"]);
    assert_eq!(
        unknown,
        "exit 2\n--- stderr\nkeyward: the library has no \"celry\"; it has bull, bullmq, celery, \
         connect-redis, django, flask-limiter, huey, rate-limiter-flexible, rq, sidekiq\n"
    );
    assert!(!folder.path().join("other").exists());
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

#[test]
fn the_path_that_is_named_next_can_be_pasted_into_a_shell() {
    let folder = Folder::new(&[]);
    let told = folder.run(&["init", "a b"]);
    assert!(told.contains("next: keyward check 'a b/keyward.toml'"), "{told}");
}
