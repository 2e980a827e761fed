//! Files written in the background: snapshots, and the append-only file anew.
//!
//! Owns the task that writes them, one at a time. The engine captures what there was at
//! one instant in steps, between which everybody is served; a thread takes the bytes,
//! compresses them, sums them up, writes and syncs. What is captured and not yet written is
//! bounded: when the disk falls behind the walk waits, and when commands change so much
//! meanwhile that even that is not enough, they do, between those of a script and of a
//! transaction too. Only what a single command changes is captured as a whole.
//! Not here: how the append-only file goes on meanwhile (`rewriting`), what is written
//! (`keyward-engine`), how it becomes safe (`keyward-persist`).

mod rewriting;
mod turns;

use crate::clock;
use crate::files::data_locks::Guarded;
use crate::serve::agenda;
use crate::serve::sending;
use crate::serve::server::{Core, Server};
use crate::settings::table::Id;
use keyward_engine::{Coverage, SnapshotOptions};
use keyward_persist::PersistError;
use keyward_persist::snapshot_file::NewFile;
use keyward_rdb::{Compressor, Ending, FileOptions};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use turns::Turns;

/// The thread gets nothing more while it has so many bytes to write.
const TAKEN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes captured and not handed to the thread at most. It may have as many: what is
/// captured amid a script is handed over as a whole.
pub(crate) const CAPTURED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// By how much the thread that writes yields to the one that serves.
const WRITER_NICENESS: i32 = 10;
/// How long the walk waits when the thread is behind: less than it takes to write what it
/// has, and no shorter, for it gives way whenever somebody wakes up.
const BEHIND_PAUSE: Duration = Duration::from_millis(4);
/// Between two looks at whether the thread has written enough, where all wait for it.
const WRITTEN_PAUSE: Duration = Duration::from_micros(100);

/// How long a snapshot waits for the end of large ends before those who write do.
const ENDS_PATIENCE: Duration = Duration::from_secs(10);

/// What the thread that writes has come to: how long the file is.
type Writer = Receiver<Result<u64, PersistError>>;

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Snapshot,
    AppendOnly,
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
    /// threads free nobody hears for a while (`memory`).
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
enum Step {
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
}

impl Core {
    /// Goes on with the snapshot that is being taken.
    fn step_snapshot(&mut self) -> Step {
        let Core { engine, host, .. } = self;
        let Some(saving) = &mut host.saving else { return Step::Over };
        saving.note_peak(engine.captured_bytes());
        saving.send();
        if !saving.waiting.is_empty() {
            return Step::Behind;
        }
        if saving.is_over {
            return Step::Over;
        }
        if saving.is_broken {
            engine.abandon_snapshot();
        }
        let waiting = &mut saving.waiting;
        saving.is_over = engine.step_snapshot(&mut |bytes| waiting.push_back(bytes));
        Step::More
    }

    /// Keeps what commands have captured within bounds.
    #[inline]
    pub(crate) fn bound_snapshot(&mut self) {
        if self.host.saving.is_some() {
            self.bound_captured();
        }
    }

    #[cold]
    fn bound_captured(&mut self) {
        let Core { engine, host, .. } = self;
        let Some(saving) = &mut host.saving else { return };
        let mut captured = engine.captured_bytes();
        saving.note_peak(captured);
        // Amid a large row only that is handed over, so that it may take several steps.
        while captured + saving.waiting_bytes() > CAPTURED_BYTES_MAX {
            let waiting = &mut saving.waiting;
            saving.is_over |= engine.step_snapshot(&mut |bytes| waiting.push_back(bytes));
            saving.send_all();
            captured = engine.captured_bytes();
        }
    }

