//! Example values of any shape.
//!
//! Each type proposes candidates, and the shape's own check picks the first
//! that fits; so no rule of shapes is written down twice.

use keyward_schema::{Extra, Kind, Object, Shape, Type};

use super::text::{MAX_TEXT_BYTES, TIMES, by_name, is_of_an_end, measured, of_kind, overwritten};
use super::{Names, number};

/// The most items that an example array shows.
const MAX_ITEMS: u64 = 64;

impl Names {
    /// A Redis string, hash field or item of this shape.
    pub(super) fn text(&self, name: &str, shape: &Shape) -> Option<String> {
        if shape.ty.is_json() {
            return self.json(name, shape);
        }
        self.scalar(name, shape, |shape, text| shape.check(text.as_bytes()).is_ok())
    }

    /// JSON of this shape, without spaces.
    pub(super) fn json(&self, name: &str, shape: &Shape) -> Option<String> {
        let json = self.json_of_type(name, shape);
        // What has no example of its own may still be null.
        let json = json.or_else(|| shape.nullable.then(|| "null".to_owned()))?;
        shape.check_json(json.as_bytes()).ok().map(|()| json)
    }

    /// The fields of a hash, those included that may be missing.
    pub(super) fn fields(&self, object: &Object) -> Option<Vec<(Box<str>, Box<str>)>> {
        self.members(object, |name, shape| self.text(name, shape))
            .filter(|pairs| !pairs.is_empty())
            .map(|pairs| pairs.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    fn json_of_type(&self, name: &str, shape: &Shape) -> Option<String> {
        match &shape.ty {
            Type::Json => Some(r#"{"key":"value"}"#.to_owned()),
            Type::Array(item) => self.array(name, shape, item),
            Type::Map { key, value } => {
                let key = self.text("key", &Shape::of((**key).clone()))?;
                let value = self.json(name, value)?;
                Some(format!("{{{}:{value}}}", quoted(&key)))
            }
            Type::Object(object) => {
                let members = self.members(object, |name, shape| self.json(name, shape))?;
                let members =
                    members.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
                Some(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
            }
            ty if ty.is_text() => {
                let fits =
                    |shape: &Shape, text: &str| shape.check_json(quoted(text).as_bytes()).is_ok();
                self.scalar(name, shape, fits).map(|text| quoted(&text))
            }
            _ => self.scalar(name, shape, |shape, text| shape.check_json(text.as_bytes()).is_ok()),
        }
    }

    fn array(&self, name: &str, shape: &Shape, item: &Shape) -> Option<String> {
        let (min, max) = shape.limits.len.map_or((0, u64::MAX), |len| (len.min, len.max));
        let count = min.max(1).min(max);
        if count > MAX_ITEMS {
            return None;
        }
        let item = match self.json(name, item) {
            Some(item) => item,
            None if min == 0 => return Some("[]".to_owned()),
            None => return None,
        };
        let items = std::iter::repeat_n(item, usize::try_from(count).ok()?);
        Some(format!("[{}]", items.collect::<Vec<_>>().join(",")))
    }

    /// Declared fields, or one undeclared where that is all there may be.
    fn members(
        &self,
        object: &Object,
        value: impl Fn(&str, &Shape) -> Option<String>,
    ) -> Option<Vec<(Box<str>, String)>> {
        let mut members = Vec::new();
        for field in &object.fields {
            match value(&field.name, &field.shape) {
                Some(value) => members.push((field.name.clone(), value)),
                None if field.required => return None,
                None => {}
            }
        }
        if object.fields.is_empty() {
            let extra = match &object.extra {
                Extra::Reject => None,
                Extra::Allow => value("field", &Shape::of(Type::String)),
                Extra::Typed(shape) => value("field", shape),
            };
            members.extend(extra.map(|value| (Box::from("field"), value)));
        }
        Some(members)
    }

    fn scalar(
        &self,
        name: &str,
        shape: &Shape,
        fits: impl Fn(&Shape, &str) -> bool,
    ) -> Option<String> {
        let known = self.of(name).iter().map(ToString::to_string);
        known.chain(candidates(name, shape)).find(|text| fits(shape, text))
    }
}

/// Texts that may fit a shape that is not JSON, the most telling first.
pub(super) fn candidates(name: &str, shape: &Shape) -> Vec<String> {
    let limits = &shape.limits;
    let measure = |texts: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        texts
            .flat_map(|text| {
                [Some(text.to_owned()), measured(text, limits), overwritten(text, limits)]
            })
            .flatten()
            .filter(|text| text.len() as u64 <= MAX_TEXT_BYTES)
            .collect()
    };
    match &shape.ty {
        Type::String | Type::Kind(Kind::Str | Kind::Rest) => measure(&mut by_name(name)),
        Type::Kind(Kind::Int | Kind::Uint) => number::candidates(limits, 0),
        Type::Kind(kind) => measure(&mut of_kind(kind).iter().map(|text| &**text)),
        Type::Decimal { scale } => {
            number::candidates(limits, scale.map_or(usize::MAX, usize::from))
        }
        Type::Float => number::candidates(limits, usize::MAX),
        Type::TimestampMs => {
            let mut times = vec!["1766656800000".to_owned()];
            times.extend(number::candidates(limits, 0));
            times
        }
        Type::Timestamp => {
            let order = if is_of_an_end(name) { [TIMES[1], TIMES[0]] } else { TIMES };
            let mut times = measure(&mut order.into_iter());
            // A length asks for a fraction of so many digits.
            times.extend(
                (1..=9).map(|digits| TIMES[0].replace('Z', &format!(".{}Z", "0".repeat(digits)))),
            );
            times
        }
        Type::Bool => vec!["true".to_owned()],
        Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => Vec::new(),
    }
}

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
