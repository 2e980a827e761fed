//! `keyward.schema`: the text in force, plans of another one, and putting it in force.
//!
//! Owns the replies. Not here: making and applying a plan (`plan`).

use keyward_commands::args;
use keyward_rules::RuleBook;

use super::{send_lines, wrong_arity};
use crate::api::Ctx;
use crate::entries::Keyward;
use crate::plan::{self, FIGURES, Plan};
use crate::schemas;
use crate::state::State;

/// `keyward.schema SHOW | PLAN | APPLY plan [DESTROY count]`
pub(super) fn schema(ctx: Ctx<'_>, state: &State, words: &[&[u8]]) -> Result<(), String> {
    let [word, rest @ ..] = words else { return Err(wrong_arity("keyward.schema")) };
    if args::is(word, "SHOW") && rest.is_empty() {
        return show(ctx, state);
    }
    // What changes the schema is for those who may change its mode.
    if !ctx.may_run_plainly(b"keyward.mode") {
        let user = ctx.user();
        return Err(format!(
            "NOPERM User {user} has no permissions to run the 'keyward.mode' command"
        ));
    }
    match rest {
        [] if args::is(word, "PLAN") => begin(ctx, state),
        [name] if args::is(word, "APPLY") => apply(ctx, state, name, 0),
        [name, destroy, count] if args::is(word, "APPLY") && args::is(destroy, "DESTROY") => {
            let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok());
            apply(ctx, state, name, count.ok_or("ERR value is not an integer or out of range")?)
        }
        _ => Err("ERR keyward.schema takes SHOW, PLAN or APPLY plan [DESTROY count]".to_owned()),
    }
}

fn show(ctx: Ctx<'_>, state: &State) -> Result<(), String> {
    let Some(book) = state.book(ctx.db()) else {
        return Err("ERR this database has no schema".to_owned());
    };
    ctx.send_bytes(book.declared().source.whole_text().as_bytes());
    Ok(())
}

/// Reads the files anew, and has the client wait for the plan.
fn begin(ctx: Ctx<'_>, state: &State) -> Result<(), String> {
    let db = ctx.db();
    if state.is_plan_begun() {
        return Err("ERR another plan is being made".to_owned());
    }
    if ctx.denies_waiting() {
        return Err("ERR a plan is waited for, which nobody can here".to_owned());
    }
    let books = schemas::books(&state.files, state.is_cluster);
    let mut books = books.map_err(|findings| format!("ERR {}", findings.join("; ")))?;
    let Some(book) = books.remove(&db) else {
        return Err("ERR no file has a schema for this database".to_owned());
    };
    start(ctx, state, db, book);
    Ok(())
}

fn start(ctx: Ctx<'_>, state: &State, db: usize, book: RuleBook) {
    let plan = Plan::begin(state, db, book, ctx.wait::<Keyward>());
    state.begin_plan(plan);
    ctx.start_timer::<Keyward>();
}

fn apply(ctx: Ctx<'_>, state: &State, name: &[u8], most: u64) -> Result<(), String> {
    plan::apply(ctx, state, name, most)?;
    ctx.send_text(c"OK");
    Ok(())
}

/// Tells who waited what the plan says.
pub(crate) fn tell_plan(ctx: Ctx<'_>, state: &State) {
    let is_told = state.with_plan(|plan| {
        let Some(told) = plan.and_then(|plan| plan.told.as_ref()) else { return false };
        ctx.send_array(8);
        ctx.send_bytes(b"plan");
        ctx.send_bytes(told.name.as_bytes());
        ctx.send_bytes(b"changes");
        send_lines(ctx, &told.changes);
        ctx.send_bytes(b"destroys");
        ctx.send_integer(i64::try_from(told.destroys).unwrap_or(i64::MAX));
        ctx.send_bytes(b"patterns");
        ctx.send_array(told.patterns.len());
        for (pattern, found) in &told.patterns {
            ctx.send_array(2 + 2 * FIGURES.len());
            ctx.send_bytes(b"pattern");
            ctx.send_bytes(pattern.as_bytes());
            for (name, figure) in FIGURES {
                ctx.send_bytes(name.as_bytes());
                ctx.send_integer(i64::try_from(figure(found)).unwrap_or(i64::MAX));
            }
        }
        true
    });
    if !is_told {
        ctx.send_error("ERR the plan was given up: too much was written meanwhile");
    }
}
