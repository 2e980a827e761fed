//! What a running script asks of whoever runs it, and where that one is found.
//!
//! Owns the interface between the sandbox and the engine: the sandbox knows no
//! keys, no clients and no clock, it only knows its [`Caller`].
//!
//! A caller lives for one run, the Lua state for many; Lua's functions cannot carry
//! a lifetime. So [`CallerSlot`] forgets it, which is sound because the slot is
//! filled and emptied by one function (`Sandbox::with_caller`) around the run.
#![allow(unsafe_code)]

use keyward_resp::{Args, Protocol};
use std::ptr::NonNull;

/// How loud a line of a script is, in Redis's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// `redis.LOG_DEBUG`
    Debug,
    /// `redis.LOG_VERBOSE`
    Verbose,
    /// `redis.LOG_NOTICE`
    Notice,
    /// `redis.LOG_WARNING`
    Warning,
}

impl LogLevel {
    /// All, by their numbers.
    pub const ALL: [LogLevel; 4] =
        [LogLevel::Debug, LogLevel::Verbose, LogLevel::Notice, LogLevel::Warning];
}

/// Where the writes of a script go besides memory (`redis.set_repl`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Propagation {
    /// To the append-only file.
    pub aof: bool,
    /// To replicas.
    pub replicas: bool,
}

impl Propagation {
    /// As it is until a script says otherwise.
    pub const ALL: Propagation = Propagation { aof: true, replicas: true };
    /// Nowhere.
    pub const NONE: Propagation = Propagation { aof: false, replicas: false };
}

/// What a script asks of whoever runs it.
pub trait Caller {
    /// Runs a command and appends its reply, an error included.
    fn call(&mut self, args: Args<'_>, protocol: Protocol, reply: &mut Vec<u8>);

    /// Whether the client may run a command; `None` if there is no such command.
    fn may_call(&mut self, args: Args<'_>) -> Option<bool>;

    /// Says where the writes that follow go.
    fn propagate(&mut self, propagation: Propagation);

    /// Writes a line to the log.
    fn log(&mut self, level: LogLevel, line: &[u8]);

    /// Asked every so many instructions: is the script to be ended?
    fn is_ended(&mut self) -> bool;

    /// Nanoseconds by a clock that never goes back.
    fn monotonic_ns(&mut self) -> u64;
}

/// The caller of the running script, if one runs.
#[derive(Debug, Default)]
pub(crate) struct CallerSlot(Option<NonNull<dyn Caller>>);

impl CallerSlot {
    /// Puts a caller in, until [`CallerSlot::clear`].
    ///
    /// # Safety
    /// The slot must be cleared before the caller goes, and nobody may use the caller
    /// until then.
    pub(crate) unsafe fn fill<'a>(&mut self, caller: &'a mut (dyn Caller + 'a)) {
        let caller = NonNull::from(caller);
        // SAFETY: only the lifetime changes, and whoever fills the slot sees to that.
        let caller = unsafe {
            std::mem::transmute::<NonNull<dyn Caller + 'a>, NonNull<dyn Caller + 'static>>(caller)
        };
        self.0 = Some(caller);
    }

    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    pub(crate) fn get(&mut self) -> Option<&mut dyn Caller> {
        // SAFETY: the slot is cleared before the caller goes (`fill`), and as nobody else uses
        // that and the slot is borrowed mutably here, this is the only reference to it.
        self.0.map(|mut caller| unsafe { caller.as_mut() })
    }
}
