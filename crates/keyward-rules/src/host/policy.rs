//! What a host of the rule book does about which commands (the host's policy).
//!
//! Owns what follows from a command alone, whatever its rows are kept in: which commands are
//! judged, what has to be settled before one runs, which cannot be tried or swapped, what
//! waits while a schema comes into force. Pure functions of a command and its arguments, which
//! every host of the rule book takes as they are.
//! Not here: rows, sessions and the keyspace (the host carries out what is decided here), what
//! the rules are (`before`, `after`).

use crate::arguments::extent;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, Group, args};
use keyward_resp::Args;

/// What becomes of a command that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// The book of its database says.
    AskBook,
    /// It runs, and the books of the databases that it reached say what follows.
    RunAndFollow,
    /// It is refused if a database that it swaps is under a schema.
    Swap,
    /// It runs: no book has to do with it.
    Run,
}

/// Which rows that are due have to be gone before a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettledFirst {
    /// All on which others depend.
    All,
    /// Those of the commands of a transaction, and of the keys it watches.
    OfQueue,
    /// Those on which its keys depend.
    OfKeys,
}

/// What large ends have to be over before a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishedFirst {
    /// All: it looks at rows of which nothing tells beforehand.
    All,
    /// Those that reach rows which cannot be told key by key.
    BeyondKeys,
    /// The same if a row that is shown can be drawn by chance, all otherwise.
    OfDraw,
    /// Those of its keys.
    OfKeys,
}

/// Which rows a command reaches that may be held while a schema comes into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// None.
    None,
    /// Any of any database.
    All,
    /// Any of its own database.
    OfDatabase,
    /// Those of its keys.
    OfKeys,
}

/// Whether the book has a say in a command: it writes, or the schema declares what it calls.
#[inline(always)]
pub fn is_judged(command: &Command) -> bool {
    writes(command) || matches!(command.id, CommandId::FCall | CommandId::FCallRo)
}

/// Whether the arguments alone are judged when a command is queued for a transaction.
#[inline(always)]
pub fn is_judged_when_queued(command: &Command) -> bool {
    writes(command)
}

/// Whether a command by itself may change rows.
#[inline(always)]
fn writes(command: &Command) -> bool {
    command.flags.has(Flag::Write)
}

/// What becomes of a command that is judged, in a database that has a book or none.
#[inline]
pub fn course(command: &Command, has_book: bool) -> Course {
    match command.id {
        CommandId::SwapDb => Course::Swap,
        _ if has_book => Course::AskBook,
        _ if reaches_other_databases(command) => Course::RunAndFollow,
        _ => Course::Run,
    }
}

/// Whether a command reaches, by its keys, rows of other databases than its own.
pub fn reaches_other_databases(command: &Command) -> bool {
    matches!(command.id, CommandId::Copy | CommandId::Move)
}

/// A row that RENAME, COPY or MOVE takes elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Relocation<'a> {
    /// Where it is.
    pub from: &'a [u8],
    /// The key that it comes to.
    pub to: &'a [u8],
    /// The number of its database there, if that is said.
    pub db: Option<&'a [u8]>,
    /// Whether it takes the place of another.
    pub replaces: bool,
}

/// What a command takes elsewhere; `None` if nothing, or if Redis does not accept its options.
pub fn relocation<'a>(command: &Command, args: Args<'a>) -> Option<Relocation<'a>> {
    use CommandId::{Copy, Move, Rename, RenameNx};
    if !matches!(command.id, Rename | RenameNx | Move | Copy) {
        return None;
    }
    let (from, second) = (args.get(1)?, args.get(2)?);
    match command.id {
        Rename | RenameNx => {
            let replaces = command.id == Rename;
            Some(Relocation { from, to: second, db: None, replaces })
        }
        Move => {
            let db = Some(second);
            Some(Relocation { from, to: from, db, replaces: false })
        }
        Copy => {
            let to = second;
            let mut copied = Relocation { from, to, db: None, replaces: false };
            let mut options = args::Options::new(args, 3);
            while let Some(word) = options.next() {
                match word {
                    _ if args::is(word, "REPLACE") => copied.replaces = true,
                    _ if args::is(word, "DB") => copied.db = Some(options.next()?),
                    _ => return None,
                }
            }
            Some(copied)
        }
        _ => None,
    }
}

