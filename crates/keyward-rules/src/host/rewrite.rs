//! The arguments that carry a decided lifetime ([`Verdict::RunUntil`]).
//!
//! A host that sets deadlines itself needs none of this; one that only runs commands needs a
//! command that says when the string ends. Owns what that command is, and what has to run
//! behind one that cannot say it.
//! Invariant: what the client reads is what its own command returns.
//!
//! [`Verdict::RunUntil`]: crate::Verdict::RunUntil

use keyward_commands::args::{Options, is};
use keyward_commands::{Command, CommandId};
use keyward_resp::{ArgBuf, Args};

/// When a string is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// At this time, in milliseconds since the epoch.
    At(i64),
    /// So many milliseconds after the command runs, which may be later than it is rewritten.
    In(i64),
}

impl Deadline {
    fn option(self) -> (&'static [u8], i64) {
        match self {
            Deadline::At(at) => (b"PXAT", at),
            Deadline::In(ms) => (b"PX", ms),
        }
    }

    fn expire(self, key: &[u8]) -> ArgBuf {
        let (name, number): (&[u8], i64) = match self {
            Deadline::At(at) => (b"PEXPIREAT", at),
            Deadline::In(ms) => (b"PEXPIRE", ms),
        };
        [name, key, number.to_string().as_bytes()].iter().collect()
    }
}

/// What runs in place of a command whose string is to end at a given time.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewritten {
    /// The command that says so; `None` if there is none, and its own runs.
    pub command: Option<ArgBuf>,
    /// What runs behind it, in the same unit.
    pub behind: Option<Behind>,
}

/// A command that gives a string its end once it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// The command.
    pub command: ArgBuf,
    /// It runs only if the first one returned 1: it may have set nothing.
    pub only_if_one: bool,
}

/// What runs in place of a call whose arguments Redis accepts, so that its string ends then.
pub fn rewrite(command: &Command, args: Args<'_>, deadline: Deadline) -> Rewritten {
    let behind = |only_if_one| Rewritten {
        command: None,
        behind: Some(Behind { command: deadline.expire(args.at(1)), only_if_one }),
    };
    let set = |value: &[u8], words: &mut dyn Iterator<Item = &[u8]>| {
        let mut said: ArgBuf = [b"SET", args.at(1), value].iter().collect();
        words.for_each(|word| said.push(word));
        let (option, number) = deadline.option();
        said.push(option);
        said.push(number.to_string().as_bytes());
        Rewritten { command: Some(said), behind: None }
    };
    match command.id {
        CommandId::Set => set(args.at(2), &mut conditions(args)),
        CommandId::GetSet => set(args.at(2), &mut [b"GET" as &[u8]].into_iter()),
        CommandId::SetEx | CommandId::PSetEx => set(args.at(3), &mut std::iter::empty()),
        // It returns a number, which no SET does.
        CommandId::SetNx => behind(true),
        _ => behind(false),
    }
}

/// The options of SET, but for those about its lifetime.
fn conditions(args: Args<'_>) -> impl Iterator<Item = &[u8]> {
    let mut options = Options::new(args, 3);
    std::iter::from_fn(move || {
        loop {
            let word = options.next()?;
            if ["EX", "PX", "EXAT", "PXAT"].iter().any(|option| is(word, option)) {
                options.next()?;
            } else if !is(word, "KEEPTTL") {
                return Some(word);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_commands::lookup;

    fn words(command: &ArgBuf) -> String {
        let words = command.args().iter().map(|word| String::from_utf8_lossy(word).into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(call: &str, deadline: Deadline, expected: (Option<&str>, Option<(&str, bool)>)) {
        let call: ArgBuf = call.split(' ').collect();
        let command = lookup(call.args().at(0)).expect("a command of Redis");
        let Rewritten { command, behind } = rewrite(command, call.args(), deadline);
        let command = command.as_ref().map(words);
        let behind = behind.map(|behind| (words(&behind.command), behind.only_if_one));
        let behind = behind.as_ref().map(|(text, only)| (&**text, *only));
        assert_eq!((command.as_deref(), behind), expected);
    }

    #[test]
    fn set_says_when_it_ends_whatever_it_said_before() {
        let at = Deadline::At(7000);
        for (call, expected) in [
            ("SET k v", "SET k v PXAT 7000"),
            ("set k v ex 10 NX get", "SET k v NX get PXAT 7000"),
            ("SET k v XX KEEPTTL", "SET k v XX PXAT 7000"),
            ("SET EX PX PXAT 5", "SET EX PX PXAT 7000"),
            ("GETSET k v", "SET k v GET PXAT 7000"),
            ("SETEX k 10 v", "SET k v PXAT 7000"),
            ("PSETEX k 10 v", "SET k v PXAT 7000"),
        ] {
            check(call, at, (Some(expected), None));
        }
        check("SET k v EX 9", Deadline::In(50), (Some("SET k v PX 50"), None));
    }

    #[test]
    fn what_cannot_say_it_is_followed_by_an_expire() {
        check("SETNX k v", Deadline::At(7), (None, Some(("PEXPIREAT k 7", true))));
        check("INCR k", Deadline::At(7), (None, Some(("PEXPIREAT k 7", false))));
        check("INCRBY k 5", Deadline::In(7), (None, Some(("PEXPIRE k 7", false))));
    }
}
