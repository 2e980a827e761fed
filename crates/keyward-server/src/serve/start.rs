//! The start of a server, and its whole life.
//!
//! Owns the order in which a server is set up, before the first client comes, and which jobs
//! it has. What cannot start says why.

use crate::clock;
use crate::files::schemas::{self, Functions, SchemaError, ServedSchema, without_repeats};
use crate::net::listen::Listeners;
use crate::net::selector::Selector;
use crate::net::wire::Wire;
use crate::process::log::LogControl;
use crate::process::pid_file::PidFile;
use crate::process::signals::Signals;
use crate::process::supervisor::{Phase, Supervisor};
use crate::process::{daemon, descriptors, log};
use crate::serve::core::Core;
use crate::serve::door::{Companion, Door};
use crate::serve::error::ServeError;
use crate::serve::event_loop::EventLoop;
use crate::serve::host::ServerHost;
use crate::serve::sending::files::send_written;
use crate::serve::server::{Parts, Server};
use crate::serve::{
    errands, http, leisure, link, loading, preparing, reading, saving, shutdown, void_rules,
};
use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_engine::{Acceptance, Engine, Host as _};
use keyward_schema::Evict;
use keyward_tls::Configuration;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::{Arc, Once};

/// Serves until SIGTERM or SIGINT. `log` is told when its level changes; the companion is started
/// beside the server.
pub(crate) fn run(
    mut settings: Settings,
    schemas: Vec<ServedSchema>,
    log: Option<LogControl>,
    companion: Option<Companion>,
) -> Result<(), ServeError> {
    abort_on_panic();
    let selector = Selector::new().map_err(ServeError::Start)?;
    let watcher = || selector.watcher().map_err(ServeError::Start);
    let signals = Signals::hear(&watcher()?).map_err(ServeError::Start)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!("keyward {version} starts, PID: {}", std::process::id());
    let supervisor = Supervisor::find(&settings);
    supervisor.tell(Phase::Loading);
    let alarm = selector.alarm().map_err(ServeError::Start)?;
    let tls = settings.tls().map(|options| Configuration::read(&options)).transpose();
    let tls = tls.map_err(|error| {
        tracing::warn!("{error}");
        tracing::warn!("Failed to configure TLS. Check logs for more info.");
        ServeError::Tls(error)
    })?;
    let listeners = Listeners::bind(&settings, watcher()?, alarm.clone()).map_err(|error| {
        tracing::warn!("Failed listening on port {}, aborting.", settings.int(Id::Port));
        ServeError::Listen(error)
    })?;
    let config = tls.as_ref().map(|tls| Arc::clone(&tls.server));
    listeners.configure_tls(config).map_err(ServeError::Start)?;
    let pid_file =
        settings.pid_file(daemon::is_wanted(&settings)).and_then(|path| PidFile::write(&path));
    descriptors::provide(&mut settings);
    let wire = Wire::new(watcher()?);
    let seed = RandomState::new().hash_one(clock::now_us());
    let server = Server::new(Parts { settings, log, listeners, tls, wire, alarm, seed })?;
    let server = Rc::new(server);
    let owned = server.core.borrow_mut().host.own_data_in_force();
    owned.map_err(|error| {
        tracing::warn!("{error}, aborting.");
        ServeError::Locked(error)
    })?;
    server.core.borrow_mut().host.supervisor = Rc::new(supervisor);
    declare_users(&mut server.core.borrow_mut())?;
    let has_schemas = !schemas.is_empty();
    server.core.borrow_mut().host.readings.files = schemas::files(&schemas);
    for served in &schemas {
        let host = &mut server.core.borrow_mut().host;
        host.asks.note_schema(served.db, &served.schema, &host.settings);
    }
    let functions = {
        let Core { engine, host, .. } = &mut *server.core.borrow_mut();
        let (mut expected, functions) = schemas::expect(engine, schemas)?;
        expected.observes = host.settings.is_on(Id::Observe);
        let accepted = host.settings.accepted();
        for word in Acceptance::unread(accepted.iter().map(String::as_str)) {
            tracing::warn!(
                "accept: behind DESTROY stands how many rows and entries may be destroyed, which \
                 is no number here: {word}"
            );
        }
        expected.accepted = Acceptance::read(accepted.iter().map(String::as_str));
        engine.expect_schemas(expected);
        functions
    };
    follow_by_settings(&mut server.core.borrow_mut());
    let observers = http::start(&server, has_schemas)?;
    if let Some(companion) = companion {
        companion(Door::of(&server.core.borrow())).map_err(ServeError::Start)?;
    }
    let mut event_loop = EventLoop::new(Rc::clone(&server), selector, Some(signals));
    event_loop.begin(leisure::use_leisure(Rc::clone(&server)));
    event_loop.begin(send_written(Rc::clone(&server)));
    event_loop.begin(start(Rc::clone(&server), functions));
    event_loop.begin(reading::read_proposals(Rc::clone(&server)));
    event_loop.begin(reading::read_told(Rc::clone(&server)));
    event_loop.begin(preparing::prepare(Rc::clone(&server)));
    event_loop.begin(errands::hand_over_answers(Rc::clone(&server)));
    event_loop.begin(link::keep_link(Rc::clone(&server)));
    event_loop.begin(reading::reload_when_told(Rc::clone(&server)));
    let outcome = event_loop.run();
    drop(event_loop);
    drop(observers);
    if let Err(error) = outcome {
        tracing::error!(%error, "stopping: cannot watch the sockets");
    }
    shutdown::end(&server);
    // The last line of a server that could not start says why.
    if server.failure.borrow().is_none() {
        pid_file.into_iter().for_each(PidFile::remove);
    }
    shutdown::leave(&server)
}

