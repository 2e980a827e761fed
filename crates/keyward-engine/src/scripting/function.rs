//! FCALL, FCALL_RO and FUNCTION.
//!
//! Not here: what libraries are (`library`), FUNCTION DUMP's format (`keyward-rdb`).

use super::run::{Access, Program, ScriptCaller, input, run_program};
use crate::engine::context::{Ctx, Outcome};
use crate::engine::observers;
use crate::glob::{self, Case};
use crate::host::Activity;
use keyward_commands::{WireError, args};
use keyward_lua::{Audience, Busy, Library, OnConflict, declared_name, load};
use keyward_resp::ReplyWriter;

pub(crate) fn fcall(ctx: &mut Ctx<'_>) -> Outcome {
    call(ctx, Access::ReadWrite)
}

pub(crate) fn fcall_ro(ctx: &mut Ctx<'_>) -> Outcome {
    call(ctx, Access::ReadOnly)
}

fn call(ctx: &mut Ctx<'_>, access: Access) -> Outcome {
    observers::show(ctx);
    let scripts = &mut ctx.shared.scripts;
    let function = scripts.libraries.function(ctx.args.at(1));
    let function = function.ok_or(WireError::Err("Function not found"))?;
    let (name, code, flags) = (function.name.clone(), function.code, function.flags);
    let input = input(ctx.args, WireError::Err("Bad number of keys provided"))?;
    let mut sandbox = scripts.libraries.seat.take(Audience::Libraries, scripts.seed)?;
    let program = Program { code, name: &name, activity: Activity::Function, flags: Some(flags) };
    let outcome = run_program(ctx, &mut sandbox, program, input, access);
    ctx.shared.scripts.libraries.seat.put_back(sandbox);
    outcome
}

/// An error with the code that has no meaning of its own.
fn refusal(text: Vec<u8>) -> WireError {
    WireError::line(&[b"ERR ", &text])
}

pub(crate) fn function_load(ctx: &mut Ctx<'_>) -> Outcome {
    let last = ctx.args.len() - 1;
    let mut on_conflict = OnConflict::Refuse;
    for option in ctx.args.from(2).iter().take(last - 2) {
        if !args::is(option, "REPLACE") {
            return Err(WireError::line(&[b"ERR Unknown option given: ", option]));
        }
        on_conflict = OnConflict::Replace;
    }
    let source = ctx.args.at(last);
    let name = declared_name(source).map_err(refusal)?;
    if on_conflict == OnConflict::Refuse && ctx.shared.scripts.libraries.has(&name) {
        return Err(WireError::line(&[b"ERR Library '", &name, b"' already exists"]));
    }
    let library = load_library(ctx, source).map_err(refusal)?;
    ctx.shared.scripts.libraries.link(vec![library], on_conflict).map_err(refusal)?;
    ctx.keys.changes.dirty += 1;
    ctx.reply.bulk(&name);
    Ok(())
}

fn load_library(ctx: &mut Ctx<'_>, source: &[u8]) -> Result<Library, Vec<u8>> {
    let scripts = &mut ctx.shared.scripts;
    let seat = &mut scripts.libraries.seat;
    let taken = seat.take(Audience::Libraries, scripts.seed);
    let mut sandbox = taken.map_err(|Busy| Busy::TEXT)?;
    let mut caller = ScriptCaller::new(ctx, b"", Activity::LibraryLoad, Access::ReadOnly);
    let loaded = load(&mut sandbox, source, &mut caller);
    ctx.shared.scripts.libraries.seat.put_back(sandbox);
    loaded
}

/// Loads a library that was saved.
pub(crate) fn load_again(
    ctx: &mut Ctx<'_>,
    source: &[u8],
    on_conflict: OnConflict,
) -> Result<(), String> {
    let library = load_library(ctx, source);
    let linked =
        library.and_then(|library| ctx.shared.scripts.libraries.link(vec![library], on_conflict));
    linked.map_err(|text| String::from_utf8_lossy(&text).into_owned())
}

