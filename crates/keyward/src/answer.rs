//! What a command has to say by its exit code.

/// What a command that could run has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
}
