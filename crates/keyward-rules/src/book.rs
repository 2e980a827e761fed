//! The book: a schema, compiled.
//!
//! Owns the schema, the matcher of its patterns, and for each table what hosts
//! and both stages ask most often. Invariants: nothing in it changes but whether
//! it enforces; a [`KeyId`] of its schema is valid everywhere.
//! Not here: judging (`before`, `after`), wording (`words`), what is left of a
//! schema where keys observe (`observing`).

use keyward_schema::{
    Binding, Content, DataType, Derived, Key, KeyId, Keyspace, Lifetime, Matcher, Mode, Pattern,
    Reference, Renew, Schema, Unknown, Values, changefeed_key,
};

use std::sync::atomic::{AtomicU8, Ordering};

use crate::derived::Links;
use crate::fit::at_once;
use crate::naming::values_of;
use crate::shown::Secrets;
use crate::suspended::{observing, suspend};
use crate::view::RowType;

/// What a schema demands of commands and of their effects.
#[derive(Debug)]
pub struct RuleBook {
    schema: Schema,
    matcher: Matcher,
    traits: Box<[Traits]>,
    links: Box<[Links]>,
    secrets: Secrets,
    /// What of each table's content is judged at once within a unit, where that is not all.
    at_once: Box<[Option<Content>]>,
    /// The tables of which something is judged at the end of a unit.
    judged_at_end: Box<[bool]>,
    /// The changefeed of each keyspace, and what goes by it; none where no key has a sink.
    changefeeds: Box<[(Box<[u8]>, FeedMarks)]>,
    /// Overrules what the schema says of modes, for each keyspace.
    modes: Box<[Overruling]>,
    /// If some keys observe: what the schema above is without.
    suspension: Option<Suspension>,
    /// Nothing is refused: it only tells what would be.
    is_hypothetical: bool,
}

/// What is suspended of a schema.
#[derive(Debug)]
pub(crate) struct Suspension {
    pub(crate) observes: Vec<bool>,
    pub(crate) is_suspended: Vec<bool>,
    pub(crate) declared: Box<RuleBook>,
}

/// What overrules the modes of a schema. Atomic, so that it can be set while another thread
/// compares the schema with one that may come.
#[derive(Debug, Default)]
struct Overruling(AtomicU8);

impl Overruling {
    const NOTHING: u8 = 0;
    const ENFORCE: u8 = 1;
    const WARN: u8 = 2;
    const OBSERVE: u8 = 3;

