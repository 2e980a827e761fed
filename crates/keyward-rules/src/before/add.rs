//! Putting elements into collections.

use keyward_schema::{Content, Misfit};

use super::{Case, Judgement, Place, Stop, UNJUDGED};
use crate::arguments::{Elements, pairs};
use crate::book::RuleBook;
use crate::verdict::{Judged, Verdict};
use crate::view::Row;
use keyward_commands::CommandId;
use keyward_resp::number;

impl RuleBook {
    pub(super) fn add(
        &self,
        case: Case<'_>,
        position: usize,
        elements: Elements<'_>,
    ) -> Judgement<Verdict> {
        let takes_elsewhere = case.command.id == CommandId::SMove;
        let place = match self.place(case, position, Some(elements.row_type())) {
            Err(Stop::At(Verdict::Run(_))) if takes_elsewhere => return Err(UNJUDGED),
            place => place?,
        };
        let Place { table, key } = place;
        let content = &self.schema().key(table).content;
        let names = self.names(table, key);
        if let Err(misfit) = check(content, names.values(), elements) {
            return Err(self.stop_unfit(case, place, misfit, |content| {
                check(content, names.values(), elements)
            }));
        }
        if self.traits(table).source.is_some() || takes_elsewhere {
            return Err(UNJUDGED);
        }
        let row = case.view.row_of(table, key)?;
        let is_compared = match elements {
            Elements::Fields(args) => self.is_compared(table, pairs(args).map(|(name, _)| name)),
            _ => false,
        };
        let judged = match self.is_within_bounds(place, row, elements)
            && self.has_required_fields(place, row)
            && !is_compared
        {
            true => self.judged_edit(place, row),
            false => Judged::Nothing,
        };
        Ok(Verdict::Run(judged))
    }

    /// Whether a row stays within its bounds, even if each element is a new one.
    fn is_within_bounds(
        &self,
        place: Place<'_>,
        row: Option<&dyn Row>,
        elements: Elements<'_>,
    ) -> bool {
        let bounds = &self.schema().key(place.table).bounds;
        let count = row.map_or(0, Row::len).saturating_add(elements.count());
        [bounds.max_len, bounds.max_members].iter().flatten().all(|most| count as u64 <= *most)
    }

    /// Whether a living row has the fields that it must have. That of a new one
    /// is left to the second stage.
    pub(super) fn has_required_fields(&self, place: Place<'_>, row: Option<&dyn Row>) -> bool {
        let Content::Fields(object) = &self.schema().key(place.table).content else { return true };
        object
            .fields
            .iter()
            .filter(|field| field.required)
            .all(|field| row.is_some_and(|row| row.field(field.name.as_bytes()).is_some()))
    }
}

fn check(content: &Content, names: &[&[u8]], elements: Elements<'_>) -> Result<(), Misfit> {
    match (content, elements) {
        (Content::Fields(object), Elements::Fields(args)) => {
            pairs(args).try_for_each(|(name, value)| object.check_hash_field(names, name, value))
        }
        (Content::Items(shape), Elements::Items(args) | Elements::Members(args)) => {
            args.iter().try_for_each(|item| shape.check_under(names, item))
        }
        (Content::Scored { member, score }, Elements::Scores(args)) => {
            pairs(args).try_for_each(|(number, text)| {
                member.check_under(names, text)?;
                number::parse_f64(number).map_or(Ok(()), |number| score.check_score(number))
            })
        }
        (Content::Entries(object), Elements::Entry(args)) => object.check_hash(names, pairs(args)),
        // The type of the row was judged before.
        _ => Ok(()),
    }
}
