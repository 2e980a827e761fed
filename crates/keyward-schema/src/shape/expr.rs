//! The notation of types: `decimal(2)`, `a | b`, `string[]?`, `{string: timestamp}`.
//!
//! Grammar, loosest first: `optional = union "?"?`, `union = post ("|" post)*`,
//! `post = atom "[]"*`, `atom = word | "'" text "'" | "(" union ")" |
//! "{" union ":" union "}"`. A union is either words of an enum or one type,
//! each with or without `null`.

use std::ops::Range;

use super::{MAX_SHAPE_DEPTH, Object, Shape, Type};
use crate::pattern::{Kind, TextKind};

/// A type that cannot be read: what is wrong, and where in its text.
#[derive(Debug, PartialEq)]
pub(crate) struct ExprError {
    pub(crate) problem: ExprProblem,
    pub(crate) range: Range<usize>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum ExprProblem {
    /// Something else was expected here.
    Expected(&'static str),
    /// No type has this name.
    UnknownType(String),
    /// A word of an enum that is also the name of a type.
    TypeAmongWords(String),
    /// More than one type in a union.
    SeveralTypes,
    /// More than `MAX_WORDS` in an enum.
    TooManyWords,
    /// A word twice in an enum.
    RepeatedWord(String),
    /// `object` where no `fields` are given.
    ObjectWithoutFields,
    /// A map whose keys could not be JSON keys.
    KeyType,
    /// More than `MAX_SHAPE_DEPTH`.
    TooDeep,
}

/// The names of types, for suggestions and for the editor's completion.
pub const TYPE_NAMES: [&str; 22] = [
    "string",
    "str",
    "int",
    "uint",
    "float",
    "decimal",
    "bool",
    "timestamp",
    "timestamp_ms",
    "uuid",
    "ulid",
    "base58",
    "base64url",
    "hex",
    "slug",
    "ip",
    "date",
    "month",
    "json",
    "object",
    "bytes",
    "null",
];

/// The most words an enum may have.
pub(crate) const MAX_WORDS: usize = 1024;

/// The words of an enum as they are written, in quotes where they would be
/// taken for something else.
pub(super) fn words_form(words: &[Box<str>]) -> String {
    let is_plain = |word: &str| {
        words.len() > 1
            && !word.is_empty()
            && word.trim() == word
            && !word.contains(SIGNS)
            && !TYPE_NAMES.contains(&word)
    };
    let form = |word: &str| {
        if is_plain(word) { word.to_owned() } else { format!("'{word}'") }
    };
    words.iter().map(|word| form(word)).collect::<Vec<_>>().join(" | ")
}

/// What ends a bare word.
const SIGNS: [char; 10] = ['|', '[', ']', '(', ')', '{', '}', '?', ':', '\''];

/// Reads a type; `object` is what that word stands for. Returns the shape and
/// whether a `?` made it optional.
pub(crate) fn parse(text: &str, object: Option<&Object>) -> Result<(Shape, bool), ExprError> {
    let mut parser = Parser { text, at: 0, object, depth: 0 };
    let shape = parser.union()?;
    let optional = parser.take('?');
    match parser.peek() {
        None => Ok((shape, optional)),
        Some(_) => Err(parser.expected("the end of the type")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    object: Option<&'a Object>,
    depth: usize,
}

/// One member of a union before it is known whether it is a type or a word.
enum Member {
    Word(String),
    Quoted(String),
    Shape(Shape),
}

impl Parser<'_> {
    fn union(&mut self) -> Result<Shape, ExprError> {
        self.depth += 1;
        if self.depth > MAX_SHAPE_DEPTH {
            return Err(self.problem(ExprProblem::TooDeep, self.at..self.text.len()));
        }
        let mut members = vec![self.member()?];
        while self.take('|') {
            members.push(self.member()?);
            if members.len() > MAX_WORDS {
                return Err(self.problem(ExprProblem::TooManyWords, self.at..self.text.len()));
            }
        }
        self.depth -= 1;
        self.resolve(members)
    }

    fn member(&mut self) -> Result<(Member, Range<usize>), ExprError> {
        self.skip_spaces();
        let start = self.at;
        let mut member = self.atom()?;
        let mut arrays = 0;
        while self.take('[') {
            if !self.take(']') {
                return Err(self.expected("`]`"));
            }
            arrays += 1;
            if arrays > MAX_SHAPE_DEPTH {
                return Err(self.problem(ExprProblem::TooDeep, start..self.at));
            }
            let range = start..self.at;
            let item = self.resolve(vec![(member, range)])?;
            member = Member::Shape(Shape::of(Type::Array(Box::new(item))));
        }
        Ok((member, start..self.at))
    }

    fn atom(&mut self) -> Result<Member, ExprError> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let shape = self.union()?;
                if !self.take(')') {
                    return Err(self.expected("`)`"));
                }
                Ok(Member::Shape(shape))
            }
            Some('{') => {
                self.at += 1;
                self.map().map(Member::Shape)
            }
            Some('\'') => self.quoted(),
            _ => self.word(),
        }
    }

