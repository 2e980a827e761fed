//! What a server shows by HTTP: its figures, and whether it is ready.
//!
//! Owns the figures as they leave the thread that serves (`board`), every family of metrics
//! (`families`), the text that Prometheus scrapes (`metrics`), and a small HTTP server
//! (`server`) on threads of its own, with limits on connections, requests and time. `alerts` has
//! the alerts that schemas declare: as rules for Prometheus, and evaluated here. `dashboard` has the page, `api` what it asks, `history` the last hour.
//!
//! Invariants: the thread that serves never waits for anybody here, and nothing is done to
//! keys. Whoever asks is a user of the server: who may send INFO may read figures.
//! Not here: how figures are counted (the engine), when they are published (the server).

mod access;
mod alerts;
mod api;
mod board;
mod dashboard;
mod exporter;
mod exposition;
mod families;
mod grafana;
mod history;
mod info;
mod metrics;
mod reference;
mod request;
mod response;
mod server;
mod visit;

pub use access::Hosts;
pub use alerts::{
    AlertLog, Destination, DestinationError, RuleTest, Watch, figures_markdown, rule_tests, rules,
};
pub use board::{Board, Publisher, Reading, Writer};
pub use exporter::{INFO_FAMILIES, InfoFamily};
pub use families::{FAMILIES, Family, FamilyKind, LEVELS_US, PatternFigure};
pub use grafana::grafana;
pub use reference::markdown;
pub use server::{Http, Server, Settings};
