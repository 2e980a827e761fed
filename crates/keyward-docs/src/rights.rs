//! What a schema says of users, as rules of ACL.
//!
//! Owns which user may read and which may write the keys of which pattern, the line of a file
//! of users that says so, and what else such a line admits. Redis's globs cross colons:
//! `~user:*` also grants `user:7:followers`. So every pattern is named that a glob admits and
//! the user was not meant to have. Patterns of the schema (`=user:{id}`), which only Keyward
//! takes, admit nothing else in their database; a keyspace in another one may have the same.
//! Invariant: every line is one that servers load.
//! Not here: passwords, which never come from a schema, and so the user `default`, whom a line
//! without one would lock out.

use keyward_schema::{Key, KeyId, Matcher, Pattern, Schema, escape_bytes, is_user_name};
use std::collections::BTreeMap;

/// The user whom everybody is before logging in.
const DEFAULT_USER: &str = "default";

/// The rule that grants all keys.
const ALL_KEYS: &str = "~*";

/// How keys are named in rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// By globs, as Redis takes them.
    Globs,
    /// By patterns of the schema, which are exact, as Keyward takes them.
    Patterns,
}

/// What a user may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Read,
    Write,
}

/// A user and what it may do.
#[derive(Debug)]
pub struct UserRights {
    /// The name.
    pub name: String,
    /// The line of a file of users.
    pub line: String,
    /// What the line admits besides.
    pub foreign: Vec<Foreign>,
}

/// Keys that a rule admits and that the user was not meant to have.
#[derive(Debug)]
pub struct Foreign {
    /// The rule.
    pub rule: String,
    /// The pattern that the keys belong to.
    pub pattern: String,
    /// The keyspace that has the pattern, where the rule was made for another one.
    pub keyspace: Option<String>,
    /// One of them.
    pub example: String,
}

/// The users of some schemas that one server serves, in the order of their names.
pub fn users(schemas: &[Schema], dialect: Dialect) -> Vec<UserRights> {
    let keys: Vec<Declared<'_>> = schemas.iter().flat_map(Declared::all).collect();
    let mut users: BTreeMap<&str, Vec<Option<Access>>> = BTreeMap::new();
    for (index, declared) in keys.iter().enumerate() {
        for (name, access) in declared.users().into_iter().filter(|(name, _)| !is_default(name)) {
            let own = users.entry(name).or_insert_with(|| vec![None; keys.len()]);
            own[index] = own[index].max(Some(access));
        }
    }
    let has_functions = schemas.iter().any(|schema| !schema.functions.is_empty());
    users
        .into_iter()
        .map(|(name, own)| rights(name, &own, &keys, (dialect, has_functions)))
        .collect()
}

/// Whether a schema gives rights to the user `default`.
pub fn names_default(schemas: &[Schema]) -> bool {
    let keys = schemas.iter().flat_map(Declared::all);
    keys.into_iter().any(|key| key.users().iter().any(|(name, _)| is_default(name)))
}

fn is_default(name: &str) -> bool {
    name == DEFAULT_USER
}

/// Owners who are no users, since their names have spaces.
pub fn unnamed_owners(schemas: &[Schema]) -> Vec<&str> {
    let owners = schemas
        .iter()
        .flat_map(|schema| schema.ids().filter_map(|id| schema.owner_of(id)).collect::<Vec<_>>());
    let mut unnamed: Vec<&str> = owners.filter(|owner| !is_user_name(owner)).collect();
    unnamed.sort_unstable();
    unnamed.dedup();
    unnamed
}

/// A key of one of the schemas.
struct Declared<'s> {
    schema: &'s Schema,
    matcher: std::rc::Rc<Matcher>,
    id: KeyId,
}

impl<'s> Declared<'s> {
    fn all(schema: &'s Schema) -> Vec<Declared<'s>> {
        let patterns = schema.keys.iter().map(|key| &key.pattern);
        let matcher = Matcher::new(patterns).expect("the schema was checked");
        let matcher = std::rc::Rc::new(matcher);
        schema.ids().map(|id| Declared { schema, matcher: matcher.clone(), id }).collect()
    }

    fn key(&self) -> &'s Key {
        self.schema.key(self.id)
    }

