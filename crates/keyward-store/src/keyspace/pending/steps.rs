//! The steps that finish an end.

use super::hidden::has_member;
use super::left::set_of;
use super::list::{EndCursor, Finish, PendingEnd, Remains};
use crate::keyspace::Keyspace;
use crate::values::packed::Item;
use crate::values::set::Set;
use keyward_rules::RuleBook;

impl Keyspace {
    /// What about `budget` rows more are to lose by the first end that is pending; nothing
    /// if that is over, or none is. Not for a unit that may be undone.
    pub fn next_steps(&mut self, budget: usize) -> Vec<Finish> {
        let mut steps = Vec::new();
        let Some(end) = self.pending.ends.front() else { return steps };
        let mut cursor = end.cursor;
        let is_over = self.gather_steps(end, &mut cursor, budget, &mut steps);
        if let Some(end) = self.pending.ends.front_mut() {
            end.cursor = cursor;
        }
        if is_over && let Some(end) = self.pending.remove(0) {
            self.log_end(&end);
            self.bury(end);
        }
        steps
    }

    /// What about `budget` rows more are to lose by an end, from a cursor on; `None` if it is
    /// over, or that was all. The end itself stays where it is.
    pub fn steps_of(
        &self,
        number: u64,
        cursor: &mut EndCursor,
        budget: usize,
    ) -> Option<Vec<Finish>> {
        let end = &self.pending.ends[self.pending.place(number)?];
        let mut steps = Vec::new();
        let is_over = self.gather_steps(end, cursor, budget, &mut steps);
        (!is_over || !steps.is_empty()).then_some(steps)
    }

    /// The numbers of the ends that are pending, up to this one, that have to be over before
    /// rows of others than their own tables can be shown, or all of them.
    pub fn pending_up_to(&self, number: u64, is_all: bool) -> Vec<u64> {
        let ends = self.pending.ends.iter().take_while(|end| end.number <= number);
        let ends = ends.filter(|end| is_all || !end.is_told_by_keys());
        ends.map(|end| end.number).collect()
    }

    /// Gathers steps of an end; whether it is over with them.
    fn gather_steps(
        &self,
        end: &PendingEnd,
        cursor: &mut EndCursor,
        budget: usize,
        steps: &mut Vec<Finish>,
    ) -> bool {
        let database = &self.databases[end.db];
        let Some(book) = database.book() else { return true };
        let mut visited = 0;
        while visited < budget {
            let mut names: Vec<Box<[u8]>> = Vec::new();
            let mut name = |item: Item<'_>| names.push(item.text().as_bytes().into());
            let scanned = match &end.remains {
                Remains::Members { left, .. } => {
                    left.scan(&self.databases, (cursor.part, cursor.place), &mut name)
                }
                // They are taken off the list one by one, and nobody comes to it.
                Remains::Companions { sets } => sets.get(cursor.part).map(|(_, row)| {
                    set_of(row).map_or(0, |set| set.scan_down(cursor.place, &mut name))
                }),
                Remains::Deadlines { tables } => tables.get(cursor.part).map(|table| {
                    database.scan_companions(*table, &end.key, cursor.place, &mut name)
                }),
            };
            let Some(place) = scanned else {
                let is_over = steps.is_empty() && end.lists_nobody();
                if !is_over && steps.is_empty() {
                    *cursor = EndCursor::default();
                    continue;
                }
                return is_over;
            };
            cursor.place = place;
            cursor.part += usize::from(place == 0);
            visited += names.len().max(1);
            for name in names {
                steps.extend(self.step_of(book, end, &name));
            }
        }
        false
    }

    fn step_of(&self, book: &RuleBook, end: &PendingEnd, name: &[u8]) -> Option<Finish> {
        match &end.remains {
            Remains::Members { .. } => {
                let entry = book.mirrored(end.table, &end.key, name)?;
                let is_stale = !self.contains_now(end, name)
                    && has_member(&self.databases[end.db], entry.table, &entry.key, &entry.member);
                is_stale.then(|| end.finish(&[b"SREM", &entry.key, &entry.member]))
            }
            Remains::Companions { .. } => Some(end.finish(&[b"DEL", name])),
            Remains::Deadlines { .. } => self.redating(end.db, name),
        }
    }

    /// A command that removes something hidden has run.
    pub fn finished(&mut self, finish: &Finish) {
        let args = finish.command.args();
        if args.at(0) == b"DEL" {
            let key = self.key_in(finish.db, args.at(1));
            self.unlist(key);
            if let Some(number) = finish.cleans {
                self.clean(key, number);
            }
        }
    }
}

impl PendingEnd {
    /// Whether no companion is left that it would remove.
    fn lists_nobody(&self) -> bool {
        match &self.remains {
            Remains::Companions { sets } => {
                sets.iter().all(|(_, row)| set_of(row).is_none_or(Set::is_empty))
            }
            Remains::Members { .. } | Remains::Deadlines { .. } => true,
        }
    }
}
