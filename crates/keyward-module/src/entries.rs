//! What the server calls, and what is done then.

use std::collections::HashMap;

use keyward_rules::RuleBook;

use crate::api::{
    Argv, Ctx, Entries, Filtered, Gone, Info, Key, Loudness, Run, log_anywhere, server_functions,
};
use crate::judged::{self, Turn};
use crate::routes::Routes;
use crate::schemas::{self, Arguments, OnError};
use crate::state::{Place, State, keep, state};
use crate::{commands, filter, guard, plan};

/// The module.
pub(crate) struct Keyward;

server_functions!(Keyward);

impl Entries for Keyward {
    fn load(ctx: Ctx<'_>, args: Argv<'_>) -> bool {
        match load(ctx, args) {
            Ok(state) => {
                keep(Some(state));
                true
            }
            Err(lines) => {
                lines.iter().for_each(|line| ctx.log(Loudness::Warning, line));
                false
            }
        }
    }

    fn unload() {
        keep(None);
    }

    fn command(ctx: Ctx<'_>, argv: Argv<'_>) {
        let Some(state) = state() else {
            return ctx.send_error("ERR Keyward is not loaded");
        };
        commands::run(ctx, &state, argv);
    }

    fn woken(ctx: Ctx<'_>, argv: Argv<'_>) -> bool {
        let Some(state) = state() else {
            ctx.send_error("ERR Keyward is not loaded");
            return true;
        };
        judged::run(ctx, &state, argv, Turn::Woken)
    }

    fn filter(filtered: &mut Filtered<'_>) {
        filter::filter(filtered);
    }

    fn role(is_replica: bool) {
        if let Some(state) = state() {
            state.set_role(is_replica);
        }
    }

    fn gone(ctx: Ctx<'_>, key: &Key<'_>, gone: Gone) {
        let Some(state) = state() else { return };
        if judged::note_gone(&state, key, gone) && !ctx.add_job::<Keyward>() {
            state.take_ended();
        }
    }

    fn job(ctx: Ctx<'_>) {
        if let Some(state) = state() {
            guard::decide(ctx, &state);
            judged::follow_ended(ctx, &state);
        }
    }

    fn told(ctx: Ctx<'_>) {
        match state() {
            Some(state) => commands::tell_plan(ctx, &state),
            None => ctx.send_error("ERR Keyward is not loaded"),
        }
    }

    fn tick(ctx: Ctx<'_>) {
        let Some(state) = state() else { return };
        guard::decide(ctx, &state);
        if plan::advance(ctx, &state) {
            ctx.start_timer::<Keyward>();
        }
    }

    fn info(info: &mut Info) {
        if let Some(state) = state() {
            commands::info(&state, info);
        }
    }

    fn panicked() {
        log_anywhere("Keyward panicked; the command is refused. Please report this");
        if let Some(state) = state() {
            state.figures.panics.add();
        }
    }
}

/// Reads the schemas and makes the commands; what is wrong otherwise, line by line.
fn load(ctx: Ctx<'_>, args: Argv<'_>) -> Result<State, Vec<String>> {
    let arguments = Arguments::read(args.iter())?;
    let is_cluster = ctx.is_cluster();
    let books: HashMap<usize, RuleBook> = match schemas::books(&arguments.files, is_cluster) {
        Ok(books) => books,
        Err(findings) => {
            if arguments.on_error == OnError::Fail {
                return Err(findings);
            }
            findings.iter().for_each(|line| ctx.log(Loudness::Warning, line));
            let text = "the schema is not in force: nothing is judged until it is mended and the \
                        module is loaded anew (on-error=observe)";
            ctx.log(Loudness::Warning, text);
            HashMap::new()
        }
    };
    let routes = Routes::create::<Keyward>(ctx).map_err(|error| vec![error])?;
    let could_not = |what: &str| vec![format!("the server does not take {what}")];
    commands::create::<Keyward>(ctx).map_err(could_not)?;
    if !ctx.subscribe::<Keyward>() {
        return Err(could_not("the filter"));
    }
    let patterns: usize = books.values().map(|book| book.schema().keys.len()).sum();
    let text = format!("{patterns} patterns of {} files are loaded", arguments.files.len());
    ctx.log(Loudness::Notice, &text);
    // What comes with a slot is told apart by `keyward.X` alone, so that on a node of a cluster
    // the filter decides nothing by itself.
    let has_one_database = !is_cluster && database_count(ctx) == Some(1);
    let (is_replica, is_from_start) = (ctx.is_replica(), ctx.is_starting());
    let place = Place { has_one_database, is_cluster, is_replica, is_from_start };
    // Which of them are in force is decided once the server has loaded its data.
    ctx.start_timer::<Keyward>();
    Ok(State::new(books, routes, arguments.files, place))
}

/// How many databases the server has.
fn database_count(ctx: Ctx<'_>) -> Option<u64> {
    let words: [&[u8]; 3] = [b"CONFIG", b"GET", b"databases"];
    let reply = ctx.call(Run::Read, words.into_iter());
    let value = reply.elements().nth(1)?;
    std::str::from_utf8(value.bytes()?).ok()?.parse().ok()
}
