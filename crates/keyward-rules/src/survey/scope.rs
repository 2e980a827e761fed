//! What of a keyspace a change of its schema concerns.
//!
//! Owns the comparison of two books table by table. A table is *settled* if both
//! books say the same of its rows, none comes to it or leaves it by the change,
//! and the table that it lives with is settled: the book before has judged each
//! of its rows already. Whatever is derived from one settled table for another
//! is as it must be. So the work of a survey follows what a change concerns,
//! not how much there is.
//! Not here: differences that no row feels (`plan` tells them).

use std::collections::BTreeMap;

use keyward_schema::{
    Derived, KeyId, Lifetime, Pattern, Reference, Relation, Schema, Steps, relation_within,
};

use crate::book::RuleBook;

/// What a survey has to do in each table.
#[derive(Debug)]
pub(super) struct Scope {
    /// By the index of the table.
    tables: Box<[Concern]>,
    /// Of the book before, if there was one: of keys without a pattern first, then of
    /// each pattern.
    before: Option<Box<[Past]>>,
}

/// What becomes of a table of the book before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    /// Its rows have to be met.
    pub(super) is_met: bool,
    /// The table with the same pattern, if there is one.
    pub(super) heir: Option<Option<KeyId>>,
    /// That one takes it over as it is.
    pub(super) goes_whole: bool,
}

/// What becomes of a table if no book was in force.
const UNJUDGED: Past = Past { is_met: true, heir: None, goes_whole: false };

/// What a survey has to do in one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concern {
    /// Its rows are judged by themselves.
    pub(super) judges: bool,
    /// What its rows demand of others is compared with what those hold.
    pub(super) relates: bool,
    /// What its rows hold is in question until others demand it.
    pub(super) doubts: bool,
}

impl Scope {
    /// The scope of a survey by a book where another was in force, if one was.
    /// `is_true` tells whether a table of that one holds what it demanded.
    pub(super) fn of(
        book: &RuleBook,
        before: Option<&RuleBook>,
        is_true: &dyn Fn(KeyId) -> bool,
    ) -> Scope {
        let schema = book.schema();
        let change = before.map(|before| Changeover::between(before.schema(), schema));
        let settled = match &change {
            None => vec![false; schema.keys.len()],
            Some(change) => change.settled(book, is_true),
        };
        let is_open = |id: KeyId| !settled[id.index()];
        let relates = |id: KeyId| {
            let traits = book.traits(id);
            let mirror = traits.source.filter(|_| book.links(id).mirror.is_some());
            is_open(id) || traits.dependents.iter().copied().chain(mirror).any(is_open)
        };
        let concern = |id: KeyId| Concern {
            judges: is_open(id),
            relates: relates(id),
            doubts: book.traits(id).source.is_some_and(|source| is_open(id) || relates(source)),
        };
        let tables: Box<[Concern]> = schema.ids().map(concern).collect();
        let before = change.map(|change| change.pasts(&tables));
        Scope { tables, before }
    }

    /// What is to be done in a table.
    pub(super) fn concern(&self, table: KeyId) -> Concern {
        self.tables[table.index()]
    }

    /// What becomes of a table of the book before.
    pub(super) fn past(&self, table: Option<KeyId>) -> Past {
        let index = table.map_or(0, |table| table.index() + 1);
        self.before.as_ref().map_or(UNJUDGED, |before| before[index])
    }
}

/// One schema in the place of another.
struct Changeover<'a> {
    old: Names<'a>,
    new: Names<'a>,
    /// The patterns that only one of them has.
    moving: Vec<&'a Pattern>,
    /// Whether the new one has such patterns.
    has_new: bool,
    /// What is left for comparing patterns; beyond it keys count as moving.
    steps: Steps,
}

