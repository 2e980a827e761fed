//! A system's scenario: a program that plays it from the first write to the last expiry.
//!
//! It is given the port in `KEYWARD_TEST_PORT`, of a server that lets it move the clock
//! (`DEBUG CLOCK ADVANCE`), and ends with 0 if everything was as it should be. Its last part
//! counts what was not kept; `--redis ADDRESS` runs that part on a stock Redis.

use crate::{System, text_of};
use keyward_testkit::Server;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How long it may take, in seconds.
const PATIENCE_S: &str = "150";

/// What a scenario counts at the least of what was not kept.
const COUNTS_MIN: usize = 5;

/// It runs to its end on Keyward, which keeps all that a stock Redis did not keep in the same
/// hands, and the README says what that was.
pub(crate) fn runs_to_its_end_and_keeps_what_redis_does_not(system: &System) {
    let keyward = system.on_keyward();
    let played = succeeded(&run(system, &keyward, &[]));
    let redis = Server::redis(&[]);
    let beside = succeeded(&run(system, &redis, &["--redis", &redis.address().to_string()]));
    let (ours, theirs) = (not_kept(&played, "Keyward"), not_kept(&beside, "Redis"));
    assert!(theirs.len() >= COUNTS_MIN, "{beside}");
    let words = |counts: &[(u64, String)]| -> Vec<String> {
        counts.iter().map(|(_, words)| words.clone()).collect()
    };
    assert_eq!(words(&ours), words(&theirs), "both count the same");
    for ((ours, words), (theirs, _)) in ours.iter().zip(&theirs) {
        assert_eq!(*ours, 0, "Keyward kept all: {words}");
        assert!(*theirs > 0, "Redis kept all: {words}");
        let row = format!("| {words} | {theirs} | 0 |");
        assert!(system.text("README.md").contains(&row), "README.md has no row\n{row}");
    }
}

/// Beside Redis it wants a stock one: it would compare Keyward with itself.
pub(crate) fn does_not_take_keyward_for_redis(system: &System) {
    let keyward = system.on_keyward();
    let output = run(system, &keyward, &["--redis", &keyward.address().to_string()]);
    assert!(!output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("a stock Redis is wanted, it is Keyward"), "{}", told(&output));
}

/// Runs it on a server.
fn run(system: &System, server: &Server, arguments: &[&str]) -> Output {
    let mut command = command(&program(system), server);
    command.args(arguments).output().expect("the scenario is run")
}

/// A program in Python or JavaScript that is given a server.
pub(crate) fn command(program: &Path, server: &Server) -> Command {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_S);
    if program.extension().is_some_and(|extension| extension == "py") {
        command.arg(installed("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    } else {
        command.arg("node").env("NODE_PATH", installed("node"));
    }
    let port = server.address().port().to_string();
    command.arg(program).env("KEYWARD_TEST_PORT", port);
    command
}

/// What it told, which ended well.
pub(crate) fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}\n{}", output.status, told(output));
    told(output)
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The counts at its end: `   12  words` each, below the name of the server.
fn not_kept(told: &str, server: &str) -> Vec<(u64, String)> {
    let mut lines = told.lines().skip_while(|line| !line.starts_with("what "));
    let title = lines.next().unwrap_or_else(|| panic!("nothing was counted:\n{told}"));
    assert!(title.starts_with(&format!("what {server}")), "{title}");
    let count = |line: &str| {
        let (number, words) = line.trim_start().split_once("  ").expect("a number and words");
        (number.parse().expect("a number"), words.to_owned())
    };
    lines.map(count).collect()
}

/// What stands in it.
pub(crate) fn source(system: &System) -> String {
    text_of(&program(system))
}

/// What stands in its last part, which runs on both servers.
pub(crate) fn source_beside(system: &System) -> String {
    let extension = program(system).extension().unwrap_or_default().to_owned();
    text_of(&system.folder.join("beside").with_extension(extension))
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
