//! What of a declared content is judged at once within a unit.
//!
//! Owns the line between what a value is, which nothing else in the unit changes (its type, the
//! form of each part, fields that are not declared), and what its unit may still mend: fields
//! that are required, `same` and `check`, `min` and `max` of numbers. The latter are taken out of a copy of what
//! is declared, so that whoever judges values needs to know nothing of units.
//! Not here: what is judged at the end of a unit (`fit`, `after::unit`).

use keyward_schema::{Content, Extra, Object, Shape, Type};

/// The content without what is judged at the end of a unit; `None` if that is all of it.
pub(crate) fn at_once(content: &Content) -> Option<Content> {
    let mut rest = content.clone();
    match &mut rest {
        Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => ease(shape),
        Content::Fields(object) => ease_object(object),
        Content::Scored { member, score } => {
            ease(member);
            ease(score);
        }
        // An entry that was added stays what it is: nothing mends it.
        Content::Entries(_) | Content::Opaque => {}
    }
    (rest != *content).then_some(rest)
}

fn ease(shape: &mut Shape) {
    shape.limits.min = None;
    shape.limits.max = None;
    match &mut shape.ty {
        Type::Array(item) | Type::Map { value: item, .. } => ease(item),
        Type::Object(object) => ease_object(object),
        _ => {}
    }
}

fn ease_object(object: &mut Object) {
    object.checks.clear();
    for field in &mut object.fields {
        field.required = false;
        field.same = None;
        ease(&mut field.shape);
    }
    if let Extra::Typed(shape) = &mut object.extra {
        ease(shape);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_schema::check;

    fn content(table: &str) -> Content {
        let text = format!("[keyspace]\nname = \"t\"\n[key.\"k\"]\n{table}\nttl = \"none\"\n");
        let checked = check("t.toml", text.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:#?}", checked.diagnostics));
        schema.keys[0].content.clone()
    }

    #[test]
    fn limits_of_numbers_and_required_fields_wait_wherever_they_stand() {
        let json = content(
            "type = \"json\"\nfields = { n = { type = \"int\", min = 0 }, s = { type = \"string\", \
             len = 3 }, in = { fields = { a = \"uint\" } } }",
        );
        assert!(json.check(&text(r#"{"n":-1,"s":"abc","in":{"a":1}}"#)).is_err());
        let rest = at_once(&json).expect("there is something to wait for");
        for fitting in [r#"{"n":-1,"s":"abc","in":{}}"#, r#"{"in":{"a":1}}"#, "{}"] {
            assert_eq!(rest.check(&text(fitting)), Ok(()), "{fitting}");
        }
        for unfit in [r#"{"n":"x"}"#, r#"{"s":"abcd"}"#, r#"{"in":{"a":-1}}"#, r#"{"other":1}"#] {
            assert!(rest.check(&text(unfit)).is_err(), "{unfit}");
        }
    }

    #[test]
    fn what_needs_nothing_as_a_whole_is_judged_at_once() {
        for table in ["type = \"string\"\nvalue = \"a | b\"", "type = \"set\"", "type = \"int\""] {
            assert_eq!(at_once(&content(table)), None, "{table}");
        }
        for table in [
            "type = \"string\"\nvalue = { type = \"int\", max = 3 }",
            "type = \"hash\"\nfields = { a = \"str\" }",
        ] {
            assert!(at_once(&content(table)).is_some(), "{table}");
        }
    }

    fn text(value: &str) -> keyward_schema::ExampleValue {
        keyward_schema::ExampleValue::Text(value.into())
    }
}
