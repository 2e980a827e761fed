//! Passwords of the environment: `PGPASSWORD`, and libpq's password file.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A password file that others than its owner may read, write or run, and that is not used.
pub(super) struct Open(pub(super) PathBuf);

/// The password for a connection, if the environment has one, or a password file: this one, or
/// that of the environment.
///
/// # Errors
/// If there is such a file, and others may use it too.
pub(super) fn of_environment(
    config: &Config,
    file: Option<String>,
) -> Result<Option<Vec<u8>>, Open> {
    if let Ok(password) = std::env::var("PGPASSWORD") {
        return Ok(Some(password.into_bytes()));
    }
    let named = file.map(PathBuf::from);
    let named = named.or_else(|| std::env::var_os("PGPASSFILE").map(PathBuf::from));
    let file = named.or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".pgpass"))
    });
    let Some(file) = file else { return Ok(None) };
    let Ok(about) = std::fs::metadata(&file) else { return Ok(None) };
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        return Err(Open(file));
    }
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(None) };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => "localhost".to_owned(),
    };
    let user = config.get_user().unwrap_or_default();
    let wanted = [
        host.as_str(),
        &config.get_ports().first().unwrap_or(&5432).to_string(),
        config.get_dbname().unwrap_or(user),
        user,
    ];
    Ok(text.lines().find_map(|line| of_line(line, wanted)).map(String::into_bytes))
}

/// The password of a line `host:port:database:user:password`, if it is for this connection.
fn of_line(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let fields = split(line);
    let (named, password) = (fields.get(..4)?, fields.get(4)?);
    let fits = named.iter().zip(wanted).all(|(named, wanted)| named == "*" || named == wanted);
    fits.then(|| password.clone())
}

/// The fields between colons; a backslash stands before a colon or backslash that is meant.
fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == ':' && fields.len() < 5 {
            fields.push(String::new());
            continue;
        }
        let meant = if character == '\\' { characters.next() } else { Some(character) };
        fields.last_mut().expect("there is one at first").extend(meant);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_its_connection() {
        let check = |line: &str, expected: Option<&str>| {
            let found = of_line(line, ["db", "5432", "shop", "ann"]);
            assert_eq!(found.as_deref(), expected, "{line}");
        };
        check("db:5432:shop:ann:secret", Some("secret"));
        check("*:*:*:ann:se:cr\\:et", Some("se:cr:et"));
        check("d\\:b:5432:shop:ann:secret", None);
        check("db:5433:shop:ann:secret", None);
        check("# db:5432:shop:ann:secret", None);
        check("db:5432:shop", None);
        check("", None);
    }
}
