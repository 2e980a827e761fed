//! Keys without a pattern, being looked through for their apparent forms.
//!
//! Owns how far that has come. Where there is no schema no key has a pattern, and all are told.
//! Not here: who asks (`walking`), the forms (`keyward_rules::Forms`).

use crate::acl::User;
use crate::acl::check::Place;
use keyward_rules::Forms;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use std::sync::Arc;

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
    /// Whose rights decide which keys are seen; `None` if all are.
    reader: Option<Arc<User>>,
}

impl Strangers {
    /// Before the first key of a database.
    pub(super) fn new(asker: ClientId, db: usize, reader: Option<Arc<User>>) -> Strangers {
        Strangers { asker, db, cursor: 0, forms: Forms::default(), is_over: false, reader }
    }

    /// Looks at some more keys; whether all were seen.
    pub(super) fn advance(&mut self, keys: &Keyspace) -> bool {
        let Strangers { db, cursor, forms, is_over, reader, .. } = self;
        let place = Place { keys, db: *db };
        let may_read = |key: &[u8]| reader.as_ref().is_none_or(|user| user.may_read(place, key));
        let database = keys.database_at(*db);
        let book = database.book();
        let mut seen = 0;
        while !*is_over && seen < KEYS_PER_TICK {
            // An empty bucket is work too.
            seen += 1;
            *cursor = database.tables()[0].scan(*cursor, |row| {
                if keys.is_due(row) {
                    return;
                }
                seen += 1;
                match book {
                    _ if !may_read(row.key()) => {}
                    Some(book) => forms.add(&book.shown_name(row.key())),
                    None => forms.add(row.key()),
                }
            });
            *is_over = *cursor == 0;
        }
        *is_over
    }
}
