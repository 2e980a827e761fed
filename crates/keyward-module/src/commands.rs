//! The module's own commands: `keyward.refuse`, `keyward.match` and their kin; INFO.
//!
//! Owns their names, rights and replies. They say what KEYWARD … of the engine says, in the same
//! words, as far as the module has it.

mod misfits;
mod schema;

pub(crate) use schema::tell_plan;

use keyward_rules::RuleBook;
use keyward_schema::{KeyId, Mode};

use crate::api::{Argv, Ctx, Entries, Info, REFUSE, Run};
use crate::figures::{Remembered, Told};
use crate::guard;
use crate::judged::{self, Turn};
use crate::state::State;

/// Categories that every user who may run anything has one of.
const ANYBODY: &str = "read write keyspace string hash list set sortedset stream fast slow";

/// Sends a reply, or says which error it is.
type Handler = fn(Ctx<'_>, &State, &[&[u8]]) -> Result<(), String>;

/// A command of ours: its name, flags, categories and key.
struct Own {
    name: &'static str,
    flags: &'static str,
    categories: &'static str,
    key: i32,
    run: Handler,
}

const OWN: [Own; 9] = [
    Own { name: REFUSE, flags: "fast", categories: ANYBODY, key: 2, run: refuse },
    Own {
        name: "keyward.match",
        flags: "readonly fast",
        categories: "read fast",
        key: 0,
        run: matched,
    },
    Own {
        name: "keyward.explain",
        flags: "readonly",
        categories: "read slow",
        key: 0,
        run: explain,
    },
    Own { name: "keyward.stats", flags: "readonly", categories: "read slow", key: 0, run: stats },
    Own {
        name: "keyward.mode",
        flags: "admin",
        categories: "admin dangerous slow",
        key: 0,
        run: mode,
    },
    Own {
        name: "keyward.schema",
        flags: "readonly",
        categories: "read slow",
        key: 0,
        run: schema::schema,
    },
    Own {
        name: "keyward.misfits",
        flags: "readonly",
        categories: "read slow",
        key: 0,
        run: misfits::misfits,
    },
    Own {
        name: "keyward.debug",
        flags: "admin",
        categories: "admin dangerous slow",
        key: 0,
        run: debug,
    },
    Own {
        name: "keyward.refusals",
        flags: "readonly admin",
        categories: "admin dangerous slow",
        key: 0,
        run: refusals,
    },
];

/// Makes them; the name of one that the server does not take otherwise.
pub(crate) fn create<E: Entries>(ctx: Ctx<'_>) -> Result<(), &'static str> {
    for own in &OWN {
        if !ctx.create_command_with_key::<E>((own.name, own.flags, own.categories), own.key) {
            return Err(own.name);
        }
    }
    Ok(())
}

/// Runs a command of ours, or one that stands for the server's.
pub(crate) fn run(ctx: Ctx<'_>, state: &State, argv: Argv<'_>) {
    let words: Vec<&[u8]> = argv.iter().collect();
    let Some(name) = words.first() else { return };
    let Some(own) = OWN.iter().find(|own| own.name.as_bytes().eq_ignore_ascii_case(name)) else {
        judged::run(ctx, state, argv, Turn::First);
        return;
    };
    guard::decide(ctx, state);
    if let Err(error) = (own.run)(ctx, state, &words[1..]) {
        ctx.send_error(&error);
    }
}

fn wrong_arity(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

/// The refusal that a filter has decided on.
fn refuse(ctx: Ctx<'_>, state: &State, args: &[&[u8]]) -> Result<(), String> {
    let [text, key] = args else { return Err(wrong_arity(REFUSE)) };
    let line = String::from_utf8_lossy(text).into_owned();
    if !line.starts_with("SCHEMA ") {
        return Err("ERR keyward.refuse is for refusals".to_owned());
    }
    let db = ctx.db();
    state.figures.refused.add();
    let table = state.book(db).and_then(|book| book.table_of(key));
    if let Some(figures) = table.and_then(|table| state.figures.table(db, table)) {
        figures.refused.add();
    }
    let refused = Remembered { at_ms: Ctx::now_ms(), db, told: Told::Refused, line: line.clone() };
    state.figures.remember(refused);
    Err(line)
}

/// The pattern of a key.
fn matched(ctx: Ctx<'_>, state: &State, args: &[&[u8]]) -> Result<(), String> {
    let [key] = args else { return Err(wrong_arity("keyward.match")) };
    let book = state.book(ctx.db());
    let found = book.as_ref().and_then(|book| Some((book, book.table_of(key)?)));
    match found {
        Some((book, table)) => ctx.send_bytes(book.schema().key(table).pattern.text().as_bytes()),
        None => ctx.send_null(),
    }
    Ok(())
}

/// What the schema says of a key.
fn explain(ctx: Ctx<'_>, state: &State, args: &[&[u8]]) -> Result<(), String> {
    let [key] = args else { return Err(wrong_arity("keyward.explain")) };
    let Some(book) = state.book(ctx.db()) else {
        return Err("ERR this database has no schema".to_owned());
    };
    let about = book.about(key).into_iter();
    let lines: Vec<String> = about
        .flat_map(|(heading, lines)| {
            lines.into_iter().map(move |line| format!("{heading}: {line}"))
        })
        .collect();
    send_lines(ctx, &lines);
    Ok(())
}

fn send_lines(ctx: Ctx<'_>, lines: &[String]) {
    ctx.send_array(lines.len());
    lines.iter().for_each(|line| ctx.send_bytes(line.as_bytes()));
}

fn tables(book: &RuleBook) -> impl Iterator<Item = (KeyId, &str)> {
    book.schema().ids().map(|id| (id, book.schema().key(id).pattern.text()))
}

/// What was counted, for each pattern of the database.
fn stats(ctx: Ctx<'_>, state: &State, args: &[&[u8]]) -> Result<(), String> {
    if !args.is_empty() {
        return Err(wrong_arity("keyward.stats"));
    }
    let db = ctx.db();
    let Some(book) = state.book(db) else {
        return Err("ERR this database has no schema".to_owned());
    };
    let rows: Vec<_> = tables(&book)
        .filter_map(|(table, pattern)| Some((pattern, state.figures.table(db, table)?)))
        .collect();
    ctx.send_array(rows.len());
    for (pattern, own) in rows {
        let figures = [
            ("writes", &own.writes),
            ("refused", &own.refused),
            ("warned", &own.warned),
            ("expired", &own.expired),
            ("evicted", &own.evicted),
            ("would_refuse", &own.would_refuse),
            ("would_date", &own.would_date),
            ("would_derive", &own.would_derive),
            ("would_remove", &own.would_remove),
            ("would_trim", &own.would_trim),
        ];
        ctx.send_array(2 + 2 * figures.len());
        ctx.send_bytes(b"pattern");
        ctx.send_bytes(pattern.as_bytes());
        for (name, counter) in figures {
            ctx.send_bytes(name.as_bytes());
            ctx.send_integer(i64::try_from(counter.get()).unwrap_or(i64::MAX));
        }
    }
    Ok(())
}

/// Shows or overrules the mode of the database: `enforce`, `warn` or `observe`; `schema` leaves it
/// to the schema again.
fn mode(ctx: Ctx<'_>, state: &State, args: &[&[u8]]) -> Result<(), String> {
    let db = ctx.db();
    let Some(book) = state.book(db) else {
        return Err("ERR this database has no schema".to_owned());
    };
    let mode = match args {
        [] => {
            let shown = |keyspace: usize| {
                let own = book.schema().keyspace_at(keyspace);
                let mode = book.mode(keyspace).unwrap_or(own.mode);
                format!("{} {}", own.name, mode.name())
            };
            let count = book.schema().keyspaces().count();
            send_lines(ctx, &(0..count).map(shown).collect::<Vec<_>>());
            return Ok(());
        }
        [word] if word.eq_ignore_ascii_case(b"schema") => None,
        [word] => {
            let modes = [Mode::Enforce, Mode::Warn, Mode::Observe];
            let named =
                modes.into_iter().find(|mode| mode.name().as_bytes().eq_ignore_ascii_case(word));
            Some(named.ok_or("ERR the mode is enforce, warn, observe or schema")?)
        }
        _ => return Err(wrong_arity("keyward.mode")),
    };
    if state.is_guarded(db) {
        return Err(format!("ERR {}", guard::OBSERVES));
    }
    // What observes is another book: the parts of the schema that are suspended are not in it.
    let declared = match book.observes_any() {
        true => book.declared_book().schema().clone(),
        false => book.schema().clone(),
    };
    let modes = vec![mode; declared.keyspaces().count()];
    state.replace_book(db, RuleBook::overruled(declared, &modes));
    if mode == Some(Mode::Observe) {
        state.set_lapsed(db);
        guard::mark_in_force(ctx, state);
    }
    ctx.send_text(c"OK");
    Ok(())
}

/// `keyward.debug PANIC`: panics, to see what becomes of that; where the server has DEBUG for all.
fn debug(ctx: Ctx<'_>, _state: &State, args: &[&[u8]]) -> Result<(), String> {
    let words: [&[u8]; 3] = [b"CONFIG", b"GET", b"enable-debug-command"];
    let reply = ctx.call(Run::Read, words.into_iter());
    let is_allowed = reply.elements().nth(1).is_some_and(|value| value.bytes() == Some(b"yes"));
    match args {
        [word] if is_allowed && word.eq_ignore_ascii_case(b"panic") => {
            panic!("keyward.debug PANIC was asked for")
        }
        [_] if is_allowed => Err("ERR keyward.debug takes PANIC".to_owned()),
        [_] => Err("ERR keyward.debug is not allowed: enable-debug-command is not yes".to_owned()),
        _ => Err(wrong_arity("keyward.debug")),
    }
}

/// The last refusals and warnings, the newest first: time, database, what became of the command,
/// and the line without what was found in rows.
fn refusals(ctx: Ctx<'_>, state: &State, args: &[&[u8]]) -> Result<(), String> {
    const USUAL: usize = 10;
    let most = match args {
        [] => USUAL,
        [count] => {
            let count = std::str::from_utf8(count).ok().and_then(|text| text.parse().ok());
            count.ok_or("ERR value is not an integer or out of range")?
        }
        _ => return Err(wrong_arity("keyward.refusals")),
    };
    let remembered = state.figures.remembered(most);
    ctx.send_array(remembered.len());
    for Remembered { at_ms, db, told, line } in remembered {
        ctx.send_array(4);
        ctx.send_integer(at_ms);
        ctx.send_integer(i64::try_from(db).unwrap_or(0));
        ctx.send_bytes(told.name().as_bytes());
        ctx.send_bytes(line.as_bytes());
    }
    Ok(())
}

/// The sections of INFO.
pub(crate) fn info(state: &State, info: &mut Info) {
    info.section("rules");
    for (db, book) in state.books() {
        let names: Vec<&str> = book.schema().keyspaces().map(|own| &*own.name).collect();
        info.text(&format!("db{db}_keyspaces"), &names.join(","));
        info.number(&format!("db{db}_patterns"), book.schema().keys.len() as u64);
        info.text(&format!("db{db}_schema"), &guard::digest(book.declared()));
        let is_applied = !state.is_undecided() && !state.is_guarded(db);
        info.number(&format!("db{db}_is_applied"), u64::from(is_applied));
    }
    let figures = &state.figures;
    for (name, counter) in [
        ("judged", &figures.judged),
        ("refused", &figures.refused),
        ("warned", &figures.warned),
        ("observed", &figures.observed),
        ("follow_ups", &figures.follow_ups),
        ("follow_ups_failed", &figures.follow_ups_failed),
        ("undo_failed", &figures.undo_failed),
        ("panics", &figures.panics),
    ] {
        info.number(name, counter.get());
    }
}
