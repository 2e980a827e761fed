//! The log of effects: what a unit of work changed, as plain Redis commands.
//!
//! Owns the commands that the append-only file and replicas are given after
//! each unit (a command, a transaction, a script). Lifetimes in it are absolute,
//! chance is resolved (SPOP is logged as SREM), so that carrying the log out
//! elsewhere gives the same state at any time.
//!
//! Invariant: while nobody listens nothing is recorded, copied or allocated.
//! By default a command that changed something is logged as it came; a handler
//! whose command depends on time, chance or previous state says instead what
//! happened (`Ctx::log_instead`).

use crate::values::size_class::size_class;
use keyward_resp::{ArgBuf, Args};

/// One command of the log.
#[derive(Debug, Clone)]
pub struct Effect {
    /// The database it applies to.
    pub db: usize,
    /// Commands of one unit share a number, and take effect together or not at all.
    pub unit: u64,
    /// The command.
    pub command: ArgBuf,
    /// It has happened even if the command around it is undone: the end of a due row, say.
    stays: bool,
}

/// Bytes of a command, at least.
fn bytes_of(command: &ArgBuf) -> usize {
    size_class(command.heap_bytes())
}

/// The recorder of effects.
#[derive(Debug, Default)]
pub struct Effects {
    listening: bool,
    unit: u64,
    log: Vec<Effect>,
    /// Bytes of the commands in it.
    command_bytes: usize,
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
        self.command_bytes = 0;
        std::mem::take(&mut self.log)
    }

    /// How many commands are recorded and not taken yet.
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether none is recorded.
    pub fn is_empty(&self) -> bool {
        self.log.len() == 0
    }

    /// Forgets all but the first `len` commands, and that the running command
    /// said anything.
    pub fn truncate(&mut self, len: usize) {
        let forgotten = self.log.drain(len.min(self.log.len())..);
        self.command_bytes -= forgotten.map(|effect| bytes_of(&effect.command)).sum::<usize>();
    }

    /// Forgets what was undone: all commands behind the first `len` but those that stay.
    pub fn undo(&mut self, len: usize) {
        let first = len.min(self.log.len());
        let forgotten = self.log.extract_if(first.., |effect| !effect.stays);
        self.command_bytes -= forgotten.map(|effect| bytes_of(&effect.command)).sum::<usize>();
    }

    /// What was recorded behind the first `len` commands cannot be undone.
    pub fn keep_from(&mut self, len: usize) {
        self.log.iter_mut().skip(len).for_each(|effect| effect.stays = true);
    }

    /// Begins a unit: what is recorded until the next one belongs together.
    pub fn begin_unit(&mut self) {
        self.unit += 1;
    }

    /// Makes each command of the unit so far one of its own.
    pub(crate) fn part_unit(&mut self) {
        let unit = self.unit;
        for effect in self.log.iter_mut().rev().take_while(|effect| effect.unit == unit).skip(1) {
            self.unit += 1;
            effect.unit = self.unit;
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
            self.push(db, args.into());
        }
    }

    /// Records a command in place of the running one. May be called several times.
    pub fn instead<'a>(&mut self, db: usize, command: impl IntoIterator<Item = &'a [u8]>) {
        if self.listening {
            self.replaced = true;
            self.push(db, command.into_iter().collect());
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
            let from = self.log.len();
            self.push(db, command.into_iter().collect());
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
            let command: ArgBuf = command.into_iter().collect();
            self.command_bytes += bytes_of(&command);
            let effect = Effect { db, unit: self.unit, command, stays };
            self.log.insert(at.min(self.log.len()), effect);
        }
    }

    /// Bytes of what is recorded and not taken yet.
    pub fn heap_bytes(&self) -> usize {
        self.command_bytes + size_class(self.log.capacity() * size_of::<Effect>())
    }

    fn push(&mut self, db: usize, command: ArgBuf) {
        self.command_bytes += bytes_of(&command);
        self.log.push(Effect { db, unit: self.unit, command, stays: false });
    }
}
