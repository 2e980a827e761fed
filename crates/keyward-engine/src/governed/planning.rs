//! KEYWARD SCHEMA: the schema in force, and planning another one.
//!
//! Owns the plan that was made last. A plan is a survey of the rows as they are, and so
//! is applying it: what a plan says is what happens, unless rows change in between.
//!
//! Nobody waits while a plan is made but who asked for it: rows are met some at a
//! time, by ticks, and those that change are looked at again, until the plan is
//! applied or given up. What is told of a row is how it was when its turn came. Before that
//! the host reads and checks the text, elsewhere if it can (`proposal`).
//! Invariants: a plan is forgotten once any schema is planned, applied or reloaded, so a plan
//! always starts from the schema in force; there is one at a time.
//! KEYWARD MODE makes one too where it would begin or end observing.
//! Not here: putting it in force (`apply`), how rows are judged
//! (`keyward_rules::Survey`), meeting them (`survey`), the reply (`telling`).

use super::apply::apply;
use super::in_force::{book, keyspace, schema_at};
use super::plan::{Making, Plan, ROWS_PER_TICK, Reading};
use super::proposal::{Draft, Proposal, Sound};
use super::survey::Walk;
use super::telling::{Listener, Telling};
use crate::engine::context::{Ctx, Ending, Mode, Outcome};
use crate::engine::shared::Shared;
use crate::host::Host;
use keyward_commands::args::{self, Options};
use keyward_commands::{CommandId, WireError};
use keyward_resp::ArgBuf;
use keyward_rules::{Conclusion, Report};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{Keyspace, Surveyor};

/// A plan that nobody applies is given up after so long: until then every write is
/// looked at by its survey too.
const PLAN_MS: i64 = 60 * 60 * 1000;

/// What is kept of a text while its client waits: as much as the slow log shows.
const KEPT_TEXT_BYTES: usize = 128;

/// Texts that may still be read for clients that have gone while another one's waits for that.
const UNWANTED_DRAFTS_MAX: usize = 4;

const BUSY: WireError = WireError::Err("another schema is being planned; try again later");

pub(crate) const RELOADING: WireError =
    WireError::Err("the files of the schemas are being reloaded; try again later");

pub(crate) const VOID: WireError = WireError::Err(
    "the rows were emptied, swapped or loaded since this plan was begun; make another one",
);

impl Shared {
    /// Goes on with the plan, if there is one; returns who waits for it once it is done.
    pub(crate) fn go_on_planning(&mut self, keys: &mut Keyspace) -> Option<ClientId> {
        let mut plan = self.plan.take()?;
        let asker = plan.under_way.as_ref().map(|making| making.asker);
        let is_awaited = asker.is_some_and(|asker| self.awaits(asker));
        if asker.is_some() != is_awaited || plan.until_ms < keys.now_ms() {
            self.give_up(keys, plan);
            return None;
        }
        let is_done = plan.advance(keys, ROWS_PER_TICK);
        self.plan = Some(plan);
        asker.filter(|_| is_done)
    }

    /// Whether a client still waits for a schema to be planned or applied, or for keys to be
    /// looked through.
    pub(crate) fn awaits(&self, client: ClientId) -> bool {
        let blocked = self.sessions.get(client).and_then(|session| session.blocked.as_ref());
        let is_it = |id: CommandId| {
            use CommandId::{KeywardMode, KeywardSchema, KeywardUnknown};
            matches!(id, KeywardSchema | KeywardMode | KeywardUnknown)
        };
        blocked.is_some_and(|blocked| is_it(blocked.command.id))
    }

    /// Takes a text that the host has read for a client; whether that still waits for it.
    /// What nobody waits for is the host's to free.
    pub(crate) fn take_draft(&mut self, host: &mut dyn Host, draft: Draft) -> Option<ClientId> {
        // They come in the order in which they were asked for.
        let is_unwanted = self.unwanted_drafts > 0;
        self.unwanted_drafts = self.unwanted_drafts.saturating_sub(1);
        let asker = match is_unwanted {
            true => None,
            false => self.reading.take().map(|reading| reading.asker),
        };
        let Some(asker) = asker.filter(|asker| self.awaits(*asker)) else {
            host.discard(Box::new(draft));
            return None;
        };
        self.reading = Some(Reading { asker, draft: Some(draft) });
        Some(asker)
    }

