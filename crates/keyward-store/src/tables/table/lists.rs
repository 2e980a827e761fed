//! Packing lists that nobody uses.
//!
//! A list is packed as a whole, so that who reads or changes one that is packed pays for
//! all of its items. That is well for lists that are used now and then, and not for a queue
//! or for the timeline of the day. So lists do not wait in the order of writing as other
//! rows do: from time to time all loose ones are looked at, and those that are idle
//! (`access`) are packed.
//!
//! They are looked at in the order of their hashes, in which many follow each other that
//! go to the same page. What has no room there is looked at again.
//!
//! Owns how far looking has come. Invariant: while `are_waiting` is not set, no loose list
//! that could be packed has been added since the last time all were looked at, nor was one
//! in use or without room then.

use super::packing::Tried;
use super::{Table, Value};
use crate::values::access::AccessClock;
use crate::values::value::ObjectRef;

/// How far looking at the loose lists of a table has come.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The next bucket, while they are being looked at.
    cursor: Option<u64>,
    /// The hashes of those that are idle in the last one, as far as rows have them.
    idle: Vec<u32>,
    /// Whether there may be some to pack when all are looked at again.
    are_waiting: bool,
}

impl Lists {
    /// A loose list has come.
    #[inline]
    pub(super) fn add(&mut self) {
        self.are_waiting = true;
    }

    /// Whether they are being looked at.
    pub(super) fn are_looked_at(&self) -> bool {
        self.cursor.is_some() || !self.idle.is_empty()
    }
}

impl Table {
    /// Begins to look at all lists, if any of them may have become idle.
    pub fn look_at_lists(&mut self) {
        if !self.lists.are_looked_at() && self.lists.are_waiting && self.packs() {
            self.lists = Lists { cursor: Some(0), ..Lists::default() };
        }
    }

