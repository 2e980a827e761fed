//! Who runs the script, and whether it is to go on.
//!
//! Owns the two ways by which a run that takes long is looked at: Lua calls a hook every
//! so many instructions, and a function of ours that can take long on hostile arguments
//! counts its steps, because no hook runs while it does. Both ask the same caller, so
//! BUSY, SCRIPT KILL and FUNCTION KILL reach a search, a sort or an encoder as they reach
//! a loop.
//! Invariants: once a run is to end, every further look says so; no result depends on how
//! much time has passed.
//! Not here: raising the error (`stack`), what the caller does meanwhile (`scripting::run` of the engine).

use super::caller::CallerSlot;
use super::pace::Pace;

/// Steps of our functions between two looks: a fraction of a millisecond. A step is about
/// as much work as comparing a byte with a class of characters.
pub(crate) const STEPS_PER_LOOK: u32 = 50_000;
/// Bytes that are copied in the time of a step.
pub(crate) const COPIED_BYTES_PER_STEP: usize = 32;
/// Bytes that are digested in the time of a step.
pub(crate) const DIGESTED_BYTES_PER_STEP: usize = 2;
/// How much of a long text is worked on before the steps of that are counted.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// The run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended;

/// The caller of a run, and when to ask it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub caller: CallerSlot,
    /// The run is to end: every further instruction raises an error.
    is_ended: bool,
    /// How often Lua's hook looks.
    pace: Pace,
    /// Steps of our functions until the next look.
    steps_left: u32,
    /// A library is being loaded, which has its own words for being ended.
    is_load: bool,
}

impl Watch {
    /// A run begins. The caller has been put in.
    pub(crate) fn begin(&mut self, is_load: bool) {
        self.is_load = is_load;
        self.is_ended = false;
        self.pace = Pace::START;
        self.steps_left = STEPS_PER_LOOK;
    }

    /// A look by Lua's hook. Returns after how many instructions the next one is.
    pub(crate) fn look_from_hook(&mut self) -> Result<i32, Ended> {
        if self.is_ended {
            return Err(Ended);
        }
        // Code that runs outside any run has no business here.
        let Some(caller) = self.caller.get() else {
            self.is_ended = true;
            return Err(Ended);
        };
        let begun_ns = caller.monotonic_ns();
        self.is_ended = caller.is_ended();
        let next = self.pace.looked(begun_ns, caller.monotonic_ns());
        if self.is_ended { Err(Ended) } else { Ok(next) }
    }

    /// A look by one of our functions.
    #[cold]
    pub(crate) fn look(&mut self) -> Result<(), Ended> {
        self.steps_left = STEPS_PER_LOOK;
        self.is_ended = self.is_ended || self.caller.get().is_none_or(|caller| caller.is_ended());
        if self.is_ended { Err(Ended) } else { Ok(()) }
    }

    /// Counts steps, and looks when there have been many.
    #[inline]
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Ended> {
        if steps < self.steps_left as usize {
            self.steps_left -= steps as u32;
            return Ok(());
        }
        self.look()
    }

    /// What a run that is ended ends with.
    pub(crate) fn ended_text(&self) -> &'static str {
        if self.is_load {
            "FUNCTION LOAD timeout"
        } else {
            "Script killed by user with SCRIPT KILL..."
        }
    }

    /// Steps until the next look, for a function that counts by itself.
    pub(crate) fn steps_left(&self) -> u32 {
        self.steps_left
    }

    /// What such a function has left of them.
    pub(crate) fn set_steps_left(&mut self, steps: u32) {
        self.steps_left = steps;
    }
}
