//! The scripts of EVAL, by their SHA-1.
//!
//! Owns the cache. It lives until SCRIPT FLUSH, which also makes a new Lua state.
//! Invariant: the code of the cache belongs to the state in its seat; they only go together.

use keyward_commands::WireError;
use keyward_lua::{Audience, Code, ScriptFlags, Seat, read_script};
use std::collections::BTreeMap;

/// A script's name: its SHA-1 in hexadecimal digits.
pub(crate) type Sha = [u8; 40];

/// A script of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) code: Code,
    pub(crate) flags: Option<ScriptFlags>,
}

/// The scripts of EVAL.
#[derive(Debug, Default)]
pub(crate) struct ScriptCache {
    pub(crate) scripts: BTreeMap<Sha, Script>,
    pub(crate) seat: Seat,
}

impl ScriptCache {
    pub(crate) fn len(&self) -> usize {
        self.scripts.len()
    }

    /// The bytes Lua has allocated.
    pub(crate) fn used_bytes(&self) -> usize {
        self.seat.used_bytes()
    }

    /// Forgets all scripts, and the Lua state with them.
    pub(crate) fn flush(&mut self) {
        self.scripts.clear();
        self.seat.empty();
    }

    /// The flags a script declares, whether it is in the cache or not.
    pub(crate) fn flags_of(&self, body: &[u8]) -> Option<ScriptFlags> {
        read_script(body).ok().and_then(|(flags, _)| flags)
    }

    /// The flags the script with this name declares.
    pub(crate) fn flags_by_name(&self, name: &[u8]) -> Option<ScriptFlags> {
        self.scripts.get(&sha_argument(name)?).and_then(|script| script.flags)
    }

    /// The script with this name, compiled now if it is new.
    pub(crate) fn define(
        &mut self,
        seed: u64,
        sha: &Sha,
        body: &[u8],
    ) -> Result<Script, WireError> {
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

/// An argument that may be a script's name, in any case.
pub(crate) fn sha_argument(argument: &[u8]) -> Option<Sha> {
    let sha = Sha::try_from(argument).ok()?;
    Some(sha.map(|digit| digit.to_ascii_lowercase()))
}
