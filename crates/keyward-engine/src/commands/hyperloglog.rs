//! PFADD, PFCOUNT, PFMERGE, PFDEBUG, PFSELFTEST: how many different elements were seen, about.
//!
//! Owns what the commands do. A HyperLogLog is a string that Redis reads and writes the
//! same way (`form`); its registers are written as runs while few elements are in
//! (`sparse`), side by side from then on (`dense`).
//!
//! Invariants: a string that is no HyperLogLog, or a corrupt one, is never changed. A dense
//! one is changed where it is; of a sparse one, three kilobytes at most by default, a copy
//! is changed and written back.

mod dense;
mod estimate;
mod form;
mod self_test;
mod sparse;

use crate::engine::context::{Ctx, Outcome};
use dense::{Mark, REGISTERS};
use estimate::{Histogram, mark_of};
use form::{Corrupt, Draft, Form};
use keyward_commands::{WireError, args};
use keyward_store::keyspace::edit::TextEdit;
use keyward_store::keyspace::event::{Class, Event};
use sparse::Cursor;

pub(crate) use self_test::pfselftest;

const PFADD: Event = Event::new(Class::String, "pfadd");

/// What is embedded in its object by Redis; it is not any more once a command here had it.
const EMBEDDED_BYTES_MAX: usize = 44;

pub(crate) fn pfadd(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let sparse_bytes_max = ctx.shared.tunables.hll_sparse_bytes_max;
    let mut edit = ctx.keys.edit_text_or_create(key)?;
    let is_new = edit.is_new();
    let form = if is_new { Form::Sparse } else { Form::of(edit.text().as_bytes())? };
    let marks = ctx.args.from(2).iter().map(mark_of);
    let raised = match form {
        Form::Dense => Ok(add_to_dense(&mut edit, marks)),
        Form::Sparse => {
            let text = if is_new { form::empty() } else { edit.text().as_bytes().to_vec() };
            add_to_sparse(&mut edit, Draft::new(text, form, sparse_bytes_max), marks)
        }
    };
    match raised {
        Ok(raised @ 1..) => edit.changed_by(PFADD, raised),
        _ => edit.untold(),
    }
    ctx.reply.integer(i64::from(raised? > 0));
    Ok(())
}

/// Adds elements to a draft and writes it back if that raised registers, or if the key is
/// new; how many changes that were.
fn add_to_sparse(
    edit: &mut TextEdit<'_>,
    mut draft: Draft,
    marks: impl Iterator<Item = Mark>,
) -> Result<u64, Corrupt> {
    extract(edit);
    let mut raised = u64::from(edit.is_new());
    for mark in marks {
        let mut cursor = Cursor::START;
        raised += u64::from(draft.raise(&mut cursor, mark)?);
    }
    if raised > 0 {
        form::outdate(&mut draft.text);
        edit.rewrite(&draft.text);
    }
    Ok(raised)
}

/// Adds elements to a dense string where it is; how many of its registers that raised.
fn add_to_dense(edit: &mut TextEdit<'_>, marks: impl Iterator<Item = Mark>) -> u64 {
    let mut raised = 0;
    for mark in marks {
        if dense::get(form::registers(edit.text().as_bytes()), mark.index) < mark.count
            && let Some(text) = edit.bytes_mut()
        {
            dense::put(form::registers_mut(text), mark);
            form::outdate(text);
            raised += 1;
        }
    }
    raised
}

/// Redis takes a short string out of its object before it looks further, and OBJECT ENCODING
/// tells.
fn extract(edit: &mut TextEdit<'_>) {
    if edit.text().as_bytes().len() <= EMBEDDED_BYTES_MAX {
        edit.patch(0, &[]);
    }
}

