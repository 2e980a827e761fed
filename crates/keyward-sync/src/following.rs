//! Following a server: its changes are read, stored and trimmed, one batch after the other.
//!
//! Owns the loop, what ends it and how long it waits before it begins anew. Invariants: an
//! entry is trimmed only when it is stored; a batch ends where a unit does, since all entries
//! of a unit bear the same time, and holds what one history has; nothing here holds the server
//! up, which goes on whether or not anybody follows.

mod ahead;
pub(crate) mod batch;
mod reading;
mod replicas;

use std::time::{Duration, Instant};

use keyward_schema::{Matcher, Schema, Sink, SinkKind, changefeed_key};
use thiserror::Error;
use tokio_postgres::Client;

use crate::database::{Database, DatabaseError};
use crate::entry::EntryId;
use crate::history::{Course, Former, History, Place, Switch, UNCOUNTED, course};
use crate::inspection::Closeness;
use crate::mending::{self, Guard};
use crate::source::{Dial, Source, SourceError};
use crate::store::resending::Resent;
use crate::store::{self, StoreError, Stored};
use crate::{dropping, former_items, inspection, sight};
use ahead::Kept;
use reading::Reading;

/// The shortest and the longest pause before a new attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(30)];
/// How often rows are looked for that are older than their tables keep them.
const RETENTION_PERIOD: Duration = Duration::from_secs(3600);
/// How long a statement waits for a lock before it is told that it waits. And what is committed is
/// on the disk: the server forgets it then, whatever the database has as its default.
const SESSION: &str = "SET lock_timeout = '10s'; \
    SELECT set_config('synchronous_commit', 'on', false) \
    WHERE current_setting('synchronous_commit') = 'off'";

/// How long the database may take for something before it is told that it does.
const TOLD_AFTER: Duration = Duration::from_secs(10);

/// Who is told what happens.
pub type Tell = Box<dyn FnMut(&str) + Send>;

/// Why following ended.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The server could not be asked.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Changes could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database's tables are not those of the schema.
    #[error("the database is not as the schema wants it ({0}); see keyward sql --check")]
    Tables(String),
    /// The server has no changefeed, of which changes are stored.
    #[error(
        "the server has told of no change, and changes up to {0} are stored: it has lost them, or is another server"
    )]
    Nothing(EntryId),
    /// Other rows go to tables by the server's schema.
    #[error(
        "the server's schema has other sinks than this one (history {0}): store its changes with the schema that it serves"
    )]
    OtherSchema(String),
    /// Changes are neither on the server any longer nor here.
    #[error(
        "{}: what was told of rows and items of {tables} cannot be had from there, and nothing is stored; if that is known, say --accept: then what rows and lists still have is compared, and stored where it lacks",
        missing(*count, *behind)
    )]
    Missing {
        /// How many.
        count: u64,
        /// Behind which entry.
        behind: EntryId,
        /// The tables that are no mirrors.
        tables: String,
    },
    /// Not all rows of a table have come to the server yet.
    #[error(
        "{0}: keyward fill has begun to load it and has not ended: nothing is compared, since what was not loaded yet would be taken away; run keyward fill again to its end, or delete its row of keyward_loading"
    )]
    Loading(String),
    /// Comparing would change too much.
    #[error(
        "{table}: of its {rows} rows {altered} are otherwise on the server and {surplus} are not there, more than a hundredth or 1000: nothing is stored; if that is meant, say --accept"
    )]
    Guard {
        /// The table.
        table: Box<str>,
        /// How many rows it has.
        rows: u64,
        /// How many would be altered.
        altered: u64,
        /// How many would be taken away, as far as was counted.
        surplus: u64,
    },
}

impl From<DatabaseError> for FollowError {
    fn from(error: DatabaseError) -> FollowError {
        FollowError::Store(error.into())
    }
}

