//! Reading a pattern's text.
//!
//! Grammar: literal text, in which `{{` and `}}` stand for braces, and between it
//! placeholders: `{name}`, `{name:type}`, `{name:a|b}`. So `{{{name}}}` is a placeholder in the
//! braces of a hash tag.

use std::ops::Range;

use super::{Element, Kind, MAX_PATTERN_BYTES, Pattern, Placeholder, TextKind};

/// A pattern that cannot be read: what is wrong, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong.
    pub problem: PatternProblem,
    /// Which bytes of the pattern it concerns.
    pub range: Range<usize>,
}

/// What can be wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternProblem {
    /// There is no text.
    Empty,
    /// More than `MAX_PATTERN_BYTES`, `MAX_SEGMENTS` or `MAX_PLACEHOLDERS`.
    TooLong,
    /// `{` without `}`.
    Unclosed,
    /// `}` without `{`.
    StrayBrace,
    /// A placeholder right behind another one.
    SideBySide,
    /// A name that is not letters, digits and underscores.
    BadName,
    /// A type that does not exist.
    UnknownKind(String),
    /// What is in the parentheses of `text(…)` is no alphabet and no length.
    BadText,
    /// An enum with an empty, repeated or impossible word.
    BadEnum,
    /// A word of an enum that holds the text where the placeholder ends.
    UnreadableWord {
        /// The word.
        word: String,
        /// The text.
        text: String,
    },
    /// A name that was used before.
    Repeated(String),
    /// A `rest` where an earlier one takes what is left.
    SecondRest,
    /// An address beside text that an address can contain, where another placeholder takes
    /// what is left.
    AddressBesideText(String),
}

type Found = (PatternProblem, Option<usize>);

pub(super) fn parse(text: &str) -> Result<Pattern, PatternError> {
    let whole = 0..text.len();
    if text.is_empty() {
        return Err(PatternError { problem: PatternProblem::Empty, range: whole });
    }
    if text.len() > MAX_PATTERN_BYTES {
        return Err(PatternError { problem: PatternProblem::TooLong, range: whole });
    }
    let mut draft = Draft::default();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        match next {
            '{' | '}' if text[at + 1..].starts_with(next) => {
                draft.literal.push(next);
                at += 2;
            }
            '}' => {
                return Err(PatternError {
                    problem: PatternProblem::StrayBrace,
                    range: at..at + 1,
                });
            }
            '{' => {
                let start = at;
                let placeholder = read_placeholder(text, &mut at)?;
                draft
                    .add(placeholder, start..at)
                    .map_err(|problem| PatternError { problem, range: start..at })?;
            }
            other => {
                draft.literal.push(other);
                at += other.len_utf8();
            }
        }
    }
    draft.end_literal();
    let Draft { elements, placeholders, ranges, .. } = draft;
    Pattern::of_elements(text.into(), elements, placeholders).map_err(|(problem, placeholder)| {
        let range = placeholder.map_or(whole, |index| ranges[index].clone());
        PatternError { problem, range }
    })
}

/// What has been read of a pattern.
#[derive(Default)]
struct Draft {
    elements: Vec<Element>,
    placeholders: Vec<Placeholder>,
    /// Where each placeholder stands in the text.
    ranges: Vec<Range<usize>>,
    /// The literal that is being read.
    literal: String,
}

impl Draft {
    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            self.elements.push(Element::Literal(literal.into()));
        }
    }

    fn add(&mut self, own: Placeholder, range: Range<usize>) -> Result<(), PatternProblem> {
        self.end_literal();
        if self.placeholders.iter().any(|other| other.name == own.name) {
            return Err(PatternProblem::Repeated(own.name.into()));
        }
        self.elements.push(Element::Placeholder(self.placeholders.len()));
        self.placeholders.push(own);
        self.ranges.push(range);
        Ok(())
    }
}

