//! `cargo xtask dist`: what is handed out, in one archive.
//!
//! ```text
//! target/package/keyward-VERSION-ARCH.tar.gz, and .sha256 beside it:
//!   bin/keyward                stripped, at most 16 MB, or there is no archive
//!   man/*.1                    made by the program itself, of the declarations of --help
//!   completions/               for bash, zsh and fish, likewise
//!   packaging/                 service, settings, logrotate, container file
//!   docs/                      every page, with its pictures
//!   install, licences, README.md, CHANGELOG.md, COMPAT.md
//! ```
//! Links of the pages to what is only in the repository become plain words.
//! Invariants: an archive has its name only when it is whole; the same program and texts make
//! the same bytes, with the time of the last commit on every file.
//! Not here: building for other machines, containers (`packaging/Containerfile` builds there).

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};

/// What a program may take, stripped.
const PROGRAM_MB_MAX: u64 = 16;
/// Texts at the top of the archive, and where they are in the repository.
const TEXTS: [(&str, &str); 6] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("COMPAT.md", "COMPAT.md"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("install", "packaging/install"),
];
/// The shells that completions are made for, and the names that each looks for.
const SHELLS: [(&str, &str); 3] =
    [("bash", "keyward.bash"), ("zsh", "_keyward"), ("fish", "keyward.fish")];

/// What the command line says.
#[derive(Debug, PartialEq)]
struct Options {
    /// A program that is there already, instead of building one.
    program: Option<PathBuf>,
    program_mb_max: u64,
    /// Where the archive goes.
    to: PathBuf,
}

pub(super) fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has a parent")?;
    let options = Options::parse(arguments, root)?;
    let program = match options.program {
        Some(program) => program,
        None => build(root)?,
    };
    let version = version_of(&program)?;
    let name = format!("keyward-{version}-{}", std::env::consts::ARCH);
    let staged = options.to.join(&name);
    if staged.exists() {
        fs::remove_dir_all(&staged)?;
    }
    let outcome = stage(root, &program, &staged, options.program_mb_max)
        .and_then(|bytes| Ok((bytes, archive(root, &options.to, &name)?)));
    fs::remove_dir_all(&staged)?;
    let (bytes, archive) = outcome?;
    let megabytes = bytes as f64 / 1e6;
    writeln!(io::stdout(), "{}", archive.display())?;
    writeln!(io::stderr(), "dist: keyward {version}, the program has {megabytes:.1} MB")?;
    Ok(ExitCode::SUCCESS)
}

impl Options {
    fn parse(mut rest: &[&str], root: &Path) -> anyhow::Result<Options> {
        let mut options = Options {
            program: None,
            program_mb_max: PROGRAM_MB_MAX,
            to: root.join("target/package"),
        };
        while let [name, value, after @ ..] = rest {
            match *name {
                "--program" => options.program = Some(PathBuf::from(value)),
                "--max-mb" => options.program_mb_max = value.parse().context("--max-mb")?,
                "--to" => options.to = PathBuf::from(value),
                other => bail!("dist has no option {other}"),
            }
            rest = after;
        }
        ensure!(rest.is_empty(), "{}: of options each has a value", rest.concat());
        Ok(options)
    }
}

/// Builds what is shipped.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--profile", "dist", "--package", "keyward"]);
    ensure!(cargo.current_dir(root).status().context("cargo")?.success(), "it does not build");
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root.join("target"), |target| root.join(target));
    Ok(target.join("dist/keyward"))
}

/// What a program says its version is, which must be the workspace's.
fn version_of(program: &Path) -> anyhow::Result<String> {
    let told = output(Command::new(program).arg("--version"))?;
    let told = String::from_utf8(told)?;
    let version = told.trim().strip_prefix("keyward ").context("it tells no version")?;
    let own = env!("CARGO_PKG_VERSION");
    ensure!(version == own, "the program is {version}, and this is {own}");
    Ok(version.to_owned())
}

