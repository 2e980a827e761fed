//! The file of users: a line for each, `user NAME RULE…`.
//!
//! Owns reading it, with Redis's words for what is wrong. There are no quotes and no
//! comments in it: Redis writes it anew.

use super::rules::{RuleError, has_space, merge_selectors};
use super::user::User;
use super::{NewChannels, Users};
use std::sync::Arc;

/// Ends the list of errors.
const NOTHING_CHANGED: &str =
    "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";

/// The users of a file that errors call `name`.
pub(super) fn read(name: &str, text: &[u8], new: NewChannels) -> Result<Users, Vec<u8>> {
    let mut users = Users::new();
    let mut errors = Vec::new();
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = trimmed(line, b" \t\r\n");
        if line.contains(&0) {
            // C would end the text here, and with it the users whose lines follow.
            let text = format!("{name}:{}: a zero byte is in this line. ", index + 1);
            errors.extend_from_slice(text.as_bytes());
        } else if !line.is_empty() {
            read_line((name, index + 1), line, new, &mut users, &mut errors);
        }
    }
    if errors.is_empty() {
        return Ok(users);
    }
    errors.extend_from_slice(NOTHING_CHANGED.as_bytes());
    Err(errors)
}

fn read_line(
    (name, number): (&str, usize),
    line: &[u8],
    new: NewChannels,
    users: &mut Users,
    errors: &mut Vec<u8>,
) {
    let place = format!("{name}:{number}");
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [b"user", user_name, rules @ ..] = words.as_slice() else {
        let text = format!("{place} should start with user keyword followed by the username. ");
        return errors.extend_from_slice(text.as_bytes());
    };
    if has_space(user_name) {
        let start = format!("'{place}: username '");
        let text = [start.as_bytes(), user_name, b"' contains invalid characters. "].concat();
        return errors.extend_from_slice(&text);
    }
    if users.contains_key(*user_name) {
        let end = format!("' found on line {number}. ");
        let text = [b"WARNING: Duplicate user '", *user_name, end.as_bytes()].concat();
        return errors.extend_from_slice(&text);
    }
    let mut user = User::new(user_name, new);
    match merge_selectors(rules) {
        Err(_) => {
            let text = format!("{place}: Unmatched parenthesis in selector definition.");
            errors.extend_from_slice(text.as_bytes());
        }
        Ok(rules) => apply(&place, &rules, new, &mut user, errors),
    }
    users.insert((*user_name).into(), Arc::new(user));
}

/// Obeys the rules of a line; of those that are wrong, unknown names are all told, of
/// others the first.
fn apply(place: &str, rules: &[Vec<u8>], new: NewChannels, user: &mut User, errors: &mut Vec<u8>) {
    let mut is_told = false;
    for rule in rules {
        let rule = trimmed(rule, b"\t\r\n");
        let Err(error) = user.apply(rule, new) else { continue };
        if error == RuleError::Unknown {
            let start = format!("{place}: Error in applying operation '");
            let end = format!("': {}. ", error.text());
            errors.extend_from_slice(&[start.as_bytes(), rule, end.as_bytes()].concat());
        } else if !is_told {
            errors.extend_from_slice(format!("{place}: {}. ", error.text()).as_bytes());
            is_told = true;
        }
    }
}

/// The text without these bytes at its ends.
fn trimmed<'a>(text: &'a [u8], bytes: &[u8]) -> &'a [u8] {
    let is_kept = |byte: &u8| !bytes.contains(byte);
    let Some(start) = text.iter().position(is_kept) else { return &[] };
    let end = text.iter().rposition(is_kept).map_or(0, |last| last + 1);
    &text[start..end]
}
