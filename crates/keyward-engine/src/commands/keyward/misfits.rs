//! KEYWARD MISFITS: rows that are kept though something is wrong with them, and why.
//!
//! A call takes a bounded time whatever COUNT says: what it has not come to, its cursor does.
//! Estimate: 5 µs for a row that is listed, since it is judged anew, and a tenth for one that
//! is passed over.

use super::wanted::Wanted;
use crate::acl::check::Place;
use crate::commands::generic::scan::parse_cursor;
use crate::engine::context::{Ctx, Outcome};
use crate::governed::in_force::book;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};

/// Rows that are looked at unless COUNT says otherwise.
const COUNT: i64 = 10;
/// Rows that are looked at and listed at most, whatever COUNT says: half a millisecond.
const LOOKED_AT_MAX: i64 = 1_000;
const LISTED_MAX: usize = 100;
/// Empty buckets that are passed for each of them.
const BUCKETS_PER_ROW: i64 = 10;

pub(crate) fn misfits(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    let (mut wanted, mut count, mut cursor) = (Wanted::All, COUNT, 0);
    let mut options = Options::new(ctx.args, 2);
    let mut is_first = true;
    while let Some(word) = options.next() {
        if args::is(word, "COUNT") {
            count = args::integer(options.value()?)?;
        } else if args::is(word, "CURSOR") {
            cursor = parse_cursor(options.value()?).ok_or(WireError::InvalidCursor)?;
        } else if is_first {
            wanted = Wanted::named(&book, word)?;
        } else {
            return Err(WireError::Syntax);
        }
        is_first = false;
    }
    if count < 1 {
        return Err(WireError::Syntax);
    }
    let count = count.min(LOOKED_AT_MAX);
    let reader = ctx.restricted_reader();
    ctx.keys.look_at_suspects();
    let mut found: Vec<Box<[u8]>> = Vec::new();
    let (mut visited, mut buckets) = (0, count * BUCKETS_PER_ROW);
    loop {
        if let Wanted::OfKey(_, key) = &wanted {
            // One row is found without a look at others.
            found.extend(ctx.keys.is_faulty(ctx.db, key).then(|| key.clone()));
            cursor = 0;
            break;
        }
        cursor = ctx.keys.scan_faulty(ctx.db, cursor, |key, _| {
            visited += 1;
            if wanted.has_row(book.table_of(key), key) {
                found.push(key.into());
            }
        });
        buckets -= 1;
        if cursor == 0 || visited >= count || found.len() >= LISTED_MAX || buckets <= 0 {
            break;
        }
    }
    let place = Place { keys: ctx.keys, db: ctx.db };
    found.retain(|key| reader.as_ref().is_none_or(|user| user.may_read(place, key)));
    // What is secret is left out by who words it. What was found may have come from a key that
    // the client may not read.
    let is_discreet = reader.is_some();
    let mut told = Vec::new();
    for key in found {
        let problems = ctx.keys.problems_of(ctx.db, &key);
        if !problems.is_empty() {
            told.push((key, problems));
        }
    }
    ctx.reply.array(2);
    ctx.reply.bulk(cursor.to_string().as_bytes());
    ctx.reply.array(told.len());
    for (key, problems) in told {
        let table = book.table_of(&key);
        let pattern = table.map_or("", |table| book.schema().key(table).pattern.text());
        ctx.reply.map(3);
        ctx.reply.bulk(b"key");
        ctx.reply.bulk(&key);
        ctx.reply.bulk(b"pattern");
        ctx.reply.bulk(pattern.as_bytes());
        ctx.reply.bulk(b"reasons");
        ctx.reply.array(problems.len());
        for problem in problems {
            let problem = if is_discreet { problem.discreet() } else { problem };
            let may_read = |_: &[u8]| reader.is_none();
            ctx.reply.bulk(problem.text_for(may_read).as_bytes());
        }
    }
    Ok(())
}