pub(crate) fn pfcount(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() > 2 {
        let mut highest = [0; REGISTERS];
        for position in 1..ctx.args.len() {
            join(ctx, position, &mut highest)?;
        }
        ctx.reply.integer(Histogram::of_registers(&highest).estimate() as i64);
        return Ok(());
    }
    let key = ctx.key(1);
    let Some(text) = ctx.keys.read_text(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let text = text.as_bytes();
    let form = Form::of(text)?;
    let known = form::estimate(text);
    if let Some(known) = known.filter(|_| text.len() > EMBEDDED_BYTES_MAX) {
        ctx.reply.integer(known as i64);
        return Ok(());
    }
    let estimate = match known {
        Some(known) => Ok(known),
        None => Histogram::of(text, form).map(|histogram| histogram.estimate()),
    };
    if let Some(mut edit) = ctx.keys.edit_text(key)? {
        extract(&mut edit);
        match (known, estimate, edit.bytes_mut()) {
            (None, Ok(estimate), Some(text)) => {
                form::set_estimate(text, estimate);
                edit.changed_silently();
            }
            _ => edit.untold(),
        }
    }
    ctx.reply.integer(estimate? as i64);
    Ok(())
}

/// Raises registers to what the string of a key has in them; its form, if it is there.
fn join(
    ctx: &mut Ctx<'_>,
    position: usize,
    highest: &mut [u8; REGISTERS],
) -> Result<Option<Form>, WireError> {
    let key = ctx.key(position);
    let Some(text) = ctx.keys.read_text(key)? else { return Ok(None) };
    let text = text.as_bytes();
    let form = Form::of(text)?;
    match form {
        Form::Dense => {
            let (fours, _) = highest.as_chunks_mut::<4>();
            for (known, four) in fours.iter_mut().zip(dense::all(form::registers(text))) {
                *known = std::array::from_fn(|at| known[at].max(four[at]));
            }
        }
        Form::Sparse => sparse::visit(text, |mark| {
            let known = &mut highest[mark.index];
            *known = mark.count.max(*known);
        })?,
    }
    Ok(Some(form))
}

pub(crate) fn pfmerge(ctx: &mut Ctx<'_>) -> Outcome {
    let mut highest = [0; REGISTERS];
    let mut is_dense = false;
    for position in 1..ctx.args.len() {
        is_dense |= join(ctx, position, &mut highest)? == Some(Form::Dense);
    }
    let key = ctx.key(1);
    let sparse_bytes_max = ctx.shared.tunables.hll_sparse_bytes_max;
    let text = ctx.keys.read_text(key)?.map(|text| text.as_bytes().to_vec());
    let (text, form) = match text {
        Some(text) => {
            let form = Form::of(&text)?;
            (text, form)
        }
        None => (form::empty(), Form::Sparse),
    };
    let mut draft = Draft::new(text, form, sparse_bytes_max);
    if is_dense {
        draft.make_dense()?;
    }
    let mut cursor = Cursor::START;
    for (index, count) in highest.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        draft.raise(&mut cursor, Mark { index, count })?;
    }
    form::outdate(&mut draft.text);
    let mut edit = ctx.keys.edit_text_or_create(key)?;
    edit.rewrite(&draft.text);
    edit.changed(PFADD);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn pfdebug(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let Some(mut edit) = ctx.keys.edit_text(key)? else {
        return Err(WireError::Err("The specified key does not exist"));
    };
    let form = Form::of(edit.text().as_bytes())?;
    extract(&mut edit);
    let word = ctx.args.at(1);
    let is = |name: &str| args::is(word, name);
    let is_converted = form == Form::Sparse && (is("GETREG") || is("TODENSE"));
    let mut outcome = Ok(());
    if is_converted {
        let mut text = edit.text().as_bytes().to_vec();
        match form::make_dense(&mut text) {
            Ok(()) => edit.rewrite(&text),
            Err(corrupt) => outcome = Err(corrupt.into()),
        }
    }
    match () {
        () if outcome.is_err() => {}
        () if is("GETREG") => {
            ctx.reply.array(REGISTERS);
            let text = edit.text();
            let registers = dense::all(form::registers(text.as_bytes()));
            registers.flatten().for_each(|number| ctx.reply.integer(number.into()));
        }
        () if is("TODENSE") => ctx.reply.integer(is_converted.into()),
        () if is("ENCODING") => {
            ctx.reply.simple(if form == Form::Dense { "dense" } else { "sparse" });
        }
        () if is("DECODE") && form == Form::Sparse => {
            ctx.reply.bulk(decoded(edit.text().as_bytes()).as_bytes());
        }
        () if is("DECODE") => outcome = Err(WireError::Err("HLL encoding is not sparse")),
        () => {
            let parts: [&[u8]; 3] = [b"ERR Unknown PFDEBUG subcommand '", word, b"'"];
            outcome = Err(WireError::line(&parts));
        }
    }
    edit.untold();
    // Redis logs the change of form and tells nobody else of it.
    ctx.keys.changes.dirty += u64::from(is_converted && outcome.is_ok());
    outcome
}

/// The runs of a sparse string in words.
fn decoded(text: &[u8]) -> String {
    let words: Vec<String> = sparse::runs(text)
        .map(|run| match run {
            run if run.value > 0 => format!("v:{},{}", run.value, run.registers),
            run if run.bytes == 1 => format!("z:{}", run.registers),
            run => format!("Z:{}", run.registers),
        })
        .collect();
    words.join(" ")
}