    fn map(&mut self) -> Result<Shape, ExprError> {
        let start = self.at;
        let key = self.union()?;
        let key_range = start..self.at;
        if !self.take(':') {
            return Err(self.expected("`:` between the types of key and value"));
        }
        let value = self.union()?;
        if !self.take('}') {
            return Err(self.expected("`}`"));
        }
        if key.nullable || !(key.ty.is_text() || key.ty.is_number()) {
            return Err(self.problem(ExprProblem::KeyType, key_range));
        }
        Ok(Shape::of(Type::Map { key: Box::new(key.ty), value: Box::new(value) }))
    }

    fn quoted(&mut self) -> Result<Member, ExprError> {
        let start = self.at;
        match self.text[start + 1..].split_once('\'') {
            Some((word, _)) => {
                self.at = start + word.len() + 2;
                Ok(Member::Quoted(word.to_owned()))
            }
            None => {
                Err(self.problem(ExprProblem::Expected("a closing `'`"), start..self.text.len()))
            }
        }
    }

    /// A bare word: up to anything that has a meaning. `decimal(2)` and `text(a-z)` are such.
    fn word(&mut self) -> Result<Member, ExprError> {
        let start = self.at;
        let rest = &self.text[start..];
        let end = rest.find(SIGNS).unwrap_or(rest.len());
        let word = rest[..end].trim_end();
        if word.is_empty() {
            return Err(self.expected("a type"));
        }
        self.at = start + word.len();
        if word == "decimal" && self.take('(') {
            return self.scale().map(Member::Shape);
        }
        if word == "text" && self.take('(') {
            return self.alphabet().map(Member::Shape);
        }
        Ok(Member::Word(word.to_owned()))
    }

    fn alphabet(&mut self) -> Result<Shape, ExprError> {
        let start = self.at;
        let rest = &self.text[start..];
        let end = rest.find(')').unwrap_or(rest.len());
        let Some(text) = TextKind::parse(&rest[..end]).filter(|_| end < rest.len()) else {
            return Err(self.expected("an alphabet or a length, as in `text(a-z0-9, 32)`"));
        };
        self.at = start + end + 1;
        Ok(Shape::of(Type::Kind(Kind::Text(text))))
    }

    fn scale(&mut self) -> Result<Shape, ExprError> {
        const MAX_SCALE: u8 = 30;
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let scale = rest[..digits].parse::<u8>().ok().filter(|&scale| scale <= MAX_SCALE);
        let Some(scale) = scale else {
            return Err(self.expected("the number of digits behind the point, 0 to 30"));
        };
        self.at += digits;
        if !self.take(')') {
            return Err(self.expected("`)`"));
        }
        Ok(Shape::of(Type::Decimal { scale: Some(scale) }))
    }

