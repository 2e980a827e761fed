//! The board: figures that one thread publishes and others read.
//!
//! The thread that serves copies its figures into one of two buffers, some at a time, and then
//! says which one is current, at most every [`EVERY`] and only if somebody has asked since. So
//! the figures of a publication may be some milliseconds apart. A buffer is a row
//! of atomic words with a sequence number before it (a seqlock): whoever reads copies the
//! words and looks whether the number is still the same, so neither side waits for the other.
//!
//! ```text
//! buffer   sequence (odd while it is written) | time | bytes of text | text … | words …
//! words    for each database under a schema: its tables, each PATTERN_WORDS;
//!          then for each command: calls, nanoseconds, one word a level
//! ```
//!
//! Publishing allocates nothing, frees nothing and takes no lock. What the words mean depends
//! on the schemas in force (a [`Layout`]): when those change, buffers of another size are made,
//! once. Cost: a store a word; some 30 words a pattern.
//! Not here: what is counted (the engine), what figures are called (`families`).

use crate::families::{LEVELS_US, PatternFigure};
use keyward_commands::CommandId;
use keyward_rules::{Reason, RuleBook};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two publications.
pub(crate) const EVERY: Duration = Duration::from_millis(100);
/// Figures that are no older than this are as good as new.
const FRESH: Duration = Duration::from_millis(150);
/// How long somebody who asks waits for new figures before older ones have to do.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often is looked whether they are there.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How often is begun to copy a buffer that is being written.
const TRIES: usize = 100;
/// Bytes of text that are published.
const TEXT_BYTES_MAX: usize = 128 * 1024;

/// Words of a table: its figures, then what was refused and warned of, by reason.
pub(crate) const PATTERN_WORDS: usize = PatternFigure::COUNT + 2 * Reason::COUNT;
/// Words of a command: calls, nanoseconds, levels.
pub(crate) const COMMAND_WORDS: usize = 2 + LEVELS_US.len();

/// What the words of buffers mean, and the buffers.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The schemas in force that it is made for.
    generation: u64,
    /// The databases under a schema.
    pub(crate) books: Vec<(usize, Arc<RuleBook>)>,
    /// Those by which pages are masked, where anything is personal; made when first wanted.
    masks: OnceLock<Vec<Option<RuleBook>>>,
    current: AtomicUsize,
    buffers: [Buffer; 2],
}