impl<'a> Changeover<'a> {
    fn between(old: &'a Schema, new: &'a Schema) -> Changeover<'a> {
        let (old, new) = (Names::of(old), Names::of(new));
        let come: Vec<KeyId> =
            new.schema.ids().filter(|id| old.namesake(&new, *id).is_none()).collect();
        let gone = old.schema.ids().filter(|id| new.namesake(&old, *id).is_none());
        let gone = gone.map(|id| &old.schema.key(id).pattern);
        let has_new = !come.is_empty();
        let moving = come.iter().map(|id| &new.schema.key(*id).pattern).chain(gone).collect();
        let steps = Steps::among(old.schema.keys.len() + new.schema.keys.len());
        Changeover { old, new, moving, has_new, steps }
    }

    /// Whether no key comes to a pattern that both have, and none leaves it.
    fn keeps_its_keys(&self, pattern: &Pattern) -> bool {
        let relation = |other: &Pattern| relation_within(pattern, other, &self.steps);
        self.moving.iter().all(|other| relation(other) == Relation::Disjoint)
    }

    /// By the index of the table, whether it is settled.
    fn settled(&self, book: &RuleBook, is_true: &dyn Fn(KeyId) -> bool) -> Vec<bool> {
        let Changeover { old, new, .. } = self;
        let is_same = |id: KeyId| {
            old.namesake(new, id).is_some_and(|was| {
                is_true(was)
                    && says_the_same((old, was), (new, id))
                    && self.keeps_its_keys(&new.schema.key(id).pattern)
            })
        };
        let mut settled: Vec<bool> = new.schema.ids().map(is_same).collect();
        let mut by_depth: Vec<KeyId> = new.schema.ids().collect();
        by_depth.sort_by_key(|id| book.links(*id).companion_depth);
        for id in by_depth {
            let leader = book.traits(id).leader;
            settled[id.index()] &= leader.is_none_or(|leader| settled[leader.index()]);
        }
        settled
    }

    /// What becomes of each table of the schema before. Rows without a pattern stay
    /// without one unless there is a new pattern, or one is gone.
    fn pasts(&self, tables: &[Concern]) -> Box<[Past]> {
        let Changeover { old, new, .. } = self;
        let goes_whole = self.moving.is_empty();
        let plain = Past { is_met: self.has_new, heir: Some(None), goes_whole };
        let past = |id: KeyId| {
            let heir = new.namesake(old, id);
            let is_met = heir.is_none_or(|heir| {
                let Concern { judges, relates, doubts } = tables[heir.index()];
                judges || relates || doubts
            });
            let leans = |schema: &Schema, id: KeyId| {
                matches!(schema.key(id).lifetime, Lifetime::With { .. })
            };
            let goes_whole = heir.is_some_and(|heir| {
                !leans(old.schema, id)
                    && !leans(new.schema, heir)
                    && self.keeps_its_keys(&old.schema.key(id).pattern)
            });
            Past { is_met, heir: heir.map(Some), goes_whole }
        };
        std::iter::once(plain).chain(old.schema.ids().map(past)).collect()
    }
}

/// The tables of a schema by their patterns.
struct Names<'a> {
    schema: &'a Schema,
    ids: BTreeMap<&'a str, KeyId>,
}

