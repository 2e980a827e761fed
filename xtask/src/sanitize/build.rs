//! The flags of a sanitised build, and where it is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Rust's own flags: the sanitizer, stacks that can be walked, and a counter in every edge
/// of the control flow.
const RUST_FLAGS: &str = "-Zsanitizer=address -Cforce-frame-pointers=yes \
    -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters";
/// C's, of Lua and zstd: what gcc and clang put into code calls the runtime that Rust links.
const C_FLAGS: &str = "-fsanitize=address -fno-omit-frame-pointer";
/// The profile in Cargo.toml.
const PROFILE: &str = "sanitized";

/// A sanitised build.
#[derive(Debug)]
pub(super) struct Build {
    /// All of it: it shares nothing with other builds.
    pub(super) directory: PathBuf,
    /// This machine's, named so that build scripts are built without these flags.
    target: String,
}

impl Build {
    pub(super) fn new() -> anyhow::Result<Build> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
        let version = Command::new("rustc").arg("-vV").output().context("rustc")?;
        ensure!(version.status.success(), "rustc -vV has failed");
        let text = String::from_utf8_lossy(&version.stdout);
        let target = text.lines().find_map(|line| line.strip_prefix("host: ")).context("a host")?;
        Ok(Build { directory: root.join("target/sanitized"), target: target.to_owned() })
    }

    /// Builds the server, with the system's allocator. jemalloc is linked, as its figures
    /// are asked for, and takes minutes to build with a sanitizer that would not look at it:
    /// the one of the ordinary build is taken.
    pub(super) fn build_server(&self) -> anyhow::Result<PathBuf> {
        let mut command = self.cargo("build");
        command.args(["-p", "keyward", "--features", "keyward/system-allocator"]);
        let mut ordinary = super::on_servers(&self.program("keyward"));
        ordinary.args(super::ON_SERVERS).args(["--no-run", "--message-format=json"]);
        let output = ordinary.stderr(Stdio::inherit()).output().context("cargo")?;
        ensure!(output.status.success(), "the ordinary tests cannot be built");
        let messages = String::from_utf8_lossy(&output.stdout);
        let found = linked(&messages).context("the ordinary build has no jemalloc")?;
        for (name, list) in found {
            command.args(["--config", &format!("target.{}.jemalloc.{name}={list}", self.target)]);
        }
        ensure!(command.status().context("cargo")?.success(), "the server cannot be built");
        Ok(self.program("keyward"))
    }

    /// `cargo test` of these tests of the engine and the fuzzer, which are instrumented
    /// themselves.
    pub(super) fn test(&self, tests: &[&str]) -> Command {
        let mut command = self.cargo("test");
        command.args(["-p", "keyward-engine", "-p", "keyward-fuzz"]);
        command.args(["-p", "keyward-lua", "-p", "keyward-store"]);
        command.args(["--features", "keyward-fuzz/guided", "--no-fail-fast"]).args(tests);
        command
    }

    fn cargo(&self, what: &str) -> Command {
        let mut command = Command::new("cargo");
        command.args([what, "--locked", "--quiet", "--profile", PROFILE]);
        command.args(["--target", &self.target, "--target-dir"]).arg(&self.directory);
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", RUST_FLAGS);
        command.env(format!("CFLAGS_{}", self.target.replace('-', "_")), C_FLAGS);
        command
    }

    /// A program that was built.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(&self.target).join(PROFILE).join(name)
    }
}

/// What jemalloc's build script said, by cargo's messages: settings that have the same said
/// without running it. JSON's lists of texts are TOML's.
fn linked(messages: &str) -> Option<Vec<(&'static str, &str)>> {
    let is_of_jemalloc = |line: &&str| {
        line.contains("\"build-script-executed\"") && line.contains("#tikv-jemalloc-sys@")
    };
    let line = messages.lines().find(is_of_jemalloc)?;
    let list = |name: &str| {
        let start = line.find(&format!("\"{name}\":["))? + name.len() + 3;
        let end = start + line[start..].find(']')? + 1;
        Some(&line[start..end])
    };
    Some(vec![
        ("rustc-link-lib", list("linked_libs")?),
        ("rustc-link-search", list("linked_paths")?),
        ("rustc-cfg", list("cfgs")?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_found_in_messages() {
        let messages = "{\"reason\":\"compiler-artifact\"}\n\
            {\"reason\":\"build-script-executed\",\"package_id\":\"x#tikv-jemalloc-sys@0.7\",\
            \"linked_libs\":[\"static=j\"],\"linked_paths\":[\"native=/p\"],\"cfgs\":[\"a\",\"b\"]}\n";
        let expected = [
            ("rustc-link-lib", "[\"static=j\"]"),
            ("rustc-link-search", "[\"native=/p\"]"),
            ("rustc-cfg", "[\"a\",\"b\"]"),
        ];
        assert_eq!(linked(messages).as_deref(), Some(&expected[..]));
        assert_eq!(linked("{}"), None);
    }
}
