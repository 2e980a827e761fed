//! A copy of the suite that runs one server, and what its output says.

use super::Workplace;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, ensure};

/// Seconds after which a file is given up.
const PATIENCE_S: &str = "900";
/// What the suite says when something fails that is no test.
const ENDED_EARLY: &str = "Executing test client:";
/// Where the suite's ports may begin: its own choice first, then others for a second suite
/// on the machine. It takes 8000 from there on, and one of the 32 before for itself.
const BASE_PORTS: [u16; 3] = [21_111, 31_111, 41_111];
/// Files that are run with connections by TLS, which Tcl needs its package `tls` for.
const BY_TLS: [&str; 1] = ["unit/tls"];
/// Attempts to reach a server that was started, ten a second.
const START_ATTEMPTS: usize = 100;

/// What the tests of a file came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) passed: BTreeSet<String>,
}

impl Outcome {
    /// Reads the suite's output. A name that is used twice counts once, and not at all
    /// if one of the two fails.
    pub(super) fn read(output: &str) -> Outcome {
        let mut passed = BTreeSet::new();
        let mut failed = BTreeSet::new();
        for line in output.lines().map(plain) {
            if let Some(name) = line.strip_prefix("[ok]: ") {
                let end = name.rfind(" (").unwrap_or(name.len());
                passed.insert(name[..end].to_owned());
            } else if let Some(name) = line.strip_prefix("[err]: ") {
                let end = name.rfind(" in tests/").unwrap_or(name.len());
                failed.insert(name[..end].to_owned());
            }
        }
        Outcome { passed: passed.difference(&failed).cloned().collect() }
    }
}

/// A line without the codes that colour it.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// Commands of unit/scripting that belong to no test and want Lua's debugger, which is absent:
/// their error would end the file, and with it what follows.
const DEBUGGER_BESIDE_TESTS: &str = "\
start_server {tags {\"scripting external:skip\"}} {
    r script debug sync
    r eval {return 'hello'} 0
    r eval {return 'hello'} 0
}
";

/// A copy of the suite.
#[derive(Debug)]
pub(super) struct Suite {
    place: Workplace,
    server: String,
}

