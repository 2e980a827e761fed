//! How names and texts are written in TOML, for help that can be pasted.

use std::borrow::Cow;

/// A name in front of `=`: bare if it may be.
pub(crate) fn name_form(name: &str) -> Cow<'_, str> {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_bare) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(text_form(name))
}

/// A text in quotes.
pub(crate) fn text_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len() + 2);
    form.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => form.extend(['\\', character]),
            control if control.is_control() => {
                form.push_str(&format!("\\u{:04X}", u32::from(control)));
            }
            other => form.push(other),
        }
    }
    form.push('"');
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        assert_eq!(name_form("in_stock-2"), "in_stock-2");
        assert_eq!(name_form("in stock"), "\"in stock\"");
        assert_eq!(name_form(""), "\"\"");
    }

    #[test]
    fn texts_read_back_as_they_were() {
        for text in ["plain", "a\"b\\c", "tab\t\u{1}\u{7f}\u{85}", "ünï {id}"] {
            let toml = format!("x = {}", text_form(text));
            let read: toml::de::DeTable<'_> =
                toml::de::DeTable::parse(&toml).expect(&toml).into_inner();
            assert_eq!(read["x"].get_ref().as_str(), Some(text));
        }
    }
}