/// Puts everything where the archive is to have it; the bytes of the program.
fn stage(root: &Path, program: &Path, staged: &Path, mb_max: u64) -> anyhow::Result<u64> {
    for directory in ["bin", "man", "completions", "packaging"] {
        fs::create_dir_all(staged.join(directory))?;
    }
    let own = staged.join("bin/keyward");
    output(Command::new("strip").arg("-o").arg(&own).arg(program))?;
    let bytes = fs::metadata(&own)?.len();
    check_size(bytes, mb_max)?;
    output(Command::new(&own).arg("man").arg(staged.join("man")))?;
    for (shell, file) in SHELLS {
        let script = output(Command::new(&own).args(["completions", shell]))?;
        fs::write(staged.join("completions").join(file), script)?;
    }
    let packaging = root.join("packaging");
    for entry in fs::read_dir(&packaging)? {
        let entry = entry?;
        if entry.file_name() != "install" {
            fs::copy(entry.path(), staged.join("packaging").join(entry.file_name()))?;
        }
    }
    for (name, source) in TEXTS {
        fs::copy(root.join(source), staged.join(name)).with_context(|| source.to_owned())?;
    }
    for directory in ["docs", "docs/pictures"] {
        fs::create_dir_all(staged.join(directory))?;
        for entry in fs::read_dir(root.join(directory))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), staged.join(directory).join(entry.file_name()))?;
            }
        }
    }
    for directory in ["", "docs", "packaging"] {
        unlink_pages(&staged.join(directory))?;
    }
    Ok(bytes)
}

/// Takes the links to what is not there out of the pages of a directory.
fn unlink_pages(directory: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path)?;
            fs::write(&path, without_dead_links(&text, |to| directory.join(to).exists()))?;
        }
    }
    Ok(())
}

/// A page whose links to files that are not there are the words they stand behind.
fn without_dead_links(page: &str, is_there: impl Fn(&str) -> bool) -> String {
    let (mut kept, mut rest) = (String::new(), page);
    while let Some(middle) = rest.find("](") {
        let Some(length) = rest[middle..].find(')') else { break };
        let (link, after) = rest.split_at(middle + length + 1);
        let target = &link[middle + 2..link.len() - 1];
        let file = target.split('#').next().unwrap_or_default();
        let is_dead = !file.is_empty() && !file.contains("://") && !is_there(file);
        match link[..middle].rfind('[').filter(|_| is_dead) {
            Some(open) => {
                kept.push_str(&link[..open]);
                kept.push_str(&link[open + 1..middle]);
            }
            None => kept.push_str(link),
        }
        rest = after;
    }
    kept + rest
}

fn check_size(bytes: u64, mb_max: u64) -> anyhow::Result<()> {
    ensure!(bytes <= mb_max * 1_000_000, "the program has {bytes} bytes, more than {mb_max} MB");
    Ok(())
}

/// Makes the archive and its sum of what is staged.
fn archive(root: &Path, to: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let mut log = Command::new("git");
    log.args(["log", "-1", "--format=%ct"]).current_dir(root).stderr(Stdio::null());
    // An unpacked tree has no commits.
    let time = output(&mut log).ok().and_then(|text| String::from_utf8(text).ok());
    let time = time.map_or_else(|| "0".to_owned(), |time| time.trim().to_owned());
    let unfinished = to.join(format!("{name}.tar.gz.part"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{time}")).arg("--use-compress-program=gzip -n");
    tar.arg("-cf").arg(&unfinished).arg("-C").arg(to).arg(name);
    output(&mut tar)?;
    let archive = to.join(format!("{name}.tar.gz"));
    fs::rename(&unfinished, &archive)?;
    let file = format!("{name}.tar.gz");
    let sum = output(Command::new("sha256sum").arg(&file).current_dir(to))?;
    fs::write(to.join(format!("{file}.sha256")), sum)?;
    Ok(archive)
}

/// What a command prints; it must succeed.
fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| name.clone())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {}", said.trim());
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_above_the_bound_is_refused() {
        assert!(check_size(16_000_000, 16).is_ok());
        let refused = check_size(16_000_001, 16).expect_err("a byte too many");
        assert_eq!(refused.to_string(), "the program has 16000001 bytes, more than 16 MB");
    }

    #[test]
    fn links_to_what_is_not_there_become_words() {
        let check = |page: &str, expected: &str| {
            assert_eq!(without_dead_links(page, |file| file == "docs/a.md"), expected, "{page}");
        };
        check("see [a](docs/a.md#b), [b](b.md) and [c](c/).", "see [a](docs/a.md#b), b and c.");
        check(
            "[x](#here) [y](https://example.org/b.md)",
            "[x](#here) [y](https://example.org/b.md)",
        );
        check("no link ](b.md) here [", "no link ](b.md) here [");
        check("open [b](b.md", "open [b](b.md");
    }

    #[test]
    fn options_have_values_and_names() {
        let parse = |arguments: &[&str]| Options::parse(arguments, Path::new("."));
        assert_eq!(parse(&[]).expect("none").program_mb_max, PROGRAM_MB_MAX);
        let options = parse(&["--program", "k", "--to", "d", "--max-mb", "9"]).expect("options");
        let (program, to) = (Some(PathBuf::from("k")), PathBuf::from("d"));
        assert_eq!(options, Options { program, program_mb_max: 9, to });
        for wrong in [&["--program"][..], &["--what", "x"], &["--max-mb", "many"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