impl FollowError {
    /// Whether another attempt may succeed by itself.
    fn may_pass(&self) -> bool {
        match self {
            FollowError::Source(error) => error.may_pass(),
            FollowError::Store(StoreError::Database(
                DatabaseError::Address | DatabaseError::Setting(_),
            )) => false,
            FollowError::Store(_) | FollowError::Nothing(_) | FollowError::Loading(_) => true,
            FollowError::Tables(_)
            | FollowError::OtherSchema(_)
            | FollowError::Missing { .. }
            | FollowError::Guard { .. } => false,
        }
    }
}

/// That changes are missing.
fn missing(count: u64, behind: EntryId) -> String {
    let changes = if count == 1 { "change" } else { "changes" };
    format!(
        "{count} {changes} behind {behind} were taken off the server's changefeed and are not stored here (the database is an older one, another one stores the same changes, or somebody trimmed it)"
    )
}

/// What has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Entries that are stored.
    pub entries: u64,
    /// Rows that were stored for them.
    pub rows: u64,
    /// Items that the database refused.
    pub dead_letters: u64,
}

/// A server whose changes are stored.
pub struct Following {
    /// The schema whose sinks are filled.
    pub schema: Schema,
    /// Where its rows go.
    pub database: Database,
    /// How one comes to the server.
    pub dial: Dial,
    /// What the server wants to hear first: AUTH and the like.
    pub greeting: Vec<Vec<Vec<u8>>>,
    /// Whether it ends when nothing is left to store.
    pub is_once: bool,
    /// Whether a comparison may change more than a share of a table.
    pub guard: Guard,
    /// How many replicas have to have a change before it is stored.
    pub replicas: usize,
    /// Who is told what happens.
    pub tell: Tell,
    /// Whether dead letters are sent again first.
    pub resends: bool,
    /// Whether something went wrong since changes were stored last; not at first.
    pub has_failed: bool,
}

