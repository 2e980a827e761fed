//! XDEL, XTRIM.
//!
//! Effects: an approximate XTRIM is logged as the exact one it came to.

use super::trim_options::Options;
use super::{event, ids};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::stream::Stream;

pub(crate) fn xdel(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(mut stream): Option<Edit<'_, Stream>> = ctx.keys.edit(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let ids = ids::all_strict(ctx.args.from(2).iter())?;
    let removed = ids.into_iter().filter(|id| stream.remove(*id)).count();
    if removed > 0 {
        stream.changed(event("xdel"), removed as u64);
    } else {
        stream.unchanged();
    }
    ctx.reply.count(removed);
    Ok(())
}

pub(crate) fn xtrim(ctx: &mut Ctx<'_>) -> Outcome {
    let options = Options::parse(ctx, false)?;
    let trim = options.trim.as_ref().ok_or(WireError::Syntax)?;
    let key = ctx.key(1);
    let is_logged = ctx.keys.effects.is_listening();
    let Some(mut stream): Option<Edit<'_, Stream>> = ctx.keys.edit(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let removed = stream.trim(trim);
    let mut logged = None;
    if removed > 0 {
        logged = (is_logged && trim.is_approximate).then(|| options.exact(ctx.args, &stream, None));
        stream.changed(event("xtrim"), removed);
    } else {
        stream.unchanged();
    }
    ctx.reply.integer(i64::try_from(removed).unwrap_or(i64::MAX));
    if let Some(command) = logged {
        ctx.log_instead(command.args().iter());
    }
    Ok(())
}
