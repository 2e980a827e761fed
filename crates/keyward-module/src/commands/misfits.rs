//! `keyward.misfits`: rows that do not fit the schema, and why.
//!
//! Owns the walk over the keys, some at a call; nothing is kept in mind between calls. Where a
//! schema only observes, rows are held against what it says.

use keyward_commands::args::{self, Options};
use keyward_resp::ArgBuf;
use keyward_rules::{Contradicted, Element, Row, RuleBook};
use keyward_schema::KeyId;

use crate::api::{Ctx, Run};
use crate::live::Live;
use crate::state::State;

/// Rows that are looked at unless COUNT says otherwise, and at most.
const COUNT: i64 = 10;
const COUNT_MAX: i64 = 1_000;
/// Members of a derived row that are compared with their sources.
const MEMBERS_MAX: usize = 256;

/// A row that does not fit.
struct Misfit {
    key: Vec<u8>,
    pattern: String,
    reasons: Vec<String>,
}

/// `keyward.misfits [CURSOR cursor] [COUNT count]`
pub(super) fn misfits(ctx: Ctx<'_>, state: &State, words: &[&[u8]]) -> Result<(), String> {
    const SYNTAX: &str = "ERR syntax error";
    let Some(book) = state.book(ctx.db()) else {
        return Err("ERR this database has no schema".to_owned());
    };
    let (mut cursor, mut count): (&[u8], i64) = (b"0", COUNT);
    let call: ArgBuf = words.iter().collect();
    let mut options = Options::new(call.args(), 0);
    while let Some(word) = options.next() {
        let value = options.value().map_err(|_| SYNTAX)?;
        if args::is(word, "CURSOR") {
            cursor = value;
        } else if args::is(word, "COUNT") {
            count = args::integer(value).ok().filter(|count| *count > 0).ok_or(SYNTAX)?;
        } else {
            return Err(SYNTAX.to_owned());
        }
    }
    let count = count.min(COUNT_MAX).to_string();
    let words: [&[u8]; 4] = [b"SCAN", cursor, b"COUNT", count.as_bytes()];
    let reply = ctx.call(Run::Read, words.into_iter());
    if reply.is_error() {
        return Err(String::from_utf8_lossy(reply.bytes().unwrap_or(b"ERR")).into_owned());
    }
    let mut parts = reply.elements();
    let next = parts.next().and_then(|next| next.bytes().map(<[u8]>::to_vec));
    let mut found = Vec::new();
    for keys in parts {
        for key in keys.elements() {
            found.extend(key.bytes().and_then(|key| misfit(ctx, &book, key)));
        }
    }
    ctx.send_array(2);
    ctx.send_bytes(&next.unwrap_or_default());
    ctx.send_array(found.len());
    for Misfit { key, pattern, reasons } in found {
        ctx.send_array(6);
        ctx.send_bytes(b"key");
        ctx.send_bytes(&key);
        ctx.send_bytes(b"pattern");
        ctx.send_bytes(pattern.as_bytes());
        ctx.send_bytes(b"reasons");
        super::send_lines(ctx, &reasons);
    }
    Ok(())
}

/// What is wrong with the row of a key that the client may read, if anything is.
fn misfit(ctx: Ctx<'_>, book: &RuleBook, key: &[u8]) -> Option<Misfit> {
    let table = book.table_of(key).filter(|_| ctx.may_read(key))?;
    let judging = book.judging(table);
    let view = Live::new(ctx, judging);
    let row = view.find(key)?;
    let problems = match judging.traits(table).is_computed {
        true => contradictions(judging, &view, (table, key, row)),
        false => judging.problems_of(&view, table, key, row),
    };
    let problems = problems.expect("the server shows all it has at once");
    let reasons: Vec<String> = problems
        .iter()
        .map(|problem| problem.text_for(|key| ctx.may_read(key)).to_owned())
        .collect();
    let pattern = book.schema().key(table).pattern.text().to_owned();
    (!reasons.is_empty()).then(|| Misfit { key: key.to_vec(), pattern, reasons })
}

/// What a derived row holds and its sources do not demand.
fn contradictions(
    book: &RuleBook,
    view: &Live<'_>,
    (table, key, row): (KeyId, &[u8], &dyn Row),
) -> Result<Vec<keyward_rules::Refusal>, keyward_rules::NotYet> {
    let mut members: Vec<Vec<u8>> = row.text().map(|text| text.into_owned()).into_iter().collect();
    row.each(&mut |element| {
        if let Element::Member(member) | Element::Scored(member, _) = element
            && members.len() < MEMBERS_MAX
        {
            members.push(member.to_vec());
        }
    });
    let is_all = row.len() <= members.len() || row.text().is_some();
    let mut wrong: Vec<&[u8]> = Vec::new();
    for member in &members {
        if !book.agrees(view, (table, key), Some(row), member)? {
            wrong.push(member);
        }
    }
    if wrong.is_empty() {
        return Ok(Vec::new());
    }
    let what = Contradicted { row: Some(row), members: &wrong, is_all };
    Ok(vec![book.contradiction_of(table, key, what)])
}