impl Following {
    /// Stores changes until there are none, or for ever.
    ///
    /// # Errors
    /// If something is wrong that does not pass by itself; also, where it is to end, whatever is
    /// wrong.
    pub async fn run(mut self) -> Result<Totals, FollowError> {
        let mut totals = Totals::default();
        let mut pause = PAUSES[0];
        let mut has_stored = false;
        loop {
            let before = totals;
            match self.follow(&mut totals).await {
                Ok(()) => return Ok(totals),
                // Tables that were once as they should be may be so again.
                Err(error)
                    if self.is_once
                        || !(error.may_pass()
                            || has_stored && matches!(error, FollowError::Tables(_))) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    // What went well for a while begins with a short pause again.
                    pause = if before == totals { pause } else { PAUSES[0] };
                    (self.tell)(&format!("{error}; once more in {} ms", pause.as_millis()));
                    self.has_failed = true;
                }
            }
            has_stored |= before != totals;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Connects to both sides and stores changes until one of them fails.
    async fn follow(&mut self, totals: &mut Totals) -> Result<(), FollowError> {
        let connecting = async {
            let client = self.database.connect().await?;
            client.batch_execute(SESSION).await.map_err(DatabaseError::from)?;
            Ok::<Client, FollowError>(client)
        };
        let mut client = watched(&mut self.tell, WAITING, connecting).await?;
        let inspecting = inspection::inspect(&client, &self.schema, &[], Closeness::Hindrances);
        let inspection = watched(&mut self.tell, WAITING, inspecting).await?;
        if !inspection.differences.is_empty() {
            return Err(FollowError::Tables(inspection.differences.join("; ")));
        }
        if self.resends {
            let resending = store::resending::resend(&mut client, &self.schema);
            let Resent { stored, refused } =
                watched(&mut self.tell, "sending dead letters again", resending).await?;
            let letters = if stored == 1 { "dead letter" } else { "dead letters" };
            (self.tell)(&format!(
                "{stored} {letters} sent again and stored, {refused} refused once more"
            ));
            self.resends = false;
        }
        let mut source = Source::connect(&self.dial, &self.greeting)?;
        let db = self.schema.keyspace.db.to_string();
        source.ask("SELECT", &[b"SELECT", db.as_bytes()])?;
        let matcher = Matcher::new(self.schema.keys.iter().map(|key| &key.pattern))
            .expect("a checked schema has patterns that a matcher can tell apart");
        let feed = changefeed_key(&self.schema.keyspace.name).into_bytes();
        let placing = store::place(&client, &self.schema.keyspace.name);
        let (place, former) = watched(&mut self.tell, WAITING, placing).await?;
        let reading = Reading::new(source, feed);
        let (held, is_apart) = (Vec::new(), false);
        let is_trimmed = false;
        let mut link = Link { client, reading, matcher, place, former, is_trimmed, held, is_apart };
        if !self.is_once {
            let place = link.place.entry;
            (self.tell)(&format!("connected to the database and the server, stored up to {place}"));
        }
        let mut retained: Option<Instant> = None;
        loop {
            let is_due = retained.is_none_or(|at| at.elapsed() > RETENTION_PERIOD);
            if is_due && link.place.highest != EntryId::default() {
                link.let_go(self).await?;
                retained = Some(Instant::now());
            }
            let before = *totals;
            let is_done = match link.go_on(self, totals).await {
                // Somebody else has stored, or has marked the place: what is there now counts.
                Err(FollowError::Store(StoreError::Moved)) => {
                    let keyspace = &self.schema.keyspace.name;
                    let placing = store::place(&link.client, keyspace);
                    (link.place, link.former) = watched(&mut self.tell, WAITING, placing).await?;
                    tokio::time::sleep(PAUSES[0]).await;
                    continue;
                }
                done => !done?,
            };
            if *totals != before && std::mem::take(&mut self.has_failed) {
                (self.tell)("changes are stored again");
            }
            if !is_done {
                continue;
            }
            if self.is_once {
                return link.let_go(self).await;
            }
            link.reading.wait(link.place.entry)?;
        }
    }
}

/// What is told of where the database takes long for something small.
const WAITING: &str = "waiting for the database";

/// Waits for the database, and tells that it takes long, and for what.
async fn watched<T>(tell: &mut Tell, what: &str, work: impl Future<Output = T>) -> T {
    let (mut work, began) = (std::pin::pin!(work), Instant::now());
    loop {
        match tokio::time::timeout(TOLD_AFTER, work.as_mut()).await {
            Ok(done) => return done,
            Err(_) => {
                let seconds = began.elapsed().as_secs();
                tell(&format!("{what}, for {seconds} seconds by now"));
            }
        }
    }
}

/// Tells that so many items were refused, if any were.
fn tell_refused(tell: &mut Tell, dead_letters: usize) {
    match dead_letters {
        0 => {}
        1 => tell("1 item was refused: see keyward_dead_letters"),
        many => tell(&format!("{many} items were refused: see keyward_dead_letters")),
    }
}

/// Both sides, and how far storing has come.
struct Link {
    client: Client,
    reading: Reading,
    matcher: Matcher,
    place: Place,
    former: Vec<Former>,
    /// Whether what was stored before is off the server: the last one may have ended before.
    is_trimmed: bool,
    /// What could not be let go the last time, and whether that was for the clocks.
    held: Vec<String>,
    is_apart: bool,
}

impl Link {
    /// Does what comes next; whether there was anything to do.
    async fn go_on(
        &mut self,
        own: &mut Following,
        totals: &mut Totals,
    ) -> Result<bool, FollowError> {
        let chain = self.reading.histories()?;
        let (at, end) = match course(&self.place, &chain, &self.former) {
            Course::Wait => return Ok(false),
            Course::Nothing => return Err(FollowError::Nothing(self.place.entry)),
            Course::Switch(switch) => {
                self.switch(own, &switch).await?;
                return Ok(true);
            }
            Course::Compare => {
                (own.tell)(
                    "the server lost changes of rows that are stored: mirrored rows are compared",
                );
                let keyspace = &own.schema.keyspace.name;
                let noting = store::note_doubt(&mut self.client, keyspace, &self.place);
                self.place = watched(&mut own.tell, WAITING, noting).await?;
                return Ok(true);
            }
            Course::Read(at, end) => (at, end),
        };
        check_sinks(&own.schema, &chain, at)?;
        if !self.is_trimmed {
            self.reading.trim(self.place.entry, &[])?;
            self.is_trimmed = true;
        }
        let taken_away = self.reading.taken_away()?;
        if self.place.number == UNCOUNTED {
            // What is stored is off the server, and nothing is known to be missing.
            let keyspace = &own.schema.keyspace.name;
            let counting = store::count(&mut self.client, keyspace, &self.place, taken_away);
            self.place = watched(&mut own.tell, WAITING, counting).await?;
            return Ok(true);
        }
        if taken_away > self.place.number {
            self.miss(own, taken_away).await?;
            return Ok(true);
        }
        if self.place.compares && end.is_none() {
            self.compare(own, totals).await?;
            return Ok(true);
        }
        let entries = self.reading.read(self.place.entry, end)?;
        // What was read while another history began may be of that.
        if self.reading.histories()? != chain {
            return Ok(true);
        }
        let taken_away = self.reading.taken_away()?;
        if taken_away > self.place.number {
            self.miss(own, taken_away).await?;
            return Ok(true);
        }
        if entries.is_empty() && end.is_none() {
            return Ok(false);
        }
        let Kept { place, entries, stored } = self.store(own, &entries, end).await?;
        let Stored { rows, dead_letters, by_key } = stored;
        tell_refused(&mut own.tell, dead_letters);
        self.place = place;
        totals.entries += entries as u64;
        totals.rows += rows as u64;
        totals.dead_letters += dead_letters as u64;
        let counts: Vec<(&str, usize, usize)> = by_key
            .iter()
            .map(|(key, (rows, refused))| (own.schema.keys[*key].pattern.text(), *rows, *refused))
            .collect();
        self.reading.trim(self.place.entry, &counts)?;
        Ok(true)
    }

