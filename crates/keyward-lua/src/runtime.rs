//! What the functions of the libraries need besides their arguments: the running
//! script's caller, buffers that a long jump does not lose, the random numbers.
//!
//! Not here: the Lua state (`sandbox`), the interface to the engine (`caller`, `watch`).

use super::random::Random;
use super::registration::Registration;
use super::watch::Watch;
use keyward_resp::{ArgBuf, Protocol};

/// Buffers above this are given back after each run.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

/// What is going on in a Lua state.
#[derive(Debug, Default)]
pub(crate) enum Activity {
    /// Nothing.
    #[default]
    Idle,
    /// A script or function runs; its commands reply in this protocol.
    Script(Protocol),
    /// A library is being loaded and has registered these functions.
    Load(Vec<Registration>),
}

/// The world of a library function.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub activity: Activity,
    pub watch: Watch,
    /// The command a script is calling.
    pub command: ArgBuf,
    /// The reply to it.
    pub reply: Vec<u8>,
    /// Text under construction.
    pub(crate) scratch: Vec<u8>,
    pub random: Random,
}

impl Runtime {
    pub(crate) fn new(seed: u64) -> Runtime {
        Runtime {
            activity: Activity::Idle,
            watch: Watch::default(),
            command: ArgBuf::new(),
            reply: Vec::new(),
            scratch: Vec::new(),
            random: Random::new(seed as u32),
        }
    }

    /// Whether a script runs, as opposed to a library being loaded.
    pub(crate) fn is_in_script(&self) -> bool {
        matches!(self.activity, Activity::Script(_))
    }

    /// Ends what is going on, and returns what that was.
    pub(crate) fn end(&mut self) -> Activity {
        self.watch.caller.clear();
        for buffer in [&mut self.reply, &mut self.scratch] {
            buffer.clear();
            buffer.shrink_to(BUFFER_BYTES_KEPT);
        }
        std::mem::take(&mut self.activity)
    }
}
