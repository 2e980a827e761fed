//! The fields of a row: of a hash, or of a JSON object.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::value::RawValue;

/// Fields by name, in their order. A row may have very many of them, so that each is found by its
/// name without a look at the others.
#[derive(Debug, Default)]
pub(super) struct Fields {
    found: Vec<(String, Found)>,
    /// Where each is.
    places: HashMap<String, usize>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Bytes: the value of a hash's field.
    Text(Vec<u8>),
    /// A text of JSON, and as it is written, with its quotes.
    Quoted(String, String),
    /// Anything else of JSON, as it is written.
    Raw(String),
    /// JSON's null.
    Null,
}

impl Fields {
    /// Those of a hash or of an entry of a stream, whose names are texts, each there once.
    ///
    /// # Errors
    /// If they are not, in words.
    pub(super) fn of_pairs(pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<Fields, &'static str> {
        let mut names = BTreeSet::new();
        let found = pairs.iter().map(|(name, value)| {
            let problem = "has the name of a field that is no text in UTF-8";
            let text = std::str::from_utf8(name).map_err(|_| problem)?;
            match names.insert(text) {
                true => Ok((text.to_owned(), Found::Text(value.clone()))),
                false => Err("has a field twice"),
            }
        });
        Ok(Fields::in_order(found.collect::<Result<_, _>>()?))
    }

    /// Those of a JSON object; of names that are there twice, the last counts.
    pub(super) fn of_json(text: &[u8]) -> Option<Fields> {
        let object: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(text).ok()?;
        let found = object.into_iter().map(|(name, raw)| {
            let raw = raw.get().trim();
            let found = match serde_json::from_str::<String>(raw) {
                Ok(text) => Found::Quoted(text, raw.to_owned()),
                Err(_) if raw == "null" => Found::Null,
                Err(_) => Found::Raw(raw.to_owned()),
            };
            (name, found)
        });
        Some(Fields::in_order(found.collect()))
    }

    fn in_order(found: Vec<(String, Found)>) -> Fields {
        let places = found.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
        Fields { found, places }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.found.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Found> {
        self.places.get(name).map(|at| &self.found[*at].1)
    }

    /// All of them as a JSON object, some with three stars instead of their values.
    pub(super) fn masked(mut self, is_hidden: impl Fn(&str) -> bool) -> Option<String> {
        for (name, found) in &mut self.found {
            if is_hidden(name) {
                *found = Found::Text(b"***".to_vec());
            }
        }
        let names: Vec<&str> = self.names().collect();
        self.json_of(&names)
    }

    /// Some of them as a JSON object; none if one of them is no text.
    pub(super) fn json_of(&self, names: &[&str]) -> Option<String> {
        let field = |name: &&str| {
            let value = match self.get(name)? {
                Found::Text(bytes) => {
                    let text = std::str::from_utf8(bytes).ok()?;
                    serde_json::Value::from(text).to_string()
                }
                Found::Quoted(_, json) | Found::Raw(json) => json.clone(),
                Found::Null => "null".to_owned(),
            };
            Some(format!("{}:{value}", serde_json::Value::from(*name)))
        };
        let fields: Vec<String> = names.iter().map(field).collect::<Option<_>>()?;
        Some(format!("{{{}}}", fields.join(",")))
    }
}
