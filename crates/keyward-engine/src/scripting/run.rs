//! Running a script within a command: what it may do, and what its commands do.
//!
//! Owns the rules of `redis.call` (no commands flagged `noscript`, no writes from
//! read-only scripts) and the isolation of the client: a script has its own protocol
//! and its own selected database. Its writes are logged one by one within the
//! command's unit; the script itself is not logged.
//! Not here: the Lua state (`keyward_lua::Sandbox`), finding the script (`eval`, `function`).

use super::running::{RunFacts, Running};
use crate::engine::context::{Ctx, Ending, Mode, Outcome};
use crate::engine::runner;
use crate::governed::{changefeed, unit};
use crate::host::Activity;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, ErrorStats, WireError};
use keyward_lua::{Caller, Code, Input, LogLevel, Propagation, Sandbox, ScriptFlag, ScriptFlags};
use keyward_resp::{Args, Protocol, ReplyWriter};

/// Where the keys begin in EVAL, FCALL and their kin.
const FIRST_KEY: usize = 3;

/// Who runs: the client's command allows writes or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    ReadWrite,
    ReadOnly,
}

/// A script to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program<'a> {
    pub(super) code: Code,
    /// What errors call it.
    pub(super) name: &'a [u8],
    pub(super) activity: Activity,
    /// `None` for a script that declares nothing and may do everything.
    pub(super) flags: Option<ScriptFlags>,
}

/// The keys and arguments of the command, or what is wrong with their number.
pub(super) fn input<'a>(args: Args<'a>, not_integer: WireError) -> Result<Input<'a>, WireError> {
    let count = keyward_resp::number::parse_i64(args.at(2)).ok_or(not_integer)?;
    if count > (args.len() - FIRST_KEY) as i64 {
        return Err(WireError::NumKeysTooLarge);
    }
    let count = usize::try_from(count).map_err(|_| WireError::NumKeysNegative)?;
    let (keys, arguments) = args.from(FIRST_KEY).split_at(count);
    Ok(Input { keys, arguments })
}

/// Whether a script may run at all, and with which access.
fn granted_access(
    flags: Option<ScriptFlags>,
    access: Access,
    (is_read_only, lacks_replicas): (bool, bool),
) -> Result<Access, WireError> {
    match flags {
        None => Ok(access),
        Some(flags) if flags.has(ScriptFlag::NoWrites) => Ok(Access::ReadOnly),
        Some(_) if is_read_only => Err(WireError::ReadOnlyReplica),
        Some(_) if access == Access::ReadOnly => {
            Err(WireError::Err("Can not execute a script with write flag using *_ro command."))
        }
        Some(_) if lacks_replicas => Err(WireError::NoReplicas),
        Some(_) => Ok(Access::ReadWrite),
    }
}

/// Runs a program for the command of a context and writes its answer.
pub(super) fn run_program(
    ctx: &mut Ctx<'_>,
    sandbox: &mut Sandbox,
    program: Program<'_>,
    input: Input<'_>,
    access: Access,
) -> Outcome {
    let allows_stale = |flags: ScriptFlags| flags.has(ScriptFlag::AllowStale);
    // What the primary has run is to be run here too, and what an old append-only file has.
    let is_obeyed = ctx.session.is_primary || ctx.shared.is_loading;
    let waits = program.flags.is_none_or(|flags| !allows_stale(flags)) && !ctx.shared.is_loading;
    if waits && ctx.shared.is_stale() {
        return Err(WireError::MasterDown);
    }
    let is_read_only = ctx.shared.is_read_only() && !is_obeyed;
    let states = (is_read_only, ctx.shared.replicas.are_too_few);
    let access = granted_access(program.flags, access, states)?;
    if matches!(ctx.mode, Mode::Checked) {
        return Ok(());
    }
    // A script that ends in an error leaves nothing behind if it wrote under a schema that does
    // more than observe.
    let unit = ctx.keys.is_governed().then(|| unit::begin(ctx.keys, ctx.shared));
    let (db, protocol) = (ctx.session.db, ctx.session.protocol);
    let mut answer = Vec::new();
    let allows_oom = program.flags.is_some_and(|flags| flags.has(ScriptFlag::AllowOom));
    let refusal = ctx.shared.relief.refusal(ctx.keys, ctx.session.db, |_| true);
    let was_begun = std::mem::replace(&mut ctx.shared.is_unit_begun, true);
    let mut caller = ScriptCaller::new(ctx, program.name, program.activity, access);
    caller.out_of_memory = refusal.filter(|_| !allows_oom);
    caller.has_room = was_begun || allows_oom;
    let mut reply = ReplyWriter::new(&mut answer, protocol);
    let mut answer_errors = ErrorStats::default();
    let errors = &mut answer_errors;
    let is_error = sandbox.run(program.code, program.name, input, &mut caller, &mut reply, errors);
    ctx.shared.is_unit_begun = was_begun;
    ctx.session.db = db;
    ctx.session.protocol = protocol;
    if let Some(unit) = unit {
        if answer.starts_with(b"-") && unit.touched_schemas(ctx.keys) {
            unit.undo(ctx.keys, ctx.shared);
        } else {
            unit.end(ctx)?;
        }
    }
    if std::mem::take(&mut ctx.shared.scripts.ends_with_server) {
        ctx.session.is_closing = true;
    } else {
        ctx.reply.raw(&answer);
    }
    ctx.shared.stats.errors.merge(answer_errors);
    if is_error {
        ctx.ending = Ending::Failed;
    }
    // Each command it called was logged by itself.
    ctx.keys.effects.suppress();
    Ok(())
}