#[derive(Debug)]
struct Buffer {
    /// Odd while it is written; zero if it never was.
    sequence: AtomicU64,
    /// When it was written, by the board's clock.
    at_ns: AtomicU64,
    text_bytes: AtomicUsize,
    text: Box<[AtomicU64]>,
    words: Box<[AtomicU64]>,
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Layout {
    fn new(generation: u64, books: Vec<(usize, Arc<RuleBook>)>) -> Layout {
        let tables: usize = books.iter().map(|(_, book)| 1 + book.schema().keys.len()).sum();
        let words = tables * PATTERN_WORDS + CommandId::COUNT * COMMAND_WORDS;
        let buffer = || Buffer {
            sequence: AtomicU64::new(0),
            at_ns: AtomicU64::new(0),
            text_bytes: AtomicUsize::new(0),
            text: zeros(TEXT_BYTES_MAX / 8),
            words: zeros(words),
        };
        let (current, buffers) = (AtomicUsize::new(0), [buffer(), buffer()]);
        Layout { generation, books, masks: OnceLock::new(), current, buffers }
    }

    /// The book by which pages about a database are masked, if anything there is personal.
    pub(crate) fn mask(&self, db: usize) -> Option<&RuleBook> {
        let place = self.books.iter().position(|(it, _)| *it == db)?;
        self.masks().get(place)?.as_ref()
    }

    /// Those of all databases.
    pub(crate) fn masks(&self) -> &[Option<RuleBook>] {
        self.masks.get_or_init(|| self.books.iter().map(|(_, book)| book.discreet()).collect())
    }

    fn buffer(&self, place: usize) -> &Buffer {
        let [even, odd] = &self.buffers;
        if place.is_multiple_of(2) { even } else { odd }
    }

    fn current(&self) -> &Buffer {
        self.buffer(self.current.load(Ordering::Acquire))
    }

    /// When figures were last published, if ever.
    fn published_ns(&self) -> Option<u64> {
        let buffer = self.current();
        let is_written = buffer.sequence.load(Ordering::Acquire) > 0;
        is_written.then(|| buffer.at_ns.load(Ordering::Relaxed))
    }
}

impl Buffer {
    /// A copy of its text, and of its words to where they are wanted, unless it is being written.
    fn copy(&self, words: Option<&mut Vec<u64>>) -> Option<(u64, String)> {
        let before = self.sequence.load(Ordering::Acquire);
        if before == 0 || before % 2 == 1 {
            return None;
        }
        let at_ns = self.at_ns.load(Ordering::Relaxed);
        let bytes = self.text_bytes.load(Ordering::Relaxed).min(TEXT_BYTES_MAX);
        let text = self.text.iter().take(bytes.div_ceil(8));
        let mut text: Vec<u8> =
            text.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        text.truncate(bytes);
        if let Some(words) = words {
            words.extend(self.words.iter().map(|word| word.load(Ordering::Relaxed)));
        }
        fence(Ordering::Acquire);
        let is_whole = self.sequence.load(Ordering::Relaxed) == before;
        is_whole.then(|| (at_ns, String::from_utf8_lossy(&text).into_owned()))
    }
}

/// Where figures are published.
#[derive(Debug)]
pub struct Board {
    begun: Instant,
    /// Somebody wants figures that are newer than the last ones.
    is_asked: AtomicBool,
    /// Which schemas are in force, whether figures of them were published or not.
    generation: AtomicU64,
    /// Which users there are, and what they may: another number after every change.
    users: AtomicU64,
    /// Locked by those who read for as long as it takes to clone it, and by who publishes
    /// only when schemas have changed, and then only if it is free.
    layout: Mutex<Arc<Layout>>,
}

/// Figures of an instant.
#[derive(Debug)]
pub struct Reading {
    pub(crate) layout: Arc<Layout>,
    /// How old they are.
    pub(crate) age: Duration,
    /// When they were published, by the board's clock; what tells them from others.
    pub(crate) at_ns: u64,
    /// INFO's lines.
    pub(crate) text: String,
    pub(crate) words: Vec<u64>,
}

impl Reading {
    /// Which schemas were in force.
    pub(crate) fn generation(&self) -> u64 {
        self.layout.generation
    }
}

impl Board {
    /// A board on which nothing is published yet, and who publishes on it.
    pub fn new() -> (Arc<Board>, Publisher) {
        let layout = Arc::new(Layout::new(0, Vec::new()));
        let board = Arc::new(Board {
            begun: Instant::now(),
            is_asked: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            users: AtomicU64::new(0),
            layout: Mutex::new(Arc::clone(&layout)),
        });
        let text = String::with_capacity(TEXT_BYTES_MAX);
        let (published_ns, under_way) = (None, None);
        let publisher =
            Publisher { board: Arc::clone(&board), layout, text, published_ns, under_way };
        (board, publisher)
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.layout.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Which schemas are in force. Nobody is asked for that.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Which users there are: another number after every change of them or of their rights.
    pub(crate) fn users(&self) -> u64 {
        self.users.load(Ordering::Acquire)
    }

    /// The newest figures. Waits a little for some that are not old, after it has told who
    /// publishes by `wake`; takes what there is if that is busy. `None` if there never were any.
    pub fn read(&self, wake: impl FnOnce()) -> Option<Reading> {
        self.refresh(wake);
        self.last()
    }

    /// INFO's lines alone, in the same way.
    pub(crate) fn text(&self, wake: impl FnOnce()) -> Option<String> {
        self.refresh(wake);
        let layout = self.layout();
        (0..TRIES).find_map(|_| layout.current().copy(None)).map(|(_, text)| text)
    }

    /// Waits until figures are not old, or for as long as that is worth.
    fn refresh(&self, wake: impl FnOnce()) {
        let asked_ns = self.now_ns();
        let oldest_ns = asked_ns.saturating_sub(FRESH.as_nanos() as u64);
        let is_fresh = || self.layout().published_ns().is_some_and(|at_ns| at_ns >= oldest_ns);
        if !is_fresh() {
            self.is_asked.store(true, Ordering::Release);
            wake();
            while !is_fresh() && self.now_ns() - asked_ns < PATIENCE.as_nanos() as u64 {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }

    /// The last figures that were published, however old.
    pub(crate) fn last(&self) -> Option<Reading> {
        self.last_in(Vec::new())
    }

    /// The same in memory that is there.
    pub(crate) fn last_in(&self, mut words: Vec<u64>) -> Option<Reading> {
        let layout = self.layout();
        let (at_ns, text) = (0..TRIES).find_map(|_| {
            words.clear();
            layout.current().copy(Some(&mut words))
        })?;
        let age = Duration::from_nanos(self.now_ns().saturating_sub(at_ns));
        Some(Reading { layout, age, at_ns, text, words })
    }
}

/// Who publishes figures.
#[derive(Debug)]
pub struct Publisher {
    board: Arc<Board>,
    layout: Arc<Layout>,
    text: String,
    published_ns: Option<u64>,
    under_way: Option<UnderWay>,
}

/// A publication that has begun.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    /// The buffer that it is written to.
    place: usize,
    /// Words that are written.
    written: usize,
}

/// What is being published.
#[derive(Debug)]
pub struct Writer<'p> {
    /// INFO's lines are appended here.
    pub text: &'p mut String,
    words: &'p [AtomicU64],
    written: usize,
}

impl Writer<'_> {
    /// Appends the next words; what has no room is left out.
    pub fn words(&mut self, words: &[u64]) {
        for (place, word) in self.words.iter().skip(self.written).zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
        self.written += words.len();
    }
}

impl Publisher {
    /// Says which users there are: a number that changes with them.
    #[inline]
    pub fn note_users(&self, version: u64) {
        if self.board.users.load(Ordering::Relaxed) != version {
            self.board.users.store(version, Ordering::Release);
        }
    }

