//! Errors as clients see them: a code and a text equal to Redis's byte for byte.
//!
//! Owns the errors that more than one command gives. A text of a single command stands
//! beside its handler, as [`WireError::Err`].
//! Not here: protocol errors (`keyward-resp`), which close the connection.

use keyward_resp::{Args, ReplyWriter};

/// Declares the errors without parameters and the others beside them.
macro_rules! wire_errors {
    ($( $(#[$doc:meta])* $fixed:ident = $text:literal, )+ ;
     $( $(#[$other_doc:meta])* $other:ident($($data:ty),+), )+) => {
        /// An error reply.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum WireError {
            $( $(#[$doc])* #[doc = concat!("`", $text, "`")] $fixed, )+
            $( $(#[$other_doc])* $other($($data),+), )+
        }

        impl WireError {
            /// The whole line of an error without parameters.
            const fn fixed_text(&self) -> Option<&'static str> {
                match self { $( WireError::$fixed => Some($text), )+ _ => None }
            }
        }
    };
}

wire_errors! {
    Syntax = "ERR syntax error",
    WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value",
    NoSuchKey = "ERR no such key",
    SameObject = "ERR source and destination objects are the same",
    IndexOutOfRange = "ERR index out of range",
    NotInteger = "ERR value is not an integer or out of range",
    NotFloat = "ERR value is not a valid float",
    OutOfRange = "ERR value is out of range",
    NotPositive = "ERR value is out of range, must be positive",
    IncrementOverflow = "ERR increment or decrement would overflow",
    IncrementNotFinite = "ERR increment would produce NaN or Infinity",
    NotFinite = "ERR value is NaN or Infinity",
    OffsetOutOfRange = "ERR offset is out of range",
    StringTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
    BitOffset = "ERR bit offset is not an integer or out of range",
    DbIndexOutOfRange = "ERR DB index is out of range",
    InvalidDbIndex = "ERR invalid DB index",
    InvalidCursor = "ERR invalid cursor",
    MinOrMaxNotFloat = "ERR min or max is not a float",
    MinOrMaxNotString = "ERR min or max not valid string range item",
    NumKeysTooLarge = "ERR Number of keys can't be greater than number of args",
    NumKeysNegative = "ERR Number of keys can't be negative",
    TimeoutNotFloat = "ERR timeout is not a float or out of range",
    TimeoutNotInteger = "ERR timeout is not an integer or out of range",
    TimeoutNegative = "ERR timeout is negative",
    NoScript = "NOSCRIPT No matching script. Please use EVAL.",
    Loading = "LOADING Redis is loading the dataset in memory",
    BusyScript = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    BusyFunction = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
    MasterDown = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    ReadOnlyReplica = "READONLY You can't write against a read only replica.",
    NoAuth = "NOAUTH Authentication required.",
    WrongPassword = "WRONGPASS invalid username-password pair or user is disabled.",
    UnsupportedProtocol = "NOPROTO unsupported protocol version",
    OutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.",
    SaveFailed = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.",
    ExecAborted = "EXECABORT Transaction discarded because of previous errors.",
    ExecWithoutMulti = "ERR EXEC without MULTI",
    DiscardWithoutMulti = "ERR DISCARD without MULTI",
    NestedMulti = "ERR MULTI calls can not be nested",
    WatchInsideMulti = "ERR WATCH inside MULTI is not allowed",
    NotInTransaction = "ERR Command not allowed inside a transaction",
    NoReplicas = "NOREPLICAS Not enough good replicas to write.",
    BusyKey = "BUSYKEY Target key name already exists.",
    NotBusy = "NOTBUSY No scripts in execution right now.",
    InvalidCommand = "ERR Invalid command specified",
    NoKeyArguments = "ERR The command has no key arguments",
    InvalidArgumentCount = "ERR Invalid number of arguments specified for command",
    InvalidArguments = "ERR Invalid arguments specified for command",
    ;
    /// `ERR wrong number of arguments for '…' command`, with the command's full name.
    WrongArity(&'static str),
    /// `ERR invalid expire time in '…' command`, with the command's full name.
    InvalidExpire(&'static str),
    /// `ERR value is out of range, value must between … and …`, as Redis spells it.
    OutOfBounds(i64, i64),
    /// `ERR `, then this text: an error that only one command gives.
    Err(&'static str),
    /// A whole line that begins with its code.
    Line(Box<[u8]>),
}

/// How much of a client's bytes an error shows.
const SHOWN_BYTES_MAX: usize = 128;

impl WireError {
    /// `ERR unknown command '…', with args beginning with: …`
    pub fn unknown_command(args: Args<'_>) -> WireError {
        let mut shown = Vec::new();
        for argument in args.from(1).iter() {
            if shown.len() >= SHOWN_BYTES_MAX {
                break;
            }
            let room = SHOWN_BYTES_MAX - shown.len();
            shown.push(b'\'');
            shown.extend_from_slice(c_string(argument, room));
            shown.extend_from_slice(b"' ");
        }
        let name = c_string(args.get(0).unwrap_or_default(), SHOWN_BYTES_MAX);
        WireError::line(&[b"ERR unknown command '", name, b"', with args beginning with: ", &shown])
    }

    /// `ERR unknown subcommand '…'. Try … HELP.`
    pub fn unknown_subcommand(args: Args<'_>) -> WireError {
        WireError::about_subcommand(b"ERR unknown subcommand '", args)
    }

    /// `ERR unknown subcommand or wrong number of arguments for '…'. Try … HELP.`
    pub fn subcommand_syntax(args: Args<'_>) -> WireError {
        WireError::about_subcommand(
            b"ERR unknown subcommand or wrong number of arguments for '",
            args,
        )
    }

    /// A line of these parts, each up to its first zero byte, as C prints it; line ends
    /// at its end are cut off.
    pub fn line(parts: &[&[u8]]) -> WireError {
        let shown: Vec<&[u8]> = parts.iter().map(|part| c_string(part, part.len())).collect();
        let mut line = shown.concat();
        while line.pop_if(|byte| matches!(byte, b'\r' | b'\n')).is_some() {}
        WireError::Line(line.into())
    }

    fn about_subcommand(start: &[u8], args: Args<'_>) -> WireError {
        let container = args.get(0).unwrap_or_default().to_ascii_uppercase();
        let subcommand = c_string(args.get(1).unwrap_or_default(), SHOWN_BYTES_MAX);
        WireError::line(&[start, subcommand, b"'. Try ", &container, b" HELP."])
    }

    /// The whole line, code first, without the mark and the line end of the protocol.
    pub fn text(&self) -> Box<[u8]> {
        let text = match self {
            WireError::WrongArity(name) => {
                format!("ERR wrong number of arguments for '{name}' command")
            }
            WireError::InvalidExpire(name) => {
                format!("ERR invalid expire time in '{name}' command")
            }
            WireError::OutOfBounds(min, max) => {
                format!("ERR value is out of range, value must between {min} and {max}")
            }
            WireError::Err(text) => format!("ERR {text}"),
            WireError::Line(line) => return line.clone(),
            fixed => fixed.fixed_text().unwrap_or_default().to_owned(),
        };
        text.into_bytes().into()
    }

    /// The code: the first word of the line.
    pub fn code(&self) -> &[u8] {
        let line = match (self.fixed_text(), self) {
            (Some(text), _) => text.as_bytes(),
            (None, WireError::Line(line)) => line,
            (None, _) => b"ERR",
        };
        line.split(|&byte| byte == b' ').next().unwrap_or_default()
    }

    /// Writes the error as a reply.
    pub fn write_to(&self, reply: &mut ReplyWriter<'_>) {
        match (self.fixed_text(), self) {
            (Some(text), _) => reply.error(text.as_bytes()),
            (None, WireError::Line(line)) => reply.error(line),
            (None, other) => reply.error(&other.text()),
        }
    }
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text()))
    }
}

impl std::error::Error for WireError {}

/// What C prints of `bytes`: up to the first zero byte and at most `max`.
fn c_string(bytes: &[u8], max: usize) -> &[u8] {
    let end = bytes.iter().take(max).position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len().min(max))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_resp::ArgBuf;

    fn check(error: WireError, expected: &str) {
        assert_eq!(error.to_string(), expected);
    }

    fn command(words: &[&str]) -> ArgBuf {
        words.iter().collect()
    }

    #[test]
    fn an_unknown_command_shows_the_beginning_of_its_arguments() {
        check(
            WireError::unknown_command(command(&["foo"]).args()),
            "ERR unknown command 'foo', with args beginning with: ",
        );
        check(
            WireError::unknown_command(command(&["foo", "a", "b\0c"]).args()),
            "ERR unknown command 'foo', with args beginning with: 'a' 'b' ",
        );
        let long = "x".repeat(200);
        check(
            WireError::unknown_command(command(&[&long, "y", &long, &long]).args()),
            &format!(
                "ERR unknown command '{0}', with args beginning with: 'y' '{1}' ",
                "x".repeat(128),
                "x".repeat(124)
            ),
        );
    }

    #[test]
    fn an_unknown_subcommand_points_to_help() {
        check(
            WireError::unknown_subcommand(command(&["Client", "foo"]).args()),
            "ERR unknown subcommand 'foo'. Try CLIENT HELP.",
        );
    }

    #[test]
    fn the_code_is_the_first_word() {
        assert_eq!(WireError::WrongType.code(), b"WRONGTYPE");
        assert_eq!(WireError::WrongArity("get").code(), b"ERR");
        assert_eq!(WireError::line(&[b"SCHEMA no"]).code(), b"SCHEMA");
    }
}
