//! `keyward acl`: the rights of users, from schemas.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use keyward_docs::rights::{self, Dialect, Foreign, UserRights};

use super::output::counted;
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// What a file of users means that does not name `default`.
const DEFAULT_UNSAID: &str = "default is not named: as an aclfile this leaves it every right \
    without a password, whatever requirepass says; add a line `user default on >password ~* &* \
    +@all`, or `user default off ~* &* +@all`";

/// What it means that there is no line at all.
const NOBODY: &str = "nobody is named: no keyspace and no key has an owner who can be a user, \
    readers or writers. An empty aclfile leaves everybody the user default, with every right \
    and without a password, whatever requirepass says";

/// Write the rights of users as a schema has them
///
/// A line for each user that `owner`, `readers` and `writers` name, as a file of users has it
/// (aclfile). Owners and writers may read and write, readers may read. Passwords never come
/// from a schema: nobody can log in before one is set (ACL SETUSER name >password).
///
/// Redis names keys by globs, which cross colons: ~user:* also admits user:7:followers. Every
/// pattern that a glob admits and that its user was not meant to have is told; then the
/// command exits with 1, unless each of them is allowed by name. With --exact, keys are named
/// by the patterns of the schema, which only Keyward takes and which admit nothing else, but
/// for the same pattern of a keyspace in another database, which is told, too; those whose text
/// has white space by globs all the same, since a rule cannot hold it. The user `default`, whom
/// a line without a password would lock out, gets none.
/// Exits with 2 if a file cannot be read or is not sound.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward acl shop/keyward.toml > users.acl\n  \
    keyward acl --exact shop/keyward.toml > users.acl\n  \
    keyward acl --allow 'user:{id}:followers' shop/keyward.toml")]
pub(crate) struct Acl {
    /// The schema files, which one server serves
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name keys by the patterns of the schema
    #[arg(long)]
    exact: bool,
    /// A pattern that globs of others may admit; can be given often
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,
}

impl Acl {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let mut schemas = Vec::new();
        for file in &self.files {
            schemas.push(schema_file::load(file, terminal)?);
        }
        let declared = |pattern: &String| {
            let mut keys = schemas.iter().flat_map(|schema| &schema.keys);
            keys.any(|key| key.pattern.text() == pattern)
        };
        if let Some(unknown) = self.allow.iter().find(|pattern| !declared(pattern)) {
            bail!("--allow {unknown}: there is no such pattern");
        }
        for owner in rights::unnamed_owners(&schemas) {
            terminal.say(&format!("{owner}: an owner whose name has spaces is no user"))?;
        }
        if rights::names_default(&schemas) {
            let line = "default: keeps its rights; a line for it would be without its password";
            terminal.say(line)?;
        }
        let dialect = if self.exact { Dialect::Patterns } else { Dialect::Globs };
        let users = rights::users(&schemas, dialect);
        for user in &users {
            terminal.write_for_file(&format!("{}\n", user.line))?;
        }
        let mut count = 0;
        for UserRights { name, foreign, .. } in &users {
            for Foreign { rule, pattern, keyspace, example } in foreign {
                if !self.allow.contains(pattern) {
                    count += 1;
                    let of = keyspace.as_ref().map_or(String::new(), |name| format!(" of {name}"));
                    terminal
                        .say(&format!("{name}: {rule} also admits {pattern}{of}, as {example}"))?;
                }
            }
        }
        if count > 0 {
            let foreign = counted(count, "foreign pattern");
            let way = if self.exact {
                " or give keyspaces users of their own"
            } else {
                ", or write --exact rules"
            };
            terminal.say(&format!("{foreign}: allow each by --allow{way}"))?;
        }
        if !users.is_empty() {
            terminal.say(DEFAULT_UNSAID)?;
        } else if !rights::names_default(&schemas) {
            terminal.say(NOBODY)?;
        }
        Ok(if count == 0 { Answer::Yes } else { Answer::No })
    }
}
