//! From a seed to the steps of a round.
//!
//! Owns the episodes: plain stretches on one connection, transactions with somebody
//! else writing meanwhile, clients that block, and short lifetimes that are waited out.
//! Invariant: a round depends on its seed alone.

use crate::grammar::{Expansion, Grammar, Mark};
use crate::step::{Action, Check, Round, Step, Unordered};
use keyward_testkit::Random;

/// Connections of a round; the first does most.
pub(crate) const CONNECTIONS: usize = 4;

/// The functions that rounds call: one that runs a command, one that catches its
/// errors, one that may only read.
const LIBRARY: &str = "#!lua name=differ\n\
    redis.register_function('run', function(keys, args) return redis.call(unpack(args)) end)\n\
    redis.register_function('try', function(keys, args) return redis.pcall(unpack(args)) end)\n\
    redis.register_function{function_name='look', flags={'no-writes'}, \
    callback=function(keys, args) return redis.pcall(unpack(args)) end}";

/// Settings that move the limits of encodings, and what they may be in a round.
const LIMITS: &[(&str, &[&str])] = &[
    ("hash-max-listpack-entries", &["4", "16", "512"]),
    ("hash-max-listpack-value", &["4", "64"]),
    ("set-max-intset-entries", &["4", "512"]),
    ("zset-max-listpack-entries", &["0", "5", "128"]),
    ("zset-max-listpack-value", &["4", "64"]),
];

/// The settings that rounds change, as Redis has them at first.
pub(crate) const LIMIT_DEFAULTS: &[(&str, &str)] = &[
    ("hash-max-listpack-entries", "512"),
    ("hash-max-listpack-value", "64"),
    ("set-max-intset-entries", "512"),
    ("zset-max-listpack-entries", "128"),
    ("zset-max-listpack-value", "64"),
];

/// The round of a seed.
pub(crate) fn round(grammar: &Grammar, seed: u64) -> Round {
    let mut random = Random::new(seed);
    let protocol = 2 + random.below(2) as u8;
    let length = 100 + random.below(3000);
    let mut stream = Stream { grammar, random, steps: Vec::new() };
    stream.prepare();
    while stream.steps.len() < length {
        match stream.random.below(100) {
            0..=5 => stream.transaction(),
            6..=8 if grammar.has(Mark::Block) => stream.blocking(),
            9 => stream.stray_end(),
            10 if stream.random.one_in(10) => stream.short_lifetimes(),
            _ => stream.plain(),
        }
    }
    stream.steps.retain(|step| !is_unasked_by_redis(step));
    Round { seed, protocol, steps: stream.steps }
}

/// Whether a step asks for rights to PFMERGE without sources: Redis forgets to ask for that
/// to its key (COMPAT.md).
fn is_unasked_by_redis(step: &Step) -> bool {
    let is_it = |word: &Vec<u8>| word.eq_ignore_ascii_case(b"PFMERGE");
    step.mentions(b"DRYRUN") && step.command.iter().rev().nth(1).is_some_and(is_it)
}

struct Stream<'a> {
    grammar: &'a Grammar,
    random: Random,
    steps: Vec<Step>,
}

