//! Dead letters that are sent again.
//!
//! Some are sent together, in one transaction, and in ever smaller parts where the database refuses
//! something: what is stored is no letter any longer, what is refused has the new reason.
//! Invariants: a letter is locked while it is sent, so that of two who send the same one waits, and
//! finds nothing; an item that its list may have had when it was drained is stored only if the table
//! lacks it, and not at all where the table has sums.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keyward_schema::{Matcher, Schema, Sink};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use crate::database::DatabaseError;
use crate::row::{Row, is_discreet};
use crate::statement;
use crate::store::apart::PARTS;
use crate::store::dead_letters::{APPENDED, what_of};
use crate::store::failure::Failure;
use crate::store::{StoreError, What, rows, sink_of};

/// The most letters that are sent together.
const LETTERS_AT_ONCE: i64 = 5_000;
/// About the most bytes of them.
const BYTES_AT_ONCE: i64 = 16 * 1024 * 1024;

/// What came of sending dead letters again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resent {
    /// Letters that are rows now.
    pub stored: usize,
    /// Letters that were refused once more.
    pub refused: usize,
}

/// Sends dead letters again.
///
/// # Errors
/// If the database cannot be used.
pub async fn resend(client: &mut Client, schema: &Schema) -> Result<Resent, StoreError> {
    let keyspace = &*schema.keyspace.name;
    let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))
        .expect("a checked schema has patterns that a matcher can tell apart");
    let mut resent = Resent::default();
    let mut there = There::new();
    let mut after = String::new();
    loop {
        let transaction = client.transaction().await.map_err(DatabaseError::from)?;
        transaction.batch_execute(rows::JUDGE).await.map_err(DatabaseError::from)?;
        let Some((last, letters)) = page(&transaction, keyspace, &after).await? else {
            return Ok(resent);
        };
        after = last;
        let mut sending = Sending { transaction: &transaction, schema, there: &mut there };
        let refused = sending.send(&matcher, &letters).await?;
        resent.refused += refused.len();
        resent.stored += letters.len() - refused.len();
        note(&transaction, keyspace, &letters, &refused).await?;
        transaction.commit().await.map_err(DatabaseError::from)?;
    }
}

/// A letter that is sent again.
struct Sent {
    entry: String,
    name: Vec<u8>,
    item: Vec<u8>,
    /// Whether its list may have it still, or had it when it was drained.
    was_appended: bool,
}

/// The next letters behind one, locked, and the last of them by name; somebody else may have sent
/// some of them meanwhile.
async fn page(
    transaction: &Transaction<'_>,
    keyspace: &str,
    after: &str,
) -> Result<Option<(String, Vec<Sent>)>, StoreError> {
    let sized = "SELECT entry, octet_length(item)::bigint FROM keyward_dead_letters \
                 WHERE keyspace = $1 AND entry > $2 ORDER BY entry LIMIT $3";
    let sized = transaction.query(sized, &[&keyspace, &after, &LETTERS_AT_ONCE]).await;
    let (mut entries, mut bytes): (Vec<String>, i64) = (Vec::new(), 0);
    for row in sized.map_err(DatabaseError::from)? {
        bytes += row.get::<_, i64>(1);
        if bytes > BYTES_AT_ONCE && !entries.is_empty() {
            break;
        }
        entries.push(row.get(0));
    }
    let Some(last) = entries.last().cloned() else { return Ok(None) };
    let letters = "SELECT entry, key, item, table_name FROM keyward_dead_letters \
                   WHERE keyspace = $1 AND entry = ANY($2) ORDER BY entry FOR UPDATE";
    let letters = transaction.query(letters, &[&keyspace, &entries]).await;
    let letters = letters.map_err(DatabaseError::from)?;
    let letters = letters.iter().map(|row| Sent {
        entry: row.get(0),
        name: row.get(1),
        item: row.get(2),
        was_appended: row.get::<_, &str>(3) == APPENDED,
    });
    Ok(Some((last, letters.collect())))
}

