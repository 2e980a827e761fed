//! COMPAT.md at the root of the repository is what the tables of commands and settings say.

use std::path::Path;

/// With this variable set, the test writes the file instead of comparing it.
const WRITE: &str = "KEYWARD_WRITE_COMPAT";

#[test]
fn compat_md_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../COMPAT.md");
    let expected = keyward_server::compat_markdown();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &expected).expect("COMPAT.md can be written");
    }
    let found = std::fs::read_to_string(&path).expect("COMPAT.md can be read");
    assert!(
        found == expected,
        "COMPAT.md is not what the tables say; write it anew with\n  \
         {WRITE}=1 cargo test -p keyward-server --test compat_file"
    );
}
