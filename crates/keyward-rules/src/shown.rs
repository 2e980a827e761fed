//! What is shown of a command to others than its client.
//!
//! Owns the one decision about client bytes that reach MONITOR, the slow log, a log, a
//! refusal or an explanation: each argument is shown as it was sent, or as
//! `(redacted)`; of a key, only the values of its secret placeholders are replaced, so
//! that its pattern can still be told. Pure: a function of the books, the command and its
//! arguments.
//!
//! Under a schema with secrets an argument is shown because something is known that makes
//! it harmless, never because nothing is known: a command that is not understood, a call
//! that is not as documented and the values of a key that belongs to no pattern are
//! redacted whole. Passwords of Redis's own commands are redacted with or without a
//! schema (`credentials`). Of what a script calls only names of commands, keys, counts and
//! times are shown: any other argument may be a secret that the script has read. For the
//! same reason a refusal does not show what was found if the command took it from
//! somewhere (`origin`).
//!
//! Cost: one pass over the arguments and one match a key, paid only while somebody
//! watches or for a command that was slow.
//! Not here: replies, SCAN and notifications, which show what there is.

mod credentials;
mod name;
mod origin;
mod values;

use std::borrow::Cow;

use keyward_commands::argument::ArgumentKind;
use keyward_commands::migrate::Migrate;
use keyward_commands::{Command, CommandId, Group, Role};
use keyward_resp::{Args, number};
use keyward_schema::{Content, KeyId, Schema};

use crate::book::RuleBook;
pub use origin::names_its_keys;

/// What is shown instead of a secret.
pub const REDACTED: &str = "(redacted)";

/// The books of a server, as far as they decide what is shown of a command.
#[derive(Clone, Copy, Debug)]
pub struct Books<'b> {
    /// That of the database that the command was sent to.
    pub own: Option<&'b RuleBook>,
    /// Those of all databases.
    pub all: &'b [&'b RuleBook],
}

/// Who calls a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// A client: it knows the arguments.
    Client,
    /// A script or a function: its arguments may come from anywhere.
    Script,
}

/// What of a schema is secret.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// For each table, whether any part of its values is.
    contents: Box<[bool]>,
    /// Whether a placeholder of any table is.
    has_names: bool,
}

impl Secrets {
    pub(crate) fn of(schema: &Schema) -> Secrets {
        Secrets {
            contents: schema.keys.iter().map(|key| key.holds_secret()).collect(),
            has_names: schema.keys.iter().any(|key| !key.secret_placeholders.is_empty()),
        }
    }

    fn is_empty(&self) -> bool {
        !self.has_names && !self.contents.contains(&true)
    }
}

impl RuleBook {
    /// Whether its schema declares anything secret.
    pub fn has_secrets(&self) -> bool {
        !self.secrets().is_empty()
    }

    /// The book by which pages and reports are masked: that of the declared schema, in which
    /// what is personal is secret too. None where nothing is personal.
    pub fn discreet(&self) -> Option<RuleBook> {
        let declared = self.suspension().map_or(self, |suspension| &suspension.declared);
        let schema = declared.schema();
        schema.has_personal().then(|| RuleBook::compiled(schema.discreet()))
    }

    /// Whether something of a table, or of the names of its keys, is not to be shown.
    pub fn hides_of(&self, table: KeyId) -> bool {
        let key = self.schema().key(table);
        self.secrets().contents[table.index()] || !key.secret_placeholders.is_empty()
    }

    /// Whether what a key holds may be shown.
    pub fn shows_values_of(&self, key: &[u8]) -> bool {
        match self.table_of(key) {
            Some(table) => !self.secrets().contents[table.index()],
            None => !self.has_secrets(),
        }
    }
}

