//! The names clients call commands by: those of the table, unless `rename-command` says
//! otherwise.
//!
//! Owns the names that were taken away and those that were given instead. The table and
//! the log of effects keep to the names of Redis, so that what was written under one set
//! of names can be read under another. Without renamings a search costs one comparison
//! more than [`crate::resolve`].

use std::collections::BTreeMap;

use keyward_resp::Args;

use crate::absent::ABSENT;
use crate::command::Command;
use crate::error::WireError;
use crate::lookup::{by_full_name, call_of, lookup};

/// Why a command was not renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameError {
    /// There is none.
    NoSuchCommand,
    /// Another one has the new name.
    NameTaken,
}

impl RenameError {
    /// The reason in Redis's words.
    pub fn text(self) -> &'static str {
        match self {
            RenameError::NoSuchCommand => "No such command in rename-command",
            RenameError::NameTaken => "Target command name already exists",
        }
    }
}

/// What commands are called.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// What a name in lower case means that no longer means what the table says.
    changed: BTreeMap<Box<[u8]>, Option<&'static Command>>,
}

impl Names {
    /// Gives a command another name, or none at all if that is empty. Commands of Redis
    /// that this server does not have can be renamed too: there is nothing to be done.
    pub fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<(), RenameError> {
        let old = old.to_ascii_lowercase();
        let Some(command) = self.lookup(&old) else {
            let is_absent = ABSENT.iter().any(|absent| absent.name.as_bytes() == old);
            return if is_absent { Ok(()) } else { Err(RenameError::NoSuchCommand) };
        };
        let new = new.to_ascii_lowercase();
        if !new.is_empty() && new != old && self.lookup(&new).is_some() {
            return Err(RenameError::NameTaken);
        }
        self.changed.insert(old.into(), None);
        if !new.is_empty() {
            self.changed.insert(new.into(), Some(command));
        }
        Ok(())
    }

    /// Whether commands have the names of the table.
    #[inline]
    pub fn are_plain(&self) -> bool {
        self.changed.is_empty()
    }

    /// The top-level command of this name, in any case.
    #[inline]
    fn lookup(&self, name: &[u8]) -> Option<&'static Command> {
        if self.are_plain() { lookup(name) } else { self.lookup_changed(name) }
    }

    #[cold]
    fn lookup_changed(&self, name: &[u8]) -> Option<&'static Command> {
        match self.changed.get(name.to_ascii_lowercase().as_slice()) {
            Some(meaning) => *meaning,
            None => lookup(name),
        }
    }

    /// The command or subcommand of a full name: `get`, `client|list`.
    pub fn lookup_full_name(&self, name: &[u8]) -> Option<&'static Command> {
        by_full_name(name, |name| self.lookup(name))
    }

    /// As [`crate::find`], by these names.
    #[inline(always)]
    pub fn find(&self, args: Args<'_>) -> Result<&'static Command, WireError> {
        call_of(args, |name| self.lookup(name))
    }

    /// As [`crate::resolve`], by these names.
    #[inline(always)]
    pub fn resolve(&self, args: Args<'_>) -> Result<&'static Command, WireError> {
        self.find(args)?.check_arity(args)
    }

    /// Whether a top-level command has a name.
    pub fn has(&self, command: &Command) -> bool {
        let is_it = |other: &Command| other.id == command.id;
        self.are_plain()
            || self.changed.values().flatten().any(|named| is_it(named))
            || self.lookup(command.name.as_bytes()).is_some_and(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::CommandId;
    use keyward_resp::ArgBuf;

    fn names(renamings: &[(&str, &str)]) -> Result<Names, RenameError> {
        let mut names = Names::default();
        for (old, new) in renamings {
            names.rename(old.as_bytes(), new.as_bytes())?;
        }
        Ok(names)
    }

    fn meaning(names: &Names, line: &str) -> Option<CommandId> {
        let args: ArgBuf = line.split(' ').collect();
        names.resolve(args.args()).ok().map(|command| command.id)
    }

    #[test]
    fn a_command_is_known_by_its_new_name_only() {
        let names = names(&[("CONFIG", "Secret"), ("flushall", ""), ("get", "read")]).unwrap();
        assert_eq!(meaning(&names, "config get x"), None);
        assert_eq!(meaning(&names, "SECRET get x"), Some(CommandId::ConfigGet));
        assert_eq!(meaning(&names, "flushall"), None);
        assert_eq!(meaning(&names, "READ k"), Some(CommandId::Get));
        assert_eq!(meaning(&names, "set k v"), Some(CommandId::Set));
        let known = |name: &str| names.lookup_full_name(name.as_bytes()).map(|it| it.id);
        assert_eq!(known("secret|get"), Some(CommandId::ConfigGet));
        assert_eq!(known("config|get"), None);
        assert!(names.has(CommandId::Config.command()));
        assert!(!names.has(CommandId::FlushAll.command()));
    }

    #[test]
    fn two_commands_can_change_names() {
        let names = names(&[("get", "tmp"), ("set", "get"), ("tmp", "set")]).unwrap();
        assert_eq!(meaning(&names, "get k v"), Some(CommandId::Set));
        assert_eq!(meaning(&names, "set k"), Some(CommandId::Get));
        assert_eq!(meaning(&names, "tmp k"), None);
    }

    #[test]
    fn names_are_not_given_twice() {
        assert_eq!(names(&[("get", "SET")]).unwrap_err(), RenameError::NameTaken);
        assert_eq!(names(&[("nosuch", "")]).unwrap_err(), RenameError::NoSuchCommand);
        assert_eq!(names(&[("client|list", "")]).unwrap_err(), RenameError::NoSuchCommand);
        assert!(names(&[("get", "GET")]).unwrap().has(CommandId::Get.command()));
        assert!(names(&[("cluster", "")]).is_ok(), "what is absent need not be hidden");
    }
}
