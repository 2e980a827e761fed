//! `keyward serve`: the server.

mod storing;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use keyward_docs::render::{self, Style};
use keyward_schema::{Schema, conflicts};
use keyward_server::settings::command_line::{Role, Roles};
use keyward_server::{CommandError, Functions, ServeError, ServedSchema};

use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Serve Redis clients, under schemas or as plain Redis
#[derive(Args, Debug)]
#[command(
    after_help = "Schemas are files named *.toml, or directories with a keyward.toml, wherever they \
    stand; each governs the database it names, or the one that --db says. --postgres has rows that \
    have a sink stored in that database, as `keyward sync` does, by a thread of the server's. Settings bear redis.conf's names; a file of them may come \
    first, and - reads them from the standard input. Without such a file the server listens on \
    the loopback interface only, unless --bind names others, and keeps an append-only file in \
    keyward-data.\n\n\
    The files remember which schema governed their rows. Where another one would change rows \
    (a first start on a dump of Redis, an edited file, a restore), nothing is started: the table \
    of what would happen is printed, and the exit code is 1. --accept PLAN has it done, --observe \
    starts without changing anything.\n\n\
    Examples:\n  keyward serve\n  keyward serve systems/*/keyward.toml\n  \
    keyward serve shop/ --db 3 --port 7000 --maxmemory 1gb\n  \
    keyward serve shop/ --bind 127.0.0.1 10.0.0.5 --requirepass secret\n  \
    keyward serve redis.conf --port 7000\n  \
    keyward serve shop/ --postgres postgres://shop@localhost/shop\n  \
    keyward serve shop/keyward.toml --dir redis-data --observe"
)]
pub(crate) struct Serve {
    /// [SCHEMA.toml|DIRECTORY…] [redis.conf] [--db [NAME=]N] [--postgres URL] [--name value…]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// The arguments, told apart.
#[derive(Debug, Default, PartialEq)]
struct Parts {
    schemas: Vec<PathBuf>,
    /// What `--db` says: a database, for one keyspace or for the only one.
    databases: Vec<(Option<String>, usize)>,
    /// What `--postgres` says: where rows that have a sink are stored.
    postgres: Option<String>,
    settings: Vec<String>,
}

impl Serve {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let Parts { schemas, databases, postgres, settings } = Parts::of(&self.arguments)?;
        let mut served = Vec::new();
        for path in &schemas {
            let path = schema_file::find(path)?;
            let schema = schema_file::load(&path, terminal)?;
            served.push(ServedSchema {
                db: usize::from(schema.keyspace.db),
                functions: Functions::In(path.with_file_name("functions")),
                file: Some(path.into_owned()),
                schema,
            });
        }
        for (name, db) in databases {
            move_to(&mut served, name.as_deref(), db)?;
        }
        check_databases(&served, terminal)?;
        let companion = postgres.map(|url| storing::beside(&url, &served)).transpose()?;
        match keyward_server::serve_beside(&settings, served, companion) {
            // That it would change rows is an answer, not a failure.
            Err(CommandError::Serve(refused @ ServeError::Unaccepted(_))) => {
                let text = format!("keyward: {refused}");
                text.lines().try_for_each(|line| terminal.say(line))?;
                Ok(Answer::No)
            }
            outcome => Ok(outcome.map(|()| Answer::Yes)?),
        }
    }
}

impl Parts {
    /// Tells them apart. A file named *.toml is a schema wherever it stands, unless it is
    /// the first value of a setting (`--logfile x.toml`); so is a directory that is written
    /// with a slash, stands before all settings, or has a keyward.toml: another one named
    /// `normal` may be a value.
    fn of(arguments: &[String]) -> anyhow::Result<Parts> {
        let mut parts = Parts::default();
        let mut roles = Roles::default();
        let mut rest = arguments.iter().peekable();
        let mut has_names = false;
        while let Some(argument) = rest.next() {
            let path = Path::new(argument);
            let is_toml = path.extension() == Some(OsStr::new("toml"));
            let has_schema = || path.join(schema_file::FILE_NAME).is_file();
            let may_be_directory = !has_names || argument.contains('/') || has_schema();
            let role = roles.of(argument, rest.peek().map(|after| after.as_str()));
            has_names |= role == Role::Name;
            if role == Role::Name
                && let Some(value) = said(argument, "--postgres")
            {
                roles = Roles::default();
                let value = value.or_else(|| rest.next().map(String::as_str));
                let value = value.context("--postgres takes the address of a database")?;
                parts.postgres = Some(value.to_owned());
                continue;
            }
            match (role, said(argument, "--db")) {
                (Role::Name, Some(value)) => {
                    // Its value is none of a setting's.
                    roles = Roles::default();
                    let value = value.or_else(|| rest.next().map(String::as_str));
                    let value = value.context("--db takes a database, as in --db 3")?;
                    parts.databases.push(parse_database(value)?);
                }
                (Role::Further, _) if is_toml || may_be_directory && path.is_dir() => {
                    parts.schemas.push(argument.into());
                }
                _ => parts.settings.push(argument.clone()),
            }
        }
        Ok(parts)
    }
}

/// What an argument says if it has this name: what stands in the same argument, if anything.
fn said<'a>(argument: &'a str, name: &str) -> Option<Option<&'a str>> {
    let rest = argument.strip_prefix(name)?;
    match rest.chars().next() {
        None => Some(None),
        Some('=' | ' ') => Some(Some(rest[1..].trim())),
        Some(_) => None,
    }
}

