//! JSON for the eye: indented, and cut into tokens for colour.
//!
//! Works on text that is valid JSON, and keeps every token as written: the
//! order of fields, `50.0`, `1e5`.

/// A piece of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A string that is the name of a field.
    Name,
    String,
    /// A number, `true`, `false` or `null`.
    Literal,
    /// Brackets, commas, colons and spaces.
    Mark,
}

/// The tokens of JSON text, which together are the text.
pub(super) fn tokens(text: &str) -> Vec<(Token, &str)> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '"' => {
                let length = string_length(rest);
                let is_name = rest[length..].trim_start().starts_with(':');
                (if is_name { Token::Name } else { Token::String }, length)
            }
            c if is_literal(c) => {
                (Token::Literal, rest.find(|c| !is_literal(c)).unwrap_or(rest.len()))
            }
            _ => {
                let end = rest.find(|c| c == '"' || is_literal(c)).unwrap_or(rest.len());
                (Token::Mark, end)
            }
        };
        tokens.push((token, &rest[..length]));
        rest = &rest[length..];
    }
    tokens
}

fn is_literal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')
}

/// How many bytes a string takes, its quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The same JSON on lines of its own, indented by two. Arrays without objects
/// or arrays in them stay on one line if it is short.
pub(super) fn pretty(text: &str) -> String {
    let mut writer = Writer { out: String::with_capacity(text.len() * 2), depth: 0 };
    let tokens: Vec<&str> =
        tokens(text).into_iter().flat_map(|(token, text)| split(token, text)).collect();
    let mut at = 0;
    while at < tokens.len() {
        at += writer.write(&tokens[at..]);
    }
    writer.out
}

/// The same JSON without spaces.
pub(super) fn compact(text: &str) -> String {
    tokens(text).into_iter().flat_map(|(token, text)| split(token, text)).collect()
}

/// Marks one by one, without spaces.
fn split(token: Token, text: &str) -> Vec<&str> {
    match token {
        Token::Mark => text.split("").filter(|mark| !mark.trim().is_empty()).collect(),
        _ => vec![text],
    }
}

struct Writer {
    out: String,
    depth: usize,
}

impl Writer {
    /// Writes the first token, or several that belong together; how many.
    fn write(&mut self, tokens: &[&str]) -> usize {
        match tokens[0] {
            open @ ("{" | "[") => {
                if let Some(count) = self.write_flat(tokens) {
                    return count;
                }
                self.out.push_str(open);
                self.depth += 1;
                self.new_line();
            }
            close @ ("}" | "]") => {
                self.depth = self.depth.saturating_sub(1);
                self.new_line();
                self.out.push_str(close);
            }
            "," => {
                self.out.push(',');
                self.new_line();
            }
            ":" => self.out.push_str(": "),
            value => self.out.push_str(value),
        }
        1
    }

    /// Writes an empty object, or an array that is short and flat.
    fn write_flat(&mut self, tokens: &[&str]) -> Option<usize> {
        const MAX_WIDTH: usize = 60;
        let close = tokens.iter().position(|token| matches!(*token, "}" | "]"))?;
        let inner = &tokens[1..close];
        let is_flat = tokens[0] == "[" && !inner.iter().any(|token| matches!(*token, "{" | "["));
        let width: usize = inner.iter().map(|token| token.len() + 1).sum();
        if !(inner.is_empty() || is_flat && width <= MAX_WIDTH) {
            return None;
        }
        for token in &tokens[..=close] {
            self.out.push_str(token);
            self.out.push_str(if *token == "," { " " } else { "" });
        }
        Some(close + 1)
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(self.depth));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_token_stays_as_written() {
        let check = |compact: &str, lines: &[&str]| assert_eq!(pretty(compact), lines.join("\n"));
        check(r#"{"b":50.0,"a":[1e5,-2]}"#, &["{", r#"  "b": 50.0,"#, r#"  "a": [1e5, -2]"#, "}"]);
        check(r#"{ "a" : {} , "b":[ ]}"#, &["{", r#"  "a": {},"#, r#"  "b": []"#, "}"]);
        check(r#"[{"a":"x\"}]"}]"#, &["[", "  {", r#"    "a": "x\"}]""#, "  }", "]"]);
        check("null", &["null"]);
    }

    #[test]
    fn names_are_told_from_texts() {
        let json = r#"{"a" :"b","c":[true,"d"]}"#;
        let found = tokens(json);
        assert_eq!(found.iter().map(|(_, text)| *text).collect::<String>(), json);
        let of = |wanted: Token| -> Vec<&str> {
            found.iter().filter(|(token, _)| *token == wanted).map(|(_, text)| *text).collect()
        };
        assert_eq!(of(Token::Name), ["\"a\"", "\"c\""]);
        assert_eq!(of(Token::String), ["\"b\"", "\"d\""]);
        assert_eq!(of(Token::Literal), ["true"]);
    }

    fn values() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn lines_change_nothing_but_spaces(value in values()) {
            let text = value.to_string();
            let pretty = pretty(&text);
            let again: serde_json::Value = serde_json::from_str(&pretty).expect("still JSON");
            prop_assert_eq!(&again, &value);
            prop_assert_eq!(compact(&pretty), text);
        }
    }
}