    /// Whether the text of a plan may be read: one at a time, and not while files are
    /// reloaded or wait for that.
    pub(crate) fn may_propose(&self) -> Outcome {
        if self.reloading.is_some() {
            return Err(RELOADING);
        }
        let is_awaited = self.reading.as_ref().is_some_and(|reading| self.awaits(reading.asker));
        let is_full = self.reading.is_some() && self.unwanted_drafts >= UNWANTED_DRAFTS_MAX;
        if is_awaited || is_full { Err(BUSY) } else { self.may_plan() }
    }

    /// The host reads a text for a client. What it reads for one that has gone is not wanted.
    fn begin_reading(&mut self, asker: ClientId) {
        let before = self.reading.replace(Reading { asker, draft: None });
        self.unwanted_drafts += usize::from(before.is_some_and(|before| before.draft.is_none()));
    }

    /// Whether a plan may be begun: one at a time, and not while a schema is applied. A
    /// reload that came while the text was read waits for the plan.
    pub(crate) fn may_plan(&self) -> Outcome {
        if self.changeover.is_some() {
            return Err(WireError::Err("another schema is being applied; try again later"));
        }
        let making = self.plan.as_ref().and_then(|plan| plan.under_way.as_ref());
        if making.is_some_and(|making| self.awaits(making.asker)) { Err(BUSY) } else { Ok(()) }
    }

    /// Nobody wants a plan any more.
    pub(crate) fn give_up(&mut self, keys: &mut Keyspace, plan: Plan) {
        keys.end_survey(Surveyor::Plan);
        self.remains.survey(plan.survey);
        self.remains.book(plan.book);
        if let Some(making) = plan.under_way {
            let concluded = making.conclusion.map(Conclusion::into_report);
            self.remains.reports.extend(making.report.map(|(report, _)| report).or(concluded));
        }
    }
}

pub(crate) fn schema(ctx: &mut Ctx<'_>) -> Outcome {
    let mut options = Options::new(ctx.args, 2);
    match options.next() {
        None => show(ctx, None),
        Some(word) if args::is(word, "HELP") && options.left() == 0 => {
            help(ctx);
            Ok(())
        }
        Some(word) if args::is(word, "SHOW") && options.left() <= 1 => show(ctx, options.next()),
        Some(word)
            if ctx.shared.primary.is_some()
                && (args::is(word, "PLAN") || args::is(word, "APPLY")) =>
        {
            Err(WireError::ReadOnlyReplica)
        }
        Some(word) if args::is(word, "PLAN") && matches!(options.left(), 1 | 2) => plan(ctx),
        Some(word) if args::is(word, "APPLY") && options.left() > 0 => apply(ctx),
        Some(_) => Err(WireError::Syntax),
    }
}

fn help(ctx: &mut Ctx<'_>) {
    let lines = [
        "[SHOW [<keyspace>]]",
        "    Return the text of the schema. Where keyspaces share the database, one of them",
        "    is named.",
        "PLAN [<keyspace>] <text>",
        "    Tell how the schema differs from this one, and what would become of the rows.",
        "APPLY <plan> [DESTROY <count>]",
        "    Put the planned schema in force. What a plan destroys must be said. The schema's",
        "    file is not written: a start with that file goes on with the applied schema.",
    ];
    ctx.reply_help_of("KEYWARD SCHEMA", &lines);
}

fn show(ctx: &mut Ctx<'_>, name: Option<&[u8]>) -> Outcome {
    let book = book(ctx)?;
    let schema = schema_at(&book, keyspace(&book, name)?);
    ctx.reply.bulk(schema.source.whole_text().as_bytes());
    Ok(())
}

fn plan(ctx: &mut Ctx<'_>) -> Outcome {
    let proposal = match ctx.mode {
        Mode::Woken(_) => None,
        _ => {
            check_may_propose(ctx)?;
            let (name, text) = match ctx.args.get(4) {
                Some(text) => (Some(ctx.args.at(3)), text),
                None => (None, ctx.args.at(3)),
            };
            let keyspace = match ctx.keys.book_of(ctx.db) {
                Some(book) => keyspace(book, name)?,
                None if name.is_none() => 0,
                None => return Err(WireError::Err("this database has no schema")),
            };
            Some(Proposal::new(ctx.keys, (ctx.db, keyspace), text))
        }
    };
    if let Some((report, telling)) = make(ctx, proposal)? {
        ctx.reply.append(telling.into_bytes());
        ctx.shared.remains.report(report);
    }
    Ok(())
}

/// Refuses what may not be planned now, or not here.
pub(crate) fn check_may_propose(ctx: &Ctx<'_>) -> Outcome {
    if ctx.must_not_wait() {
        let text = "a schema cannot be planned inside a transaction or a script";
        return Err(WireError::Err(text));
    }
    ctx.shared.may_propose()
}