/// Whether a command is made of those that were queued before it.
pub fn runs_queue(command: &Command) -> bool {
    command.id == CommandId::Exec
}

/// Whether a command of a transaction may leave something to the end of its unit, or have the
/// next ones do so, of which its keys do not tell: it runs a script, or leaves the database.
pub fn may_defer_unseen(command: &Command) -> bool {
    command.group == Group::Scripting || leaves_database(command)
}

/// Whether a command runs a script, which may touch keys that it does not name.
pub fn runs_script(command: &Command) -> bool {
    use CommandId::{Eval, EvalRo, EvalSha, EvalShaRo, FCall, FCallRo};
    matches!(command.id, Eval | EvalRo | EvalSha | EvalShaRo | FCall | FCallRo)
}

/// Whether a unit with this command is judged command by command: what it does to whole
/// databases, or to another server, cannot be undone.
#[inline]
pub fn parts_units(command: &Command) -> bool {
    matches!(command.id, CommandId::SwapDb | CommandId::Migrate)
}

/// Whether what a command does besides rows stays though its unit is undone, so that the log
/// goes on telling it: messages, libraries of functions.
#[inline]
pub fn cannot_be_undone(command: &Command) -> bool {
    matches!(command.id, CommandId::Publish | CommandId::SPublish)
        || (command.group == Group::Scripting && writes(command))
}

/// Whether a command may begin large ends: it writes, or may have queued commands that do.
pub fn may_begin_ends(command: &Command) -> bool {
    writes(command) || runs_queue(command)
}

/// The numbers of the databases that SWAPDB is to swap, as far as they are numbers.
pub fn swapped(args: Args<'_>) -> impl Iterator<Item = usize> {
    let number = move |position: usize| -> Option<usize> {
        std::str::from_utf8(args.get(position)?).ok()?.parse().ok()
    };
    [1, 2].into_iter().filter_map(number)
}

/// Why SWAPDB is refused: the rows of a database under a schema belong to it.
pub fn swap_refusal(db: usize, keyspace: &str) -> String {
    format!("SCHEMA database {db} is the keyspace {keyspace} and cannot be swapped")
}

/// What is done of a command that the book refuses before its client hears of that: Redis's
/// own errors come first, and it must be seen whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is run, and undone.
    Whole,
    /// The type of its row is looked at: its arguments are sound, and it would make a long
    /// string that is not to be, or replace what may be large.
    Type,
    /// What comes before its work: the function that it calls would be called with what does not
    /// fit, and what it stores may have to be worked out of much.
    Checks,
    /// Nothing: what leaves the server cannot be tried, and what sets strings by sound arguments
    /// has no error.
    Nothing,
}

/// From this length on a string is not made in order to be undone.
const LONG: u64 = 64 * 1024;

/// What of a command is tried before it is refused.
pub fn tried_before_refusal(command: &Command, args: Args<'_>) -> Tried {
    use CommandId::*;
    match command.id {
        FCall | FCallRo => Tried::Checks,
        SUnionStore | SInterStore | SDiffStore | ZUnionStore | ZInterStore | ZDiffStore
        | ZRangeStore | GeoSearchStore | GeoRadius | GeoRadiusByMember | Sort | BitOp => {
            Tried::Checks
        }
        Migrate | SetNx | SetEx | PSetEx | MSet | MSetNx => Tried::Nothing,
        Set if !args.from(args.len().min(3)).iter().any(|word| args::is(word, "GET")) => {
            Tried::Nothing
        }
        Set | GetSet => Tried::Type,
        _ if extent(command, args).is_some_and(|bytes| bytes >= LONG) => Tried::Type,
        _ => Tried::Whole,
    }
}

/// Why EXPLAIN does not try a command; `None` if it does.
pub fn untried_by_explain(command: &Command) -> Option<&'static str> {
    if command.group == Group::Scripting {
        Some("what a script does is judged as it runs, and at its end")
    } else if !writes(command) {
        Some("only reads")
    } else if !command.has_keys() {
        // What becomes of whole databases, SWAPDB's work, is not in the journal.
        Some("concerns no key by itself, and is not tried")
    } else {
        None
    }
}