    fn set(&self, mode: Option<Mode>) {
        let code = match mode {
            None => Overruling::NOTHING,
            Some(Mode::Enforce) => Overruling::ENFORCE,
            Some(Mode::Warn) => Overruling::WARN,
            Some(Mode::Observe) => Overruling::OBSERVE,
        };
        // Only the thread that serves sets it and heeds it.
        self.0.store(code, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> Option<Mode> {
        match self.0.load(Ordering::Relaxed) {
            Overruling::ENFORCE => Some(Mode::Enforce),
            Overruling::WARN => Some(Mode::Warn),
            Overruling::OBSERVE => Some(Mode::Observe),
            _ => None,
        }
    }
}

/// What is to be known of a table.
#[derive(Clone, Debug)]
pub struct Traits {
    /// The only type its rows have; `None` for types that no command of the
    /// server makes, and where any will do.
    pub row_type: Option<RowType>,
    /// Whether its rows may be of any type.
    pub is_any: bool,
    /// Whether a field of its rows must equal a placeholder of their keys.
    pub has_same: bool,
    /// Whether fields of its hashes are compared with others, or with the key.
    pub is_compared: bool,
    /// Whether it matters what a string held before it was edited in place: it is derived or
    /// others are, or its content decides when it ends.
    pub heeds_text_before: bool,
    /// Whether a read renews the lifetime of a row; see [`RuleBook::renewal`].
    pub renews_on_read: bool,
    /// Where a read renews, how far apart the ends are that copies of its rows are given, in
    /// milliseconds; see [`RuleBook::rounded_end`].
    pub renewal_step_ms: Option<i64>,
    /// Whether its rows live, by way of others or at once, with rows that a read renews.
    pub follows_reads: bool,
    /// Whether Keyward alone decides what its rows hold: a lookup, a ranking, a
    /// set of members.
    pub is_computed: bool,
    /// The table that it is derived from, mirrors or follows. Due expiries there
    /// must be completed before one of its rows is read.
    pub source: Option<KeyId>,
    /// The tables that are derived from this one, mirror it or follow it.
    pub dependents: Box<[KeyId]>,
    /// The tables whose due expiries must be completed before one of its rows is
    /// read or written: those that it is derived from or mirrors, and itself if
    /// others are derived from it.
    pub due_first: Box<[KeyId]>,
    /// The table whose rows its own rows live with.
    pub leader: Option<KeyId>,
    /// The tables whose rows live with rows of this one.
    pub companions: Box<[KeyId]>,
    /// Whether its changes go to a table of PostgreSQL, or are on their way there in it.
    pub is_stored: bool,
}

impl Traits {
    fn of(schema: &Schema, id: KeyId) -> Traits {
        let key = schema.key(id);
        let those = |test: &dyn Fn(&Key) -> bool| -> Box<[KeyId]> {
            schema.ids().filter(|other| test(schema.key(*other))).collect()
        };
        let dependents = those(&|other| {
            other.derived.as_ref().is_some_and(|derived| derived.source().key == id)
        });
        let mirrors = dependents
            .iter()
            .filter(|other| matches!(schema.key(**other).derived, Some(Derived::Inverse { .. })));
        let source = key.derived.as_ref().map(|derived| derived.source().key);
        let own = (!dependents.is_empty() || source.is_some()).then_some(id);
        let mut due_first: Vec<KeyId> = mirrors.copied().chain(source).chain(own).collect();
        due_first.sort_unstable();
        due_first.dedup();
        due_first.retain(|other| may_expire(schema.key(*other)));
        Traits {
            row_type: row_type(key.data),
            is_any: key.data == DataType::Any,
            has_same: key.content.has_same(),
            is_compared: match &key.content {
                Content::Fields(object) => !object.checks.is_empty() || object.has_same(),
                _ => false,
            },
            heeds_text_before: source.is_some()
                || !dependents.is_empty()
                || crate::term::deciding_field(&key.lifetime).is_some(),
            renews_on_read: renewal_step_ms(key).is_some(),
            renewal_step_ms: renewal_step_ms(key),
            follows_reads: follows_reads(schema, key),
            is_computed: key.derived.as_ref().is_some_and(is_computed),
            source,
            dependents,
            due_first: due_first.into(),
            leader: leader(key).map(|leader| leader.key),
            companions: those(&|other| leader(other).is_some_and(|leader| leader.key == id)),
            is_stored: key.sink.is_some() || key.is_changefeed,
        }
    }

    /// Whether a row of this type may be one of its rows.
    pub(crate) fn takes(&self, row_type: RowType) -> bool {
        self.is_any || self.row_type == Some(row_type)
    }

    /// Whether other tables change with this one, or it with others: its rows
    /// are not judged by themselves alone.
    pub fn is_tied(&self) -> bool {
        self.source.is_some() || self.leads()
    }

    /// Whether something else changes with this one: other tables, or the changefeed.
    pub fn leads(&self) -> bool {
        !self.dependents.is_empty() || !self.companions.is_empty() || self.is_stored
    }
}

/// What goes by a changefeed to which tables: the same of two schemas that say the same of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedMarks {
    /// As the schema says.
    pub declared: u64,
    /// As it is carried out: of keys that observe nothing is told.
    pub active: u64,
}

impl RuleBook {
    /// The book of a schema.
    pub fn new(schema: Schema) -> RuleBook {
        RuleBook::overruled(schema, &[])
    }

    /// Whether the schema itself says of some of its keys that they only observe.
    pub fn is_told_to_observe(&self) -> bool {
        observing(self.declared(), &[]).contains(&true)
    }

    /// The book of a schema as if nothing in it observed.
    pub fn carried_out(schema: Schema) -> RuleBook {
        RuleBook::compiled(schema)
    }

    /// The book of a schema whose modes are overruled, for each keyspace of
    /// [`Schema::keyspaces`].
    pub fn overruled(schema: Schema, modes: &[Option<Mode>]) -> RuleBook {
        let observes = observing(&schema, modes);
        let mut book = if observes.contains(&true) {
            let (left, is_suspended) = suspend(&schema, modes, &observes);
            let mut declared = RuleBook::compiled(schema);
            declared.is_hypothetical = true;
            let mut book = RuleBook::compiled(left);
            for ((_, own), (_, declared)) in book.changefeeds.iter_mut().zip(&declared.changefeeds)
            {
                own.declared = declared.declared;
            }
            // What is secret stays so.
            book.secrets = Secrets::of(declared.schema());
            book.suspension =
                Some(Suspension { observes, is_suspended, declared: Box::new(declared) });
            book
        } else {
            RuleBook::compiled(schema)
        };
        book.overrule(modes);
        if let Some(Suspension { declared, .. }) = &mut book.suspension {
            declared.overrule(modes);
        }
        book
    }

