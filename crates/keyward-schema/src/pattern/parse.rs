//! Reading a pattern's text.
//!
//! Grammar: segments joined by `:`; a segment is literal text, in which `{{`
//! and `}}` stand for braces, or `{name}`, `{name:type}`, `{name:a|b}`, or one
//! of these inside the braces of a hash tag, `{{{name}}}`.

use std::ops::Range;

use super::{Kind, MAX_PATTERN_BYTES, MAX_SEGMENTS, Pattern, Placeholder, Segment};

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
    /// More than `MAX_PATTERN_BYTES` or `MAX_SEGMENTS`.
    TooLong,
    /// `{` without `}`.
    Unclosed,
    /// `}` without `{`.
    StrayBrace,
    /// A placeholder beside other text in one segment.
    NotWholeSegment,
    /// A name that is not letters, digits and underscores.
    BadName,
    /// A type that does not exist.
    UnknownKind(String),
    /// An enum with an empty, repeated or impossible word.
    BadEnum,
    /// A name that was used before.
    Repeated(String),
    /// `rest` before the last segment, or inside a hash tag.
    RestNotLast,
}

/// A piece of one segment before its form is judged.
enum Piece {
    Text(String),
    Placeholder { name: Box<str>, kind: Kind },
}

pub(super) fn parse(text: &str) -> Result<Pattern, PatternError> {
    let whole = 0..text.len();
    if text.is_empty() {
        return Err(PatternError { problem: PatternProblem::Empty, range: whole });
    }
    if text.len() > MAX_PATTERN_BYTES {
        return Err(PatternError { problem: PatternProblem::TooLong, range: whole });
    }
    let mut pattern = Pattern { text: text.into(), segments: Vec::new(), placeholders: Vec::new() };
    let mut at = 0;
    loop {
        let start = at;
        let pieces = read_segment(text, &mut at)?;
        add_segment(&mut pattern, pieces, start..at)?;
        if at == text.len() {
            return Ok(pattern);
        }
        at += 1; // the colon
        if pattern.segments.len() == MAX_SEGMENTS {
            return Err(PatternError { problem: PatternProblem::TooLong, range: whole });
        }
        if pattern.ends_in_rest() {
            return Err(PatternError {
                problem: PatternProblem::RestNotLast,
                range: start..at - 1,
            });
        }
    }
}

/// Reads up to the next colon outside braces, or to the end.
fn read_segment(text: &str, at: &mut usize) -> Result<Vec<Piece>, PatternError> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    while let Some(next) = text[*at..].chars().next() {
        let rest = &text[*at..];
        match next {
            ':' => break,
            '{' | '}' if rest[1..].starts_with(next) => {
                literal.push(next);
                *at += 2;
            }
            '}' => {
                return Err(PatternError {
                    problem: PatternProblem::StrayBrace,
                    range: *at..*at + 1,
                });
            }
            '{' => {
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(read_placeholder(text, at)?);
            }
            other => {
                literal.push(other);
                *at += other.len_utf8();
            }
        }
    }
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    Ok(pieces)
}

/// Reads `{name}` or `{name:type}`; `at` is at the brace.
fn read_placeholder(text: &str, at: &mut usize) -> Result<Piece, PatternError> {
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
    let kind = match kind {
        None => Kind::Str,
        Some(words) if words.contains('|') => {
            read_enum(words).ok_or_else(|| problem(PatternProblem::BadEnum))?
        }
        Some(kind) => Kind::named(kind)
            .ok_or_else(|| problem(PatternProblem::UnknownKind(kind.to_owned())))?,
    };
    *at = range.end;
    Ok(Piece::Placeholder { name: name.into(), kind })
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

fn add_segment(
    pattern: &mut Pattern,
    pieces: Vec<Piece>,
    range: Range<usize>,
) -> Result<(), PatternError> {
    let problem = |problem| PatternError { problem, range: range.clone() };
    let mut pieces = pieces.into_iter();
    let (name, kind, tagged) = match (pieces.next(), pieces.next(), pieces.next(), pieces.next()) {
        (Some(Piece::Text(text)), None, ..) => {
            pattern.segments.push(Segment::Literal(text.into()));
            return Ok(());
        }
        (Some(Piece::Placeholder { name, kind }), None, ..) => (name, kind, false),
        (
            Some(Piece::Text(open)),
            Some(Piece::Placeholder { name, kind }),
            Some(Piece::Text(close)),
            None,
        ) if open == "{" && close == "}" => (name, kind, true),
        _ => return Err(problem(PatternProblem::NotWholeSegment)),
    };
    if pattern.placeholder(&name).is_some() {
        return Err(problem(PatternProblem::Repeated(name.into())));
    }
    if tagged && kind == Kind::Rest {
        return Err(problem(PatternProblem::RestNotLast));
    }
    let segment = pattern.segments.len();
    pattern.segments.push(Segment::Placeholder(pattern.placeholders.len()));
    pattern.placeholders.push(Placeholder { name, kind, tagged, segment });
    Ok(())
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
        assert!(pattern.placeholders()[3].tagged);
        assert_eq!(pattern.placeholders()[4].segment, 5);
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
        check("a:{x}y", NotWholeSegment, 2..6);
        check("a:{x}{y}", NotWholeSegment, 2..8);
        check("a:{}", BadName, 2..4);
        check("a:{1x}", BadName, 2..6);
        check("a:{x:unt}", UnknownKind("unt".into()), 2..9);
        check("a:{x:a|a}", BadEnum, 2..9);
        check("a:{x:a|}", BadEnum, 2..8);
        check("{x}:{x}", Repeated("x".into()), 4..7);
        check("{x:rest}:a", RestNotLast, 0..8);
        check("{{{x:rest}}}", RestNotLast, 0..12);
        check(&vec!["a"; 17].join(":"), TooLong, 0..33);
    }
}
