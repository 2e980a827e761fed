//! The systems at work: a server in this process and users who come to it.
//!
//! Owns the course of a demonstration: the server starts, the ground is laid, each
//! system's load runs on a thread of its own over a connection of its own, and what
//! the server counts is shown until a signal, or the time that was set, ends it.
//! Nothing outlives it: rows are in memory only, and the directory that the server is
//! given is a temporary one.
//! What the users of a system do is one file each. `top` is the table for any server.
//! Not here: arguments, and the terminal (`Output`), which are the command line's.

mod api_billing;
mod board;
mod call;
mod calls_bot;
mod chance;
mod connection;
mod course;
mod driver;
mod error;
mod events;
mod figures;
mod load;
mod output;
mod plan;
mod server;
mod social;
mod system;
mod telegram_gateway;
mod top;

pub use course::run;
pub use error::DemoError;
pub use output::{Output, Screen};
pub use plan::{Plan, RATE_MAX};
pub use system::{SYSTEMS, System};
pub use top::{Column, Key, Pattern, Top, Wish, read_info};
