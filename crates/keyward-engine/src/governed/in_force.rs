//! The rules of the database that a command runs in.

use crate::engine::context::Ctx;
use keyward_commands::WireError;
use keyward_rules::RuleBook;
use std::sync::Arc;

/// What a database without a schema answers.
const NO_SCHEMA: WireError = WireError::Err("this database has no schema");

/// The rules of the database that a command runs in.
pub(crate) fn book(ctx: &Ctx<'_>) -> Result<Arc<RuleBook>, WireError> {
    ctx.keys.book_of(ctx.db).cloned().ok_or(NO_SCHEMA)
}
