//! A snapshot on its way to a file: what was captured goes to a thread, which compresses it,
//! sums it up, writes and syncs.
//!
//! Owns the thread and the bytes that wait for it. Invariant: what is captured and not yet
//! written is bounded ([`CAPTURED_BYTES_MAX`] and [`TAKEN_BYTES_MAX`]), apart from what a
//! single command changes.
//! Not here: when a snapshot is taken, and in which steps (`serve/saving.rs`).

use crate::files::turns::Turns;
use crate::net::selector::Alarm;
use keyward_engine::Engine;
use keyward_persist::PersistError;
use keyward_persist::snapshot_file::NewFile;
use keyward_rdb::{Compressor, Ending, FileOptions};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread gets nothing more while it has so many bytes to write.
const TAKEN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes captured and not handed to the thread at most. It may have as many: what is
/// captured amid a script is handed over as a whole.
pub(crate) const CAPTURED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// By how much the thread that writes yields to the one that serves.
const WRITER_NICENESS: i32 = 10;
/// Between two looks at whether the thread has written enough, where all wait for it.
const WRITTEN_PAUSE: Duration = Duration::from_micros(100);

/// What the thread that writes has come to: how long the file is.
pub(crate) type Writer = Receiver<Result<u64, PersistError>>;

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Snapshot,
    AppendOnly,
    /// What is sent to those who follow.
    Sync,
}

/// What the thread is sent.
enum Chunk {
    Bytes(Vec<u8>),
    /// That was all.
    End,
}

/// A file being written.
#[derive(Debug)]
pub(crate) struct Saving {
    pub(crate) target: Target,
    sender: Sender<Chunk>,
    /// What the thread has written comes back, to be freed here: of memory that other
    /// threads free nobody hears for a while (`process/memory.rs`).
    written: Receiver<Vec<u8>>,
    thread: JoinHandle<()>,
    /// What the thread has not got yet.
    waiting: VecDeque<Vec<u8>>,
    /// Bytes that it has got and that have not come back.
    taken_bytes: usize,
    /// The most bytes that were captured and not yet written.
    pub(crate) peak_bytes: usize,
    /// The engine has given everything.
    is_over: bool,
    /// The thread has given up.
    is_broken: bool,
}

/// How a step went.
pub(crate) enum Step {
    More,
    Behind,
    Over,
}

impl Saving {
    /// Whether the thread has all it should have.
    fn is_thread_full(&self) -> bool {
        self.taken_bytes >= TAKEN_BYTES_MAX && !self.thread.is_finished()
    }

    /// Hands over what the thread should have.
    fn send(&mut self) {
        self.taken_bytes -= self.written.try_iter().map(|bytes| bytes.capacity()).sum::<usize>();
        while !self.is_thread_full()
            && let Some(bytes) = self.waiting.pop_front()
        {
            self.taken_bytes += bytes.capacity();
            self.is_broken |= self.sender.send(Chunk::Bytes(bytes)).is_err();
        }
    }

    /// Hands over everything, waiting for the thread.
    fn send_all(&mut self) {
        self.send();
        while !self.waiting.is_empty() {
            std::thread::sleep(WRITTEN_PAUSE);
            self.send();
        }
    }

    /// Bytes that wait for the thread.
    fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(Vec::capacity).sum()
    }

    /// Bytes that were handed over and are not yet written.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        self.waiting_bytes() + self.taken_bytes
    }

    fn note_peak(&mut self, captured_bytes: usize) {
        self.peak_bytes = self.peak_bytes.max(captured_bytes + self.unwritten_bytes());
    }

    /// Takes what a snapshot has captured amid a unit, and waits for the thread.
    pub(crate) fn take_captured(&mut self, parts: Vec<Vec<u8>>) {
        self.waiting.extend(parts);
        self.note_peak(0);
        self.send_all();
    }

    /// Starts a thread that writes to `file` what a snapshot captures; rings `alarm` when it
    /// has come to its end, of which the writer tells.
    pub(crate) fn begin(
        target: Target,
        file: NewFile,
        options: FileOptions,
        alarm: Alarm,
    ) -> (Saving, Writer) {
        let (sender, receiver) = channel();
        let (outcome, writer) = channel();
        let (returning, written) = channel();
        let turns = Turns::of_this_thread();
        let thread = std::thread::spawn(move || {
            // Whoever serves goes first. Where that is not granted it is only slower.
            let _ = rustix::process::nice(WRITER_NICENESS);
            let ended = write_chunks(file, &receiver, &returning, &turns, options);
            // Nobody waits for it when the server goes down.
            let _ = outcome.send(ended);
            alarm.ring();
        });
        let saving = Saving {
            target,
            sender,
            written,
            thread,
            waiting: VecDeque::new(),
            taken_bytes: 0,
            peak_bytes: 0,
            is_over: false,
            is_broken: false,
        };
        (saving, writer)
    }

    /// Goes on with the snapshot that the engine is taking.
    pub(crate) fn step(&mut self, engine: &mut Engine) -> Step {
        self.note_peak(engine.captured_bytes());
        self.send();
        if !self.waiting.is_empty() {
            return Step::Behind;
        }
        if self.is_over {
            return Step::Over;
        }
        if self.is_broken {
            engine.abandon_snapshot();
        }
        let waiting = &mut self.waiting;
        self.is_over = engine.step_snapshot(&mut |bytes| waiting.push_back(bytes));
        Step::More
    }

    /// Keeps what commands have captured within bounds.
    #[cold]
    pub(crate) fn bound(&mut self, engine: &mut Engine) {
        let mut captured = engine.captured_bytes();
        self.note_peak(captured);
        // Amid a large row only that is handed over, so that it may take several steps.
        while captured + self.waiting_bytes() > CAPTURED_BYTES_MAX {
            let waiting = &mut self.waiting;
            self.is_over |= engine.step_snapshot(&mut |bytes| waiting.push_back(bytes));
            self.send_all();
            captured = engine.captured_bytes();
        }
    }

    /// The thread has everything.
    pub(crate) fn end(&self) {
        // One that is gone has told why.
        let _ = self.sender.send(Chunk::End);
    }
}