/// Notes what came of letters: those that were refused have the reason, others are gone.
async fn note(
    transaction: &Transaction<'_>,
    keyspace: &str,
    letters: &[Sent],
    refused: &BTreeMap<usize, String>,
) -> Result<(), StoreError> {
    let entry = |at: usize| &*letters[at].entry;
    let stored: Vec<&str> =
        (0..letters.len()).filter(|at| !refused.contains_key(at)).map(entry).collect();
    let forget = "DELETE FROM keyward_dead_letters WHERE keyspace = $1 AND entry = ANY($2)";
    transaction.execute(forget, &[&keyspace, &stored]).await.map_err(DatabaseError::from)?;
    let entries: Vec<&str> = refused.keys().map(|at| entry(*at)).collect();
    let reasons: Vec<&str> = refused.values().map(String::as_str).collect();
    let update = "UPDATE keyward_dead_letters AS l SET reason = n.reason, refused_at = now() \
                  FROM unnest($2::text[], $3::text[]) AS n(entry, reason) \
                  WHERE l.keyspace = $1 AND l.entry = n.entry";
    let updated = transaction.execute(update, &[&keyspace, &entries, &reasons]).await;
    updated.map(drop).map_err(|error| DatabaseError::from(error).into())
}

/// Letters that a table was found to have, or has got, by key and item: how many equal ones.
type There = HashMap<(Vec<u8>, Vec<u8>), usize>;

struct Sending<'a, 'c> {
    transaction: &'a Transaction<'c>,
    schema: &'a Schema,
    there: &'a mut There,
}

impl Sending<'_, '_> {
    /// Stores letters; which of them were refused, and why.
    async fn send(
        &mut self,
        matcher: &Matcher,
        letters: &[Sent],
    ) -> Result<BTreeMap<usize, String>, StoreError> {
        let mut refused = BTreeMap::new();
        let mut by_key: BTreeMap<usize, Vec<(usize, What)>> = BTreeMap::new();
        for (at, letter) in letters.iter().enumerate() {
            match what_of(self.schema, matcher, &letter.entry, &letter.name, &letter.item) {
                Err(reason) => drop(refused.insert(at, reason)),
                Ok((key, _))
                    if letter.was_appended && sink_of(self.schema, key).1.merge.is_some() =>
                {
                    let reason = "its list may have had it when it was drained, and the table has \
                                  sums, which do not say whether they have it";
                    refused.insert(at, reason.to_owned());
                }
                Ok((key, what)) => by_key.entry(key).or_default().push((at, what)),
            }
        }
        for (key, mut changes) in by_key {
            let sink = sink_of(self.schema, key).1;
            let appended: Vec<(usize, &What)> = changes
                .iter()
                .filter(|(at, _)| letters[*at].was_appended)
                .map(|(at, what)| (*at, what))
                .collect();
            let found = self.found(sink, letters, &appended).await?;
            changes.retain(|(at, _)| !found.contains(at));
            self.store(key, &changes, &mut refused).await?;
        }
        // What is sent later is found among these.
        for (at, letter) in letters.iter().enumerate() {
            if letter.was_appended && !refused.contains_key(&at) {
                *self.there.entry((letter.name.clone(), letter.item.clone())).or_default() += 1;
            }
        }
        Ok(refused)
    }

