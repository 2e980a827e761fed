//! Parameters of an address that Keyward reads itself.
//!
//! An address is a URI, `postgres://user@host/name?parameter=value`, or words, `host=… user=…`,
//! as libpq has both. Invariant: nothing of an address is shown, since any of it may be a part of a
//! password that was not written as it should; only words that libpq has for settings are.

/// Takes a parameter out of an address: what is left, and its value, if it has one. What cannot
/// be read is left as it is.
pub(super) fn take(address: &str, name: &str) -> (String, Option<String>) {
    let taken = match beyond_scheme(address) {
        Some(start) => take_of_uri(address, start, name),
        None => take_of_words(address, name),
    };
    match taken {
        Some((rest, value)) => (rest, Some(value)),
        None => (address.to_owned(), None),
    }
}

/// A setting of libpq that an address has and that is not known here, in libpq's word for it.
pub(super) fn unknown_setting(address: &str) -> Option<&'static str> {
    let names = settings(address);
    UNKNOWN.into_iter().find(|unknown| names.iter().any(|name| name == unknown))
}

/// Settings of libpq that are not known here.
const UNKNOWN: [&str; 29] = [
    "client_encoding",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "keepalives_count",
    "krbsrvname",
    "max_protocol_version",
    "min_protocol_version",
    "oauth_client_id",
    "oauth_client_secret",
    "oauth_issuer",
    "oauth_scope",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "scram_client_key",
    "scram_server_key",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslkey",
    "sslpassword",
    "sslsni",
];

/// The names of the parameters of an address, as far as it can be read.
fn settings(address: &str) -> Vec<String> {
    if let Some(start) = beyond_scheme(address) {
        let parameters = parameters_of(address, start).map_or("", |(_, parameters)| parameters);
        let names = parameters.split('&').map(|part| part.split('=').next().unwrap_or_default());
        return names.map(str::to_owned).collect();
    }
    let (mut at, mut names) = (0, Vec::new());
    loop {
        let skip = |at: usize| at + address[at..].len() - address[at..].trim_start().len();
        let start = skip(at);
        let Some(sign) = address[start..].find('=').map(|sign| start + sign) else { return names };
        names.push(address[start..sign].trim_end().to_owned());
        let Some((end, _)) = value_at(address, skip(sign + 1)) else { return names };
        at = end;
    }
}

/// Where a URI goes on behind its scheme; nothing where an address is none.
fn beyond_scheme(address: &str) -> Option<usize> {
    let mut schemes = ["postgres://", "postgresql://"].iter();
    schemes.find(|scheme| address.starts_with(**scheme)).map(|scheme| scheme.len())
}

/// What of a URI stands before its parameters, and these. A question mark before the first `@` is of
/// the user or the password.
fn parameters_of(address: &str, start: usize) -> Option<(&str, &str)> {
    let host = start + address[start..].find('@').map_or(0, |at| at + 1);
    let sign = host + address[host..].find('?')?;
    Some((&address[..sign], &address[sign + 1..]))
}

fn take_of_uri(address: &str, start: usize, name: &str) -> Option<(String, String)> {
    let (head, parameters) = parameters_of(address, start)?;
    let mut value = None;
    let is_other = |part: &&str| match part.split_once('=') {
        Some((own, text)) if own == name => {
            value = decoded(text);
            value.is_none()
        }
        _ => !part.is_empty(),
    };
    let others: Vec<&str> = parameters.split('&').filter(is_other).collect();
    Some((format!("{head}?{}", others.join("&")), value?))
}

/// A text in which `%2F` stands for a slash.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).ok()
}

fn take_of_words(address: &str, name: &str) -> Option<(String, String)> {
    let mut at = 0;
    loop {
        let skip = |at: usize| at + address[at..].len() - address[at..].trim_start().len();
        let start = skip(at);
        if start == address.len() {
            return None;
        }
        let sign = start + address[start..].find('=')?;
        let (end, value) = value_at(address, skip(sign + 1))?;
        if address[start..sign].trim_end() == name {
            let rest = format!("{} {}", address[..start].trim_end(), address[end..].trim_start());
            return Some((rest.trim().to_owned(), value));
        }
        at = end;
    }
}

/// The value that begins at a place, in quotes or not, and where it ends. A backslash stands
/// before whatever is meant as it is.
fn value_at(address: &str, start: usize) -> Option<(usize, String)> {
    let is_quoted = address[start..].starts_with('\'');
    let start = start + usize::from(is_quoted);
    let mut value = String::new();
    let mut characters = address[start..].char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, meant)| meant)),
            '\'' if is_quoted => return Some((start + at + 1, value)),
            blank if blank.is_whitespace() && !is_quoted => return Some((start + at, value)),
            other => value.push(other),
        }
    }
    (!is_quoted).then_some((address.len(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_taken_out_of_both_forms() {
        let check = |address: &str, rest: &str, value: Option<&str>| {
            let expected = (rest.to_owned(), value.map(str::to_owned));
            assert_eq!(take(address, "service"), expected, "{address}");
        };
        check("postgres://h/d?a=b&service=x", "postgres://h/d?a=b", Some("x"));
        check("postgres://h/d?service=x&a=b", "postgres://h/d?a=b", Some("x"));
        check("postgresql://?service=%2Fa%20b", "postgresql://?", Some("/a b"));
        check("postgres://h/service=x", "postgres://h/service=x", None);
        check("postgres://h/d?service=%zz", "postgres://h/d?service=%zz", None);
        check("postgres://h/d?my_service=x", "postgres://h/d?my_service=x", None);
        check("service=x", "", Some("x"));
        check("host=h service = x port=5", "host=h port=5", Some("x"));
        check("service='a b\\'c' host=h", "host=h", Some("a b'c"));
        check("password='service=x' host=h", "password='service=x' host=h", None);
        check("host=h service='x", "host=h service='x", None);
        check("host", "host", None);
        check("", "", None);
    }
    #[test]
    fn a_question_mark_of_a_password_begins_no_parameters() {
        let address = "postgres://u:a?service=x@h/d?service=y";
        let (rest, value) = take(address, "service");
        assert_eq!((&*rest, value.as_deref()), ("postgres://u:a?service=x@h/d?", Some("y")));
    }

    #[test]
    fn only_words_of_libpq_are_told_of_an_address() {
        assert_eq!(unknown_setting("postgres://u@h/d?sslkey=x"), Some("sslkey"));
        assert_eq!(unknown_setting("host=h sslkey = x"), Some("sslkey"));
        for address in [
            "postgres://u:pass?word@h/d",
            "postgres://u:pass?word=1&more",
            "postgres://h/d?passwrd=secret",
            "host=h password=pass word=1",
            "host=h password=pass word user=u",
            "host=h password='pass word",
        ] {
            assert_eq!(unknown_setting(address), None, "{address}");
        }
        assert!(UNKNOWN.is_sorted());
    }
}
