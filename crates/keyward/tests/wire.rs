//! The scripts of `tests/wire`, on Keyward and on a real Redis.

use keyward_testkit::{Server, wire};
use std::path::Path;

#[test]
fn keyward_answers_as_redis_does() {
    let keyward = Server::keyward(
        Path::new(env!("CARGO_BIN_EXE_keyward")),
        &["--save", "", "--enable-debug-command", "yes"],
    );
    let redis = Server::redis(&[]);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire");
    wire::run_directory(&scripts, &keyward, &redis);
}
