//! Rows that live with others: `ttl = { with = … }`.
//!
//! When a row ends or its end moves, so does the end of each row that lives with
//! it, and of those that live with these. A companion that the same command wrote
//! is not led here but judged by itself, since its leader is judged before it. Where many
//! live with one row, their fate is put off (`large`). Where reads renew the leader they have
//! its end rounded up (`RuleBook::rounded_end`), so that few reads move them.

use super::{Aftermath, Fate, Objection};
use keyward_schema::KeyId;

impl Aftermath<'_> {
    /// Lets the companions of a row share its fate.
    pub(super) fn lead(
        &mut self,
        table: Option<KeyId>,
        key: &[u8],
        deadline_before: Option<Option<i64>>,
        fate: Fate,
    ) -> Result<(), Objection> {
        let leads = |table: &KeyId| !self.book.traits(*table).companions.is_empty();
        let Some(table) = table.filter(leads) else { return Ok(()) };
        let rounded = |deadline: Option<i64>| deadline.map(|end| self.book.rounded_end(table, end));
        let deadline_before = deadline_before.map(rounded);
        let fate = match fate {
            Fate::Gone => Fate::Gone,
            Fate::Lives(deadline) => Fate::Lives(rounded(deadline)),
        };
        if matches!(fate, Fate::Lives(deadline) if deadline_before == Some(deadline)) {
            return Ok(());
        }
        if self.puts_off_companions(table, key, fate) {
            return Ok(());
        }
        let mut companions: Vec<Vec<u8>> = Vec::new();
        self.view.each_companion(key, &mut |companion| companions.push(companion.to_vec()))?;
        for companion in companions {
            if self.place(&companion).is_none() {
                self.share(companion, fate)?;
            }
        }
        Ok(())
    }

    fn share(&mut self, key: Vec<u8>, fate: Fate) -> Result<(), Objection> {
        let mut deadline_before = None;
        self.view.glance(&key, &mut |row| deadline_before = row.map(|row| row.deadline()))?;
        // One whose own time is over ends by itself, and is reported then.
        let Some(before) = deadline_before else { return Ok(()) };
        match fate {
            Fate::Gone => self.follow_up([b"DEL", &key]),
            Fate::Lives(deadline) if deadline == before => return Ok(()),
            Fate::Lives(deadline) => {
                self.set_deadline(&key, deadline);
            }
        }
        self.lead(self.book.table_of(&key), &key, Some(before), fate)?;
        self.moved.insert(key, fate);
        Ok(())
    }
}