/// Has a plan made of a proposal, or goes on with that for who was woken; what it says once it
/// is made. Until then the client waits.
pub(crate) fn make(
    ctx: &mut Ctx<'_>,
    proposal: Option<Proposal>,
) -> Result<Option<(Report, Telling)>, WireError> {
    match proposal {
        None => {
            let read = ctx.shared.reading.take_if(|reading| reading.asker == ctx.session.id);
            if let Some(draft) = read.and_then(|reading| reading.draft) {
                begin(ctx, draft)?;
            }
        }
        Some(proposal) => match ctx.host.read_schema(proposal) {
            Some(proposal) => begin(ctx, proposal.read())?,
            None => {
                ctx.shared.begin_reading(ctx.session.id);
                go_on_waiting(ctx);
                return Ok(None);
            }
        },
    }
    let Some(mut plan) = ctx.shared.plan.take() else { return Err(VOID) };
    if !plan.advance(ctx.keys, ROWS_PER_TICK) {
        ctx.shared.plan = Some(plan);
        go_on_waiting(ctx);
        return Ok(None);
    }
    if !ctx.keys.bring_up_to_date((plan.db, Surveyor::Plan), &mut plan.survey, &plan.book) {
        ctx.shared.give_up(ctx.keys, plan);
        return Err(VOID);
    }
    let report = plan.under_way.take().and_then(|making| making.report);
    ctx.shared.plan = Some(plan);
    Ok(Some(report.expect("it is all concluded and written")))
}

/// Has the client wait, with the beginning of its text.
fn go_on_waiting(ctx: &mut Ctx<'_>) {
    if matches!(ctx.mode, Mode::Woken(_)) {
        ctx.ending = Ending::Waiting;
        return;
    }
    let kept = |word: &[u8]| word[..word.len().min(KEPT_TEXT_BYTES)].to_vec();
    let args: ArgBuf = ctx.args.iter().map(kept).collect();
    ctx.block_in_vain_in(args, 0);
}

/// Refuses a text that says another database than its keyspace is in.
fn check_stays(ctx: &Ctx<'_>, draft: &Draft) -> Outcome {
    let book = ctx.keys.book_of(draft.db());
    let now = book.map_or(vec![draft.db()], |book| {
        book.schema().keyspaces().map(|keyspace| usize::from(keyspace.db)).collect()
    });
    // The first schema of a database may leave open which one that is.
    let is_open = |named: usize| book.is_none() && named == 0;
    let mut all = draft.dbs_named().into_iter().zip(now);
    match all.find(|(named, now)| named != now && !is_open(*named)) {
        None => Ok(()),
        Some((named, now)) => {
            let text = format!(
                "SCHEMA the text is for database {named} (db), and this keyspace is in {now}: no \
                 schema moves rows to another database"
            );
            Err(WireError::Line(text.into_bytes().into()))
        }
    }
}

/// Begins to plan the schema of a text that was read.
fn begin(ctx: &mut Ctx<'_>, draft: Draft) -> Outcome {
    // Others may have been faster while it was read.
    ctx.shared.may_plan()?;
    if !draft.is_current(ctx.keys) {
        ctx.host.discard(Box::new(draft));
        let text = "another schema came into force while this one was read; make another plan";
        return Err(WireError::Err(text));
    }
    let db = draft.db();
    check_stays(ctx, &draft)?;
    let sound = draft.into_sound(ctx.keys).map_err(|unsound| unsound.into_refusal(ctx.host))?;
    let Sound { book, survey, changes, is_of_modes, keyspace } = *sound;
    ctx.keys.look_at_suspects();
    if let Some(plan) = ctx.shared.plan.take() {
        ctx.shared.give_up(ctx.keys, plan);
    }
    let making = Making {
        asker: ctx.session.id,
        listener: Listener { protocol: ctx.reply.protocol(), reads_all: ctx.may_read_all() },
        changes,
        walk: Walk::default(),
        conclusion: None,
        report: None,
    };
    let until_ms = ctx.keys.now_ms().saturating_add(PLAN_MS);
    let (id, kinds, under_way) = (Box::default(), Vec::new(), Some(making));
    ctx.shared.plan =
        Some(Plan { id, kinds, db, book, survey, under_way, is_of_modes, keyspace, until_ms });
    ctx.keys.begin_survey(db, Surveyor::Plan);
    Ok(())
}