impl<'b> Books<'b> {
    /// A single book.
    pub(crate) fn one(book: &'b &'b RuleBook) -> Books<'b> {
        Books { own: Some(book), all: std::slice::from_ref(book) }
    }

    fn has_secrets(&self) -> bool {
        self.all.iter().any(|book| book.has_secrets())
    }

    /// What is shown of a call, argument by argument.
    pub fn shown<'a>(
        &self,
        command: &Command,
        args: Args<'a>,
        sender: Sender,
    ) -> Vec<Cow<'a, [u8]>> {
        let mut words: Vec<Cow<'a, [u8]>> = args.iter().map(Cow::Borrowed).collect();
        if self.has_secrets() {
            self.redact(command, args, &mut words);
            if sender == Sender::Script {
                redact_found(command, args, &mut words);
            }
        }
        credentials::each(command, args, |index| words[index] = redacted());
        words
    }

    /// What is shown of one argument of a call, without looking at the others where nothing
    /// is secret.
    pub fn shown_at<'a>(
        &self,
        command: &Command,
        args: Args<'a>,
        sender: Sender,
        at: usize,
    ) -> Cow<'a, [u8]> {
        if self.has_secrets() {
            return self.shown(command, args, sender).swap_remove(at);
        }
        let mut word = Cow::Borrowed(args.at(at));
        credentials::each(command, args, |index| {
            if index == at {
                word = redacted();
            }
        });
        word
    }

    fn redact<'a>(&self, command: &Command, args: Args<'a>, words: &mut [Cow<'a, [u8]>]) {
        let name = command.name_words().min(words.len());
        match Subject::of(command) {
            Subject::NoRow => {
                for word in &mut words[name..] {
                    if self.names_secret_key_loosely(word) {
                        *word = redacted();
                    }
                }
            }
            Subject::Program => {
                let shown = name + usize::from(self.is_name_of_program(command, args));
                words.iter_mut().skip(shown).for_each(|word| *word = redacted());
            }
            Subject::Key => {
                words.iter_mut().skip(name).for_each(|key| *key = self.key(key));
            }
            Subject::Transfer if !is_readable(command, args) => {
                words.iter_mut().skip(name).for_each(|word| *word = redacted());
            }
            Subject::Transfer => {
                for key in command.keys_in(args) {
                    words[key.index] = self.key_anywhere(args.at(key.index));
                }
            }
            Subject::Rows => self.redact_rows(command, args, words),
        }
    }

    /// Redacts a call about rows by what the documentation says of its arguments.
    fn redact_rows<'a>(&self, command: &Command, args: Args<'a>, words: &mut [Cow<'a, [u8]>]) {
        let name = command.name_words().min(words.len());
        let keys = command.keys_in(args);
        let Some(roles) = command.roles_in(args).filter(|_| !command.has_keys() || keys.len() > 0)
        else {
            let is_harmless =
                keys.len() > 0 && keys.clone().all(|key| self.shows_values_of(args.at(key.index)));
            if !is_harmless {
                words.iter_mut().skip(name).for_each(|word| *word = redacted());
            }
            keys.for_each(|key| words[key.index] = self.key(args.at(key.index)));
            return;
        };
        let held = |key: usize| self.own.map_or(Held::Public, |book| book.held(args.at(key)));
        // One of each kind: there may be many keys, but not of many patterns.
        let mut contents: Vec<Held<'_>> = Vec::new();
        for key in keys {
            let held = held(key.index);
            if !matches!(held, Held::Public) && !contents.iter().any(|other| other.is(&held)) {
                contents.push(held);
            }
        }
        let has_own_values = matches!(command.id, CommandId::MSet | CommandId::MSetNx);
        for (index, role) in roles.iter().enumerate().skip(name) {
            let Role::Documented(argument) = role else { continue };
            let word = args.at(index);
            let is_shown = match argument.kind {
                ArgumentKind::Key => {
                    words[index] = self.key(word);
                    continue;
                }
                ArgumentKind::Pattern => contents.is_empty() && !self.hides_glob(word),
                _ if has_own_values => held(index - 1).shows(&roles, args, index),
                _ if keys.len() == 0 => values::is_count(argument, word),
                _ => contents.iter().all(|held| held.shows(&roles, args, index)),
            };
            if !is_shown || (command.id == CommandId::Restore && index == 3) {
                words[index] = redacted();
            }
        }
    }

    /// Whether the first argument names a program, rather than being one: a declared
    /// function, the digest of a script, a subcommand of DEBUG.
    fn is_name_of_program(&self, command: &Command, args: Args<'_>) -> bool {
        let Some(name) = args.get(1) else { return false };
        match command.id {
            CommandId::FCall | CommandId::FCallRo => {
                let functions = self.all.iter().flat_map(|book| &book.schema().functions);
                functions.into_iter().any(|function| function.name.as_bytes() == name)
            }
            CommandId::EvalSha | CommandId::EvalShaRo => {
                name.len() == 40 && name.iter().all(u8::is_ascii_hexdigit)
            }
            CommandId::Debug => name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-'),
            _ => false,
        }
    }

    fn shows_values_of(&self, key: &[u8]) -> bool {
        self.own.is_none_or(|book| book.shows_values_of(key))
    }

    fn key<'a>(&self, key: &[u8]) -> Cow<'a, [u8]> {
        Cow::Owned(self.own.map_or_else(|| key.to_vec(), |book| book.shown_name(key).into_owned()))
    }

    /// A key that another database may have too.
    fn key_anywhere<'a>(&self, key: &[u8]) -> Cow<'a, [u8]> {
        let names = self.all.iter().map(|book| book.shown_name(key));
        let secret = names.into_iter().find(|name| **name != *key);
        Cow::Owned(secret.map_or_else(|| key.to_vec(), Cow::into_owned))
    }
}

