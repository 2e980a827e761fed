//! What the log has of groups: XCLAIM and XGROUP, in the form in which Redis propagates
//! them, which gives the same state however often it is carried out.

use crate::engine::context::Ctx;
use keyward_store::values::stream::{Group, Pending, StreamId};
use keyward_store::values::text::Decimal;

/// An entry that came to belong to a consumer, or stopped being pending.
#[derive(Debug)]
pub(super) struct Claim {
    /// Its id, as it was written.
    pub(super) id: Box<[u8]>,
    consumer: Box<[u8]>,
    delivered_ms: i64,
    deliveries: u64,
    last_id: StreamId,
}

impl Claim {
    /// An entry of a group with what is known of it.
    pub(super) fn new(id: &[u8], pending: Pending, group: &Group) -> Claim {
        Claim {
            id: id.into(),
            consumer: group.consumer(pending.consumer).name().into(),
            delivered_ms: pending.delivered_ms,
            deliveries: pending.deliveries,
            last_id: group.last_id,
        }
    }
}

/// A group of a stream: its key and its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupName<'a> {
    pub(super) key: &'a [u8],
    pub(super) name: &'a [u8],
}

impl GroupName<'_> {
    /// Logs that an entry is pending, or was found gone.
    pub(super) fn log_claim(self, ctx: &mut Ctx<'_>, claim: &Claim) {
        let time = Decimal::of(claim.delivered_ms);
        let count = Decimal::of(claim.deliveries.cast_signed());
        let last_id = claim.last_id.text();
        ctx.log_instead([
            b"XCLAIM",
            self.key,
            self.name,
            &claim.consumer,
            b"0",
            &claim.id,
            b"TIME",
            time.as_bytes(),
            b"RETRYCOUNT",
            count.as_bytes(),
            b"FORCE",
            b"JUSTID",
            b"LASTID",
            last_id.as_bytes(),
        ]);
    }

    /// Logs how far a group has read. A count beyond what SETID takes, which ENTRIESADDED
    /// makes possible, becomes an unknown one: Redis logs a call that cannot be replayed.
    pub(super) fn log_progress(self, ctx: &mut Ctx<'_>, last_id: StreamId, read: Option<u64>) {
        let read = read.and_then(|count| i64::try_from(count).ok());
        let read = Decimal::of(read.unwrap_or(-1));
        let last_id = last_id.text();
        ctx.log_instead([
            b"XGROUP".as_slice(),
            b"SETID",
            self.key,
            self.name,
            last_id.as_bytes(),
            b"ENTRIESREAD",
            read.as_bytes(),
        ]);
    }

    /// Logs that a consumer came.
    pub(super) fn log_consumer(self, ctx: &mut Ctx<'_>, consumer: &[u8]) {
        ctx.log_instead([b"XGROUP".as_slice(), b"CREATECONSUMER", self.key, self.name, consumer]);
    }
}
