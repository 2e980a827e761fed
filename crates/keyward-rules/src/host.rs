//! What every host of the rule book needs beside its rows.
//!
//! A host runs commands under a book: the engine, a server that is not ours with the module in
//! it, the model of `tests/model`. Owns what does not depend on how rows are kept: which
//! commands are treated how ([`policy`]).
//! Not here: the rules (`before`, `after`), rows.

pub mod policy;
