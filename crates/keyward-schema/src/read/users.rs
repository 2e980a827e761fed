//! Names of users: who may read and who may write keys.

use super::table::Table;
use crate::checks::wrong_value;
use crate::diagnostic::Report;

/// The users that a setting names; `None` if it is not there. A name stands in a file of
/// users between spaces, so it has none.
pub(super) fn read(table: &Table<'_>, setting: &str, report: &mut Report) -> Option<Vec<Box<str>>> {
    let entry = table.entry(setting)?;
    let mut users: Vec<Box<str>> = Vec::new();
    for name in table.texts(setting, report) {
        if !is_user_name(name.value) {
            report.push(wrong_value::no_user(entry.name, name.value, name.at));
        } else if !users.iter().any(|other| **other == *name.value) {
            users.push(name.value.into());
        }
    }
    Some(users)
}

/// Whether a user can have this name.
pub fn is_user_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn a_name_with_a_space_is_no_user() {
        let of = |readers: &str| format!("[key.\"a\"]\ntype = 'string'\nreaders = {readers}");
        check(&of("['a', 'b-c', 'a']"), "");
        check(
            &of("['a b']"),
            "KW0006 3:12 `readers` wants names of users, which have no spaces [this has one]",
        );
        check(
            &of("['a', 'b c', '']"),
            "KW0006 3:17 `readers` wants names of users, which have no spaces [this has one]\n\
             KW0006 3:24 `readers` wants names of users, which have no spaces [this is empty]",
        );
    }
}
