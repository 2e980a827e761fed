//! A [`Build`] that writes down what it hears.

use super::Build;
use crate::{Element, StreamPart};
use keyward_resp::number::push_f64;
use std::collections::BTreeSet;

/// What was heard, in order.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    words: Vec<Vec<u8>>,
    names: BTreeSet<Vec<u8>>,
}

impl Seen {
    /// Everything in one line, escaped.
    pub(crate) fn text(&self) -> String {
        let words = self.words.iter().map(|word| word.escape_ascii().to_string());
        words.collect::<Vec<_>>().join(" ")
    }

    fn name(&mut self, name: Element<'_>) -> bool {
        self.words.push(name.to_vec());
        self.names.insert(name.to_vec())
    }
}

impl Build for Seen {
    fn string(&mut self, text: Element<'_>) {
        self.words.push(text.to_vec());
    }

    fn element(&mut self, element: Element<'_>) {
        self.words.push(element.to_vec());
    }

    fn member(&mut self, member: Element<'_>) -> bool {
        self.name(member)
    }

    fn scored(&mut self, member: Element<'_>, score: f64) -> bool {
        let is_new = self.name(member);
        let mut digits = Vec::new();
        push_f64(&mut digits, score);
        self.words.push(digits);
        is_new
    }

    fn stream(&mut self, part: StreamPart<'_>) -> Result<(), &'static str> {
        self.words.push(format!("{part:?}").into_bytes());
        Ok(())
    }

    fn field(&mut self, field: Element<'_>, value: Element<'_>) -> bool {
        let is_new = self.name(field);
        self.words.push(value.to_vec());
        is_new
    }
}
