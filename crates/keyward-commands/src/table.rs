//! The table: one row for each command and subcommand of Redis 7.0.15 that this
//! server has, and for those that Redis does not have.
//!
//! Owns every fact about a command. A group of commands is a file under `table/`;
//! a container is followed at once by its subcommands. [`CommandId`] is generated
//! from the rows in table order, so `COMMANDS[id as usize]` is the row of `id`.
//! Not here: commands that are left out on purpose ([`crate::absent`]).

use crate::command::Command;

/// Declares the rows of one group as `ROWS`, and a macro `$list!` that hands the
/// group's ids on to the next list: so the ids of all groups reach one enum.
macro_rules! rows {
    ($list:ident, $group:ident;
     $( $id:ident, $name:literal { $( $field:ident: $value:expr ),+ $(,)? } )+) => {
        pub(super) const ROWS: &[Command] = &[$(
            Command {
                $( $field: row_value!($field $value), )+
                ..Command::blank(CommandId::$id, $name, Group::$group)
            }
            .complete(),
        )+];
        id_list! { ($) $list $($id $name)+ }
    };
}

/// Turns what a row says for a field into the field's type.
macro_rules! row_value {
    (flags $words:expr) => {{
        #[allow(unused_imports, reason = "a row may have no flag")]
        use crate::flags::Flag::*;
        crate::flags::Flags::of(&$words)
    }};
    (acl $words:expr) => {{
        #[allow(unused_imports, reason = "a row may name no category")]
        use crate::flags::AclCategory::*;
        crate::flags::AclCategories::of(&$words)
    }};
    (doc_flags $words:expr) => {{
        use crate::flags::DocFlag::*;
        crate::flags::DocFlags::of(&$words)
    }};
    (keys $list:expr) => {
        &$list
    };
    (tips $list:expr) => {
        &$list
    };
    (history $list:expr) => {
        &$list
    };
    (args $list:expr) => {
        &$list
    };
    (deprecated_since $version:expr) => {
        Some($version)
    };
    (replaced_by $text:expr) => {
        Some($text)
    };
    ($field:ident $value:expr) => {
        $value
    };
}

/// Defines `$list! { [ids so far] next more }` as `next! { [ids and ours] more }`.
macro_rules! id_list {
    (($d:tt) $list:ident $($id:ident $name:literal)+) => {
        macro_rules! $list {
            ([$d($d ids:tt)*] $d next:ident $d($d rest:ident)*) => {
                $d next! { [$d($d ids)* $($id $name)+] $d($d rest)* }
            };
        }
    };
}

#[macro_use]
mod acl;
#[macro_use]
mod bitmap;
#[macro_use]
mod connection;
#[macro_use]
mod generic;
#[macro_use]
mod geo;
#[macro_use]
mod hash;
#[macro_use]
mod hyperloglog;
#[macro_use]
mod keyward;
#[macro_use]
mod list;
#[macro_use]
mod pubsub;
#[macro_use]
mod scripting;
#[macro_use]
mod server;
#[macro_use]
mod set;
#[macro_use]
mod stream;
#[macro_use]
mod string;
#[macro_use]
mod transactions;
#[macro_use]
mod zset;

mod id;
mod row;

pub use id::CommandId;

// The same order as in `id.rs`: both say where a row stands in `COMMANDS`.
const GROUPS: [&[Command]; 17] = [
    generic::ROWS,
    string::ROWS,
    bitmap::ROWS,
    hash::ROWS,
    list::ROWS,
    set::ROWS,
    zset::ROWS,
    hyperloglog::ROWS,
    geo::ROWS,
    stream::ROWS,
    pubsub::ROWS,
    transactions::ROWS,
    scripting::ROWS,
    connection::ROWS,
    server::ROWS,
    acl::ROWS,
    keyward::ROWS,
];

/// Every command and subcommand; the row of an id stands at `id as usize`.
pub static COMMANDS: [Command; CommandId::COUNT] = gather();

impl CommandId {
    /// The row of this command.
    #[inline]
    pub fn command(self) -> &'static Command {
        &COMMANDS[self as usize]
    }
}

impl Command {
    /// Its subcommands; empty unless it is a container.
    pub fn subcommands(&self) -> &'static [Command] {
        let first = self.id as usize + 1;
        &COMMANDS[first..first + self.subcommand_count as usize]
    }
}

/// Puts the groups in a row, and ties subcommands to their containers.
const fn gather() -> [Command; CommandId::COUNT] {
    let mut all = [GROUPS[0][0]; CommandId::COUNT];
    let mut count = 0;
    let mut container = 0;
    let mut group = 0;
    while group < GROUPS.len() {
        let mut index = 0;
        while index < GROUPS[group].len() {
            let mut command = GROUPS[group][index];
            assert!(command.id as usize == count, "the id lists and GROUPS differ in order");
            if is_subcommand(command.name) {
                command.container = Some(all[container].id);
                all[container].subcommand_count += 1;
            } else {
                container = count;
            }
            all[count] = command;
            count += 1;
            index += 1;
        }
        group += 1;
    }
    assert!(count == CommandId::COUNT, "GROUPS misses a group");
    all
}

const fn is_subcommand(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        if bytes[index] == b'|' {
            return true;
        }
        index += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subcommand_bears_the_name_of_its_container() {
        for command in &COMMANDS {
            let Some(container) = command.container else {
                assert!(!command.name.contains('|'), "{}", command.name);
                continue;
            };
            let (prefix, _) = command.name.split_once('|').expect("a subcommand has two names");
            assert_eq!(prefix, container.command().name);
            assert!(container.command().subcommands().iter().any(|sub| sub.id == command.id));
        }
    }

    #[test]
    fn no_name_appears_twice() {
        let mut names: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }
}