    /// What is to be done where so many entries were taken away, which are more than are stored.
    async fn miss(&mut self, own: &mut Following, taken_away: u64) -> Result<(), FollowError> {
        let keyspace = &*own.schema.keyspace.name;
        let placing = store::place(&self.client, keyspace);
        let (place, former) = watched(&mut own.tell, WAITING, placing).await?;
        if place != self.place {
            // Somebody else has stored and trimmed them meanwhile.
            (self.place, self.former) = (place, former);
            return Ok(());
        }
        let (count, behind) = (taken_away - self.place.number, self.place.entry);
        let others =
            crate::ddl::sinks(&own.schema).filter(|(_, sink)| sink.kind != SinkKind::Mirror);
        let tables: Vec<&str> = others.map(|(_, sink)| &*sink.table).collect();
        if !tables.is_empty() && own.guard == Guard::Up {
            return Err(FollowError::Missing { count, behind, tables: tables.join(", ") });
        }
        (own.tell)(&format!("{}: what there is is compared", missing(count, behind)));
        let passed = store::pass_over(&mut self.client, &own.schema, &self.place, taken_away);
        self.place = watched(&mut own.tell, WAITING, passed).await?;
        Ok(())
    }

    /// Lets go what is older than it is kept: rows of tables, and items of lists. Partitions that
    /// will be needed are made meanwhile.
    async fn let_go(&mut self, own: &mut Following) -> Result<(), FollowError> {
        // Before what is kept for as long goes from the table, which drops only what is there.
        let source = self.reading.source();
        let dropping = dropping::drop_old(&self.client, &own.schema, &self.matcher, source);
        let dropped = watched(&mut own.tell, "dropping old items of lists", dropping).await?;
        if dropped > 0 {
            (own.tell)(&format!("{dropped} items that are stored were dropped from their lists"));
        }
        let has_times = |sink: &Sink| sink.retain.is_some() || sink.partitioned_by().is_some();
        if !crate::ddl::sinks(&own.schema).any(|(_, sink)| has_times(sink)) {
            return Ok(());
        }
        let now_ms = sight::time_ms(self.reading.source())?;
        let retaining = store::retain(&mut self.client, &own.schema, now_ms);
        let retained = watched(&mut own.tell, "deleting old rows of tables", retaining).await?;
        let making = store::make_ahead(&mut self.client, &own.schema, now_ms);
        let ahead = watched(&mut own.tell, "making partitions", making).await?;
        if let Some(line) = retained.line() {
            (own.tell)(&line);
        }
        // What it was the last time too is told once.
        let is_apart = retained.apart_ms > 0;
        let held: Vec<String> = retained.held.into_iter().chain(ahead).collect();
        for (at, line) in held.iter().enumerate() {
            let is_known = is_apart && self.is_apart && at == 0 || self.held.contains(line);
            if !is_known {
                (own.tell)(line);
            }
        }
        (self.held, self.is_apart) = (held, is_apart);
        let kept = crate::ddl::sinks(&own.schema).filter(|(_, sink)| sink.retain.is_some());
        let kept: Vec<&str> = kept.map(|(key, _)| key.pattern.text()).collect();
        self.reading.report_clocks(&kept, retained.apart_ms)?;
        Ok(())
    }

