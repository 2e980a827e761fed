//! EVAL, EVALSHA, their read-only forms, and SCRIPT.
//!
//! Not here: the cache of scripts (`cache`).

use super::cache::{Script, Sha, sha_argument};
use super::run::{Access, Program, input, run_program};
use crate::engine::context::{Ctx, Outcome};
use crate::engine::observers;
use crate::host::Activity;
use keyward_commands::{WireError, args};
use keyward_lua::{Audience, sha1_hex};

pub(crate) fn eval(ctx: &mut Ctx<'_>) -> Outcome {
    eval_body(ctx, Access::ReadWrite)
}

pub(crate) fn eval_ro(ctx: &mut Ctx<'_>) -> Outcome {
    eval_body(ctx, Access::ReadOnly)
}

pub(crate) fn evalsha(ctx: &mut Ctx<'_>) -> Outcome {
    eval_sha(ctx, Access::ReadWrite)
}

pub(crate) fn evalsha_ro(ctx: &mut Ctx<'_>) -> Outcome {
    eval_sha(ctx, Access::ReadOnly)
}

fn eval_body(ctx: &mut Ctx<'_>, access: Access) -> Outcome {
    observers::show(ctx);
    let input = input(ctx.args, WireError::NotInteger)?;
    let body = ctx.args.at(1);
    let sha = sha1_hex(body);
    let scripts = &mut ctx.shared.scripts;
    let script = scripts.cache.define(scripts.seed, &sha, body)?;
    run_script(ctx, &sha, script, input, access)
}

fn eval_sha(ctx: &mut Ctx<'_>, access: Access) -> Outcome {
    observers::show(ctx);
    let sha = sha_argument(ctx.args.at(1)).ok_or(WireError::NoScript)?;
    let input = input(ctx.args, WireError::NotInteger)?;
    let script = *ctx.shared.scripts.cache.scripts.get(&sha).ok_or(WireError::NoScript)?;
    run_script(ctx, &sha, script, input, access)
}

fn run_script(
    ctx: &mut Ctx<'_>,
    sha: &Sha,
    script: Script,
    input: keyward_lua::Input<'_>,
    access: Access,
) -> Outcome {
    let scripts = &mut ctx.shared.scripts;
    let mut sandbox = scripts.cache.seat.take(Audience::Scripts, scripts.seed)?;
    let Script { code, flags } = script;
    let program = Program { code, name: sha, activity: Activity::Script, flags };
    let outcome = run_program(ctx, &mut sandbox, program, input, access);
    ctx.shared.scripts.cache.seat.put_back(sandbox);
    outcome
}

pub(crate) fn script_load(ctx: &mut Ctx<'_>) -> Outcome {
    let body = ctx.args.at(2);
    let sha = sha1_hex(body);
    let scripts = &mut ctx.shared.scripts;
    scripts.cache.define(scripts.seed, &sha, body)?;
    ctx.reply.bulk(&sha);
    Ok(())
}

pub(crate) fn script_exists(ctx: &mut Ctx<'_>) -> Outcome {
    let names = ctx.args.from(2);
    ctx.reply.array(names.len());
    for name in names.iter() {
        let scripts = &ctx.shared.scripts.cache.scripts;
        let exists = sha_argument(name).is_some_and(|sha| scripts.contains_key(&sha));
        ctx.reply.integer(i64::from(exists));
    }
    Ok(())
}

pub(crate) fn script_flush(ctx: &mut Ctx<'_>) -> Outcome {
    // Dropping a Lua state takes the time it takes: both modes do it at once.
    let is_known = match ctx.args.len() {
        2 => true,
        3 => args::is(ctx.args.at(2), "SYNC") || args::is(ctx.args.at(2), "ASYNC"),
        _ => false,
    };
    if !is_known {
        return Err(WireError::Err("SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    ctx.shared.scripts.cache.flush();
    ctx.reply.ok();
    Ok(())
}

/// While a script runs, the host answers this (`running`): here none does.
pub(crate) fn script_kill(_: &mut Ctx<'_>) -> Outcome {
    Err(WireError::NotBusy)
}

/// There is no debugger; switching it off is possible.
pub(crate) fn script_debug(ctx: &mut Ctx<'_>) -> Outcome {
    let mode = ctx.args.at(2);
    if args::is(mode, "NO") {
        ctx.reply.ok();
        return Ok(());
    }
    if args::is(mode, "YES") || args::is(mode, "SYNC") {
        return Err(WireError::Err("The Lua debugger is not available"));
    }
    Err(WireError::Err("Use SCRIPT DEBUG YES/SYNC/NO"))
}

pub(crate) fn script_help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "DEBUG (YES|SYNC|NO)",
        "    Set the debug mode for subsequent scripts executed.",
        "EXISTS <sha1> [<sha1> ...]",
        "    Return information about the existence of the scripts in the script cache.",
        "FLUSH [ASYNC|SYNC]",
        "    Flush the Lua scripts cache. Very dangerous on replicas.",
        "    When called without the optional mode argument, the behavior is determined by the",
        "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
        "    * ASYNC: Asynchronously flush the scripts cache.",
        "    * SYNC: Synchronously flush the scripts cache.",
        "KILL",
        "    Kill the currently executing Lua script.",
        "LOAD <script>",
        "    Load a script into the scripts cache without executing it.",
    ]);
    Ok(())
}
