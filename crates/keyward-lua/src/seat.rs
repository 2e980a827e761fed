//! Where the Lua state of scripts, or that of libraries, is.
//!
//! Owns the rule that a state runs one thing at a time: who takes it out, runs, and while
//! it is out there is none to take. No second one is made meanwhile, since what would be
//! compiled there would be lost with it. Redis stops the server where a script starts
//! another one (only DEBUG SET-DISABLE-DENY-SCRIPTS lets it try); this refuses it.
//! Invariant: the code that scripts and libraries have belongs to the state that is in the
//! seat or out of it. A seat that is emptied while its state is out stays taken until the
//! state comes back, and is dropped then: otherwise a script that empties its own seat could
//! start another one, and that another, until the native stack ends. With two seats, runs
//! nest two deep at most: a script calls a function, or a function a script.

use super::globals::Audience;
use super::sandbox::{Code, MEMORY_BYTES_MAX, Sandbox};
use keyward_commands::WireError;

/// The place of a Lua state.
#[derive(Debug, Default)]
pub struct Seat {
    state: Place,
    /// Code that nobody needs any more, given back when the state comes in.
    forgotten: Vec<Code>,
}

#[derive(Debug, Default)]
enum Place {
    /// Made when first needed.
    #[default]
    None,
    Here(Box<Sandbox>),
    Out,
    /// Out, and forgotten: dropped when it comes back.
    Condemned,
}

/// The state is out: a script needs the state it runs in.
#[derive(Clone, Copy, Debug)]
pub struct Busy;

impl Busy {
    /// What the script gets.
    pub const TEXT: &str = "Scripts can not be run or loaded from a script";
}

impl From<Busy> for WireError {
    fn from(_: Busy) -> WireError {
        WireError::Err(Busy::TEXT)
    }
}

impl Seat {
    /// The bytes Lua has allocated.
    pub fn used_bytes(&self) -> usize {
        match &self.state {
            Place::Here(sandbox) => sandbox.used_bytes(),
            Place::None | Place::Out | Place::Condemned => 0,
        }
    }

    /// The Lua state; [`Seat::put_back`] must follow.
    pub fn take(&mut self, audience: Audience, seed: u64) -> Result<Box<Sandbox>, Busy> {
        if matches!(self.state, Place::Out | Place::Condemned) {
            return Err(Busy);
        }
        match std::mem::replace(&mut self.state, Place::Out) {
            Place::Here(sandbox) => Ok(sandbox),
            _ => Ok(Box::new(Sandbox::new(audience, seed, MEMORY_BYTES_MAX))),
        }
    }

    /// Forgets the state and all its code; while it is out, once it is back.
    pub fn empty(&mut self) {
        self.forgotten.clear();
        self.state = match self.state {
            Place::None | Place::Here(_) => Place::None,
            Place::Out | Place::Condemned => Place::Condemned,
        };
    }

    /// Ends what [`Seat::take`] began. If the seat was emptied meanwhile, so that all code
    /// is gone, the state goes too.
    pub fn put_back(&mut self, mut sandbox: Box<Sandbox>) {
        if matches!(self.state, Place::Condemned) {
            self.state = Place::None;
            return;
        }
        for code in self.forgotten.drain(..) {
            sandbox.forget(code);
        }
        self.state = Place::Here(sandbox);
    }

    /// Gives code back to Lua.
    pub fn forget(&mut self, code: Code) {
        match &mut self.state {
            Place::Here(sandbox) => sandbox.forget(code),
            Place::Out => self.forgotten.push(code),
            Place::None | Place::Condemned => {}
        }
    }
}
