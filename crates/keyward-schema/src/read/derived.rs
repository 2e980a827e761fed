//! Derivations from TOML.
//!
//! All five bind the names of a template to the placeholders of the derived
//! key; exactly one name is left over, and it is the member. A lookup that holds a field
//! leaves none over.

use super::draft::KeyDraft;
use super::mirrors::Mirrors;
use super::table::{Entry, Located, Table, text};
use super::template::{Resolved, resolve_or_report};
use crate::checks::{
    derived_of_derived, derived_type, inverse_mismatch, lookup_value, member_count, no_such_field,
    rank_type, several_derivations, source_type, template_kinds, unbound_placeholder, value_misfit,
};
use crate::derived::{Binding, Condition, Derived, Finds, RankBy, Reference};
use crate::diagnostic::Report;
use crate::pattern::{Kind, Pattern, Placeholder};
use crate::schema::{Content, DataType};
use crate::settings::Scope;
use crate::shape::{Field, Shape, Type};
use crate::source::Span;

/// Reads how a key is derived: `None` if that has an error, `Some(None)` if
/// clients write it.
pub(super) fn read(
    index: usize,
    drafts: &[KeyDraft<'_>],
    mirrors: &Mirrors,
    report: &mut Report,
) -> Option<Option<Derived>> {
    let draft = &drafts[index];
    let mut declared = draft.derivations();
    let Some(entry) = declared.next() else { return Some(None) };
    if let Some(second) = declared.next() {
        report.push(several_derivations::found(entry, second));
        return None;
    }
    let own = draft.pattern.as_ref()?;
    let reading = Reading { index, draft, drafts, mirrors, own };
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
    index: usize,
    draft: &'a KeyDraft<'t>,
    drafts: &'a [KeyDraft<'t>],
    mirrors: &'a Mirrors,
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
    /// The placeholder of the source that is the member.
    fn member(&self) -> &'a Placeholder {
        let member = self.reference.member().expect("a source is bound with exactly one member");
        &self.resolved.target.placeholders()[member]
    }

    /// The names of the template that the derived key does not have.
    fn free(&self, own: &Pattern) -> Vec<&str> {
        let names = self.resolved.names().map(|(name, _)| name);
        names.filter(|name| own.placeholder(name).is_none()).collect()
    }

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
        if table.entry("value").is_some() {
            return self.lookup_of_field(&table, report);
        }
        let source = self.source(table.required_text("of", report)?, "of", report)?;
        self.member_is_a_value(&source, report)?;
        let &[slot] = &source.unnamed(self.own)[..] else {
            report.push(
                unbound_placeholder::lookup(self.own, &source.unnamed(self.own), source.at)
                    .see(self.draft.at, "this key"),
            );
            return None;
        };
        // What the source holds could not be read, and that was said.
        source.draft.content.as_ref()?;
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
        let when = read_when(&table, source.draft, report)?;
        let finds = Finds::Member { field, slot };
        Some(Derived::Lookup { of: source.reference, finds, when })
    }

    /// A lookup that holds a field of the row it is named by.
    fn lookup_of_field(&self, table: &Table<'t>, report: &mut Report) -> Option<Derived> {
        let of = table.required_text("of", report);
        let value = table.text("value", report)?;
        if let Some(field) = table.entry("field") {
            report.push(lookup_value::with_field(field.name_at));
            return None;
        }
        let source = self.bound(of?, "of", report)?;
        let free = source.free(self.own);
        if !free.is_empty() {
            let found = lookup_value::open(&free, self.own, source.at);
            report.push(found.see(self.draft.at, "this key"));
            return None;
        }
        let unnamed = source.unnamed(self.own);
        if !unnamed.is_empty() {
            let found = lookup_value::unnamed(self.own, &unnamed, source.at);
            report.push(found.see(self.draft.at, "this key"));
            return None;
        }
        let index = self.field(&source, value, report)?;
        let field = &source.draft.object()?.fields[index];
        let data = self.draft.data?;
        let is_whole =
            matches!(field.shape.ty, Type::Kind(Kind::Int | Kind::Uint) | Type::TimestampMs);
        if field.shape.ty.is_json() || (data == DataType::Int && !is_whole) {
            report.push(lookup_value::unfit(field, data.name(), value.at));
            return None;
        }
        let when = read_when(table, source.draft, report)?;
        Some(Derived::Lookup { of: source.reference, finds: Finds::Field(index), when })
    }

    fn rank(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let table = open(Scope::Rank, entry, report)?;
        let by = table.required_text("by", report);
        let source = self.source(table.required_text("of", report)?, "of", report)?;
        self.all_named("rank", &source, report)?;
        let by = self.rank_by(&source, by?, report)?;
        let when = read_when(&table, source.draft, report)?;
        Some(Derived::Rank { of: source.reference, by, when })
    }

    /// A field, or a placeholder of the source in braces.
    fn rank_by(
        &self,
        source: &Source<'_, '_>,
        by: Located<&str>,
        report: &mut Report,
    ) -> Option<RankBy> {
        let in_braces = by.value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(name) = in_braces {
            let target = source.resolved.target;
            let index = target.placeholders().iter().position(|known| &*known.name == name);
            let kind = index.map(|index| &target.placeholders()[index].kind);
            if !kind.is_some_and(|kind| kind.is_within(&Kind::Int)) {
                report.push(rank_type::placeholder(by, kind, target));
                return None;
            }
            return index.map(RankBy::Placeholder);
        }
        let index = self.field(source, by, report)?;
        let field = &source.draft.object()?.fields[index];
        if !field.shape.ty.is_number() && field.shape.ty != Type::Timestamp {
            report.push(rank_type::found(field, by.at));
            return None;
        }
        Some(RankBy::Field(index))
    }

    fn members(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let table = open(Scope::Members, entry, report)?;
        let source = self.source(table.required_text("of", report)?, "of", report)?;
        source.draft.content.as_ref()?;
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
        let when = read_when(&table, source.draft, report)?;
        Some(Derived::Members { of: source.reference, when, split })
    }

    fn inverse(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let source = self.source(text(entry, report)?, "inverse", report)?;
        if source.draft.data.is_some_and(|data| data != DataType::Set) {
            report.push(source_type::inverse(source.draft, source.at));
            return None;
        }
        let &[slot] = &source.unnamed(self.own)[..] else {
            report.push(
                unbound_placeholder::inverse(self.own, source.at).see(self.draft.at, "this key"),
            );
            return None;
        };
        let pair = inverse_mismatch::Pair { key: self.index, mirror: source.resolved.key.index() };
        inverse_mismatch::check(pair, source.at, self.drafts, self.mirrors, report)?;
        self.items_fit_member(&source, report)?;
        self.mirror_takes(&source, slot, report)?;
        Some(Derived::Inverse { other: source.reference, slot })
    }

    fn follows(&self, entry: Entry<'t>, report: &mut Report) -> Option<Derived> {
        let source = self.source(text(entry, report)?, "follows", report)?;
        self.all_named("follows", &source, report)?;
        self.items_fit_member(&source, report)?;
        Some(Derived::Follows { of: source.reference })
    }

    /// A lookup holds the member, so its type must admit each.
    fn member_is_a_value(&self, source: &Source<'_, '_>, report: &mut Report) -> Option<()> {
        let member = source.member();
        if self.draft.data == Some(DataType::Int) && !member.kind.is_within(&Kind::Int) {
            let at = self.draft.table.entry("type")?.value.span().into();
            report.push(derived_type::lookup(member, source.draft, at));
            return None;
        }
        Some(())
    }

    /// What clients may put into this set must be able to name a key.
    fn items_fit_member(&self, source: &Source<'_, '_>, report: &mut Report) -> Option<()> {
        let content = self.draft.content.as_ref()?;
        let items = match &content.content {
            Content::Items(items) | Content::Scored { member: items, .. } => items,
            _ => return Some(()),
        };
        if content.is_given && !items.fits_in(&source.member().kind) {
            let at = self.draft.table.entry("items")?.value.span().into();
            report.push(value_misfit::items(items, source.member(), source.draft.at, at));
            return None;
        }
        Some(())
    }

    /// What stands in this set's name must be able to be a member of its mirror.
    fn mirror_takes(
        &self,
        source: &Source<'_, '_>,
        slot: usize,
        report: &mut Report,
    ) -> Option<()> {
        let slot = &self.own.placeholders()[slot];
        let mirror = source.draft.content.as_ref()?;
        let Content::Items(items) = &mirror.content else { return Some(()) };
        if mirror.is_given && !items.takes_all_of(&slot.kind) {
            let at = source.draft.table.entry("items")?.value.span().into();
            report.push(value_misfit::items(items, slot, self.draft.at, at));
            return None;
        }
        Some(())
    }

    /// Resolves the template, binds its names, and finds the one member.
    fn source(
        &self,
        template: Located<&str>,
        setting: &'static str,
        report: &mut Report,
    ) -> Option<Source<'a, 't>> {
        let source = self.bound(template, setting, report)?;
        let free = source.free(self.own);
        if free.len() != 1 {
            report.push(
                member_count::found(setting, &free, self.own, template.at)
                    .see(self.draft.at, "this key"),
            );
            return None;
        }
        Some(source)
    }

    /// Resolves the template and binds its names; one that is left over is the member.
    fn bound(
        &self,
        template: Located<&str>,
        setting: &'static str,
        report: &mut Report,
    ) -> Option<Source<'a, 't>> {
        let resolved = resolve_or_report(setting, template, self.drafts, report)?;
        let draft = &self.drafts[resolved.key.index()];
        let is_kept =
            draft.derivations().next().is_some() || self.mirrors.is_mirrored(resolved.key.index());
        if setting != "inverse" && is_kept {
            report.push(derived_of_derived::found(setting, draft, template.at));
            return None;
        }
        template_kinds::check(&resolved, self.own, template.at, [self.draft.at, draft.at], report)?;
        let reference = resolved
            .reference(|name| self.own.placeholder(name).map_or(Binding::Member, Binding::Bound));
        Some(Source { draft, resolved, reference, at: template.at })
    }

    /// Each placeholder of the derived key must come from the template.
    fn all_named(&self, setting: &str, source: &Source<'_, '_>, report: &mut Report) -> Option<()> {
        let unnamed = source.unnamed(self.own);
        if unnamed.is_empty() {
            return Some(());
        }
        report.push(
            unbound_placeholder::of_source(setting, self.own, &unnamed, source.at)
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

/// Reads `when` against the fields of the source; no tests if there is none.
fn read_when(
    table: &Table<'_>,
    source: &KeyDraft<'_>,
    report: &mut Report,
) -> Option<Vec<Condition>> {
    match table.text("when", report) {
        Some(when) => super::condition::read(when, source, report),
        None if table.entry("when").is_some() => None,
        None => Some(Vec::new()),
    }
}

fn field_named<'d>(draft: &'d KeyDraft<'_>, name: &str) -> Option<(usize, &'d Field)> {
    let object = draft.object()?;
    let index = object.field(name)?;
    Some((index, &object.fields[index]))
}

/// The shape of a plain string's value.
fn plain_value<'d>(draft: &'d KeyDraft<'_>) -> Option<&'d Shape> {
    match &draft.content.as_ref()?.content {
        Content::Value(shape) => Some(shape),
        _ => None,
    }
}
