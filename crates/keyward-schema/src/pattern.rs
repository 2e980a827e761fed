//! Key patterns: `user:{id}:views:{day:date}`.
//!
//! Owns the notation of a pattern and its parsed form: segments between
//! colons, each a literal or one placeholder. Invariants: at least one
//! segment; names of placeholders differ; `rest` stands last; at most
//! `MAX_SEGMENTS` segments. Keys are bytes, patterns are text.
//! Not here: which of two patterns wins (`relation`), finding the pattern of
//! a key (`matcher`).

mod kind;
mod parse;
mod relation;

use std::fmt;

pub use kind::Kind;
pub(crate) use kind::days_in_month;
pub(crate) use parse::is_name;
pub use parse::{PatternError, PatternProblem};
pub(crate) use relation::relation;
pub use relation::{Relation, relate};

/// The most segments a pattern may have.
pub const MAX_SEGMENTS: usize = 16;

/// The longest pattern text, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
    segments: Vec<Segment>,
    placeholders: Vec<Placeholder>,
}

/// What stands between two colons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// These very bytes.
    Literal(Box<str>),
    /// The placeholder with this index.
    Placeholder(usize),
}

/// A segment by itself, from which patterns are put together.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Literal(Box<str>),
    Placeholder { name: Box<str>, kind: Kind, tagged: bool },
}

/// A named part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// What the schema calls it.
    pub name: Box<str>,
    /// What it accepts.
    pub kind: Kind,
    /// Whether it stands in a hash tag, `{{{id}}}`: in the key it is wrapped
    /// in braces, which are no part of its value.
    pub tagged: bool,
    /// Which segment it is.
    pub segment: usize,
}

/// A pattern whose enums are spelled out.
pub(crate) struct SpelledOut {
    /// What is left of it.
    pub(crate) pattern: Pattern,
    /// The placeholders that were enums, and the word for each.
    pub(crate) words: Vec<(usize, Box<str>)>,
}

impl Pattern {
    /// The pattern of these parts, its text written in the usual way.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = Part>) -> Pattern {
        let mut text = String::new();
        let mut segments = Vec::new();
        let mut placeholders = Vec::new();
        for part in parts {
            if !segments.is_empty() {
                text.push(':');
            }
            match part {
                Part::Literal(literal) => {
                    text.push_str(&literal.replace('{', "{{").replace('}', "}}"));
                    segments.push(Segment::Literal(literal));
                }
                Part::Placeholder { name, kind, tagged } => {
                    let (open, close) = if tagged { ("{{{", "}}}") } else { ("{", "}") };
                    text.push_str(&match &kind {
                        Kind::Str => format!("{open}{name}{close}"),
                        kind => format!("{open}{name}:{kind}{close}"),
                    });
                    let segment = segments.len();
                    segments.push(Segment::Placeholder(placeholders.len()));
                    placeholders.push(Placeholder { name, kind, tagged, segment });
                }
            }
        }
        Pattern { text: text.into(), segments, placeholders }
    }

    /// Its parts in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        self.segments.iter().map(|segment| match segment {
            Segment::Literal(literal) => Part::Literal(literal.clone()),
            Segment::Placeholder(index) => {
                let Placeholder { name, kind, tagged, .. } = self.placeholders[*index].clone();
                Part::Placeholder { name, kind, tagged }
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

    /// Its segments in order.
    pub fn segments(&self) -> &[Segment] {
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

    /// Whether the last placeholder takes the whole rest of a key.
    pub fn ends_in_rest(&self) -> bool {
        self.placeholders.last().is_some_and(|last| last.kind == Kind::Rest)
    }

    /// Whether a key belongs to this pattern, tried segment by segment.
    ///
    /// This is the definition of matching; [`crate::Matcher`] is the fast way.
    pub fn accepts(&self, key: &[u8]) -> bool {
        let limit = if self.ends_in_rest() { self.segments.len() } else { usize::MAX };
        let mut parts = key.splitn(limit, |&byte| byte == b':');
        let fits = self.segments.iter().all(|segment| {
            parts.next().is_some_and(|part| match segment {
                Segment::Literal(literal) => literal.as_bytes() == part,
                Segment::Placeholder(index) => self.placeholders[*index].accepts(part),
            })
        });
        fits && parts.next().is_none()
    }

    /// Whether a key of this pattern can begin so. Never says no to one that can.
    pub fn can_begin(&self, prefix: &[u8]) -> bool {
        let mut parts = prefix.split(|&byte| byte == b':').peekable();
        for segment in &self.segments {
            let Some(part) = parts.next() else { return true };
            let is_cut = parts.peek().is_none();
            let fits = match segment {
                Segment::Literal(literal) if is_cut => literal.as_bytes().starts_with(part),
                Segment::Literal(literal) => literal.as_bytes() == part,
                Segment::Placeholder(index) => {
                    let placeholder = &self.placeholders[*index];
                    if placeholder.kind == Kind::Rest {
                        return true;
                    }
                    is_cut || placeholder.accepts(part)
                }
            };
            if !fits {
                return false;
            }
        }
        parts.next().is_none()
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
        let spell = |words: Vec<_>| SpelledOut { pattern: self.with_words(&words), words };
        Some(combinations.into_iter().map(spell).collect())
    }

    /// The pattern with words in the place of some placeholders, by their index.
    fn with_words(&self, words: &[(usize, Box<str>)]) -> Pattern {
        Pattern::of_parts(self.parts().zip(&self.segments).map(|(part, segment)| {
            let word = words.iter().find(|(index, _)| *segment == Segment::Placeholder(*index));
            match (word, part) {
                (None, part) => part,
                (Some((_, word)), Part::Placeholder { tagged: true, .. }) => {
                    Part::Literal(format!("{{{word}}}").into())
                }
                (Some((_, word)), _) => Part::Literal(word.clone()),
            }
        }))
    }

    /// The key that results when each placeholder has the given value.
    ///
    /// # Panics
    /// If there are fewer values than placeholders.
    pub fn fill<V: AsRef<[u8]>>(&self, values: &[V]) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.text.len());
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 {
                key.push(b':');
            }
            match segment {
                Segment::Literal(literal) => key.extend_from_slice(literal.as_bytes()),
                Segment::Placeholder(index) => {
                    let tagged = self.placeholders[*index].tagged;
                    key.extend(tagged.then_some(b'{'));
                    key.extend_from_slice(values[*index].as_ref());
                    key.extend(tagged.then_some(b'}'));
                }
            }
        }
        key
    }
}

impl Placeholder {
    /// Whether a segment of a key fits, the braces of a hash tag included.
    pub fn accepts(&self, part: &[u8]) -> bool {
        if !self.tagged {
            return self.kind.accepts(part);
        }
        match part {
            [b'{', inner @ .., b'}'] => self.kind.accepts(inner),
            _ => false,
        }
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
            assert_eq!(Pattern::of_parts(pattern.parts()), pattern);
        }
    }
}
