//! What is left of a large list: its items have an order, so those that go before their
//! turn are kept.
//!
//! Owns a description of the list as it is now, in pieces: items that were there at the
//! instant and are still to be written, others, and between them items that were there
//! and have gone. Read in order, the first and the last are what is left to write.

use super::{ELEMENT_EFFORT, sure};
use crate::values::list::{End, List};
use crate::values::packed::Item;
use keyward_rdb::{Element, OpenRow};
use std::collections::VecDeque;
use std::ops::Range;

/// Something that is about to be done to a list.
#[derive(Debug)]
pub(crate) enum ListStep {
    /// An item comes at an end.
    Push(End),
    /// An item goes from an end, if there is one.
    Pop(End),
    /// An item comes before the one of this index.
    Insert(usize),
    /// Items come that will have the indexes of this range.
    Splice(Range<usize>),
    /// The item of this index becomes another, if there is one.
    Set(usize),
    /// The items of this range go.
    Remove(Range<usize>),
}

/// Neighbours in a list.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// So many items that are not to be written: they came later, or are written.
    Others(usize),
    /// So many items that are to be written.
    Left(usize),
    /// Items that are to be written and are not in the list any more.
    Gone(VecDeque<Box<[u8]>>),
}

impl Piece {
    /// How many items of the list it stands for.
    fn len(&self) -> usize {
        match self {
            Piece::Others(count) | Piece::Left(count) => *count,
            Piece::Gone(_) => 0,
        }
    }

    /// Takes the next one in, if both are of a kind; else gives it back.
    fn join(&mut self, next: Piece) -> Option<Piece> {
        match (self, next) {
            (Piece::Others(count), Piece::Others(more))
            | (Piece::Left(count), Piece::Left(more)) => *count += more,
            (Piece::Gone(items), Piece::Gone(mut more)) => items.append(&mut more),
            (_, next) => return Some(next),
        }
        None
    }
}

/// What is left of a list.
#[derive(Debug)]
pub(super) struct ListRest {
    pieces: VecDeque<Piece>,
    gone_bytes: usize,
}

impl ListRest {
    /// All of so many items.
    pub(super) fn new(len: usize) -> ListRest {
        ListRest { pieces: VecDeque::from([Piece::Left(len)]), gone_bytes: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.gone_bytes + self.pieces.len() * size_of::<Piece>()
    }

    /// Learns what is about to be done to the list.
    pub(super) fn before(&mut self, list: &List, step: &ListStep) {
        match step {
            ListStep::Push(End::Head) => self.insert(0, Piece::Others(1)),
            ListStep::Push(End::Tail) => self.insert(self.pieces.len(), Piece::Others(1)),
            ListStep::Pop(_) if list.is_empty() => {}
            ListStep::Pop(End::Head) => self.remove(list, 0..1),
            ListStep::Pop(End::Tail) => self.remove(list, list.len() - 1..list.len()),
            ListStep::Insert(index) => {
                let at = self.cut(*index);
                self.insert(at, Piece::Others(1));
            }
            ListStep::Splice(range) => {
                let at = self.cut(range.start);
                self.insert(at, Piece::Others(range.len()));
            }
            ListStep::Set(index) if *index >= list.len() => {}
            ListStep::Set(index) => {
                self.remove(list, *index..*index + 1);
                let at = self.cut(*index);
                self.insert(at, Piece::Others(1));
            }
            ListStep::Remove(range) => self.remove(list, range.clone()),
        }
    }

    /// Makes a piece begin with the item of an index; returns its place.
    fn cut(&mut self, index: usize) -> usize {
        let mut before = 0;
        for at in 0..self.pieces.len() {
            let len = self.pieces[at].len();
            if index <= before {
                return at;
            }
            if index < before + len {
                let (head, tail) = (index - before, before + len - index);
                let (head, tail) = match self.pieces[at] {
                    Piece::Others(_) => (Piece::Others(head), Piece::Others(tail)),
                    Piece::Left(_) => (Piece::Left(head), Piece::Left(tail)),
                    Piece::Gone(_) => unreachable!("no item of the list is within it"),
                };
                self.pieces[at] = head;
                self.pieces.insert(at + 1, tail);
                return at + 1;
            }
            before += len;
        }
        self.pieces.len()
    }

    /// Puts a piece before another, or makes it part of its neighbour.
    fn insert(&mut self, at: usize, piece: Piece) {
        let before = at.checked_sub(1).and_then(|before| self.pieces.get_mut(before));
        let piece = match before {
            Some(before) => before.join(piece),
            None => Some(piece),
        };
        if let Some(mut piece) = piece {
            if let (Some(Piece::Others(count)), Piece::Others(more)) =
                (self.pieces.get_mut(at), &mut piece)
            {
                *count += *more;
            } else {
                self.pieces.insert(at, piece);
            }
        }
    }

    /// Items go: those that are to be written are kept.
    fn remove(&mut self, list: &List, range: Range<usize>) {
        let first = self.cut(range.start);
        let end = self.cut(range.end);
        let mut items = list.forward(range.start);
        let mut gone = VecDeque::new();
        for piece in self.pieces.drain(first..end) {
            match piece {
                Piece::Others(count) => drop(items.by_ref().take(count).count()),
                Piece::Left(count) => {
                    let leaving = items.by_ref().take(count).map(owned);
                    gone.extend(leaving.inspect(|item| self.gone_bytes += item.len()));
                }
                Piece::Gone(mut before) => gone.append(&mut before),
            }
        }
        let mut at = first;
        if !gone.is_empty() {
            self.pieces.insert(at, Piece::Gone(gone));
            at += 1;
        }
        self.join(at);
        self.join(first);
    }

    /// Joins a piece with the one before it, if they are of a kind.
    fn join(&mut self, at: usize) {
        if at == 0 || at >= self.pieces.len() {
            return;
        }
        if let Some(piece) = self.pieces.remove(at)
            && let Some(piece) = self.pieces[at - 1].join(piece)
        {
            self.pieces.insert(at, piece);
        }
    }

    /// Writes items; whether that was all.
    pub(super) fn step(&mut self, list: &List, part: &mut OpenRow, effort: usize) -> bool {
        let start = part.bytes();
        let mut visited = 0;
        let (mut at, mut index) = (0, 0);
        while visited + part.bytes() - start < effort {
            match self.pieces.get_mut(at) {
                None => return true,
                Some(Piece::Others(count)) => {
                    index += *count;
                    at += 1;
                }
                Some(Piece::Gone(items)) => {
                    while visited + part.bytes() - start < effort
                        && let Some(item) = items.pop_front()
                    {
                        self.gone_bytes -= item.len();
                        sure(part.output().member(Element::Bytes(&item)));
                        visited += ELEMENT_EFFORT;
                    }
                    if !items.is_empty() {
                        continue;
                    }
                    self.pieces.remove(at);
                    self.join(at);
                    (at, index) = (0, 0);
                }
                Some(Piece::Left(count)) => {
                    let count = *count;
                    let mut written = 0;
                    for item in list.forward(index).take(count) {
                        if visited + part.bytes() - start >= effort {
                            break;
                        }
                        sure(part.output().member(item.into()));
                        visited += ELEMENT_EFFORT;
                        written += 1;
                    }
                    self.pieces[at] = Piece::Left(count - written);
                    if written == count {
                        self.pieces.remove(at);
                    }
                    self.insert(at, Piece::Others(written));
                    (at, index) = (0, 0);
                }
            }
        }
        false
    }
}

fn owned(item: Item<'_>) -> Box<[u8]> {
    item.text().as_bytes().into()
}
