//! Conditions of `members`, of lookups and of checks: `status = active and plan in (monthly, yearly)`.
//!
//! Grammar: tests joined by `and`; a test is `field = value`, `field != value`
//! or `field in (value, value)`; a value is a bare word, or text in single
//! quotes.

use super::draft::KeyDraft;
use super::table::Located;
use crate::checks::{bad_condition, no_such_field};
use crate::derived::Condition;
use crate::diagnostic::{Diagnostic, Report};
use crate::pattern::Kind;
use crate::shape::{Field, Object, Type};

/// Reads `when` against the fields of the source.
pub(super) fn read(
    when: Located<&str>,
    source: &KeyDraft<'_>,
    report: &mut Report,
) -> Option<Vec<Condition>> {
    let no_field = |name: Located<&str>| no_such_field::found(name, source);
    source.content.as_ref()?;
    read_of(when, source.object(), &no_field, report)
}

/// Reads `when` against the fields of an object.
pub(super) fn read_of(
    when: Located<&str>,
    object: Option<&Object>,
    no_field: &dyn Fn(Located<&str>) -> Diagnostic,
    report: &mut Report,
) -> Option<Vec<Condition>> {
    let tests = match parse(when.value) {
        Ok(tests) => tests,
        Err(expected) => {
            report.push(bad_condition::malformed(expected, when));
            return None;
        }
    };
    let mut conditions = Vec::new();
    for test in tests {
        let name = Located { value: test.field, at: when.at };
        let Some(index) = object.and_then(|object| object.field(test.field)) else {
            report.push(no_field(name));
            return None;
        };
        let field = &object?.fields[index];
        if field.shape.ty.is_json() {
            report.push(bad_condition::of_json(field, when.at));
            return None;
        }
        if let Some(bad) =
            test.values.iter().find(|value| field.shape.check(value.as_bytes()).is_err())
        {
            report.push(bad_condition::impossible(field, bad, when.at));
            return None;
        }
        conditions.push(Condition { field: index, is: test.is, values: test.values });
    }
    for (index, field) in object.iter().flat_map(|object| object.fields.iter().enumerate()) {
        if is_impossible(index, field, &conditions) {
            report.push(bad_condition::contradiction(field, when.at));
            return None;
        }
    }
    Some(conditions)
}

/// Whether no value of the field passes all tests of it.
fn is_impossible(index: usize, field: &Field, conditions: &[Condition]) -> bool {
    let tests: Vec<&Condition> = conditions.iter().filter(|test| test.field == index).collect();
    let values: &[Box<str>] = match (tests.iter().find(|test| test.is), &field.shape.ty) {
        (Some(test), _) => &test.values,
        (None, Type::Kind(Kind::Enum(words))) if field.required => words,
        (None, _) => return false,
    };
    let is_named =
        |test: &Condition, value: &str| test.values.iter().any(|named| **named == *value);
    !values.iter().any(|value| tests.iter().all(|test| is_named(test, value) == test.is))
}

struct Test<'w> {
    field: &'w str,
    is: bool,
    values: Vec<Box<str>>,
}

fn parse(when: &str) -> Result<Vec<Test<'_>>, &'static str> {
    let mut words = Words { rest: when };
    let mut tests = Vec::new();
    loop {
        let field = words.bare().ok_or("the name of a field")?;
        let test = match words.next() {
            Some("=") => Test { field, is: true, values: vec![words.value().ok_or("a value")?] },
            Some("!=") => Test { field, is: false, values: vec![words.value().ok_or("a value")?] },
            Some("in") => Test { field, is: true, values: words.list()? },
            _ => return Err("`=`, `!=` or `in (…)`"),
        };
        tests.push(test);
        match words.next() {
            None => return Ok(tests),
            Some("and") => {}
            Some(_) => return Err("`and` or the end"),
        }
    }
}

struct Words<'w> {
    rest: &'w str,
}

impl<'w> Words<'w> {
    /// The next word, sign or quoted text, quotes included.
    fn next(&mut self) -> Option<&'w str> {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        let is_sign = |c: char| "=!(),'".contains(c) || c.is_whitespace();
        let length = match rest.chars().next()? {
            '!' if rest[1..].starts_with('=') => 2,
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            sign if is_sign(sign) => sign.len_utf8(),
            _ => rest.find(is_sign).unwrap_or(rest.len()),
        };
        self.rest = &rest[length..];
        Some(&rest[..length])
    }

    fn bare(&mut self) -> Option<&'w str> {
        self.next().filter(|word| !word.starts_with(['=', '!', '(', ')', ',', '\'']))
    }

    fn value(&mut self) -> Option<Box<str>> {
        let word = self.next()?;
        match word.strip_prefix('\'') {
            Some(quoted) => quoted.strip_suffix('\'').map(Box::from),
            None => (!word.starts_with(['=', '!', '(', ')', ','])).then(|| word.into()),
        }
    }

    fn list(&mut self) -> Result<Vec<Box<str>>, &'static str> {
        if self.next() != Some("(") {
            return Err("`(` behind `in`");
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value().ok_or("a value")?);
            match self.next() {
                Some(",") => {}
                Some(")") => return Ok(values),
                _ => return Err("`,` or `)`"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tests_joined_by_and() {
        let tests =
            parse("status = active and plan in (monthly, 'a b') and x != '1'").unwrap_or_default();
        let shown: Vec<String> = tests
            .iter()
            .map(|test| format!("{} {} {}", test.field, test.is, test.values.join("/")))
            .collect();
        assert_eq!(shown, ["status true active", "plan true monthly/a b", "x false 1"]);
    }

    #[test]
    fn says_what_it_expected() {
        let check = |when, expected| assert_eq!(parse(when).err(), Some(expected), "{when}");
        check("", "the name of a field");
        check("status", "`=`, `!=` or `in (…)`");
        check("status =", "a value");
        check("status = a or b", "`and` or the end");
        check("status = a and", "the name of a field");
        check("status in a", "`(` behind `in`");
        check("status in (a b)", "`,` or `)`");
        check("status = 'a", "a value");
        check("= a", "the name of a field");
    }
}
