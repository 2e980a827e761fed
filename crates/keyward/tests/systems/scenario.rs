//! A system's scenario: a program that plays it from the first write to the last expiry.
//!
//! It is given the port in `KEYWARD_TEST_PORT`, of a server that lets it move the clock
//! (`DEBUG CLOCK ADVANCE`), and ends with 0 if everything was as it should be.

use crate::{System, text_of};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How long it may take, in seconds.
const PATIENCE_S: &str = "150";

pub(crate) fn runs_to_its_end(system: &System) {
    let server = system.on_keyward();
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_S);
    let program = program(system);
    if program.extension().is_some_and(|extension| extension == "py") {
        command.arg(installed("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    } else {
        command.arg("node").env("NODE_PATH", installed("node"));
    }
    command.arg(program);
    let port = server.address().port().to_string();
    let output = command.env("KEYWARD_TEST_PORT", port).output().expect("the scenario is run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{}\n{told}", output.status);
}

/// What stands in it.
pub(crate) fn source(system: &System) -> String {
    text_of(&program(system))
}

/// `scenario.py` or `scenario.js`, as the language of the system's document is.
fn program(system: &System) -> PathBuf {
    let python = system.folder.join("scenario.py");
    if python.exists() { python } else { system.folder.join("scenario.js") }
}

/// Where the clients of a language are, which are installed first if need be.
pub(crate) fn installed(language: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/install");
    let mut install = Command::new(script);
    let output = install.arg(language).stderr(Stdio::inherit()).output().expect("it is run");
    assert!(output.status.success(), "the clients for {language} cannot be installed");
    String::from_utf8(output.stdout).expect("a path is text").trim_end().to_owned()
}
