//! The log of effects: what a unit of work changed, as plain Redis commands.
//!
//! Owns the commands that the append-only file and replicas are given after
//! each unit (a command, a transaction, a script). Lifetimes in it are absolute,
//! chance is resolved (SPOP is logged as SREM), so that carrying the log out
//! elsewhere gives the same state at any time.
//!
//! A command is encoded once, as the request that files and replicas get, behind those before
//! it in one buffer that is used again and again: recording one costs a copy of its bytes and
//! no allocation.
//!
//! Invariant: while nobody listens nothing is recorded, copied or allocated.
//! By default a command that changed something is logged as it came; a handler
//! whose command depends on time, chance or previous state says instead what
//! happened (`Ctx::log_instead`).

use keyward_resp::{ArgBuf, Args, Batch, RequestLimits, RequestParser, push_request};
use std::ops::Range;

/// Bytes that the buffers of an empty log keep at most.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// One command of the log, by itself.
#[derive(Debug, Clone)]
pub struct Effect {
    /// The database it applies to.
    pub db: usize,
    /// Commands of one unit share a number, and take effect together or not at all.
    pub unit: u64,
    /// The command.
    pub command: ArgBuf,
}

/// What is known of a recorded command besides its bytes.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The database it applies to.
    pub db: usize,
    /// Commands of one unit share a number, and take effect together or not at all.
    pub unit: u64,
    /// Where its request lies.
    place: Range<usize>,
    /// It has happened even if the command around it is undone: the end of a due row, say.
    stays: bool,
}

/// Recorded commands, oldest first.
#[derive(Debug, Default)]
pub struct EffectLog {
    commands: Vec<Recorded>,
    /// Their requests, and those of commands that were forgotten.
    bytes: Vec<u8>,
}

impl EffectLog {
    /// The commands.
    #[inline]
    pub fn commands(&self) -> &[Recorded] {
        &self.commands
    }

    /// The request that a command is.
    #[inline]
    pub fn request(&self, recorded: &Recorded) -> &[u8] {
        &self.bytes[recorded.place.clone()]
    }

    /// The name of a command.
    pub fn name(&self, recorded: &Recorded) -> &[u8] {
        // `*count`, `$length` and the name are lines of it.
        let mut lines = self.request(recorded).splitn(4, |byte| *byte == b'\n');
        let name = lines.nth(2).unwrap_or_default();
        name.strip_suffix(b"\r").unwrap_or(name)
    }

    /// A command by itself.
    fn effect(&self, recorded: &Recorded) -> Effect {
        let mut request = self.request(recorded).to_vec();
        let limits = RequestLimits { bulk_bytes_max: u64::MAX, ..RequestLimits::default() };
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let parsed = parser.parse(&mut request, &limits, &mut batch);
        assert!(parsed.is_ok() && batch.len() == 1, "a recorded command is one request");
        let command = batch.command(0, &request).into();
        Effect { db: recorded.db, unit: recorded.unit, command }
    }

    /// Forgets all commands, and keeps the buffers unless they are unusually large.
    fn clear(&mut self) {
        self.commands.clear();
        self.commands.shrink_to(KEPT_BYTES_MAX / size_of::<Recorded>());
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
    }
}

/// The recorder of effects.
#[derive(Debug, Default)]
pub struct Effects {
    listening: bool,
    unit: u64,
    log: EffectLog,
    /// A command on its way to the log, of which it is not known how many words it has.
    words: ArgBuf,
    /// The running command has said what to log in its place.
    replaced: bool,
}

impl Effects {
    /// Begins or ends recording.
    pub fn listen(&mut self, listening: bool) {
        self.listening = listening;
    }

    /// Whether anybody reads the log.
    #[inline]
    pub fn is_listening(&self) -> bool {
        self.listening
    }

    /// What was recorded since the last call, oldest first.
    pub fn take(&mut self) -> Vec<Effect> {
        let taken = self.log.commands.iter().map(|recorded| self.log.effect(recorded)).collect();
        self.log.clear();
        taken
    }

