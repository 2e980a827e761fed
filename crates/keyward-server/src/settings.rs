//! Settings: from the command line, from a file, by CONFIG SET.
//!
//! Owns the values in force. `settings::table` and `settings::kept` declare what there
//! is, `settings::reading` says what a value means to who asks. A later source overrides an
//! earlier one: defaults, then in the order of the command line the file it names and the
//! settings it gives.
//! Invariant: every value is valid for its row.

pub mod absent;
pub mod command_line;
mod file;
pub mod kept;
mod reading;
pub(crate) mod rewrite;
pub mod table;
pub mod value;

use command_line::Line;
use kept::{HIDDEN, KEPT};
use keyward_commands::args::c_text;
use keyward_commands::{Names, RenameError};
use keyward_engine::Rewrite;
use keyward_engine::glob::{self, Case};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use table::{ALIASES, Change, Id, SETTINGS, Setting};
use value::Value;

/// Where Redis writes the process id, if the server is in the background and nothing is said.
const DEFAULT_PID_FILE: &str = "/var/run/redis.pid";
/// The least that CONFIG SET makes of `repl-backlog-size`. The number is Redis's.
const BACKLOG_BYTES_MIN: u64 = 16 * 1024;
/// The argument that has settings read from the standard input.
const STANDARD_INPUT: &str = "-";
/// Gives commands other names.
const RENAME: &str = "rename-command";
/// Declares a user.
const USER: &str = "user";

/// Why settings were not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// There is no such setting.
    #[error("{place}: there is no setting \"{name}\"{}", .hint.map(|hint| format!(" (did you mean \"{hint}\"?)")).unwrap_or_default())]
    Unknown {
        /// Where it was given.
        place: String,
        /// What was given.
        name: String,
        /// The nearest name there is.
        hint: Option<&'static str>,
    },
    /// There is such a setting in Redis only.
    #[error("{place}: there is no setting \"{name}\": {reason}")]
    Absent {
        /// Where it was given.
        place: String,
        /// What was given.
        name: String,
        /// Why there is none.
        reason: &'static str,
    },
    /// The value does not fit.
    #[error("{place}: {name}: {reason}")]
    Invalid {
        /// Where it was given.
        place: String,
        /// The setting; with its values, as redis-server shows them, if the command line
        /// gave it.
        name: String,
        /// What was expected.
        reason: String,
    },
    /// A file could not be read.
    #[error("{file}: {problem}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why. No source of the error: the text has all of it.
        problem: std::io::Error,
    },
    /// A quote was left open.
    #[error("{place}: a quote is not closed, or is followed by text")]
    OpenQuote {
        /// Where.
        place: String,
    },
    /// Files include each other in a circle.
    #[error("{file}: includes are nested too deep")]
    IncludesTooDeep {
        /// The innermost file.
        file: String,
    },
    /// The command line has something that is not a setting.
    #[error("\"{argument}\" is not a setting: settings begin with --")]
    NotASetting {
        /// What was given.
        argument: String,
    },
}

/// The values of all settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// In the order of `rows`.
    values: Vec<Value>,
    /// The file they came from, if any; includes aside.
    file: Option<PathBuf>,
    /// What the standard input said, if it was read.
    input: Option<Vec<u8>>,
    /// What commands are called.
    names: Names,
    /// The users that were declared: a name and rules.
    users: Vec<Vec<Vec<u8>>>,
    /// Whether save points were given: those that follow are added to them.
    has_save_points: bool,
    /// Which were given before the server started, by their places in `rows`.
    given: Vec<usize>,
}

/// Every setting: those with an effect, then those without.
fn rows() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(KEPT)
}

/// The setting at a place of `rows`.
fn row(position: usize) -> &'static Setting {
    SETTINGS.get(position).unwrap_or_else(|| &KEPT[position - SETTINGS.len()])
}