    /// Begins a snapshot of this instant, which goes to `file`; answers the thread's end.
    fn begin_snapshot(&mut self, target: Target, file: NewFile) -> Writer {
        let coverage = match target {
            Target::Snapshot => Coverage::Whole,
            Target::AppendOnly => Coverage::AppendOnly,
        };
        let sums = self.host.settings.is_on(Id::RdbChecksum);
        let compresses = self.host.settings.is_on(Id::RdbCompression);
        let used_bytes = self.host.memory.used();
        self.engine.begin_snapshot(SnapshotOptions { coverage, sums, used_bytes });
        let (sender, receiver) = channel();
        let (outcome, writer) = channel();
        let alarm = self.host.alarm.clone();
        let (returning, written) = channel();
        let turns = Turns::of_this_thread();
        let thread = std::thread::spawn(move || {
            // Whoever serves goes first. Where that is not granted it is only slower.
            let _ = rustix::process::nice(WRITER_NICENESS);
            let options = FileOptions { compresses, sums };
            let ended = write_chunks(file, &receiver, &returning, &turns, options);
            // Nobody waits for it when the server goes down.
            let _ = outcome.send(ended);
            alarm.ring();
        });
        self.host.saving = Some(Saving {
            target,
            sender,
            written,
            thread,
            waiting: VecDeque::new(),
            taken_bytes: 0,
            peak_bytes: 0,
            is_over: false,
            is_broken: false,
        });
        writer
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

/// Walks a snapshot that has begun to its end; answers how long its file is.
async fn finish_snapshot(server: &Server, writer: Writer) -> Result<u64, PersistError> {
    loop {
        let step = server.core.borrow_mut().step_snapshot();
        match step {
            Step::More => server.agenda.pause().await,
            Step::Behind => server.agenda.sleep(BEHIND_PAUSE).await,
            Step::Over => break,
        }
    }
    if let Some(saving) = &server.core.borrow().host.saving {
        // A thread that is gone has told why.
        let _ = saving.sender.send(Chunk::End);
    }
    let written = agenda::received(&writer).await;
    let host = &mut server.core.borrow_mut().host;
    if let Some(saving) = host.saving.take() {
        match saving.target {
            Target::Snapshot => host.persistence.last_peak_bytes = saving.peak_bytes,
            Target::AppendOnly => host.append_only.rewrites.last_peak_bytes = saving.peak_bytes,
        }
    }
    written
}

/// Writes files in the background whenever that is wanted.
pub(crate) async fn keep_files(server: Rc<Server>) {
    let wanted = Rc::clone(&server.core.borrow().host.files_wanted);
    loop {
        wanted.taken().await;
        server.match_append_only();
        if server.core.borrow().host.append_only.rewrites.is_wanted {
            rewriting::rewrite(&server).await;
        }
        if server.core.borrow().host.persistence.is_wanted {
            save(&server).await;
        }
        let client = server.core.borrow_mut().host.snapshots_wanted.pop_front();
        if let Some(client) = client {
            no_pending_ends(&server).await;
            sending::send(&server, client).await;
        }
        let host = &server.core.borrow().host;
        let is_file_wanted = host.append_only.rewrites.is_wanted || host.persistence.is_wanted;
        if is_file_wanted || !host.snapshots_wanted.is_empty() {
            wanted.give();
        }
    }
}

/// Waits until a snapshot would have nothing that is gone already: large ends are removed in
/// steps. Where new ones keep coming, those who write wait too.
async fn no_pending_ends(server: &Server) {
    let patience_over_ns = clock::monotonic_ns() + ENDS_PATIENCE.as_nanos() as u64;
    while server.core.borrow().engine.has_pending_ends() {
        if clock::monotonic_ns() > patience_over_ns {
            server.core.borrow_mut().engine.drain_ends(true);
        }
        server.agenda.pause().await;
    }
    server.core.borrow_mut().engine.drain_ends(false);
}

/// BGSAVE.
async fn save(server: &Rc<Server>) {
    no_pending_ends(server).await;
    let begun = {
        let core = &mut *server.core.borrow_mut();
        let dirty = core.engine.dirty();
        core.host.persistence.begin_background(dirty);
        let owned = core.host.own_before_writing(Guarded::Snapshot);
        let file = owned.and_then(|()| core.host.persistence.new_file(&core.host.settings));
        file.map(|file| core.begin_snapshot(Target::Snapshot, file))
    };
    let outcome = match begun {
        Ok(writer) => finish_snapshot(server, writer).await,
        Err(error) => Err(error),
    };
    let core = &mut *server.core.borrow_mut();
    core.host.persistence.end_background(outcome.map(|_| ()));
    core.refuse_writes_if_needed();
}

impl Server {
    /// Makes the append-only file what the settings say: it begins by being written anew,
    /// and ends at once.
    fn match_append_only(&self) {
        let core = &mut *self.core.borrow_mut();
        let is_wanted = core.host.settings.is_on(Id::AppendOnly);
        let is_on = core.host.append_only.log.is_some();
        if is_wanted && !is_on {
            core.host.append_only.rewrites.is_wanted = true;
        } else if !is_wanted && is_on {
            self.end_log(core);
        }
    }

    /// Writes and syncs all of the log, and ends it.
    pub(crate) fn end_log(&self, core: &mut Core) {
        self.collect_log(core);
        if let Some(log) = &mut core.host.append_only.log {
            if let Err(error) = log.finish() {
                tracing::warn!("Fail to fsync the AOF file: {error}");
            }
            core.host.append_only.end();
            core.engine.log_changes(false);
        }
        self.write_log(core);
    }

    /// Looks after files, `hz` times a second.
    pub(crate) fn tick_files(&self, core: &mut Core) {
        let now_s = clock::now_us() / 1_000_000;
        let dirty = core.engine.dirty();
        let host = &mut core.host;
        host.retain_locks(now_s);
        if host.is_loading() {
            return;
        }
        let is_due = host.persistence.is_due(&host.settings, dirty, now_s);
        host.persistence.is_wanted |= is_due && host.saving.is_none();
        let is_rewrite_due = host.append_only.is_rewrite_due(&host.settings);
        host.append_only.rewrites.is_wanted |= is_rewrite_due;
        if host.persistence.is_wanted || host.append_only.rewrites.is_wanted {
            host.files_wanted.give();
        }
        if host.append_only.log.as_ref().is_some_and(|log| log.buffered() > 0) {
            self.write_log(core);
        }
        self.sync_log_if_due(core);
        core.refuse_writes_if_needed();
    }
}

impl Core {
    /// Refuses writes while what should outlive the process cannot be written.
    pub(crate) fn refuse_writes_if_needed(&mut self) {
        let refusal = self.host.write_refusal();
        self.engine.refuse_writes(refusal);
    }
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