    /// Goes over to another history.
    async fn switch(&mut self, own: &mut Following, switch: &Switch) -> Result<(), FollowError> {
        let keyspace = own.schema.keyspace.name.clone();
        if switch.is_foreign {
            (own.tell)(&format!(
                "this is another server, or one that has lost all of its past: none of its histories is stored here. Its changes are stored from {} on, and mirrored rows are compared; see keyward_forks",
                switch.to.history
            ));
        } else if let Some((after, to)) = switch.lost {
            (own.tell)(&format!(
                "the server lost what came after {after}, of which the database has what came up to {to}: see keyward_forks"
            ));
        }
        let switching = async {
            store::switch(&mut self.client, &keyspace, &self.place, switch).await?;
            Ok::<_, FollowError>(store::place(&self.client, &keyspace).await?)
        };
        (self.place, self.former) = watched(&mut own.tell, WAITING, switching).await?;
        Ok(())
    }

    /// Compares mirrored rows, of which not all changes were told.
    async fn compare(
        &mut self,
        own: &mut Following,
        totals: &mut Totals,
    ) -> Result<(), FollowError> {
        let source = self.reading.source();
        let (schema, matcher) = (&own.schema, &self.matcher);
        let client = &mut self.client;
        let storing = former_items::store_former(client, schema, matcher, source, &self.place);
        let former = watched(&mut own.tell, "looking for items of lists", storing).await?;
        match former.rows {
            0 => {}
            1 => (own.tell)("1 item that was in a list before is stored"),
            rows => (own.tell)(&format!("{rows} items that were in lists before are stored")),
        }
        tell_refused(&mut own.tell, former.dead_letters);
        totals.rows += former.rows as u64;
        totals.dead_letters += former.dead_letters as u64;
        let mending = mending::mend(&mut self.client, &own.schema, source, &self.place, own.guard);
        let (mended, place) = watched(&mut own.tell, "comparing mirrored rows", mending).await?;
        if mended != mending::Mended::default() {
            let mending::Mended { stored, removed } = mended;
            (own.tell)(&format!(
                "mirrored rows were compared: {stored} stored, {removed} taken away or marked"
            ));
        }
        totals.rows += mended.stored;
        self.place = place;
        Ok(())
    }
}

/// Entries of sinks that the schema does not have are of a former one only if the server's is the
/// same by now; else they are for whoever knows them.
fn check_sinks(schema: &Schema, chain: &[History], at: usize) -> Result<(), FollowError> {
    let mark = schema.sink_mark(0);
    let is_known = |history: &History| history.declared == mark;
    match is_known(&chain[at]) || chain.last().is_some_and(is_known) {
        true => Ok(()),
        false => Err(FollowError::OtherSchema(chain[at].name.clone())),
    }
}
