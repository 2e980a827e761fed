//! The arguments of MIGRATE, for whoever moves the keys and for whoever judges that.

use crate::args::{self, Options};
use crate::error::WireError;
use keyward_resp::Args;
use std::ops::Range;

/// Where options begin.
const OPTIONS: usize = 6;
/// The key, if there is one.
const KEY: usize = 3;
/// How long the other server may take where nothing is said of it.
const TIMEOUT_MS: u64 = 1000;

/// What a call of MIGRATE asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrate<'a> {
    /// Where the other server is.
    pub host: &'a [u8],
    /// Its port, as it was given.
    pub port: &'a [u8],
    /// The database there.
    pub db: i64,
    /// How long the other server may take for a step.
    pub timeout_ms: u64,
    /// The keys stay here.
    pub copies: bool,
    /// Keys there are replaced.
    pub replaces: bool,
    /// What AUTH is told there: a password, or a user and a password.
    pub credentials: Vec<&'a [u8]>,
    /// The arguments that are keys.
    pub keys: Range<usize>,
}

impl<'a> Migrate<'a> {
    /// Reads a call whose arity is right.
    pub fn parse(args: Args<'a>) -> Result<Migrate<'a>, WireError> {
        let (mut copies, mut replaces) = (false, false);
        let mut credentials = Vec::new();
        let mut keys = KEY..KEY + 1;
        let mut options = Options::new(args, OPTIONS);
        while let Some(word) = options.next() {
            if args::is(word, "COPY") {
                copies = true;
            } else if args::is(word, "REPLACE") {
                replaces = true;
            } else if args::is(word, "AUTH") {
                credentials = vec![options.value()?];
            } else if args::is(word, "AUTH2") {
                credentials = vec![options.value()?, options.value()?];
            } else if args::is(word, "KEYS") {
                if !args.at(KEY).is_empty() {
                    return Err(WireError::Err(
                        "When using MIGRATE KEYS option, the key argument must be set to the \
                         empty string",
                    ));
                }
                keys = options.index()..args.len();
                break;
            } else {
                return Err(WireError::Syntax);
            }
        }
        let timeout_ms = u64::try_from(args::integer(args.at(5))?).unwrap_or(0);
        Ok(Migrate {
            host: args.at(1),
            port: args.at(2),
            db: args::integer(args.at(4))?,
            timeout_ms: if timeout_ms == 0 { TIMEOUT_MS } else { timeout_ms },
            copies,
            replaces,
            credentials,
            keys,
        })
    }

    /// The arguments that are keys, in calls that are otherwise wrong too; `None` if
    /// there are two ways to read them. `KEYS` with nothing behind it is no way.
    pub(crate) fn keys(args: Args<'_>) -> Option<Range<usize>> {
        let mut at = OPTIONS;
        while let Some(word) = args.get(at) {
            if args::is(word, "KEYS") && at + 1 < args.len() {
                return args.at(KEY).is_empty().then(|| at + 1..args.len());
            }
            at += if args::is(word, "AUTH2") { 3 } else { 1 + usize::from(args::is(word, "AUTH")) };
        }
        Some(KEY..KEY + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_resp::ArgBuf;

    fn parse(call: &str, check: impl FnOnce(Result<Migrate<'_>, WireError>)) {
        let args: ArgBuf = call.split(' ').collect();
        check(Migrate::parse(args.args()));
    }

    #[test]
    fn a_key_is_named_or_many_are() {
        parse("migrate h 1 k 0 5 copy", |call| {
            let call = call.expect("a call");
            assert_eq!((call.keys, call.copies, call.timeout_ms), (3..4, true, 5));
        });
        parse("migrate h 1  2 -5 replace auth2 keys p keys a b", |call| {
            let call = call.expect("a call");
            assert_eq!((call.keys, call.db, call.timeout_ms), (11..13, 2, 1000));
            assert_eq!(call.credentials, [b"keys", b"p".as_slice()]);
        });
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for call in ["migrate h 1 k 0 5 keys a", "migrate h 1 k 0 5 auth", "migrate h 1 k x 5"] {
            parse(call, |parsed| assert!(parsed.is_err(), "{call}"));
        }
    }
}
