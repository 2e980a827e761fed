//! `keyward sync` on a real PostgreSQL: rows reach their tables, each exactly once.

mod histories;
mod ledger;
mod rows;
mod stage;
mod trouble;
