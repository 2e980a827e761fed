//! Function libraries: what FUNCTION LOAD has loaded.
//!
//! Owns the libraries, the functions by name, and their Lua state. Invariants: a
//! function's name, in any case, belongs to one library; a change that fails changes
//! nothing, except that a library being replaced must make room while the new one is
//! judged.
//! Not here: the commands and the format of dumps (`scripting` of the engine).

use super::caller::Caller;
use super::flags::{ScriptFlags, read_library};
use super::registration::{NAME_RULE, is_name};
use super::sandbox::{Code, Sandbox};
use super::seat::Seat;
use std::collections::BTreeMap;

/// A function of a library.
#[derive(Debug)]
pub struct Function {
    /// What FCALL calls it.
    pub name: Vec<u8>,
    /// What its library says of it.
    pub description: Option<Vec<u8>>,
    /// What it declares.
    pub flags: ScriptFlags,
    /// Its code.
    pub code: Code,
}

/// A library.
#[derive(Debug)]
pub struct Library {
    /// What its first line calls it.
    pub name: Vec<u8>,
    /// What was loaded, its first line included.
    pub source: Vec<u8>,
    /// What it registered.
    pub functions: Vec<Function>,
}

/// What to do about a library of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave it, and load nothing.
    Refuse,
    /// Put the new one in its place.
    Replace,
}

/// All libraries.
#[derive(Debug, Default)]
pub struct Libraries {
    by_name: BTreeMap<Vec<u8>, Library>,
    /// From a function's name in lower case to its library's.
    owners: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Where their Lua state is.
    pub seat: Seat,
}

/// A text for the client, without its code.
pub(crate) type Refusal = Vec<u8>;

impl Libraries {
    /// All libraries, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Library> {
        self.by_name.values()
    }

    /// How many functions they have.
    pub fn function_count(&self) -> usize {
        self.by_name.values().map(|library| library.functions.len()).sum()
    }

    /// The bytes Lua has allocated.
    pub fn used_bytes(&self) -> usize {
        self.seat.used_bytes()
    }

    /// A function by its name, in any case.
    pub fn function(&self, name: &[u8]) -> Option<&Function> {
        let name = name.to_ascii_lowercase();
        let library = self.by_name.get(self.owners.get(&name)?)?;
        library.functions.iter().find(|function| function.name.eq_ignore_ascii_case(&name))
    }

    /// The name of the library that has a function of this name, in any case.
    pub fn owner(&self, function: &[u8]) -> Option<&[u8]> {
        self.owners.get(&function.to_ascii_lowercase()).map(Vec::as_slice)
    }

    /// Adds libraries, all or none.
    pub fn link(&mut self, new: Vec<Library>, on_conflict: OnConflict) -> Result<(), Refusal> {
        if on_conflict == OnConflict::Refuse
            && let Some(library) = new.iter().find(|new| self.by_name.contains_key(&new.name))
        {
            let refusal = [b"Library ", &library.name[..], b" already exists"].concat();
            return self.refuse(new, refusal);
        }
        let is_replaced = |owner: &Vec<u8>| new.iter().any(|library| library.name == *owner);
        let taken = new.iter().flat_map(|library| &library.functions).find(|function| {
            let owner = self.owners.get(&function.name.to_ascii_lowercase());
            owner.is_some_and(|owner| !is_replaced(owner))
        });
        if let Some(function) = taken {
            let refusal = [b"Function ", &function.name[..], b" already exists"].concat();
            return self.refuse(new, refusal);
        }
        for library in new {
            self.remove(&library.name);
            for function in &library.functions {
                self.owners.insert(function.name.to_ascii_lowercase(), library.name.clone());
            }
            self.by_name.insert(library.name.clone(), library);
        }
        Ok(())
    }

    fn refuse(&mut self, new: Vec<Library>, refusal: Refusal) -> Result<(), Refusal> {
        new.into_iter().for_each(|library| self.forget(library));
        Err(refusal)
    }

    /// Removes a library; returns whether there was one.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let Some(library) = self.by_name.remove(name) else { return false };
        self.owners.retain(|_, owner| owner != name);
        self.forget(library);
        true
    }

    /// Removes all libraries, and the Lua state with them.
    pub fn flush(&mut self) {
        self.owners.clear();
        self.by_name.clear();
        self.seat.empty();
    }

    /// Removes all libraries, but keeps the Lua state.
    pub fn remove_all(&mut self) {
        self.owners.clear();
        for library in std::mem::take(&mut self.by_name).into_values() {
            self.forget(library);
        }
    }

    /// Whether there is a library of this name.
    pub fn has(&self, name: &[u8]) -> bool {
        self.by_name.contains_key(name)
    }

    /// Gives the code of a library's functions back to Lua.
    pub fn forget(&mut self, library: Library) {
        for function in library.functions {
            self.seat.forget(function.code);
        }
    }
}

/// The name of the library that a source declares, or what is wrong with its head.
pub fn declared_name(source: &[u8]) -> Result<Vec<u8>, Refusal> {
    let head = read_library(source)?;
    if !is_name(&head.name) {
        return Err(NAME_RULE.into());
    }
    if !head.engine.eq_ignore_ascii_case(b"lua") {
        return Err([b"Engine '", &head.engine[..], b"' not found"].concat());
    }
    Ok(head.name)
}

/// Compiles a library and lets it register its functions.
pub fn load(
    sandbox: &mut Sandbox,
    source: &[u8],
    caller: &mut dyn Caller,
) -> Result<Library, Refusal> {
    let head = read_library(source)?;
    let code = sandbox
        .compile(head.code, c"@user_function")
        .map_err(|text| [b"Error compiling function: ", &text[..]].concat())?;
    let functions = sandbox.load(code, caller);
    sandbox.forget(code);
    let functions =
        functions.map_err(|text| [b"Error registering functions: ", &text[..]].concat())?;
    if functions.is_empty() {
        return Err(b"No functions registered".to_vec());
    }
    Ok(Library { name: head.name, source: source.to_vec(), functions })
}