/// Writes a file of what comes; the file is there only if all of it came.
fn write_chunks(
    mut file: NewFile,
    chunks: &Receiver<Chunk>,
    returning: &Sender<Vec<u8>>,
    turns: &Turns,
    options: FileOptions,
) -> Result<u64, PersistError> {
    let (mut ending, mut compressor) = (Ending::new(options.sums), Compressor::default());
    // What the file begins with is no part of it, and written as it is to be.
    let mut is_part = false;
    loop {
        match chunks.recv() {
            Ok(Chunk::Bytes(bytes)) => {
                let has_part = std::mem::replace(&mut is_part, true);
                let compressed = (options.compresses && has_part)
                    .then(|| compressor.part(&bytes).expect("the engine's parts are sound"));
                let content = compressed.as_ref().unwrap_or(&bytes);
                ending.add(content);
                file.write(content)?;
                // Nobody wants it back when the server goes down.
                let _ = returning.send(bytes);
                turns.end_one();
            }
            Ok(Chunk::End) => break,
            // The server goes down, and the file with it.
            Err(_) => return Err(file.interrupted()),
        }
    }
    file.write(&ending.end())?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PART_BYTES: usize = 1024 * 1024;

    fn saving(write: impl FnOnce(Receiver<Chunk>, Sender<Vec<u8>>) + Send + 'static) -> Saving {
        let ((sender, receiver), (returning, written)) = (channel(), channel());
        Saving {
            target: Target::Snapshot,
            sender,
            written,
            thread: std::thread::spawn(move || write(receiver, returning)),
            waiting: VecDeque::new(),
            taken_bytes: 0,
            peak_bytes: 0,
            is_over: false,
            is_broken: false,
        }
    }

    #[test]
    fn what_the_thread_has_to_write_is_bounded_in_bytes() {
        let most = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&most);
        let mut saving = saving(move |chunks, returning| {
            while let Ok(first) = chunks.recv() {
                let all: Vec<Chunk> = std::iter::once(first).chain(chunks.try_iter()).collect();
                seen.fetch_max(all.len() * PART_BYTES, Ordering::Relaxed);
                for chunk in all {
                    std::thread::sleep(Duration::from_millis(1));
                    let Chunk::Bytes(bytes) = chunk else { return };
                    let _ = returning.send(bytes);
                }
            }
        });
        // Few and large, as a script has them that changes a lot.
        saving.take_captured(vec![vec![0; PART_BYTES]; 20]);
        assert!(saving.waiting.is_empty() && !saving.is_broken);
        assert!(saving.unwritten_bytes() <= TAKEN_BYTES_MAX + PART_BYTES);
        assert_eq!(saving.peak_bytes, 20 * PART_BYTES, "it is told");
        drop(saving.sender);
        saving.thread.join().expect("it does not panic");
        let most = most.load(Ordering::Relaxed);
        assert!((PART_BYTES..TAKEN_BYTES_MAX + PART_BYTES).contains(&most), "{most} bytes");
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_given_up() {
        let mut saving = saving(|chunks, _| drop(chunks));
        saving.take_captured(vec![vec![0; PART_BYTES]; 20]);
        saving.take_captured(vec![vec![0; PART_BYTES]; 20]);
        assert!(saving.waiting.is_empty() && saving.is_broken);
    }
}