    /// Takes what was recorded since the last call, for it to be read and given back
    /// ([`Effects::give_back`]) before more is recorded.
    #[inline]
    pub fn take_log(&mut self) -> EffectLog {
        std::mem::take(&mut self.log)
    }

    /// Gives a log back whose commands are read: its buffers are used again.
    #[inline]
    pub fn give_back(&mut self, mut log: EffectLog) {
        log.clear();
        if self.log.commands.is_empty() {
            self.log = log;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.log.clear();
    }

    /// How many commands are recorded and not taken yet.
    pub fn len(&self) -> usize {
        self.log.commands.len()
    }

    /// Whether none is recorded.
    pub fn is_empty(&self) -> bool {
        self.log.commands.is_empty()
    }

    /// Forgets all but the first `len` commands, and that the running command
    /// said anything.
    pub fn truncate(&mut self, len: usize) {
        self.forget(len, |_| true);
    }

    /// Forgets what was undone: all commands behind the first `len` but those that stay.
    pub fn undo(&mut self, len: usize) {
        self.forget(len, |recorded| !recorded.stays);
    }

    /// Forgets those commands behind the first `len`, and their bytes if nothing is behind them.
    fn forget(&mut self, len: usize, is_it: impl Fn(&Recorded) -> bool) {
        let EffectLog { commands, bytes } = &mut self.log;
        let first = len.min(commands.len());
        let (mut start, mut forgotten) = (bytes.len(), 0);
        for recorded in commands.extract_if(first.., |recorded| is_it(recorded)) {
            start = start.min(recorded.place.start);
            forgotten += recorded.place.len();
        }
        if commands.is_empty() || forgotten == bytes.len() - start {
            bytes.truncate(if commands.is_empty() { 0 } else { start });
        }
    }

    /// What was recorded behind the first `len` commands cannot be undone.
    pub fn keep_from(&mut self, len: usize) {
        self.log.commands.iter_mut().skip(len).for_each(|recorded| recorded.stays = true);
    }

    /// Begins a unit: what is recorded until the next one belongs together.
    pub fn begin_unit(&mut self) {
        self.unit += 1;
    }

    /// The unit that was begun last.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Makes each command of the unit so far one of its own.
    pub(crate) fn part_unit(&mut self) {
        let unit = self.unit;
        let of_unit = self.log.commands.iter_mut().rev();
        for recorded in of_unit.take_while(|recorded| recorded.unit == unit).skip(1) {
            self.unit += 1;
            recorded.unit = self.unit;
        }
    }

    /// Begins a command within the unit.
    #[inline]
    pub fn begin_command(&mut self) {
        self.replaced = false;
    }

    /// Records the command itself, unless its handler recorded something instead.
    #[inline]
    pub fn end_command(&mut self, db: usize, args: Args<'_>) {
        if self.listening && !self.replaced {
            let start = self.log.bytes.len();
            push_request(&mut self.log.bytes, args.iter());
            self.add(db, start);
        }
    }

    /// Records a command in place of the running one. May be called several times.
    pub fn instead<'a>(&mut self, db: usize, command: impl IntoIterator<Item = &'a [u8]>) {
        if self.listening {
            self.replaced = true;
            self.push(db, command);
        }
    }

    /// Records nothing for the running command: what it ran has been recorded.
    pub fn suppress(&mut self) {
        self.replaced = true;
    }

