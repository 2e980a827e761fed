//! The connection to PostgreSQL.
//!
//! Owns where the database is and how one comes to it: an address as libpq writes it, what a
//! service file and the environment say besides, a password of the environment or of a password
//! file. Invariant: no message of this module has a password or the address in it, which may hold
//! one.

mod address;
mod hosts;
mod password;
mod service;
mod tls;

use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use service::Service;
use tls::{Mode, Tls};

/// Where a server on this machine has its socket, on Debian and its kin.
const SOCKET_DIRECTORY: &str = "/var/run/postgresql";

/// How a session writes values, whatever the database or the role has as its default: as they are
/// read here.
const WRITING: &str = "SET DateStyle = 'ISO, YMD'; SET extra_float_digits = 1; \
    SET bytea_output = 'hex'; SET standard_conforming_strings = on";
/// How long the database may take to let a client in, unless `connect_timeout` says so; and to be
/// reached, as a part of that.
const PATIENCE: Duration = Duration::from_secs(20);
const REACHING: Duration = Duration::from_secs(10);

/// Why the database could not be used.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// The address cannot be read.
    #[error(
        "the address of the database cannot be read, or has a setting that is not known here: it is written postgres://USER@HOST:PORT/NAME, or host=… user=… dbname=…"
    )]
    Address,
    /// It has a setting that is not known here.
    #[error("the address of the database has the setting {0}, which is not known here")]
    Setting(&'static str),
    /// Nobody could be connected to, or the connection was refused.
    #[error("cannot connect to the database: {0}")]
    Connection(String),
    /// A statement failed.
    #[error("{0}")]
    Statement(String),
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> DatabaseError {
        DatabaseError::Statement(in_one_sentence(&error))
    }
}

/// Where the database is.
#[derive(Clone, Debug)]
pub struct Database {
    config: Config,
    /// How long each of its hosts may take to let a client in.
    patience: Duration,
    /// Whether the name in the database's certificate has to be that of the address.
    checks_name: bool,
    /// The file of authorities that are believed; the system's where there is none.
    authority_file: Option<PathBuf>,
    /// The password file that is not used, since others may read it.
    open_file: Option<PathBuf>,
}

