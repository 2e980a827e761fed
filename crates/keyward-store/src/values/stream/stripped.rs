//! Stripped nodes: full nodes without what follows from the rest.
//!
//! A listpack is readable from both ends, for which each element repeats its length and each
//! entry its number of elements; a node that gets no more entries needs neither. What is left
//! are the codes of its elements, which are read where they lie (`listpack::Codes`), from the
//! start on; who reads backwards looks for the entries of a node first. Who needs the listpack,
//! a file or a payload, gets it made anew, byte for byte; who changes a node completes it, and
//! it stays so.
//!
//! Estimate: of an entry of five values 10 bytes of some 57 go, and a node of 4,096 bytes needs
//! 3,584, of which the allocator puts eight side by side. Stripping one takes some 37,000
//! instructions (bench/RESULTS.md), of which each of its 70 entries has its share.
//!
//! Invariants: a stripped node has no removed entries, so that none has to be completed for
//! each one that is removed, and its neighbour tells where its ids end. It is of a listpack of
//! at most `LISTPACK_BYTES_MAX` bytes, and in a smaller class of the allocator.

use super::id::StreamId;
use super::listpack::{self, Codes, HEAD_BYTES};
use super::node::{Entry, Head, Node};
use crate::values::size_class::size_class;
use std::borrow::Cow;
use std::num::NonZeroU32;

/// The longest listpack that is stripped: what may take a fraction of a millisecond.
pub(super) const LISTPACK_BYTES_MAX: usize = 64 * 1024;

impl Node {
    /// A node of a listpack that was checked; stripped, if it can be and is smaller then.
    pub(super) fn closed(listpack: &[u8]) -> Node {
        Node::stripped_of(listpack).unwrap_or_else(|| Node::of(listpack))
    }

    /// The same stripped, if it is not and is smaller then.
    pub(super) fn stripped(&self) -> Option<Node> {
        if self.codes().is_stripped() { None } else { Node::stripped_of(&self.bytes) }
    }

    fn stripped_of(listpack: &[u8]) -> Option<Node> {
        let mut node = Node::strip(listpack)?;
        if size_class(node.bytes.len()) >= size_class(listpack.len()) {
            return None;
        }
        node.bytes.shrink_to_fit();
        Some(node)
    }

    /// The node of a listpack stripped, if it can be, in more room than it needs.
    fn strip(listpack: &[u8]) -> Option<Node> {
        // A number of elements that is not told would be told by what is made anew.
        listpack::elements(listpack)?;
        let codes = Codes::whole(listpack);
        let head = Head::of(codes);
        if listpack.len() > LISTPACK_BYTES_MAX || head.dead > 0 {
            return None;
        }
        let mut out = Vec::with_capacity(listpack.len());
        let mut at = codes.strip_to(&mut out, codes.start(), head.elements());
        while at < codes.end() {
            let elements = Entry::read(codes, &head, StreamId::MIN, at).elements();
            at = codes.strip_to(&mut out, at, elements);
            let (code, length) = listpack::number_code(elements as i64);
            if !listpack[at..].starts_with(&code[..length]) {
                // Another program wrote it in a longer form.
                return None;
            }
            at += length;
        }
        let listpack_bytes = NonZeroU32::new(listpack.len() as u32);
        Some(Node { bytes: out, listpack_bytes })
    }

    /// How many bytes the listpack has.
    #[inline]
    pub(super) fn listpack_bytes(&self) -> usize {
        self.listpack_bytes.map_or(self.bytes.len(), |bytes| bytes.get() as usize)
    }

