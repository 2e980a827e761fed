//! RENAME, COPY and MOVE, judged by the type of the row, and of mirrored sets by their length.
//!
//! A row of another type than its new key is declared with is refused before it is copied, and so
//! is one from another database whose items would be appended to a table once more.
//! A set that comes to a key with mirrors brings an element to one of them for each of its
//! members. More than `max_fanout` are refused before anything is done, and the refusal takes no
//! longer than any other, whatever the key held that the set was to come to. One that leaves for
//! a key without mirrors lives on there, and its mirrors lose it in steps: the end looks at it
//! there (`keyspace::pending::left`).
//! Not here: what else is wrong with it, which the book finds by its effect.

use super::breaches::refused;
use super::discretion::Call;
use crate::engine::context::{Ctx, Outcome};
use keyward_resp::number;
use keyward_rules::host::policy::{self, Relocation};
use keyward_rules::{Refusal, RowType, View as _};

/// Refuses a command that would bring more elements to mirrors than one may.
#[inline]
pub(super) fn judge(ctx: &mut Ctx<'_>) -> Outcome {
    match policy::relocation(ctx.command, ctx.args) {
        None => Ok(()),
        Some(relocation) => judge_length(ctx, &relocation),
    }
}

#[cold]
fn judge_length(ctx: &mut Ctx<'_>, relocation: &Relocation<'_>) -> Outcome {
    let to_db = match relocation.db {
        None => Some(ctx.db),
        Some(text) => number::parse_i64(text).and_then(|db| usize::try_from(db).ok()),
    };
    // Redis's own errors come first, and it may be that nothing is to be done.
    let Some(to_db) = to_db.filter(|db| *db < ctx.keys.database_count()) else { return Ok(()) };
    if (to_db, relocation.to) == (ctx.db, relocation.from) {
        return Ok(());
    }
    let row_of = |db: usize, key: &[u8]| {
        let sight = ctx.keys.sight(db);
        let row = sight.row(key).expect("the engine shows all it has at once");
        row.map(|row| (row.row_type(), row.len() as u64))
    };
    let Some((row_type, members)) = row_of(ctx.db, relocation.from) else { return Ok(()) };
    let unfit = unfit(ctx, relocation, to_db, row_type);
    let too_many = || match row_type {
        RowType::Set => too_many(ctx, relocation, to_db, members),
        _ => None,
    };
    let Some((db, refusal)) = unfit.or_else(too_many) else { return Ok(()) };
    if !relocation.replaces && row_of(to_db, relocation.to).is_some() {
        return Ok(());
    }
    let call = Some(Call::of(ctx));
    Err(refused(&mut ctx.stage().at(db), call, &refusal))
}

/// Why a row of this type cannot come there, and by which database's schema.
fn unfit(
    ctx: &Ctx<'_>,
    relocation: &Relocation<'_>,
    to_db: usize,
    row_type: RowType,
) -> Option<(usize, Refusal)> {
    let book = ctx.keys.book_of(to_db)?;
    let table = book.table_of(relocation.to)?;
    let unfit = book.refuse_other_type(table, relocation.to, row_type);
    let is_from_elsewhere = to_db != ctx.db;
    let foreign =
        || is_from_elsewhere.then(|| book.refuse_from_elsewhere(table, relocation.to)).flatten();
    Some((to_db, unfit.or_else(foreign)?))
}

/// Why so many members are too many to come there, and by which database's schema.
fn too_many(
    ctx: &Ctx<'_>,
    relocation: &Relocation<'_>,
    to_db: usize,
    members: u64,
) -> Option<(usize, Refusal)> {
    if let Some(book) = ctx.keys.book_of(to_db)
        && let Some(mirror) = book.table_of(relocation.to).and_then(|to| book.mirror_of(to))
        && book.is_enforced(mirror)
        && members > book.schema().key(mirror).max_fanout
    {
        return Some((to_db, book.refuse_fanout(mirror, Some(members))));
    }
    None
}
