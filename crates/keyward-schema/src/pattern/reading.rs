//! Reading a key as finite automata: one over what is read from the left, one over what is read
//! from the right.
//!
//! Both are the same construction on a chain of elements, mirrored for the right. A state is an
//! element, the state of its kind's machine over what is surely value, and how much of the text
//! behind it has been matched (Knuth, Morris and Pratt): bytes of a text that came to nothing
//! are value after all.

use std::collections::HashMap;

use super::machine::{Alphabet, Machine, explore};
use super::steps::{Steps, TooLarge};
use super::{Element, Kind, Pattern};

/// A pattern as automata.
pub(super) struct Reading {
    /// From the left, up to the open placeholder and through it.
    pub(super) left: Machine,
    /// From the right, up to the open placeholder; nothing if there is none, or it is last.
    pub(super) right: Option<Right>,
}

/// What is read from the right, so that it can be followed from the left: from a state, those
/// that lead there.
pub(super) struct Right {
    /// The state in which all behind the open placeholder has been read.
    pub(super) done: u32,
    /// The state in which it cannot be read.
    pub(super) dead: u32,
    /// By class and state, the states that lead there.
    sources: Vec<Vec<Vec<u32>>>,
}

impl Right {
    /// The state at the right end of the key.
    pub(super) const START: u32 = 0;

    pub(super) fn state_count(&self) -> u32 {
        self.dead + 1
    }

    pub(super) fn sources(&self, state: u32, class: usize) -> &[u32] {
        &self.sources[class][state as usize]
    }
}

impl Reading {
    pub(super) fn of(
        pattern: &Pattern,
        alphabet: &Alphabet,
        steps: &Steps,
    ) -> Result<Reading, TooLarge> {
        let elements = &pattern.elements[..];
        let Some(open) = pattern.open else {
            let left = Chain::of(pattern, elements, false).machine(alphabet, true, steps)?;
            return Ok(Reading { left, right: None });
        };
        let left = Chain::of(pattern, &elements[..=open], false).machine(alphabet, true, steps)?;
        let behind = &elements[open + 1..];
        let right = match behind.is_empty() {
            true => None,
            false => {
                let machine = Chain::of(pattern, behind, true).machine(alphabet, false, steps)?;
                Some(backwards(&machine, alphabet.samples().len()))
            }
        };
        Ok(Reading { left, right })
    }
}

/// Turns the arrows of a machine round.
fn backwards(machine: &Machine, class_count: usize) -> Right {
    let count = machine.accepting.len() as u32;
    let dead = count;
    let done = machine.accepting.iter().position(|end| *end).expect("something can be read");
    let mut sources = vec![vec![Vec::new(); count as usize + 1]; class_count];
    for (class, sources) in sources.iter_mut().enumerate() {
        for state in 0..count {
            let next = machine.next(state, class as u16).unwrap_or(dead);
            sources[next as usize].push(state);
        }
        sources[dead as usize].push(dead);
    }
    Right { done: done as u32, dead, sources }
}

/// Elements in the order in which they are read.
struct Chain<'p> {
    items: Vec<Item<'p>>,
    is_reversed: bool,
}

enum Item<'p> {
    Text(Vec<u8>),
    /// A kind that is read by its length.
    Fixed {
        kind: &'p Kind,
        length: u16,
    },
    /// A kind that ends where its text begins, or with the key.
    Open {
        kind: &'p Kind,
        text: Option<Text>,
    },
}

struct Text {
    bytes: Vec<u8>,
    /// How long a beginning of the text also ends what is matched of it, by the number of bytes.
    borders: Vec<u16>,
    /// Whether the text ends the key, rather than being looked for.
    is_last: bool,
}

/// What has been read; the end of the chain is an item too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Spot {
    item: u16,
    kind: u32,
    matched: u16,
}

