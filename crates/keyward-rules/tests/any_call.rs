//! Any call of any command that writes: the first stage never panics, and what it
//! refuses is one printable line with the code in front.
//!
//! Arguments are drawn from words that mean something to some command, keys of the
//! systems' own patterns among them, and from bytes that mean nothing.

use keyward_commands::{Arity, COMMANDS, Command, CommandId, Flag};
use keyward_resp::ArgBuf;
use keyward_rules::{Blind, RuleBook, Verdict};
use keyward_schema::check;
use proptest::prelude::*;

const SYSTEMS: [&str; 5] = ["api-billing", "calls-bot", "events", "social", "telegram-gateway"];

const WORDS: [&[u8]; 30] = [
    b"",
    b"0",
    b"1",
    b"-1",
    b"2",
    b"3",
    b"1.5",
    b"1e400",
    b"-0.00",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"EX",
    b"PXAT",
    b"KEEPTTL",
    b"NX",
    b"LT",
    b"INCR",
    b"STORE",
    b"DB",
    b"PERSIST",
    b"get",
    b"{}",
    b"{\"status\": \"active\"}",
    b"[null",
    b"a\r\nb",
    b"\xff\x00\x1b[2J",
    b"balance_usd",
    b"status",
    b"redeem_coupon",
    b"\"",
];

fn books() -> Vec<RuleBook> {
    let read = |system: &&str| {
        let root = env!("CARGO_MANIFEST_DIR");
        let text = std::fs::read(format!("{root}/../../systems/{system}/keyward.toml"));
        let checked = check(system, &text.expect("the schema of a system"));
        RuleBook::new(checked.schema.expect("a schema without errors"))
    };
    SYSTEMS.iter().map(read).collect()
}

fn judged(command: &&Command) -> bool {
    command.flags.has(Flag::Write) || matches!(command.id, CommandId::FCall | CommandId::FCallRo)
}

/// A call whose arity is right; each number chooses an argument.
fn call(book: &RuleBook, command: &Command, choices: &[usize]) -> ArgBuf {
    let examples: Vec<&[u8]> = book
        .schema()
        .keys
        .iter()
        .filter_map(|key| key.example.as_ref())
        .map(|example| example.key.as_bytes())
        .chain(WORDS)
        .collect();
    let (least, most) = match command.arity {
        Arity::Exactly(count) => (count.into(), count.into()),
        Arity::AtLeast(count) => (count.into(), usize::MAX),
    };
    let count = choices.len().clamp(least, most);
    let argument = |at: usize| examples[choices[at % choices.len()] % examples.len()];
    std::iter::once(command.name.as_bytes()).chain((1..count).map(argument)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_call_is_judged(
        system in 0..SYSTEMS.len(),
        command in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<usize>(), 1..9),
    ) {
        thread_local!(static BOOKS: Vec<RuleBook> = books());
        let commands: Vec<&Command> = COMMANDS.iter().filter(judged).collect();
        let command = *command.get(&commands);
        BOOKS.with(|books| -> Result<(), TestCaseError> {
            let book = &books[system];
            let call = call(book, command, &choices);
            let table_of = |position| call.args().get(position).and_then(|key| book.table_of(key));
            let blind = Blind { now_ms: 1_800_000_000_000 };
            let verdict = book.before(&blind, command, call.args(), &table_of);
            if let Ok(Verdict::Refuse(refusal)) = verdict {
                let text = refusal.text();
                prop_assert!(text.starts_with("SCHEMA ") && text.ends_with(')'), "{}", text);
                prop_assert!(!text.contains(char::is_control), "{:?}", text);
                prop_assert!(text.len() < 1000, "{} bytes: {}", text.len(), text);
            }
            Ok(())
        })?;
    }
}
