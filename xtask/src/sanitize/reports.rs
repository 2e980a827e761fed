//! What the sanitizer has found, in any process of a run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// What all processes are told. Requests for absurd amounts get null, as from any allocator
/// that has no more: who asks for them must cope.
const OPTIONS: &str =
    "detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1:exitcode=86";
/// What may leak, and why.
const SUPPRESSIONS: &str = "leaks.txt";
/// What turns addresses into lines; without it reports have names of functions only.
const SYMBOLIZERS: [&str; 3] = [
    "/usr/bin/llvm-symbolizer",
    "/usr/bin/llvm-symbolizer-14",
    "/usr/lib/llvm-14/bin/llvm-symbolizer",
];

/// The directory that reports go to.
#[derive(Debug)]
pub(super) struct Reports {
    directory: PathBuf,
}

impl Reports {
    /// An empty one in this directory.
    pub(super) fn new(inside: &Path) -> anyhow::Result<Reports> {
        let directory = inside.join("reports");
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        std::fs::create_dir_all(&directory)?;
        Ok(Reports { directory })
    }

    /// Has a process, and whatever it starts, write its reports here.
    pub(super) fn heed<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let log = self.directory.join("report");
        let leaks = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sanitize").join(SUPPRESSIONS);
        command.env("ASAN_OPTIONS", format!("{OPTIONS}:log_path={}", log.display()));
        command
            .env("LSAN_OPTIONS", format!("suppressions={}:print_suppressions=0", leaks.display()));
        if let Some(path) = SYMBOLIZERS.iter().find(|path| Path::new(path).exists()) {
            command.env("ASAN_SYMBOLIZER_PATH", path);
        }
        command
    }

    /// Whether anything was reported.
    pub(super) fn has_any(&self) -> anyhow::Result<bool> {
        Ok(std::fs::read_dir(&self.directory)?.next().is_some())
    }

    /// All that was reported.
    pub(super) fn read(&self) -> anyhow::Result<Vec<String>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            paths.push(entry?.path());
        }
        paths.sort();
        let read = |path: &PathBuf| {
            let text = std::fs::read(path).with_context(|| path.display().to_string())?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        paths.iter().map(read).collect()
    }
}
