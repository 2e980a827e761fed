//! The rows of a batch of which the database refuses something, in ever smaller parts.
//!
//! Owns which row it is, and what becomes of it. Changes of a table are stored together, and parted
//! where that is refused, so that one of thousands costs a few statements. What another row is in
//! the way of, or what refers to one that is not there, is tried again behind all others, as long as
//! that helps: rows come in any order, and a value that is unique may go from one to another.
//! Invariants: what is drained comes last and is judged by itself, so that an item which is refused
//! changes nothing for others; its items keep their order.

use std::collections::BTreeMap;

use keyward_schema::{Schema, SinkKind};
use tokio_postgres::Transaction;

use crate::ddl;
use crate::row::{Row, is_discreet, masked};
use crate::store::dead_letters::Letter;
use crate::store::failure::{Failure, Reason};
use crate::store::{Batch, Change, StoreError, Stored, What, dead_letters, rows, sink_of};

/// In how many parts changes are tried that are refused together: more cost more where one of many is
/// refused, and less where all are.
pub(super) const PARTS: usize = 8;

/// Stores a batch of which something is refused, or something can be no row.
pub(crate) async fn store(
    transaction: &Transaction<'_>,
    schema: &Schema,
    batch: &Batch,
) -> Result<Stored, Failure> {
    let (stored, letters) = (Stored::default(), Vec::new());
    let mut apart = Apart { transaction, schema, stored, letters };
    let (drained, others): (Vec<&Change>, Vec<&Change>) =
        batch.changes.iter().partition(|change| apart.is_drained(change));
    transaction.batch_execute(rows::DEFER).await?;
    apart.settle(others.clone()).await?;
    apart.judge(&others).await?;
    apart.pass(drained, false).await?;
    dead_letters::bury(transaction, &schema.keyspace.name, &apart.letters).await?;
    Ok(apart.stored)
}

struct Apart<'a, 'c> {
    transaction: &'a Transaction<'c>,
    schema: &'a Schema,
    stored: Stored,
    /// What goes to the dead letters in the end.
    letters: Vec<Letter>,
}

impl Apart<'_, '_> {
    fn is_drained(&self, change: &Change) -> bool {
        sink_of(self.schema, change.key).1.kind == SinkKind::Drain
    }

    /// Stores changes, as often as more of them can be stored than before: whole tables, then what
    /// is left of them in parts. A value that is unique may go through many rows, so that every time
    /// mirrored rows are tried in the opposite order.
    async fn settle(&mut self, changes: Vec<&Change>) -> Result<(), Failure> {
        let mut groups = groups_of(changes);
        loop {
            let before = groups.len();
            let mut again = Vec::new();
            for group in groups {
                if self.try_part(&group).await?.is_some() {
                    again.push(group);
                }
            }
            groups = again;
            if groups.is_empty() || groups.len() == before {
                break;
            }
        }
        let mut changes: Vec<&Change> = groups.into_iter().flatten().collect();
        let mut is_first = true;
        while !changes.is_empty() {
            let before = changes.len();
            let mut again = self.pass(changes, !is_first).await?;
            is_first = false;
            if again.len() == before {
                again = self.bury_duplicates(again);
            }
            if let Some((change, reason)) = again.first().filter(|_| again.len() == before) {
                return Err(self.conflict(change, reason).into());
            }
            changes = again.into_iter().map(|(change, _)| change).collect();
        }
        Ok(())
    }

    /// Puts items of an `append` to the dead letters whose key the table has already: nobody takes
    /// such a row out of it. Others are returned.
    fn bury_duplicates<'b>(
        &mut self,
        refused: Vec<(&'b Change, Reason)>,
    ) -> Vec<(&'b Change, Reason)> {
        let mut others = Vec::new();
        for (change, reason) in refused {
            let is_append = sink_of(self.schema, change.key).1.kind == SinkKind::Append;
            match &change.item {
                Some((number, item)) if is_append && reason.is_duplicate => {
                    self.bury(change, (*number, item), &reason);
                }
                _ => others.push((change, reason)),
            }
        }
        others
    }