    fn overrule(&mut self, modes: &[Option<Mode>]) {
        for (own, mode) in self.modes.iter().zip(modes) {
            own.set(*mode);
        }
    }

    pub(crate) fn compiled(schema: Schema) -> RuleBook {
        let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))
            .expect("a checked schema has patterns that a matcher can tell apart");
        let traits: Box<[Traits]> = schema.ids().map(|id| Traits::of(&schema, id)).collect();
        let links = Links::of(&schema);
        let secrets = Secrets::of(&schema);
        let modes = schema.keyspaces().map(|_| Overruling::default()).collect();
        let at_once: Box<[_]> = schema.keys.iter().map(|key| at_once(&key.content)).collect();
        let judged_at_end =
            |id: KeyId| at_once[id.index()].is_some() || is_tied_at_end(&schema, id, &traits);
        let judged_at_end = schema.ids().map(judged_at_end).collect();
        let (suspension, is_hypothetical) = (None, false);
        let feed = |(place, own): (usize, &Keyspace)| {
            let mark = schema.sink_mark(place);
            let marks = FeedMarks { declared: mark, active: mark };
            (changefeed_key(&own.name).into_bytes().into_boxed_slice(), marks)
        };
        let has_sinks = schema.keys.iter().any(|key| key.is_changefeed);
        let changefeeds = schema.keyspaces().enumerate().filter(|_| has_sinks).map(feed).collect();
        RuleBook {
            schema,
            matcher,
            traits,
            links,
            secrets,
            at_once,
            judged_at_end,
            changefeeds,
            modes,
            suspension,
            is_hypothetical,
        }
    }

    /// What is suspended of the schema, if anything is.
    #[inline]
    pub(crate) fn suspension(&self) -> Option<&Suspension> {
        self.suspension.as_ref()
    }

    /// The schema, as far as it is carried out.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The table that a key belongs to.
    #[inline]
    pub fn table_of(&self, key: &[u8]) -> Option<KeyId> {
        self.matcher.find(key).and_then(|found| self.schema.id(found.pattern))
    }

    /// What is to be known of a table.
    #[inline]
    pub fn traits(&self, table: KeyId) -> &Traits {
        &self.traits[table.index()]
    }

    /// Whether elements of rows of other tables leave with rows of this one: they follow it, are
    /// derived from it or mirror it.
    pub fn takes_along(&self, table: KeyId) -> bool {
        !self.traits(table).dependents.is_empty() || self.links(table).mirror.is_some()
    }

    /// Whether members of rows of this table follow rows of another.
    pub fn follows(&self, table: KeyId) -> bool {
        matches!(self.schema.key(table).derived, Some(Derived::Follows { .. }))
    }

    /// What of the schema is secret.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What of the content of a table is judged at once within a unit.
    pub(crate) fn content_at_once(&self, table: KeyId) -> &Content {
        self.at_once[table.index()].as_ref().unwrap_or(&self.schema.key(table).content)
    }

    /// Whether a command may leave something wrong with a row of this table, or with one that
    /// is kept from it, which the rest of its unit may mend.
    #[inline]
    pub fn is_judged_at_end(&self, table: KeyId) -> bool {
        let is_observed_so = |suspension: &Suspension| suspension.declared.is_judged_at_end(table);
        self.judged_at_end[table.index()] || self.suspension().is_some_and(is_observed_so)
    }

    /// Whether rows of any table go to tables of PostgreSQL.
    pub fn has_sinks(&self) -> bool {
        !self.changefeeds.is_empty()
    }

    /// The key of the changefeed of the keyspace that a table belongs to.
    pub(crate) fn changefeed_of(&self, table: KeyId) -> &[u8] {
        &self.changefeeds[self.schema.key(table).keyspace].0
    }

    /// The changefeeds, a keyspace's each, and what goes by them.
    pub fn changefeeds(&self) -> impl Iterator<Item = (&[u8], FeedMarks)> {
        self.changefeeds.iter().map(|(feed, marks)| (&**feed, *marks))
    }

    /// What goes by a changefeed, if it is one.
    pub fn feed_marks(&self, feed: &[u8]) -> Option<FeedMarks> {
        self.changefeeds().find_map(|(own, marks)| (own == feed).then_some(marks))
    }

    /// What is kept from the rows of a table.
    pub(crate) fn links(&self, table: KeyId) -> &Links {
        &self.links[table.index()]
    }

    /// The values of the placeholders of a key of that table.
    pub(crate) fn placeholders<'k>(&self, table: KeyId, key: &'k [u8]) -> Values<'k> {
        values_of(&self.schema.key(table).pattern, key)
    }

    /// Overrules the modes that the schema sets in the keyspace at this place of
    /// [`Schema::keyspaces`], or leaves it to them again.
    pub fn set_mode(&self, keyspace: usize, mode: Option<Mode>) {
        self.modes[keyspace].set(mode);
        if let Some(suspension) = &self.suspension {
            suspension.declared.set_mode(keyspace, mode);
        }
    }

    /// What overrules the modes that the schema sets in a keyspace.
    pub fn mode(&self, keyspace: usize) -> Option<Mode> {
        self.modes[keyspace].get()
    }

    /// The same of all keyspaces.
    pub fn modes(&self) -> Vec<Option<Mode>> {
        self.modes.iter().map(Overruling::get).collect()
    }

    /// What overrules the modes of a schema that takes the place of this one: the same in
    /// keyspaces of the same name, and where there is but one, in that.
    pub fn modes_for(&self, schema: &Schema) -> Vec<Option<Mode>> {
        let is_one = self.modes.len() == 1 && schema.keyspaces().count() == 1;
        let mode = |keyspace: &Keyspace| {
            let mut own = self.schema.keyspaces();
            let place = own.position(|own| is_one || own.name == keyspace.name);
            place.and_then(|place| self.mode(place))
        };
        schema.keyspaces().map(mode).collect()
    }

    /// Overrules modes as the book does that it takes the place of. Which keys observe was
    /// decided when the book was made.
    pub fn inherit_modes(&self, before: &RuleBook) {
        for (index, mode) in before.modes_for(&self.schema).into_iter().enumerate() {
            if mode != Some(Mode::Observe) && self.mode(index) != Some(Mode::Observe) {
                self.set_mode(index, mode);
            }
        }
    }

    /// Whether what breaks the schema of a keyspace is refused, rather than passed.
    pub(crate) fn is_strict_in(&self, keyspace: usize) -> bool {
        self.mode_in(keyspace) == Mode::Enforce && !self.is_hypothetical
    }

    /// The same; of the declared book, whether it would be if nothing observed.
    pub(crate) fn would_be_strict_in(&self, keyspace: usize) -> bool {
        match self.is_hypothetical {
            true => self.mode_in(keyspace) != Mode::Warn,
            false => self.is_strict_in(keyspace),
        }
    }

    /// What becomes of writes that break the schema in a keyspace, but for keys that have a mode
    /// of their own.
    pub fn mode_in(&self, keyspace: usize) -> Mode {
        self.mode(keyspace).unwrap_or(self.schema.keyspace_at(keyspace).mode)
    }

    /// Whether nobody carries it out: it is the declared one where something observes.
    pub(crate) fn is_hypothetical(&self) -> bool {
        self.is_hypothetical
    }

    /// Whether what breaks the schema is refused in this table, rather than
    /// passed with a warning.
    pub fn is_enforced(&self, table: KeyId) -> bool {
        if self.is_hypothetical || self.observes(table) {
            return false;
        }
        self.mode_of(table) == Mode::Enforce
    }

    /// The same; of the declared book, whether it would be refused if nothing observed.
    pub(crate) fn would_enforce(&self, table: KeyId) -> bool {
        match self.is_hypothetical {
            true => self.mode_of(table) != Mode::Warn,
            false => self.is_enforced(table),
        }
    }

    fn mode_of(&self, table: KeyId) -> Mode {
        let key = self.schema.key(table);
        let own = self.mode(key.keyspace).or(key.mode);
        own.unwrap_or_else(|| self.schema.keyspace_at(key.keyspace).mode)
    }

    /// What happens to a key that comes to be and belongs to no table: it may have been
    /// meant for any keyspace, so it is refused only where all of them refuse.
    pub fn unknown(&self) -> Unknown {
        self.unknown_where(|keyspace| self.is_strict_in(keyspace))
    }

    /// The same; of the declared book, what would happen if nothing observed.
    pub(crate) fn would_be_unknown(&self) -> Unknown {
        self.unknown_where(|keyspace| self.would_be_strict_in(keyspace))
    }

    fn unknown_where(&self, is_strict: impl Fn(usize) -> bool) -> Unknown {
        match self.schema.keyspace.unknown {
            Unknown::Reject if !(0..self.modes.len()).all(is_strict) => Unknown::Warn,
            unknown => unknown,
        }
    }

    /// The key that a key of a table refers to, with a member where the
    /// reference has one; none if it would be read as other values.
    pub fn referred(
        &self,
        table: KeyId,
        key: &[u8],
        to: &Reference,
        member: &[u8],
    ) -> Option<Vec<u8>> {
        let own = &self.schema.key(table).pattern;
        let value = |binding: &Binding| -> Vec<u8> {
            match binding {
                Binding::Bound(index) => placeholder(own, key, *index).to_vec(),
                Binding::Member => member.to_vec(),
                Binding::Literal(text) => text.as_bytes().to_vec(),
            }
        };
        let values: Vec<Vec<u8>> = to.bindings.iter().map(value).collect();
        self.schema.key(to.key).pattern.fill_readably(&values)
    }

    /// The key that a row lives with, if its table says so.
    pub fn leader(&self, table: KeyId, key: &[u8]) -> Option<Vec<u8>> {
        let leader = leader(self.schema.key(table))?;
        self.referred(table, key, leader, b"")
    }
}