/// What a command speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Rows, or something that is not known: redacted unless it is understood.
    Rows,
    /// The server, connections, channels: neither keys nor values.
    NoRow,
    /// A program and what it is given, or a whole command: not to be read from outside.
    Program,
    /// Keys, although the table does not say so.
    Key,
    /// Rows that go to another database or server as they are: keys, and no values.
    Transfer,
}

impl Subject {
    fn of(command: &Command) -> Subject {
        use CommandId::*;
        match command.id {
            Eval
            | EvalRo
            | EvalSha
            | EvalShaRo
            | FCall
            | FCallRo
            | ScriptLoad
            | FunctionLoad
            | FunctionRestore
            | CommandGetKeys
            | CommandGetKeysAndFlags
            | AclDryRun
            | KeywardExplain
            | Debug => {
                return Subject::Program;
            }
            KeywardMatch => return Subject::Key,
            CommandId::Copy | Move | Migrate => return Subject::Transfer,
            _ => {}
        }
        match command.container.unwrap_or(command.id) {
            _ if command.group == Group::PubSub => Subject::NoRow,
            Auth
            | Client
            | Echo
            | Hello
            | Ping
            | Select
            | CommandId::Command
            | Config
            | Failover
            | Info
            | Latency
            | ReplConf
            | ReplicaOf
            | SlaveOf
            | Shutdown
            | SlowLog => Subject::NoRow,
            _ => Subject::Rows,
        }
    }
}

/// What a key of a call holds, as far as it decides what is shown.
enum Held<'b> {
    /// Nothing secret.
    Public,
    /// Something secret, of this form.
    Secret(&'b Content),
    /// Nobody knows: the key belongs to no pattern.
    Unknown,
}

impl RuleBook {
    fn held(&self, key: &[u8]) -> Held<'_> {
        match self.table_of(key) {
            Some(table) if self.secrets().contents[table.index()] => {
                Held::Secret(&self.schema().key(table).content)
            }
            None if self.has_secrets() => Held::Unknown,
            Some(_) | None => Held::Public,
        }
    }
}

impl Held<'_> {
    /// Whether both are the same.
    fn is(&self, other: &Held<'_>) -> bool {
        match (self, other) {
            (Held::Secret(one), Held::Secret(other)) => std::ptr::eq(*one, *other),
            (Held::Unknown, Held::Unknown) | (Held::Public, Held::Public) => true,
            _ => false,
        }
    }

    /// Whether the argument at an index may be shown, as far as this key goes.
    fn shows(&self, roles: &[Role], args: Args<'_>, index: usize) -> bool {
        let Role::Documented(argument) = roles[index] else { return true };
        match self {
            Held::Public => true,
            _ if values::is_count(argument, args.at(index)) => true,
            Held::Unknown => false,
            Held::Secret(Content::Fields(object) | Content::Entries(object)) => {
                values::field_is_public(object, roles, args, index)
            }
            Held::Secret(Content::Scored { member, score }) => match argument.name {
                "member" => !member.has_secret(),
                "score" | "increment" => {
                    !score.has_secret() && number::parse_f64(args.at(index)).is_some()
                }
                _ => false,
            },
            Held::Secret(_) => false,
        }
    }
}

/// Whether a call of COPY, MOVE or MIGRATE is one: then only its keys say anything.
fn is_readable(command: &Command, args: Args<'_>) -> bool {
    match command.id {
        CommandId::Migrate => Migrate::parse(args).is_ok(),
        _ => command.roles_in(args).is_some_and(|roles| {
            let mut documented = roles.iter().zip(args.iter());
            documented.all(|(role, word)| match role {
                Role::Documented(argument) => {
                    argument.kind == ArgumentKind::Key || values::is_count(argument, word)
                }
                Role::Name | Role::Keyword => true,
            })
        }),
    }
}

/// Redacts what a script may have read somewhere: all but keys, counts and times.
fn redact_found<'a>(command: &Command, args: Args<'a>, words: &mut [Cow<'a, [u8]>]) {
    let roles = command.roles_in(args);
    for (index, word) in words.iter_mut().enumerate().skip(command.name_words()) {
        let is_shown = match roles.as_ref().map(|roles| roles[index]) {
            Some(Role::Name | Role::Keyword) => true,
            Some(Role::Documented(argument)) => {
                argument.kind == ArgumentKind::Key || values::is_count(argument, args.at(index))
            }
            None => command.keys_in(args).any(|key| key.index == index),
        };
        if !is_shown {
            *word = redacted();
        }
    }
}

fn redacted<'a>() -> Cow<'a, [u8]> {
    Cow::Borrowed(REDACTED.as_bytes())
}

#[cfg(test)]
mod tests;