impl Default for Settings {
    fn default() -> Settings {
        let value = |setting: &Setting| {
            Value::parse(setting.kind, &[setting.default.as_bytes()], None)
                .expect("the table's defaults are valid")
        };
        Settings {
            values: rows().map(value).collect(),
            file: None,
            input: None,
            names: Names::default(),
            users: Vec::new(),
            has_save_points: false,
            given: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads arguments as redis-server takes them (`command_line`): a file of settings first
    /// if there is one, `-` for the standard input, then `--name value…`; `--config FILE` and `--include FILE` read a
    /// file too.
    pub fn from_command_line(arguments: &[String]) -> Result<Settings, SettingsError> {
        let mut settings = Settings::default();
        let mut rest = arguments;
        if let [first, after @ ..] = rest
            && !first.starts_with('-')
        {
            settings.load(first)?;
            rest = after;
        }
        // As for redis-server, it is the first or the last argument.
        if let [first, after @ ..] = rest
            && first == STANDARD_INPUT
        {
            settings.load_input()?;
            rest = after;
        } else if let [before @ .., last] = rest
            && last == STANDARD_INPUT
        {
            settings.load_input()?;
            rest = before;
        }
        for line in command_line::lines(rest)? {
            settings.obey(&line)?;
        }
        Ok(settings)
    }

    /// Obeys a setting of the command line.
    fn obey(&mut self, line: &Line) -> Result<(), SettingsError> {
        let words: Vec<&[u8]> = line.values.iter().map(Vec::as_slice).collect();
        let path = words.first().map(|path| String::from_utf8_lossy(path));
        match (line.name.as_slice(), words.as_slice(), path) {
            (b"config", [_, more @ ..], Some(path)) => {
                self.load(&path)?;
                more.first().map_or(Ok(()), |argument| {
                    let argument = String::from_utf8_lossy(argument).into_owned();
                    Err(SettingsError::NotASetting { argument })
                })
            }
            (b"include", [_], Some(path)) => file::load(self, Path::new(&*path)),
            (name, words, _) => {
                let named = |error| match error {
                    SettingsError::Invalid { place, reason, .. } => SettingsError::Invalid {
                        place,
                        name: format!("'{}'", line.shown()),
                        reason,
                    },
                    other => other,
                };
                self.set_from(command_line::PLACE, name, words).map_err(named)
            }
        }
    }

    /// What holds where there is neither a file of settings nor one on the standard input,
    /// and nothing is said: the server is for this machine, and data outlives the process,
    /// by an append-only file in the directory `keyward-data`.
    pub fn assume_defaults(&mut self) -> Result<(), SettingsError> {
        const DIRECTORY: &str = "keyward-data";
        const LOOPBACK: [&[u8]; 2] = [b"127.0.0.1", b"-::1"];
        const PLACE: &str = "default";
        if self.file.is_some() || self.input.is_some() {
            return Ok(());
        }
        if !self.given.contains(&(Id::Bind as usize)) {
            self.set_from(PLACE, b"bind", &LOOPBACK)?;
        }
        if !self.given.contains(&(Id::AppendOnly as usize)) {
            self.set_from(PLACE, b"appendonly", &[b"yes"])?;
        }
        if !self.given.contains(&(Id::Dir as usize)) && self.is_on(Id::AppendOnly) {
            let unreadable =
                |problem| SettingsError::Unreadable { file: DIRECTORY.to_owned(), problem };
            std::fs::create_dir_all(DIRECTORY).map_err(unreadable)?;
            self.set_from(PLACE, b"dir", &[DIRECTORY.as_bytes()])?;
        }
        Ok(())
    }

    /// Where the process id is written, if anywhere: to a place of Redis's if the server is
    /// in the background and nothing is said.
    pub(crate) fn pid_file(&mut self, is_in_background: bool) -> Option<PathBuf> {
        if self.text(Id::PidFile).is_empty() {
            if !is_in_background {
                return None;
            }
            self.values[Id::PidFile as usize] = Value::Text(DEFAULT_PID_FILE.as_bytes().to_vec());
        }
        Some(PathBuf::from(self.text(Id::PidFile)))
    }

    /// Reads settings from the standard input, which is no file to write back to.
    fn load_input(&mut self) -> Result<(), SettingsError> {
        let unreadable =
            |problem| SettingsError::Unreadable { file: STANDARD_INPUT.to_owned(), problem };
        let mut text = Vec::new();
        std::io::stdin().lock().read_to_end(&mut text).map_err(unreadable)?;
        file::read(self, STANDARD_INPUT, &text)?;
        self.input = Some(text);
        Ok(())
    }

    /// What was read from the standard input, if that was.
    pub(crate) fn input(&self) -> Option<&[u8]> {
        self.input.as_deref()
    }

    fn load(&mut self, path: &str) -> Result<(), SettingsError> {
        let unreadable = |problem| SettingsError::Unreadable { file: path.to_owned(), problem };
        file::load(self, Path::new(path))?;
        self.file = Some(std::path::absolute(path).map_err(unreadable)?);
        Ok(())
    }

    /// Writes the settings in force back to their file, with these lines of users.
    pub fn rewrite(&self, scope: Rewrite, users: &[Vec<u8>]) -> Result<(), String> {
        let Some(file) = self.file() else {
            return Err("The server is running without a config file".to_owned());
        };
        // Users who have a file of their own stand there alone.
        let users = if self.text(Id::AclFile).is_empty() { users } else { &[] };
        rewrite::rewrite(self, file, scope, users)
            .map_err(|error| format!("Rewriting config file: {error}"))
    }

    /// The file the settings came from, if any.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    fn position(name: &[u8]) -> Option<usize> {
        let is_it = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
        Settings::setting_names().find(|(_, known)| is_it(known)).map(|(position, _)| position)
    }

    /// All names, older ones too, and the place of the setting each one means.
    fn setting_names() -> impl Iterator<Item = (usize, &'static str)> {
        let names = rows().enumerate().map(|(position, setting)| (position, setting.name));
        let place = |today: &str| {
            let mut rows = rows();
            rows.position(|setting| setting.name == today).expect("an alias names a setting")
        };
        names.chain(ALIASES.iter().map(move |(name, today)| (place(today), *name)))
    }

    /// What commands are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Obeys `rename-command`, which can be given often and is no value.
    fn rename(&mut self, place: &str, words: &[&[u8]]) -> Result<(), SettingsError> {
        let renamed = match words {
            [old, new] => self.names.rename(old, new).map_err(RenameError::text),
            _ => Err("wrong number of arguments"),
        };
        renamed.map_err(|reason| SettingsError::Invalid {
            place: place.to_owned(),
            name: RENAME.to_owned(),
            reason: reason.to_owned(),
        })
    }

    /// The users that were declared: a name and rules.
    pub fn users(&self) -> impl Iterator<Item = (&[u8], Vec<&[u8]>)> {
        self.users.iter().filter_map(|words| {
            let (name, rules) = words.split_first()?;
            Some((name.as_slice(), rules.iter().map(Vec::as_slice).collect()))
        })
    }

    /// Obeys `user`, which can be given often, for each user once. What the rules mean the
    /// engine says.
    fn add_user(&mut self, place: &str, words: &[&[u8]]) -> Result<(), SettingsError> {
        let reason = match words {
            [] => "wrong number of arguments",
            [name, ..] if self.users().any(|(other, _)| other == *name) => {
                "Duplicate user found. A user can only be defined once in config files"
            }
            words => {
                self.users.push(words.iter().map(|word| word.to_vec()).collect());
                return Ok(());
            }
        };
        let (place, name) = (place.to_owned(), USER.to_owned());
        Err(SettingsError::Invalid { place, name, reason: reason.to_owned() })
    }

    /// Sets a value before the server starts; `place` is for the error.
    fn set_from(&mut self, place: &str, name: &[u8], words: &[&[u8]]) -> Result<(), SettingsError> {
        if name.eq_ignore_ascii_case(RENAME.as_bytes()) {
            return self.rename(place, words);
        }
        if name.eq_ignore_ascii_case(USER.as_bytes()) {
            return self.add_user(place, words);
        }
        let Some(position) = Settings::position(name) else {
            return Err(unknown(place, name));
        };
        if position == Id::ReplicaOf as usize {
            return self.replicate(place, name, words);
        }
        self.given.push(position);
        let setting = row(position);
        let value = Value::parse(setting.kind, words, Some(&self.values[position]));
        let value = value.map_err(|reason| SettingsError::Invalid {
            place: place.to_owned(),
            name: setting.name.to_owned(),
            reason,
        })?;
        self.values[position] = match (value, &self.values[position]) {
            // The first line replaces the defaults, an empty one replaces all.
            (Value::SavePoints(points), Value::SavePoints(old)) if !points.is_empty() => {
                let old = if self.has_save_points { old.as_slice() } else { &[] };
                self.has_save_points = true;
                Value::SavePoints([old, &points].concat())
            }
            (value, _) => value,
        };
        Ok(())
    }

    /// Obeys `replicaof`: a name and a port, or `no one`.
    fn replicate(
        &mut self,
        place: &str,
        name: &[u8],
        words: &[&[u8]],
    ) -> Result<(), SettingsError> {
        let is_port = |text: &[u8]| {
            let text = std::str::from_utf8(text).ok();
            text.is_some_and(|text| text.parse::<u16>().is_ok())
        };
        // The two may come as one argument.
        let parts = words.iter().flat_map(|word| word.split(|byte| *byte == b' '));
        let parts: Vec<&[u8]> = parts.filter(|part| !part.is_empty()).collect();
        let followed = match parts[..] {
            [] => Ok(Vec::new()),
            [no, one] if no.eq_ignore_ascii_case(b"no") && one.eq_ignore_ascii_case(b"one") => {
                Ok(Vec::new())
            }
            [host, port] if is_port(port) => Ok(vec![host.to_vec(), port.to_vec()]),
            [_, _] => Err("Invalid master port"),
            _ => Err("wrong number of arguments"),
        };
        let followed = followed.map_err(|reason| SettingsError::Invalid {
            place: place.to_owned(),
            name: String::from_utf8_lossy(name).into_owned(),
            reason: reason.to_owned(),
        })?;
        self.values[Id::ReplicaOf as usize] = Value::Words(followed);
        Ok(())
    }

    /// Changes settings while the server runs, all or none. The error is the text
    /// of CONFIG SET's reply. `is_local` is whether the client is of this machine.
    pub fn set_live(&mut self, pairs: &[(&[u8], &[u8])], is_local: bool) -> Result<(), String> {
        let mut changed = self.clone();
        let mut seen = Vec::new();
        for (name, text) in pairs {
            let shown = String::from_utf8_lossy(c_text(name));
            let Some(position) = Settings::position(name) else {
                return Err(format!(
                    "Unknown option or number of arguments for CONFIG SET - '{shown}'"
                ));
            };
            let failed = |reason: &str| {
                format!("CONFIG SET failed (possibly related to argument '{shown}') - {reason}")
            };
            let setting = row(position);
            match setting.change {
                Change::AtStart => return Err(failed("can't set immutable config")),
                Change::Protected if !self.allows(Id::ProtectedConfigs, is_local) => {
                    return Err(failed("can't set protected config"));
                }
                Change::Live | Change::Protected | Change::OwnAtStart => {}
            }
            if seen.contains(&position) {
                return Err(failed("duplicate parameter"));
            }
            seen.push(position);
            let value = Value::parse(setting.kind, &[text], Some(&changed.values[position]));
            let value = value.map_err(|reason| failed(&reason))?;
            if setting.change == Change::OwnAtStart && value != changed.values[position] {
                return Err(failed("can't set immutable config"));
            }
            if setting.name == Id::BacklogSize.setting().name && value != changed.values[position] {
                // Redis raises it when it is put in force, not where it is read.
                changed.values[position] = match value {
                    Value::Bytes(bytes) => Value::Bytes(bytes.max(BACKLOG_BYTES_MIN)),
                    other => other,
                };
                continue;
            }
            changed.values[position] = value;
        }
        *self = changed;
        Ok(())
    }

    /// The settings a CONFIG GET means, each once: a pattern gives the names that
    /// match, a plain name itself, spelt as it was asked for.
    pub fn matching(&self, patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        let mut found: Vec<(usize, &str, String)> = Vec::new();
        for pattern in patterns {
            let is_glob = pattern.iter().any(|byte| b"*?[".contains(byte));
            for (position, name) in Settings::setting_names() {
                let is_new = found.iter().all(|(_, other, _)| *other != name);
                if is_new && !is_glob && name.as_bytes().eq_ignore_ascii_case(pattern) {
                    found.push((position, name, String::from_utf8_lossy(pattern).into_owned()));
                } else if is_new
                    && is_glob
                    && !HIDDEN.contains(&name)
                    && glob::matches(pattern, name.as_bytes(), Case::Insensitive)
                {
                    found.push((position, name, name.to_owned()));
                }
            }
        }
        found.into_iter().map(|(at, _, name)| (name, self.values[at].to_text())).collect()
    }

    fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }
}

