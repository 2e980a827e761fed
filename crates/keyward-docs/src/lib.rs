//! What people and editors see of a schema: documents, findings as pictures, a JSON Schema
//! that completes and checks files while they are written.
//!
//! Owns all that renders, with its dependencies, so that what only judges keys and commands
//! needs none of them. Invariant: a function from a schema, or a file and its findings, to
//! text.
//! Not here: the sentences about keys (`keyward_schema::facts`), which explanations of
//! commands share; reading and writing files.

mod document;
pub mod editor;
mod example;
pub mod render;
pub mod rights;

pub use document::{html, markdown};
pub use example::Examples;
