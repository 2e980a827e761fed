//! Commands whose rows are in the table but which no handler answers yet.
//!
//! A shrinking list: whoever adds a handler deletes the id here. Until then the
//! command is unknown to clients, is not listed by COMMAND, and COMPAT.md says
//! "planned". A test of this crate says how to write COMPAT.md anew.

use super::CommandId;

/// See the module's documentation.
#[rustfmt::skip]
pub(super) const PLANNED: &[CommandId] = &[];