/// The error about a setting there is not.
fn unknown(place: &str, name: &[u8]) -> SettingsError {
    let place = place.to_owned();
    let shown = String::from_utf8_lossy(name).into_owned();
    match absent::reason(name) {
        Some(reason) => SettingsError::Absent { place, name: shown, reason },
        None => SettingsError::Unknown { place, hint: nearest_name(&shown), name: shown },
    }
}

/// The setting whose name is most like `name`, if one is close.
fn nearest_name(name: &str) -> Option<&'static str> {
    let distance = |other: &str| edit_distance(name.as_bytes(), other.as_bytes());
    let nearest = rows().map(|setting| setting.name).min_by_key(|other| distance(other))?;
    (distance(nearest) <= 2.max(name.len() / 4)).then_some(nearest)
}

fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command_line(words: &[&str]) -> Result<Settings, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Settings::from_command_line(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_is_read_as_redis_server_reads_it() {
        let settings =
            command_line(&["--port", "7000", "--save", "", "--maxmemory", "1gb"]).unwrap();
        assert_eq!(settings.int(Id::Port), 7000);
        assert_eq!(settings.bytes(Id::MaxMemory), 1 << 30);
        assert_eq!(settings.text(Id::Save), "");
        let settings = command_line(&["--bind", "127.0.0.1", "::1"]).unwrap();
        assert_eq!(settings.text(Id::Bind), "127.0.0.1 ::1");
    }

    #[test]
    fn save_points_add_up_and_an_empty_one_removes_them() {
        let settings = command_line(&["--save", "900", "1", "--save", "300", "10"]).unwrap();
        assert_eq!(settings.text(Id::Save), "900 1 300 10");
        let settings = command_line(&["--save", "900", "1", "--save", ""]).unwrap();
        assert_eq!(settings.text(Id::Save), "");
        let mut settings = command_line(&["--save", "900", "1"]).unwrap();
        settings.set_live(&[(b"save", b"300 10")], true).unwrap();
        assert_eq!(settings.text(Id::Save), "300 10");
    }

    #[test]
    fn a_text_is_never_longer_than_a_row_can_hold() {
        let settings = command_line(&["--proto-max-bulk-len", "10gb"]).unwrap();
        assert_eq!(settings.tunables().text_bytes_max, u64::from(u32::MAX));
    }

    #[test]
    fn names_of_files_are_refused_in_the_words_of_their_setting() {
        let check = |name: &str, word: &str, expected: &str| {
            let error = command_line(&[name, word]).unwrap_err();
            assert!(error.contains(expected), "{name} {word}: {error}");
        };
        check("--dbfilename", "../x", "dbfilename can't be a path, just a filename");
        check("--appendfilename", "a/b", "appendfilename can't be a path, just a filename");
        check("--appendfilename", "", "appendfilename can't be empty");
        check("--appenddirname", "../x", "appenddirname can't be a path, just a dirname");
        check("--appenddirname", "", "appenddirname can't be empty");
    }

    #[test]
    fn users_are_declared_once_each() {
        let settings = command_line(&["--user", "default", "off", "--user", "alice", "on", ">x"]);
        let settings = settings.unwrap();
        let users: Vec<_> = settings.users().collect();
        let rules: Vec<&[u8]> = vec![b"on", b">x"];
        assert_eq!(users, [(b"default".as_slice(), vec![b"off".as_slice()]), (b"alice", rules)]);
        let error = command_line(&["--user", "alice", "on", "--user", "alice", "off"]).unwrap_err();
        assert!(error.ends_with("A user can only be defined once in config files"), "{error}");
    }

    #[test]
    fn commands_can_be_renamed_and_taken_away() {
        let settings =
            command_line(&["--rename-command", "CONFIG", "", "--rename-command", "get", "read"]);
        let names = settings.unwrap().names;
        assert!(names.lookup_full_name(b"config").is_none());
        assert!(names.lookup_full_name(b"read").is_some());
        for (words, reason) in [
            (["nosuch", ""].as_slice(), "No such command in rename-command"),
            (&["get", "set"], "Target command name already exists"),
            (&["get"], "wrong number of arguments"),
        ] {
            let words = [&["--rename-command"], words].concat();
            let shown: String = words[1..].iter().map(|word| format!(" \"{word}\"")).collect();
            let expected = format!("command line: 'rename-command{shown}': {reason}");
            assert_eq!(command_line(&words).unwrap_err(), expected);
        }
    }

    #[test]
    fn what_is_unknown_is_named() {
        let error = command_line(&["--maxmemroy", "1"]).unwrap_err();
        assert_eq!(
            error,
            "command line: there is no setting \"maxmemroy\" (did you mean \"maxmemory\"?)"
        );
        let error = command_line(&["--Cluster-port", "1"]).unwrap_err();
        assert_eq!(
            error,
            "command line: there is no setting \"Cluster-port\": A server is not a cluster node."
        );
        let error = command_line(&["--port", "x"]).unwrap_err();
        assert_eq!(
            error,
            "command line: 'port \"x\"': argument couldn't be parsed into an integer"
        );
        assert!(command_line(&["-port"]).unwrap_err().contains("is not a setting"));
    }

    #[test]
    fn a_live_change_is_all_or_nothing() {
        let mut settings = Settings::default();
        let error =
            settings.set_live(&[(b"timeout", b"5"), (b"databases", b"1")], true).unwrap_err();
        assert_eq!(
            error,
            "CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config"
        );
        assert_eq!(settings.int(Id::Timeout), 0);
        settings.set_live(&[(b"TIMEOUT", b"5"), (b"hz", b"20")], true).unwrap();
        assert_eq!((settings.int(Id::Timeout), settings.int(Id::Hz)), (5, 20));
    }

    #[test]
    fn a_setting_of_our_own_can_be_set_to_what_it_is() {
        let mut settings = Settings::default();
        for (name, value) in settings.matching(&[b"accept", b"observe"]) {
            settings.set_live(&[(name.as_bytes(), &value)], true).unwrap();
            let error = settings.set_live(&[(name.as_bytes(), b"yes")], true).unwrap_err();
            assert!(error.ends_with("can't set immutable config"), "{name}: {error}");
        }
    }

    #[test]
    fn every_name_is_declared_once_and_documented() {
        let mut names: Vec<&str> = Settings::setting_names().map(|(_, name)| name).collect();
        names.sort_unstable();
        assert_eq!(names.windows(2).find(|pair| pair[0] == pair[1]), None);
        for setting in rows() {
            assert!(setting.doc.ends_with('.'), "{}", setting.name);
        }
    }
}