impl Database {
    /// Reads an address, `postgres://user@host/name` or `host=… user=…`. What it leaves open the
    /// service says that it names (`service=…`), or `PGSERVICE`; what that leaves open comes from
    /// the variables that libpq reads (`PGHOST`, `PGPORT`, `PGDATABASE`, `PGUSER`, `PGSSLMODE`,
    /// `PGPASSWORD` and so on) and the file that `PGPASSFILE` names, `~/.pgpass` unless given. A
    /// host that nobody names is the socket where Debian has it, as for psql.
    ///
    /// # Errors
    /// If it cannot be read, or the service cannot.
    pub fn at(address: &str) -> Result<Database, DatabaseError> {
        let (address, named) = address::take(address, "service");
        let (address, mode) = address::take(&address, "sslmode");
        let (address, authority) = address::take(&address, "sslrootcert");
        let (address, password_file) = address::take(&address, "passfile");
        let mut config: Config = address.parse().map_err(|_| unreadable(&address))?;
        let mut service = Service::of(named).map_err(DatabaseError::Connection)?;
        let mode = match mode.or_else(|| service.take("sslmode")) {
            Some(mode) => (mode, "sslmode"),
            None => (std::env::var("PGSSLMODE").unwrap_or_default(), "PGSSLMODE"),
        };
        let mode = tls::mode_of(&mode.0, mode.1).map_err(DatabaseError::Connection)?;
        let Mode { is_encrypted, checks_name } = mode;
        let authority = authority.or_else(|| service.take("sslrootcert")).map(PathBuf::from);
        let authority = authority.or_else(|| std::env::var_os("PGSSLROOTCERT").map(PathBuf::from));
        // libpq's word for those of the system.
        let authority_file = authority.filter(|file| file.as_os_str() != "system");
        let password_file = password_file.or_else(|| service.take("passfile"));
        // What both say counts as the address says it.
        ["sslmode", "sslrootcert", "passfile"].iter().for_each(|name| drop(service.take(name)));
        service.complete(&mut config).map_err(DatabaseError::Connection)?;
        Service::of_environment().complete(&mut config).map_err(DatabaseError::Connection)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            match Path::new(SOCKET_DIRECTORY).is_dir() {
                true => config.host_path(SOCKET_DIRECTORY),
                false => config.host("localhost"),
            };
        }
        config.ssl_mode(match is_encrypted {
            Some(true) => SslMode::Require,
            Some(false) => SslMode::Disable,
            None => SslMode::Prefer,
        });
        if config.get_user().is_none()
            && let Ok(user) = std::env::var("USER")
        {
            config.user(user);
        }
        let mut open_file = None;
        if config.get_password().is_none() {
            match password::of_environment(&config, password_file) {
                Ok(Some(password)) => drop(config.password(password)),
                Ok(None) => {}
                Err(password::Open(file)) => open_file = Some(file),
            }
        }
        let said = config.get_connect_timeout().copied().filter(|said| !said.is_zero());
        let patience = said.unwrap_or(PATIENCE);
        if said.is_none() {
            config.connect_timeout(REACHING);
        }
        config.application_name("keyward");
        Ok(Database { config, patience, checks_name, authority_file, open_file })
    }

    /// Connects, by TLS if the address says `sslmode=require` or `verify-full`. The connection
    /// is served by a task of the runtime that this runs in, and ends with the client.
    ///
    /// # Errors
    /// If the database cannot be reached or refuses.
    pub async fn connect(&self) -> Result<Client, DatabaseError> {
        let all = hosts::each_of(&self.config).await.map_err(DatabaseError::Connection)?;
        let mut failed = None;
        for config in &all {
            let hosts = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
            let patience = self.patience * u32::try_from(hosts).unwrap_or(u32::MAX);
            let opened = tokio::time::timeout(patience, self.open(config)).await;
            let error = match opened {
                Ok(Ok(client)) => return Ok(client),
                Ok(Err(error)) => error,
                Err(_) => {
                    let seconds = self.patience.as_secs();
                    format!("it has let nobody in for {seconds} seconds")
                }
            };
            failed = Some(error);
        }
        let error = failed.unwrap_or_else(|| "its host has no address".to_owned());
        Err(DatabaseError::Connection(match all.len() {
            0 | 1 => error,
            count => format!("{error} (the last of {count} addresses that were tried)"),
        }))
    }

    /// Connects to one host; what went wrong, in one sentence.
    async fn open(&self, config: &Config) -> Result<Client, String> {
        let failed = |error: tokio_postgres::Error| in_one_sentence(&error) + &self.advice(&error);
        // What ends a connection is told to whoever uses the client.
        let client = match config.get_ssl_mode() {
            SslMode::Require => {
                let tls = Tls::new(self.authority_file.clone(), self.checks_name)?;
                let (client, connection) = config.connect(tls).await.map_err(failed)?;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
            _ => {
                let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
        };
        client.batch_execute(WRITING).await.map_err(failed)?;
        Ok(client)
    }
}

impl Database {
    /// What may help where a connection fails.
    fn advice(&self, error: &tokio_postgres::Error) -> String {
        if is_for_want_of_encryption(error) && self.config.get_ssl_mode() != SslMode::Require {
            return "; with sslmode=require the connection is encrypted".to_owned();
        }
        // The library has no code for it.
        if self.config.get_password().is_some()
            || !in_one_sentence(error).ends_with("password missing")
        {
            return String::new();
        }
        let places = "; it can be put into PGPASSWORD, ~/.pgpass or a service file";
        let open = self.open_file.as_ref().map_or(String::new(), |file| {
            let file = file.display();
            format!("; {file} is readable by others, so it is not used: chmod 600 it")
        });
        format!("{places}{open}")
    }
}

/// Why an address cannot be read, if it is for a setting that is not known here.
fn unreadable(address: &str) -> DatabaseError {
    address::unknown_setting(address).map_or(DatabaseError::Address, DatabaseError::Setting)
}

/// Whether the database has no rule for a connection that is not encrypted (`hostssl`).
fn is_for_want_of_encryption(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        *error.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            && error.message().contains("no encryption")
    })
}

/// What went wrong, by its code and the names that it is about: the database's own message may
/// show a value.
pub fn without_values(error: &tokio_postgres::Error) -> String {
    let Some(error) = error.as_db_error() else { return in_one_sentence(error) };
    format!("PostgreSQL refuses it with {}{}", error.code().code(), names_in(error, ""))
}

/// The names that an error is about, and that a line does not have yet.
fn names_in(error: &tokio_postgres::error::DbError, line: &str) -> String {
    let mut names = String::new();
    for (what, about) in
        [("table", error.table()), ("column", error.column()), ("constraint", error.constraint())]
    {
        if let Some(about) = about.filter(|about| !line.contains(&format!("\"{about}\""))) {
            names.push_str(&format!(", {what} {about}"));
        }
    }
    names.replace('\n', " ")
}

/// What went wrong, with the constraint or column it is about, in one line.
pub fn in_one_sentence(error: &tokio_postgres::Error) -> String {
    let Some(error) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        return format!("{error}{}", cause.unwrap_or_default()).replace('\n', " ");
    };
    let mut line = error.message().to_owned();
    // Details show values, which may be secret; names are enough to find them.
    line.push_str(&names_in(error, &line));
    line.replace('\n', " ")
}