    /// Stores letters of one key, in parts where some are refused.
    async fn store(
        &self,
        key: usize,
        changes: &[(usize, What)],
        refused: &mut BTreeMap<usize, String>,
    ) -> Result<(), StoreError> {
        let (key, sink) = sink_of(self.schema, key);
        let mut parts = vec![changes];
        while let Some(part) = parts.pop() {
            let all: Vec<&Row> = part.iter().flat_map(|(_, what)| rows_in(what)).collect();
            self.run("SAVEPOINT part").await?;
            let reason = match rows::insert(self.transaction, sink, &all).await {
                Ok(()) => {
                    self.run("RELEASE SAVEPOINT part").await?;
                    continue;
                }
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Refused(reason)) => reason,
            };
            self.run("ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part").await?;
            if let [(at, _)] = part {
                let said = if is_discreet(key) { reason.discreet } else { reason.plain };
                refused.insert(*at, said);
                continue;
            }
            parts.extend(part.chunks(part.len().div_ceil(PARTS)).rev());
        }
        Ok(())
    }

    /// Which of some letters the table has, each as often as it is among them and was before.
    async fn found(
        &self,
        sink: &Sink,
        letters: &[Sent],
        asked: &[(usize, &What)],
    ) -> Result<BTreeSet<usize>, StoreError> {
        let said = |at: usize| (&letters[at].name, &letters[at].item);
        let mut sorted = asked.to_vec();
        sorted.sort_by_key(|(at, _)| (said(*at), *at));
        let equal: Vec<&[(usize, &What)]> =
            sorted.chunk_by(|(one, _), (next, _)| said(*one) == said(*next)).collect();
        let firsts: Vec<&What> = equal.iter().map(|group| group[0].1).collect();
        let mut found = BTreeSet::new();
        for (group, stored) in equal.iter().zip(self.count_stored(sink, &firsts).await?) {
            let letter = &letters[group[0].0];
            let before = self.there.get(&(letter.name.clone(), letter.item.clone()));
            let more = stored.saturating_sub(before.copied().unwrap_or(0));
            found.extend(group.iter().take(more).map(|(at, _)| *at));
        }
        Ok(found)
    }

    /// How often a table has the rows of each of these letters.
    async fn count_stored(&self, sink: &Sink, asked: &[&What]) -> Result<Vec<usize>, StoreError> {
        let mut counts = vec![usize::MAX; asked.len()];
        let all = 0..asked.len();
        let mut parts = vec![all];
        let statement = statement::count_items(sink);
        while let Some(part) = parts.pop() {
            let (mut owners, mut given): (Vec<usize>, Vec<&Row>) = (Vec::new(), Vec::new());
            for at in part.clone() {
                owners.extend(rows_in(asked[at]).iter().map(|_| at));
                given.extend(rows_in(asked[at]));
            }
            if given.is_empty() {
                continue;
            }
            let arrays = rows::arrays_of(sink, &given);
            let arrays: Vec<&(dyn ToSql + Sync)> =
                arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
            self.run("SAVEPOINT look").await?;
            let counted = self.transaction.query(&statement, &arrays).await;
            let counted = match counted.map_err(|error| Failure::at(&sink.table, error)) {
                Ok(counted) => counted,
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Refused(_)) => {
                    self.run("ROLLBACK TO SAVEPOINT look; RELEASE SAVEPOINT look").await?;
                    let middle = part.start + part.len() / 2;
                    match part.len() {
                        // What no column takes is not there.
                        1 => counts[part.start] = 0,
                        _ => parts.extend([middle..part.end, part.start..middle]),
                    }
                    continue;
                }
            };
            self.run("RELEASE SAVEPOINT look").await?;
            for row in counted {
                let (place, stored): (i64, i64) = (row.get(0), row.get(1));
                let at = usize::try_from(place - 1).unwrap_or(usize::MAX);
                let Some(owner) = owners.get(at) else { continue };
                let stored = usize::try_from(stored).unwrap_or(0);
                counts[*owner] = counts[*owner].min(stored);
            }
        }
        Ok(counts)
    }

    async fn run(&self, statement: &str) -> Result<(), StoreError> {
        let run = self.transaction.batch_execute(statement).await;
        run.map_err(|error| DatabaseError::from(error).into())
    }
}

fn rows_in(what: &What) -> &[Row] {
    match what {
        What::Store(rows) => rows,
        What::Remove(_) | What::Unfit(_) => &[],
    }
}
