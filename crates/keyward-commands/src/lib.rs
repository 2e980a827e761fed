//! What Redis commands are, not what they do.
//!
//! - [`COMMANDS`]: one row per command and subcommand of Redis 7.0.15 ([`table`]), and
//!   [`CommandId`], the enum generated from the rows, which a dispatch matches without
//!   a wildcard. `id.command()` is the row of an id; `id as usize` its place.
//! - [`resolve`]: from a parsed call to its row, subcommands and arity included, or the
//!   error Redis gives. [`lookup()`] and [`lookup_full_name`] find rows by name.
//! - [`Command::keys_in`]: the key positions of a call with their flags, without
//!   allocation. [`keys_of_call`] answers COMMAND GETKEYS.
//! - [`describe`]: rows as COMMAND, COMMAND INFO and COMMAND DOCS show them.
//! - [`Command::roles_in`]: what each argument of a call is, by its documentation.
//! - [`args`]: reading arguments with Redis's error texts.
//! - [`WireError`]: errors as clients see them.
//! - [`ABSENT`]: the commands that are left out; [`compat_markdown`]: COMPAT.md.
//!
//! ```
//! use keyward_commands::{CommandId, lookup, lookup_full_name};
//! use keyward_resp::ArgBuf;
//!
//! let mset = lookup(b"MSET").expect("it is in the table");
//! assert_eq!(mset.id, CommandId::MSet);
//! let call: ArgBuf = ["mset", "a", "1", "b", "2"].iter().collect();
//! let keys: Vec<usize> = mset.keys_in(call.args()).map(|key| key.index).collect();
//! assert_eq!(keys, [1, 3]);
//! assert_eq!(lookup_full_name(b"client|list").unwrap().id, CommandId::ClientList);
//! ```

pub mod absent;
pub mod args;
pub mod argument;
pub mod channels;
pub mod command;
mod compat;
pub mod describe;
pub mod error;
mod error_stats;
pub mod flags;
pub mod keys;
pub mod lookup;
pub mod migrate;
pub mod names;
pub mod roles;
pub mod table;

pub use absent::{ABSENT, ABSENT_RIGHTS, Absent, AbsentPart, AbsentRight, Reason};
pub use channels::Channels;
pub use command::{Arity, Command, Group, KeyPositions, KeySpec};
pub use compat::compat_markdown;
pub use error::WireError;
pub use error_stats::ErrorStats;
pub use flags::{AclCategories, AclCategory, DocFlag, Flag, Flags, KeyFlag, KeyFlags};
pub use keys::{KeyRef, Keys, keys_of_call};
pub use lookup::{find, lookup, lookup_full_name, lookup_subcommand, resolve};
pub use names::{Names, RenameError};
pub use roles::Role;
pub use table::{COMMANDS, CommandId};

/// The version of Redis whose commands these are, and whose behaviour is followed.
pub const REDIS_VERSION: &str = "7.0.15";