pub(crate) fn function_delete(ctx: &mut Ctx<'_>) -> Outcome {
    if !ctx.shared.scripts.libraries.remove(ctx.args.at(2)) {
        return Err(WireError::Err("Library not found"));
    }
    ctx.keys.changes.dirty += 1;
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn function_flush(ctx: &mut Ctx<'_>) -> Outcome {
    match ctx.args.len() {
        2 => {}
        3 if args::is(ctx.args.at(2), "SYNC") || args::is(ctx.args.at(2), "ASYNC") => {}
        3 => return Err(WireError::Err("FUNCTION FLUSH only supports SYNC|ASYNC option")),
        _ => return Err(WireError::subcommand_syntax(ctx.args)),
    }
    ctx.shared.scripts.remove_libraries();
    ctx.keys.changes.dirty += 1;
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn function_list(ctx: &mut Ctx<'_>) -> Outcome {
    let (mut with_code, mut pattern) = (false, None);
    let mut words = ctx.args.from(2).iter();
    while let Some(word) = words.next() {
        if !with_code && args::is(word, "WITHCODE") {
            with_code = true;
        } else if pattern.is_none() && args::is(word, "LIBRARYNAME") {
            let next = words.next();
            pattern = Some(next.ok_or(WireError::Err("library name argument was not given"))?);
        } else {
            return Err(WireError::line(&[b"ERR Unknown argument ", word]));
        }
    }
    let Ctx { shared, reply, .. } = ctx;
    let matches = |library: &&Library| {
        pattern.is_none_or(|pattern| glob::matches(pattern, &library.name, Case::Insensitive))
    };
    let libraries: Vec<&Library> = shared.scripts.libraries.iter().filter(matches).collect();
    reply.array(libraries.len());
    for library in libraries {
        write_library(library, with_code, reply);
    }
    Ok(())
}

fn write_library(library: &Library, with_code: bool, reply: &mut ReplyWriter<'_>) {
    reply.map(if with_code { 4 } else { 3 });
    reply.bulk(b"library_name");
    reply.bulk(&library.name);
    reply.bulk(b"engine");
    reply.bulk(b"LUA");
    reply.bulk(b"functions");
    reply.array(library.functions.len());
    for function in &library.functions {
        reply.map(3);
        reply.bulk(b"name");
        reply.bulk(&function.name);
        reply.bulk(b"description");
        match &function.description {
            Some(description) => reply.bulk(description),
            None => reply.null(),
        }
        reply.bulk(b"flags");
        reply.set(function.flags.iter().count());
        for flag in function.flags.iter() {
            reply.simple(flag.name());
        }
    }
    if with_code {
        reply.bulk(b"library_code");
        reply.bulk(&library.source);
    }
}

/// While a function runs, the host answers this (`running`): here none does.
pub(crate) fn function_stats(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.map(2);
    ctx.reply.bulk(b"running_script");
    ctx.reply.null();
    ctx.shared.scripts.write_engines(&mut ctx.reply);
    Ok(())
}

/// While a function runs, the host answers this (`running`): here none does.
pub(crate) fn function_kill(_: &mut Ctx<'_>) -> Outcome {
    Err(WireError::NotBusy)
}

pub(crate) fn function_dump(ctx: &mut Ctx<'_>) -> Outcome {
    let sources = ctx.shared.scripts.libraries.iter().map(|library| &library.source[..]);
    let payload = keyward_rdb::write_libraries(sources, ctx.shared.tunables.compresses);
    ctx.reply.bulk(&payload);
    Ok(())
}

/// What FUNCTION RESTORE does with the libraries there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    Flush,
    Keep(OnConflict),
}

pub(crate) fn function_restore(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() > 4 {
        return Err(WireError::subcommand_syntax(ctx.args));
    }
    let policy = match ctx.args.get(3) {
        None => Policy::Keep(OnConflict::Refuse),
        Some(word) if args::is(word, "APPEND") => Policy::Keep(OnConflict::Refuse),
        Some(word) if args::is(word, "REPLACE") => Policy::Keep(OnConflict::Replace),
        Some(word) if args::is(word, "FLUSH") => Policy::Flush,
        Some(_) => {
            return Err(WireError::Err(
                "Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            ));
        }
    };
    let sources = keyward_rdb::read_libraries(ctx.args.at(2)).map_err(payload_refusal)?;
    let mut loaded: Vec<Library> = Vec::new();
    for source in sources {
        let outcome = declared_name(&source).and_then(|name| {
            if loaded.iter().any(|library| library.name == name) {
                return Err([b"Library '", &name[..], b"' already exists"].concat());
            }
            let library = load_library(ctx, &source)?;
            let taken = library.functions.iter().find(|function| {
                let others = loaded.iter().flat_map(|other| &other.functions);
                others.into_iter().any(|other| other.name.eq_ignore_ascii_case(&function.name))
            });
            let refusal = taken.map(|it| [b"Function ", &it.name[..], b" already exists"].concat());
            match refusal {
                None => Ok(library),
                Some(refusal) => {
                    ctx.shared.scripts.libraries.forget(library);
                    Err(refusal)
                }
            }
        });
        match outcome {
            Ok(library) => loaded.push(library),
            Err(text) => {
                let libraries = &mut ctx.shared.scripts.libraries;
                loaded.into_iter().for_each(|library| libraries.forget(library));
                return Err(refusal(text));
            }
        }
    }
    let libraries = &mut ctx.shared.scripts.libraries;
    let on_conflict = match policy {
        Policy::Flush => {
            libraries.remove_all();
            OnConflict::Refuse
        }
        Policy::Keep(on_conflict) => on_conflict,
    };
    libraries.link(loaded, on_conflict).map_err(refusal)?;
    ctx.keys.changes.dirty += 1;
    ctx.reply.ok();
    Ok(())
}

/// What FUNCTION RESTORE says of a payload that is none.
fn payload_refusal(error: keyward_rdb::Error) -> WireError {
    use keyward_rdb::Error;
    WireError::Err(match error {
        Error::NotRdb | Error::Version(_) | Error::Checksum { .. } => {
            "DUMP payload version or checksum are wrong"
        }
        Error::Unsupported { .. } => "given type is not a function",
        _ => "Failed loading library payload",
    })
}

pub(crate) fn function_help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "LOAD [REPLACE] <FUNCTION CODE>",
        "    Create a new library with the given library name and code.",
        "DELETE <LIBRARY NAME>",
        "    Delete the given library.",
        "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
        "    Return general information on all the libraries:",
        "    * Library name",
        "    * The engine used to run the Library",
        "    * Library description",
        "    * Functions list",
        "    * Library code (if WITHCODE is given)",
        "    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
        "STATS",
        "    Return information about the current function running:",
        "    * Function name",
        "    * Command used to run the function",
        "    * Duration in MS that the function is running",
        "    If no function is running, return nil",
        "    In addition, returns a list of available engines.",
        "KILL",
        "    Kill the current running function.",
        "FLUSH [ASYNC|SYNC]",
        "    Delete all the libraries.",
        "    When called without the optional mode argument, the behavior is determined by the",
        "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
        "    * ASYNC: Asynchronously flush the libraries.",
        "    * SYNC: Synchronously flush the libraries.",
        "DUMP",
        "    Return a serialized payload representing the current libraries, can be restored using FUNCTION RESTORE command",
        "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
        "    Restore the libraries represented by the given payload, it is possible to give a restore policy to",
        "    control how to handle existing libraries (default APPEND):",
        "    * FLUSH: delete all existing libraries.",
        "    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
        "    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old",
        "      libraries with the new libraries (notice that even on this option there is a chance of failure",
        "      in case of functions name collision with another library).",
    ]);
    Ok(())
}