/// The element that takes what the others leave: `rest`, or an address that does not end by
/// itself. Says whether a key can be read in one way at all.
pub(super) fn open_element(
    elements: &[Element],
    placeholders: &[Placeholder],
) -> Result<Option<usize>, Found> {
    let kind_at = |at: usize| match elements.get(at) {
        Some(Element::Placeholder(index)) => Some(&placeholders[*index].kind),
        _ => None,
    };
    let found = |problem, at: usize| match elements[at] {
        Element::Placeholder(index) => Err((problem, Some(index))),
        Element::Literal(_) => Err((problem, None)),
    };
    let text_at = |at: usize| match elements.get(at) {
        Some(Element::Literal(text)) => Some(&**text),
        _ => None,
    };
    if let Some(at) =
        (1..elements.len()).find(|&at| kind_at(at).is_some() && kind_at(at - 1).is_some())
    {
        return found(PatternProblem::SideBySide, at);
    }
    let mut rests = (0..elements.len()).filter(|&at| kind_at(at) == Some(&Kind::Rest));
    let first_rest = rests.next();
    if let Some(second) = rests.next() {
        return found(PatternProblem::SecondRest, second);
    }
    let needs_room = |at: usize| {
        let text = text_at(at + 1);
        kind_at(at) == Some(&Kind::Ip) && text.is_some_and(may_be_of_address)
    };
    let open = first_rest.or_else(|| (0..elements.len()).find(|&at| needs_room(at)));
    for at in (0..elements.len()).filter(|&at| Some(at) != open) {
        let is_behind = open.is_some_and(|open| at > open);
        let limit = if is_behind { text_at(at - 1) } else { text_at(at + 1) };
        match (kind_at(at), limit) {
            (Some(Kind::Ip), Some(text)) if may_be_of_address(text) => {
                return found(PatternProblem::AddressBesideText(text.to_owned()), at);
            }
            (Some(Kind::Enum(words)), Some(text)) => {
                // Text that ends the pattern stands at the end of the key.
                let is_anchored = !is_behind && at + 2 == elements.len();
                let is_lost = |word: &&str| {
                    !is_anchored && !is_readable(word.as_bytes(), text.as_bytes(), is_behind)
                };
                if let Some(word) = words.iter().map(|word| &**word).find(is_lost) {
                    let (word, text) = (word.to_owned(), text.to_owned());
                    return found(PatternProblem::UnreadableWord { word, text }, at);
                }
            }
            _ => {}
        }
    }
    Ok(open)
}

/// Whether an address could contain a text.
fn may_be_of_address(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':'))
}

/// Whether a value is read whole that the text is beside.
fn is_readable(value: &[u8], text: &[u8], is_behind: bool) -> bool {
    match is_behind {
        true => memchr::memmem::rfind(&[text, value].concat(), text) == Some(0),
        false => memchr::memmem::find(&[value, text].concat(), text) == Some(value.len()),
    }
}

/// Reads `{name}` or `{name:type}`; `at` is at the brace.
fn read_placeholder(text: &str, at: &mut usize) -> Result<Placeholder, PatternError> {
    let open = *at;
    let Some(length) = text[open..].find('}') else {
        return Err(PatternError { problem: PatternProblem::Unclosed, range: open..text.len() });
    };
    let range = open..open + length + 1;
    let inner = &text[open + 1..open + length];
    let (name, kind) = match inner.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (inner, None),
    };
    let problem = |problem| PatternError { problem, range: range.clone() };
    if !is_name(name) {
        return Err(problem(PatternProblem::BadName));
    }
    let kind = kind.map_or(Ok(Kind::Str), read_kind).map_err(problem)?;
    *at = range.end;
    Ok(Placeholder { name: name.into(), kind })
}