impl<'a> Names<'a> {
    fn of(schema: &'a Schema) -> Names<'a> {
        let named = schema.ids().map(|id| (schema.key(id).pattern.text(), id));
        Names { schema, ids: named.collect() }
    }

    /// The table whose pattern is written like this one of the other schema.
    fn namesake(&self, other: &Names<'_>, id: KeyId) -> Option<KeyId> {
        self.ids.get(other.schema.key(id).pattern.text()).copied()
    }
}

/// Whether two schemas demand the same of the rows of a pattern.
fn says_the_same((old, was): (&Names<'_>, KeyId), (new, is): (&Names<'_>, KeyId)) -> bool {
    let (was, is) = (old.schema.key(was), new.schema.key(is));
    let same_reference = |was: &Reference, is: &Reference| {
        was.bindings == is.bindings && new.namesake(old, was.key) == Some(is.key)
    };
    let same_lifetime = match (&was.lifetime, &is.lifetime) {
        (Lifetime::With { key: was }, Lifetime::With { key: is }) => same_reference(was, is),
        (was, is) => was == is,
    };
    let same_derivation = match (&was.derived, &is.derived) {
        (Some(was), Some(is)) => {
            same_reference(was.source(), is.source()) && redirected(was, is.source().key) == *is
        }
        (was, is) => was.is_none() && is.is_none(),
    };
    was.data == is.data
        && was.content == is.content
        && was.bounds == is.bounds
        && same_lifetime
        && same_derivation
}

/// A derivation, with a source that goes by another number.
fn redirected(derived: &Derived, source: KeyId) -> Derived {
    let mut derived = derived.clone();
    match &mut derived {
        Derived::Lookup { of, .. }
        | Derived::Rank { of, .. }
        | Derived::Members { of, .. }
        | Derived::Follows { of } => of.key = source,
        Derived::Inverse { other, .. } => other.key = source,
    }
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r#"
[keyspace]
name = "shop"
[key."user:{id:uint}"]
type = "hash"
ttl = "1h"
[key."user:{id:uint}".fields]
plan = "free | paid"
[key."users:on:{plan}"]
type = "set"
ttl = "none"
members = { of = "user:{id}" }
[key."note:{id:uint}"]
type = "string"
ttl = { with = "user:{id}" }
[key."other:{id}"]
type = "string"
ttl = "none"
"#;

    fn book(text: &str) -> RuleBook {
        let checked = keyward_schema::check("x", text.as_bytes());
        RuleBook::new(checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics)))
    }

    /// Which patterns are judged, relate to others, or are doubted when `from`
    /// becomes `to`: `jrd` and the pattern.
    fn check(from: &str, to: &str, expected: &[&str]) {
        let (before, book) = (book(from), book(to));
        let scope = Scope::of(&book, Some(&before), &|_| true);
        let told = book.schema().ids().filter_map(|id| {
            let Concern { judges, relates, doubts } = scope.concern(id);
            let marks = [(judges, 'j'), (relates, 'r'), (doubts, 'd')];
            let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| mark).collect();
            let text = book.schema().key(id).pattern.text();
            (!marks.is_empty()).then(|| format!("{marks} {text}"))
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_same_schema_concerns_nothing() {
        check(SHOP, SHOP, &[]);
        check(SHOP, &SHOP.replace("[keyspace]", "[keyspace]\nmode = \"warn\""), &[]);
    }

    #[test]
    fn what_is_said_of_one_table_concerns_it_and_what_hangs_on_it() {
        let other =
            SHOP.replace("type = \"string\"\nttl = \"none\"", "type = \"string\"\nttl = \"9s\"");
        check(SHOP, &other, &["jr other:{id}"]);
        let plans = SHOP.replace("free | paid", "free | paid | gold");
        check(SHOP, &plans, &["jr user:{id:uint}", "d users:on:{plan}", "jr note:{id:uint}"]);
        let when =
            SHOP.replace("of = \"user:{id}\" }", "of = \"user:{id}\", when = \"plan = paid\" }");
        check(SHOP, &when, &["r user:{id:uint}", "jrd users:on:{plan}"]);
    }

    #[test]
    fn a_table_that_rows_leave_is_concerned() {
        let new = format!("{SHOP}[key.\"other:one\"]\ntype = \"string\"\nttl = \"none\"\n");
        check(SHOP, &new, &["jr other:{id}", "jr other:one"]);
        check(&new, SHOP, &["jr other:{id}"]);
    }

    #[test]
    fn tables_are_known_by_their_patterns_and_not_by_their_places() {
        let (head, other) = SHOP.split_once("[key.\"other").expect("the last one");
        let (keyspace, keys) = head.split_once("[key.").expect("the first one");
        let moved = format!("{keyspace}[key.\"other{other}[key.{keys}");
        check(SHOP, &moved, &[]);
    }

    #[test]
    fn what_is_not_true_is_doubted() {
        let book = book(SHOP);
        let sets = book.table_of(b"users:on:free");
        let scope = Scope::of(&book, Some(&book), &|id| Some(id) != sets);
        assert!(scope.concern(sets.expect("a table")).doubts);
        assert!(scope.past(sets).is_met);
        assert!(scope.past(book.table_of(b"user:1")).is_met);
        assert!(!scope.past(book.table_of(b"other:1")).is_met && !scope.past(None).is_met);
    }

    #[test]
    fn tables_go_over_whole_unless_keys_move_or_rows_live_with_others() {
        let before = book(SHOP);
        let after = |text: &str| -> Vec<bool> {
            let scope = Scope::of(&book(text), Some(&before), &|_| true);
            let ids = std::iter::once(None).chain(before.schema().ids().map(Some));
            ids.map(|id| scope.past(id).goes_whole).collect()
        };
        assert_eq!(after(SHOP), [true, true, true, false, true]);
        assert_eq!(
            after(&SHOP.replace("free | paid", "free | gold")),
            [true, true, true, false, true]
        );
        let new = format!("{SHOP}[key.\"other:one\"]\ntype = \"string\"\nttl = \"none\"\n");
        assert_eq!(after(&new), [false, true, true, false, false]);
    }
}
