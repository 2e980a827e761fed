//! Libraries of functions that stand in files beside schemas, loaded together.
//!
//! Owns what of the libraries there are gives way to the files: those of the same name, and
//! those that a file has under another name now (the same code behind another first line).
//! So a function may move from one file to another, and a library may be renamed, whether
//! the server runs (SIGHUP, KEYWARD SCHEMA APPLY) or starts over what its log holds.
//! Invariant: all files are loaded or none, by one FUNCTION RESTORE.
//! Not here: reading the files (the host), libraries whose file is gone, which stay.

use crate::engine::shared::Shared;
use crate::governed::follow_up;
use crate::host::{Host, Library};
use crate::sessions::session::Session;
use crate::tunables::Tunables;
use keyward_lua::{LogLevel, declared_name};
use keyward_resp::ArgBuf;
use keyward_schema::escape;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

/// What FUNCTION RESTORE is to do.
pub(crate) struct Restoration<'a> {
    /// The files, each once: schemas of one folder share theirs.
    files: Vec<&'a Library>,
    pub(crate) payload: Vec<u8>,
    pub(crate) policy: &'static [u8],
    /// Libraries that a file has under another name: what they were and are called.
    renamed: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Restoration<'a> {
    pub(crate) fn of(shared: &Shared, libraries: &'a [Library]) -> Restoration<'a> {
        let mut files: Vec<&Library> = Vec::new();
        for library in libraries {
            if !files.contains(&library) {
                files.push(library);
            }
        }
        let names: Vec<Option<Vec<u8>>> =
            files.iter().map(|file| declared_name(&file.code).ok()).collect();
        let mut renamed = Vec::new();
        let mut kept = Vec::new();
        for (name, source) in shared.scripts.library_sources() {
            if names.iter().flatten().any(|declared| declared == name) {
                continue;
            }
            let same = files.iter().position(|file| body(&file.code) == body(source));
            match same.and_then(|place| names[place].clone()) {
                Some(now) => renamed.push((name.to_vec(), now)),
                None => kept.push(source),
            }
        }
        let sources = files.iter().map(|file| &file.code[..]);
        // REPLACE leaves those of other names where they are, FLUSH takes them along.
        let (policy, payload) = if renamed.is_empty() {
            (&b"REPLACE"[..], keyward_rdb::write_libraries(sources, false))
        } else {
            let all: Vec<&[u8]> = kept.into_iter().chain(sources).collect();
            (&b"FLUSH"[..], keyward_rdb::write_libraries(all.into_iter(), false))
        };
        Restoration { files, payload, policy, renamed }
    }

    /// Tells what was done beyond what the files say.
    pub(crate) fn tell(&self, host: &mut dyn Host) {
        for (old, new) in &self.renamed {
            let [old, new] = [old, new].map(|name| String::from_utf8_lossy(name));
            let line = format!("the library {old} is called {new} now, and has the same code");
            host.log(LogLevel::Notice, line.as_bytes());
        }
    }

    /// What is wrong with the files, by the error that FUNCTION RESTORE gave: which of them
    /// it is about, and the way out if a function is another library's.
    pub(crate) fn problem(&self, shared: &Shared, host: &mut dyn Host, error: &[u8]) -> String {
        let error = String::from_utf8_lossy(error).trim_end().to_owned();
        // Each is loaded by itself, where there is nothing else.
        let mut keys = Keyspace::new(1, 0);
        let mut trial = Shared::new(&mut keys, shared.handlers, 0, Tunables::default());
        let mut nobody = Session::new(ClientId(0), 0, true);
        for Library { name, code } in &self.files {
            let load: ArgBuf = [&b"FUNCTION"[..], b"LOAD", code].iter().collect();
            let loaded = follow_up(&mut keys, &mut trial, &mut nobody, host, 0, load.args());
            if let Err(problem) = loaded {
                let problem = String::from_utf8_lossy(&problem.text()).into_owned();
                return format!("{}: {}", escape(name), problem.trim_end());
            }
        }
        // They do not stand in each other's way: a library that no file has does.
        let function = error.strip_prefix("ERR Function ");
        let function = function.and_then(|rest| rest.strip_suffix(" already exists"));
        let Some(function) = function else { return error };
        let Some(holder) = shared.scripts.library_with(function.as_bytes()) else { return error };
        let holder = String::from_utf8_lossy(holder);
        let ours = trial.scripts.library_with(function.as_bytes());
        let is_it = |file: &&&Library| declared_name(&file.code).ok().as_deref() == ours;
        let file = self.files.iter().find(is_it).map_or("", |file| &file.name);
        format!(
            "{}: {function} is a function of the library {holder} already, which no file has; \
             rename one of the two, or take the file away until FUNCTION DELETE {holder} has \
             removed that library",
            escape(file)
        )
    }
}

/// The code of a library without the line that names it.
fn body(source: &[u8]) -> &[u8] {
    let end = source.iter().position(|byte| *byte == b'\n');
    end.map_or(b"", |end| &source[end..])
}
