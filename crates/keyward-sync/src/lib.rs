//! Keyward's rows in PostgreSQL: the tables of a schema's sinks, and what fills them.
//!
//! Owns the statements that make tables ([`ddl`]) and bring them from one schema to another
//! ([`migration`]), the connection to the database ([`database`]) and what that lacks
//! ([`inspection`]); and the way of changes there: [`following`] reads them from a server's
//! changefeed ([`source`], [`entry`]), makes rows of them ([`row`]) and has them stored
//! exactly once ([`store`]), through the histories of a server ([`history`]); [`mending`] compares
//! mirrored rows where changes were not told, [`verification`] where somebody
//! asks; [`filling`] loads a server from the tables; `former_items` stores what was in lists before
//! they had a sink, `dropping` takes from them what is old and stored.
//! Not here: arguments and words for people (`keyward`), what a sink is (`keyward-schema`), who
//! writes the changefeed (`keyward-rules`).

pub mod database;
pub mod ddl;
mod dropping;
pub mod entry;
pub mod filling;
pub mod following;
mod former_items;
pub mod history;
pub mod inspection;
pub mod mending;
pub mod migration;
mod names;
mod own_tables;
mod pace;
pub mod row;
mod sight;
pub mod source;
mod statement;
pub mod store;
pub mod verification;