/// Follows the server that the settings name, if they do.
fn follow_by_settings(core: &mut Core) {
    if let Some((name, port)) = core.host.settings.primary() {
        core.engine.set_time(core.host.clock.now_us());
        core.engine.follow_from_start(&mut core.host, &name, port);
    }
}

/// Takes the users of the settings, or of their file.
fn declare_users(core: &mut Core) -> Result<(), ServeError> {
    let Core { engine, host, .. } = core;
    let failed = |error| {
        tracing::warn!("{error}");
        ServeError::Users(error)
    };
    if host.settings.users_file().is_some() && host.settings.users().next().is_some() {
        let text = "users are declared both in the settings and in an ACL file (aclfile): declare them in one of these, not in both";
        return Err(failed(text.to_owned()));
    }
    for (name, rules) in host.settings.users() {
        let is_enabled = engine.declare_user(name, &rules).map_err(failed)?;
        if !is_enabled {
            let name = String::from_utf8_lossy(name);
            tracing::info!(
                "The user '{name}' is disabled (there is no 'on' modifier in the user description). Make sure this is not a configuration error."
            );
        }
    }
    let aborting = |errors| failed(format!("Aborting startup because of ACL errors: {errors}"));
    engine.load_users(host).map_err(aborting)?;
    tell_void_password(engine, host);
    Ok(())
}

/// Says that `requirepass` has no effect, if it has none: a file of users declares `default`
/// anew, also where it does not name it. Redis keeps silent.
fn tell_void_password(engine: &Engine, host: &ServerHost) {
    let password = host.settings.text(Id::RequirePass);
    let Some((file, _)) = host.settings.users_file().filter(|_| !password.is_empty()) else {
        return;
    };
    if engine.default_user_has_password(password.as_bytes()) {
        return;
    }
    let instead =
        if engine.is_open() { "needs no password" } else { "has another password, or none" };
    tracing::warn!(
        "requirepass has no effect beside aclfile: the user default is that of {file}, who \
         {instead}"
    );
}

/// Ends the process when an invariant is broken, on whichever thread: an embedding program
/// may be built to unwind, and would go on with an engine nobody can vouch for. The message
/// goes to the log too: a server in the background has no standard error.
fn abort_on_panic() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            log::write_panic(panic);
            std::process::abort();
        }));
    });
}

