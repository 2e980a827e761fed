//! What broke the schema is counted, told and remembered.
//!
//! Owns the figures of refusals and warnings by pattern, the sample of them in the log, and what
//! KEYWARD REFUSALS is told. Invariant: the work follows the length of the command, however much
//! of it breaks the schema.
//! Not here: what is only observed (`observation`), what is kept (`sessions::refusals`).

use super::discretion::{self, Call};
use crate::acl::check::Place;
use crate::engine::context::Stage;
use crate::sessions::refusals::{self, Bare, Breach};
use keyward_commands::WireError;
use keyward_lua::LogLevel;
use keyward_rules::{Refusal, names_its_keys};
use keyward_schema::KeyId;
use std::collections::{BTreeMap, VecDeque};

/// Counts a refusal and makes it an error.
pub(super) fn refused(
    stage: &mut Stage<'_>,
    call: Option<Call<'_>>,
    refusal: &Refusal,
) -> WireError {
    stage.keys.table_stats(stage.db, refusal.table()).refused.add(refusal.reason());
    let shown = discretion::shown(stage.keys, call, refusal);
    remember(stage, call, std::slice::from_ref(&shown), refusals::Outcome::Refused);
    let Stage { keys, db, session, shared, .. } = stage;
    let reader = session.user.as_ref().filter(|_| !shared.is_cleared(session));
    let place = Place { keys, db: *db };
    let may_read = |key: &[u8]| reader.is_none_or(|user| user.may_read(place, key));
    WireError::Line(shown.text_for(may_read).as_bytes().into())
}

/// Counts warnings and has a sample of them logged: the first, the second, the
/// fourth … of each table. A key without a pattern may be one that is only observed, and
/// counted as such.
pub(super) fn warn(stage: &mut Stage<'_>, call: Option<Call<'_>>, warnings: &[Refusal]) {
    if warnings.is_empty() {
        return;
    }
    let shows_found = call.is_some_and(|call| call.shows_found(stage.keys));
    let shown = |warning: &Refusal| match shows_found {
        true => warning.clone(),
        false => warning.clone().discreet(),
    };
    let observes_unknown =
        stage.keys.book_of(stage.db).is_some_and(|book| book.would_refuse_unknown());
    let mut last: BTreeMap<Option<KeyId>, VecDeque<&Refusal>> = BTreeMap::new();
    for warning in warnings.iter().filter(|it| it.table().is_some() || !observes_unknown) {
        let warned = &mut stage.keys.table_stats(stage.db, warning.table()).warned;
        warned.add(warning.reason());
        if warned.total().is_power_of_two() {
            stage.host.log(LogLevel::Warning, shown(warning).text().as_bytes());
        }
        let of_table = last.entry(warning.table()).or_default();
        of_table.push_back(warning);
        if of_table.len() > refusals::PER_PATTERN {
            of_table.pop_front();
        }
    }
    let last: Vec<Refusal> = last.into_values().flatten().map(shown).collect();
    remember(stage, call, &last, refusals::Outcome::Warned);
}

/// Keeps a command that broke the schema for who asks (KEYWARD REFUSALS), with each of these
/// reasons. What nobody sent is not told: it follows from a command that is.
pub(super) fn remember(
    stage: &mut Stage<'_>,
    call: Option<Call<'_>>,
    reasons: &[Refusal],
    outcome: refusals::Outcome,
) {
    let Some(call) = call else { return };
    let Stage { keys, db, session, shared, host } = stage;
    // EXEC and scripts name few keys or none of those that they change.
    let named = call.command.keys_in(call.args).map(|key| call.args.at(key.index));
    let mut keys_concerned: Vec<&[u8]> = named.collect();
    let named = keys_concerned.len();
    let shown = keys.shown(call.db, call.command, call.args, call.sender);
    // A key is another one in another database.
    let names_its_keys = call.db == *db && names_its_keys(call.command, call.args, call.sender);
    for reason in reasons {
        let pattern = keys
            .book_of(*db)
            .and_then(|book| reason.table().map(|table| book.schema().key(table).pattern.text()));
        let place = (*db, pattern.unwrap_or_default().into());
        keys_concerned.truncate(named);
        keys_concerned.extend(reason.key());
        let bare =
            || Bare { name_words: call.command.name_words(), reason: reason.bare_text().into() };
        let breach = Breach {
            time_ms: keys.now_ms(),
            outcome,
            address: host.connection(session.id).address,
            client_name: session.name.as_deref().unwrap_or_default(),
            reason: reason.text(),
            naming: reason.named(),
            bare: (!names_its_keys).then(bare),
            keys: (names_its_keys || reason.key().is_some()).then_some(&keys_concerned),
        };
        shared.refusals.push(place, &shown, breach);
    }
}
