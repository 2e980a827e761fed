//! Which tables an end concerns by way of others.

use keyward_rules::{RuleBook, ToldBy};
use keyward_schema::KeyId;

/// The tables whose rows go or lose something because companions go.
#[derive(Debug, Default)]
pub(super) struct Concerned {
    /// All of them, those apart whose rows the end lists.
    pub(super) tables: Box<[KeyId]>,
    /// Those of them whose rows go as a whole.
    pub(super) wholes: Box<[KeyId]>,
    /// Those of them whose rows are told element by element.
    pub(super) by_elements: Box<[KeyId]>,
    /// The tables of companions that those are derived from: to write their rows is to change
    /// what is not exact before the end is over.
    pub(super) sources: Box<[KeyId]>,
}

impl Concerned {
    /// What is concerned if rows go that live with one of this table, and those that live with
    /// them. Rows go as a whole only where nothing is known to be wrong with any: clients may
    /// have written to one in spite of its sources.
    pub(super) fn by_companions(book: &RuleBook, leader: KeyId, is_faultless: bool) -> Concerned {
        let (mut tables, mut sources) = (Vec::new(), Vec::new());
        let mut to_see: Vec<KeyId> = book.traits(leader).companions.to_vec();
        let mut seen = to_see.clone();
        let goes_whole = |table: &KeyId| {
            is_faultless && book.told_by(*table) == ToldBy::Leader && book.is_enforced(*table)
        };
        let is_by_elements = |table: &KeyId| match book.told_by(*table) {
            ToldBy::Elements => true,
            ToldBy::Leader => !goes_whole(table),
            ToldBy::Nothing | ToldBy::Text => false,
        };
        while let Some(companion) = to_see.pop() {
            let traits = book.traits(companion);
            let ties: Vec<KeyId> =
                traits.dependents.iter().chain(&traits.source).copied().collect();
            if ties.iter().any(|tied| is_by_elements(tied) && !book.follows(*tied)) {
                sources.push(companion);
            }
            tables.extend(ties.iter().chain(&traits.companions).copied());
            for next in &traits.companions {
                if !seen.contains(next) {
                    seen.push(*next);
                    to_see.push(*next);
                }
            }
        }
        tables.sort_unstable();
        tables.dedup();
        Concerned {
            wholes: tables.iter().copied().filter(goes_whole).collect(),
            by_elements: tables.iter().copied().filter(is_by_elements).collect(),
            tables: tables.into(),
            sources: sources.into(),
        }
    }

    /// No rows go as a whole after all.
    pub(super) fn takes_elements_of_all(&mut self) {
        let wholes = std::mem::take(&mut self.wholes);
        if !wholes.is_empty() {
            self.by_elements = self.by_elements.iter().copied().chain(wholes).collect();
        }
    }

    /// Rows of a table lose elements after all.
    pub(super) fn takes_elements_of(&mut self, table: KeyId) {
        if self.wholes.contains(&table) {
            self.wholes = self.wholes.iter().copied().filter(|other| *other != table).collect();
            self.by_elements = self.by_elements.iter().copied().chain([table]).collect();
        }
    }
}
