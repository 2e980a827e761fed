//! The server's rows, as the rule book sees them.
//!
//! Owns the view of one database for one question to the book: keys are opened as they are asked
//! for, without a trace, and closed with the view.
//! Invariants: a row whose time is over is not shown, and that is so when the server says it: in the
//! millisecond of its deadline a row is still there; no view lives while a command runs.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use keyward_rules::{Element, EntryFields, NotYet, Row, RowType, RuleBook, View};

use crate::api::{Ctx, Key, Kind, Run};

/// How many chains of opened rows there are.
const CHAINS: usize = 64;

/// The rows of a database as they are now.
pub(crate) struct Live<'c> {
    ctx: Ctx<'c>,
    book: &'c RuleBook,
    now_ms: i64,
    opened: Vec<OnceCell<Box<Opened<'c>>>>,
}

/// A key that was asked for, and the next one of its chain.
struct Opened<'c> {
    name: Box<[u8]>,
    row: Option<LiveRow<'c>>,
    next: OnceCell<Box<Opened<'c>>>,
}

/// A living row.
struct LiveRow<'c> {
    ctx: Ctx<'c>,
    key: Key<'c>,
    name: Box<[u8]>,
}

impl<'c> Live<'c> {
    pub(crate) fn new(ctx: Ctx<'c>, book: &'c RuleBook) -> Live<'c> {
        let opened = std::iter::repeat_with(OnceCell::new).take(CHAINS).collect();
        Live { ctx, book, now_ms: Ctx::now_ms(), opened }
    }

    fn open(&self, name: &[u8]) -> Option<LiveRow<'c>> {
        let key = self.ctx.look(name)?;
        (!is_over(key.deadline(), self.now_ms)).then(|| LiveRow {
            ctx: self.ctx,
            key,
            name: name.into(),
        })
    }

    /// The row of a key, opened once.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&dyn Row> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let chain = usize::try_from(hasher.finish() % CHAINS as u64).unwrap_or(0);
        let mut place = &self.opened[chain];
        loop {
            let opened = place.get_or_init(|| {
                Box::new(Opened { name: name.into(), row: self.open(name), next: OnceCell::new() })
            });
            if *opened.name == *name {
                return opened.row.as_ref().map(|row| row as &dyn Row);
            }
            place = &opened.next;
        }
    }
}

impl View for Live<'_> {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn row(&self, key: &[u8]) -> Result<Option<&dyn Row>, NotYet> {
        Ok(self.find(key))
    }

    fn glance(&self, key: &[u8], visit: &mut dyn FnMut(Option<&dyn Row>)) -> Result<(), NotYet> {
        let row = self.open(key);
        visit(row.as_ref().map(|row| row as &dyn Row));
        Ok(())
    }

    /// Their keys are made of the leader's own: schemas of which that is not true are not loaded.
    fn each_companion(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet> {
        for companion in self.book.named_companions(key) {
            if self.open(&companion).is_some() {
                visit(&companion);
            }
        }
        Ok(())
    }

    fn is_due(&self, key: &[u8]) -> bool {
        is_over(self.ctx.look(key).and_then(|key| key.deadline()), self.now_ms)
    }
}

/// Whether the server takes a row with this deadline for one that is gone.
pub(crate) fn is_over(deadline: Option<i64>, now_ms: i64) -> bool {
    deadline.is_some_and(|deadline| deadline < now_ms)
}

impl LiveRow<'_> {
    fn entries(&self, visit: &mut dyn FnMut(Element<'_>)) {
        let words: [&[u8]; 4] = [b"XRANGE", &self.name, b"-", b"+"];
        let reply = self.ctx.call(Run::Read, words.into_iter());
        for entry in reply.elements() {
            let mut texts = Vec::new();
            for fields in entry.elements().skip(1) {
                let mut each = fields.elements();
                texts.extend(each.by_ref().map(|text| text.bytes().unwrap_or_default().to_vec()));
            }
            let mut bytes = Vec::new();
            EntryFields::write(&mut bytes, texts.iter().map(|text| &text[..]));
            visit(Element::Entry(EntryFields::of(&bytes)));
        }
    }
}

/// The type of a row. What is of another module's type is shown as a stream without entries: no
/// pattern takes that for one of its own.
pub(crate) fn row_type(kind: Kind) -> RowType {
    match kind {
        Kind::Text => RowType::String,
        Kind::List => RowType::List,
        Kind::Hash => RowType::Hash,
        Kind::Set => RowType::Set,
        Kind::Zset => RowType::Zset,
        Kind::Stream | Kind::Other => RowType::Stream,
    }
}

/// Visits the elements of an opened key that is no stream.
pub(crate) fn each_element(key: &Key<'_>, visit: &mut dyn FnMut(Element<'_>)) {
    let kind = key.kind();
    key.each(&mut |first, second| match kind {
        Kind::Hash => visit(Element::Field(first, second)),
        Kind::Set => visit(Element::Member(first)),
        Kind::Zset => {
            let score = std::str::from_utf8(second).ok().and_then(|text| text.parse().ok());
            visit(Element::Scored(first, score.unwrap_or(0.0)));
        }
        Kind::List => visit(Element::Item(first)),
        Kind::Text | Kind::Stream | Kind::Other => {}
    });
}

impl Row for LiveRow<'_> {
    fn row_type(&self) -> RowType {
        row_type(self.key.kind())
    }

    fn deadline(&self) -> Option<i64> {
        self.key.deadline()
    }

    fn len(&self) -> usize {
        self.key.len()
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        self.key.text().map(Cow::Owned)
    }

    fn field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.key.field(name).map(Cow::Owned)
    }

    fn contains(&self, member: &[u8]) -> bool {
        match self.key.kind() {
            Kind::Set => {
                let words: [&[u8]; 3] = [b"SISMEMBER", &self.name, member];
                self.ctx.call(Run::Read, words.into_iter()).integer() == Some(1)
            }
            Kind::Zset => self.key.score(member).is_some(),
            Kind::List => {
                let mut found = false;
                self.key.each(&mut |item, _| found |= item == member);
                found
            }
            Kind::Text | Kind::Hash | Kind::Stream | Kind::Other => false,
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        self.key.score(member)
    }

    fn each(&self, visit: &mut dyn FnMut(Element<'_>)) {
        match self.key.kind() {
            Kind::Stream => self.entries(visit),
            _ => each_element(&self.key, visit),
        }
    }
}