    /// Tells enums from types, and both from `null`.
    fn resolve(&self, members: Vec<(Member, Range<usize>)>) -> Result<Shape, ExprError> {
        let is_null = |member: &Member| matches!(member, Member::Word(word) if word == "null");
        let (nulls, members): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|(member, _)| is_null(member));
        let several = members.len() > 1;
        let mut words: Vec<Box<str>> = Vec::new();
        let mut shape = None;
        for (member, range) in members {
            let word = match member {
                Member::Shape(found) if !several => {
                    shape = Some(found);
                    continue;
                }
                Member::Shape(_) => return Err(self.problem(ExprProblem::SeveralTypes, range)),
                Member::Word(word) if !several => {
                    let bytes = word == "bytes";
                    shape = Some(Shape { bytes, ..Shape::of(self.named(word, range)?) });
                    continue;
                }
                Member::Word(word) if TYPE_NAMES.contains(&&*word) => {
                    return Err(self.problem(ExprProblem::TypeAmongWords(word), range));
                }
                Member::Word(word) | Member::Quoted(word) => word,
            };
            if words.iter().any(|known| **known == *word) {
                return Err(self.problem(ExprProblem::RepeatedWord(word), range));
            }
            words.push(word.into());
        }
        let mut shape = match shape {
            Some(shape) => shape,
            None if words.is_empty() => return Err(self.expected("a type beside `null`")),
            None => Shape::of(Type::Kind(Kind::Enum(words.into()))),
        };
        shape.nullable |= !nulls.is_empty();
        Ok(shape)
    }

    fn named(&self, name: String, range: Range<usize>) -> Result<Type, ExprError> {
        Ok(match &*name {
            "string" | "bytes" => Type::String,
            "float" => Type::Float,
            "decimal" => Type::Decimal { scale: None },
            "bool" => Type::Bool,
            "timestamp" => Type::Timestamp,
            "timestamp_ms" => Type::TimestampMs,
            "json" => Type::Json,
            "object" => match self.object {
                Some(object) => Type::Object(object.clone()),
                None => return Err(self.problem(ExprProblem::ObjectWithoutFields, range)),
            },
            _ => match Kind::named(&name) {
                Some(kind) if kind != Kind::Rest => Type::Kind(kind),
                _ => return Err(self.problem(ExprProblem::UnknownType(name), range)),
            },
        })
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    fn expected(&self, what: &'static str) -> ExprError {
        let end = self.text[self.at..].chars().next().map_or(self.at, |c| self.at + c.len_utf8());
        self.problem(ExprProblem::Expected(what), self.at..end)
    }

    fn problem(&self, problem: ExprProblem, range: Range<usize>) -> ExprError {
        ExprError { problem, range }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn types_read_and_write() {
        let check = |text: &str, canonical: &str, optional: bool| {
            let (shape, found) = parse(text, Some(&Object::default())).expect(text);
            assert_eq!(shape.to_string(), canonical);
            assert_eq!(found, optional, "{text}");
        };
        check("string", "string", false);
        check("timestamp?", "timestamp", true);
        check("decimal( 2 )", "decimal(2)", false);
        check("accepted|rejected", "accepted | rejected", false);
        check("a b | c-d?", "a b | c-d", true);
        check("string | null", "string | null", false);
        check("null | a | b", "a | b | null", false);
        check("string[]?", "string[]", true);
        check("string[][]", "string[][]", false);
        check("(a | b)[]", "(a | b)[]", false);
        check("(string | null)[]", "(string | null)[]", false);
        check("{string: timestamp}?", "{string: timestamp}", true);
        check("{ date : int[] } | null", "{date: int[]} | null", false);
        check("'1'", "'1'", false);
        check("'string' | 'x|y'", "'string' | 'x|y'", false);
        check("object[]", "object[]", false);
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        use ExprProblem::*;
        let check = |text: &str, problem, range| {
            assert_eq!(parse(text, None).map(|_| ()), Err(ExprError { problem, range }), "{text}");
        };
        check("", Expected("a type"), 0..0);
        check("strin", UnknownType("strin".into()), 0..5);
        check("rest", UnknownType("rest".into()), 0..4);
        check("a | string", TypeAmongWords("string".into()), 4..10);
        check("a | a", RepeatedWord("a".into()), 4..5);
        check("string[] | int[]", SeveralTypes, 0..9);
        check("string[", Expected("`]`"), 7..7);
        check("(a | b", Expected("`)`"), 6..6);
        check("{string}", Expected("`:` between the types of key and value"), 7..8);
        check("{json: int}", KeyType, 1..5);
        check("'a", Expected("a closing `'`"), 0..2);
        check("null", Expected("a type beside `null`"), 4..4);
        check("string?x", Expected("the end of the type"), 7..8);
        check("decimal(99)", Expected("the number of digits behind the point, 0 to 30"), 8..9);
        check("object", ObjectWithoutFields, 0..6);
        let deep = "(".repeat(40);
        assert_eq!(parse(&deep, None).map(|_| ()).unwrap_err().problem, TooDeep);
        let arrays = format!("int{}", "[]".repeat(40));
        assert_eq!(parse(&arrays, None).map(|_| ()).unwrap_err().problem, TooDeep);
    }

    /// Any type that can be written, without fields.
    fn shapes() -> impl Strategy<Value = Shape> {
        let words = proptest::collection::btree_set("[a-z|?:(\\[ ]{0,4}|string|null", 1..4);
        let words = words.prop_map(|words| words.into_iter().map(String::into_boxed_str).collect());
        let kinds = Kind::NAMES.map(|name| Kind::named(name).expect("a kind"));
        let kinds: Vec<Kind> = kinds.into_iter().filter(|kind| *kind != Kind::Rest).collect();
        let simple = vec![
            Type::String,
            Type::Float,
            Type::Bool,
            Type::Timestamp,
            Type::TimestampMs,
            Type::Json,
            Type::Decimal { scale: None },
        ];
        let leaf = prop_oneof![
            prop::sample::select(simple),
            prop::sample::select(kinds).prop_map(Type::Kind),
            (0..=30_u8).prop_map(|scale| Type::Decimal { scale: Some(scale) }),
            words.prop_map(|words| Type::Kind(Kind::Enum(words))),
        ];
        let shape = |ty, nullable| Shape { nullable, ..Shape::of(ty) };
        let leaf = (leaf, any::<bool>()).prop_map(move |(ty, nullable)| shape(ty, nullable));
        leaf.prop_recursive(4, 16, 2, move |inner| {
            let key = inner.clone().prop_filter("a key", |key| {
                !key.nullable && (key.ty.is_text() || key.ty.is_number())
            });
            let nested = prop_oneof![
                inner.clone().prop_map(|item| Type::Array(Box::new(item))),
                (key, inner).prop_map(|(key, value)| Type::Map {
                    key: Box::new(key.ty),
                    value: Box::new(value)
                }),
            ];
            (nested, any::<bool>()).prop_map(move |(ty, nullable)| shape(ty, nullable))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_printed_reads_as_it_was(shape in shapes(), optional in any::<bool>()) {
            let text = format!("{shape}{}", if optional { "?" } else { "" });
            prop_assert_eq!(parse(&text, None), Ok((shape, optional)), "{}", text);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z ()\\[\\]{}|?:'0-9ü]{0,30}") {
            if let Err(error) = parse(&text, None) {
                prop_assert!(text.get(error.range).is_some(), "{}", text);
            }
        }
    }
}
