//! The identity of an entry: a time in milliseconds and a number within it.
//!
//! Owns the order of entries, the texts of their ids, and the step from one to the next.
//! Not here: what clients may leave out of an id (`commands::stream::ids`).

/// The longest text of an id: two numbers of twenty digits and the dash.
const TEXT_BYTES_MAX: usize = 41;

/// The identity of an entry. Entries are in the order of their ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The time of the entry, mostly, in milliseconds since the epoch.
    pub ms: u64,
    /// Its number among those of the same time.
    pub seq: u64,
}

impl StreamId {
    /// Before all others.
    pub const MIN: StreamId = StreamId { ms: 0, seq: 0 };
    /// Behind all others.
    pub const MAX: StreamId = StreamId { ms: u64::MAX, seq: u64::MAX };

    /// The id of this time and number.
    pub const fn new(ms: u64, seq: u64) -> StreamId {
        StreamId { ms, seq }
    }

    /// The id behind it, if there is one.
    pub fn next(self) -> Option<StreamId> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => self.ms.checked_add(1).map(|ms| StreamId { ms, seq: 0 }),
        }
    }

    /// The id before it, if there is one.
    pub fn previous(self) -> Option<StreamId> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => self.ms.checked_sub(1).map(|ms| StreamId { ms, seq: u64::MAX }),
        }
    }

    /// Whether it is `0-0`, which no entry has.
    pub fn is_zero(self) -> bool {
        self == StreamId::MIN
    }

    /// As files have it: sixteen bytes in the order of ids.
    pub fn to_bytes(self) -> [u8; 16] {
        self.number().to_be_bytes()
    }

    /// The id of sixteen bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> StreamId {
        let number = u128::from_be_bytes(bytes);
        StreamId { ms: (number >> 64) as u64, seq: number as u64 }
    }

    /// Both parts as one number.
    pub(crate) fn number(self) -> u128 {
        u128::from(self.ms) << 64 | u128::from(self.seq)
    }

    /// Its text, `ms-seq`.
    pub fn text(self) -> IdText {
        let mut text = IdText { bytes: [0; TEXT_BYTES_MAX], start: TEXT_BYTES_MAX };
        text.put_number(self.seq);
        text.put(b'-');
        text.put_number(self.ms);
        text
    }
}

/// The text of an id, without an allocation.
#[derive(Debug, Clone, Copy)]
pub struct IdText {
    bytes: [u8; TEXT_BYTES_MAX],
    start: usize,
}

impl IdText {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Puts a character before what is there.
    #[inline]
    fn put(&mut self, character: u8) {
        self.start -= 1;
        self.bytes[self.start] = character;
    }

    #[inline]
    fn put_number(&mut self, mut number: u64) {
        loop {
            self.put(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_step_over_the_end_of_a_millisecond() {
        let last = StreamId::new(5, u64::MAX);
        assert_eq!(last.next(), Some(StreamId::new(6, 0)));
        assert_eq!(StreamId::new(6, 0).previous(), Some(last));
        assert_eq!((StreamId::MAX.next(), StreamId::MIN.previous()), (None, None));
    }

    #[test]
    fn the_longest_id_has_its_text_and_its_bytes() {
        let text = "18446744073709551615-18446744073709551615";
        assert_eq!(StreamId::MAX.text().as_bytes(), text.as_bytes());
        let id = StreamId::new(1, 258);
        assert_eq!(StreamId::from_bytes(id.to_bytes()), id);
        assert!(StreamId::new(1, 300).to_bytes() > id.to_bytes());
    }
}
