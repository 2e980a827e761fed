//! Files that nobody would write, and somebody will: an error, never a panic,
//! and soon.

use std::time::{Duration, Instant};

use crate::run::Folder;

/// How long a file may take. Each takes a fraction of a second when built for
/// use; tests run unoptimised, beside each other, on machines that have other
/// things to do, and this is to catch what would take minutes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The file is refused with one of these codes, for people and for scripts.
fn check(what: &str, bytes: &[u8], code: &str) {
    let folder = Folder::new(&[]);
    folder.write("hostile.toml", bytes);
    for arguments in
        [&["check", "hostile.toml"][..], &["check", "--format", "json", "hostile.toml"]]
    {
        let start = Instant::now();
        let transcript = folder.run(arguments);
        assert!(start.elapsed() < PATIENCE, "{what} took {:?}", start.elapsed());
        assert!(transcript.starts_with("exit 1\n"), "{what}: {transcript:.2000}");
        assert!(transcript.contains(code), "{what}: {transcript:.2000}");
        let raw = transcript.chars().find(|&c| c.is_control() && c != '\n');
        assert_eq!(raw, None, "{what}: {transcript:.2000}");
    }
    let transcript = folder.run(&["match", "hostile.toml", "user:42"]);
    assert!(transcript.starts_with("exit 2\n"), "{what}: {transcript:.2000}");
}

const START: &str = "[keyspace]\nname = \"x\"\n[key.\"a:{id}\"]\ntype = \"json\"\n";

#[test]
fn empty_and_blank() {
    check("empty", b"", "KW0007");
    check("blank", b"\n\n  \n# nothing\n", "KW0007");
    check("mark only", b"\xef\xbb\xbf", "KW0007");
}

#[test]
fn binary() {
    check("binary", &(0..=255).cycle().take(100_000).collect::<Vec<u8>>(), "KW0003");
    check("NUL", b"[keyspace]\nname = \"a\0b\"", "KW0003");
    check("UTF-16", b"\xff\xfe[\0k\0e\0y\0", "KW0003");
    let executable = std::fs::read(env!("CARGO_BIN_EXE_keyward")).expect("the binary");
    check("an executable", &executable, "KW000");
}

#[test]
fn huge() {
    let limit = keyward_schema::MAX_FILE_BYTES;
    check("one byte too many", &vec![b'#'; limit + 1], "KW0002");
    check("a comment of the full size", &vec![b'#'; limit], "KW0007");
    check("one long line", format!("{START}doc = \"{}", "x".repeat(4 << 20)).as_bytes(), "KW0001");
    check("line ends", "\n".repeat(1 << 20).as_bytes(), "KW0007");
}

#[test]
fn deeply_nested() {
    let deep = 100_000;
    check("arrays", format!("{START}example = {}", "[".repeat(deep)).as_bytes(), "KW0001");
    check("tables", format!("{START}fields = {}", "{a=".repeat(deep)).as_bytes(), "KW0001");
    check("dotted", format!("{START}fields.{}a = 1", "a.".repeat(deep)).as_bytes(), "KW000");
    check("headers", format!("{START}{}", "[".repeat(deep)).as_bytes(), "KW0001");
    check("types", format!("{START}value = \"{}\"", "(".repeat(deep)).as_bytes(), "KW0202");
    check("maps", format!("{START}value = \"{}\"", "{string:".repeat(deep)).as_bytes(), "KW0202");
    check(
        "array types",
        format!("{START}value = \"int{}\"", "[]".repeat(deep)).as_bytes(),
        "KW0202",
    );
    check("pattern", format!("{START}[key.\"{}\"]", "{a}:".repeat(deep)).as_bytes(), "KW0101");
}

#[test]
fn many_mistakes() {
    let mistakes: String = (0..5_000).map(|index| format!("m{index} = 1\n")).collect();
    check("mistakes", format!("{START}{mistakes}").as_bytes(), "KW0004");
    let stray = "= = =\n".repeat(5_000);
    check("syntax errors", format!("{START}{stray}").as_bytes(), "KW0001");
}

#[test]
fn control_characters() {
    check("escape", "[keyspace]\nname = \"\u{1b}]0;x\u{7}\u{9b}31m\"".as_bytes(), "KW0001");
    check("escaped escape", b"\"\\u001B[31m\\u009B\" = 1", "KW0004");
}

#[test]
fn not_files() {
    let folder =
        Folder::new(&[("dir/keyward.toml", START), ("empty/x", ""), ("odd/keyward.toml/x", "")]);
    for path in
        ["empty", "odd", "missing.toml", "dir/keyward.toml/x", "", "\u{1b}[31m\u{9b}\r.toml"]
    {
        for command in ["check", "docs"] {
            let transcript = folder.run(&[command, path]);
            assert!(transcript.starts_with("exit 2\n"), "{path:?}: {transcript}");
            let raw = transcript.chars().find(|&c| c.is_control() && c != '\n');
            assert_eq!(raw, None, "{path:?}: {transcript}");
        }
    }
    if cfg!(unix) {
        let transcript = folder.run(&["check", "/dev/zero"]);
        assert!(transcript.contains("KW0002"), "{transcript}");
    }
}
