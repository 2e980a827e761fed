//! Chores of the repository: `cargo xtask dist`, `sanitize`, `tcl`, `tidy`.

mod dist;
mod sanitize;
mod tcl;
mod tidy;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

const USAGE: &str = "\
Usage: cargo xtask dist [--program PROGRAM] [--max-mb N] [--to DIR]
       cargo xtask sanitize [--minutes N]
       cargo xtask tcl --redis DIR [--keyward PROGRAM] [--file unit/NAME]...
       cargo xtask tidy

dist      builds what is shipped and packs it, with manual pages, completions and
          the files of a service, into target/package; or packs a program that is
          there; fails if that has more than 16 MB
sanitize  runs tests, random commands and fuzzing with AddressSanitizer; for so
          many minutes, with new seeds
tcl       runs Redis's test-suite, of a checkout of Redis 7.0.15, against Keyward
          and against redis-server, and lists what passes only there
tidy      checks the repository's own rules, and lists what breaks them";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["dist", ref rest @ ..] => dist::run(rest),
        ["sanitize", ref rest @ ..] => sanitize::run(rest),
        ["tidy"] => run_tidy(),
        ["tcl", ref rest @ ..] => tcl::run(rest),
        _ => {
            writeln!(io::stderr(), "{USAGE}")?;
            Ok(ExitCode::from(2))
        }
    }
}

fn run_tidy() -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let tree = tidy::Tree::read(root)?;
    let violations = tidy::check(&tree);
    for violation in &violations {
        writeln!(io::stdout(), "{violation}")?;
    }
    let (files, found) = (tree.files.len(), violations.len());
    writeln!(io::stderr(), "tidy: {found} violations of the repository's rules in {files} files")?;
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