    /// Who may do what with it.
    fn users(&self) -> Vec<(&'s str, Access)> {
        let named = |users: &'s [Box<str>], access| users.iter().map(move |user| (&**user, access));
        let owner = self.schema.owner_of(self.id).filter(|owner| is_user_name(owner));
        named(self.schema.readers_of(self.id), Access::Read)
            .chain(named(self.schema.writers_of(self.id), Access::Write))
            .chain(owner.map(|owner| (owner, Access::Write)))
            .collect()
    }

    /// A key of this pattern that the rule of another one admits.
    fn admitted_by(&self, other: &Declared<'_>, dialect: Dialect) -> Option<Vec<u8>> {
        match dialect {
            Dialect::Globs => self.admitted_by_glob(other),
            // Only a keyspace of another database can have the same pattern.
            Dialect::Patterns => {
                let is_same = match (self.key().pattern.in_rule(), other.key().pattern.in_rule()) {
                    (Some(own), Some(its)) => Pattern::is_same_form(own.as_bytes(), its.as_bytes()),
                    (own, its) => own == its,
                };
                is_same.then(|| self.admitted_by_glob(other)).flatten()
            }
        }
    }

    /// A key of this pattern that the glob of another one admits.
    fn admitted_by_glob(&self, other: &Declared<'_>) -> Option<Vec<u8>> {
        let keys = other.key().pattern.glob_admits(&self.key().pattern);
        keys.into_iter().find(|key| {
            let found = self.matcher.find(key).and_then(|found| self.schema.id(found.pattern));
            // Where another pattern has the key, this one may have others like it.
            !std::ptr::eq(self.schema, other.schema) || found != Some(other.id)
        })
    }
}

fn rights(
    name: &str,
    own: &[Option<Access>],
    keys: &[Declared<'_>],
    (dialect, has_functions): (Dialect, bool),
) -> UserRights {
    let mut rules: Vec<String> = Vec::new();
    let mut foreign = Vec::new();
    for (declared, access) in keys.iter().zip(own) {
        let Some(access) = *access else { continue };
        let (rule, dialect) = rule(declared.key(), access, dialect);
        if !rules.contains(&rule) {
            rules.push(rule.clone());
        }
        let others = keys.iter().zip(own).filter(|(_, granted)| **granted < Some(access));
        for (other, _) in others {
            if let Some(key) = other.admitted_by(declared, dialect) {
                let pattern = other.key().pattern.text().to_owned();
                let is_elsewhere = !std::ptr::eq(other.schema, declared.schema);
                let keyspace = is_elsewhere.then(|| other.schema.keyspace.name.to_string());
                let example = escape_bytes(&key);
                foreign.push(Foreign { rule: rule.clone(), pattern, keyspace, example });
            }
        }
    }
    // Beside a rule that grants all keys servers take no other.
    if rules.iter().any(|rule| rule == ALL_KEYS) {
        rules.retain(|rule| rule == ALL_KEYS);
    }
    let writes = own.contains(&Some(Access::Write));
    let commands = commands(writes, dialect, has_functions);
    let line = format!("user {name} on resetchannels {} {commands}", rules.join(" "));
    UserRights { name: name.to_owned(), line, foreign }
}

/// The rule that grants the keys of a pattern, and how it names them: one that has white space
/// in its text is named by its glob in any case, since a rule has none.
fn rule(key: &Key, access: Access, dialect: Dialect) -> (String, Dialect) {
    let exact = key.pattern.in_rule().filter(|_| dialect == Dialect::Patterns);
    let mark = if access == Access::Read { "%R" } else { "" };
    match exact {
        Some(pattern) => (format!("{mark}={pattern}"), Dialect::Patterns),
        None => (format!("{mark}~{}", key.pattern.glob()), Dialect::Globs),
    }
}

/// The rules about commands: all that read, and write where the user may, but for those that
/// are dangerous, load code, or tell of keys that they do not name.
fn commands(writes: bool, dialect: Dialect, has_functions: bool) -> String {
    let mut rules = vec!["-@all", "+@read"];
    if writes {
        rules.push("+@write");
    }
    rules.extend(["+@connection", "+@transaction", "-@dangerous", "-function"]);
    rules.extend(["-scan", "-randomkey", "-dbsize", "-client|tracking"]);
    if has_functions {
        rules.push("+fcall_ro");
        rules.extend(writes.then_some("+fcall"));
    }
    if dialect == Dialect::Patterns {
        rules.extend(["+keyward|explain", "+keyward|help", "+keyward|match", "+keyward|misfits"]);
        rules.push("+keyward|refusals");
    }
    rules.join(" ")
}
