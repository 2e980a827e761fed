//! Key patterns: `user:{id}:views:{day:date}`, `celery-task-meta-{id:uuid}`.
//!
//! Owns the notation of a pattern, its parsed form, and the one way in which a key is read:
//! - A placeholder ends at the first occurrence of the text that follows it, up to the next
//!   placeholder; text that ends the pattern stands at the end of the key. Kinds of a fixed
//!   form (`uuid`, `date`, `month`, `ulid`, `text(32)`) are read by their length.
//! - One placeholder may be open, a `rest` or an `ip`: what stands behind it is read from the
//!   right, each placeholder from behind the last occurrence of the text before it, and the
//!   open one takes what is left.
//!
//! Invariants: literals and placeholders alternate; names of placeholders differ; at most
//! `MAX_SEGMENTS` segments between colons and `MAX_PLACEHOLDERS` placeholders. Keys are bytes,
//! patterns are text. A hash tag is a literal brace on either side.
//! Not here: which of two patterns wins (`relation`), finding the pattern of a key (`matcher`).

mod glob;
mod kind;
mod machine;
mod parse;
mod product;
mod reading;
mod relation;
mod segments;
mod steps;
mod tag;
mod text_kind;
mod values;

use std::fmt;

pub use kind::Kind;
pub(crate) use kind::days_in_month;
pub(crate) use parse::is_name;
pub use parse::{PatternError, PatternProblem};
pub use relation::{Relation, relate, relation_within};
pub(crate) use relation::{is_covered, relation};
pub(crate) use segments::{Segment, Segments};
pub use steps::{MAX_PAIR_STEPS, STEPS_PER_PATTERN, Steps};
pub use tag::{TagPart, hash_tag_of};
pub use text_kind::TextKind;
pub use values::Values;
pub(crate) use values::{first, last};

/// The most segments between colons that a pattern may have.
pub const MAX_SEGMENTS: usize = 16;

/// The most placeholders that a pattern may have.
pub const MAX_PLACEHOLDERS: usize = 16;

/// The longest pattern text, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
    elements: Vec<Element>,
    placeholders: Vec<Placeholder>,
    /// The element that takes what the others leave.
    open: Option<usize>,
    segments: Segments,
}

/// What a pattern is a sequence of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// These very bytes, never none.
    Literal(Box<str>),
    /// The placeholder with this index.
    Placeholder(usize),
}

/// An element by itself, from which patterns are put together.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Literal(Box<str>),
    Placeholder { name: Box<str>, kind: Kind },
}

/// A named part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// What the schema calls it.
    pub name: Box<str>,
    /// What it accepts.
    pub kind: Kind,
}

/// A pattern whose enums are spelled out.
pub(crate) struct SpelledOut {
    /// What is left of it.
    pub(crate) pattern: Pattern,
    /// The placeholders that were enums, and the word for each.
    pub(crate) words: Vec<(usize, Box<str>)>,
}

impl Pattern {
    /// The pattern of these parts, its text written in the usual way. Literals side by side
    /// become one.
    pub(crate) fn of_parts(
        parts: impl IntoIterator<Item = Part>,
    ) -> Result<Pattern, PatternProblem> {
        let mut text = String::new();
        let mut elements: Vec<Element> = Vec::new();
        let mut placeholders = Vec::new();
        for part in parts {
            match part {
                Part::Literal(literal) if literal.is_empty() => {}
                Part::Literal(literal) => {
                    text.push_str(&literal.replace('{', "{{").replace('}', "}}"));
                    match elements.last_mut() {
                        Some(Element::Literal(before)) => {
                            *before = [&**before, &*literal].concat().into();
                        }
                        _ => elements.push(Element::Literal(literal)),
                    }
                }
                Part::Placeholder { name, kind } => {
                    text.push_str(&match &kind {
                        Kind::Str => format!("{{{name}}}"),
                        kind => format!("{{{name}:{kind}}}"),
                    });
                    elements.push(Element::Placeholder(placeholders.len()));
                    placeholders.push(Placeholder { name, kind });
                }
            }
        }
        Pattern::of_elements(text.into(), elements, placeholders).map_err(|(problem, _)| problem)
    }