    /// Whether a publication has begun and is not over.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether figures are to be published now.
    pub fn is_due(&self) -> bool {
        self.is_under_way()
            || self.board.is_asked.load(Ordering::Acquire)
                && self.published_ns.is_none_or(|at_ns| {
                    self.board.now_ns().saturating_sub(at_ns) >= EVERY.as_nanos() as u64
                })
    }

    /// Tells which schemas are in force, so that those who want no figures of the ones before may
    /// want some of these.
    pub fn tell_generation(&self, generation: u64) {
        self.board.generation.store(generation, Ordering::Relaxed);
    }

    /// Whether the schemas in force are others than those it publishes figures of.
    pub fn is_outdated(&self, generation: u64) -> bool {
        self.layout.generation != generation || self.published_ns.is_none()
    }

    /// From now on these are the schemas in force. What was published before is returned, to be
    /// freed elsewhere. Nothing happens if somebody is about to read: figures go on being
    /// those of the schemas before, and it is tried again.
    pub fn govern(
        &mut self,
        generation: u64,
        books: Vec<(usize, Arc<RuleBook>)>,
    ) -> Option<Box<dyn std::any::Any + Send>> {
        let Ok(mut shown) = self.board.layout.try_lock() else { return None };
        self.under_way = None;
        self.layout = Arc::new(Layout::new(generation, books));
        let before = std::mem::replace(&mut *shown, Arc::clone(&self.layout));
        Some(Box::new(before))
    }

    /// Begins a publication: nobody sees anything of it before it is over.
    pub fn begin(&mut self) {
        let now_ns = self.board.now_ns();
        self.board.is_asked.store(false, Ordering::Release);
        self.published_ns = Some(now_ns);
        let place = 1 - self.layout.current.load(Ordering::Relaxed) % 2;
        let buffer = self.layout.buffer(place);
        // One that was begun before and given up has left it odd.
        let sequence = buffer.sequence.load(Ordering::Relaxed) | 1;
        buffer.sequence.store(sequence, Ordering::Relaxed);
        fence(Ordering::Release);
        buffer.at_ns.store(now_ns, Ordering::Relaxed);
        self.text.clear();
        self.under_way = Some(UnderWay { place, written: 0 });
    }

