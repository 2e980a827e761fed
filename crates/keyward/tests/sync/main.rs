//! `keyward sync` on a real PostgreSQL: rows reach their tables, each exactly once.

mod bytes;
mod constraints;
mod gaps;
mod histories;
mod items;
mod ledger;
mod loading;
mod migrations;
mod operations;
mod partitions;
mod reports;
mod retention;
mod rows;
mod sinks_that_change;
mod stage;
mod trouble;
mod unfit;
