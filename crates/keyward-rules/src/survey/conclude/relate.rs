//! Rows and others: what each demands of rows that are derived from it, mirror it or are
//! followed by it, and who gets a unique value that several claim.

use super::{Claim, Conclusion, PORTION, Visited};
use crate::derived::wanted::State;
use crate::derived::{Entry, Holds};
use crate::facts::Moment;
use crate::naming::named_key;
use crate::refusal::Refusal;
use crate::survey::{Ground, Occasion};
use crate::view::{Element, NotYet, Row, RowType};
use keyward_schema::{Derived, KeyId};
use std::collections::{BTreeMap, BTreeSet};

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
            // A mirror whose time is over takes this entry along, and does not come again by it.
            if let Element::Member(member) = element
                && let Some(entry) = ground.book.reflection(table, &own, member)
            {
                match ground.view.is_due(&entry.key) {
                    true => this.found(Some(table)).ending += 1,
                    false => this.demand(ground, entry, (table, key))?,
                }
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
        let (mut strangers, mut named_first, mut ending) = (Vec::new(), None, 0);
        let visited = self.each_element(left, row, |this, element| {
            if let Element::Member(member) | Element::Scored(member, _) = element {
                let named = named_key(of, pattern, &own, member);
                let lives = match &named {
                    Some(named) => !this.is_to_end(named) && ground.view.row(named)?.is_some(),
                    None => false,
                };
                if lives {
                } else if named.as_ref().is_some_and(|named| ground.view.is_due(named)) {
                    // Members leave with a key whose end is still to be carried out.
                    ending += 1;
                } else {
                    strangers.push(member.to_vec());
                    named_first = named_first.take().or(named);
                }
            }
            Ok(())
        })?;
        self.found(Some(table)).ending += ending;
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

    /// Gives unique values to who claims them; whether all are given. What a client wrote to a
    /// lookup that returns stays there.
    pub(super) fn settle(&mut self, ground: Ground<'_>, left: &mut usize) -> Result<bool, NotYet> {
        let book = ground.book;
        while *left > 0 {
            *left -= 1;
            let Some((_, Claim { entry, source, key })) = self.claims.first_key_value() else {
                return Ok(true);
            };
            let kept = match self.occasion {
                Occasion::Return if !self.wanted.is_demanded(&entry.key) => {
                    self.kept_in_lookup(ground, entry, (*source, key))?
                }
                Occasion::Return | Occasion::Change => None,
            };
            let Some((_, Claim { entry, source, key })) = self.claims.pop_first() else {
                return Ok(true);
            };
            let derived = entry.table;
            if let Some(problem) = kept {
                self.conflict(source, &key, || problem);
            } else if let Err(taken) = self.wanted.gain(entry, None) {
                let problem = || book.refuse_taken(source, &key, derived, &taken.owner);
                self.conflict(source, &key, problem);
            }
        }
        Ok(false)
    }

    /// Why a row does not get the entry of a lookup that it claims, where something stands there
    /// that no row demands and that does not go with one either.
    fn kept_in_lookup(
        &self,
        ground: Ground<'_>,
        entry: &Entry,
        (source, key): (KeyId, &[u8]),
    ) -> Result<Option<Refusal>, NotYet> {
        let book = ground.book;
        let Some(row) = ground.view.row(&entry.key)? else { return Ok(None) };
        let Some(text) = row.text() else {
            return Ok(Some(book.refuse_unnamed(source, key, entry.table)));
        };
        let is_kept = !goes_with_its_source(ground, (entry.table, &entry.key), &text);
        Ok(is_kept.then(|| book.refuse_taken(source, key, entry.table, &text)))
    }

    /// What of a derived row changes, of what must be otherwise. An entry whose source's time is
    /// over is left to go with that, and in a row that returns what clients wrote in spite of its
    /// sources stays.
    pub(super) fn changing(
        &mut self,
        ground: Ground<'_>,
        (table, key): (KeyId, &[u8]),
        row: Option<&dyn Row>,
        mut elements: BTreeMap<Vec<u8>, State>,
    ) -> BTreeMap<Vec<u8>, State> {
        let book = ground.book;
        let (Some(row), Some(row_type)) = (row, book.traits(table).row_type) else {
            return elements;
        };
        let returns = self.occasion == Occasion::Return;
        let is_of_type = row.row_type() == row_type;
        let (mut ending, mut superseded, mut contradictions) = (0, 0, BTreeSet::new());
        elements.retain(|member, wanted| {
            let now = State::of(Some(row), row_type, member);
            if now == *wanted || (now == State::Absent && (is_of_type || !returns)) {
                return true;
            }
            let text = |state: &State| match state {
                State::Text(text) => Some(text.clone()),
                State::Absent => None,
                State::Member | State::Score(_) => Some(member.clone()),
            };
            let held = text(&now);
            let is_going =
                held.as_ref().is_some_and(|held| goes_with_its_source(ground, (table, key), held));
            match is_going {
                true if *wanted == State::Absent => ending += 1,
                // Another one has claimed it.
                true => superseded += 1,
                false if returns => contradictions.extend(held.into_iter().chain(text(wanted))),
                false => {}
            }
            match is_going {
                true => *wanted != State::Absent,
                false => !returns,
            }
        });
        self.found(Some(table)).ending += ending;
        self.mended.superseded = superseded;
        if let Some(first) = contradictions.first() {
            self.misfit(table, key, || book.refuse_standing(table, key, Some(first)));
            self.report.contradictions.entry(key.to_vec()).or_default().extend(contradictions);
        }
        elements
    }
}

/// Whether what a derived row holds came from a row whose time is over and whose end is still to
/// be carried out. What a client wrote there in spite of that row does not go with it.
fn goes_with_its_source(ground: Ground<'_>, (table, key): (KeyId, &[u8]), member: &[u8]) -> bool {
    let Ground { book, view, .. } = ground;
    let Some(source) = book.source_of(table, key, member) else { return false };
    if !book.traits(table).is_computed {
        return view.is_due(&source);
    }
    let mut is_demanded = false;
    view.glance_due(&source, &mut |row| {
        let entries = book.table_of(&source).map(|of| book.entries_of(of, &source, row));
        is_demanded = entries
            .into_iter()
            .flatten()
            .any(|entry| entry.table == table && *entry.key == *key && *entry.member == *member);
    });
    is_demanded
}
