//! Keys: first by themselves, then with what they say of each other.

use super::content::{self, ContentDraft};
use super::mirrors::Mirrors;
use super::secrets::{self, Secret};
use super::table::{Entry, Table, table};
use super::{derived, example, lifetime};
use crate::checks::{
    self, bound_on_wrong_type, derived_setting, evict_contradiction, malformed_pattern,
    misplaced_setting, misplaced_shape, missing_setting,
};
use crate::derived::Derived;
use crate::diagnostic::Report;
use crate::lifetime::Lifetime;
use crate::pattern::Pattern;
use crate::schema::{
    Bounds, Content, DEFAULT_MAX_FANOUT, DataType, Evict, Key, Mode, shape_of_kind,
};
use crate::settings::{Scope, settings_of};
use crate::source::Span;

/// A key as far as it can be read without looking at others.
pub(crate) struct KeyDraft<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: Span,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) table: Table<'t>,
    pub(crate) data: Option<DataType>,
    pub(crate) content: Option<ContentDraft>,
}

impl<'t> KeyDraft<'t> {
    pub(super) fn read(entry: Entry<'t>, report: &mut Report) -> Option<KeyDraft<'t>> {
        let raw = table(entry, report)?;
        let pattern = match Pattern::parse(entry.name) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                report.push(malformed_pattern::found(entry.name, &error, entry.name_at));
                None
            }
        };
        let table = Table::open(Scope::Key, raw.value, entry.name_at, report);
        let data = read_type(&table, report);
        let content = data.and_then(|data| {
            report_settings_of_other_types(&table, data, report);
            content::read(&table, data, report)
        });
        Some(KeyDraft { text: entry.name, at: entry.name_at, pattern, table, data, content })
    }

    /// The names of the derivations it declares.
    pub(crate) fn derivations(&self) -> impl Iterator<Item = Entry<'t>> {
        let names = ["lookup", "rank", "members", "inverse", "follows"];
        names.into_iter().filter_map(|name| self.table.entry(name))
    }

    /// Whether Keyward writes it: `follows` only watches what clients write.
    pub(crate) fn is_derived(&self) -> bool {
        self.derivations().any(|entry| entry.name != "follows")
    }

    /// Whether it is derived, or follows others.
    pub(crate) fn is_related(&self) -> bool {
        self.derivations().next().is_some()
    }

    /// Its fields, if it is a hash or a JSON object.
    pub(crate) fn object(&self) -> Option<&crate::shape::Object> {
        self.content.as_ref()?.content.object()
    }
}

fn read_type(table: &Table<'_>, report: &mut Report) -> Option<DataType> {
    if table.entry("type").is_none() {
        report.push(missing_setting::key_type(table));
        return None;
    }
    let word = table.text("type", report)?;
    let data = DataType::named(word.value);
    if data.is_none() {
        report.push(checks::unknown_type::found(word));
    }
    data
}

/// Settings that keys have, but not keys of this type.
fn report_settings_of_other_types(table: &Table<'_>, data: DataType, report: &mut Report) {
    for setting in settings_of(Scope::Key) {
        let Some(entry) = table.entry(setting.name) else { continue };
        if setting.types.is_empty() || setting.types.contains(&data) {
            continue;
        }
        report.push(match setting.name {
            "max_len" | "max_members" | "max_size" | "compress" => {
                bound_on_wrong_type::found(setting, data, entry.name_at)
            }
            "value" | "fields" | "extra" | "items" | "score" => {
                misplaced_shape::found(setting, data, entry.name_at)
            }
            _ => checks::derived_type::found(setting, data, entry.name_at),
        });
    }
}

