//! KEYWARD MODE: what overrules the modes of a schema.
//!
//! Whether what breaks the schema is refused is switched at once. Whether a keyspace observes
//! is not: lifetimes, bounds and derived keys come and go with that, so a plan is made as
//! KEYWARD SCHEMA PLAN makes it, and applied at once if no row changes by it. Otherwise its
//! name is told, and KEYWARD SCHEMA APPLY is the way.

use crate::engine::context::{Ctx, Mode as RunMode, Outcome};
use crate::governed::announcement;
use crate::governed::apply::{begin_plan, go_on};
use crate::governed::in_force::{book, keyspace};
use crate::governed::planning::{check_may_propose, make};
use crate::governed::proposal::Proposal;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_rules::RuleBook;
use keyward_schema::Mode;

pub(crate) fn mode(ctx: &mut Ctx<'_>) -> Outcome {
    if matches!(ctx.mode, RunMode::Woken(_)) {
        return go_on_switching(ctx, None);
    }
    let book = book(ctx)?;
    let mut options = Options::new(ctx.args, 2);
    let Some(word) = options.next() else {
        tell_modes(ctx, &book);
        return Ok(());
    };
    if ctx.shared.primary.is_some() {
        return Err(WireError::ReadOnlyReplica);
    }
    let named = |mode: &Mode| args::is(word, mode.name());
    let mode = match [Mode::Enforce, Mode::Warn, Mode::Observe].into_iter().find(named) {
        Some(mode) => Some(mode),
        None if args::is(word, "SCHEMA") => None,
        None => return Err(WireError::Syntax),
    };
    let name = options.next();
    if options.left() > 0 {
        return Err(WireError::Syntax);
    }
    let keyspace = keyspace(&book, name)?;
    if book.observes_the_same(keyspace, mode) {
        drop(book);
        ctx.keys.set_schema_mode(ctx.db, keyspace, mode);
        ctx.reply.ok();
        return Ok(());
    }
    let mut modes = book.modes();
    modes[keyspace] = mode;
    drop(book);
    check_may_propose(ctx)?;
    if ctx.shared.is_loading {
        return Err(WireError::Err("a mode cannot be changed while rows are loaded"));
    }
    if ctx.shared.pause.is_some() {
        return Err(WireError::Err("a mode cannot be changed while clients are paused"));
    }
    let proposal = Proposal::of_modes(ctx.keys, ctx.db, modes);
    go_on_switching(ctx, Some(proposal))
}

/// Goes on with the plan of other modes, and puts it in force if no row changes by it.
fn go_on_switching(ctx: &mut Ctx<'_>, proposal: Option<Proposal>) -> Outcome {
    if ctx.shared.changeover.as_ref().is_none_or(|it| it.asker != ctx.session.id) {
        let Some((report, _)) = make(ctx, proposal)? else { return Ok(()) };
        let book = ctx.shared.plan.as_ref().map(|plan| &plan.book);
        let changes =
            book.map_or(Vec::new(), |book| announcement::changes_by_pattern(book, &report));
        let destroyed = report.destroyed();
        ctx.shared.remains.report(report);
        if !changes.is_empty() {
            let changes = changes.join("; ");
            let id = ctx.shared.plan.as_ref().map_or(&[][..], |plan| &plan.id);
            let id = String::from_utf8_lossy(id);
            let destroy = match destroyed {
                0 => String::new(),
                count => format!(" DESTROY {count}"),
            };
            let text = format!(
                "SCHEMA this mode would change rows: {changes}; if that is meant, say KEYWARD \
                 SCHEMA APPLY {id}{destroy}"
            );
            return Err(WireError::Line(text.into_bytes().into()));
        }
        let plan = ctx.shared.plan.take().expect("it was just made");
        begin_plan(ctx, plan, 0);
    }
    if go_on(ctx)?.is_some() {
        ctx.reply.ok();
    }
    Ok(())
}

/// What overrules the modes of the schema: of the only keyspace, or of each by name.
fn tell_modes(ctx: &mut Ctx<'_>, book: &RuleBook) {
    let word = |keyspace: usize| book.mode(keyspace).map_or("schema", Mode::name);
    if book.schema().parts.is_empty() {
        return ctx.reply.bulk(word(0).as_bytes());
    }
    ctx.reply.map(book.schema().parts.len());
    for (index, keyspace) in book.schema().keyspaces().enumerate() {
        ctx.reply.bulk(keyspace.name.as_bytes());
        ctx.reply.bulk(word(index).as_bytes());
    }
}
