//! HTTP beside the server: what it asks of the thread that serves.
//!
//! Owns its start. Its threads read figures that are published (`publishing`), and come as
//! clients do (`net/visitors.rs`) for everything else.

use crate::files::info_lines::Lines;
use crate::net::listen::bind_http;
use crate::net::selector::Alarm;
use crate::net::visitors::Visitors;
use crate::serve::core::Core;
use crate::serve::error::ServeError;
use crate::serve::info::activity;
use crate::serve::publishing::Publishing;
use crate::serve::server::Server;
use crate::settings::table::Id;
use keyward_http::{AlertLog, Board, Destination, Hosts, Http, Settings, Watch};
use rustix::thread::Pid;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

/// The way from HTTP's threads to the one that serves.
struct Way {
    visitors: Arc<Visitors>,
    alarm: Alarm,
    /// The thread that serves.
    main: Pid,
}

impl keyward_http::Server for Way {
    fn connect(&self) -> io::Result<UnixStream> {
        let stream = self.visitors.connect()?;
        self.alarm.ring();
        Ok(stream)
    }

    fn wake(&self) {
        self.alarm.ring();
    }

    fn processor_time(&self, text: &mut String) {
        activity::cpu(self.main, &mut Lines(text));
    }
}

/// Who observes the server, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    _http: Option<Http>,
    _watch: Option<Watch>,
}

/// Serves HTTP if the settings say where, and watches for alerts if there is a schema that can
/// declare some. Called by the thread that serves.
pub(crate) fn start(server: &Server, has_schemas: bool) -> Result<Observers, ServeError> {
    let core = &mut *server.core.borrow_mut();
    let place = core.host.settings.text(Id::Http);
    if place.is_empty() && !has_schemas {
        return Ok(Observers::default());
    }
    let (board, publisher) = Board::new();
    core.publishing = Some(Publishing::new(publisher));
    let way = Way {
        visitors: core.host.listeners.visitors(),
        alarm: core.host.alarm.clone(),
        main: rustix::thread::gettid(),
    };
    let alerts: Arc<AlertLog> = Arc::default();
    let watch = has_schemas.then(|| watch(core, &board, &alerts)).transpose()?;
    if place.is_empty() {
        return Ok(Observers { _http: None, _watch: watch });
    }
    let listener = bind_http(&place).map_err(|error| {
        tracing::warn!("Failed listening for HTTP on {place}, aborting.");
        ServeError::Listen(error)
    })?;
    let names = core.host.settings.text(Id::HttpHosts);
    let names = names.split(',').map(|name| name.trim().to_owned()).filter(|it| !it.is_empty());
    let settings = Settings { hosts: Hosts::new(names) };
    let http = Http::start(listener, settings, board, Arc::new(way), alerts);
    let http = http.map_err(ServeError::Start)?;
    tracing::info!(
        "The dashboard is on http://{0}/, metrics on http://{0}/metrics",
        http.address()
    );
    if !http.address().ip().is_loopback() {
        tracing::warn!(
            "HTTP on {} can be reached from other machines, and is not encrypted: put it behind \
             something that is",
            http.address()
        );
    }
    Ok(Observers { _http: Some(http), _watch: watch })
}

/// Watches for alerts.
fn watch(core: &Core, board: &Arc<Board>, alerts: &Arc<AlertLog>) -> Result<Watch, ServeError> {
    let webhook = core.host.settings.text(Id::AlertWebhook);
    let authorities = core.host.settings.text(Id::AlertWebhookAuthorities);
    let authorities = (!authorities.is_empty()).then(|| PathBuf::from(authorities));
    let webhook = match webhook.as_str() {
        "" => None,
        text => Some(Destination::new(text, authorities).map_err(|error| {
            // The address may hold a password, or be one.
            tracing::warn!("alert-webhook: {error}");
            ServeError::Start(io::Error::new(io::ErrorKind::InvalidInput, error))
        })?),
    };
    let alarm = core.host.alarm.clone();
    let (board, alerts) = (Arc::clone(board), Arc::clone(alerts));
    Watch::start(board, move || alarm.ring(), webhook, alerts).map_err(ServeError::Start)
}
