//! The book: a schema, compiled.
