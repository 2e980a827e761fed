//! The rules of the selected database.

use keyward_commands::WireError;
use keyward_rules::RuleBook;
use keyward_store::keyspace::Keyspace;
use std::sync::Arc;

/// What a database without a schema answers.
const NO_SCHEMA: WireError = WireError::Err("this database has no schema");

/// The rules of the selected database.
pub(crate) fn book(keys: &Keyspace) -> Result<Arc<RuleBook>, WireError> {
    keys.database().book().cloned().ok_or(NO_SCHEMA)
}
