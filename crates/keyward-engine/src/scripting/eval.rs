//! EVAL, EVALSHA, their read-only forms, and SCRIPT.
//!
//! Owns the cache of scripts by their SHA-1. It lives until SCRIPT FLUSH, which also
//! makes a new Lua state.
//! Invariant: the code of the cache belongs to the state in its seat; they only go together.

use super::run::{Access, Program, input, run};
use super::running::Activity;
use crate::engine::context::{Ctx, Outcome};
use crate::engine::observers;
use keyward_commands::{WireError, args};
use keyward_lua::Audience;
use keyward_lua::Code;
use keyward_lua::Seat;
use keyward_lua::sha1_hex;
use keyward_lua::{ScriptFlags, read_script};
use std::collections::BTreeMap;

/// A script's name: its SHA-1 in hexadecimal digits.
type Sha = [u8; 40];

/// A script of the cache.
#[derive(Clone, Copy, Debug)]
struct Script {
    code: Code,
    flags: Option<ScriptFlags>,
}

/// The scripts of EVAL.
#[derive(Debug, Default)]
pub(super) struct ScriptCache {
    scripts: BTreeMap<Sha, Script>,
    seat: Seat,
}

impl ScriptCache {
    pub(super) fn len(&self) -> usize {
        self.scripts.len()
    }

    /// The bytes Lua has allocated.
    pub(super) fn used_bytes(&self) -> usize {
        self.seat.used_bytes()
    }

    /// The flags a script declares, whether it is in the cache or not.
    pub(super) fn flags_of(&self, body: &[u8]) -> Option<ScriptFlags> {
        read_script(body).ok().and_then(|(flags, _)| flags)
    }

    /// The flags the script with this name declares.
    pub(super) fn flags_by_name(&self, name: &[u8]) -> Option<ScriptFlags> {
        self.scripts.get(&sha_argument(name)?).and_then(|script| script.flags)
    }

    /// The script with this name, compiled now if it is new.
    fn define(&mut self, seed: u64, sha: &Sha, body: &[u8]) -> Result<Script, WireError> {
        if let Some(script) = self.scripts.get(sha) {
            return Ok(*script);
        }
        let (flags, code) = read_script(body).map_err(|text| WireError::line(&[b"ERR ", &text]))?;
        let mut sandbox = self.seat.take(Audience::Scripts, seed)?;
        let compiled = sandbox.compile(code, c"@user_script");
        self.seat.put_back(sandbox);
        let code = compiled.map_err(|text| {
            WireError::line(&[b"ERR Error compiling script (new function): ", &text])
        })?;
        let script = Script { code, flags };
        self.scripts.insert(*sha, script);
        Ok(script)
    }
}

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

/// An argument that may be a script's name, in any case.
fn sha_argument(argument: &[u8]) -> Option<Sha> {
    let sha = Sha::try_from(argument).ok()?;
    Some(sha.map(|digit| digit.to_ascii_lowercase()))
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
    let outcome = run(ctx, &mut sandbox, program, input, access);
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
    ctx.shared.scripts.cache = ScriptCache::default();
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