/// The value of a placeholder in a key of that pattern.
pub(crate) fn placeholder<'k>(pattern: &Pattern, key: &'k [u8], index: usize) -> &'k [u8] {
    pattern.split(key).and_then(|values| values.get(index).copied()).unwrap_or_default()
}

/// The key that rows of a table live with, as their keys name it.
pub(crate) fn leader(key: &Key) -> Option<&Reference> {
    match &key.lifetime {
        Lifetime::With { key } => Some(key),
        _ => None,
    }
}

/// The ends that copies of a row are given while reads renew it lie so many to a lifetime.
const RENEWALS_TOLD: u64 = 16;

/// How far those lie apart; none where no read renews.
fn renewal_step_ms(key: &Key) -> Option<i64> {
    let shortest = match &key.lifetime {
        Lifetime::Renewed { after, renew: Renew::Access, .. } => after.as_ms(),
        Lifetime::By { cases, renew: Some(Renew::Access), .. } => {
            cases.iter().map(|(_, after)| after.as_ms()).min()?
        }
        _ => return None,
    };
    Some(i64::try_from(shortest / RENEWALS_TOLD).unwrap_or(i64::MAX).max(1))
}

/// Whether a row lives with one that a read renews, or with one that does so.
fn follows_reads(schema: &Schema, key: &Key) -> bool {
    let next = |key: &Key| leader(key).map(|leader| schema.key(leader.key));
    // A checked schema has no circle of them.
    let mut leaders = std::iter::successors(next(key), |key| next(key)).take(schema.keys.len());
    leaders.any(|leader| renewal_step_ms(leader).is_some())
}

