//! KEYWARD REFUSALS: the last commands that broke the schema.

use super::wanted::Wanted;
use crate::acl::check::Place;
use crate::engine::context::{Ctx, Outcome};
use crate::governed::in_force::book;
use crate::sessions::refusals::Broken;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};

/// How many are shown unless COUNT says otherwise.
const COUNT: i64 = 10;

pub(crate) fn refusals(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    let (mut wanted, mut count) = (Wanted::All, COUNT);
    let mut options = Options::new(ctx.args, 2);
    let mut is_first = true;
    while let Some(word) = options.next() {
        if args::is(word, "COUNT") {
            count = args::integer(options.value()?)?;
        } else if is_first {
            wanted = Wanted::named(&book, word)?;
        } else {
            return Err(WireError::Syntax);
        }
        is_first = false;
    }
    let count = usize::try_from(count).map_err(|_| WireError::Syntax)?;
    let table_of =
        |text: &str| book.schema().ids().find(|id| book.schema().key(*id).pattern.text() == text);
    let is_meant = |text: &str| match &wanted {
        Wanted::All => true,
        // A pattern that the schema no longer has is nobody's.
        _ => (text.is_empty() || table_of(text).is_some()) && wanted.has(table_of(text)),
    };
    let reader = ctx.restricted_reader();
    let place = Place { keys: ctx.keys, db: ctx.db };
    let may_read = |key: &[u8]| reader.as_ref().is_none_or(|user| user.may_read(place, key));
    // Who may read some keys only sees commands on those.
    let may_see = |broken: &Broken| match &broken.keys {
        Some(keys) => keys.iter().all(|key| may_read(key)),
        None => reader.is_none(),
    };
    let mut found = ctx.shared.refusals.of(ctx.db, is_meant);
    found.retain(|(_, broken)| may_see(broken));
    let shown = found.len().min(count);
    ctx.reply.array(shown);
    for (pattern, broken) in found.into_iter().take(count) {
        ctx.reply.map(9);
        ctx.reply.bulk(b"id");
        ctx.reply.integer(i64::try_from(broken.id).unwrap_or(i64::MAX));
        ctx.reply.bulk(b"count");
        ctx.reply.integer(i64::try_from(broken.count).unwrap_or(i64::MAX));
        ctx.reply.bulk(b"time");
        ctx.reply.integer(broken.time_ms);
        for (name, text) in [
            ("outcome", broken.outcome.name().as_bytes()),
            ("pattern", pattern.as_bytes()),
            ("address", broken.address.as_bytes()),
            ("name", &broken.client_name),
        ] {
            ctx.reply.bulk(name.as_bytes());
            ctx.reply.bulk(text);
        }
        let (words, reason) = match (&broken.bare, &broken.naming) {
            (Some(bare), _) if reader.is_some() => (bare.name_words, &bare.reason),
            (_, Some((key, unnamed))) if !may_read(key) => (usize::MAX, unnamed),
            _ => (usize::MAX, &broken.reason),
        };
        let command = &broken.command[..broken.command.len().min(words)];
        ctx.reply.bulk(b"command");
        ctx.reply.array(command.len());
        command.iter().for_each(|word| ctx.reply.bulk(word));
        ctx.reply.bulk(b"reason");
        ctx.reply.bulk(reason.as_bytes());
    }
    Ok(())
}
