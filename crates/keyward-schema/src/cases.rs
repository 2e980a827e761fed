//! Cases: what a schema is to accept and to refuse, written beside it.
//!
//! Owns the form of a file of cases and the trying of them. For each pattern the file may
//! have `keys` that belong to it, `not_keys` that do not with the reason why, `values` that
//! fit, and `not_values` with a part of the words (`because`) that a refusal must have.
//! Whether a value fits the judge says whom the caller brings: one who has an engine writes it
//! (`keyward test`), [`by_shape`] reads it. A value is judged under the keys that the file lists
//! for its pattern, and fits if it fits under one of them; where it lists none, under a key that
//! is made up, of which nothing is said to be the `same`.
//! Not here: commands, lifetimes, derived keys.

use toml::de::{DeTable, DeValue};

use crate::escape::escape;
use crate::matcher::Matcher;
use crate::nearest::nearest;
use crate::pattern::relate;
use crate::read::example::{expected_form, written};
use crate::schema::{Content, ExampleValue, Key, KeyId, Schema};
use crate::source::Span;

/// What came of the cases of a file.
#[derive(Debug)]
pub struct CaseResults {
    /// How many were tried.
    pub tried: usize,
    /// Those that came out otherwise, and what is no case at all, in the file's order.
    pub failures: Vec<CaseFailure>,
    /// The patterns that have none.
    pub without_cases: Vec<Box<str>>,
}

/// A case that came out otherwise.
#[derive(Debug)]
pub struct CaseFailure {
    /// Where the case stands.
    pub at: Span,
    /// The pattern that it is about.
    pub pattern: Box<str>,
    /// What was found.
    pub message: String,
}

/// What may be said of a pattern.
const PARTS: [&str; 4] = ["keys", "not_keys", "values", "not_values"];

type Value<'a> = toml::Spanned<DeValue<'a>>;

/// Says whether a value may be written under a key of a pattern, and else why not.
pub type Judge<'j> = dyn FnMut(KeyId, &[u8], &ExampleValue) -> Result<(), String> + 'j;

/// What the shapes and bounds of a schema say of a value by themselves.
///
/// # Errors
/// Says what is wrong with it.
pub fn by_shape(
    schema: &Schema,
    id: KeyId,
    key: &[u8],
    value: &ExampleValue,
) -> Result<(), String> {
    let declared = schema.key(id);
    let names = declared.pattern.split(key);
    let fits = declared.content.check_under(names.as_deref().unwrap_or_default(), value);
    fits.and_then(|()| declared.bounds.check(declared.data, value))
        .map_err(|misfit| misfit.to_string())
}

/// Tries the cases of a file on a schema, and the values of it on a judge.
///
/// # Errors
/// If the text is no TOML: what is wrong, and where.
pub fn try_cases(
    schema: &Schema,
    text: &str,
    judge: &mut Judge<'_>,
) -> Result<CaseResults, (Span, String)> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(Span::default(), Span::from);
        (at, error.message().to_owned())
    })?;
    let patterns = schema.keys.iter().map(|key| &key.pattern);
    let Ok(matcher) = Matcher::new(patterns) else {
        return Err((Span::default(), "the patterns of the schema contradict each other".into()));
    };
    let mut trial = Trial { schema, matcher, judge, tried: 0, failures: Vec::new() };
    let mut has_cases = vec![false; schema.keys.len()];
    for (name, value) in table.get_ref().iter() {
        let at = name.span().into();
        let pattern: &str = name.get_ref();
        match schema.keys.iter().position(|key| key.pattern.text() == pattern) {
            Some(index) => {
                has_cases[index] = true;
                trial.key(index, value);
            }
            None => {
                let known = schema.keys.iter().map(|key| key.pattern.text());
                let meant = nearest(pattern, known)
                    .map_or(String::new(), |meant| format!("; did you mean {meant}?"));
                trial.fail(at, pattern, format!("the schema has no such pattern{meant}"));
            }
        }
    }
    let Trial { tried, mut failures, .. } = trial;
    failures.sort_by_key(|failure| failure.at.start);
    let without = schema.keys.iter().zip(has_cases).filter(|(_, has_cases)| !has_cases);
    let without_cases = without.map(|(key, _)| key.pattern.text().into()).collect();
    Ok(CaseResults { tried, failures, without_cases })
}

