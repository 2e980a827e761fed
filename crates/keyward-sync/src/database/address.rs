//! Parameters of an address that Keyward reads itself.
//!
//! An address is a URI, `postgres://user@host/name?parameter=value`, or words, `host=… user=…`,
//! as libpq has both.

/// Takes a parameter out of an address: what is left, and its value, if it has one. What cannot
/// be read is left as it is.
pub(super) fn take(address: &str, name: &str) -> (String, Option<String>) {
    let is_uri = ["postgres://", "postgresql://"].iter().any(|it| address.starts_with(it));
    let taken = if is_uri { take_of_uri(address, name) } else { take_of_words(address, name) };
    match taken {
        Some((rest, value)) => (rest, Some(value)),
        None => (address.to_owned(), None),
    }
}

/// The names of the parameters of an address, as far as it can be read.
pub(super) fn settings(address: &str) -> Vec<String> {
    let is_uri = ["postgres://", "postgresql://"].iter().any(|it| address.starts_with(it));
    if is_uri {
        let parameters = address.split_once('?').map_or("", |(_, parameters)| parameters);
        let names = parameters.split('&').map(|part| part.split('=').next().unwrap_or_default());
        return names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
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

fn take_of_uri(address: &str, name: &str) -> Option<(String, String)> {
    let (head, parameters) = address.split_once('?')?;
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
}