    /// Tries all of them. Those are returned that another row hinders.
    async fn pass<'b>(
        &mut self,
        changes: Vec<&'b Change>,
        turns: bool,
    ) -> Result<Vec<(&'b Change, Reason)>, Failure> {
        let mut again = Vec::new();
        for mut group in groups_of(changes) {
            if turns && sink_of(self.schema, group[0].key).1.kind == SinkKind::Mirror {
                group.reverse();
            }
            self.pass_group(&group, &mut again).await?;
        }
        Ok(again)
    }

    /// The same of one table, whose changes are all of one sort.
    async fn pass_group<'b>(
        &mut self,
        group: &[&'b Change],
        again: &mut Vec<(&'b Change, Reason)>,
    ) -> Result<(), Failure> {
        let mut parts = vec![group];
        while let Some(part) = parts.pop() {
            let Some(reason) = self.try_part(part).await? else { continue };
            match part {
                [change] => again.extend(self.part_with(change, reason).await?),
                part => parts.extend(part.chunks(part.len().div_ceil(PARTS)).rev()),
            }
        }
        Ok(())
    }

    /// Stores some changes of a table, or none of them and why.
    async fn try_part(&mut self, part: &[&Change]) -> Result<Option<Reason>, Failure> {
        self.transaction.batch_execute("SAVEPOINT part").await?;
        match self.store_part(part).await {
            Ok(count) => {
                self.stored.count(part[0].key, count, 0);
                self.transaction.batch_execute("RELEASE SAVEPOINT part").await?;
                Ok(None)
            }
            Err(Failure::Refused(reason)) => {
                let back = "ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part";
                self.transaction.batch_execute(back).await?;
                Ok(Some(reason))
            }
            Err(failure) => Err(failure),
        }
    }

    /// What some changes of a table do to it; how many rows they store.
    async fn store_part(&self, part: &[&Change]) -> Result<usize, Failure> {
        let sink = sink_of(self.schema, part[0].key).1;
        let (mut stored, mut removed): (Vec<&Row>, Vec<&Row>) = (Vec::new(), Vec::new());
        for change in part {
            match &change.what {
                What::Unfit(reason) => return Err(Failure::Refused(Reason::of(reason))),
                What::Store(rows) => stored.extend(rows),
                What::Remove(row) => removed.push(row),
            }
        }
        rows::remove(self.transaction, sink, &removed).await?;
        rows::insert(self.transaction, sink, &stored).await?;
        Ok(stored.len())
    }

    /// What becomes of a change that is refused. A drained item goes to the dead letters, and so
    /// does an item or an ended row that the table can never hold; a key that it can never hold is
    /// not there to be taken away. What another row hinders is returned.
    async fn part_with<'b>(
        &mut self,
        change: &'b Change,
        reason: Reason,
    ) -> Result<Option<(&'b Change, Reason)>, Failure> {
        if reason.is_unfit && matches!(change.what, What::Remove(_)) {
            return Ok(None);
        }
        let (key, sink) = sink_of(self.schema, change.key);
        let is_letter = sink.kind == SinkKind::Drain || reason.is_unfit;
        let Some((number, item)) = change.item.as_ref().filter(|_| is_letter) else {
            if reason.is_conflict {
                return Ok(Some((change, reason)));
            }
            let shown = super::shown_name(key, &change.name);
            let reason = self.said(change, &reason);
            let (table, entry) = (sink.table.clone(), change.id);
            return Err(StoreError::Refused { table, key: shown, entry, reason }.into());
        };
        self.bury(change, (*number, item), &reason);
        Ok(None)
    }

    /// Puts an item, or an ended row, to the dead letters.
    fn bury(&mut self, change: &Change, (number, item): (usize, &[u8]), reason: &Reason) {
        let (key, sink) = sink_of(self.schema, change.key);
        self.letters.push(Letter {
            entry: format!("{}-{number}", change.id),
            table: sink.table.to_string(),
            key: change.name.clone(),
            item: masked(key, Some(sink), item),
            reason: self.said(change, reason),
        });
        self.stored.count(change.key, 0, 1);
    }

    /// Has the constraints judge what was done.
    async fn judge(&self, changes: &[&Change]) -> Result<(), Failure> {
        let Err(error) = self.transaction.batch_execute(rows::JUDGE).await else { return Ok(()) };
        let Some(change) = self.culprit(changes, &error) else { return Err(error.into()) };
        let sink = sink_of(self.schema, change.key).1;
        match Failure::at(&sink.table, error) {
            Failure::Refused(reason) => Err(self.conflict(change, &reason).into()),
            failure => Err(failure),
        }
    }

    /// Which change a constraint that was deferred is about: the database names its table and, in
    /// words, values.
    fn culprit<'b>(
        &self,
        changes: &[&'b Change],
        error: &tokio_postgres::Error,
    ) -> Option<&'b Change> {
        let error = error.as_db_error()?;
        let table = error.table().unwrap_or_default();
        let is_of_table =
            |change: &&&Change| ddl::short_name(sink_of(self.schema, change.key).1) == table;
        let key = error.detail().and_then(named_key);
        let is_named = |change: &&&Change| key.is_some_and(|key| self.has(change, key));
        let found = changes.iter().find(|change| is_of_table(change) && is_named(change));
        let found = found.or_else(|| changes.iter().find(is_named));
        found.or_else(|| changes.iter().find(is_of_table)).or(changes.first()).copied()
    }

    /// Whether a row of a change has these values in these columns.
    fn has(&self, change: &Change, (columns, values): (&str, &str)) -> bool {
        let sink = sink_of(self.schema, change.key).1;
        let place = |name: &str| sink.columns.iter().position(|own| &*own.name == name);
        let Some(places) = columns.split(", ").map(place).collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let is_it = |row: &Row| {
            let own: Vec<&str> =
                places.iter().map(|at| row[*at].as_deref().unwrap_or_default()).collect();
            own.join(", ") == values
        };
        match &change.what {
            What::Store(rows) => rows.iter().any(is_it),
            What::Remove(row) => is_it(row),
            What::Unfit(_) => false,
        }
    }

    fn conflict(&self, change: &Change, reason: &Reason) -> StoreError {
        let (key, sink) = sink_of(self.schema, change.key);
        let shown = super::shown_name(key, &change.name);
        let (table, entry) = (sink.table.clone(), change.id);
        let reason = self.said(change, reason);
        StoreError::Conflict { table, key: shown, entry, reason }
    }

    /// What the database says, as far as it may be shown.
    fn said(&self, change: &Change, reason: &Reason) -> String {
        match is_discreet(sink_of(self.schema, change.key).0) {
            true => reason.discreet.clone(),
            false => reason.plain.clone(),
        }
    }
}

