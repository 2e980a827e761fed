//! What a server shows by HTTP: its figures, and whether it is ready.
//!
//! Owns the figures as they leave the thread that serves (`board`), every family of metrics
//! (`families`), the text that Prometheus scrapes (`metrics`), and a small HTTP server
//! (`server`) on threads of its own, with limits on connections, requests and time. `alerts` has
//! the alerts that schemas declare: as rules for Prometheus, and evaluated here. `dashboard` has the page, `api` what it asks, `history` the last hour.
//!
//! Invariants: the thread that serves never waits for anybody here, and nothing is done to
//! keys. Whoever asks is a user of the server: who may send INFO may read figures.
//! Outside tests no code here can panic on what comes from outside: nothing is indexed, sliced
//! or unwrapped, which clippy holds; a panic would end the whole server where it is built to
//! abort.
//! Not here: how figures are counted (the engine), when they are published (the server).

#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::todo,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod access;
mod alerts;
mod api;
mod board;
mod budget;
mod connections;
mod dashboard;
mod exporter;
mod exposition;
mod families;
mod fuzzing;
mod grafana;
mod history;
mod info;
mod metrics;
mod reference;
mod request;
mod response;
mod server;
mod texts;
mod visit;

pub use access::Hosts;
pub use alerts::{
    AlertLog, Destination, DestinationError, RuleTest, Watch, figures_markdown, rule_tests, rules,
};
pub use board::{Board, Publisher, Reading, Writer};
pub use exporter::{INFO_FAMILIES, InfoFamily};
pub use families::{FAMILIES, Family, FamilyKind, LEVELS_US, PatternFigure};
pub use fuzzing::read_anything;
pub use grafana::grafana;
pub use reference::markdown;
pub use server::{Http, Server, Settings};
