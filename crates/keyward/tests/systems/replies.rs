//! What functions answer, held against what the schema declares.
//!
//! One style in all systems: yes or no is 1 or 0, a list is an array, an answer of several
//! parts is an array of the declared names and their values in turn, what is not there is
//! nil. Everything else is an integer or a text that fits.

use keyward_resp::Frame;
use keyward_schema::{Object, Shape, Type};

/// Why a reply is not what is declared.
pub(crate) fn misfit(declared: &Shape, reply: &Frame) -> Option<String> {
    let text = match (&declared.ty, reply) {
        (_, Frame::NullBulk) if declared.nullable => return None,
        (Type::Array(item), Frame::Array(items)) => {
            return items.iter().find_map(|reply| misfit(item, reply));
        }
        (Type::Object(object), Frame::Array(parts)) => return misfit_of_parts(object, parts),
        (Type::Array(_) | Type::Object(_), _) => return Some(format!("{reply:?} is no array")),
        (_, Frame::Integer(number)) => number.to_string().into_bytes(),
        (Type::Bool, _) => return Some(format!("{reply:?} is neither 1 nor 0")),
        (_, Frame::Bulk(text)) => text.clone(),
        _ => return Some(format!("{reply:?} is neither an integer nor a text")),
    };
    declared.check(&text).err().map(|misfit| misfit.to_string())
}

fn misfit_of_parts(object: &Object, parts: &[Frame]) -> Option<String> {
    let names: Vec<_> = parts.iter().step_by(2).map(Frame::as_bytes).collect();
    let declared: Vec<_> = object.fields.iter().map(|field| Some(field.name.as_bytes())).collect();
    if names != declared || !parts.len().is_multiple_of(2) {
        return Some(format!("{parts:?} are not the declared parts"));
    }
    let mut values = object.fields.iter().zip(parts.iter().skip(1).step_by(2));
    values.find_map(|(field, value)| {
        misfit(&field.shape, value).map(|problem| format!("{}: {problem}", field.name))
    })
}