    /// The pattern of these elements, or what is wrong with them, at which placeholder.
    fn of_elements(
        text: Box<str>,
        elements: Vec<Element>,
        placeholders: Vec<Placeholder>,
    ) -> Result<Pattern, (PatternProblem, Option<usize>)> {
        let open = parse::open_element(&elements, &placeholders)?;
        let segments = Segments::of(&elements, &placeholders);
        if segments.count() > MAX_SEGMENTS || placeholders.len() > MAX_PLACEHOLDERS {
            return Err((PatternProblem::TooLong, None));
        }
        Ok(Pattern { text, elements, placeholders, open, segments })
    }

    /// Its parts in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        self.elements.iter().map(|element| match element {
            Element::Literal(literal) => Part::Literal(literal.clone()),
            Element::Placeholder(index) => {
                let Placeholder { name, kind } = self.placeholders[*index].clone();
                Part::Placeholder { name, kind }
            }
        })
    }

    /// Reads a pattern.
    ///
    /// # Errors
    /// Tells what is wrong and in which range of the text.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        parse::parse(text)
    }

    /// The pattern as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Literals and placeholders in order.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Whether each value is a whole segment between colons, or all segments that are left, so
    /// that a value without colons always reads back as itself.
    pub fn is_read_by_segments(&self) -> bool {
        self.segments.is_plain(&self.placeholders)
    }

    /// The element that takes what the others leave: what stands behind it is read from the right.
    pub(crate) fn open_element(&self) -> Option<usize> {
        self.open
    }

    /// What stands between its colons.
    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Its placeholders in order.
    pub fn placeholders(&self) -> &[Placeholder] {
        &self.placeholders
    }

    /// The index of the placeholder of that name.
    pub fn placeholder(&self, name: &str) -> Option<usize> {
        self.placeholders.iter().position(|placeholder| &*placeholder.name == name)
    }

    /// Whether the placeholder of this index stands in a hash tag, `{{{id}}}`.
    pub fn is_tagged(&self, index: usize) -> bool {
        let at = self.elements.iter().position(|own| *own == Element::Placeholder(index));
        let text = |at: Option<usize>| match at.and_then(|at| self.elements.get(at)) {
            Some(Element::Literal(text)) => &**text,
            _ => "",
        };
        let before = text(at.and_then(|at| at.checked_sub(1)));
        before.ends_with('{') && text(at.map(|at| at + 1)).starts_with('}')
    }

    /// Whether a key belongs to this pattern.
    ///
    /// This is the definition of matching; [`crate::Matcher`] is the fast way.
    pub fn accepts(&self, key: &[u8]) -> bool {
        values::accepts(self, key)
    }

    /// The values of the placeholders in a key, if it belongs to this pattern.
    pub fn read<'k>(&self, key: &'k [u8]) -> Option<Values<'k>> {
        values::read(self, key, true)
    }

    /// The same by the texts between the placeholders alone, for a key that is known to belong to
    /// this pattern, or need not.
    pub fn split<'k>(&self, key: &'k [u8]) -> Option<Values<'k>> {
        values::read(self, key, false)
    }

    /// Whether a key of this pattern can begin so. Never says no to one that can.
    pub fn can_begin(&self, prefix: &[u8]) -> bool {
        values::can_begin(self, prefix)
    }

    /// The pattern with every combination of its enums' words as literals;
    /// nothing if there is no enum, or more than `limit` combinations.
    pub(crate) fn spelled_out(&self, limit: usize) -> Option<Vec<SpelledOut>> {
        let enums: Vec<(usize, &[Box<str>])> = self
            .placeholders
            .iter()
            .enumerate()
            .filter_map(|(index, placeholder)| match &placeholder.kind {
                Kind::Enum(words) => Some((index, &words[..])),
                _ => None,
            })
            .collect();
        let count =
            enums.iter().try_fold(1_usize, |count, (_, words)| count.checked_mul(words.len()));
        if enums.is_empty() || count.is_none_or(|count| count > limit) {
            return None;
        }
        let mut combinations: Vec<Vec<(usize, Box<str>)>> = vec![Vec::new()];
        for (index, words) in enums {
            let with_word =
                |before: &Vec<_>, word: &str| [&before[..], &[(index, word.into())]].concat();
            combinations = combinations
                .iter()
                .flat_map(|before| words.iter().map(move |word| with_word(before, word)))
                .collect();
        }
        let spell = |words: Vec<_>| Some(SpelledOut { pattern: self.with_words(&words)?, words });
        combinations.into_iter().map(spell).collect()
    }

    /// The pattern with words in the place of some placeholders, by their index.
    fn with_words(&self, words: &[(usize, Box<str>)]) -> Option<Pattern> {
        let parts = self.parts().zip(&self.elements).map(|(part, element)| {
            let word = words.iter().find(|(index, _)| *element == Element::Placeholder(*index));
            word.map_or(part, |(_, word)| Part::Literal(word.clone()))
        });
        Pattern::of_parts(parts).ok()
    }

    /// The key that results when each placeholder has the given value.
    ///
    /// # Panics
    /// If there are fewer values than placeholders.
    pub fn fill<V: AsRef<[u8]>>(&self, values: &[V]) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.text.len());
        for element in &self.elements {
            key.extend_from_slice(match element {
                Element::Literal(literal) => literal.as_bytes(),
                Element::Placeholder(index) => values[*index].as_ref(),
            });
        }
        key
    }

    /// As [`Pattern::fill`], if the key reads back as these values.
    pub fn fill_readably<V: AsRef<[u8]>>(&self, values: &[V]) -> Option<Vec<u8>> {
        let key = self.fill(values);
        let is_same = self.read(&key)?.iter().zip(values).all(|(read, own)| *read == own.as_ref());
        is_same.then_some(key)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_whole_keys_only() {
        let check = |pattern: &str, yes: &[&str], no: &[&str]| {
            let pattern = Pattern::parse(pattern).expect(pattern);
            for key in yes {
                assert!(pattern.accepts(key.as_bytes()), "{pattern} should accept {key}");
            }
            for key in no {
                assert!(!pattern.accepts(key.as_bytes()), "{pattern} should not accept {key}");
            }
        };
        check("active", &["active"], &["", "active:", "activ", "active:x"]);
        check("user:{id}", &["user:7", "user:a b"], &["user:", "user", "user:7:x", "xuser:7"]);
        check(
            "user:{id:uint}:x",
            &["user:0:x", "user:42:x"],
            &["user:042:x", "user:-1:x", "user:+1:x"],
        );
        check("a:{r:rest}", &["a:b", "a:b:c", "a::", "a:b:"], &["a:", "a"]);
        check(
            "cart:{{{id}}}",
            &["cart:{7}", "cart:{a}"],
            &["cart:7", "cart:{}", "cart:{7", "cart:{7}:x"],
        );
        check("{{tag}}:x", &["{tag}:x"], &["tag:x"]);
        check("a::b", &["a::b"], &["a:b", "a:x:b"]);
    }

    #[test]
    fn spelling_out_combines_all_words() {
        let texts = |pattern: &str, limit| {
            let pattern = Pattern::parse(pattern).expect(pattern);
            let spelled = pattern.spelled_out(limit)?;
            Some(
                spelled
                    .into_iter()
                    .map(|spelled| spelled.pattern.text().to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let pattern = "{kind:team|news}:{id}:{what:likes|views}";
        let expected = ["team:{id}:likes", "team:{id}:views", "news:{id}:likes", "news:{id}:views"];
        assert_eq!(texts(pattern, 4), Some(expected.map(str::to_owned).to_vec()));
        assert_eq!(texts(pattern, 3), None);
        assert_eq!(texts("team:{id}", 4), None);
        assert_eq!(texts("{{x:{x:a|b}", 2), Some(vec!["{{x:a".to_owned(), "{{x:b".to_owned()]));
        assert_eq!(texts("{{{x:a|b}}}", 2), Some(vec!["{{a}}".to_owned(), "{{b}}".to_owned()]));
    }

    #[test]
    fn fill_is_the_inverse_of_matching() {
        let pattern = Pattern::parse("u:{{{id:uint}}}:{r:rest}").expect("valid");
        assert_eq!(pattern.fill(&["7", "a:b"]), b"u:{7}:a:b");
    }

    #[test]
    fn parts_write_what_they_are() {
        for text in
            ["a", "a:{x}:{y:uint}", "{{a}}:{{{x:b|c}}}", "a::{r:rest}", "{{", "x}}y:{{{id}}}"]
        {
            let pattern = Pattern::parse(text).expect(text);
            assert_eq!(Pattern::of_parts(pattern.parts()), Ok(pattern));
        }
    }
}