/// Completes the drafts; `None` for each that has an error.
pub(super) fn finish(drafts: &[KeyDraft<'_>], report: &mut Report) -> Vec<Option<Key>> {
    let mirrors = Mirrors::of(drafts);
    let mut keys: Vec<_> =
        (0..drafts.len()).map(|index| finish_one(index, drafts, &mirrors, report)).collect();
    secrets::spread(&mut keys);
    keys
}

fn finish_one(
    index: usize,
    drafts: &[KeyDraft<'_>],
    mirrors: &Mirrors,
    report: &mut Report,
) -> Option<Key> {
    let draft = &drafts[index];
    let table = &draft.table;
    let lifetime = lifetime::read(draft, drafts, report);
    let derived = derived::read(index, drafts, mirrors, report);
    let bounds = read_bounds(table, report);
    let compress = table.size("compress", report).map(|size| size.value);
    let expect = table.count("expect", report).map(|count| count.value);
    let secret = secrets::read(draft, report);
    let mode = table.choice("mode", Mode::NAMES, Mode::named, report).map(|mode| mode.value);
    let max_fanout = table.count("max_fanout", report).map(|count| count.value);
    let doc = table.owned_text("doc", report);
    let group = table.owned_text("group", report);
    let is_kept = draft.is_derived() || mirrors.is_mirrored(index);
    let stays = is_kept || draft.is_related() || lifetime == Some(Lifetime::Forever);
    let evict = read_evict(draft, stays, report);
    let allowed = checks::read_allowances(table, report);
    if is_kept {
        derived_setting::check(draft, lifetime.as_ref(), report);
    }
    if derived.as_ref().is_some_and(Option::is_none)
        && !mirrors.is_mirrored(index)
        && let Some(entry) = table.entry("max_fanout")
    {
        report.push(misplaced_setting::not_derived("max_fanout", entry.name_at));
    }
    let example = example::read(draft, report);
    let (lifetime, derived) = (lifetime?, derived?);
    let mut content = complete_content(draft.content.as_ref()?, derived.as_ref(), drafts);
    if secret == Secret::Values {
        content.make_secret();
    }
    Some(Key {
        pattern: draft.pattern.clone()?,
        at: draft.at,
        doc,
        group,
        data: draft.data?,
        content,
        lifetime_at: table.entry("ttl").map_or(draft.at, |entry| entry.value.span().into()),
        lifetime,
        bounds: bounds?,
        evict: evict?,
        compress,
        expect,
        secret: secret == Secret::Values,
        secret_placeholders: match secret {
            Secret::Placeholders(named) => named,
            Secret::Values | Secret::Nothing => Vec::new(),
        },
        mode,
        derived,
        max_fanout: max_fanout.unwrap_or(DEFAULT_MAX_FANOUT),
        example: example?,
        allowed,
    })
}

/// `None` if a bound cannot be read: then it is not known to be unbounded.
fn read_bounds(table: &Table<'_>, report: &mut Report) -> Option<Bounds> {
    let errors_before = report.errors_total();
    let bounds = Bounds {
        max_len: table.count("max_len", report).map(|count| count.value),
        max_members: table.count("max_members", report).map(|count| count.value),
        max_size: table.size("max_size", report).map(|size| size.value),
    };
    (report.errors_total() == errors_before).then_some(bounds)
}

/// What is declared to live for ever, is derived, or follows others is not evicted;
/// anything else goes by its last use unless the schema says otherwise.
fn read_evict(draft: &KeyDraft<'_>, stays: bool, report: &mut Report) -> Option<Evict> {
    let default = if stays { Evict::Never } else { Evict::Lru };
    if draft.table.entry("evict").is_none() {
        return Some(default);
    }
    let evict = draft.table.choice("evict", Evict::NAMES, Evict::named, report)?;
    if stays && evict.value != Evict::Never {
        report.push(evict_contradiction::found(draft, evict));
        return None;
    }
    Some(evict.value)
}

/// A derived key's members look like the placeholder they come from, unless
/// the schema says more.
fn complete_content(
    draft: &ContentDraft,
    derived: Option<&Derived>,
    drafts: &[KeyDraft<'_>],
) -> Content {
    let content = draft.content.clone();
    let Some(derived) = derived.filter(|_| !draft.is_given) else { return content };
    let source = derived.source();
    let pattern = drafts[source.key.index()].pattern.as_ref();
    let member = source.member().zip(pattern);
    let Some((member, pattern)) = member else { return content };
    let shape = shape_of_kind(&pattern.placeholders()[member].kind);
    match content {
        Content::Value(_) => Content::Value(shape),
        Content::Items(_) => Content::Items(shape),
        Content::Scored { score, .. } => Content::Scored { member: shape, score },
        other => other,
    }
}
