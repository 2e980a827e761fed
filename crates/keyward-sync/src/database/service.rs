//! What libpq reads besides an address: service files, and variables of the environment.
//!
//! A service is looked for as libpq does: in the file that `PGSERVICEFILE` names, or
//! `~/.pg_service.conf`, and then in `pg_service.conf` of the directory `PGSYSCONFDIR`
//! (`/etc/postgresql-common` unless given, as Debian has it). What the address says counts
//! before what the service says, and that before the environment.
//! Invariant: no message shows a line of the file, which may hold a password.

use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Where a system keeps `pg_service.conf`.
const SYSTEM_DIRECTORY: &str = "/etc/postgresql-common";
/// The most bytes of a service file that are read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Settings of a service that are kept.
const KNOWN: [&str; 16] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "options",
    "connect_timeout",
    "target_session_attrs",
    "channel_binding",
    "load_balance_hosts",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "tcp_user_timeout",
];
/// Settings of libpq that change nothing here: who is told of them, or how texts are encoded.
const IDLE: [&str; 5] = [
    "application_name",
    "fallback_application_name",
    "client_encoding",
    "gssencmode",
    "krbsrvname",
];

/// Variables of the environment, and the setting that each stands for.
const VARIABLES: [(&str, &str); 8] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGOPTIONS", "options"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
];

/// The settings of a service, in the order of the file; or those of the environment.
#[derive(Default)]
pub(super) struct Service {
    settings: Vec<(String, String)>,
    /// Who says so, for messages.
    origin: String,
}

impl Service {
    /// The service that an address names, or `PGSERVICE`; one without settings where neither does.
    ///
    /// # Errors
    /// A sentence, if it is not to be found or cannot be read.
    pub(super) fn of(named: Option<String>) -> Result<Service, String> {
        let Some(name) = named.or_else(|| variable("PGSERVICE")) else {
            return Ok(Service::default());
        };
        let own = variable("PGSERVICEFILE").map(PathBuf::from);
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".pg_service.conf"));
        let is_asked_for = own.is_some();
        let directory = variable("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_DIRECTORY.to_owned());
        let system = Path::new(&directory).join("pg_service.conf");
        for file in own.or_else(home).into_iter().chain([system.clone()]) {
            if !file.exists() && (file == system || !is_asked_for) {
                continue;
            }
            let text = text_of(&file)?;
            if let Some(settings) = settings_of(&text, &name, &file)? {
                return Ok(Service { settings, origin: format!("the service {name}") });
            }
        }
        Err(format!("there is no service {name} in the service files"))
    }

    /// What the variables of the environment say.
    pub(super) fn of_environment() -> Service {
        let said = |(name, setting): (&str, &str)| Some((setting.to_owned(), variable(name)?));
        let settings = VARIABLES.into_iter().filter_map(said).collect();
        Service { settings, origin: "the environment".to_owned() }
    }

    /// Takes a setting out that Keyward reads itself.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.settings.iter().position(|(own, _)| own == name)?;
        Some(self.settings.remove(at).1)
    }

    /// Sets what an address leaves open.
    ///
    /// # Errors
    /// A sentence, if a setting is not known or its value is none.
    pub(super) fn complete(&self, config: &mut Config) -> Result<(), String> {
        let mut own = Config::new();
        for (name, value) in &self.settings {
            if IDLE.contains(&&**name) {
                continue;
            }
            let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
            let text = format!("{name}='{quoted}'");
            let one = text.parse::<Config>().ok().filter(|_| KNOWN.contains(&&**name));
            let Some(one) = one else {
                let origin = &self.origin;
                return Err(format!("{origin} has a setting that cannot be used here: {name}"));
            };
            merge(&mut own, &one);
        }
        merge(config, &own);
        Ok(())
    }
}

/// Sets what is said of one connection and not of another.
pub(super) fn merge(config: &mut Config, own: &Config) {
    if config.get_hosts().is_empty() {
        for host in own.get_hosts() {
            match host {
                Host::Tcp(name) => config.host(name),
                Host::Unix(path) => config.host_path(path),
            };
        }
    }
    if config.get_hostaddrs().is_empty() {
        for address in own.get_hostaddrs() {
            config.hostaddr(*address);
        }
    }
    if config.get_ports().is_empty() {
        for port in own.get_ports() {
            config.port(*port);
        }
    }
    if let Some(name) = own.get_dbname().filter(|_| config.get_dbname().is_none()) {
        config.dbname(name);
    }
    if let Some(user) = own.get_user().filter(|_| config.get_user().is_none()) {
        config.user(user);
    }
    if let Some(password) = own.get_password().filter(|_| config.get_password().is_none()) {
        config.password(password);
    }
    if let Some(options) = own.get_options().filter(|_| config.get_options().is_none()) {
        config.options(options);
    }
    let timeout = own.get_connect_timeout().filter(|_| config.get_connect_timeout().is_none());
    if let Some(timeout) = timeout {
        config.connect_timeout(*timeout);
    }
    merge_manner(config, own);
}