/// Loads what there is, then looks after files for ever.
pub(crate) async fn start(server: Rc<Server>, functions: Vec<(usize, Functions)>) {
    if let Err(error) = load(&server, functions).await {
        *server.failure.borrow_mut() = Some(error);
        server.core.borrow_mut().host.must_stop = true;
        return;
    }
    {
        let Core { engine, host, .. } = &*server.core.borrow();
        let (place, databases) = (host.listeners.describe(), host.settings.int(Id::Databases));
        let governed = schemas::describe(engine);
        tracing::info!("Ready to accept connections on {place}, {databases} databases, {governed}");
    }
    tell_guard(&server.core.borrow());
    tell_evictable(&server.core.borrow());
    void_rules::begin(&mut server.core.borrow_mut());
    {
        let host = &server.core.borrow().host;
        host.supervisor.tell(Phase::Ready);
        host.readings.is_ready.give();
        host.link.changed.give();
    }
    saving::keep_files(server).await;
}

/// Says what guards the server, if others than this machine can reach it.
fn tell_guard(Core { engine, host, .. }: &Core) {
    let [plain, tls] = host.listeners.exposed();
    let wants_certificate = host.settings.choice(Id::TlsAuthClients) == "yes";
    for (addresses, wants_certificate) in [(plain, false), (tls, wants_certificate)] {
        if addresses.is_empty() {
            continue;
        }
        let places: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let places = places.join(", ");
        let open = engine.users_without_password();
        let by = match host.settings.users_file() {
            Some((file, _)) => format!("a line for it in {file}"),
            None => "requirepass".to_owned(),
        };
        if host.settings.is_on(Id::ProtectedMode) && engine.needs_no_password() {
            tracing::info!(
                "On {places} protected mode turns away who is not of this machine, whatever \
                 user they name, until the user default needs a password ({by}) or \
                 protected-mode is no"
            );
        } else if wants_certificate {
            tracing::info!("On {places} clients are served who show a certificate");
        } else if engine.is_open() {
            tracing::warn!(
                "Nothing guards {places}: whoever reaches it is served without a password. Set \
                 requirepass, or bind to 127.0.0.1, or protected-mode to yes"
            );
        } else if !open.is_empty() {
            tracing::warn!(
                "On {places} clients are served who name a user; without a password: {}",
                open.join(", ")
            );
        } else {
            tracing::info!("On {places} clients are served who give a password");
        }
    }
}

/// Says that rows can be evicted all the same, if `maxmemory-policy` is `noeviction`: patterns go
/// by their schema.
fn tell_evictable(Core { engine, host, .. }: &Core) {
    let is_asked = host.settings.bytes(Id::MaxMemory) > 0
        && host.settings.choice(Id::MaxMemoryPolicy) == "noeviction";
    if !is_asked {
        return;
    }
    let count: usize = engine
        .books()
        .map(|(_, book)| {
            let goes = |id| !book.observes(id) && book.schema().key(id).evict != Evict::Never;
            book.schema().ids().filter(|id| goes(*id)).count()
        })
        .sum();
    if count > 0 {
        let patterns = if count == 1 { "pattern" } else { "patterns" };
        tracing::info!(
            "maxmemory-policy noeviction is about keys without a pattern: beyond maxmemory rows \
             of {count} {patterns} can be evicted, as the schemas say (evict)"
        );
    }
}

async fn load(server: &Rc<Server>, functions: Vec<(usize, Functions)>) -> Result<(), ServeError> {
    loading::load(server).await?;
    let Core { engine, host, .. } = &mut *server.core.borrow_mut();
    engine.set_time(host.clock.now_us());
    host.functions = functions;
    // A replica has the libraries of its primary.
    match engine.primary() {
        Some(_) => Ok(()),
        None => Ok(load_libraries(engine, host)?),
    }
}

/// Loads the libraries of all schemas together, in place of what a snapshot or a log had of
/// them.
fn load_libraries(engine: &mut Engine, host: &mut ServerHost) -> Result<(), SchemaError> {
    let databases: BTreeSet<usize> = host.functions.iter().map(|(db, _)| *db).collect();
    let mut libraries = Vec::new();
    for db in databases {
        libraries.extend(host.libraries(db).map_err(SchemaError::Unreadable)?);
    }
    let libraries = without_repeats(libraries);
    engine.load_libraries(host, &libraries).map_err(SchemaError::Libraries)?;
    schemas::tell_functions(engine);
    Ok(())
}