impl Stream<'_> {
    fn prepare(&mut self) {
        self.steps.push(Step::exact(0, &["FUNCTION", "LOAD", LIBRARY]));
        for (name, values) in LIMITS {
            if self.random.one_in(4) {
                let value = self.random.pick(values);
                self.steps.push(Step::exact(0, &["CONFIG", "SET", name, value]));
            }
        }
    }

    /// Commands one after the other on one connection.
    fn plain(&mut self) {
        let connection = self.connection();
        for _ in 0..1 + self.random.below(60) {
            // What may block does so only where somebody is there to end it.
            self.command(connection, |mark| mark != Mark::Block);
        }
    }

    /// The end of a transaction that never began.
    fn stray_end(&mut self) {
        let ends: &[&[&str]] = &[&["EXEC"], &["DISCARD"], &["EXEC", "x"], &["DISCARD", "x"]];
        let (connection, end) = (self.connection(), *self.random.pick(ends));
        self.steps.push(Step::exact(connection, end));
    }

    fn connection(&mut self) -> usize {
        if self.random.one_in(4) { self.random.below(CONNECTIONS) } else { 0 }
    }

    fn command(&mut self, connection: usize, is_wanted: impl Fn(Mark) -> bool) {
        let rule = self.grammar.pick(&mut self.random, is_wanted);
        let expansion = Expansion::draw(self.grammar, rule, &mut self.random);
        self.steps.push(step(connection, expansion));
    }

    /// WATCH, MULTI, commands, EXEC; another connection writes before, between or never.
    fn transaction(&mut self) {
        let connection = self.connection();
        let other = (connection + 1) % CONNECTIONS;
        if self.random.one_in(2) {
            for _ in 0..1 + self.random.below(2) {
                let keys = ["s0", "s1", "h0", "l0", "t0", "z0", "l1", "z1"];
                let key = *self.random.pick(&keys);
                self.steps.push(Step::exact(connection, &["WATCH", key]));
            }
            self.bystander(other);
        }
        self.steps.push(Step::exact(connection, &["MULTI"]));
        for _ in 0..self.random.below(8) {
            let rule = self.grammar.pick(&mut self.random, Mark::is_nestable);
            let mut expansion = Expansion::draw(self.grammar, rule, &mut self.random);
            // Nothing blocks in a transaction, and nothing can be asked of a key there.
            if expansion.mark == Mark::Block {
                expansion.mark = Mark::Careful;
            }
            expansion.is_altered = true;
            self.steps.push(step(connection, expansion));
            if self.random.one_in(12) {
                self.steps.push(Step::exact(connection, &["WATCH", "s0"]));
            }
        }
        self.bystander(other);
        let end = if self.random.one_in(8) { "DISCARD" } else { "EXEC" };
        self.steps.push(Step::exact(connection, &[end]));
    }

    fn bystander(&mut self, connection: usize) {
        if self.random.one_in(3) {
            for _ in 0..1 + self.random.below(3) {
                self.command(connection, |mark| mark != Mark::Block);
            }
        }
    }

    /// Up to three clients block while the first connection writes.
    fn blocking(&mut self) {
        let start = self.steps.len();
        for connection in 1..2 + self.random.below(CONNECTIONS - 1) {
            // Empty rows make them wait.
            if self.random.one_in(2) {
                let key = *self.random.pick(&["l0", "l1", "l2", "z0", "z1"]);
                self.steps.push(Step::exact(0, &["DEL", key]));
            }
            self.command(connection, |mark| mark == Mark::Block);
        }
        for _ in 0..1 + self.random.below(12) {
            if self.random.one_in(10) {
                self.transaction_of_first();
            }
            self.command(0, |mark| mark != Mark::Block);
        }
        // SWAPDB serves those who wait in the order of a hash table.
        let episode = self.steps.split_off(start);
        self.steps.extend(episode.into_iter().filter(|step| !step.mentions(b"SWAPDB")));
        self.steps.push(Step::bare(Action::Settle));
    }

    fn transaction_of_first(&mut self) {
        self.steps.push(Step::exact(0, &["MULTI"]));
        for _ in 0..1 + self.random.below(5) {
            let rule = self.grammar.pick(&mut self.random, |mark| mark == Mark::Exact);
            let mut expansion = Expansion::draw(self.grammar, rule, &mut self.random);
            expansion.is_altered = true;
            self.steps.push(step(0, expansion));
        }
        self.steps.push(Step::exact(0, &["EXEC"]));
    }

    /// Rows that end a few milliseconds later, commands that meet them then, and the
    /// first sight of each, so that none is still counted.
    fn short_lifetimes(&mut self) {
        let names = ["s0", "s1", "h0", "l0", "t0", "z0", "x0"];
        for _ in 0..1 + self.random.below(4) {
            let name = *self.random.pick(&names);
            let millis = (1 + self.random.below(5)).to_string();
            let command: &[&str] = match self.random.below(4) {
                0 => &["SET", name, "x", "PX", &millis],
                1 => &["SET", name, "x", "PXAT", "1000000"],
                _ => &["PEXPIRE", name, &millis],
            };
            self.steps.push(Step::exact(0, command));
        }
        self.steps.push(Step::bare(Action::Pause));
        let commands: &[&[&str]] = &[
            &["LPUSH", "l0", "x"],
            &["APPEND", "s0", "x"],
            &["GET", "s1"],
            &["SADD", "t0", "x"],
            &["HSET", "h0", "f", "v"],
            &["ZINCRBY", "z0", "1", "m"],
            &["RENAME", "s0", "x0"],
            &["COPY", "h0", "x0"],
            &["TTL", "s1"],
            &["SET", "s0", "x", "KEEPTTL"],
            &["EXPIRE", "s0", "5000000", "NX"],
            &["SUNIONSTORE", "t1", "t0"],
            &["TYPE", "z0"],
            &["SET", "s1", "y", "XX"],
            &["MOVE", "l0", "1"],
            &["PERSIST", "s0"],
            &["DEL", "z0"],
        ];
        for _ in 0..self.random.below(4) {
            let command = *self.random.pick(commands);
            self.steps.push(Step::exact(0, command));
        }
        let all: Vec<&str> = std::iter::once("EXISTS").chain(names).collect();
        for database in 0..crate::argument::DATABASES {
            self.steps.push(Step::exact(0, &["SELECT", &database.to_string()]));
            self.steps.push(Step::exact(0, &all));
        }
        self.steps.push(Step::exact(0, &["SELECT", "0"]));
    }
}

fn step(connection: usize, expansion: Expansion) -> Step {
    let Expansion { command, mark, keys, is_altered, .. } = expansion;
    let action = match mark {
        Mark::Exact | Mark::Careful => Action::Call(Check::Exact),
        Mark::AnyOrder(group) => {
            let sources = (!is_altered && !keys.is_empty()).then_some(keys);
            Action::Call(Check::AnyOrder(Unordered { group, sources }))
        }
        Mark::Lifetime => Action::Call(Check::Lifetime),
        Mark::Draw => Action::Draw,
        Mark::Walk => Action::Walk,
        Mark::Transfer => Action::Transfer,
        Mark::Block => Action::Block,
    };
    Step { connection, command, action }
}