/// Reads `3` or `NAME=3`.
fn parse_database(value: &str) -> anyhow::Result<(Option<String>, usize)> {
    let (name, number) = match value.split_once('=') {
        Some((name, number)) => (Some(name.to_owned()), number),
        None => (None, value),
    };
    let number = number.parse().with_context(|| format!("--db {value}: no number"))?;
    Ok((name, number))
}

/// Gives a keyspace another database.
fn move_to(served: &mut [ServedSchema], name: Option<&str>, db: usize) -> anyhow::Result<()> {
    let found = match (name, &mut *served) {
        (None, [only]) => Some(only),
        (_, []) => bail!("--db {db}: there is no schema that could govern it; name its file too"),
        (None, _) => bail!("--db {db}: which keyspace? Say --db NAME={db}"),
        (Some(name), served) => {
            served.iter_mut().find(|served| &*served.schema.keyspace.name == name)
        }
    };
    if let Some(found) = found {
        found.db = db;
        return Ok(());
    }
    let name = name.unwrap_or_default();
    let there: Vec<&str> = served.iter().map(|served| &*served.schema.keyspace.name).collect();
    bail!("--db {name}={db}: there is no keyspace {name} among {}", there.join(", "))
}

/// Holds the schemas against each other, in the databases they are to govern.
fn check_databases(served: &[ServedSchema], terminal: &mut Terminal) -> anyhow::Result<()> {
    let schemas: Vec<(usize, &Schema)> =
        served.iter().map(|served| (served.db, &served.schema)).collect();
    let found = conflicts(&schemas);
    for (place, found) in &found {
        let source = &served[*place].schema.source;
        terminal.say_picture(&render::human(source, found, Style::Coloured))?;
    }
    if !found.is_empty() {
        bail!("the schemas cannot be served together; --db NAME=N gives one another database");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_databases_and_settings_are_told_apart() {
        let check = |arguments: &[&str], expected: Parts| {
            let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            assert_eq!(Parts::of(&arguments).unwrap(), expected, "{arguments:?}");
        };
        check(&[], Parts::default());
        check(
            &["a.toml", "b/keyward.toml", "--port", "7000", "--db", "b=3"],
            Parts {
                schemas: vec!["a.toml".into(), "b/keyward.toml".into()],
                databases: vec![(Some("b".to_owned()), 3)],
                settings: vec!["--port".to_owned(), "7000".to_owned()],
                ..Parts::default()
            },
        );
        check(
            &["a.toml", "--postgres", "host=/tmp user=x", "--port", "7000"],
            Parts {
                schemas: vec!["a.toml".into()],
                postgres: Some("host=/tmp user=x".to_owned()),
                settings: vec!["--port".to_owned(), "7000".to_owned()],
                ..Parts::default()
            },
        );
        check(
            &["--dir", "d", "a.toml", "--db", "0", "--port", "7000", "b.toml"],
            Parts {
                schemas: vec!["a.toml".into(), "b.toml".into()],
                databases: vec![(None, 0)],
                settings: ["--dir", "d", "--port", "7000"].map(str::to_owned).to_vec(),
                ..Parts::default()
            },
        );
        check(
            &["--maxmemory 1gb", "a.toml", "--db a=2", "--logfile", "--db", "--db=3"],
            Parts {
                schemas: vec!["a.toml".into()],
                databases: vec![(Some("a".to_owned()), 2), (None, 3)],
                settings: ["--maxmemory 1gb", "--logfile", "--db"].map(str::to_owned).to_vec(),
                ..Parts::default()
            },
        );
        check(
            &["redis.conf", "a.toml", "--dir", "x.toml"],
            Parts {
                schemas: vec!["a.toml".into()],
                settings: ["redis.conf", "--dir", "x.toml"].map(str::to_owned).to_vec(),
                ..Parts::default()
            },
        );
        // Directories with a schema: wherever they stand, but for the first value of a setting.
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(schema_file::FILE_NAME), "").unwrap();
        let link = format!("parts-of-{}", std::process::id());
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let found = Parts::of(&["--port", "7000", &link, "--dir", &link].map(str::to_owned));
        std::fs::remove_file(&link).unwrap();
        let found = found.unwrap();
        assert_eq!(found.schemas, [std::path::PathBuf::from(&link)]);
        assert_eq!(found.settings, ["--port", "7000", "--dir", &link].map(str::to_owned));
        // Directories: before all settings, or with a slash.
        check(
            &[
                "src",
                "--client-output-buffer-limit",
                "normal",
                "src",
                "0",
                "0",
                "--dir",
                "src",
                "src/",
            ],
            Parts {
                schemas: vec!["src".into(), "src/".into()],
                settings: [
                    "--client-output-buffer-limit",
                    "normal",
                    "src",
                    "0",
                    "0",
                    "--dir",
                    "src",
                ]
                .map(str::to_owned)
                .to_vec(),
                ..Parts::default()
            },
        );
        check(
            &["--dir", "src/", "missing/"],
            Parts {
                settings: ["--dir", "src/", "missing/"].map(str::to_owned).to_vec(),
                ..Parts::default()
            },
        );
        assert!(Parts::of(&["--db".to_owned()]).is_err());
        assert!(Parts::of(&["--db".to_owned(), "x".to_owned()]).is_err());
    }
}
