//! Taking steps back (rollback, by the undo log).

use super::{JournalMark, Step, Undo, row_of};
use crate::capture::large::list::ListStep;
use crate::keyspace::Keyspace;
use crate::tables::reclaim::Freeing;
use crate::values::footprint::HeapBytes;
use crate::values::hash::{self, Hash};
use crate::values::hasher::Key;
use crate::values::list::List;
use crate::values::packed::Item;
use crate::values::packed_limits::PackedLimits;
use crate::values::row::{NewValue, Row};
use crate::values::set::{self, Set};
use crate::values::stream::Stream;
use crate::values::value::{Collection, ObjectMut, ObjectRef};
use crate::values::zset::{self, ZSet};
use std::rc::Rc;

impl Keyspace {
    /// Undoes every step since a mark, the last one first.
    pub fn undo(&mut self, mark: JournalMark, limits: &PackedLimits) {
        let hasher = self.hasher;
        let mut journal = std::mem::take(&mut self.journal);
        for index in journal.steps_since(mark).rev() {
            let Step { row, undo, .. } =
                journal.steps.pop().expect("the range ends with the steps");
            debug_assert_eq!(index, journal.steps.len());
            let touched = journal.rows[row];
            let key = journal.key_of(&touched);
            let text = |span| journal.text(span);
            match undo {
                Undo::Row(before) => self.reinstate(key, before),
                Undo::Kept(row) => {
                    self.borrow_again(key, &row);
                    let row = Rc::try_unwrap(row);
                    let row = row.expect("ends of a unit that is undone are taken back before");
                    self.reinstate(key, Some(row));
                }
                Undo::Created => self.reinstate(key, None),
                Undo::Emptied(row) => self.reinstate(key, Some(row)),
                Undo::MovedTo(to) => {
                    let to = journal.key_of(&journal.rows[to]);
                    let moved = self.take_row(to);
                    let moved = moved.expect("a moved row is where it went until that is undone");
                    let (deadline, clock) = (moved.deadline(), moved.clock());
                    let mut row = moved.into_value().into_row(key.bytes, deadline);
                    row.set_clock(clock);
                    self.reinstate(key, Some(row));
                    self.follow_borrowed(to, key);
                }
                Undo::Deadline(before) => {
                    let table = self.databases[key.db()].table_mut(key);
                    if let Some(spot) = table.locate(key) {
                        table.set_deadline(spot, key.hash, before);
                    }
                }
                Undo::Patched { offset, covered, text_bytes, was_edited } => {
                    let table = self.databases[key.db()].table_mut(key);
                    let spot = table.locate(key).expect("a string is there that was edited");
                    let bytes_before = table.row(spot).heap_bytes();
                    let row = table.row_mut(spot);
                    row.take_patch_back((offset, text(covered)), text_bytes, was_edited);
                    table.resized(spot, bytes_before);
                }
                Undo::Field { name, before, .. } => self.undo_edit(key, |hash: &mut Hash| {
                    let name = Item::of(text(name));
                    match before {
                        Some(value) => {
                            hash.set(
                                &hash::Growth::of(limits, hasher),
                                (name, Item::of(text(value))),
                            );
                        }
                        None => {
                            hash.remove(name);
                        }
                    }
                }),
                Undo::Pushed(end, _) => {
                    self.undo_items(key, &ListStep::Pop(end), |list| list.pop(end));
                }
                Undo::Popped(end, item) => {
                    let step = ListStep::Push(end);
                    self.undo_items(key, &step, |list| list.push(end, text(item)));
                }
                Undo::Placed { index, before: Some(item), .. } => {
                    self.undo_items(key, &ListStep::Set(index), |list| {
                        list.set(index, text(item));
                    });
                }
                Undo::Placed { index, before: None, .. } => {
                    let range = index..index + 1;
                    let step = ListStep::Remove(range.clone());
                    self.undo_items(key, &step, |list| list.remove(range));
                }
                Undo::Taken { index, item } => {
                    let step = ListStep::Insert(index);
                    self.undo_items(key, &step, |list| list.insert(index, text(item)));
                }
                Undo::Cut { index, items } => {
                    let step = ListStep::Splice(index..index + items.len());
                    self.undo_items(key, &step, |list| list.splice(index, items));
                }
                Undo::TakenEqual { item, indexes } => {
                    let table = self.databases[key.db()].table_mut(key);
                    if let Some(spot) = table.locate(key) {
                        table.capture_whole(spot);
                    }
                    self.undo_edit(key, |list: &mut List| {
                        list.insert_equal(&indexes, text(item));
                    });
                }
                Undo::Member { member, came } => self.undo_edit(key, |set: &mut Set| {
                    let member = Item::of(text(member));
                    if came {
                        set.remove(member);
                    } else {
                        set.add(&set::Growth::of(limits, hasher), member);
                    }
                }),
                Undo::Left(left) => {
                    let left = set_in(left);
                    self.undo_edit(key, |set: &mut Set| set.take_back(left));
                }
                Undo::SetBefore(before) => {
                    self.borrow_again(key, &before);
                    let before = set_in(before);
                    let rest = self.undo_edit(key, |set: &mut Set| std::mem::replace(set, before));
                    self.reclaim.row(row_of(rest), Freeing::AtOnce);
                }
                Undo::RanksCut(cut) => self.undo_edit(key, |zset: &mut ZSet| zset.join(cut)),
                Undo::ZSetBefore(before) => {
                    let rest =
                        self.undo_edit(key, |zset: &mut ZSet| std::mem::replace(zset, before));
                    self.reclaim.row(row_of(rest), Freeing::AtOnce);
                }
                Undo::Score { member, before, .. } => {
                    self.undo_edit(key, |zset: &mut ZSet| match before {
                        Some(score) => {
                            zset.update(&zset::Growth::of(limits, hasher), text(member), |_| {
                                Some(score)
                            });
                        }
                        None => {
                            zset.remove(text(member));
                        }
                    })
                }
                Undo::Added { before, .. } => {
                    self.undo_edit(key, |stream: &mut Stream| stream.take_last(*before));
                }
                Undo::Stream(before) => {
                    let after = self
                        .undo_edit(key, |stream: &mut Stream| std::mem::replace(stream, *before));
                    let after = NewValue::Object(after.into_object());
                    self.reclaim.row(Row::new(&[], after, None), Freeing::AtOnce);
                }
                Undo::Flushed(held, ends) => {
                    self.databases[key.db()] = *held;
                    self.give_ends_back(ends);
                }
                Undo::Unlisted(number) => self.list_again(key, number),
                Undo::Cleaned(number) => self.uncleaned(key.bytes, number),
            }
        }
        journal.rows.truncate(mark.rows);
        self.journal = journal;
    }

