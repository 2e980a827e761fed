//! The commands of strings: bytes, ranges, counters, bits.
//!
//! Owns what they do and say; how a string is stored is `values::text` of the
//! store.

pub(crate) mod bitfield;
pub(crate) mod bits;
pub(crate) mod commands;
pub(crate) mod counters;
pub(crate) mod lcs;
pub(crate) mod ranges;

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::CommandId;

/// Runs a command that sets a string, or counts one up from nothing, which ends at this
/// time, whatever the command says of that.
///
/// # Panics
/// If it is another command: the rule book says so of these only.
pub(crate) fn run_until(ctx: &mut Ctx<'_>, at: i64) -> Outcome {
    let until = Some(at);
    match ctx.command.id {
        CommandId::Set => commands::set_ending(ctx, until),
        CommandId::SetNx => commands::setnx_ending(ctx, until),
        CommandId::SetEx => commands::set_with_lifetime(ctx, commands::Unit::Seconds, until),
        CommandId::PSetEx => commands::set_with_lifetime(ctx, commands::Unit::Milliseconds, until),
        CommandId::GetSet => commands::getset_ending(ctx, until),
        CommandId::Incr => counters::incr_ending(ctx, until),
        CommandId::Decr => counters::decr_ending(ctx, until),
        CommandId::IncrBy => counters::incrby_ending(ctx, until),
        CommandId::DecrBy => counters::decrby_ending(ctx, until),
        other => panic!("{other:?} sets no string that ends by a schema"),
    }
}
