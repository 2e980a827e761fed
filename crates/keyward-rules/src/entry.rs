//! The fields of an entry of a stream, as hosts show them.

/// Fields and values of an entry, in the order they were given, in bytes of the host: each
/// text behind its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryFields<'a> {
    bytes: &'a [u8],
}

const LENGTH_BYTES: usize = size_of::<u64>();

impl<'a> EntryFields<'a> {
    /// Those that [`EntryFields::write`] wrote.
    pub fn of(bytes: &'a [u8]) -> EntryFields<'a> {
        EntryFields { bytes }
    }

    /// Writes names and values, which come in turn.
    pub fn write<'t>(out: &mut Vec<u8>, texts: impl Iterator<Item = &'t [u8]>) {
        for text in texts {
            out.extend_from_slice(&(text.len() as u64).to_le_bytes());
            out.extend_from_slice(text);
        }
    }

    /// The fields with their values.
    pub fn pairs(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone {
        Pairs { rest: self.bytes }
    }
}

#[derive(Clone)]
struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Pairs<'a> {
    fn text(&mut self) -> Option<&'a [u8]> {
        let (length, behind) = self.rest.split_first_chunk::<LENGTH_BYTES>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (text, behind) = behind.split_at_checked(length)?;
        self.rest = behind;
        Some(text)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        Some((self.text()?, self.text()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_order() {
        let texts: [&[u8]; 6] = [b"a", b"1", b"", b"", b"a", &[0; 300]];
        let mut bytes = Vec::new();
        EntryFields::write(&mut bytes, texts.into_iter());
        let back: Vec<&[u8]> =
            EntryFields::of(&bytes).pairs().flat_map(|(name, value)| [name, value]).collect();
        assert_eq!(back, texts);
    }
}
