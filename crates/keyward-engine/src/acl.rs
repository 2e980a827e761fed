//! Users and their rights (access control lists).
//!
//! Owns the users, what each may do, how rules are read and written, and the log of what
//! was denied. `user` is one of them, `selector` a set of rights, `command_set` the part of
//! it that is about commands, `key_pattern` the one about keys; `check` asks them.
//! Invariants: there is always a user `default`; `version` is another one after every change,
//! so that whoever remembers what it found out about a client knows when to ask again.
//! Not here: the commands (`commands::acl`), when rights are asked for (`engine::rights`),
//! the file of users, which the host reads and writes.

pub(crate) mod check;
mod command_set;
mod file;
mod key_pattern;
mod log;
mod rules;
mod selector;
mod user;

pub(crate) use check::{Call, Denied};
pub(crate) use log::{Context, Denial, Log, Reason};
pub(crate) use rules::merge_selectors;
pub(crate) use selector::Selector;
pub(crate) use user::{User, is_plain_name};

use keyward_commands::args::c_text;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The user of whoever has not said who they are.
pub(crate) const DEFAULT: &[u8] = b"default";

/// The file of users that is to be read, as its text is found.
#[derive(Debug, Clone, Copy)]
pub struct UsersReader {
    new_channels: NewChannels,
}

impl UsersReader {
    /// Reads the text of the file that errors call `name`. Takes some microseconds a user: on
    /// another thread, if there is one.
    pub fn read(self, name: &str, text: &[u8]) -> UsersRead {
        UsersRead(file::read(name, text, self.new_channels).map(|mut users| {
            users.entry(DEFAULT.into()).or_insert_with(|| Arc::new(User::all_powerful(DEFAULT)));
            // Telling them takes as long as reading them.
            let mut told = command_set::Told::default();
            for user in users.values() {
                user.line(&mut told);
            }
            users
        }))
    }
}

/// The users of a file, or what is wrong with it.
#[derive(Debug)]
pub struct UsersRead(Result<Users, Vec<u8>>);

/// The users, by their names.
type Users = BTreeMap<Box<[u8]>, Arc<User>>;

/// What selectors have that nobody has said anything about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NewChannels {
    /// No channel: `acl-pubsub-default resetchannels`.
    #[default]
    None,
    /// Every channel: `acl-pubsub-default allchannels`.
    All,
}

/// All users, and what was denied to them.
#[derive(Debug)]
pub(crate) struct Acl {
    users: Users,
    version: u64,
    /// How often a file of users was read.
    loads: u64,
    pub(crate) log: Log,
    pub(crate) new_channels: NewChannels,
}

impl Default for Acl {
    fn default() -> Acl {
        let mut users = Users::new();
        users.insert(DEFAULT.into(), Arc::new(User::all_powerful(DEFAULT)));
        let new_channels = NewChannels::default();
        Acl { users, version: 1, loads: 0, log: Log::default(), new_channels }
    }
}

impl Acl {
    /// By which the file of users is read.
    pub(crate) fn reader(&self) -> UsersReader {
        UsersReader { new_channels: self.new_channels }
    }

    /// Another number after every change of the users; never zero.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// How often a file of users has taken the place of all users.
    pub(crate) fn loads(&self) -> u64 {
        self.loads
    }

    /// The users behind this one in the order of their names; all of them behind none.
    pub(crate) fn users_after(&self, name: Option<&[u8]>) -> impl Iterator<Item = &Arc<User>> {
        let start = name.map_or(Bound::Unbounded, Bound::Excluded);
        self.users.range::<[u8], _>((start, Bound::Unbounded)).map(|(_, user)| user)
    }

    /// The user of whoever has not said who they are.
    pub(crate) fn default_user(&self) -> &Arc<User> {
        &self.users[DEFAULT]
    }

    /// Whether clients need not say who they are.
    pub(crate) fn is_open(&self) -> bool {
        let user = self.default_user();
        user.needs_no_password && user.is_enabled
    }

    /// The user of this name.
    pub(crate) fn user(&self, name: &[u8]) -> Option<&Arc<User>> {
        self.users.get(name)
    }

    /// All users in the order of their names.
    pub(crate) fn users(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.users.values()
    }

    /// The user whom this name and password are of.
    pub(crate) fn authenticate(&self, name: &[u8], password: &[u8]) -> Option<&Arc<User>> {
        self.user(name).filter(|user| user.is_enabled && user.admits(password))
    }

    /// The user of this name, or a new one, after all of these rules; nothing is changed yet.
    ///
    /// # Errors
    /// Says in Redis's words which rule is wrong.
    pub(crate) fn drafted(&self, name: &[u8], rules: &[&[u8]]) -> Result<User, Vec<u8>> {
        let rules = merge_selectors(rules).map_err(|at| {
            [b"Unmatched parenthesis in acl selector starting at '", c_text(at), b"'."].concat()
        })?;
        let mut user = match self.user(name) {
            Some(user) => User::clone(user),
            None => User::new(name, self.new_channels),
        };
        for rule in &rules {
            user.apply(rule, self.new_channels).map_err(|error| {
                let what = [b"Error in ACL SETUSER modifier '", c_text(rule), b"': "].concat();
                [&what, error.text().as_bytes()].concat()
            })?;
        }
        Ok(user)
    }

    /// Puts a user in the place of the one that has its name, if any.
    pub(crate) fn put(&mut self, user: User) {
        self.version += 1;
        self.users.insert(user.name.clone(), Arc::new(user));
    }

    /// Removes a user; whether there was one. The default user stays.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        self.version += 1;
        name != DEFAULT && self.users.remove(name).is_some()
    }

    /// Gives the default user one password or none (`requirepass`).
    pub(crate) fn set_default_password(&mut self, password: Option<&[u8]>) {
        let mut user = User::clone(self.default_user());
        user.set_only_password(password);
        self.put(user);
    }

    /// The users as a file has them, one a line.
    pub(crate) fn to_file(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for line in self.lines() {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text
    }

    /// The users, a line for each.
    pub(crate) fn lines(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut told = command_set::Told::default();
        self.users().map(move |user| user.line(&mut told))
    }

    /// Puts the users of a file in the place of all there are, which are returned.
    ///
    /// # Errors
    /// Says on one line what is wrong with which line; then nothing is changed.
    pub(crate) fn replace_by(&mut self, read: UsersRead) -> Result<Users, Vec<u8>> {
        let users = read.0?;
        self.version += 1;
        self.loads += 1;
        Ok(std::mem::replace(&mut self.users, users))
    }

    /// Adds a user that the settings declare; whether it can authenticate.
    ///
    /// # Errors
    /// Says which rule is wrong.
    pub(crate) fn declare(&mut self, name: &[u8], rules: &[&[u8]]) -> Result<bool, Vec<u8>> {
        if !is_plain_name(name) {
            return Err(b"Spaces not allowed in ACL usernames".to_vec());
        }
        let rules = merge_selectors(rules).map_err(|at| {
            [b"Unmatched parenthesis in acl selector starting at '", c_text(at), b"'."].concat()
        })?;
        let mut user = User::new(name, self.new_channels);
        if name == DEFAULT {
            user.apply(b"reset", self.new_channels).expect("that is a rule");
        }
        for rule in &rules {
            user.apply(rule, self.new_channels).map_err(|error| {
                let rule =
                    [b"Error loading ACL rule '", rule.as_slice(), b"' for the user named '"];
                [&rule.concat(), name, b"': ", error.text().as_bytes()].concat()
            })?;
        }
        let is_enabled = user.is_enabled;
        self.put(user);
        Ok(is_enabled)
    }
}
