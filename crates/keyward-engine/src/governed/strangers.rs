//! Keys without a pattern, being looked through for their apparent forms.
//!
//! Owns how far that has come. Where there is no schema no key has a pattern, and all are told.
//! Not here: who asks (`walking`), the forms (`keyward_rules::Forms`).

use keyward_rules::Forms;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

/// Keys and buckets that are looked at per tick.
const KEYS_PER_TICK: usize = 50;

/// How far the walk has come.
#[derive(Debug)]
pub(crate) struct Strangers {
    pub(super) asker: ClientId,
    db: usize,
    cursor: u64,
    pub(super) forms: Forms,
    is_over: bool,
}

impl Strangers {
    /// Before the first key of a database.
    pub(super) fn new(asker: ClientId, db: usize) -> Strangers {
        Strangers { asker, db, cursor: 0, forms: Forms::default(), is_over: false }
    }

    /// Looks at some more keys; whether all were seen.
    pub(super) fn advance(&mut self, keys: &Keyspace) -> bool {
        let Strangers { db, cursor, forms, is_over, .. } = self;
        let database = keys.database_at(*db);
        let book = database.book();
        let mut seen = 0;
        while !*is_over && seen < KEYS_PER_TICK {
            // An empty bucket is work too.
            seen += 1;
            *cursor = database.tables()[0].scan(*cursor, |row| {
                if !keys.is_due(row) {
                    seen += 1;
                    match book {
                        Some(book) => forms.add(&book.shown_name(row.key())),
                        None => forms.add(row.key()),
                    }
                }
            });
            *is_over = *cursor == 0;
        }
        *is_over
    }
}
