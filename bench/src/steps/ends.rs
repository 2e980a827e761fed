//! Large ends: sets with mirrors, rows that many live with, a set derived of many sources,
//! and sources that end at one instant.

use super::{HOUR_MS, Part, Stage};

pub(super) fn parts() -> Vec<Part> {
    vec![
        ("growth of a mirrored set", |stage, rows| stage.gain_fans(rows)),
        ("DEL of it", |stage, _| stage.call(&["DEL", "fans:1"])),
        ("growth of another, read while it goes", |stage, rows| {
            stage.gain_fans(rows);
            stage.call(&["DEL", "fans:1"]);
            for fan in 0..rows {
                stage.call(&["SCARD", &format!("idols:{}", (fan * 7919) % rows)]);
                stage.call(&["SADD", "fans:1", &((fan * 104_729) % rows).to_string()]);
            }
        }),
        ("RENAME over it", |stage, rows| {
            stage.gain_fans(rows);
            stage.call(&["SADD", "fans:2", "7"]);
            stage.call(&["RENAME", "fans:2", "fans:1"]);
        }),
        ("RENAME of it to a key without mirrors", |stage, rows| {
            stage.gain_fans(rows);
            stage.call(&["RENAME", "fans:1", "crowd:1"]);
        }),
        ("COPY and MOVE of that", |stage, _| {
            stage.call(&["COPY", "crowd:1", "crowd:2"]);
            stage.call(&["MOVE", "crowd:1", "1"]);
            stage.call(&["DEL", "crowd:2"]);
        }),
        ("MOVE of a mirrored set", |stage, rows| {
            stage.gain_fans(rows);
            stage.call(&["MOVE", "fans:1", "1"]);
        }),
        ("growth of companions", |stage, rows| stage.lead(rows)),
        ("another end for their leader", |stage, _| {
            stage.call(&["PEXPIRE", "lease:1", "5000000"]);
        }),
        ("DEL of their leader", |stage, _| stage.call(&["DEL", "lease:1"])),
        ("companions whose leader expires", |stage, rows| {
            stage.lead(rows);
            stage.pass(3 * HOUR_MS);
        }),
        ("growth of companions with a lookup and a set each", |stage, rows| {
            stage.call(&["SET", "lease:2", "x", "PX", "7200000"]);
            for id in 0..rows {
                stage.call(&["HSET", &format!("badge:2:{id}"), "code", &format!("c{id}")]);
            }
        }),
        ("DEL of the leader of those", |stage, _| stage.call(&["DEL", "lease:2"])),
        ("sources of one set", |stage, rows| {
            let guest = |id: u64| format!("guest:{id}");
            (0..rows).for_each(|id| stage.call(&["SET", &guest(id), "{\"name\":\"x\"}"]));
        }),
        ("what is refused to that set: DEL, RENAME, MOVE, SINTERSTORE, DEL in EXEC", |stage, _| {
            stage.ask(&["DEL", "guests"]);
            stage.ask(&["RENAME", "guests", "crowd:1"]);
            stage.ask(&["MOVE", "guests", "1"]);
            stage.ask(&["SINTERSTORE", "guests", "crowd:9"]);
            stage.ask(&["MULTI"]);
            stage.ask(&["DEL", "guests"]);
            stage.ask(&["EXEC"]);
        }),
        ("their expiry at one instant, with PING between", |stage, rows| {
            stage.advance(3 * HOUR_MS);
            (0..rows).for_each(|_| stage.call(&["PING"]));
        }),
    ]
}

impl Stage {
    /// Makes a set of so many members, each in a mirror of its own.
    fn gain_fans(&mut self, fans: u64) {
        (0..fans).for_each(|fan| self.call(&["SADD", "fans:1", &fan.to_string()]));
    }

    /// Makes so many rows that live with one.
    fn lead(&mut self, rows: u64) {
        self.call(&["SET", "lease:1", "x", "PX", "7200000"]);
        (0..rows).for_each(|id| self.call(&["SET", &format!("grant:1:{id}"), "some text"]));
    }
}