    /// Records a command beside the running one, such as the removal of a due row. It stays if
    /// that one is undone.
    pub fn beside<'a>(&mut self, db: usize, command: impl IntoIterator<Item = &'a [u8]>) {
        if self.listening {
            let from = self.log.commands.len();
            self.push(db, command);
            self.keep_from(from);
        }
    }

    /// Records a command before those of the unit from a place on.
    pub(crate) fn insert<'a>(
        &mut self,
        (at, stays): (usize, bool),
        db: usize,
        command: impl IntoIterator<Item = &'a [u8]>,
    ) {
        if self.listening {
            self.push(db, command);
            let recorded = self.log.commands.pop().expect("it was recorded");
            let at = at.min(self.log.commands.len());
            self.log.commands.insert(at, Recorded { stays, ..recorded });
        }
    }

    /// Bytes of what is recorded and not taken yet.
    pub fn recorded_bytes(&self) -> usize {
        self.log.commands.len() * size_of::<Recorded>() + self.log.bytes.len()
    }

    fn push<'a>(&mut self, db: usize, command: impl IntoIterator<Item = &'a [u8]>) {
        self.words.clear();
        command.into_iter().for_each(|word| self.words.push(word));
        let start = self.log.bytes.len();
        push_request(&mut self.log.bytes, self.words.args().iter());
        if self.words.heap_bytes() > KEPT_BYTES_MAX {
            self.words = ArgBuf::new();
        }
        self.add(db, start);
    }

    #[inline]
    fn add(&mut self, db: usize, start: usize) {
        let place = start..self.log.bytes.len();
        self.log.commands.push(Recorded { db, unit: self.unit, place, stays: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Effects {
        let mut effects = Effects::default();
        effects.listen(true);
        effects
    }

    fn record(effects: &mut Effects, words: &[&str]) {
        effects.begin_command();
        let command: ArgBuf = words.iter().collect();
        effects.end_command(0, command.args());
    }

    fn shown(effects: &[Effect]) -> Vec<String> {
        let line = |effect: &Effect| {
            let words = effect.command.args().iter().map(|word| word.escape_ascii().to_string());
            words.collect::<Vec<_>>().join(" ")
        };
        effects.iter().map(line).collect()
    }

    #[test]
    fn a_command_that_was_recorded_reads_back_and_tells_its_name() {
        let mut effects = recording();
        record(&mut effects, &["SET", "a\r\nb", ""]);
        effects.instead(3, [&b"PEXPIREAT"[..], b"k", b"1"]);
        let log = effects.take_log();
        let names: Vec<&[u8]> = log.commands().iter().map(|it| log.name(it)).collect();
        assert_eq!(names, [&b"SET"[..], b"PEXPIREAT"]);
        assert_eq!(
            log.request(&log.commands()[0]),
            b"*3\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$0\r\n\r\n"
        );
        effects.give_back(log);
        record(&mut effects, &["DEL", "x"]);
        assert_eq!(shown(&effects.take()), ["DEL x"]);
    }

    #[test]
    fn recording_again_and_again_allocates_nothing_new() {
        let mut effects = recording();
        let mut bytes = None;
        for _ in 0..1000 {
            for _ in 0..16 {
                record(&mut effects, &["SET", "key", "a value"]);
            }
            let log = effects.take_log();
            effects.give_back(log);
            let now = effects.log.bytes.capacity();
            assert_eq!(*bytes.get_or_insert(now), now);
        }
        assert!(bytes.is_some_and(|bytes| bytes > 0), "the buffers are kept");
        record(&mut effects, &["SET", "key", &"x".repeat(1_000_000)]);
        effects.take();
        assert!(effects.log.bytes.capacity() < 200_000, "a large one is given back");
    }

    #[test]
    fn what_is_undone_is_forgotten_with_its_bytes_unless_it_stays() {
        let mut effects = recording();
        record(&mut effects, &["SET", "a", "1"]);
        let (len, bytes) = (effects.len(), effects.log.bytes.len());
        record(&mut effects, &["SET", "b", "2"]);
        record(&mut effects, &["SET", "c", "3"]);
        effects.undo(len);
        assert_eq!((effects.len(), effects.log.bytes.len()), (len, bytes));
        record(&mut effects, &["SET", "d", "4"]);
        effects.beside(0, [&b"DEL"[..], b"due"]);
        effects.insert((1, false), 0, [&b"PING"[..]]);
        effects.undo(len);
        record(&mut effects, &["SET", "e", "5"]);
        assert_eq!(shown(&effects.take()), ["SET a 1", "DEL due", "SET e 5"]);
        assert!(effects.log.bytes.is_empty());
    }
}
