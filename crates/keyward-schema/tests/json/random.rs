//! Random shapes, trees that mostly fit them, and ways to write a tree.

use keyward_schema::{Decimal, Extra, Field, Kind, Length, Limits, Object, Shape, Span, Type};

use super::tree::Tree;
use keyward_testkit::Random;

/// Makes all of it from a seed.
pub(crate) struct Generator {
    random: Random,
}

const NAMES: [&str; 6] = ["a", "b", "id", "größe", "a\"b", "x y"];
const TEXTS: [&str; 16] = [
    "",
    "a",
    "b",
    "a:b",
    "0",
    "-7",
    "042",
    "3.50",
    "1e5",
    "cafe",
    "größe",
    "\u{10000}\u{1F600}",
    "a\nb\t\"\\/",
    "2025-12-25T10:00:00Z",
    "2025-12-25",
    "123e4567-e89b-12d3-a456-426614174000",
];
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "7",
    "100",
    "-0",
    "1.0",
    "0.5",
    "3.50",
    "-2.125",
    "1e5",
    "1E-2",
    "123456789012",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999.000000000001",
];

/// Bytes that mean something to JSON, and some that it does not admit.
const SIGNS: &[u8] = b"{}[]\":,\\u0-.eEtfn \x00\x1f\x80\xffd8";

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { random: Random::new(seed) }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit)
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.random.one_in(times)
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.random.pick::<&str>(choices)
    }

    pub(crate) fn shape(&mut self, depth: usize) -> Shape {
        let ty = self.ty(depth);
        let limits = self.limits(&ty);
        Shape { nullable: self.one_in(5), limits, ..Shape::of(ty) }
    }

    fn ty(&mut self, depth: usize) -> Type {
        let simple = if depth == 0 { 12 } else { 17 };
        match self.below(simple) {
            0 => Type::String,
            1 => Type::Kind(Kind::Str),
            2 => Type::Kind(Kind::Int),
            3 => Type::Kind(Kind::Uint),
            4 => Type::Kind(Kind::Hex),
            5 => Type::Kind(Kind::Enum(["a", "b", "größe"].map(Box::from).into())),
            6 => Type::Kind([Kind::Uuid, Kind::Date][self.below(2)].clone()),
            7 => Type::Float,
            8 => Type::Decimal { scale: [None, Some(0), Some(2)][self.below(3)] },
            9 => Type::Bool,
            10 => [Type::Timestamp, Type::TimestampMs][self.below(2)].clone(),
            11 => Type::Json,
            12 | 13 => Type::Array(Box::new(self.shape(depth - 1))),
            14 => Type::Map {
                key: Box::new(
                    [Type::String, Type::Kind(Kind::Str), Type::Kind(Kind::Int)][self.below(3)]
                        .clone(),
                ),
                value: Box::new(self.shape(depth - 1)),
            },
            _ => Type::Object(self.object(depth - 1)),
        }
    }

    fn limits(&mut self, ty: &Type) -> Limits {
        let mut limits = Limits::default();
        if self.one_in(2) {
            return limits;
        }
        if ty.is_number() {
            limits.min = Decimal::parse(self.pick(&["-1.5", "0", "1", "3.5"]));
            limits.max = Decimal::parse(self.pick(&["5", "100", "99999999999999999999"]));
        } else if ty.is_text() {
            let min = self.below(3) as u64;
            limits.len = Some(Length { min, max: min + self.below(6) as u64 });
            limits.prefix = self.one_in(3).then(|| "a".into());
        } else if matches!(ty, Type::Array(_)) {
            limits.len = Some(Length { min: self.below(2) as u64, max: 2 });
        }
        limits
    }

    pub(crate) fn object(&mut self, depth: usize) -> Object {
        let mut fields: Vec<Field> = Vec::new();
        for name in NAMES {
            if self.one_in(2) {
                let (required, shape) = (self.one_in(2), self.shape(depth));
                let at = Span::default();
                fields.push(Field {
                    name: name.into(),
                    required,
                    shape,
                    same: None,
                    doc: None,
                    at,
                });
            }
        }
        let extra = match self.below(3) {
            0 => Extra::Reject,
            1 => Extra::Allow,
            _ => Extra::Typed(Box::new(self.shape(depth))),
        };
        Object { fields, extra, checks: Vec::new(), secret: false }
    }

    /// A tree that mostly fits.
    pub(crate) fn tree_for(&mut self, shape: &Shape) -> Tree {
        if self.one_in(12) {
            return self.tree(2);
        }
        if shape.nullable && self.one_in(4) {
            return Tree::Null;
        }
        match &shape.ty {
            Type::Json => self.tree(3),
            Type::Bool => Tree::Bool(self.one_in(2)),
            Type::Array(item) => {
                Tree::Array((0..self.below(4)).map(|_| self.tree_for(item)).collect())
            }
            Type::Map { key, value } => {
                let key = Shape::of((**key).clone());
                let member = |random: &mut Self| (random.text_for(&key), random.tree_for(value));
                Tree::Object((0..self.below(4)).map(|_| member(self)).collect())
            }
            Type::Object(object) => self.members_for(object),
            ty if ty.is_number() && !self.one_in(8) => Tree::Number(self.number_for(shape)),
            _ => Tree::Text(self.text_for(shape)),
        }
    }

    /// The fields of an object, now and then one too few, twice, or too many.
    fn members_for(&mut self, object: &Object) -> Tree {
        let mut members = Vec::new();
        for field in &object.fields {
            let times = match self.below(30) {
                0 => 2,
                1..=8 if !field.required => 0,
                1 => 0,
                _ => 1,
            };
            for _ in 0..times {
                members.push((field.name.to_string(), self.tree_for(&field.shape)));
            }
        }
        if !matches!(object.extra, Extra::Reject) || self.one_in(10) {
            let value = match &object.extra {
                Extra::Typed(shape) => self.tree_for(shape),
                _ => self.tree(2),
            };
            members.push((self.pick(&["extra", "a\\u0062", "é"]).to_owned(), value));
        }
        if self.one_in(3) {
            members.reverse();
        }
        Tree::Object(members)
    }

    fn text_for(&mut self, shape: &Shape) -> String {
        let fitting: Vec<&str> =
            TEXTS.into_iter().filter(|text| shape.check(text.as_bytes()).is_ok()).collect();
        if fitting.is_empty() || self.one_in(12) { self.pick(&TEXTS) } else { self.pick(&fitting) }
            .to_owned()
    }

    fn number_for(&mut self, shape: &Shape) -> String {
        let fitting: Vec<&str> =
            NUMBERS.into_iter().filter(|text| shape.check(text.as_bytes()).is_ok()).collect();
        if fitting.is_empty() || self.one_in(8) { self.pick(&NUMBERS) } else { self.pick(&fitting) }
            .to_owned()
    }

    /// Any tree.
    pub(crate) fn tree(&mut self, depth: usize) -> Tree {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 => Tree::Null,
            1 => Tree::Bool(self.one_in(2)),
            2 => Tree::Number(self.pick(&NUMBERS).to_owned()),
            3 => Tree::Text(self.pick(&TEXTS).to_owned()),
            4 => Tree::Array((0..self.below(4)).map(|_| self.tree(depth - 1)).collect()),
            _ => {
                let member =
                    |random: &mut Self| (random.pick(&NAMES).to_owned(), random.tree(depth - 1));
                Tree::Object((0..self.below(4)).map(|_| member(self)).collect())
            }
        }
    }

    /// A tree as text, with spaces and escapes here and there.
    pub(crate) fn written(&mut self, tree: &Tree) -> String {
        let space = self.space();
        let value = match tree {
            Tree::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.written(item)).collect();
                format!("[{}{}]", items.join(","), self.space())
            }
            Tree::Object(members) => {
                let mut written = Vec::new();
                for (name, value) in members {
                    let (before, after) = (self.space(), self.space());
                    written.push(format!(
                        "{before}{}{after}:{}",
                        self.quoted(name),
                        self.written(value)
                    ));
                }
                format!("{{{}{}}}", written.join(","), self.space())
            }
            Tree::Text(text) => self.quoted(text),
            simple => simple.plain(),
        };
        format!("{space}{value}{}", self.space())
    }

    fn space(&mut self) -> &'static str {
        if self.one_in(3) { self.pick(&[" ", "\n", "\t ", "\r\n"]) } else { "" }
    }

    fn quoted(&mut self, text: &str) -> String {
        let mut quoted = String::from("\"");
        for letter in text.chars() {
            let must = letter < ' ' || letter == '"' || letter == '\\';
            match letter {
                '"' | '\\' | '/' if must || self.one_in(2) => quoted.extend(['\\', letter]),
                '\n' if self.one_in(2) => quoted.push_str("\\n"),
                '\t' if self.one_in(2) => quoted.push_str("\\t"),
                _ if must || self.one_in(8) => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        quoted.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                _ => quoted.push(letter),
            }
        }
        quoted.push('"');
        quoted
    }

    /// Changes a byte or a few.
    pub(crate) fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let sign = SIGNS[self.below(SIGNS.len())];
        match self.below(4) {
            0 => bytes.insert(at, sign),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 if at < bytes.len() => bytes[at] = sign,
            _ => bytes.truncate(at),
        }
    }
}
