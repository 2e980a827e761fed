//! Reading a template as a declared pattern reads a key: what fills each placeholder.
//!
//! A template is a sequence of bytes with its own placeholders between them. One of these fills a
//! declared placeholder whole or not at all; text fills it as it would in a key.

use crate::pattern::{Element, Kind, Pattern, Placeholder};

/// What stands in the place of a declared placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// The template's placeholder of this index.
    Placeholder(usize),
    /// This text.
    Text(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    Placeholder(usize),
}

/// What fills each placeholder of the target, if keys of the template could be keys of the
/// target. A placeholder without a type may stand for one of any type.
pub(super) fn align(template: &Pattern, target: &Pattern) -> Option<Vec<Filling>> {
    if !begins_alike(template, target) {
        return None;
    }
    let mut tokens = Vec::new();
    for element in template.elements() {
        match element {
            Element::Literal(text) => tokens.extend(text.bytes().map(Token::Byte)),
            Element::Placeholder(index) => tokens.push(Token::Placeholder(*index)),
        }
    }
    let mut aligner = Aligner {
        template,
        target,
        left: &tokens,
        fillings: vec![Filling::Text("".into()); target.placeholders().len()],
    };
    let elements = target.elements();
    let Some(open) = target.open_element() else {
        aligner.read_forwards(elements, true)?;
        return aligner.left.is_empty().then_some(aligner.fillings);
    };
    aligner.read_forwards(&elements[..open], false)?;
    aligner.read_backwards(&elements[open + 1..])?;
    let left = aligner.left;
    aligner.take(&elements[open], left)?;
    Some(aligner.fillings)
}

/// Whether the template begins with the text that the target does: a quick no for most.
fn begins_alike(template: &Pattern, target: &Pattern) -> bool {
    match (template.elements().first(), target.elements().first()) {
        (Some(Element::Literal(own)), Some(Element::Literal(text))) => own.starts_with(&**text),
        (_, Some(Element::Literal(_))) => false,
        _ => true,
    }
}

struct Aligner<'a> {
    template: &'a Pattern,
    target: &'a Pattern,
    left: &'a [Token],
    fillings: Vec<Filling>,
}

impl<'a> Aligner<'a> {
    fn take(&mut self, element: &Element, value: &[Token]) -> Option<()> {
        let Element::Placeholder(index) = *element else { return None };
        let wanted = &self.target.placeholders()[index];
        self.fillings[index] = match value {
            [Token::Placeholder(own)] => {
                let is_meant = stands_for(&self.template.placeholders()[*own], wanted);
                is_meant.then_some(Filling::Placeholder(*own))?
            }
            _ => {
                let text = text_of(value)?;
                wanted.kind.accepts(text.as_bytes()).then_some(Filling::Text(text.into()))?
            }
        };
        Some(())
    }

    fn kind(&self, element: &Element) -> Option<&'a Kind> {
        match element {
            Element::Literal(_) => None,
            Element::Placeholder(index) => Some(&self.target.placeholders()[*index].kind),
        }
    }

    /// How many tokens a value has of which this is the nearest one, if that needs no search.
    fn length(&self, element: &Element, nearest: Option<&Token>) -> Option<usize> {
        match nearest {
            Some(Token::Placeholder(_)) => Some(1),
            _ => self.kind(element)?.fixed_length(),
        }
    }

    fn read_forwards(&mut self, elements: &[Element], is_closed: bool) -> Option<()> {
        for (at, element) in elements.iter().enumerate() {
            if let Element::Literal(text) = element {
                self.left = strip_prefix(self.left, text.as_bytes())?;
                continue;
            }
            let is_last = is_closed && at + 2 >= elements.len();
            let end = match (self.length(element, self.left.first()), elements.get(at + 1)) {
                (Some(length), _) => length,
                (None, Some(Element::Literal(text))) if is_last => {
                    self.left.len().checked_sub(text.len())?
                }
                (None, Some(Element::Literal(text))) => (0..self.left.len())
                    .find(|&at| strip_prefix(&self.left[at..], text.as_bytes()).is_some())?,
                (None, _) => self.left.len(),
            };
            let (value, left) = self.left.split_at_checked(end)?;
            self.take(element, value)?;
            self.left = left;
        }
        Some(())
    }

    fn read_backwards(&mut self, elements: &[Element]) -> Option<()> {
        for (at, element) in elements.iter().enumerate().rev() {
            if let Element::Literal(text) = element {
                let start = self.left.len().checked_sub(text.len())?;
                strip_prefix(&self.left[start..], text.as_bytes())?;
                self.left = &self.left[..start];
                continue;
            }
            let start = match (self.length(element, self.left.last()), elements.get(at - 1)) {
                (Some(length), _) => self.left.len().checked_sub(length)?,
                (None, Some(Element::Literal(text))) => {
                    let is_there =
                        |at: &usize| strip_prefix(&self.left[*at..], text.as_bytes()).is_some();
                    (0..self.left.len()).rev().find(is_there)? + text.len()
                }
                (None, _) => return None,
            };
            let (left, value) = self.left.split_at(start);
            self.take(element, value)?;
            self.left = left;
        }
        Some(())
    }
}

fn strip_prefix<'t>(tokens: &'t [Token], text: &[u8]) -> Option<&'t [Token]> {
    let (head, left) = tokens.split_at_checked(text.len())?;
    let is_same = head.iter().zip(text).all(|(token, byte)| *token == Token::Byte(*byte));
    is_same.then_some(left)
}

fn text_of(tokens: &[Token]) -> Option<String> {
    let bytes = tokens.iter().map(|token| match token {
        Token::Byte(byte) => Some(*byte),
        Token::Placeholder(_) => None,
    });
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

fn stands_for(own: &Placeholder, target: &Placeholder) -> bool {
    own.kind == Kind::Str || (own.kind.is_within(&target.kind) && target.kind.is_within(&own.kind))
}
