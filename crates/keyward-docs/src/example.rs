//! Example keys and values for every pattern of a schema.
//!
//! Owns the choice of an example: the schema's own where it gives one, and a
//! generated one elsewhere. Invariants: the same schema gives the same
//! examples; a key belongs to its pattern and to no smaller one where that can
//! be had; a value fits its shape, which the shape's own check has confirmed.
//! What is named alike looks alike: a `user_id` that one example shows is the
//! `user_id` of all others it fits, and a derived key shows its source's row.
//! A value is absent where the shape admits none (limits that contradict each
//! other), none of a size to print, or where the type is opaque.

mod number;
mod text;
mod value;

use std::collections::BTreeMap;

use keyward_schema::{
    Binding, Content, Derived, Example, ExampleValue, Finds, Key, KeyId, Pattern, RankBy, Relation,
    Schema, Shape, Type, parse_timestamp, relate, shape_of_kind,
};

/// An example for each key of a schema.
#[derive(Clone, Debug)]
pub struct Examples {
    by_key: Vec<Example>,
    names: Names,
}

impl Examples {
    /// Takes the schema's examples and generates the others.
    pub fn of(schema: &Schema) -> Examples {
        let mut names = Names::default();
        for key in &schema.keys {
            if let Some(example) = &key.example {
                names.learn(key, example);
            }
        }
        let mut by_key: Vec<Option<Example>> = vec![None; schema.keys.len()];
        // Sources first: derived keys show their rows.
        let (sources, derived): (Vec<usize>, Vec<usize>) =
            (0..schema.keys.len()).partition(|&index| schema.keys[index].derived.is_none());
        for index in sources.into_iter().chain(derived) {
            let key = &schema.keys[index];
            let example = Making { schema, key, names: &names, made: &by_key }.example();
            names.learn(key, &example);
            by_key[index] = Some(example);
        }
        Examples { by_key: by_key.into_iter().flatten().collect(), names }
    }

    /// The example of that key.
    pub fn get(&self, id: KeyId) -> &Example {
        &self.by_key[id.index()]
    }

    /// A text of that shape for something of that name, if there is one to print.
    pub(crate) fn text(&self, name: &str, shape: &Shape) -> Option<String> {
        self.names.text(name, shape)
    }
}

/// What named things looked like where they were shown.
#[derive(Clone, Debug, Default)]
struct Names {
    seen: BTreeMap<Box<str>, Vec<Box<str>>>,
}

impl Names {
    fn add(&mut self, name: &str, value: &str) {
        let values = self.seen.entry(name.into()).or_default();
        if !values.iter().any(|known| **known == *value) {
            values.push(value.into());
        }
    }

    fn of(&self, name: &str) -> &[Box<str>] {
        self.seen.get(name).map_or(&[], Vec::as_slice)
    }

    /// Remembers the placeholders and fields of an example.
    fn learn(&mut self, key: &Key, example: &Example) {
        let values = captures(&key.pattern, &example.key).unwrap_or_default();
        for (placeholder, value) in key.pattern.placeholders().iter().zip(values) {
            self.add(&placeholder.name, value);
        }
        if let Some(object) = key.content.object() {
            for field in object.fields.iter().filter(|field| !field.shape.ty.is_json()) {
                if let Some(value) = field_text(key, example, &field.name) {
                    self.add(&field.name, &value);
                }
            }
        }
    }
}

/// What a field of an example row holds, as text.
fn field_text(key: &Key, example: &Example, name: &str) -> Option<String> {
    match (&key.content, example.value.as_ref()?) {
        (Content::Fields(_), ExampleValue::Pairs(pairs)) => {
            pairs.iter().find(|(field, _)| **field == *name).map(|(_, value)| value.to_string())
        }
        (Content::Json(shape), ExampleValue::Text(json)) => {
            let object = shape.object()?;
            let wanted = object.field(name)?;
            let mut found = None;
            let keep = |field: keyward_schema::JsonField<'_>| {
                if field.index == wanted && field.raw != b"null" {
                    found = Some(String::from_utf8_lossy(&field.text()).into_owned());
                }
            };
            object.check_json(json.as_bytes(), keep).ok()?;
            found
        }
        _ => None,
    }
}