    /// Packs lists that are idle, within a budget of work, while they are being looked at.
    /// Returns how much was done.
    pub(crate) fn pack_lists(&mut self, access: &AccessClock, budget: usize) -> usize {
        let mut work = 0;
        while work < budget {
            if let Some(hash) = self.lists.idle.pop() {
                let (done, tried) = self.pack_one(hash, |_, _| true);
                if matches!(tried, Tried::Begun) {
                    self.lists.idle.push(hash);
                }
                work += done;
                continue;
            }
            let Some(cursor) = self.lists.cursor else { break };
            let reading = self.reading();
            let (lists, packed) = (&mut self.lists, &self.packed);
            let takes = |list| packed.as_ref().is_some_and(|packed| packed.takes_list(list));
            let next = self.rows.scan(cursor, |row| {
                let Value::Object(ObjectRef::List(list)) = row.value() else { return };
                match takes(list) {
                    true if access.is_idle(reading, row.clock()) => {
                        lists.idle.push(self.hasher.hash(row.key()) as u32);
                    }
                    is_packable => lists.are_waiting |= is_packable,
                }
            });
            lists.cursor = (next != 0).then_some(next);
            work += 1;
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::access::{FrequencyRates, Reading};
    use crate::values::hasher::{DbIndex, Key, KeyHasher, TableIndex};
    use crate::values::list::{End, List};
    use crate::values::row::{NewValue, Row};
    use crate::values::value::Object;

    const SCHEMA: &str = "
[keyspace]
name = \"test\"
[key.\"log:{id}\"]
type    = \"list\"
items   = { at = \"timestamp\", text = \"string\" }
ttl     = \"none\"
max_len = 100000
";

    fn table() -> Table {
        let schema = keyward_schema::check("test.toml", SCHEMA.as_bytes()).schema;
        Table::governed(KeyHasher::new([5, 6]), &schema.expect("the schema is sound").keys[0])
    }

    fn clock(second: i64) -> AccessClock {
        let mut clock = AccessClock::new(FrequencyRates { log_factor: 10, decay_minutes: 1 });
        clock.set_now_ms(second * 1000);
        clock.set_idle_seconds(5);
        clock
    }

    fn item(number: usize) -> String {
        format!("{{\"at\": \"2025-12-04T15:30:{:02}Z\", \"text\": \"line {number}\"}}", number % 60)
    }

    fn key<'a>(table: &Table, bytes: &'a [u8]) -> Key<'a> {
        Key {
            bytes,
            hash: table.hasher().hash(bytes),
            table: TableIndex::PLAIN,
            db: DbIndex::WITHIN,
        }
    }

    fn add(table: &mut Table, name: &str, items: usize, second: i64) {
        let mut list = List::default();
        (0..items).for_each(|number| list.push(End::Tail, item(number).as_bytes()));
        let mut row = Row::new(name.as_bytes(), NewValue::Object(Object::List(list)), None);
        row.set_clock(clock(second).first_mark(Reading::Recency));
        table.insert(key(table, name.as_bytes()).hash, row);
    }

    fn look(table: &mut Table, second: i64) {
        table.look_at_lists();
        while table.pack_lists(&clock(second), 3) > 0 {}
        assert!(!table.has_work(&clock(second)));
    }

    fn is_packed(table: &Table, name: &str) -> bool {
        table.find_loose(key(table, name.as_bytes())).is_none()
    }

    #[test]
    fn an_idle_list_is_packed_and_comes_back_as_it_was() {
        let mut table = table();
        for (name, items) in [("log:one", 1), ("log:few", 7), ("log:many", 300)] {
            add(&mut table, name, items, 100);
        }
        add(&mut table, "log:long", 600, 100);
        let before = table.heap_bytes();
        look(&mut table, 110);
        for (name, items) in [("log:one", 1), ("log:few", 7), ("log:many", 300)] {
            assert!(is_packed(&table, name), "{name}");
            let row = table.find(key(&table, name.as_bytes())).expect("the row is there");
            let Value::Object(ObjectRef::List(list)) = row.value() else { panic!("a list") };
            let expected = (0..items).map(item);
            assert!(
                list.forward(0)
                    .map(|item| item.text().as_bytes().to_vec())
                    .eq(expected.map(String::into_bytes))
            );
        }
        assert!(!is_packed(&table, "log:long"), "it would take too long");
        assert!(table.heap_bytes() < before);
        table.locate(key(&table, b"log:many")).expect("the row is there");
        assert!(!is_packed(&table, "log:many"), "it was asked for to be changed");
        look(&mut table, 120);
        assert!(is_packed(&table, "log:many"));
    }

    #[test]
    fn lists_that_come_in_the_order_of_pages_are_all_packed() {
        let mut table = table();
        let names: Vec<String> = (0..2_000).map(|number| format!("log:{number}")).collect();
        // Words that differ, so that each list takes a few kilobytes.
        for (number, name) in names.iter().enumerate() {
            let mut list = List::default();
            for at in 0..40 {
                let text =
                    format!("{:064x}", (number * 40 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let item =
                    format!("{{\"at\": \"2025-12-04T15:30:00Z\", \"text\": \"no {text} x\"}}");
                list.push(End::Tail, item.as_bytes());
            }
            let mut row = Row::new(name.as_bytes(), NewValue::Object(Object::List(list)), None);
            row.set_clock(clock(100).first_mark(Reading::Recency));
            table.insert(key(&table, name.as_bytes()).hash, row);
        }
        let loose = |table: &Table| names.iter().filter(|name| !is_packed(table, name)).count();
        look(&mut table, 110);
        assert!(loose(&table) > 0, "some had no room in their page, or this tests nothing");
        for second in 112..120 {
            look(&mut table, second);
        }
        assert_eq!(loose(&table), 0);
        table.look_at_lists();
        assert!(!table.has_work(&clock(200)), "there are none to look at");
    }

    #[test]
    fn a_list_in_use_is_left_and_looked_at_again() {
        let mut table = table();
        add(&mut table, "log:used", 10, 100);
        add(&mut table, "log:idle", 10, 90);
        look(&mut table, 102);
        assert!(!is_packed(&table, "log:used") && is_packed(&table, "log:idle"));
        look(&mut table, 104);
        assert!(!is_packed(&table, "log:used"));
        look(&mut table, 105);
        assert!(is_packed(&table, "log:used"));
        table.look_at_lists();
        assert!(!table.has_work(&clock(200)), "there are none to look at");
    }

    #[test]
    fn a_step_packs_one_long_list_however_many_lie_in_a_bucket() {
        let mut table = table();
        let names: Vec<String> = (0..12).map(|number| format!("log:{number}")).collect();
        names.iter().for_each(|name| add(&mut table, name, 300, 100));
        let packed = |table: &Table| names.iter().filter(|name| is_packed(table, name)).count();
        table.look_at_lists();
        let mut steps = 0;
        while table.has_work(&clock(110)) {
            let before = packed(&table);
            table.pack_lists(&clock(110), 8);
            assert!(packed(&table) <= before + 1);
            steps += 1;
        }
        assert_eq!((packed(&table), steps >= names.len()), (names.len(), true));
    }
}
