//! HTTP beside the server: what it asks of the thread that serves.
//!
//! Owns its start. Its threads read figures that are published (`publishing`), and come as
//! clients do (`net/visitors.rs`) for everything else.

use crate::files::info_lines::Lines;
use crate::net::listen::bind_http;
use crate::net::selector::Alarm;
use crate::net::visitors::Visitors;
use crate::serve::error::ServeError;
use crate::serve::info::activity;
use crate::serve::publishing::Publishing;
use crate::serve::server::Server;
use crate::settings::table::Id;
use keyward_http::{Board, Hosts, Http, Settings};
use rustix::thread::Pid;
use std::io;
use std::os::unix::net::UnixStream;
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

/// Serves HTTP if the settings say where. Called by the thread that serves.
pub(crate) fn start(server: &Server) -> Result<Option<Http>, ServeError> {
    let core = &mut *server.core.borrow_mut();
    let place = core.host.settings.text(Id::Http);
    if place.is_empty() {
        return Ok(None);
    }
    let listener = bind_http(&place).map_err(|error| {
        tracing::warn!("Failed listening for HTTP on {place}, aborting.");
        ServeError::Listen(error)
    })?;
    let names = core.host.settings.text(Id::HttpHosts);
    let names = names.split(',').map(|name| name.trim().to_owned()).filter(|it| !it.is_empty());
    let settings = Settings { hosts: Hosts::new(names) };
    let (board, publisher) = Board::new();
    core.publishing = Some(Publishing::new(publisher));
    let way = Way {
        visitors: core.host.listeners.visitors(),
        alarm: core.host.alarm.clone(),
        main: rustix::thread::gettid(),
    };
    let http = Http::start(listener, settings, board, Box::new(way)).map_err(ServeError::Start)?;
    tracing::info!("Figures are served on http://{}/metrics", http.address());
    Ok(Some(http))
}
