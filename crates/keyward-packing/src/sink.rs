//! Where unpacked bytes go: into a buffer, or to a comparison with what is expected.

/// Takes unpacked bytes, piece by piece.
pub trait Sink {
    /// The next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Compares what comes with what is expected.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    /// What is still to come; nothing once something else came.
    left: Option<&'a [u8]>,
}

impl<'a> Comparison<'a> {
    /// Expects these bytes.
    pub(crate) fn with(expected: &'a [u8]) -> Comparison<'a> {
        Comparison { left: Some(expected) }
    }

    /// Whether all of them came and nothing else.
    pub(crate) fn is_equal(&self) -> bool {
        self.left.is_some_and(<[u8]>::is_empty)
    }
}

impl Sink for Comparison<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.left = self.left.and_then(|left| {
            let (next, left) = left.split_at_checked(bytes.len())?;
            (next == bytes).then_some(left)
        });
    }
}