/// Which rows that are due have to be gone before a command runs: what it sees of a derived
/// key depends on its sources, which are rows of other tables than those of its keys. Commands
/// that show rows of which their arguments do not tell count among them, those that reach other
/// databases, and scripts: what a script does may be undone, and the end of a row must not be a
/// part of that.
pub fn settled_first(command: &Command) -> SettledFirst {
    use CommandId::{Copy, Debug, Keys, KeywardExplain, Move, RandomKey, Scan, Sort, SortRo};
    match command.id {
        Copy | Debug | KeywardExplain | Keys | Move | RandomKey | Scan | Sort | SortRo => {
            SettledFirst::All
        }
        _ if runs_script(command) => SettledFirst::All,
        _ if runs_queue(command) => SettledFirst::OfQueue,
        _ => SettledFirst::OfKeys,
    }
}

/// What large ends have to be over before a command runs.
pub fn finished_first(command: &Command, args: Args<'_>) -> FinishedFirst {
    use CommandId::{Debug, Keys, KeywardExplain, RandomKey, Save, Scan};
    match command.id {
        KeywardExplain | Save => FinishedFirst::All,
        Debug if shows_rows(args) => FinishedFirst::All,
        RandomKey => FinishedFirst::OfDraw,
        Keys | Scan => FinishedFirst::BeyondKeys,
        _ if reads_unnamed(command, args) => FinishedFirst::BeyondKeys,
        _ => FinishedFirst::OfKeys,
    }
}

/// Whether a command reads keys by patterns of elements: SORT with BY or GET. It finishes each
/// of them as it reads it.
pub fn reads_unnamed(command: &Command, args: Args<'_>) -> bool {
    let is_pattern = |word: &[u8]| word.contains(&b'*');
    matches!(command.id, CommandId::Sort | CommandId::SortRo) && args.from(2).iter().any(is_pattern)
}

/// Whether a subcommand of DEBUG shows or writes rows.
fn shows_rows(args: Args<'_>) -> bool {
    const OTHERS: [&str; 16] = [
        "HELP",
        "CHANGE-REPL-ID",
        "CLIENT-EVICTION",
        "CLOCK",
        "CONFIG-REWRITE-FORCE-ALL",
        "ERROR",
        "LOG",
        "PAUSE-CRON",
        "PROTOCOL",
        "QUICKLIST-PACKED-THRESHOLD",
        "REPLYBUFFER",
        "SET-ACTIVE-EXPIRE",
        "SET-DISABLE-DENY-SCRIPTS",
        "SET-SKIP-CHECKSUM-VALIDATION",
        "SLEEP",
        "STRUCTSIZE",
    ];
    args.get(1).is_some_and(|word| !OTHERS.iter().any(|other| args::is(word, other)))
}

/// Which rows a command reaches that may be held while a schema comes into force. Commands
/// without keys, or whose keys are not all that they reach, count as reaching any row.
pub fn rows_reached(command: &Command) -> Rows {
    if !command.has_keys() || command.group == Group::Scripting {
        return if reaches_rows_without_keys(command) { Rows::All } else { Rows::None };
    }
    match command.id {
        _ if reaches_other_databases(command) => Rows::All,
        CommandId::Sort | CommandId::SortRo => Rows::OfDatabase,
        _ => Rows::OfKeys,
    }
}

fn reaches_rows_without_keys(command: &Command) -> bool {
    use CommandId::{BgRewriteAof, BgSave, DbSize, Debug, KeywardExplain, KeywardMode, Save, Sync};
    matches!(command.group, Group::Generic | Group::Scripting)
        || writes(command)
        || matches!(
            command.id,
            BgRewriteAof | BgSave | DbSize | Debug | KeywardExplain | KeywardMode | Save | Sync
        )
}

/// Whether even reading a row has a command wait that is to be held, before the new schema is
/// in force: commands that only read wait for what reading changes.
pub fn waits_for_all_it_reads(command: &Command) -> bool {
    writes(command)
}

