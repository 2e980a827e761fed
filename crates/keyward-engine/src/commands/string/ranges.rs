//! Parts of strings: APPEND, SETRANGE, GETRANGE, SUBSTR, STRLEN.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_store::keyspace::Lifetime;
use keyward_store::keyspace::event::{Class, Event};

const APPEND: Event = Event::new(Class::String, "append");
const SETRANGE: Event = Event::new(Class::String, "setrange");

pub(crate) fn append(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, tail) = (ctx.key(1), ctx.args.at(2));
    let Some(mut edit) = ctx.keys.edit_text(key)? else {
        ctx.keys.set_text(key, tail, Lifetime::Forever, APPEND);
        ctx.reply.count(tail.len());
        return Ok(());
    };
    let old_bytes = edit.text().as_bytes().len();
    check_length(ctx.shared.tunables.grown_bytes_max(), old_bytes, tail.len())?;
    edit.patch(old_bytes, tail);
    edit.changed(APPEND);
    ctx.reply.count(old_bytes + tail.len());
    Ok(())
}

pub(crate) fn setrange(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, patch) = (ctx.key(1), ctx.args.at(3));
    let offset = args::integer(ctx.args.at(2))?;
    let offset = usize::try_from(offset).map_err(|_| WireError::OffsetOutOfRange)?;
    let text_bytes_max = ctx.shared.tunables.grown_bytes_max();
    let Some(mut edit) = ctx.keys.edit_text(key)? else {
        if !patch.is_empty() {
            check_length(text_bytes_max, offset, patch.len())?;
            let mut edit = ctx.keys.edit_text_or_create(key)?;
            edit.patch(offset, patch);
            edit.changed(SETRANGE);
        }
        ctx.reply.count(if patch.is_empty() { 0 } else { offset + patch.len() });
        return Ok(());
    };
    let old_bytes = edit.text().as_bytes().len();
    if patch.is_empty() {
        ctx.reply.count(old_bytes);
        return Ok(());
    }
    check_length(text_bytes_max, offset, patch.len())?;
    edit.patch(offset, patch);
    edit.changed(SETRANGE);
    ctx.reply.count(old_bytes.max(offset + patch.len()));
    Ok(())
}

/// Refuses a string that would grow beyond what a client could send at once.
fn check_length(bytes_max: u64, before: usize, added: usize) -> Outcome {
    let is_allowed = before.checked_add(added).is_some_and(|bytes| bytes as u64 <= bytes_max);
    if is_allowed { Ok(()) } else { Err(WireError::StringTooLong) }
}

pub(crate) fn getrange(ctx: &mut Ctx<'_>) -> Outcome {
    let start = args::integer(ctx.args.at(2))?;
    let end = args::integer(ctx.args.at(3))?;
    let key = ctx.key(1);
    match ctx.keys.read_text(key)? {
        Some(text) => ctx.reply.bulk(cut(text.as_bytes(), start, end)),
        None => ctx.reply.bulk(b""),
    }
    Ok(())
}

/// The bytes from `start` to `end`, both included, negative ones from the end.
fn cut(text: &[u8], start: i64, end: i64) -> &[u8] {
    if start < 0 && end < 0 && start > end {
        return b"";
    }
    let len = text.len() as i64;
    let absolute = |index: i64| if index < 0 { len.saturating_add(index).max(0) } else { index };
    let (start, end) = (absolute(start), absolute(end).min(len - 1));
    if start > end || len == 0 { b"" } else { &text[start as usize..=end as usize] }
}

pub(crate) fn strlen(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let bytes = ctx.keys.read_text(key)?.map_or(0, |text| text.as_bytes().len());
    ctx.reply.count(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_as_redis_cuts_them() {
        let cases: [(i64, i64, &[u8]); 9] = [
            (0, 3, b"This"),
            (-3, -1, b"ing"),
            (0, -1, b"This is a string"),
            (10, 100, b"string"),
            (5, 2, b""),
            (-1, -5, b""),
            (-100, 0, b"T"),
            (0, -100, b"T"),
            (i64::MIN, i64::MAX, b"This is a string"),
        ];
        for (start, end, expected) in cases {
            assert_eq!(cut(b"This is a string", start, end), expected, "{start} {end}");
        }
        assert_eq!(cut(b"", 0, -1), b"");
    }
}