    /// The listpack, as Redis has it.
    pub(super) fn listpack(&self) -> Cow<'_, [u8]> {
        if self.codes().is_stripped() {
            Cow::Owned(self.made_anew())
        } else {
            Cow::Borrowed(&self.bytes)
        }
    }

    /// Makes a listpack of a stripped node.
    #[inline]
    pub(super) fn complete(&mut self) {
        if self.codes().is_stripped() {
            (self.bytes, self.listpack_bytes) = (self.made_anew(), None);
        }
    }

    /// The listpack of a stripped node.
    fn made_anew(&self) -> Vec<u8> {
        let codes = self.codes();
        let head = Head::of(codes);
        let mut out = Vec::with_capacity(size_class(self.listpack_bytes()));
        out.extend_from_slice(&[0; HEAD_BYTES]);
        let mut count = head.elements();
        let mut at = codes.complete_to(&mut out, codes.start(), count);
        while at < codes.end() {
            let elements = Entry::read(codes, &head, StreamId::MIN, at).elements();
            at = codes.complete_to(&mut out, at, elements);
            listpack::push_number(&mut out, elements as i64);
            count += elements + 1;
        }
        out.push(listpack::END);
        let head = listpack::head(out.len(), Some(count));
        out[..HEAD_BYTES].copy_from_slice(&head);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::checked::Damage;
    use super::*;
    use crate::values::packed::Item;
    use proptest::prelude::*;

    const ID: StreamId = StreamId { ms: 1 << 40, seq: 7 };

    /// A node of these entries, each fields and values in turn, a millisecond apart.
    fn node(entries: &[Vec<Vec<u8>>]) -> Node {
        let texts = |entry: usize| entries[entry].iter().map(Vec::as_slice);
        let mut node = Node::new(texts(0));
        for entry in 0..entries.len() {
            let id = StreamId { ms: ID.ms + (1 << entry.min(40)), seq: entry as u64 };
            node.append(ID, id, texts(entry));
        }
        node
    }

    /// What reads of a node: ids, fields and values, forwards and backwards, and from the
    /// entry in the middle on.
    fn read(node: &Node) -> [Vec<String>; 3] {
        let words = |entry: Entry<'_>| {
            let text = |item: Item<'_>| item.text().as_bytes().escape_ascii().to_string();
            let pairs = entry.pairs().map(|(name, value)| [text(name), text(value)].join("="));
            format!("{:?} {} {:?}", entry.id, entry.len(), pairs.collect::<Vec<_>>())
        };
        let ids: Vec<StreamId> = node.forward(ID).map(|entry| entry.id).collect();
        let middle = ids[ids.len() / 2];
        [
            node.forward(ID).map(words).collect(),
            node.backward(ID, StreamId::MAX).map(words).collect(),
            node.backward(ID, middle).filter(|entry| entry.id <= middle).map(words).collect(),
        ]
    }

    /// A stripped node is the same to readers, and its listpack is what it was.
    fn check(whole: &Node) -> Result<Node, TestCaseError> {
        let stripped = Node::strip(&whole.bytes);
        let stripped = stripped.ok_or_else(|| TestCaseError::fail("it can be stripped"))?;
        prop_assert!(stripped.stripped().is_none(), "it is already");
        let is_smaller = size_class(stripped.bytes.len()) < size_class(whole.bytes.len());
        prop_assert_eq!(whole.stripped().is_some(), is_smaller);
        prop_assert_eq!(read(&stripped), read(whole));
        prop_assert_eq!(stripped.listpack_bytes(), whole.bytes.len());
        prop_assert!(stripped.listpack() == whole.listpack());
        prop_assert_eq!(stripped.counts(), whole.counts());
        let mut completed = stripped.clone();
        completed.complete();
        prop_assert!(completed.bytes == whole.bytes);
        prop_assert_eq!(completed.bytes.capacity(), size_class(whole.bytes.len()));
        Ok(stripped)
    }

    /// Two fields, of texts of every form of a listpack in turn.
    #[test]
    fn texts_and_numbers_of_every_form_are_made_anew() {
        let lengths = [0, 1, 63, 64, 125, 126, 127, 128, 4095, 4096, 16_377, 16_378, 16_379];
        let mut texts: Vec<Vec<u8>> = lengths.iter().map(|length| vec![b'x'; *length]).collect();
        let numbers = (0..64).flat_map(|shift| [i64::MAX >> shift, i64::MIN >> shift]);
        texts.extend(numbers.map(|number| number.to_string().into_bytes()));
        for text in &texts {
            let same = [b"one".to_vec(), text.clone(), b"two".to_vec(), b"v".to_vec()];
            let other = [text.clone(), b"3".to_vec()];
            check(&node(&[same.to_vec(), other.to_vec(), same.to_vec()])).expect("it is the same");
        }
    }

    #[test]
    fn an_entry_of_very_many_fields_is_made_anew() {
        let entry: Vec<Vec<u8>> = (0..2_000).map(|n: u32| n.to_string().into_bytes()).collect();
        let stripped = check(&node(&[entry.clone(), entry[..8].to_vec()])).expect("it is the same");
        assert_eq!(stripped.forward(ID).next().map(|entry| entry.len()), Some(1_000));
    }

    #[test]
    fn nodes_that_are_long_or_have_removed_entries_or_longer_forms_stay_whole() {
        let entries = |count: usize| vec![vec![b"name".to_vec(), b"value".to_vec()]; count];
        let mut some = node(&entries(20));
        let stripped = some.stripped().expect("it is smaller");
        assert_eq!(stripped.bytes.capacity(), stripped.bytes.len(), "it has no room to spare");
        let listpack = some.listpack().into_owned();
        some.kill(ID, StreamId { ms: ID.ms + 2, seq: 1 });
        assert!(some.stripped().is_none(), "an entry was removed");

        let checked =
            |listpack: &[u8]| -> Result<Node, Damage> { Ok(Node::checked(ID, listpack)?.0) };
        assert!(checked(&listpack).expect("it is whole").codes().is_stripped());
        let mut untold = listpack.clone();
        untold[4..HEAD_BYTES].copy_from_slice(&[0xff; 2]);
        let untold = checked(&untold).expect("that is not told of long ones either");
        assert!(!untold.codes().is_stripped(), "the number of elements is not told");
        // The last entry says by two bytes that it has four elements.
        let end = listpack.len() - 3;
        assert_eq!(listpack[end..], [4, 1, 0xff]);
        let mut longer = [&listpack[..end], &[0xc0, 4, 2, 0xff]].concat();
        let bytes = longer.len() as u32;
        longer[..4].copy_from_slice(&bytes.to_le_bytes());
        let node_of_longer = checked(&longer).expect("other programs may write it");
        assert!(!node_of_longer.codes().is_stripped());
        assert!(node_of_longer.listpack() == longer);

        let long = node(&entries(LISTPACK_BYTES_MAX / 10));
        assert!(long.bytes.len() > LISTPACK_BYTES_MAX);
        assert!(long.stripped().is_none(), "that would take too long");
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => proptest::collection::vec(any::<u8>(), 0..20),
            1 => proptest::collection::vec(any::<u8>(), 60..140),
            2 => any::<i64>().prop_map(|number| number.to_string().into_bytes()),
            2 => (-5000i64..5000).prop_map(|number| number.to_string().into_bytes()),
        ]
    }

    proptest! {
        #[test]
        fn stripped_nodes_read_as_whole_ones(
            names in proptest::collection::vec(text(), 1..4),
            entries in proptest::collection::vec(
                (any::<bool>(), proptest::collection::vec((text(), text()), 1..5)), 3..40),
        ) {
            let entries: Vec<Vec<Vec<u8>>> = entries.into_iter().map(|(is_same, pairs)| {
                if is_same {
                    let values = pairs.into_iter().map(|(_, value)| value).cycle();
                    names.iter().cloned().zip(values).flat_map(|(n, v)| [n, v]).collect()
                } else {
                    pairs.into_iter().flat_map(|(name, value)| [name, value]).collect()
                }
            }).collect();
            check(&node(&entries))?;
        }

        /// What a file or a payload says is either refused or given back byte for byte.
        #[test]
        fn checked_nodes_give_their_listpack_back(at in 0usize..400, byte: u8) {
            let entry = |n: u8| vec![b"name".to_vec(), vec![b'v'; n.into()], b"n".to_vec(), vec![n]];
            let mut listpack = node(&(1..20).map(entry).collect::<Vec<_>>()).bytes;
            let at = at % listpack.len();
            listpack[at] = byte;
            if let Ok((node, _)) = Node::checked(ID, &listpack) {
                prop_assert!(node.listpack() == listpack);
                read(&node);
            }
        }
    }
}
