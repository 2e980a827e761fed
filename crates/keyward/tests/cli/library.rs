//! The schemas of known programs: each by itself, beside each other, and in their page.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::run::Folder;

/// Programs that cannot share a database as they are, as docs/library.md says: Bull and
/// BullMQ have the same prefix, and Sidekiq names its processes `HOST:PID:NONCE`, where any
/// word may be a host.
const NEED_VALUES: [(&str, &str); 5] = [
    ("bull", "bullmq"),
    ("bull", "sidekiq"),
    ("bullmq", "sidekiq"),
    ("huey", "sidekiq"),
    ("rate-limiter-flexible", "sidekiq"),
];

/// The values by which all of them can.
const VALUES: [(&str, &str); 3] = [
    ("bullmq", "{ prefix = \"bullmq\" }"),
    ("rate-limiter-flexible", "{ key = \"{address:ip}\" }"),
    ("sidekiq", "{ host = \"worker-{number:uint}\" }"),
];

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The files of the library, by name.
fn library() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("library")).expect("the library");
    let mut files: Vec<(String, String)> = folder
        .flatten()
        .filter_map(|file| {
            let name = file.file_name().into_string().expect("a name in UTF-8");
            let name = name.strip_suffix(".toml")?.to_owned();
            Some((name, fs::read_to_string(file.path()).expect("a file")))
        })
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    files
}

/// Whether `init --with` of these writes a schema in which nothing is found. Where something is,
/// it says so at once, with what is to be written.
fn is_sound(folder: &Folder, names: &str) -> bool {
    let directory = names.replace(',', "-");
    let written = folder.run(&["init", "--with", names, &directory]);
    assert!(written.starts_with("exit 0\n"), "{written}");
    let needs = written.contains(" could claim the same keys: include ");
    let file = format!("{directory}/keyward.toml");
    let checked = folder.run(&["check", "--deny-warnings", &file]);
    let is_sound = checked.starts_with("exit 0\n");
    assert!(is_sound || checked.contains("error[KW0107]"), "{checked}");
    assert_eq!(needs, !is_sound, "{written}");
    is_sound
}

#[test]
fn every_program_of_the_library_is_sound_by_itself() {
    let folder = Folder::new(&[]);
    for (name, _) in library() {
        assert!(is_sound(&folder, &name), "{name}");
    }
}

#[test]
fn programs_share_a_database_but_for_those_that_need_values() {
    let folder = Folder::new(&[]);
    let files = library();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let is_difficult = |name: &str| ["bullmq", "sidekiq"].contains(&name);
    let easy: Vec<&str> = names.iter().copied().filter(|name| !is_difficult(name)).collect();
    assert!(is_sound(&folder, &easy.join(",")), "{easy:?}");
    let mut unsound = Vec::new();
    for (place, one) in names.iter().enumerate() {
        for other in &names[place + 1..] {
            let is_tried = is_difficult(one) || is_difficult(other);
            if is_tried && !is_sound(&folder, &format!("{one},{other}")) {
                unsound.push((*one, *other));
            }
        }
    }
    assert_eq!(unsound, NEED_VALUES);
}

#[test]
fn init_says_which_values_programs_need_to_share_a_database() {
    let folder = Folder::new(&[]);
    let written = folder.run(&["init", "--with", "sidekiq,huey,bullmq", "shop"]);
    let line = "sidekiq and bullmq, huey could claim the same keys: include sidekiq as { file = \
                \"library/sidekiq.toml\", with = { host = \"worker-{number:uint}\" } }, with what \
                it really has\n";
    assert!(written.contains(line), "{written}");
}

#[test]
fn all_programs_share_a_database_with_the_values_they_need() {
    let folder = Folder::new(&[]);
    let mut include = String::new();
    for (name, text) in library() {
        folder.write(&format!("library/{name}.toml"), text.as_bytes());
        let values = VALUES.iter().find(|(program, _)| *program == name);
        let values = values.map_or("{}", |(_, values)| values);
        include.push_str(&format!("    {{ file = \"library/{name}.toml\", with = {values} }},\n"));
    }
    let text = format!("include = [\n{include}]\n\n[keyspace]\nname = \"all\"\n");
    folder.write("keyward.toml", text.as_bytes());
    let checked = folder.run(&["check", "--deny-warnings", "keyward.toml"]);
    assert_eq!(checked, "exit 0\n--- stderr\nno problems in 1 file\n");
}

/// The names under `[variables]`.
fn variables(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().skip_while(|line| *line != "[variables]").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(" =").or_else(|| line.split_once('=')))
        .map(|(name, _)| name.trim())
        .collect()
}

#[test]
fn the_page_of_the_library_has_every_program_with_its_versions_and_variables() {
    let page = fs::read_to_string(root().join("docs/library.md")).expect("the page");
    for (name, text) in library() {
        let heading = format!("\n## {name}\n");
        let (_, section) = page.split_once(&heading).unwrap_or_else(|| panic!("no {name}"));
        let section = section.split("\n## ").next().expect("a section");
        let told: BTreeSet<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name))
            .collect();
        assert_eq!(told, variables(&text), "variables of {name}");
        for word in text.lines().take(2).flat_map(str::split_whitespace) {
            let word = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
            let is_version =
                word.split('.').count() == 3 && word.starts_with(|c: char| c.is_ascii_digit());
            assert!(
                !is_version || section.contains(word),
                "{name} has {word}, its section has not"
            );
        }
    }
    for (one, other) in NEED_VALUES {
        assert!(page.contains(&format!("| `{one}` and `{other}` |")), "{one} and {other}");
    }
}

#[test]
fn the_example_of_the_page_is_sound() {
    let folder = Folder::new(&[]);
    for (name, text) in library() {
        folder.write(&format!("library/{name}.toml"), text.as_bytes());
    }
    let page = fs::read_to_string(root().join("docs/library.md")).expect("the page");
    let (_, example) = page.split_once("```toml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    folder.write("shop.toml", example.as_bytes());
    let checked = folder.run(&["check", "--deny-warnings", "shop.toml"]);
    assert_eq!(checked, "exit 0\n--- stderr\nno problems in 1 file\n");
}