/// Changes by table and sort, in the order in which they are stored: what is gone first, from the
/// last table of the schema to the first, then what is there.
fn groups_of(changes: Vec<&Change>) -> Vec<Vec<&Change>> {
    let mut groups: BTreeMap<(bool, usize), Vec<&Change>> = BTreeMap::new();
    for change in changes {
        let place = match change.what {
            What::Remove(_) => (false, usize::MAX - change.key),
            _ => (true, change.key),
        };
        groups.entry(place).or_default().push(change);
    }
    groups.into_values().collect()
}

/// Columns and values of `Key (a, b)=(1, 2) is not present in table "t".`
fn named_key(detail: &str) -> Option<(&str, &str)> {
    let (columns, rest) = detail.strip_prefix("Key (")?.split_once(")=(")?;
    let ends = [") is not present", ") is still referenced", ") already exists"];
    let end = ends.iter().find_map(|end| rest.find(end))?;
    Some((columns, &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_that_a_constraint_is_about_are_found() {
        let detail = "Key (a, b)=(1, x)y) is not present in table \"t\".";
        assert_eq!(named_key(detail), Some(("a, b", "1, x)y")));
        assert_eq!(named_key("Key (id)=(7) already exists."), Some(("id", "7")));
        assert_eq!(named_key("Failing row contains (1)."), None);
    }
}