impl Suite {
    /// Copies the suite of a checkout and puts this server into it.
    pub(super) fn prepare(redis: &Path, server: &str) -> anyhow::Result<Suite> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyward-tcl-{}-{number}", std::process::id());
        let place = Workplace(std::env::temp_dir().join(name));
        std::fs::create_dir_all(place.path().join("src"))?;
        let copied = Command::new("cp")
            .args(["-r", "tests", "utils", "runtest"])
            .arg(place.path())
            .current_dir(redis)
            .status()
            .with_context(|| format!("{} cannot be read", redis.display()))?;
        ensure!(copied.success(), "{} has no test-suite", redis.display());
        let file = place.path().join("tests/unit/scripting.tcl");
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        ensure!(text.contains(DEBUGGER_BESIDE_TESTS), "{} is of another version", file.display());
        std::fs::write(&file, text.replace(DEBUGGER_BESIDE_TESTS, ""))?;
        let programs = [
            ("redis-server", server),
            ("redis-cli", "redis-cli"),
            ("redis-benchmark", "redis-benchmark"),
            ("redis-check-aof", "redis-check-aof"),
            ("redis-check-rdb", "redis-check-rdb"),
        ];
        for (name, program) in programs {
            let script = place.path().join("src").join(name);
            std::fs::write(&script, format!("#!/bin/sh\nexec {program} \"$@\"\n"))?;
            std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755))?;
        }
        Ok(Suite { place, server: server.to_owned() })
    }

    /// The files that the suite consists of.
    pub(super) fn files(&self) -> anyhow::Result<Vec<String>> {
        let path = self.place.path().join("tests/test_helper.tcl");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let files = listed(&text);
        ensure!(!files.is_empty(), "{} lists no files", path.display());
        Ok(files)
    }

    /// Runs a file without some of its tests, the suite starting the servers. Exceptions
    /// fail their test, not the file; one outside of any test ends the file, and then it is
    /// run again on a server that is up, where the suite leaves such parts out.
    pub(super) fn run(&self, file: &str, skipped: &[&str]) -> anyhow::Result<Outcome> {
        if BY_TLS.contains(&file) {
            self.make_certificates()?;
            return Ok(Outcome::read(&self.runtest(file, skipped, &["--tls"])?));
        }
        let output = self.runtest(file, skipped, &[])?;
        if !output.contains(ENDED_EARLY) {
            return Ok(Outcome::read(&output));
        }
        let port = free_port()?;
        let server = self.start(port)?;
        let again =
            self.runtest(file, skipped, &["--host", "127.0.0.1", "--port", &port.to_string()])?;
        drop(server);
        Ok(Outcome::read(&(output + &again)))
    }

    /// Makes the certificates that the suite wants, unless the checkout has them.
    fn make_certificates(&self) -> anyhow::Result<()> {
        if self.place.path().join("tests/tls/redis.dh").exists() {
            return Ok(());
        }
        let mut script = Command::new("bash");
        script.arg("utils/gen-test-certs.sh").current_dir(self.place.path());
        let output = script.output().context("gen-test-certs.sh")?;
        let problem = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "no certificates for the suite: {problem}");
        Ok(())
    }

    /// What the suite says.
    fn runtest(&self, file: &str, skipped: &[&str], more: &[&str]) -> anyhow::Result<String> {
        let mut suite = Command::new("timeout");
        suite.args([PATIENCE_S, "./runtest", "--durable", "--single", file]).args(more);
        suite.args(["--baseport", &base_port()?.to_string()]);
        for name in skipped {
            suite.args(["--skiptest", name]);
        }
        let output = suite.current_dir(self.place.path()).output().context("runtest")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let problem = String::from_utf8_lossy(&output.stderr);
        ensure!(has_begun(&text, file), "the suite does not run {file}: {text}{problem}");
        Ok(text)
    }

    fn start(&self, port: u16) -> anyhow::Result<Server> {
        let port = port.to_string();
        let settings = ["--port", &port, "--save", "", "--appendonly", "no"];
        let mut words = self.server.split(' ');
        let program = words.next().context("a program")?;
        let child = Command::new(program)
            .args(words)
            .args(settings)
            .args(["--enable-debug-command", "yes", "--enable-protected-configs", "yes", "--dir"])
            .arg(self.place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{program} does not start"))?;
        let server = Server(child);
        for _ in 0..START_ATTEMPTS {
            if std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_ok() {
                return Ok(server);
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        anyhow::bail!("{program} does not answer")
    }
}

/// The first of the base ports that no other suite uses.
fn base_port() -> anyhow::Result<u16> {
    let is_free = |base: &&u16| TcpListener::bind(("127.0.0.1", **base - 32)).is_ok();
    let base = BASE_PORTS.iter().find(is_free);
    base.copied().context("other suites use all of the ports")
}

/// Whether the suite got as far as beginning with a file. One that could not start has
/// no failures either.
fn has_begun(output: &str, file: &str) -> bool {
    output.lines().any(|line| plain(line) == format!("Testing {file}"))
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A server that ends with its owner.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended already cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names between the braces of `set ::all_tests {…}`.
fn listed(helper: &str) -> Vec<String> {
    let names = helper.split_once("set ::all_tests {").and_then(|(_, rest)| rest.split_once('}'));
    names.map_or("", |(names, _)| names).split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_lists_its_files() {
        let helper = "source x\nset ::all_tests {\n    unit/a\n    integration/b-c\n}\nset x {}\n";
        assert_eq!(listed(helper), ["unit/a", "integration/b-c"]);
    }

    #[test]
    fn a_suite_that_could_not_start_has_not_begun() {
        let begun = "Starting test server at port 21079\n\u{1b}[1;37;49mTesting unit/x\u{1b}[0m\n";
        assert!(has_begun(begun, "unit/x"));
        assert!(!has_begun(begun, "unit/y"));
        assert!(!has_begun("couldn't open socket: address already in use\n", "unit/x"));
    }

    #[test]
    fn the_output_tells_what_passed() {
        let output = "\u{1b}[1;37;49mTesting unit/x\u{1b}[0m\n\
            [\u{1b}[0;32;49mok\u{1b}[0m]: SET (and) GET (3 ms)\n\
            [ok]: twice (0 ms)\n\
            [err]: twice in tests/unit/x.tcl\n\
            [exception]: Executing test client: no\n";
        let expected = Outcome { passed: BTreeSet::from(["SET (and) GET".to_owned()]) };
        assert_eq!(Outcome::read(output), expected);
    }
}