struct Trial<'s, 'j, 'f> {
    schema: &'s Schema,
    matcher: Matcher,
    judge: &'j mut Judge<'f>,
    tried: usize,
    failures: Vec<CaseFailure>,
}

impl<'s> Trial<'s, '_, '_> {
    fn fail(&mut self, at: Span, pattern: &str, message: String) {
        self.failures.push(CaseFailure { at, pattern: pattern.into(), message });
    }

    /// Tries what is said of one pattern.
    fn key(&mut self, index: usize, said: &Value<'_>) {
        let own = self.schema.keys[index].pattern.text();
        let DeValue::Table(table) = said.get_ref() else {
            return self.fail(said.span().into(), own, "must be a table of cases".into());
        };
        let listed = table.get("keys").and_then(|keys| keys.get_ref().as_array());
        let listed = listed.into_iter().flat_map(|keys| keys.iter());
        let listed: Vec<&str> = listed.filter_map(|key| key.get_ref().as_str()).collect();
        for (name, value) in table.iter() {
            let (at, part): (Span, &str) = (name.span().into(), name.get_ref());
            match (part, value.get_ref()) {
                ("keys", DeValue::Array(keys)) => {
                    keys.iter().for_each(|text| self.belongs(index, text));
                }
                ("not_keys", DeValue::Table(keys)) => {
                    for (text, reason) in keys.iter() {
                        self.is_elsewhere(index, text.get_ref(), (text.span().into(), reason));
                    }
                }
                ("values", DeValue::Array(values)) => {
                    values.iter().for_each(|value| self.fits(index, &listed, value));
                }
                ("not_values", DeValue::Array(values)) => {
                    values.iter().for_each(|value| self.is_refused(index, &listed, value));
                }
                ("keys" | "values" | "not_values", _) => {
                    self.fail(at, own, format!("`{part}` must be an array"));
                }
                ("not_keys", _) => {
                    self.fail(at, own, "`not_keys` must be a table of keys and reasons".into());
                }
                _ => {
                    let meant = nearest(part, PARTS)
                        .map_or_else(|| PARTS.join(", "), |meant| format!("did you mean {meant}?"));
                    self.fail(at, own, format!("no such part of a case: `{part}` ({meant})"));
                }
            }
        }
    }

