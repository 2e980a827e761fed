//! Lua scripts and function libraries.
//!
//! Owns what stands between the engine and `keyward-lua`: `eval` and `function` are the
//! commands, `cache` the scripts by their SHA-1, `run` the rules of a run, `running` what
//! others see of it.
//!
//! There are two Lua states, as in Redis: one for scripts, which SCRIPT FLUSH renews,
//! and one for libraries. Both are made when first needed.
//!
//! Invariants: no script changes what the next one sees, except through keys and
//! `cjson`'s settings; no script outlives its caller's patience; a script's writes are
//! one unit; if it fails they stay, as in Redis, or under a schema are undone.
//! Not here: the interpreter, its libraries and what code sees (`keyward-lua`).

mod cache;
pub(crate) mod eval;
pub(crate) mod function;
mod run;
mod running;

use cache::ScriptCache;
use keyward_commands::CommandId;
use keyward_lua::{Libraries, ScriptFlag, ScriptFlags};
use keyward_resp::{Args, ReplyWriter};

/// All scripts and libraries of an engine.
#[derive(Debug)]
pub(crate) struct Scripts {
    cache: ScriptCache,
    libraries: Libraries,
    /// How many runs there have been.
    runs: u64,
    /// Begins the random numbers of each Lua state.
    seed: u64,
    /// The running one ends because the server does: nobody hears what came of it.
    ends_with_server: bool,
}

/// Figures about scripts, for INFO.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptFacts {
    /// Scripts in the cache of EVAL.
    pub cached_scripts: usize,
    /// Libraries loaded.
    pub libraries: usize,
    /// Functions of all libraries.
    pub functions: usize,
    /// Bytes of the Lua state of EVAL.
    pub script_bytes: usize,
    /// Bytes of the Lua state of libraries.
    pub library_bytes: usize,
}

impl Scripts {
    pub(crate) fn new(seed: u64) -> Scripts {
        Scripts {
            cache: ScriptCache::default(),
            libraries: Libraries::default(),
            runs: 0,
            seed,
            ends_with_server: false,
        }
    }

    /// The libraries by their names, with what was loaded of each.
    pub(crate) fn library_sources(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.libraries.iter().map(|library| (&library.name[..], &library.source[..]))
    }

    /// The name of the library that has a function.
    pub(crate) fn library_with(&self, function: &[u8]) -> Option<&[u8]> {
        self.libraries.owner(function)
    }

    /// The functions of all libraries, by library.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = &[u8]> {
        let functions = self.libraries.iter().flat_map(|library| &library.functions);
        functions.map(|function| &function.name[..])
    }

    pub(crate) fn facts(&self) -> ScriptFacts {
        ScriptFacts {
            cached_scripts: self.cache.len(),
            libraries: self.libraries.iter().len(),
            functions: self.libraries.function_count(),
            script_bytes: self.cache.used_bytes(),
            library_bytes: self.libraries.used_bytes(),
        }
    }

    /// Whether a command runs a script or function that has declared not to write.
    pub(crate) fn promise_no_writes(&self, command: CommandId, args: Args<'_>) -> bool {
        self.flags(command, args).is_some_and(|flags| flags.has(ScriptFlag::NoWrites))
    }

    /// Whether a command runs a script or function that declares what it does, and
    /// neither that it writes nothing nor that it may run without memory.
    pub(crate) fn needs_memory(&self, command: CommandId, args: Args<'_>) -> bool {
        let spares =
            |flags: ScriptFlags| flags.has(ScriptFlag::NoWrites) || flags.has(ScriptFlag::AllowOom);
        self.flags(command, args).is_some_and(|flags| !spares(flags))
    }

    /// Whether a command runs a script or function that may write and does not declare that it
    /// may run without memory.
    pub(crate) fn may_need_memory(&self, command: CommandId, args: Args<'_>) -> bool {
        let runs = matches!(command, CommandId::Eval | CommandId::EvalSha | CommandId::FCall);
        runs && (self.flags(command, args).is_none() || self.needs_memory(command, args))
    }

    /// What the script or function declares that a command runs.
    fn flags(&self, command: CommandId, args: Args<'_>) -> Option<ScriptFlags> {
        match command {
            CommandId::Eval | CommandId::EvalRo => self.cache.flags_of(args.at(1)),
            CommandId::EvalSha | CommandId::EvalShaRo => self.cache.flags_by_name(args.at(1)),
            CommandId::FCall | CommandId::FCallRo => {
                self.libraries.function(args.at(1)).map(|function| function.flags)
            }
            _ => None,
        }
    }

    /// The sources of the libraries.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &[u8]> {
        self.libraries.iter().map(|library| &library.source[..])
    }

    /// Removes the libraries.
    pub(crate) fn remove_libraries(&mut self) {
        self.libraries.flush();
    }

    /// The part of FUNCTION STATS that is about engines.
    fn write_engines(&self, reply: &mut ReplyWriter<'_>) {
        reply.bulk(b"engines");
        reply.map(1);
        reply.bulk(b"LUA");
        reply.map(2);
        reply.bulk(b"libraries_count");
        reply.count(self.libraries.iter().len());
        reply.bulk(b"functions_count");
        reply.count(self.libraries.function_count());
    }
}