/// The values of a key's placeholders; `None` if it is not of the pattern.
pub(crate) fn captures<'k>(pattern: &Pattern, key: &'k str) -> Option<Vec<&'k str>> {
    let values = pattern.read(key.as_bytes())?;
    values.iter().map(|value| std::str::from_utf8(value).ok()).collect()
}

/// One example in the making.
struct Making<'a> {
    schema: &'a Schema,
    key: &'a Key,
    names: &'a Names,
    made: &'a [Option<Example>],
}

/// What a derived key takes over from its source's example.
struct Row<'a> {
    source: &'a Key,
    example: &'a Example,
    captures: Vec<&'a str>,
}

impl Making<'_> {
    fn example(&self) -> Example {
        let row = self.row();
        if let Some(given) = &self.key.example {
            let value = given.value.clone().or_else(|| self.value(&given.key, row.as_ref()));
            return Example { key: given.key.clone(), value };
        }
        let key: Box<str> = self.example_key(row.as_ref()).into();
        let value = self.value(&key, row.as_ref());
        Example { key, value }
    }

    fn row(&self) -> Option<Row<'_>> {
        let source = self.key.derived.as_ref()?.source().key;
        let example = self.made[source.index()].as_ref()?;
        let source = self.schema.key(source);
        Some(Row { source, example, captures: captures(&source.pattern, &example.key)? })
    }

    /// A key of the pattern that no smaller pattern claims: each placeholder
    /// alike first, then its further candidates.
    fn example_key(&self, row: Option<&Row<'_>>) -> String {
        const ATTEMPTS: usize = 8;
        let pattern = &self.key.pattern;
        let of_row = row.map(|row| self.placeholders_of(row)).unwrap_or_default();
        let candidates: Vec<Vec<String>> = pattern
            .placeholders()
            .iter()
            .enumerate()
            .map(|(index, placeholder)| {
                let mut values = self.names.candidates(&placeholder.name, &placeholder.kind);
                if let Some(value) =
                    of_row.get(&index).filter(|v| placeholder.kind.accepts(v.as_bytes()))
                {
                    values.insert(0, value.clone());
                }
                values
            })
            .collect();
        let attempt = |round: usize| {
            let values: Vec<&str> =
                candidates.iter().map(|values| &*values[round.min(values.len() - 1)]).collect();
            String::from_utf8_lossy(&pattern.fill(&values)).into_owned()
        };
        (0..ATTEMPTS).map(attempt).find(|key| self.is_own(key)).unwrap_or_else(|| attempt(0))
    }

    /// Whether no smaller pattern claims the key.
    fn is_own(&self, key: &str) -> bool {
        let own = &self.key.pattern;
        own.accepts(key.as_bytes())
            && !self.schema.keys.iter().any(|other| {
                other.pattern.accepts(key.as_bytes())
                    && relate(&other.pattern, own).0 == Relation::Subset
            })
    }

    /// The placeholders that the source's row decides.
    fn placeholders_of(&self, row: &Row<'_>) -> BTreeMap<usize, String> {
        let Some(derived) = &self.key.derived else { return BTreeMap::new() };
        let bound = derived.source().bindings.iter().zip(&row.captures);
        let mut values: BTreeMap<usize, String> = bound
            .filter_map(|(binding, value)| match binding {
                Binding::Bound(own) => Some((*own, (*value).to_owned())),
                Binding::Member | Binding::Literal(_) => None,
            })
            .collect();
        let field = |index: usize| {
            let field = row.source.content.object()?.fields.get(index)?;
            field_text(row.source, row.example, &field.name)
        };
        match derived {
            Derived::Lookup { finds: Finds::Member { field: Some(index), slot }, .. } => {
                values.extend(field(*index).map(|value| (*slot, value)));
            }
            Derived::Lookup { finds: Finds::Member { field: None, slot }, .. } => {
                if let Some(ExampleValue::Text(value)) = &row.example.value {
                    values.insert(*slot, value.to_string());
                }
            }
            Derived::Members { split, .. } => {
                values
                    .extend(split.iter().filter_map(|&(slot, index)| Some((slot, field(index)?))));
            }
            Derived::Lookup { finds: Finds::Field(_), .. }
            | Derived::Rank { .. }
            | Derived::Inverse { .. }
            | Derived::Follows { .. } => {}
        }
        values
    }

    fn value(&self, key: &str, row: Option<&Row<'_>>) -> Option<ExampleValue> {
        let names = self.key.pattern.split(key.as_bytes())?;
        let fits = |value: &ExampleValue| self.key.content.check_under(&names, value).is_ok();
        self.proposal(key, row).filter(fits)
    }

    fn proposal(&self, key: &str, row: Option<&Row<'_>>) -> Option<ExampleValue> {
        match &self.key.content {
            Content::Value(shape) => {
                let member = self.member(key, shape, row);
                member
                    .or_else(|| self.names.text("value", shape))
                    .map(|text| ExampleValue::Text(text.into()))
            }
            Content::Json(shape) => {
                self.names.json("value", shape).map(|json| ExampleValue::Text(json.into()))
            }
            Content::Fields(object) | Content::Entries(object) => {
                self.names.fields(object).map(ExampleValue::Pairs)
            }
            Content::Items(shape) => {
                let member = self.member(key, shape, row);
                let item = member.or_else(|| self.names.text("item", shape))?;
                Some(ExampleValue::Items(vec![item.into()]))
            }
            Content::Scored { member: shape, score } => {
                let member =
                    self.member(key, shape, row).or_else(|| self.names.text("item", shape))?;
                let score = self.score(score, row)?;
                Some(ExampleValue::Pairs(vec![(member.into(), score.into())]))
            }
            Content::Opaque => None,
        }
    }

    /// What the source's placeholder for the member holds. The mirror of a set
    /// shows someone else than its owner.
    fn member(&self, key: &str, shape: &Shape, row: Option<&Row<'_>>) -> Option<String> {
        let derived = self.key.derived.as_ref()?;
        if let Derived::Lookup { finds: Finds::Field(held), .. } = derived {
            let row = row?;
            let field = row.source.content.object()?.fields.get(*held)?;
            return field_text(row.source, row.example, &field.name);
        }
        let source = &self.schema.key(derived.source().key).pattern;
        let place = derived.source().member()?;
        let placeholder = &source.placeholders()[place];
        let own = captures(&self.key.pattern, key)?;
        let is_owner = |value: &str| match derived {
            Derived::Inverse { slot, .. } => own.get(*slot) == Some(&value),
            _ => false,
        };
        let of_row = row.and_then(|row| row.captures.get(place)).map(|value| (*value).to_owned());
        of_row
            .into_iter()
            .chain(self.names.candidates(&placeholder.name, &placeholder.kind))
            .find(|value| !is_owner(value) && shape.check(value.as_bytes()).is_ok())
    }

    /// The score of a member: the field that ranks it, or any that fits.
    fn score(&self, shape: &Shape, row: Option<&Row<'_>>) -> Option<String> {
        let ranked = row.and_then(|row| {
            let Some(Derived::Rank { by, .. }) = &self.key.derived else { return None };
            let by = match by {
                RankBy::Field(by) => by,
                RankBy::Placeholder(index) => {
                    return row.captures.get(*index).map(|&value| value.to_owned());
                }
            };
            let field = row.source.content.object()?.fields.get(*by)?;
            let text = field_text(row.source, row.example, &field.name)?;
            match field.shape.ty {
                Type::Timestamp => parse_timestamp(text.as_bytes()).map(|ms| ms.to_string()),
                _ => Some(text),
            }
        });
        let fits = |text: &String| text.parse().is_ok_and(|score| shape.check_score(score).is_ok());
        ranked.filter(fits).or_else(|| self.names.text("score", shape).filter(fits))
    }
}

impl Names {
    /// Values for a placeholder, most telling first; never none.
    fn candidates(&self, name: &str, kind: &keyward_schema::Kind) -> Vec<String> {
        let shape = shape_of_kind(kind);
        let fits = |value: &String| kind.accepts(value.as_bytes());
        let known = self.of(name).iter().map(ToString::to_string);
        let values: Vec<String> =
            known.chain(value::candidates(name, &shape)).filter(fits).collect();
        assert!(!values.is_empty(), "every kind accepts one of its candidates");
        values
    }
}

#[cfg(test)]
mod tests;