    /// The pattern that a key belongs to.
    fn pattern_of(&self, text: &str) -> Option<&'s str> {
        let found = self.matcher.find(text.as_bytes())?;
        Some(self.schema.keys[found.pattern].pattern.text())
    }

    fn belongs(&mut self, index: usize, text: &Value<'_>) {
        let (own, at) = (self.schema.keys[index].pattern.text(), text.span().into());
        let Some(text) = text.get_ref().as_str() else {
            return self.fail(at, own, "a key must be a text".into());
        };
        self.tried += 1;
        match self.pattern_of(text) {
            Some(found) if found == own => {}
            Some(other) => self.fail(at, own, format!("{} belongs to {other}", quoted(text))),
            None => self.fail(at, own, format!("{} belongs to no pattern", quoted(text))),
        }
    }

    fn is_elsewhere(&mut self, index: usize, text: &str, (at, reason): (Span, &Value<'_>)) {
        let own = self.schema.keys[index].pattern.text();
        let Some(reason) = reason.get_ref().as_str() else {
            return self.fail(at, own, "a key that is none needs a reason, a text".into());
        };
        self.tried += 1;
        if self.pattern_of(text) == Some(own) {
            self.fail(at, own, format!("{} belongs to it, which says: {reason}", quoted(text)));
        }
    }

    /// Whether a value may be written, or else why not under each key: under one of the listed keys, or else under one that is
    /// made up, if there is one that belongs to the pattern.
    fn judged(
        &mut self,
        index: usize,
        listed: &[&str],
        value: &ExampleValue,
    ) -> Result<(), Vec<String>> {
        let (schema, id) = (self.schema, KeyId::new(index));
        let key = schema.key(id);
        let is_own = |matcher: &Matcher, text: &[u8]| {
            matcher.find(text).is_some_and(|found| found.pattern == index)
        };
        let mut refusals = Vec::new();
        for text in listed.iter().filter(|text| is_own(&self.matcher, text.as_bytes())) {
            match (self.judge)(id, text.as_bytes(), value) {
                Ok(()) => return Ok(()),
                Err(refusal) => refusals.push(refusal),
            }
            // Nothing but `same` depends on the key.
            if !key.content.has_same() {
                break;
            }
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let made_up = match key.content.has_same() {
            true => None,
            false => relate(&key.pattern, &key.pattern).1,
        };
        let judged = match made_up.filter(|text| is_own(&self.matcher, text)) {
            Some(text) => (self.judge)(id, &text, value),
            None => {
                let fits = key.content.check(value);
                let fits = fits.and_then(|()| key.bounds.check(key.data, value));
                fits.map_err(|misfit| misfit.to_string())
            }
        };
        judged.map_err(|refusal| vec![refusal])
    }

    fn fits(&mut self, index: usize, listed: &[&str], value: &Value<'_>) {
        let key = &self.schema.keys[index];
        let (own, at) = (key.pattern.text(), value.span().into());
        let Some(whole) = whole(value).filter(|whole| is_of_form(key, whole)) else {
            return self.fail(at, own, form_of(key));
        };
        self.tried += 1;
        if let Err(refusals) = self.judged(index, listed, &whole) {
            self.fail(at, own, format!("the value does not fit: {}", refusals.join("; ")));
        }
    }

    fn is_refused(&mut self, index: usize, listed: &[&str], case: &Value<'_>) {
        let key = &self.schema.keys[index];
        let (own, at) = (key.pattern.text(), Span::from(case.span()));
        let part = |name: &str| case.get_ref().as_table().and_then(|table| table.get(name));
        let because = part("because").and_then(|because| because.get_ref().as_str());
        let strays = case.get_ref().as_table().into_iter().flat_map(|table| table.iter());
        let is_stray = |name: &str| !["value", "because"].contains(&name);
        let (Some(value), Some(because)) = (part("value"), because) else {
            return self.fail(at, own, "a value that is none needs `value` and `because`".into());
        };
        if let Some((name, _)) = strays.into_iter().find(|(name, _)| is_stray(name.get_ref())) {
            return self.fail(at, own, format!("no such part of a case: `{}`", name.get_ref()));
        }
        let Some(whole) = whole(value).filter(|whole| is_of_form(key, whole)) else {
            return self.fail(at, own, form_of(key));
        };
        self.tried += 1;
        match self.judged(index, listed, &whole) {
            Ok(()) => self.fail(at, own, format!("the value fits, and should not: {because}")),
            Err(refusals) if refusals.iter().any(|refusal| refusal.contains(because)) => {}
            Err(refusals) => {
                let refusals = refusals.join("; ");
                let message = format!("refused by \"{refusals}\", which lacks \"{because}\"");
                self.fail(at, own, message);
            }
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// How the values of a key are written.
fn form_of(key: &Key) -> String {
    const JSON: &str = "JSON is a text, in single quotes: '{\"id\": 1}'";
    let form = expected_form(key.data, &key.content);
    match &key.content {
        Content::Json(_) => format!("a value of this key must be a text; {JSON}"),
        Content::Items(_) => {
            format!("a value of this key must be {form}, each a text or a number; {JSON}")
        }
        Content::Fields(_) | Content::Entries(_) => {
            format!("a value of this key must be {form}, each with a text or a number; {JSON}")
        }
        Content::Value(_) | Content::Scored { .. } | Content::Opaque => {
            format!("a value of this key must be {form}")
        }
    }
}

/// Whether a value that can be read may be one of the key: JSON is a text.
fn is_of_form(key: &Key, value: &ExampleValue) -> bool {
    !matches!(key.content, Content::Json(_)) || matches!(value, ExampleValue::Text(_))
}

/// A whole value as examples write it: a text, items, or names and values.
fn whole(value: &Value<'_>) -> Option<ExampleValue> {
    Some(match value.get_ref() {
        DeValue::Array(items) => {
            ExampleValue::Items(items.iter().map(written).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let pairs = table.iter().map(|(name, value)| {
                let name: &str = name.get_ref();
                Some((name.into(), written(value)?))
            });
            ExampleValue::Pairs(pairs.collect::<Option<_>>()?)
        }
        _ => ExampleValue::Text(written(value)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = "1h"
[key."user:{id:uint}".fields]
age = "uint"

[key."cart:{id}"]
type  = "list"
items = "uint"
ttl   = "1h"
"#;

    fn tried(schema: &Schema, cases: &str) -> Result<CaseResults, (Span, String)> {
        try_cases(schema, cases, &mut |id, key, value| by_shape(schema, id, key, value))
    }

    /// The findings, as `line: pattern: message`.
    fn told(cases: &str) -> Vec<String> {
        let schema = crate::check("shop.toml", SCHEMA.as_bytes()).schema.expect("sound");
        let results = tried(&schema, cases).expect("TOML");
        let line =
            |failure: &CaseFailure| cases[..failure.at.start as usize].matches('\n').count() + 1;
        let told = |failure: &CaseFailure| {
            format!("{}: {}: {}", line(failure), failure.pattern, failure.message)
        };
        results.failures.iter().map(told).collect()
    }

    #[test]
    fn cases_that_hold_are_counted_and_say_nothing() {
        let cases = r#"
["user:{id:uint}"]
keys       = ["user:1", "user:42"]
not_keys   = { "user:x" = "not a number", "users:1" = "another word" }
values     = [{ age = 3 }]
not_values = [{ value = { age = "old" }, because = "whole number" }]
"#;
        let schema = crate::check("shop.toml", SCHEMA.as_bytes()).schema.expect("sound");
        let results = tried(&schema, cases).expect("TOML");
        assert_eq!((results.tried, results.failures.len()), (6, 0), "{:?}", results.failures);
        assert_eq!(results.without_cases, ["cart:{id}".into()]);
    }

    #[test]
    fn values_of_every_type_are_written_as_examples_are() {
        let schema = r#"
[keyspace]
name = "all"
[key."string:{id}"]
type = "string"
[key."int:{id}"]
type = "int"
[key."list:{id}"]
type  = "list"
items = "uint"
[key."set:{id}"]
type  = "set"
items = "uint"
[key."zset:{id}"]
type  = "zset"
items = "uint"
[key."stream:{id}"]
type   = "stream"
fields = { age = "uint" }
"#;
        let cases = r#"
["string:{id}"]
values = ["x"]
["int:{id}"]
values = [3]
not_values = [{ value = "x", because = "whole number" }]
["list:{id}"]
values = [[1, 2]]
not_values = [{ value = ["x"], because = "whole number" }]
["set:{id}"]
values = [[1, 2]]
not_values = [{ value = ["x"], because = "whole number" }]
["zset:{id}"]
values = [{ "7" = 1.5 }]
not_values = [{ value = { x = 1 }, because = "whole number" }]
["stream:{id}"]
values = [{ age = 3 }]
not_values = [{ value = { age = "x" }, because = "whole number" }]
"#;
        let schema = crate::check("all.toml", schema.as_bytes()).schema.expect("sound");
        let results = tried(&schema, cases).expect("TOML");
        assert_eq!((results.tried, results.failures.len()), (11, 0), "{:?}", results.failures);
    }

    #[test]
    fn cases_that_come_out_otherwise_are_told_with_their_line() {
        let told = told(
            r#"["user:{id:uint}"]
keys       = ["user:x",
              "cart:7"]
not_keys   = { "user:7" = "no such user" }
values     = [{ age = -1 }]
not_values = [{ value = { age = 1 }, because = "too young" },
              { value = { age = "old" }, because = "too young" }]
"#,
        );
        assert_eq!(told[0], r#"2: user:{id:uint}: "user:x" belongs to no pattern"#);
        assert_eq!(told[1], r#"3: user:{id:uint}: "cart:7" belongs to cart:{id}"#);
        assert_eq!(
            told[2],
            r#"4: user:{id:uint}: "user:7" belongs to it, which says: no such user"#
        );
        assert!(told[3].starts_with("5: user:{id:uint}: the value does not fit: age"), "{told:?}");
        assert_eq!(told[4], "6: user:{id:uint}: the value fits, and should not: too young");
        assert!(told[5].starts_with("7: user:{id:uint}: refused by \""), "{told:?}");
        assert_eq!(told.len(), 6);
    }

    #[test]
    fn what_is_no_case_is_told_too() {
        let told = told(
            r#"["usr:{id:uint}"]
keys = ["user:1"]
["cart:{id}"]
keyz       = ["cart:1"]
keys       = "cart:1"
values     = [1, [[1]]]
not_values = [[1], { value = [1], because = "x", why = "y" }]
"#,
        );
        assert_eq!(
            told,
            [
                "1: usr:{id:uint}: the schema has no such pattern; did you mean user:{id:uint}?",
                "4: cart:{id}: no such part of a case: `keyz` (did you mean keys?)",
                "5: cart:{id}: `keys` must be an array",
                "6: cart:{id}: the value does not fit: the value is not of the key's type",
                "6: cart:{id}: a value of this key must be an array of items, each a text or a number; JSON is a text, in single quotes: '{\"id\": 1}'",
                "7: cart:{id}: a value that is none needs `value` and `because`",
                "7: cart:{id}: no such part of a case: `why`",
            ]
        );
        let schema = crate::check("shop.toml", SCHEMA.as_bytes()).schema.expect("sound");
        let (at, error) = tried(&schema, "x = [").expect_err("no TOML");
        assert!(at.start >= 4 && !error.is_empty(), "{at:?} {error}");
    }

    #[test]
    fn json_is_written_as_a_text() {
        let schema = r#"
[keyspace]
name = "all"
[key."doc:{id}"]
type   = "json"
fields = { id = "int" }
[key."jobs:{id}"]
type    = "list"
items   = { fields = { id = "int" } }
max_len = 9
"#;
        let schema = crate::check("all.toml", schema.as_bytes()).schema.expect("sound");
        let told = |cases: &str| -> Vec<String> {
            let results = tried(&schema, cases).expect("TOML");
            results.failures.into_iter().map(|failure| failure.message).collect()
        };
        let doc =
            "a value of this key must be a text; JSON is a text, in single quotes: '{\"id\": 1}'";
        let items = "a value of this key must be an array of items, each a text or a number; JSON is a text, in single quotes: '{\"id\": 1}'";
        assert_eq!(
            told(
                r#"["doc:{id}"]
values = [{ id = 1 }]"#
                    .replace("\\n", "\n")
                    .as_str()
            ),
            [doc]
        );
        assert_eq!(told("[\"jobs:{id}\"]\nvalues = [[{ id = 1 }]]"), [items]);
        assert_eq!(
            told("[\"jobs:{id}\"]\nnot_values = [{ value = [{ id = 1 }], because = \"x\" }]"),
            [items]
        );
        let right =
            "[\"doc:{id}\"]\nvalues = ['{\"id\": 1}']\n[\"jobs:{id}\"]\nvalues = [['{\"id\": 1}']]";
        assert!(told(right).is_empty());
    }

    #[test]
    fn bounds_and_the_same_placeholder_are_judged_under_the_listed_keys() {
        let schema = r#"
[keyspace]
name = "all"
[key."text:{id}"]
type     = "string"
max_size = 4
[key."set:{id}"]
type        = "set"
max_members = 2
[key."list:{id}"]
type    = "list"
max_len = 2
[key."user:{id:uint}"]
type   = "hash"
fields = { id = { type = "uint", same = "{id}" } }
[key."other:{id:uint}"]
type   = "hash"
fields = { id = { type = "uint", same = "{id}" } }
[key."any:{id}"]
type = "any"
"#;
        let cases = r#"
["text:{id}"]
values     = ["abcd"]
not_values = [{ value = "abcde", because = "max_size" }]
["set:{id}"]
values     = [[1, 2, 2]]
not_values = [{ value = [1, 2, 3], because = "max_members" }]
["list:{id}"]
not_values = [{ value = [1, 2, 3], because = "of which 2 are kept" }]
["user:{id:uint}"]
keys       = ["user:7", "user:8"]
values     = [{ id = 7 }, { id = 8 }]
not_values = [{ value = { id = 9 }, because = "{id}" }]
["other:{id:uint}"]
values     = [{ id = 9 }]
["any:{id}"]
values = ["x", [1, 2], { a = 1 }]
"#;
        let schema = crate::check("all.toml", schema.as_bytes()).schema.expect("sound");
        let results = tried(&schema, cases).expect("TOML");
        assert_eq!((results.tried, results.failures.len()), (14, 0), "{:?}", results.failures);
    }
}