impl<'p> Chain<'p> {
    fn of(pattern: &'p Pattern, elements: &[Element], is_reversed: bool) -> Chain<'p> {
        let mut order: Vec<&Element> = elements.iter().collect();
        let bytes = |text: &str| -> Vec<u8> {
            let bytes = text.bytes();
            if is_reversed { bytes.rev().collect() } else { bytes.collect() }
        };
        if is_reversed {
            order.reverse();
        }
        let count = order.len();
        let mut items = Vec::new();
        let mut order = order.into_iter().enumerate().peekable();
        while let Some((_, element)) = order.next() {
            let kind = match element {
                Element::Literal(text) => {
                    items.push(Item::Text(bytes(text)));
                    continue;
                }
                Element::Placeholder(index) => &pattern.placeholders[*index].kind,
            };
            if let Some(length) = kind.fixed_length() {
                items.push(Item::Fixed { kind, length: length as u16 });
                continue;
            }
            let text = match order.next_if(|(_, next)| matches!(next, Element::Literal(_))) {
                Some((at, Element::Literal(text))) => {
                    Some(Text::of(bytes(text), at + 1 == count && !is_reversed))
                }
                _ => None,
            };
            items.push(Item::Open { kind, text });
        }
        Chain { items, is_reversed }
    }

    /// The automaton; behind the end of a chain nothing follows, or anything.
    fn machine(
        &self,
        alphabet: &Alphabet,
        is_closed: bool,
        steps: &Steps,
    ) -> Result<Machine, TooLarge> {
        let machines = self.machines(alphabet, steps)?;
        let end = self.items.len() as u16;
        let start = Spot { item: 0, kind: 0, matched: 0 };
        explore(
            steps,
            start,
            |spot| match self.items.get(usize::from(spot.item)) {
                None => true,
                Some(Item::Open { text, .. }) if is_closed => {
                    let machine = &machines[&spot.item];
                    let is_read = match text {
                        None => true,
                        Some(text) => text.is_last && usize::from(spot.matched) == text.bytes.len(),
                    };
                    is_read && machine.accepting[spot.kind as usize]
                }
                Some(_) => false,
            },
            |spot, class| match (spot.item == end, is_closed) {
                (true, true) => None,
                (true, false) => Some(*spot),
                (false, _) => self.step(&machines, *spot, class as u16, alphabet),
            },
            alphabet.samples().len(),
        )
    }

    /// The machine of each placeholder, by its item.
    fn machines(
        &self,
        alphabet: &Alphabet,
        steps: &Steps,
    ) -> Result<HashMap<u16, Machine>, TooLarge> {
        let of_kind = |kind: &Kind| {
            let machine = Machine::of(kind, alphabet, steps)?;
            if self.is_reversed { machine.reversed(steps) } else { Ok(machine) }
        };
        let items = self.items.iter().enumerate();
        items
            .filter_map(|(item, own)| match own {
                Item::Text(_) => None,
                Item::Fixed { kind, .. } | Item::Open { kind, .. } => {
                    Some(of_kind(kind).map(|machine| (item as u16, machine)))
                }
            })
            .collect()
    }

    fn step(
        &self,
        machines: &HashMap<u16, Machine>,
        spot: Spot,
        class: u16,
        alphabet: &Alphabet,
    ) -> Option<Spot> {
        let next_item = Spot { item: spot.item + 1, kind: 0, matched: 0 };
        match &self.items[usize::from(spot.item)] {
            Item::Text(text) => {
                let matched = spot.matched + 1;
                if alphabet.class(text[usize::from(spot.matched)]) != class {
                    return None;
                }
                let is_whole = usize::from(matched) == text.len();
                Some(if is_whole { next_item } else { Spot { matched, ..spot } })
            }
            Item::Fixed { length, .. } => {
                let machine = &machines[&spot.item];
                let kind = machine.next(spot.kind, class)?;
                let matched = spot.matched + 1;
                match matched == *length {
                    true => machine.accepting[kind as usize].then_some(next_item),
                    false => Some(Spot { kind, matched, ..spot }),
                }
            }
            Item::Open { text: None, .. } => {
                Some(Spot { kind: machines[&spot.item].next(spot.kind, class)?, ..spot })
            }
            Item::Open { text: Some(text), .. } => {
                let machine = &machines[&spot.item];
                let (kind, matched) = text.step(machine, spot, class, alphabet)?;
                match usize::from(matched) == text.bytes.len() && !text.is_last {
                    true => machine.accepting[kind as usize].then_some(next_item),
                    false => Some(Spot { kind, matched, ..spot }),
                }
            }
        }
    }
}

impl Text {
    fn of(bytes: Vec<u8>, is_last: bool) -> Text {
        let mut borders = vec![0, 0];
        for at in 1..bytes.len() {
            let mut border = borders[at];
            while border > 0 && bytes[usize::from(border)] != bytes[at] {
                border = borders[usize::from(border)];
            }
            borders.push(border + u16::from(bytes[usize::from(border)] == bytes[at]));
        }
        Text { bytes, borders, is_last }
    }

    /// The state of the kind's machine and how much of the text is matched, a byte on.
    fn step(
        &self,
        machine: &Machine,
        spot: Spot,
        class: u16,
        alphabet: &Alphabet,
    ) -> Option<(u32, u16)> {
        let (mut kind, mut matched) = (spot.kind, spot.matched);
        loop {
            let next = self.bytes.get(usize::from(matched));
            if next.is_some_and(|next| alphabet.class(*next) == class) {
                return Some((kind, matched + 1));
            }
            if matched == 0 {
                return Some((machine.next(kind, class)?, 0));
            }
            let border = self.borders[usize::from(matched)];
            for byte in &self.bytes[..usize::from(matched - border)] {
                kind = machine.next(kind, alphabet.class(*byte))?;
            }
            matched = border;
        }
    }
}
