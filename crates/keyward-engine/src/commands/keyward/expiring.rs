//! KEYWARD EXPIRING: how many keys end when, and what they take.
//!
//! A table keeps the ends of its rows in order, so counting is a search and no walk. A call
//! looks at a bounded number of places, whatever there is: what that is too few for it
//! estimates, and says so.
//! Estimate: 0.5 µs for a table, 20 ns for a step of a search: below a millisecond with 1,000
//! patterns and with millions of rows.

use super::wanted::Wanted;
use crate::engine::context::{Ctx, Outcome};
use crate::governed::in_force::book;
use keyward_commands::WireError;
use keyward_store::tables::table::Table;
use keyward_store::tables::table::deadlines::Looks;

const MINUTE_S: i64 = 60;
const HOUR_S: i64 = 60 * MINUTE_S;
const DAY_S: i64 = 24 * HOUR_S;
/// Every five minutes of an hour, every hour of a day, a week, thirty days.
const WITHIN_S: [i64; 37] = {
    let mut all = [0; 37];
    let mut at = 0;
    while at < 35 {
        let place = at as i64;
        all[at] = if at < 12 { (place + 1) * 5 * MINUTE_S } else { (place - 10) * HOUR_S };
        at += 1;
    }
    all[35] = 7 * DAY_S;
    all[36] = 30 * DAY_S;
    all
};
/// Runs of ends whose lengths are added up, of all tables together, and at least of each.
const RUNS_MAX: usize = 32_768;
const RUNS_MIN: usize = 8;
/// Steps of searches, of all tables together.
const STEPS_MAX: usize = 12_288;
/// How many tables ahead it is said that they will be looked at.
const SOON: usize = 12;
const NEXT: usize = 6;

/// Some keys and what they take.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    keys: u64,
    bytes: u64,
}

impl Amount {
    /// Adds keys of a table, each with as many bytes as they have on average.
    fn add(&mut self, keys: usize, table: &Table) {
        let mean = table.heap_bytes() as u128 * keys as u128 / table.len().max(1) as u128;
        self.keys += keys as u64;
        self.bytes += u64::try_from(mean).unwrap_or(u64::MAX);
    }
}

/// When the keys of some tables end.
#[derive(Debug)]
struct Endings {
    all: Amount,
    /// After the time before, and before this one or at it.
    within: [Amount; WITHIN_S.len() + 1],
    /// Without an end.
    none: Amount,
}

impl Endings {
    fn new() -> Endings {
        let nothing = Amount::default();
        Endings { all: nothing, within: [nothing; WITHIN_S.len() + 1], none: nothing }
    }

    fn add(&mut self, table: &Table, moments: &[i64], looks: &mut Looks) {
        if table.is_empty() {
            return;
        }
        let mut before = [0; WITHIN_S.len()];
        table.count_before(moments, &mut before, looks);
        let mut last = 0;
        let ends = before.into_iter().chain([table.expiring()]);
        for (amount, count) in self.within.iter_mut().zip(ends) {
            if count > last {
                amount.add(count - last, table);
                last = count;
            }
        }
        self.none.add(table.len().saturating_sub(table.expiring()), table);
        self.all.add(table.len(), table);
    }
}

pub(crate) fn expiring(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    if ctx.args.len() > 3 {
        return Err(WireError::Syntax);
    }
    let wanted = ctx.args.get(2).map_or(Ok(Wanted::All), |word| Wanted::named(&book, word))?;
    let Ctx { keys, db, reply, .. } = ctx;
    let now_ms = keys.now_ms();
    // Who ends at a moment ends before the millisecond after it.
    let moments = WITHIN_S.map(|within_s| now_ms + within_s * 1000 + 1);
    let tables = keys.database_at(*db).tables();
    let ids = std::iter::once(None).chain(book.schema().ids().map(Some));
    let meant: Vec<&Table> =
        ids.zip(tables).filter(|(id, _)| wanted.has(*id)).map(|(_, table)| table).collect();
    let runs_max = (RUNS_MAX / meant.len().max(1)).max(RUNS_MIN);
    let mut looks = Looks { runs_max, steps_left: STEPS_MAX, is_exact: true };
    let mut endings = Endings::new();
    for (at, table) in meant.iter().enumerate() {
        let table_at = |at: usize| meant.get(at).copied();
        Table::prefetch_ends(table_at(at + SOON), table_at(at + NEXT));
        endings.add(table, &moments, &mut looks);
    }
    let Endings { all, within, none } = endings;
    reply.map(8);
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let [ends @ .., later] = within;
    for (name, figure) in [
        ("keys", all.keys),
        ("bytes", all.bytes),
        ("exact", u64::from(looks.is_exact)),
        ("none_keys", none.keys),
        ("none_bytes", none.bytes),
        ("later_keys", later.keys),
        ("later_bytes", later.bytes),
    ] {
        reply.bulk(name.as_bytes());
        reply.integer(count(figure));
    }
    reply.bulk(b"within");
    reply.array(WITHIN_S.len());
    for (within_s, amount) in WITHIN_S.into_iter().zip(ends) {
        reply.array(3);
        reply.integer(within_s);
        reply.integer(count(amount.keys));
        reply.integer(count(amount.bytes));
    }
    Ok(())
}