/// The same of what has a default, which counts as not said.
fn merge_manner(config: &mut Config, own: &Config) {
    let usual = Config::new();
    if config.get_target_session_attrs() == usual.get_target_session_attrs() {
        config.target_session_attrs(own.get_target_session_attrs());
    }
    if config.get_channel_binding() == usual.get_channel_binding() {
        config.channel_binding(own.get_channel_binding());
    }
    if config.get_load_balance_hosts() == usual.get_load_balance_hosts() {
        config.load_balance_hosts(own.get_load_balance_hosts());
    }
    if config.get_keepalives() == usual.get_keepalives() {
        config.keepalives(own.get_keepalives());
    }
    if config.get_keepalives_idle() == usual.get_keepalives_idle() {
        config.keepalives_idle(own.get_keepalives_idle());
    }
    let interval = own.get_keepalives_interval();
    if let Some(interval) = interval.filter(|_| config.get_keepalives_interval().is_none()) {
        config.keepalives_interval(interval);
    }
    let retries = own.get_keepalives_retries();
    if let Some(retries) = retries.filter(|_| config.get_keepalives_retries().is_none()) {
        config.keepalives_retries(retries);
    }
    let timeout = own.get_tcp_user_timeout().filter(|_| config.get_tcp_user_timeout().is_none());
    if let Some(timeout) = timeout {
        config.tcp_user_timeout(*timeout);
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn text_of(file: &Path) -> Result<String, String> {
    let cannot = |why: &str| format!("the service file {} cannot be read: {why}", file.display());
    let size = std::fs::metadata(file).map_err(|error| cannot(&error.to_string()))?.len();
    if size > FILE_BYTES_MAX {
        return Err(cannot("it is too large"));
    }
    std::fs::read_to_string(file).map_err(|error| cannot(&error.to_string()))
}

/// The settings of a service in the text of a file, if it has it.
fn settings_of(
    text: &str,
    name: &str,
    file: &Path,
) -> Result<Option<Vec<(String, String)>>, String> {
    let mut found: Option<Vec<(String, String)>> = None;
    let mut is_within = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            is_within = rest.split(']').next() == Some(name) && rest.contains(']');
            if is_within {
                found = Some(Vec::new());
            }
            continue;
        }
        let Some(settings) = found.as_mut().filter(|_| is_within) else { continue };
        let wrong = |what: &str| {
            format!("the service file {}, line {}: {what}", file.display(), number + 1)
        };
        let (own, value) = line.split_once('=').ok_or_else(|| wrong("a setting is NAME=VALUE"))?;
        if own == "service" {
            return Err(wrong("a service cannot name another one"));
        }
        // What is said first counts.
        if !settings.iter().any(|(known, _)| known == own) {
            settings.push((own.to_owned(), value.to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::TargetSessionAttrs;

    const FILE: &str = "# mine\n[other]\nhost=elsewhere\nx\n\n[shop]\nhost=h,i\n  port=5,6 \n\
                        password=a 'b\\\ndbname=d\ndbname=late\n[shop]\nuser=nobody\n";

    fn read(text: &str, name: &str) -> Result<Option<Vec<(String, String)>>, String> {
        settings_of(text, name, Path::new("f"))
    }

    #[test]
    fn a_service_completes_what_an_address_leaves_open() {
        let settings = read(FILE, "shop").expect("sound").expect("there");
        let service = Service { settings, origin: "the service shop".to_owned() };
        let mut config: Config = "host=mine user=ann".parse().expect("an address");
        service.complete(&mut config).expect("settings that are known");
        assert_eq!(config.get_hosts(), [Host::Tcp("mine".to_owned())]);
        assert_eq!(config.get_ports(), [5, 6]);
        assert_eq!(config.get_user(), Some("ann"));
        assert_eq!(config.get_dbname(), Some("d"));
        assert_eq!(config.get_password(), Some(&b"a 'b\\"[..]));
        let settings = [("target_session_attrs", "read-write"), ("keepalives_retries", "3")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Service { settings, ..service }.complete(&mut config).expect("settings that are known");
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(config.get_keepalives_retries(), Some(3));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_without_its_lines() {
        assert_eq!(read(FILE, "nobody"), Ok(None));
        let told = read(FILE, "other").expect_err("a line that is none");
        assert_eq!(told, "the service file f, line 4: a setting is NAME=VALUE");
        assert!(read("[a]\nservice=b\n", "a").is_err());
        let settings = vec![("sslkey".to_owned(), "se-cret".to_owned())];
        let service = Service { settings, origin: "the service shop".to_owned() };
        let told = service.complete(&mut Config::new()).expect_err("not known");
        assert_eq!(told, "the service shop has a setting that cannot be used here: sslkey");
    }
}
