//! The filter: which commands lead to ours.
//!
//! Owns the decision about a command before the server looks it up. It sees arguments and no
//! rows. What no book has to do with passes untouched; on a replica everything does, since what
//! its primary sends has been judged there.
//!
//! A filter does not know the database that a client has selected. Where the server has one alone,
//! it also carries out what arguments decide: it lets pass what cannot break anything, fills in a
//! lifetime, or refuses. A lifetime is filled in as one that begins when the command runs, since
//! MULTI queues it after this.

use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, find, lookup};
use keyward_resp::{ArgBuf, Args};
use keyward_rules::host::policy::{self, Tried};
use keyward_rules::host::{Deadline, rewrite};
use keyward_rules::{Blind, Judged, RuleBook, Verdict};
use keyward_schema::Lifetime;

use crate::api::{Ctx, Filtered, REFUSE};
use crate::cluster;
use crate::routes::{PREFIX, Route};
use crate::state::{State, state};

pub(crate) fn filter(filtered: &mut Filtered<'_>) {
    let Some(name) = filtered.get(0) else { return };
    let command = lookup(name);
    if command.is_some_and(passes_unseen) {
        return;
    }
    let Some(state) = state().filter(|state| !state.is_replica()) else { return };
    let Some(route) = state.routes.get(name) else { return };
    if state.is_cluster && cluster::moves_keys(name) {
        return;
    }
    let has_one_key = route.has_first_key_alone();
    if has_one_key && !filtered.get(1).is_some_and(|key| state.concerns(key)) {
        return;
    }
    let args: ArgBuf = (0..filtered.len()).filter_map(|index| filtered.get(index)).collect();
    let args = args.args();
    if !has_one_key && !is_concerned(&state, route, args) {
        return;
    }
    // Redis's own word about a wrong number of arguments.
    if route.command.is_some() && !find(args).is_ok_and(|command| command.arity.admits(args.len()))
    {
        return;
    }
    // What a plan is made of, and what is decided first, only `keyward.X` sees to.
    let decides = state.has_one_database && !state.is_undecided() && !state.is_planning();
    if decides
        && let (Some(book), Ok(command)) = (state.book(0), find(args))
        && !book.observes_any()
        && let Some(decision) = decide(&book, command, args)
    {
        return carry_out(&state, &book, filtered, decision, (command, args));
    }
    filtered.rename(&[PREFIX.as_bytes(), name].concat().to_ascii_lowercase());
}

/// Whether no book has a say in a command, and no filter has to look further.
fn passes_unseen(command: &Command) -> bool {
    command.subcommand_count == 0 && !command.flags.has(Flag::Write)
}

/// Whether a book has to do with a call of several keys, or of other databases.
fn is_concerned(state: &State, route: &Route, args: Args<'_>) -> bool {
    if route.command.is_some_and(|command| command.id == CommandId::SwapDb) {
        return true;
    }
    match route.keys(args) {
        Some(keys) => {
            keys.iter().any(|(index, _)| args.get(*index).is_some_and(|key| state.concerns(key)))
        }
        // It cannot be told which of them are keys.
        None => args.iter().skip(1).any(|word| state.concerns(word)),
    }
}

/// What a filter does with a command by itself.
enum Decision {
    Pass,
    Replace(ArgBuf),
    Refuse { text: String, key: Vec<u8> },
}

/// What arguments alone decide of a command; `None` if they do not.
fn decide(book: &RuleBook, command: &'static Command, args: Args<'_>) -> Option<Decision> {
    if policy::reaches_other_databases(command) || command.id == CommandId::SwapDb {
        return None;
    }
    let now_ms = Ctx::now_ms();
    let table_of = |position: usize| args.get(position).and_then(|key| book.table_of(key));
    let verdict = book.before(&Blind { now_ms }, command, args, &table_of).ok()?;
    match verdict {
        Verdict::Run(Judged::All) => Some(Decision::Pass),
        Verdict::RunUntil(at, Judged::All) => {
            let lifetime = &book.schema().key(table_of(1)?).lifetime;
            let begins_with_it = matches!(
                lifetime,
                Lifetime::Within { .. } | Lifetime::Renewed { .. } | Lifetime::By { .. }
            );
            if !begins_with_it {
                return None;
            }
            let said = rewrite(command, args, Deadline::In(at.saturating_sub(now_ms)));
            said.command.map(Decision::Replace)
        }
        Verdict::Refuse(refusal)
            if policy::tried_before_refusal(command, args) == Tried::Nothing =>
        {
            let key = command.keys_in(args).next().map(|key| args.at(key.index).to_vec())?;
            Some(Decision::Refuse { text: refusal.text_for(|_| false).to_owned(), key })
        }
        _ => None,
    }
}

fn carry_out(
    state: &State,
    book: &RuleBook,
    filtered: &mut Filtered<'_>,
    decision: Decision,
    (command, args): (&Command, Args<'_>),
) {
    match decision {
        Decision::Pass => {}
        Decision::Replace(said) => filtered.replace_all(said.args().iter()),
        Decision::Refuse { text, key } => {
            let words: [&[u8]; 3] = [REFUSE.as_bytes(), text.as_bytes(), &key];
            return filtered.replace_all(words.into_iter());
        }
    }
    state.figures.judged.add();
    for key in command.keys_in(args) {
        let table = args.get(key.index).and_then(|key| book.table_of(key));
        if let Some(figures) = table.and_then(|table| state.figures.table(0, table)) {
            figures.writes.add();
        }
    }
}
