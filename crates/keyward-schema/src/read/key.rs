//! Keys, completed by what they say of each other.
//!
//! Not here: what a key says by itself (`draft`).

use super::content::ContentDraft;
use super::draft::KeyDraft;
use super::mirrors::Mirrors;
use super::secrets;
use super::table::Table;
use super::{Watched, alert, derived, example, expect, lifetime, sink, users};
use crate::checks::{self, derived_setting, evict_contradiction, misplaced_setting};
use crate::derived::{Derived, Finds};
use crate::diagnostic::Report;
use crate::lifetime::Lifetime;
use crate::schema::{Bounds, Content, DEFAULT_MAX_FANOUT, Evict, Key, Mode, shape_of_kind};
use crate::shape::Shape;

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
    let (expect, expect_items) = expect::read(draft, report);
    let (secret, secret_placeholders) = secrets::read(draft, "secret", report).into_parts();
    let (personal, personal_placeholders) = secrets::read(draft, "personal", report).into_parts();
    let mode = table.choice("mode", Mode::NAMES, Mode::named, report).map(|mode| mode.value);
    let max_fanout = table.count("max_fanout", report).map(|count| count.value);
    let doc = table.owned_text("doc", report);
    let group = table.owned_text("group", report);
    let owner = table.owned_text("owner", report);
    let readers = users::read(table, "readers", report);
    let writers = users::read(table, "writers", report);
    let is_kept = draft.is_derived() || mirrors.is_mirrored(index);
    let is_stored = sink::is_of_rows(draft);
    let stays = is_kept || draft.is_related() || is_stored || lifetime == Some(Lifetime::Forever);
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
    let alerts = alert::read(table, Watched::Key { expect }, report);
    let example = example::read(draft, bounds, report);
    let sink = sink::read(draft, is_kept, (secret, &secret_placeholders), report);
    let (lifetime, derived) = (lifetime?, derived?);
    let mut content = complete_content(draft.content.as_ref()?, derived.as_ref(), drafts);
    if secret {
        content.make_secret();
    }
    Some(Key {
        pattern: draft.pattern.clone()?,
        at: draft.at,
        doc,
        group,
        owner,
        readers,
        writers,
        keyspace: 0,
        data: draft.data?,
        content,
        lifetime_at: table.entry("ttl").map_or(draft.at, |entry| entry.value.span().into()),
        lifetime,
        bounds: bounds?,
        evict: evict?,
        compress,
        expect,
        expect_items,
        secret,
        secret_placeholders,
        personal,
        personal_placeholders,
        mode,
        derived,
        max_fanout: max_fanout.unwrap_or(DEFAULT_MAX_FANOUT),
        alerts: alerts?,
        sink: sink?,
        is_changefeed: false,
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

/// A derived key's members look like the placeholder or the field they come from, unless
/// the schema says more.
fn complete_content(
    draft: &ContentDraft,
    derived: Option<&Derived>,
    drafts: &[KeyDraft<'_>],
) -> Content {
    let content = draft.content.clone();
    let Some(derived) = derived.filter(|_| !draft.is_given) else { return content };
    let source = derived.source();
    if let Derived::Lookup { finds: Finds::Field(index), .. } = derived {
        let field = drafts[source.key.index()].object().map(|object| &object.fields[*index]);
        return field.map_or(content, |field| {
            Content::Value(Shape { nullable: false, ..field.shape.clone() })
        });
    }
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
