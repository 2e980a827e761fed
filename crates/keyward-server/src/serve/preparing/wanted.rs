//! What is to be read for commands that wait, and what came of it.

use crate::files::users::UsersFile;
use crate::serve::agenda::{Agenda, Notice};
use keyward_engine::{ClientId, UsersRead, UsersReader};
use keyward_tls::{Configuration, Options, TlsError};
use std::collections::VecDeque;
use std::rc::Rc;

/// How many commands may wait: more come only while a file keeps its reader waiting.
const WANTED_MAX: usize = 128;

/// Why a command may not wait as well.
pub(crate) const TOO_MANY: &str = "too many commands wait for files to be read";

/// What a command waits for.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// Certificates and keys.
    Tls(Box<Options>),
    /// The file of users.
    Users(UsersFile, UsersReader),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// Of these options.
    Tls(Box<Options>, Result<Configuration, TlsError>),
    Users(Result<UsersRead, String>),
}

impl Wanted {
    /// Reads it, on whichever thread.
    pub(super) fn read(self) -> Prepared {
        match self {
            Wanted::Tls(options) => {
                let read = Configuration::read(&options);
                Prepared::Tls(options, read)
            }
            Wanted::Users(file, reader) => Prepared::Users(file.read(reader)),
        }
    }
}

/// What is to be read, in order, and what was read last.
#[derive(Debug)]
pub(crate) struct Preparations {
    wanted: VecDeque<(ClientId, Wanted)>,
    read: Option<(ClientId, Prepared)>,
    /// Told when something is wanted.
    pub(super) notice: Rc<Notice>,
}

impl Preparations {
    pub(crate) fn new(agenda: &Rc<Agenda>) -> Preparations {
        let notice = Rc::new(Notice::new(agenda));
        Preparations { wanted: VecDeque::new(), read: None, notice }
    }

    /// A client's command waits for this, and for nothing that it wanted before it was
    /// unblocked; whether it may.
    pub(crate) fn want(&mut self, client: ClientId, wanted: Wanted) -> bool {
        self.wanted.retain(|(of, _)| *of != client);
        if self.is_full() {
            return false;
        }
        self.wanted.push_back((client, wanted));
        self.notice.give();
        true
    }

    /// Whether no further command may wait.
    pub(crate) fn is_full(&self) -> bool {
        self.wanted.len() >= WANTED_MAX
    }

    /// Whether a client waits for something that is not being read yet.
    pub(super) fn is_wanted_by(&self, client: ClientId) -> bool {
        self.wanted.iter().any(|(of, _)| *of == client)
    }

    pub(super) fn next(&mut self) -> Option<(ClientId, Wanted)> {
        self.wanted.pop_front()
    }

    pub(super) fn put(&mut self, client: ClientId, prepared: Prepared) {
        self.read = Some((client, prepared));
    }

    /// What was read for a client, once.
    pub(crate) fn take(&mut self, client: ClientId) -> Option<Prepared> {
        self.read.take_if(|(of, _)| *of == client).map(|(_, prepared)| prepared)
    }
}
