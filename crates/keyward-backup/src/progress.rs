//! How far a backup, its check or a restore is, for whoever wants to show it.

/// Who is told how far something is.
pub trait Progress {
    /// Something begins, of `bytes` bytes if that is known.
    fn begin(&mut self, what: &'static str, bytes: Option<u64>);

    /// `bytes` bytes of it are done.
    fn reached(&self, bytes: u64);

    /// It is over.
    fn end(&self);
}