/// The engine as a running script reaches it.
pub(super) struct ScriptCaller<'c, 'a> {
    ctx: &'c mut Ctx<'a>,
    facts: RunFacts<'c>,
    access: Access,
    /// Why commands that take memory are refused, unless something was written before.
    out_of_memory: Option<WireError>,
    /// Whether it may add to a changefeed, full or not.
    has_room: bool,
    propagation: Propagation,
    has_written: bool,
    is_ended: bool,
}

impl<'c, 'a: 'c> ScriptCaller<'c, 'a> {
    pub(super) fn new(
        ctx: &'c mut Ctx<'a>,
        name: &'c [u8],
        activity: Activity,
        access: Access,
    ) -> ScriptCaller<'c, 'a> {
        ctx.shared.scripts.runs += 1;
        let (number, db, command) = (ctx.shared.scripts.runs, ctx.db, ctx.args);
        let facts = RunFacts { number, activity, db, command, name };
        ScriptCaller {
            ctx,
            facts,
            access,
            out_of_memory: None,
            has_room: false,
            propagation: Propagation::ALL,
            has_written: false,
            is_ended: false,
        }
    }

    /// The command to call, if a script may call it.
    fn resolve_for_script(&mut self, args: Args<'_>) -> Result<&'static Command, WireError> {
        let command = self.ctx.shared.names.resolve(args).map_err(|error| {
            WireError::Err(match error {
                WireError::WrongArity(_) => {
                    "Wrong number of args calling Redis command from script"
                }
                _ => "Unknown Redis command called from script",
            })
        })?;
        let allows_all = self.ctx.shared.switches.allows_noscript;
        if command.flags.has(Flag::NoScript) && !allows_all {
            return Err(WireError::Err("This Redis command is not allowed from script"));
        }
        self.ctx.check_scripted(command, args)?;
        let may_write = command.flags.has(Flag::Write) || command.flags.has(Flag::MayReplicate);
        if let Some(refusal) = &self.ctx.shared.write_refusal
            && command.flags.has(Flag::Write)
        {
            return Err(refusal.clone());
        }
        if may_write && self.access == Access::ReadOnly {
            return Err(WireError::Err("Write commands are not allowed from read-only scripts."));
        }
        let is_obeyed = self.ctx.session.is_primary || self.ctx.shared.is_loading;
        if command.flags.has(Flag::Write) && self.ctx.shared.is_read_only() && !is_obeyed {
            return Err(WireError::ReadOnlyReplica);
        }
        if self.ctx.shared.is_stale() && !command.flags.has(Flag::Stale) && !is_obeyed {
            return Err(WireError::Err("Can not execute the command on a stale replica"));
        }
        // What has begun to write may go on.
        let begins_to_write = command.flags.has(Flag::Write) && !self.has_written;
        if begins_to_write && self.ctx.shared.replicas.are_too_few {
            return Err(WireError::NoReplicas);
        }
        // A script is not stopped in the middle of its work.
        if let Some(refusal) = &self.out_of_memory
            && !self.has_written
            && command.flags.has(Flag::DenyOom)
        {
            return Err(refusal.clone());
        }
        if begins_to_write && !self.has_room && self.ctx.keys.is_governed() {
            let db = self.ctx.session.db;
            changefeed::check_part(self.ctx.keys, self.ctx.shared, db, (command, args))?;
        }
        Ok(command)
    }
}

impl Caller for ScriptCaller<'_, '_> {
    fn call(&mut self, args: Args<'_>, protocol: Protocol, reply: &mut Vec<u8>) {
        let command = match self.resolve_for_script(args) {
            Ok(command) => command,
            Err(error) => {
                let stats = &mut self.ctx.shared.stats;
                stats.errors.count(error.code());
                if let Ok(command) = self.ctx.shared.names.find(args) {
                    stats.calls.of_mut(command.id).rejected += 1;
                }
                return error.write_to(&mut ReplyWriter::new(reply, protocol));
            }
        };
        self.has_written |= command.flags.has(Flag::Write);
        self.ctx.session.protocol = protocol;
        let effects = &mut self.ctx.keys.effects;
        let is_listening = effects.is_listening();
        effects.listen(is_listening && self.propagation != Propagation::NONE);
        // Lua's time is the script's, not the command's.
        self.ctx.shared.stats.clock_ns = self.ctx.host.monotonic_ns();
        let mode = Mode::Scripted(self.ctx.command, self.ctx.args);
        runner::call(self.ctx, mode, command, args, reply);
        self.ctx.keys.effects.listen(is_listening);
    }

    fn may_call(&mut self, args: Args<'_>) -> Option<bool> {
        let command = self.ctx.shared.names.find(args).ok()?;
        Some(self.ctx.may_run(command, args))
    }

    fn propagate(&mut self, propagation: Propagation) {
        self.propagation = propagation;
    }

    fn log(&mut self, level: LogLevel, line: &[u8]) {
        self.ctx.host.log(level, line);
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.ctx.host.monotonic_ns()
    }

    fn is_ended(&mut self) -> bool {
        let Ctx { host, keys, shared, .. } = &mut *self.ctx;
        let has_written = self.has_written;
        let mut script = Running::new(self.facts, has_written, &mut self.is_ended, (keys, shared));
        host.script_runs(&mut script);
        self.is_ended
    }
}