    /// Puts a row in the place of whatever is there.
    fn reinstate(&mut self, key: Key<'_>, row: Option<Row>) {
        self.take_row(key);
        if let Some(row) = row {
            self.put_row_back(key, row);
        }
    }

    /// Undoes a step of a list, of which a snapshot that is amid it must hear. Members of
    /// other collections it has heard of when they were changed.
    fn undo_items(&mut self, key: Key<'_>, step: &ListStep, edit: impl FnOnce(&mut List)) {
        let table = self.databases[key.db()].table_mut(key);
        if let Some(spot) = table.locate(key) {
            table.before_part_change(spot, |large, object| {
                if let ObjectRef::List(list) = object {
                    large.items(list, step);
                }
            });
        }
        self.undo_edit(key, edit);
    }

    fn undo_edit<T: Collection, R>(&mut self, key: Key<'_>, edit: impl FnOnce(&mut T) -> R) -> R {
        let table = self.databases[key.db()].table_mut(key);
        let spot = table.locate(key).expect("an edited row is there until its edits are undone");
        let bytes_before = table.row(spot).heap_bytes();
        let object = table.row_mut(spot).object_mut();
        let edited = object.and_then(T::of_mut).expect("a row keeps its type while it is edited");
        let result = edit(edited);
        table.resized(spot, bytes_before);
        result
    }
}

/// The set of a row that an end which goes in steps may have shared.
fn set_in(row: Rc<Row>) -> Set {
    let row = Rc::try_unwrap(row);
    let mut row = row.expect("ends of a unit that is undone are taken back before");
    match row.object_mut() {
        Some(ObjectMut::Set(set)) => std::mem::take(set),
        _ => unreachable!("members left a set"),
    }
}