/// Whether a command of a transaction that is about to run may lead to rows of which the
/// client's own database does not tell.
pub fn leaves_database(command: &Command) -> bool {
    command.id == CommandId::Select
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_commands::{COMMANDS, lookup};
    use keyward_resp::ArgBuf;

    fn command(name: &str) -> &'static Command {
        lookup(name.as_bytes()).unwrap_or_else(|| panic!("{name} is a command"))
    }

    #[test]
    fn every_command_that_writes_is_judged_and_no_other_but_functions() {
        for command in &COMMANDS {
            let calls_function = ["fcall", "fcall_ro"].contains(&command.name);
            let writes = command.flags.has(Flag::Write);
            assert_eq!(is_judged(command), writes || calls_function, "{}", command.name);
            assert_eq!(is_judged_when_queued(command), writes, "{}", command.name);
        }
    }

    #[test]
    fn what_reaches_other_databases_is_followed_from_one_without_a_book() {
        let cases = [
            ("set", Course::AskBook, Course::Run),
            ("fcall", Course::AskBook, Course::Run),
            ("copy", Course::AskBook, Course::RunAndFollow),
            ("move", Course::AskBook, Course::RunAndFollow),
            ("swapdb", Course::Swap, Course::Swap),
        ];
        for (name, with_book, without) in cases {
            let courses = (course(command(name), true), course(command(name), false));
            assert_eq!(courses, (with_book, without), "{name}");
        }
    }

    #[test]
    fn units_are_parted_by_what_leaves_and_keep_what_is_no_row() {
        let named = |test: fn(&Command) -> bool| -> Vec<&str> {
            COMMANDS.iter().filter(|command| test(command)).map(|command| command.name).collect()
        };
        assert_eq!(named(parts_units), ["migrate", "swapdb"]);
        let kept = named(cannot_be_undone);
        for name in ["publish", "spublish"] {
            assert!(kept.contains(&name), "{kept:?}");
        }
        let cases = [("set", false), ("eval", true), ("fcall", true), ("select", true)];
        for (name, expected) in cases {
            assert_eq!(may_defer_unseen(command(name)), expected, "{name}");
            assert!(!cannot_be_undone(command(name)), "{name}");
        }
        for id in [CommandId::FunctionLoad, CommandId::FunctionDelete, CommandId::FunctionFlush] {
            let command = COMMANDS.iter().find(|command| command.id == id);
            assert!(command.is_some_and(cannot_be_undone), "{id:?}");
        }
    }

    #[test]
    fn explain_tries_what_writes_keys_and_is_no_script() {
        let cases = [
            ("set", None),
            ("migrate", None),
            ("get", Some("only reads")),
            ("eval", Some("what a script does is judged as it runs, and at its end")),
            ("fcall", Some("what a script does is judged as it runs, and at its end")),
            ("swapdb", Some("concerns no key by itself, and is not tried")),
            ("flushall", Some("concerns no key by itself, and is not tried")),
        ];
        for (name, reason) in cases {
            assert_eq!(untried_by_explain(command(name)), reason, "{name}");
        }
    }

    #[test]
    fn a_refusal_waits_for_redis_own_error_but_of_migrate_and_of_what_sets_or_makes_long_strings() {
        let none = ArgBuf::new();
        let is_untried =
            |command: &&Command| tried_before_refusal(command, none.args()) != Tried::Whole;
        let untried: Vec<&str> =
            COMMANDS.iter().filter(is_untried).map(|command| command.name).collect();
        let setting = ["getset", "mset", "msetnx", "psetex", "set", "setex", "setnx"];
        let untried: Vec<&str> =
            untried.into_iter().filter(|name| !setting.contains(name)).collect();
        let is_checked =
            |name: &&str| tried_before_refusal(command(name), none.args()) == Tried::Checks;
        let (checked, untried): (Vec<&str>, Vec<&str>) = untried.into_iter().partition(is_checked);
        assert_eq!(untried, ["migrate"]);
        let stores = |name: &&&str| name.ends_with("store") || name.starts_with("georadius");
        let others: Vec<&str> = checked.iter().filter(|name| !stores(name)).copied().collect();
        assert_eq!(checked.len() - others.len(), 10);
        assert_eq!(others, ["sort", "bitop", "fcall", "fcall_ro"]);
        for (call, tried) in [
            ("SET k v EX 10", Tried::Nothing),
            ("SET k v get", Tried::Type),
            ("SET k get", Tried::Nothing),
            ("GETSET k v", Tried::Type),
            ("MSET k v", Tried::Nothing),
            ("SETRANGE k 100 x", Tried::Whole),
            ("SETRANGE k 100000 x", Tried::Type),
            ("SETRANGE k 536870912 x", Tried::Whole),
            ("SETBIT k 4294967295 1", Tried::Type),
        ] {
            let args: ArgBuf = call.split(' ').collect();
            let command = lookup(args.args().at(0)).expect("a command");
            assert_eq!(tried_before_refusal(command, args.args()), tried, "{call}");
        }
    }

    #[test]
    fn what_is_settled_finished_and_held_first_depends_on_what_a_command_shows() {
        use {FinishedFirst as Finished, SettledFirst as Settled};
        let cases = [
            ("get", Settled::OfKeys, Finished::OfKeys, Rows::OfKeys),
            ("ping", Settled::OfKeys, Finished::OfKeys, Rows::None),
            ("exec", Settled::OfQueue, Finished::OfKeys, Rows::None),
            ("keys", Settled::All, Finished::BeyondKeys, Rows::All),
            ("sort", Settled::All, Finished::OfKeys, Rows::OfDatabase),
            ("randomkey", Settled::All, Finished::OfDraw, Rows::All),
            ("copy", Settled::All, Finished::OfKeys, Rows::All),
            ("eval", Settled::All, Finished::OfKeys, Rows::All),
            ("save", Settled::OfKeys, Finished::All, Rows::All),
            ("dbsize", Settled::OfKeys, Finished::OfKeys, Rows::All),
        ];
        for (name, settled, finished, rows) in cases {
            let command = command(name);
            let none = ArgBuf::new();
            let finished_first = finished_first(command, none.args());
            let found = (settled_first(command), finished_first, rows_reached(command));
            assert_eq!(found, (settled, finished, rows), "{name}");
        }
        for (call, finished) in [
            ("SORT k BY nosort GET #", Finished::OfKeys),
            ("SORT k BY weight:* STORE to", Finished::BeyondKeys),
            ("SORT_RO k GET x:*->f", Finished::BeyondKeys),
            ("DEBUG DIGEST", Finished::All),
            ("DEBUG OBJECT k", Finished::All),
            ("debug sleep 0", Finished::OfKeys),
            ("DEBUG", Finished::OfKeys),
        ] {
            let args: ArgBuf = call.split(' ').collect();
            let command = lookup(args.args().at(0)).expect("a command");
            assert_eq!(finished_first(command, args.args()), finished, "{call}");
        }
    }

    #[test]
    fn what_is_taken_elsewhere_is_read_as_redis_accepts_it() {
        let (rename, db) = (Some(("a", "b", None, true)), Some("2"));
        for (call, expected) in [
            ("RENAME a b", rename),
            ("RENAMENX a b", Some(("a", "b", None, false))),
            ("MOVE a 2", Some(("a", "a", db, false))),
            ("COPY a b", Some(("a", "b", None, false))),
            ("COPY a b replace DB 2", Some(("a", "b", db, true))),
            ("COPY a b DB", None),
            ("COPY a b ALL", None),
            ("SET a b", None),
        ] {
            let args: ArgBuf = call.split(' ').collect();
            let command = lookup(args.args().at(0)).expect("a command");
            let expected = expected.map(|(from, to, db, replaces)| Relocation {
                from: from.as_bytes(),
                to: to.as_bytes(),
                db: db.map(str::as_bytes),
                replaces,
            });
            assert_eq!(relocation(command, args.args()), expected, "{call}");
        }
    }

    #[test]
    fn swapdb_names_databases_as_far_as_they_are_numbers() {
        let cases: [(&[&str], &[usize]); 4] = [
            (&["SWAPDB", "0", "12"], &[0, 12]),
            (&["SWAPDB", "x", "3"], &[3]),
            (&["SWAPDB", "-1", "\u{ff}"], &[]),
            (&["SWAPDB"], &[]),
        ];
        for (words, numbers) in cases {
            let call: ArgBuf = words.iter().collect();
            assert_eq!(swapped(call.args()).collect::<Vec<_>>(), numbers, "{words:?}");
        }
    }
}
