//! A pattern as what stands between its colons.
//!
//! The values of all kinds but `rest` and `ip` hold no colon, so the segments of a pattern up to
//! the first of these match the segments of a key one by one and independently: a placeholder
//! whose text goes on behind a colon ends before the segment does. From that segment on, a
//! pattern has a tail, which is only matched as a whole.
//! Both the matcher and the comparison of patterns rest on this; tests hold it against reading.

use super::{Element, Kind, Pattern, Placeholder};

/// What stands between the colons of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    /// Those before the tail.
    pub(crate) closed: Vec<Segment>,
    /// The elements from the segment on that holds the first `rest` or `ip`.
    pub(crate) tail: Option<Box<[Element]>>,
}

/// What stands between two colons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// These very bytes.
    Word(Box<str>),
    /// One placeholder and nothing else.
    Placeholder(usize),
    /// Placeholders with text beside them.
    Mixed(Box<[Element]>),
}

impl Segments {
    pub(super) fn of(elements: &[Element], placeholders: &[Placeholder]) -> Segments {
        let mut closed = Vec::new();
        let mut current: Vec<Element> = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            let text = match element {
                Element::Placeholder(index) if placeholders[*index].kind.may_hold_colon() => {
                    current.extend_from_slice(&elements[at..]);
                    return Segments { closed, tail: Some(current.into()) };
                }
                Element::Placeholder(_) => {
                    current.push(element.clone());
                    continue;
                }
                Element::Literal(text) => text,
            };
            for (index, piece) in text.split(':').enumerate() {
                if index > 0 {
                    closed.push(Segment::of(std::mem::take(&mut current)));
                }
                if !piece.is_empty() {
                    current.push(Element::Literal(piece.into()));
                }
            }
        }
        closed.push(Segment::of(current));
        Segments { closed, tail: None }
    }

    /// How many there are, the tail being one.
    pub(crate) fn count(&self) -> usize {
        self.closed.len() + usize::from(self.tail.is_some())
    }

    /// Whether each is a word or a placeholder, and a tail a `rest` and nothing else.
    pub(crate) fn is_plain(&self, placeholders: &[Placeholder]) -> bool {
        let is_plain = |segment: &Segment| !matches!(segment, Segment::Mixed(_));
        self.closed.iter().all(is_plain)
            && (self.tail.is_none() || self.has_plain_rest(placeholders))
    }

    /// Whether the tail is a `rest` and nothing else.
    pub(crate) fn has_plain_rest(&self, placeholders: &[Placeholder]) -> bool {
        match self.tail.as_deref() {
            Some([Element::Placeholder(index)]) => placeholders[*index].kind == Kind::Rest,
            _ => false,
        }
    }
}

impl Segment {
    fn of(mut elements: Vec<Element>) -> Segment {
        match (elements.pop(), elements.is_empty()) {
            (None, _) => Segment::Word("".into()),
            (Some(Element::Literal(text)), true) => Segment::Word(text),
            (Some(Element::Placeholder(index)), true) => Segment::Placeholder(index),
            (Some(last), false) => {
                elements.push(last);
                Segment::Mixed(elements.into())
            }
        }
    }

    /// Its elements.
    pub(crate) fn elements(&self) -> Vec<Element> {
        match self {
            Segment::Word(word) if word.is_empty() => Vec::new(),
            Segment::Word(word) => vec![Element::Literal(word.clone())],
            Segment::Placeholder(index) => vec![Element::Placeholder(*index)],
            Segment::Mixed(elements) => elements.to_vec(),
        }
    }

    /// All that it accepts if that is words: a word, or one enum and text beside it.
    pub(crate) fn words(&self, placeholders: &[Placeholder]) -> Option<Vec<String>> {
        let elements = self.elements();
        let mut words: Option<Vec<String>> = None;
        let mut before = String::new();
        for element in &elements {
            match (element, &mut words) {
                (Element::Literal(text), None) => before.push_str(text),
                (Element::Literal(text), Some(words)) => {
                    words.iter_mut().for_each(|word| word.push_str(text));
                }
                (Element::Placeholder(index), None) => match &placeholders[*index].kind {
                    Kind::Enum(own) => {
                        words = Some(own.iter().map(|word| format!("{before}{word}")).collect());
                    }
                    _ => return None,
                },
                (Element::Placeholder(_), Some(_)) => return None,
            }
        }
        Some(words.unwrap_or_else(|| vec![before]))
    }
}

impl Pattern {
    /// Of a pattern with a tail, the text that the tail begins with, if the tail is the segment of
    /// this number; none that is known for those behind it. No colon is in it.
    pub(crate) fn tail_text(&self, depth: usize) -> Option<&str> {
        let tail = self.segments.tail.as_deref()?;
        Some(match tail.first() {
            Some(Element::Literal(text)) if depth == self.segments.closed.len() => text,
            _ => "",
        })
    }

    /// Some elements of this pattern as a pattern of their own.
    pub(crate) fn part(&self, elements: &[Element]) -> Pattern {
        let parts = elements.iter().map(|element| match element {
            Element::Literal(text) => super::Part::Literal(text.clone()),
            Element::Placeholder(index) => {
                let Placeholder { name, kind } = self.placeholders[*index].clone();
                super::Part::Placeholder { name, kind }
            }
        });
        Pattern::of_parts(parts).expect("a part of a sound pattern is sound")
    }
}
