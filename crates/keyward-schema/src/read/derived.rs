//! Derivations from TOML.
//!
//! All five bind the names of a template to the placeholders of the derived
//! key; exactly one name is left over, and it is the member.

use super::key::KeyDraft;
use super::table::{Entry, Located, Table, text};
use super::template::{Resolved, Unresolved, resolve};
use crate::checks::{
    derived_of_derived, inverse_mismatch, malformed_pattern, member_count, missing_setting,
    no_such_field, no_such_pattern, rank_type, several_derivations, source_type, template_kinds,
    unbound_placeholder, value_misfit,
};
use crate::derived::{Binding, Derived, Reference};
use crate::diagnostic::Report;
use crate::pattern::Pattern;
use crate::schema::DataType;
use crate::settings::Scope;
use crate::shape::{Field, Type};
use crate::source::Span;

/// Reads how a key is derived: `None` if that has an error, `Some(None)` if
/// clients write it.
pub(super) fn read(
    draft: &KeyDraft<'_>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<Option<Derived>> {
    let mut declared = draft.derivations();
    let Some(entry) = declared.next() else { return Some(None) };
    if let Some(second) = declared.next() {
        report.push(several_derivations::found(entry, second));
        return None;
    }
    let own = draft.pattern.as_ref()?;
    let reading = Reading { draft, drafts, own };
    let derived = match entry.name {
        "lookup" => reading.lookup(entry, report),
        "rank" => reading.rank(entry, report),
        "members" => reading.members(entry, report),
        "inverse" => reading.inverse(entry, report),
        _ => reading.follows(entry, report),
    };
    derived.map(Some)
}

struct Reading<'a, 't> {
    draft: &'a KeyDraft<'t>,
    drafts: &'a [KeyDraft<'t>],
    own: &'a Pattern,
}

/// A source with its template bound.
struct Source<'a, 't> {
    draft: &'a KeyDraft<'t>,
    resolved: Resolved<'a>,
    reference: Reference,
    at: Span,
}

impl<'a, 't> Source<'a, 't> {
    /// The placeholders of the derived key that the template does not name.
    fn unnamed(&self, own: &Pattern) -> Vec<usize> {
        let is_named = |name: &str| self.resolved.names().any(|(known, _)| known == name);
        let placeholders = own.placeholders().iter().enumerate();
        placeholders.filter(|(_, own)| !is_named(&own.name)).map(|(index, _)| index).collect()
    }
}

impl<'a, 't> Reading<'a, 't> {
    fn lookup(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let table = open(Scope::Lookup, entry, report)?;
        let source = self.source(of(&table, report)?, "of", report)?;
        let &[slot] = &source.unnamed(self.own)[..] else {
            report.push(unbound_placeholder::lookup(
                self.own,
                &source.unnamed(self.own),
                source.at,
            ));
            return None;
        };
        let field = match table.text("field", report) {
            Some(name) => Some(self.field(&source, name, report)?),
            None if table.entry("field").is_some() => return None,
            None => None,
        };
        let shape = match field {
            Some(index) => source.draft.object().map(|object| &object.fields[index].shape),
            None => plain_value(source.draft),
        };
        let Some(shape) = shape else {
            report.push(source_type::lookup(source.draft, source.at));
            return None;
        };
        let slot_kind = &self.own.placeholders()[slot].kind;
        if !shape.fits_in(slot_kind) {
            let field =
                field.and_then(|index| source.draft.object().map(|object| &object.fields[index]));
            report.push(value_misfit::found(
                shape,
                field,
                &self.own.placeholders()[slot],
                source.draft,
                self.draft.at,
            ));
            return None;
        }
        Some(Derived::Lookup { of: source.reference, field, slot })
    }

    fn rank(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let table = open(Scope::Rank, entry, report)?;
        let by = table.required_text("by", report);
        let source = self.source(of(&table, report)?, "of", report)?;
        self.all_named(&source, report)?;
        let by = self.field(&source, by?, report)?;
        let field = &source.draft.object()?.fields[by];
        if !field.shape.ty.is_number() && field.shape.ty != Type::Timestamp {
            report.push(rank_type::found(field, table.entry("by")?.value.span().into()));
            return None;
        }
        Some(Derived::Rank { of: source.reference, by })
    }