fn read_kind(text: &str) -> Result<Kind, PatternProblem> {
    if let Some(inner) = text.strip_prefix("text(").and_then(|text| text.strip_suffix(')')) {
        return TextKind::parse(inner).map(Kind::Text).ok_or(PatternProblem::BadText);
    }
    if text == "text" || text.starts_with("text(") {
        return Err(PatternProblem::BadText);
    }
    if text.contains('|') {
        return read_enum(text).ok_or(PatternProblem::BadEnum);
    }
    Kind::named(text).ok_or_else(|| PatternProblem::UnknownKind(text.to_owned()))
}

fn read_enum(words: &str) -> Option<Kind> {
    let words: Vec<Box<str>> = words.split('|').map(|word| word.trim().into()).collect();
    let sound = words.iter().enumerate().all(|(index, word)| {
        !word.is_empty() && !word.contains([':', '{']) && !words[..index].contains(word)
    });
    sound.then(|| Kind::Enum(words.into()))
}

/// Whether a text can name a placeholder, a function or an argument.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_literals_placeholders_and_hash_tags() {
        let pattern =
            Pattern::parse("a:{x}:{y:uint}:{w:minute|hour}:{{{t}}}:{r:rest}").expect("valid");
        let kinds: Vec<String> =
            pattern.placeholders().iter().map(|p| p.kind.to_string()).collect();
        assert_eq!(kinds, ["str", "uint", "minute|hour", "str", "rest"]);
        assert_eq!(pattern.elements()[8], Element::Literal("}:".into()));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        use PatternProblem::*;
        let check = |text: &str, problem, range| {
            assert_eq!(Pattern::parse(text), Err(PatternError { problem, range }), "{text}");
        };
        check("", Empty, 0..0);
        check("a:{x", Unclosed, 2..4);
        check("a:x}", StrayBrace, 3..4);
        check("a:{x}{y}", SideBySide, 5..8);
        check("a:{x:uuid}{y}", SideBySide, 10..13);
        check("a:{}", BadName, 2..4);
        check("a:{1x}", BadName, 2..6);
        check("a:{x:unt}", UnknownKind("unt".into()), 2..9);
        check("a:{x:a|a}", BadEnum, 2..9);
        check("a:{x:a|}", BadEnum, 2..8);
        check("{x}:{x}", Repeated("x".into()), 4..7);
        check("{x:rest}:a:{y:rest}", SecondRest, 11..19);
        check("{x:text}", BadText, 0..8);
        check("{x:text(9-1)}", BadText, 0..13);
        let beside = |text: &str| AddressBesideText(text.into());
        check("{x:ip}:{y:rest}", beside(":"), 0..6);
        check("{x:ip}:{y:ip}:a", beside(":"), 7..13);
        check("{y:rest}:{x:ip}", beside(":"), 9..15);
        let lost = |word: &str, text: &str| UnreadableWord { word: word.into(), text: text.into() };
        check("{x:a|a-b}-{y}", lost("a-b", "-"), 0..9);
        check("{y:rest}-{x:a|a-b}", lost("a-b", "-"), 9..18);
        check("{x:b|a-}--{y}", lost("a-", "--"), 0..8);
        check(&vec!["a"; 17].join(":"), TooLong, 0..33);
        let many = (0..17).map(|i| format!("{{p{i}}}")).collect::<Vec<_>>().join("-");
        check(&many, TooLong, 0..many.len());
    }

    #[test]
    fn text_beside_placeholders_is_sound() {
        for text in [
            "celery-task-meta-{id:uuid}",
            "{id:uuid}.reply.celery.pidbox",
            ":1:django.contrib.sessions.cache{key}",
            "LIMITS:LIMITER/{ip:ip}/{view}/2/1/minute",
            "huey.r.{name}.{id:uuid}",
            "{host}:{pid:uint}:{nonce}-signals",
            "{q:rest}\u{6}\u{16}{n:uint}",
            "{a:ip}:{port:uint}",
            "{a:ip}/{b:ip}",
            "{x:a|a-b}-",
            "{{{x:rest}}}",
        ] {
            assert!(Pattern::parse(text).is_ok(), "{text}: {:?}", Pattern::parse(text));
        }
    }
}
