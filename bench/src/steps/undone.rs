//! Units that break the schema at their end and are undone, and what judging rows costs: the
//! work of a command itself counts here too, so that what a large reply or a walk through a
//! whole value takes is told beside what undoing it adds.

use super::{Part, Stage};

/// Elements that one command of the load adds.
const BATCH: u64 = 1000;
/// Bytes of the long string at first, and of what is appended to it.
const TEXT_BYTES: u64 = 10_000_000;

pub(super) fn parts() -> Vec<Part> {
    vec![
        ("a unit undone: nothing but a hash", |stage, _| stage.undo(&[])),
        ("growth of a list", |stage, rows| stage.grow(["RPUSH", "log:7"], rows, |n| vec![n])),
        ("LTRIM of half of it, undone", |stage, rows| {
            stage.undo(&[&["LTRIM", "log:7", &(rows / 2).to_string(), "-1"]]);
            stage.undo(&[&["LTRIM", "log:7", "0", &(rows / 2).to_string()]]);
        }),
        ("LPOP of half of it, undone", |stage, rows| {
            stage.undo(&[&["LPOP", "log:7", &(rows / 2).to_string()]]);
        }),
        ("growth of a list of two items", |stage, rows| {
            stage.grow(["RPUSH", "log:8"], rows, |n| vec![n % 2]);
        }),
        ("LREM of half of it, undone", |stage, _| stage.undo(&[&["LREM", "log:8", "0", "1"]])),
        ("growth of a set", |stage, rows| stage.grow(["SADD", "tags:7"], rows, |n| vec![n])),
        ("SPOP of two fifths of it, undone", |stage, rows| {
            stage.undo(&[&["SPOP", "tags:7", &(rows * 2 / 5).to_string()]]);
        }),
        ("SPOP of two fifths of it, by itself", |stage, rows| {
            stage.call(&["SPOP", "tags:7", &(rows * 2 / 5).to_string()]);
        }),
        ("growth of a sorted set", |stage, rows| {
            stage.grow(["ZADD", "best:7"], rows, |n| vec![n, n]);
        }),
        ("ZREMRANGEBYRANK of half of it, undone", |stage, rows| {
            stage.undo(&[&["ZREMRANGEBYRANK", "best:7", "0", &(rows / 2).to_string()]]);
        }),
        ("ZREMRANGEBYRANK of all of it, undone", |stage, _| {
            stage.undo(&[&["ZREMRANGEBYRANK", "best:7", "0", "-1"]]);
        }),
        ("ZREMRANGEBYRANK of half of it, by itself", |stage, rows| {
            stage.call(&["ZREMRANGEBYRANK", "best:7", "0", &(rows / 2).to_string()]);
        }),
        ("growth of a mirrored set, again", |stage, rows| {
            (0..rows).for_each(|fan| stage.call(&["SADD", "fans:7", &fan.to_string()]));
        }),
        ("DEL of it, undone", |stage, _| stage.undo(&[&["DEL", "fans:7"]])),
        ("SPOP of all of it, undone", |stage, rows| {
            stage.undo(&[&["SPOP", "fans:7", &rows.to_string()]]);
        }),
        ("SPOP of a tenth of it, undone", |stage, rows| {
            stage.undo(&[&["SPOP", "fans:7", &(rows / 10).to_string()]]);
        }),
        ("SREM of a tenth of it", |stage, rows| {
            let members: Vec<String> = (0..rows / 10).map(|fan| fan.to_string()).collect();
            let members = members.iter().map(String::as_str);
            stage.call(&["SREM", "fans:7"].into_iter().chain(members).collect::<Vec<_>>());
        }),
        ("SPOP of a tenth of it", |stage, rows| {
            stage.call(&["SPOP", "fans:7", &(rows / 10).to_string()]);
        }),
        ("APPEND to a long string", |stage, rows| {
            stage.call(&["SET", "file:1", &"x".repeat(TEXT_BYTES as usize)]);
            (0..rows).for_each(|_| stage.call(&["APPEND", "file:1", "y"]));
        }),
        ("SETRANGE and SETBIT of it", |stage, rows| {
            for at in 0..rows {
                stage.call(&["SETRANGE", "file:1", &(at * 7919 % TEXT_BYTES).to_string(), "z"]);
                stage.call(&["SETBIT", "file:1", &(at * 104_729 % TEXT_BYTES).to_string(), "1"]);
            }
        }),
        ("rows that do not fit", |stage, rows| {
            stage.call(&["KEYWARD", "MODE", "warn"]);
            (0..rows).for_each(|id| stage.call(&["SET", &format!("seat:{id}"), "none"]));
        }),
        ("KEYWARD MISFITS of all of them", |stage, rows| {
            stage.call(&["KEYWARD", "MISFITS", "COUNT", &rows.to_string()]);
            stage.call(&["KEYWARD", "MODE", "schema"]);
        }),
    ]
}

impl Stage {
    /// Adds elements to a collection, a thousand by each command.
    fn grow(&mut self, [command, key]: [&str; 2], rows: u64, element: fn(u64) -> Vec<u64>) {
        for start in (0..rows).step_by(BATCH as usize) {
            let numbers = (start..(start + BATCH).min(rows)).flat_map(element);
            let elements: Vec<String> = numbers.map(|number| number.to_string()).collect();
            let elements = elements.iter().map(String::as_str);
            self.call(&[command, key].into_iter().chain(elements).collect::<Vec<_>>());
        }
    }

    /// Sends commands in a transaction that leaves a hash without what it needs.
    fn undo(&mut self, commands: &[&[&str]]) {
        self.call(&["MULTI"]);
        commands.iter().for_each(|command| self.call(command));
        self.call(&["HSET", "pass:1", "owner", "somebody"]);
        self.ask(&["EXEC"]);
        assert!(self.out.starts_with(b"-EXECABORT"), "{}", self.out.escape_ascii());
        self.test.engine.take_deliveries();
    }
}