    fn members(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let table = open(Scope::Members, entry, report)?;
        let source = self.source(of(&table, report)?, "of", report)?;
        let mut split = Vec::new();
        for slot in source.unnamed(self.own) {
            let placeholder = &self.own.placeholders()[slot];
            let Some((index, field)) = field_named(source.draft, &placeholder.name) else {
                report.push(no_such_field::for_placeholder(
                    placeholder,
                    source.draft,
                    self.draft.at,
                ));
                return None;
            };
            if !field.shape.fits_in(&placeholder.kind) {
                report.push(value_misfit::found(
                    &field.shape,
                    Some(field),
                    placeholder,
                    source.draft,
                    self.draft.at,
                ));
                return None;
            }
            split.push((slot, index));
        }
        let when = match table.text("when", report) {
            Some(when) => super::condition::read(when, source.draft, report)?,
            None if table.entry("when").is_some() => return None,
            None => Vec::new(),
        };
        Some(Derived::Members { of: source.reference, when, split })
    }

    fn inverse(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let source = self.source(text(entry, report)?, "inverse", report)?;
        if source.draft.data.is_some_and(|data| data != DataType::Set) {
            report.push(source_type::inverse(source.draft, source.at));
            return None;
        }
        let &[slot] = &source.unnamed(self.own)[..] else {
            report.push(unbound_placeholder::inverse(self.own, source.at));
            return None;
        };
        inverse_mismatch::check(self.draft, source.draft, source.at, self.drafts, report)?;
        Some(Derived::Inverse { other: source.reference, slot })
    }

    fn follows(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let source = self.source(text(entry, report)?, "follows", report)?;
        self.all_named(&source, report)?;
        Some(Derived::Follows { of: source.reference })
    }

    /// Resolves the template, binds its names, and finds the one member.
    fn source(
        &self,
        template: Located<&str>,
        setting: &'static str,
        report: &mut Report,
    ) -> Option<Source<'a, 't>> {
        let resolved = match resolve(template.value, self.drafts) {
            Ok(resolved) => resolved,
            Err(Unresolved::Malformed(error)) => {
                report.push(malformed_pattern::found(template.value, &error, template.at));
                return None;
            }
            Err(Unresolved::NoPattern) => {
                report.push(no_such_pattern::found(setting, template, self.drafts));
                return None;
            }
        };
        let draft = &self.drafts[resolved.key.index()];
        if setting != "inverse" && draft.is_derived() {
            report.push(derived_of_derived::found(setting, draft, template.at));
            return None;
        }
        let free: Vec<&str> = resolved
            .names()
            .map(|(name, _)| name)
            .filter(|name| self.own.placeholder(name).is_none())
            .collect();
        if free.len() != 1 {
            report.push(
                member_count::found(setting, &free, self.own, template.at)
                    .see(self.draft.at, "this key"),
            );
            return None;
        }
        template_kinds::check(&resolved, self.own, template.at, report)?;
        let reference = resolved
            .reference(|name| self.own.placeholder(name).map_or(Binding::Member, Binding::Bound));
        Some(Source { draft, resolved, reference, at: template.at })
    }

    /// Each placeholder of the derived key must come from the template.
    fn all_named(&self, source: &Source<'_, '_>, report: &mut Report) -> Option<()> {
        let unnamed = source.unnamed(self.own);
        if unnamed.is_empty() {
            return Some(());
        }
        report.push(
            unbound_placeholder::of_source(self.own, &unnamed, source.at)
                .see(self.draft.at, "this key"),
        );
        None
    }

    /// The index of a field of the source.
    fn field(
        &self,
        source: &Source<'_, '_>,
        name: Located<&str>,
        report: &mut Report,
    ) -> Option<usize> {
        // What the source holds could not be read, and that was said.
        source.draft.content.as_ref()?;
        match field_named(source.draft, name.value) {
            Some((index, _)) => Some(index),
            None => {
                report.push(no_such_field::found(name, source.draft));
                None
            }
        }
    }
}

fn open<'t>(scope: Scope, entry: Entry<'t>, report: &mut Report) -> Option<Table<'t>> {
    let table = super::table::table(entry, report)?;
    Some(Table::open(scope, table.value, entry.name_at, report))
}

fn of<'t>(table: &Table<'t>, report: &mut Report) -> Option<Located<&'t str>> {
    match table.entry("of") {
        Some(entry) => text(entry, report),
        None => {
            report.push(missing_setting::found("of", table.at));
            None
        }
    }
}

fn field_named<'d>(draft: &'d KeyDraft<'_>, name: &str) -> Option<(usize, &'d Field)> {
    let object = draft.object()?;
    let index = object.field(name)?;
    Some((index, &object.fields[index]))
}

/// The shape of a plain string's value.
fn plain_value<'d>(draft: &'d KeyDraft<'_>) -> Option<&'d crate::shape::Shape> {
    match &draft.content.as_ref()?.content {
        crate::schema::Content::Value(shape) => Some(shape),
        _ => None,
    }
}
