//! TLS: certificates and keys, what is made of them, and a client's connection.
//!
//! Owns the choice of the library (rustls, with ring's ciphers), reading files of
//! certificates and keys (`files`), and turning them and the settings of redis.conf into
//! configurations (`configuration`): which versions and ciphers, who has to show a
//! certificate and whose is believed (`authority`, `version_one`), which sessions can be resumed (`resumption`). [`Client`] is
//! a blocking connection, for MIGRATE and for the command line.
//!
//! Invariant: a configuration is whole or there is none: what is in force goes on being so
//! when a file that is read anew is not sound.
//! Not here: the server's sockets and handshakes (`keyward-server`).

mod authority;
mod ciphers;
mod client;
mod configuration;
mod files;
mod resumption;
mod version_one;
mod words;

pub use client::{Client, ClientOptions};
pub use configuration::{ClientAuth, Configuration, Options, Pair, Sessions};
pub use files::TlsError;
/// The library itself, for who drives its sessions.
pub use rustls;
pub use words::in_words;