/// Whether what ties the rows of a table to others is judged at the end of a unit: it lives with
/// another, follows others, is computed, or has unique values.
fn is_tied_at_end(schema: &Schema, id: KeyId, traits: &[Traits]) -> bool {
    let Traits { leader, is_computed, dependents, .. } = &traits[id.index()];
    let is_lookup = |id: &KeyId| matches!(schema.key(*id).derived, Some(Derived::Lookup { .. }));
    leader.is_some()
        || *is_computed
        || matches!(schema.key(id).derived, Some(Derived::Follows { .. }))
        || dependents.iter().any(is_lookup)
}

/// Whether rows can come to an end by themselves.
fn may_expire(key: &Key) -> bool {
    key.derived.is_none() && key.lifetime != Lifetime::Forever
}

fn is_computed(derived: &Derived) -> bool {
    match derived {
        Derived::Lookup { .. } | Derived::Rank { .. } | Derived::Members { .. } => true,
        Derived::Inverse { .. } | Derived::Follows { .. } => false,
    }
}

fn row_type(data: DataType) -> Option<RowType> {
    match data {
        DataType::String
        | DataType::Int
        | DataType::Float
        | DataType::Decimal
        | DataType::Flag
        | DataType::Json
        | DataType::Bytes
        | DataType::Hll => Some(RowType::String),
        DataType::Hash => Some(RowType::Hash),
        DataType::List => Some(RowType::List),
        DataType::Set => Some(RowType::Set),
        DataType::Zset => Some(RowType::Zset),
        DataType::Stream => Some(RowType::Stream),
        DataType::Any => None,
    }
}
