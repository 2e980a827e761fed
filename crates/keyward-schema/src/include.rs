//! What `include` needs of the world around a schema.
//!
//! Owns the way to the files that a schema includes, as a trait: this crate
//! opens none. Who reads schemas from files implements it on them; a schema that
//! comes from elsewhere has none, and includes nothing.

use std::path::{Path, PathBuf};

/// The most `include`s that are followed in one schema.
pub const MAX_INCLUDES: usize = 64;

/// How many files may include each other in a row.
pub const MAX_INCLUDE_DEPTH: usize = 8;

/// The files that schemas may include.
pub trait Files {
    /// What two paths have in common if they lead to one file.
    fn identity(&self, path: &Path) -> PathBuf;

    /// What is in a file; of one that has more than `bytes_max`, at least one
    /// byte more than that.
    ///
    /// # Errors
    /// Says why it cannot be read.
    fn read(&self, path: &Path, bytes_max: usize) -> Result<Vec<u8>, String>;
}
