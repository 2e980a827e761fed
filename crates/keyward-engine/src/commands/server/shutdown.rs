//! What SHUTDOWN asks for.

use keyward_commands::{WireError, args};
use keyward_resp::Args;

/// What SHUTDOWN asks for.
pub(crate) struct Shutdown {
    pub(crate) is_abort: bool,
    pub(crate) saves: bool,
    pub(crate) is_without_save: bool,
    pub(crate) is_forced: bool,
    /// Replicas are not waited for.
    pub(crate) is_now: bool,
}

impl Shutdown {
    pub(crate) fn parse(args: Args<'_>) -> Result<Shutdown, WireError> {
        let words = args.from(1);
        let has = |word: &str| words.iter().any(|argument| args::is(argument, word));
        let shutdown = Shutdown {
            is_abort: has("ABORT"),
            saves: has("SAVE"),
            is_without_save: has("NOSAVE"),
            is_forced: has("FORCE"),
            is_now: has("NOW"),
        };
        let known = ["NOSAVE", "SAVE", "NOW", "FORCE", "ABORT"];
        let is_known = |argument: &[u8]| known.iter().any(|word| args::is(argument, word));
        let contradicts = shutdown.saves && shutdown.is_without_save
            || shutdown.is_abort && !words.iter().all(|argument| args::is(argument, "ABORT"));
        if !words.iter().all(is_known) || contradicts {
            return Err(WireError::Syntax);
        }
        Ok(shutdown)
    }
}
