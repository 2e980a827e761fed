//! Where a demonstration is shown.

use std::io;

/// The size of a screen, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// How many characters a line has.
    pub columns: usize,
    /// How many lines there are.
    pub rows: usize,
}

/// What a demonstration is written to.
pub trait Output {
    /// Writes text as it is.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write(&mut self, text: &str) -> io::Result<()>;

    /// Writes out all that was written.
    ///
    /// # Errors
    /// If it cannot be written.
    fn flush(&mut self) -> io::Result<()>;

    /// The screen that it is, if it is one on which the cursor may be moved.
    fn screen(&self) -> Option<Screen>;
}
