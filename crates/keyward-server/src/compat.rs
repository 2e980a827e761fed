//! COMPAT.md: what `keyward-commands` tells of commands, and the settings of redis.conf
//! that have no effect or are refused.

use crate::settings::absent::ABSENT;
use crate::settings::kept::KEPT;
use crate::settings::table::{Kind, Setting};

const HEAD: &str = "
## Settings

Settings bear redis.conf's names; one that is not known is an error that names it. Written from the tables of `keyward-server`.

Where there is neither a file of settings nor one on the standard input, three of them are not what Redis assumes: `bind` is `127.0.0.1 -::1`, so that only this machine is listened to; `appendonly` is `yes`; `dir` is `keyward-data`. With one, and where it is silent, they are Redis's (`* -::*`, `no`, `.`).

### Without effect

These are taken, kept and answered by CONFIG GET, so that a redis.conf can be used as it is, and change nothing. Where silence would mislead, only the value that asks for nothing is taken.

| why | settings |
| --- | --- |
";

const REFUSED: &str = "
### Refused

| why | settings |
| --- | --- |
";

/// The whole text of COMPAT.md.
pub fn compat_markdown() -> String {
    let mut text = keyward_commands::compat_markdown();
    text.push_str(HEAD);
    let mut reasons: Vec<&str> = Vec::new();
    for setting in KEPT {
        if !reasons.contains(&setting.doc) {
            reasons.push(setting.doc);
        }
    }
    for reason in reasons {
        let named = KEPT.iter().filter(|setting| setting.doc == reason).map(shown);
        push_row(&mut text, reason, named);
    }
    text.push_str(REFUSED);
    for absent in ABSENT {
        push_row(&mut text, absent.reason, absent.names.iter().map(|name| format!("`{name}`")));
    }
    text
}

fn push_row(text: &mut String, reason: &str, names: impl Iterator<Item = String>) {
    let names: Vec<String> = names.collect();
    text.push_str(&format!("| {reason} | {} |\n", names.join(", ")));
}

/// A setting's name, and what it takes if that is one value.
fn shown(setting: &Setting) -> String {
    let name = setting.name;
    match setting.kind {
        Kind::OneOf([""]) => format!("`{name}` (empty only)"),
        Kind::OneOf([only]) => format!("`{name}` (`{only}` only)"),
        _ => format!("`{name}`"),
    }
}
