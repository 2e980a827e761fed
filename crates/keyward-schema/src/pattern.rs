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
    /// Its text.
    pub(crate) text: String,
    /// The placeholders that were enums, and the word for each.
    pub(crate) words: Vec<(usize, Box<str>)>,
}

impl Pattern {
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

    /// The pattern with every combination of its enums' words as literals;
    /// nothing if there is no enum, or more than `limit` combinations.
    pub(crate) fn spelled_out(&self, limit: usize) -> Option<Vec<SpelledOut>> {
        let mut spelled = vec![SpelledOut { text: self.text.to_string(), words: Vec::new() }];
        for (index, placeholder) in self.placeholders.iter().enumerate() {
            let Kind::Enum(words) = &placeholder.kind else { continue };
            if spelled.len().saturating_mul(words.len()) > limit {
                return None;
            }
            let written = format!("{{{}:", placeholder.name);
            let with_word = |before: &SpelledOut, word: &str| {
                let start = before.text.find(&written)?;
                let end = start + before.text[start..].find('}')? + 1;
                let text = format!("{}{word}{}", &before.text[..start], &before.text[end..]);
                let mut words = before.words.clone();
                words.push((index, word.into()));
                Some(SpelledOut { text, words })
            };
            spelled = spelled
                .iter()
                .flat_map(|before| words.iter().filter_map(|word| with_word(before, word)))
                .collect();
        }
        (!spelled[0].words.is_empty()).then_some(spelled)
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
            Some(spelled.into_iter().map(|spelled| spelled.text).collect::<Vec<_>>())
        };
        let pattern = "{kind:team|news}:{id}:{what:likes|views}";
        let expected = ["team:{id}:likes", "team:{id}:views", "news:{id}:likes", "news:{id}:views"];
        assert_eq!(texts(pattern, 4), Some(expected.map(str::to_owned).to_vec()));
        assert_eq!(texts(pattern, 3), None);
        assert_eq!(texts("team:{id}", 4), None);
        assert_eq!(texts("{{{x:a|b}}}", 2), Some(vec!["{{a}}".to_owned(), "{{b}}".to_owned()]));
    }

    #[test]
    fn fill_is_the_inverse_of_matching() {
        let pattern = Pattern::parse("u:{{{id:uint}}}:{r:rest}").expect("valid");
        assert_eq!(pattern.fill(&["7", "a:b"]), b"u:{7}:a:b");
    }
}
