//! The command line as redis-server 7.0 reads it: every `--name` begins a line of
//! redis.conf, and the arguments behind it are its values.
//!
//! Owns which argument is a name and which a value. The argument behind a name is its
//! value even if it begins with `--`; `"--maxmemory 700mb"` is a name and its values in
//! one argument; `--save` alone removes the save points, and `--observe` alone is
//! `--observe yes`.
//! Not here: what settings there are, and files that are no settings (schemas).

use super::SettingsError;
use keyward_resp::split_words;

/// Where errors say that a setting was given.
pub(super) const PLACE: &str = "command line";

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It begins a setting, and may have values of its own.
    Name,
    /// It is the first value of the setting before it, whatever it looks like.
    FirstValue,
    /// It stands behind a setting that has a value already, or before all settings.
    Further,
}

/// Tells names from values, argument by argument.
#[derive(Debug, Clone, Copy, Default)]
pub struct Roles {
    awaits_value: bool,
}

impl Roles {
    /// What the next argument is; `after` is the one behind it.
    pub fn of(&mut self, argument: &str, after: Option<&str>) -> Role {
        if std::mem::take(&mut self.awaits_value) {
            return Role::FirstValue;
        }
        if !argument.starts_with("--") {
            return Role::Further;
        }
        let is_alone = split_words(argument.as_bytes()).is_some_and(|words| words.len() == 1);
        let is_inline = is_alone && argument.contains('=');
        let is_save = argument.eq_ignore_ascii_case("--save");
        let is_observe = argument.eq_ignore_ascii_case("--observe");
        let has_no_value = is_save && after.is_none_or(|after| after.starts_with("--"))
            || is_observe && after.is_none_or(|after| !["yes", "no"].contains(&after));
        self.awaits_value = is_alone && !is_inline && !has_no_value;
        Role::Name
    }
}

/// A setting of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) name: Vec<u8>,
    pub(super) values: Vec<Vec<u8>>,
}

/// The settings of the arguments, in their order.
pub(super) fn lines(arguments: &[String]) -> Result<Vec<Line>, SettingsError> {
    let mut roles = Roles::default();
    let mut lines: Vec<Line> = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let after = arguments.get(index + 1).map(String::as_str);
        match (roles.of(argument, after), lines.last_mut()) {
            (Role::Name, _) => lines.push(Line::begin(argument)?),
            (_, Some(line)) => line.values.push(argument.clone().into_bytes()),
            (_, None) if argument.starts_with('-') => {
                return Err(SettingsError::NotASetting { argument: argument.clone() });
            }
            // `redis-server redis.conf loglevel verbose` is wrong, and understood.
            (_, None) => {
                lines.push(Line { name: argument.clone().into_bytes(), values: Vec::new() });
            }
        }
    }
    for line in &mut lines {
        if line.name.eq_ignore_ascii_case(b"save") && line.values.is_empty() {
            line.values.push(Vec::new());
        }
        if line.name.eq_ignore_ascii_case(b"observe") && line.values.is_empty() {
            line.values.push(b"yes".to_vec());
        }
    }
    Ok(gathered(lines))
}

/// What is accepted is a list, and may be given in parts.
fn gathered(lines: Vec<Line>) -> Vec<Line> {
    let is_list = |line: &Line| line.name.eq_ignore_ascii_case(b"accept");
    let mut gathered: Vec<Line> = Vec::with_capacity(lines.len());
    for mut line in lines {
        match gathered.iter_mut().find(|first| is_list(first)).filter(|_| is_list(&line)) {
            Some(first) => first.values.append(&mut line.values),
            None => gathered.push(line),
        }
    }
    gathered
}

impl Line {
    /// The name and the values in an argument that begins with `--`.
    fn begin(argument: &str) -> Result<Line, SettingsError> {
        let text = argument.strip_prefix("--").unwrap_or(argument);
        let open = || SettingsError::OpenQuote { place: format!("{PLACE}: {argument}") };
        let mut words = split_words(text.as_bytes()).ok_or_else(open)?.into_iter();
        let name = words.next().unwrap_or_default();
        let mut values: Vec<Vec<u8>> = words.collect();
        // Not known to redis-server: --name=value.
        match name.iter().position(|byte| *byte == b'=') {
            Some(equals) if values.is_empty() => {
                values.push(name[equals + 1..].to_vec());
                Ok(Line { name: name[..equals].to_vec(), values })
            }
            _ => Ok(Line { name, values }),
        }
    }

    /// The line as redis-server shows it in an error.
    pub(super) fn shown(&self) -> String {
        let mut shown = String::from_utf8_lossy(&self.name).into_owned();
        for value in &self.values {
            shown.push_str(&format!(" \"{}\"", value.escape_ascii()));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], expected: &[&[&str]]) {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).expect("text");
        let lines: Vec<Vec<String>> = lines(&arguments)
            .expect("the quotes are closed")
            .iter()
            .map(|line| std::iter::once(&line.name).chain(&line.values).map(text).collect())
            .collect();
        assert_eq!(lines, expected, "{arguments:?}");
    }

    #[test]
    fn a_name_and_its_value_may_be_one_argument() {
        check(
            &["--maxmemory 700mb", "--maxmemory-policy 'volatile-lru'", "--port", "1"],
            &[&["maxmemory", "700mb"], &["maxmemory-policy", "volatile-lru"], &["port", "1"]],
        );
        check(&["--bind 127.0.0.1", "::1"], &[&["bind", "127.0.0.1", "::1"]]);
        check(&["--maxmemory=1gb", "--hz", "5"], &[&["maxmemory", "1gb"], &["hz", "5"]]);
        assert!(lines(&["--logfile 'open".to_owned()]).is_err());
    }

    #[test]
    fn a_value_may_begin_with_dashes() {
        check(
            &["--proc-title-template", "--my--title", "--loglevel", "verbose"],
            &[&["proc-title-template", "--my--title"], &["loglevel", "verbose"]],
        );
        check(&["--replicaof", "--1.2.3.4", "abc"], &[&["replicaof", "--1.2.3.4", "abc"]]);
        check(&["--port", "--loglevel", "verbose"], &[&["port", "--loglevel", "verbose"]]);
    }

    #[test]
    fn save_without_a_value_is_the_empty_one() {
        let (save, level): (&[&str], &[&str]) = (&["save", ""], &["loglevel", "verbose"]);
        check(&["--save", "--loglevel", "verbose"], &[save, level]);
        check(&["--loglevel", "verbose", "--save"], &[level, save]);
        check(&["--save", "", "--loglevel", "verbose"], &[save, level]);
        check(
            &["--proc-title-template", "--save", "--save", ""],
            &[&["proc-title-template", "--save"], save],
        );
    }

    #[test]
    fn observe_needs_no_value() {
        check(&["--observe"], &[&["observe", "yes"]]);
        check(&["--observe", "--port", "1"], &[&["observe", "yes"], &["port", "1"]]);
        check(&["--observe", "no", "--port", "1"], &[&["observe", "no"], &["port", "1"]]);
    }

    #[test]
    fn what_is_accepted_may_be_given_in_parts() {
        check(
            &["--accept", "a", "DESTROY", "3", "--port", "1", "--accept", "b", "--port", "2"],
            &[&["accept", "a", "DESTROY", "3", "b"], &["port", "1"], &["port", "2"]],
        );
    }

    #[test]
    fn words_before_the_first_name_are_a_setting() {
        check(&["loglevel", "verbose", "--hz", "5"], &[&["loglevel", "verbose"], &["hz", "5"]]);
        assert!(lines(&["-port".to_owned(), "1".to_owned()]).is_err());
    }
}
