//! Rows and others: what each demands of rows that are derived from it, mirror it or are
//! followed by it, and who gets a unique value that several claim.

use super::{Claim, Conclusion, PORTION, Visited};
use crate::book::RuleBook;
use crate::derived::{Entry, Holds};
use crate::facts::Moment;
use crate::naming::named_key;
use crate::survey::{Ground, Occasion};
use crate::view::{Element, NotYet, Row, RowType};
use keyward_schema::{Derived, KeyId};

impl Conclusion {
    /// Notes what a row that stays demands of others, and others of it.
    pub(super) fn relate(
        &mut self,
        ground: Ground<'_>,
        left: &mut usize,
        (table, key, row): (Option<KeyId>, &[u8], &dyn Row),
    ) -> Result<Visited, NotYet> {
        let book = ground.book;
        let Some(table) = table.filter(|_| !self.is_to_end(key)) else {
            return Ok(Visited::Whole);
        };
        if self.cursor == 0 {
            for entry in book.computed_entries(table, key, Moment::Now(row)) {
                *left = left.saturating_sub(1);
                self.demand(ground, entry, (table, key))?;
            }
        }
        if book.links(table).mirror.is_some() {
            return self.mirror(ground, left, (table, key, row));
        }
        if let Some(Derived::Follows { .. }) = &book.schema().key(table).derived {
            return self.dismiss_strangers(ground, left, (table, key, row));
        }
        Ok(Visited::Whole)
    }

    /// A row demands an entry of a computed row.
    fn demand(
        &mut self,
        ground: Ground<'_>,
        entry: Entry,
        (table, key): (KeyId, &[u8]),
    ) -> Result<(), NotYet> {
        if entry.holds == Holds::Text {
            let text = ground.view.row(&entry.key)?.and_then(|row| row.text());
            let is_owner = text.is_some_and(|text| *text == *entry.member);
            if !is_owner || self.wanted.gain(entry.clone(), None).is_err() {
                let claim = (entry.key.clone(), entry.member.clone());
                self.claims.insert(claim, Claim { entry, source: table, key: key.to_vec() });
            }
        } else {
            let gained = self.wanted.gain(entry, None);
            debug_assert!(gained.is_ok(), "only unique values are claimed");
        }
        Ok(())
    }

    /// Members of a set demand its own place in the sets that mirror it.
    fn mirror(
        &mut self,
        ground: Ground<'_>,
        left: &mut usize,
        (table, key, row): (KeyId, &[u8], &dyn Row),
    ) -> Result<Visited, NotYet> {
        let own = ground.book.placeholders(table, key);
        self.each_element(left, row, |this, element| {
            if let Element::Member(member) = element
                && let Some(entry) = ground.book.reflection(table, &own, member)
            {
                this.demand(ground, entry, (table, key))?;
            }
            Ok(())
        })
    }

    pub(super) fn is_to_end(&self, key: &[u8]) -> bool {
        self.fates.get(key).is_some_and(Option::is_none)
    }

    /// Members that follow keys which are not there leave; where they return, a warning has let
    /// them pass, so they stay and the row does not fit.
    fn dismiss_strangers(
        &mut self,
        ground: Ground<'_>,
        left: &mut usize,
        (table, key, row): (KeyId, &[u8], &dyn Row),
    ) -> Result<Visited, NotYet> {
        let book = ground.book;
        let Some(Derived::Follows { of }) = &book.schema().key(table).derived else {
            return Ok(Visited::Whole);
        };
        let own = book.placeholders(table, key);
        let pattern = &book.schema().key(of.key).pattern;
        let take: &[u8] = match row.row_type() {
            RowType::Set => b"SREM",
            RowType::Zset => b"ZREM",
            RowType::String | RowType::List | RowType::Hash | RowType::Stream => {
                return Ok(Visited::Whole);
            }
        };
        let (mut strangers, mut named_first) = (Vec::new(), None);
        let visited = self.each_element(left, row, |this, element| {
            if let Element::Member(member) | Element::Scored(member, _) = element {
                let named = named_key(of, pattern, &own, member);
                let lives = match &named {
                    // Members leave with a key whose end is still to be carried out.
                    Some(named) => {
                        let lives = !this.is_to_end(named) && ground.view.row(named)?.is_some();
                        lives || ground.view.is_due(named)
                    }
                    None => false,
                };
                if !lives {
                    strangers.push(member.to_vec());
                    named_first = named_first.take().or(named);
                }
            }
            Ok(())
        })?;
        if self.occasion == Occasion::Return {
            if let Some(first) = strangers.first() {
                self.misfit(table, key, || match &named_first {
                    Some(named) => book.refuse_stranger(table, key, named),
                    None => book.refuse_nameless(table, key, first),
                });
            }
            return Ok(visited);
        }
        strangers.sort_unstable();
        for strangers in strangers.chunks(PORTION) {
            let words = [take, key].into_iter().chain(strangers.iter().map(|name| &name[..]));
            self.report.commands.push_back(words.collect());
        }
        self.found(Some(table)).destroyed += strangers.len() as u64;
        Ok(visited)
    }

    /// Gives unique values to who claims them; whether all are given.
    pub(super) fn settle(&mut self, book: &RuleBook, left: &mut usize) -> bool {
        while *left > 0 {
            *left -= 1;
            let Some((_, Claim { entry, source, key })) = self.claims.pop_first() else {
                return true;
            };
            let derived = entry.table;
            if let Err(taken) = self.wanted.gain(entry, None) {
                let problem = || book.refuse_taken(source, &key, derived, &taken.owner);
                self.conflict(source, &key, problem);
            }
        }
        false
    }
}
