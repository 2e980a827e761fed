//! What a schema that comes costs in rows besides what it does to single ones.
//!
//! Owns three judgements for starts, plans, modes and reloads alike: rows that go because their
//! keyspace would take more than its `max_memory` and may be evicted from, and rows that files
//! are to have no more (`persist = "none"`), which the next start is without; and that entries
//! which are built may cost rows, where `maxmemory` limits the server.
//! Invariant: whoever concludes a survey hears of all, so nobody can forget to ask.
//! Not here: how many rows so many bytes are (`Forecast` of the store), single rows
//! (`keyward_rules::Survey`).

use super::announcement::PATTERNS_MAX;
use keyward_rules::{Excess, Report, RuleBook, Survey};
use keyward_schema::{KeyId, Persist, escape};
use keyward_store::keyspace::Keyspace;
use keyward_store::tables::eviction::Load;
use keyward_store::values::hasher::TableIndex;

/// Adds to what was concluded of the rows of a database what else of them goes under a book.
pub(crate) fn foresee(
    keys: &Keyspace,
    db: usize,
    book: &RuleBook,
    survey: &Survey,
    report: &mut Report,
) {
    if keys.book_of(db).is_some_and(|now| std::ptr::eq(&**now, book)) {
        // Rows that return to the schema in force: nothing comes.
        return;
    }
    let is_building = report.tables.iter().any(|found| found.built > 0);
    report.memory_max = Some(keys.memory_max).filter(|bytes| is_building && *bytes > 0);
    let loads = loads(keys, db, survey, report);
    for found in keys.forecast(db, book, &loads) {
        for (table, rows) in found.rows {
            report.tables[table].evicted += rows;
        }
        let (keyspace, bytes, bytes_max) = (found.keyspace, found.bytes, found.bytes_max);
        report.excesses.push(Excess { keyspace, bytes, bytes_max });
    }
    if leaves_files(keys, db, book) {
        for found in &mut report.tables {
            found.unkept = found.rows.saturating_sub(found.destroyed + found.evicted);
        }
    }
}

/// Whether a schema takes the rows of a database out of the files, or out of the append-only file.
fn leaves_files(keys: &Keyspace, db: usize, book: &RuleBook) -> bool {
    match (keys.database_at(db).persist(), book.schema().keyspace.persist) {
        (Persist::None, _) | (_, Persist::Aof) | (Persist::Rdb, Persist::Rdb) => false,
        (_, Persist::None) => true,
        (Persist::Aof, Persist::Rdb) => keys.is_logged && !keys.left_to_snapshots.contains(&db),
    }
}

/// Whether the rows of a table of the schema before are weighed one by one: they may come to
/// several tables.
pub(crate) fn is_weighed(survey: &Survey, table_before: Option<KeyId>) -> bool {
    survey.meets(table_before) && !survey.goes_whole(table_before)
}

/// What is said of keyspaces that would take more than they may.
pub(crate) fn excesses_in_words(book: &RuleBook, report: &Report) -> Vec<String> {
    let told = report.excesses.iter().map(|Excess { keyspace, bytes, bytes_max }| {
        let schema = book.schema();
        let name = escape(&schema.keyspace_at(*keyspace).name);
        let own = schema.keys.iter().zip(&report.tables[1..]);
        let own = own.filter(|(key, found)| key.keyspace == *keyspace && found.evicted > 0);
        let told = own.clone().take(PATTERNS_MAX);
        let mut rows: Vec<String> = told
            .map(|(key, found)| format!("{} of {}", found.evicted, escape(key.pattern.text())))
            .collect();
        if let Some(more) = own.count().checked_sub(PATTERNS_MAX).filter(|more| *more > 0) {
            rows.push(format!("and some of {more} more patterns"));
        }
        format!(
            "keyspace {name} takes {bytes} bytes and may take {bytes_max} (max_memory): rows are \
             evicted, about {}",
            rows.join(", ")
        )
    });
    told.collect()
}

/// What is said of entries that are built where memory is limited.
pub(crate) fn limit_in_words(report: &Report) -> Option<String> {
    let built: u64 = report.tables.iter().map(|found| found.built).sum();
    report.memory_max.map(|bytes| {
        format!(
            "the {} memory, of which the server may take {bytes} bytes (maxmemory): beyond that, \
             rows that may be evicted go",
            if built == 1 {
                "entry that is built takes".to_owned()
            } else {
                format!("{built} entries that are built take")
            }
        )
    })
}

/// What is said of rows that the files have, and are to have no more: they are gone after the
/// next start.
pub(crate) fn unkept_in_words(book: &RuleBook, report: &Report) -> Option<String> {
    let unkept: u64 = report.tables.iter().map(|found| found.unkept).sum();
    (unkept > 0).then(|| match book.schema().keyspace.persist {
        Persist::Rdb => format!(
            "{} (persist = \"rdb\") once a snapshot has {}: from then on a crash loses what has \
             changed since the last one",
            match unkept {
                1 => "1 row leaves the append-only file".to_owned(),
                _ => format!("{unkept} rows leave the append-only file"),
            },
            if unkept == 1 { "it" } else { "them" }
        ),
        _ => match unkept {
            1 => "1 row is not kept (persist = \"none\"): it is served until the server ends, and \
                  the next start is without it"
                .to_owned(),
            _ => format!(
                "{unkept} rows are not kept (persist = \"none\"): they are served until the server \
                 ends, and the next start is without them"
            ),
        },
    })
}

/// What each table would take. Tables that go whole take what they take now. What the rows of
/// all others take is shared out by the bytes of those that were met.
fn loads(keys: &Keyspace, db: usize, survey: &Survey, report: &Report) -> Vec<Load> {
    let database = keys.database_at(db);
    let rows = report.tables.iter().map(|found| found.rows);
    let mut loads: Vec<Load> = rows.map(|rows| Load { rows, ..Load::default() }).collect();
    let mut shared_bytes = 0;
    for (index, table) in database.tables().iter().enumerate() {
        let pattern = database.pattern(TableIndex(index as u16));
        let load = Load::of(table);
        match survey.heir(pattern).filter(|_| !is_weighed(survey, pattern)) {
            Some(heir) => {
                let own = &mut loads[heir.map_or(0, |heir| heir.index() + 1)];
                own.bytes += load.bytes;
                own.expiring += load.expiring;
            }
            None => shared_bytes += load.bytes,
        }
    }
    let weights = survey.weights();
    let weighed: u64 = weights.iter().map(|weight| weight.bytes).sum();
    for ((load, weight), found) in loads.iter_mut().zip(&weights).zip(&report.tables) {
        let bytes = u128::from(shared_bytes) * u128::from(weight.bytes);
        load.bytes += u64::try_from(bytes / u128::from(weighed.max(1))).unwrap_or(0);
        load.expiring += weight.expiring + found.dated;
    }
    loads
}
