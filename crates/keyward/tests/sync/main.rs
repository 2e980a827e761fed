//! `keyward sync` on a real PostgreSQL: rows reach their tables, each exactly once.

mod gaps;
mod histories;
mod items;
mod ledger;
mod loading;
mod migrations;
mod operations;
mod reports;
mod rows;
mod stage;
mod trouble;
mod unfit;
