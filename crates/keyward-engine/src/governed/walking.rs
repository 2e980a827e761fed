//! KEYWARD UNKNOWN: keys without a pattern, by their apparent forms.
//!
//! Owns the walk through them, some rows a tick; nobody waits for it but who asked.
//! Invariant: there is one at a time, and it ends with its client.
//! Not here: what is seen on the way (`strangers`).

use super::strangers::Strangers;
use crate::engine::context::{Ctx, Ending, Mode, Outcome};
use crate::engine::shared::Shared;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

/// Forms that are shown unless COUNT says otherwise.
const COUNT: i64 = 10;

pub(crate) fn unknown(ctx: &mut Ctx<'_>) -> Outcome {
    let mut options = Options::new(ctx.args, 2);
    let mut count = COUNT;
    while let Some(word) = options.next() {
        if !args::is(word, "COUNT") {
            return Err(WireError::Syntax);
        }
        count = args::integer(options.value()?)?;
    }
    let count = usize::try_from(count).map_err(|_| WireError::Syntax)?;
    let asker = ctx.session.id;
    let mut strangers = match ctx.mode {
        Mode::Woken(_) => ctx.shared.strangers.take_if(|own| own.asker == asker),
        _ if ctx.must_not_wait() => {
            let text = "keys without a pattern cannot be looked through inside a transaction";
            return Err(WireError::Err(text));
        }
        _ if ctx.shared.strangers.as_ref().is_some_and(|own| ctx.shared.walks_for(own)) => {
            let text = "keys without a pattern are being looked through; try again later";
            return Err(WireError::Err(text));
        }
        _ => Some(Strangers::new(asker, ctx.db, ctx.restricted_reader())),
    };
    let is_over = strangers.as_mut().is_none_or(|own| own.advance(ctx.keys));
    if !is_over {
        ctx.shared.strangers = strangers;
        match ctx.mode {
            Mode::Woken(_) => ctx.ending = Ending::Waiting,
            _ => ctx.block_in_vain(0),
        }
        return Ok(());
    }
    let forms = strangers.map_or(Vec::new(), |own| own.forms.into_list());
    ctx.reply.array(forms.len().min(count));
    for form in forms.into_iter().take(count) {
        ctx.reply.map(3);
        ctx.reply.bulk(b"form");
        ctx.reply.bulk(form.text.as_bytes());
        ctx.reply.bulk(b"keys");
        ctx.reply.integer(i64::try_from(form.count).unwrap_or(i64::MAX));
        ctx.reply.bulk(b"example");
        ctx.reply.bulk(&form.example);
    }
    Ok(())
}

impl Shared {
    /// Whether the client still waits that a walk is for.
    fn walks_for(&self, own: &Strangers) -> bool {
        self.awaits(own.asker)
    }

    /// Goes on with the walk, if there is one; who waits for it once it is over.
    pub(crate) fn go_on_walking(&mut self, keys: &Keyspace) -> Option<ClientId> {
        let mut strangers = self.strangers.take()?;
        if !self.walks_for(&strangers) {
            return None;
        }
        let asker = strangers.asker;
        let is_over = strangers.advance(keys);
        self.strangers = Some(strangers);
        is_over.then_some(asker)
    }
}
