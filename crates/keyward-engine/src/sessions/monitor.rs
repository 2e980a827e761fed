//! MONITOR: what those who watch may do, and how words are quoted for them.
//!
//! Not here: the line a command is shown as (`engine::observers`).

use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};

/// Whether a client that watches may run a command: none that is about keys.
#[cold]
pub(crate) fn check_watcher(session: &Session, command: &Command) -> Result<(), WireError> {
    let concerns_keys = |command: &Command| {
        let flags = [Flag::Write, Flag::ReadOnly, Flag::MayReplicate];
        flags.into_iter().any(|flag| command.flags.has(flag))
    };
    let is_refused = match (command.id, &session.transaction) {
        (CommandId::Exec, Some(t)) => t.queue.iter().any(|(command, _)| concerns_keys(command)),
        _ => concerns_keys(command),
    };
    match is_refused {
        true => Err(WireError::Err("Replica can't interact with the keyspace")),
        false => Ok(()),
    }
}

/// Appends text in double quotes, what does not print escaped.
pub(crate) fn quote(text: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for &byte in text {
        match byte {
            b'\\' | b'"' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x07 => line.extend_from_slice(b"\\a"),
            0x08 => line.extend_from_slice(b"\\b"),
            b' '..=b'~' => line.push(byte),
            other => line.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use crate::sessions::monitor::quote;

    #[test]
    fn words_are_quoted_as_redis_quotes_them() {
        let mut line = Vec::new();
        quote(b"a\"\\\n\r\t\x07\x08\x00\xff z", &mut line);
        assert_eq!(line, b"\"a\\\"\\\\\\n\\r\\t\\a\\b\\x00\\xff z\"");
    }
}
