//! The rules of the database that a command runs in.

use crate::engine::context::Ctx;
use keyward_commands::WireError;
use keyward_rules::RuleBook;
use keyward_schema::{Schema, escape};
use std::sync::Arc;

/// What a database without a schema answers.
const NO_SCHEMA: WireError = WireError::Err("this database has no schema");

/// The rules of the database that a command runs in.
pub(crate) fn book(ctx: &Ctx<'_>) -> Result<Arc<RuleBook>, WireError> {
    ctx.keys.book_of(ctx.db).cloned().ok_or(NO_SCHEMA)
}

/// The place of the keyspace that a command names among those of its database, which may be
/// left out where there is but one.
pub(crate) fn keyspace(book: &RuleBook, name: Option<&[u8]>) -> Result<usize, WireError> {
    let mut keyspaces = book.schema().keyspaces();
    let found = match name {
        Some(name) => keyspaces.position(|keyspace| keyspace.name.as_bytes() == name),
        None => (keyspaces.count() == 1).then_some(0),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = book.schema().keyspaces().map(|own| &*own.name).collect();
        let names = escape(&names.join(", ")).into_owned();
        let text = match name {
            Some(_) => format!("ERR no such keyspace in this database, which has {names}"),
            None => format!("ERR this database has several keyspaces; name one of {names}"),
        };
        WireError::Line(text.into_bytes().into())
    })
}

/// The schema of a keyspace as it is by itself.
pub(crate) fn schema_at(book: &RuleBook, keyspace: usize) -> &Schema {
    book.schema().parts.get(keyspace).unwrap_or(book.schema())
}
