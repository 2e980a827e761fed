//! The changefeed: the key by which changes of rows that have a sink reach those who store them.
//!
//! A schema with a sink has it without declaring it: a stream, named by the keyspace, that no
//! other key may be.

use crate::checks::malformed_sink;
use crate::diagnostic::Report;
use crate::lifetime::Lifetime;
use crate::matcher::Matcher;
use crate::pattern::{Part, Pattern};
use crate::read::KeyDraft;
use crate::schema::{Bounds, Content, DEFAULT_MAX_FANOUT, DataType, Evict, Key, Keyspace};
use crate::sink::changefeed_key;

/// The key of a schema's changefeed; none where no key has a sink, or it cannot be told from
/// other keys, which is reported.
pub(super) fn of(
    keyspace: &Keyspace,
    drafts: &[KeyDraft<'_>],
    keys: &[Option<Key>],
    report: &mut Report,
) -> Option<Key> {
    let at = keys.iter().flatten().find_map(|key| key.sink.as_ref())?.at;
    let name = changefeed_key(&keyspace.name);
    let pattern = Pattern::of_parts([Part::Literal(name.as_str().into())]).ok();
    let is_told_apart = |own: &Pattern| {
        let others = drafts.iter().filter_map(|draft| draft.pattern.as_ref());
        Matcher::new(others.chain([own])).is_ok()
    };
    let pattern = pattern.filter(is_told_apart);
    let Some(pattern) = pattern else {
        report.push(malformed_sink::no_changefeed(&name, at));
        return None;
    };
    Some(Key {
        pattern,
        at,
        doc: Some("Changes on their way to PostgreSQL, which Keyward writes.".into()),
        group: None,
        owner: None,
        readers: None,
        writers: None,
        keyspace: 0,
        data: DataType::Stream,
        content: Content::Opaque,
        lifetime: Lifetime::Forever,
        lifetime_at: at,
        bounds: Bounds::default(),
        evict: Evict::Never,
        compress: None,
        expect: None,
        expect_items: None,
        secret: true,
        secret_placeholders: Vec::new(),
        personal: false,
        personal_placeholders: Vec::new(),
        mode: None,
        derived: None,
        max_fanout: DEFAULT_MAX_FANOUT,
        alerts: Vec::new(),
        sink: None,
        is_changefeed: true,
        example: None,
        allowed: Vec::new(),
    })
}