    /// Goes on with it: what `write` writes comes behind what there is.
    pub fn go_on(&mut self, write: impl FnOnce(&mut Writer<'_>)) {
        let Some(under_way) = &mut self.under_way else { return };
        let words = &*self.layout.buffer(under_way.place).words;
        let mut writer = Writer { text: &mut self.text, words, written: under_way.written };
        write(&mut writer);
        under_way.written = writer.written;
    }

    /// Ends it: from now on it is what others see.
    pub fn end(&mut self) {
        let Some(UnderWay { place, written }) = self.under_way.take() else { return };
        let buffer = self.layout.buffer(place);
        buffer.words.iter().skip(written).for_each(|word| word.store(0, Ordering::Relaxed));
        let text = whole_lines(self.text.as_bytes());
        for (place, bytes) in buffer.text.iter().zip(text.chunks(8)) {
            let word = match bytes.first_chunk() {
                Some(word) => u64::from_le_bytes(*word),
                None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            };
            place.store(word, Ordering::Relaxed);
        }
        buffer.text_bytes.store(text.len(), Ordering::Relaxed);
        let sequence = buffer.sequence.load(Ordering::Relaxed);
        buffer.sequence.store(sequence + 1, Ordering::Release);
        self.layout.current.store(place, Ordering::Release);
    }

    /// Publishes what `write` writes, in one step.
    pub fn publish(&mut self, write: impl FnOnce(&mut Writer<'_>)) {
        self.begin();
        self.go_on(write);
        self.end();
    }
}

/// As many whole lines as are published.
fn whole_lines(text: &[u8]) -> &[u8] {
    match text.get(..TEXT_BYTES_MAX) {
        Some(start) if text.len() > TEXT_BYTES_MAX => {
            let end = start.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            start.get(..end).unwrap_or_default()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(publisher: &mut Publisher, number: u64) {
        publisher.publish(|writer| {
            writer.text.push_str(&format!("n:{number}\r\n"));
            writer.words(&[number; 64]);
        });
    }

    #[test]
    fn is_published_only_if_somebody_asked_and_not_too_often() {
        let (board, mut publisher) = Board::new();
        assert!(!publisher.is_due(), "nobody has asked");
        assert!(board.last().is_none());
        let mut woken = 0;
        // Nobody publishes: what there is, nothing, is returned in the end.
        assert!(board.read(|| woken += 1).is_none());
        assert_eq!(woken, 1);
        assert!(publisher.is_due());
        publish(&mut publisher, 7);
        assert!(!publisher.is_due());
        let reading = board.read(|| woken += 1).expect("it was published");
        assert_eq!((reading.text.as_str(), reading.words[0], woken), ("n:7\r\n", 7, 1));
        board.is_asked.store(true, Ordering::Release);
        assert!(!publisher.is_due(), "a moment ago it was published");
        std::thread::sleep(EVERY);
        assert!(publisher.is_due());
    }

    #[test]
    fn whoever_reads_sees_one_publication_and_not_parts_of_two() {
        let (board, mut publisher) = Board::new();
        publish(&mut publisher, 0);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut seen = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let Some(reading) = board.last() else { continue };
                    let number = reading.words[0];
                    assert_eq!(reading.text, format!("n:{number}\r\n"));
                    assert!(reading.words[..64].iter().all(|word| *word == number), "{number}");
                    assert!(number >= seen, "it never goes back");
                    seen = number;
                }
                seen
            });
            (1..20_000).for_each(|number| publish(&mut publisher, number));
            is_over.store(true, Ordering::Relaxed);
            assert!(reader.join().expect("the reader is well") > 0);
        });
    }

    #[test]
    fn a_publication_is_seen_when_its_last_step_is_done() {
        let (board, mut publisher) = Board::new();
        publish(&mut publisher, 1);
        publisher.begin();
        for _ in 0..4 {
            assert!(publisher.is_under_way() && publisher.is_due());
            publisher.go_on(|writer| writer.words(&[2; 16]));
            assert_eq!(board.last().expect("the one before").words[0], 1);
        }
        // One that is begun anew before it is over leaves nothing behind.
        publisher.begin();
        publisher.go_on(|writer| writer.words(&[3; 8]));
        publisher.end();
        let words = board.last().expect("it was published").words;
        assert_eq!((words[0], words[7], words[8]), (3, 3, 0));
        assert!(!publisher.is_under_way());
    }

    #[test]
    fn what_is_too_long_is_cut_at_the_end_of_a_line() {
        let (board, mut publisher) = Board::new();
        publisher.publish(|writer| (0..20_000).for_each(|_| writer.text.push_str("line:1\r\n")));
        let text = board.last().expect("it was published").text;
        assert!(text.len() <= TEXT_BYTES_MAX && text.len() > TEXT_BYTES_MAX - 8);
        assert!(text.ends_with("line:1\r\n"));
    }

    #[test]
    fn another_generation_is_another_layout() {
        let (board, mut publisher) = Board::new();
        assert!(publisher.is_outdated(0), "nothing was published yet");
        publish(&mut publisher, 1);
        assert!(!publisher.is_outdated(0));
        assert!(publisher.is_outdated(3));
        let held = board.layout.lock().expect("nobody panicked");
        assert!(publisher.govern(3, Vec::new()).is_none(), "somebody is about to read");
        drop(held);
        assert!(publisher.govern(3, Vec::new()).is_some());
        assert!(board.last().is_none(), "nothing is published of it yet");
        publish(&mut publisher, 2);
        assert!(!publisher.is_outdated(3));
        assert_eq!(board.last().expect("it was published").words[0], 2);
    }
}
