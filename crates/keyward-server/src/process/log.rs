//! The log, in Redis's format: `PID:M 15 Nov 2026 06:47:00.123 * text`, with `S` in the place of
//! `M` while the server follows another.
//!
//! Owns where lines go and which ones are written. Programs that read Redis's log read
//! this one. Times are UTC. A file that was moved away is opened anew before the next line,
//! as logrotate expects: redis-server opens its file for every line.
//!
//! The message of a panic is a line too ([`write_panic`]), since a server in the background
//! has no standard error. It takes no lock that the thread may hold already, or that another
//! one may never give back.
//! Not here: what is worth a line (`tracing` calls where it happens).

use crate::clock;
use crate::settings::Settings;
use crate::settings::table::Id;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::fmt::format::{FormatFields, Writer};
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriter};
use tracing_subscriber::fmt::{FmtContext, FormatEvent};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The process has a log already.
    #[error(transparent)]
    Taken(#[from] TryInitError),
}

/// Changes which lines are written.
#[derive(Debug, Clone)]
pub(crate) struct LogControl(reload::Handle<LevelFilter, Registry>);

impl LogControl {
    /// Obeys `loglevel`.
    pub(crate) fn apply(&self, settings: &Settings) {
        if let Err(error) = self.0.reload(level(settings)) {
            tracing::error!(%error, "the log level stays as it was");
        }
    }
}

/// Where the lines of this process go, once it has a log.
static PLACE: OnceLock<Place> = OnceLock::new();

/// Whether the server of this process follows another.
static IS_REPLICA: AtomicBool = AtomicBool::new(false);

/// The server follows another from now on, or none.
pub(crate) fn note_role(is_replica: bool) {
    IS_REPLICA.store(is_replica, Ordering::Relaxed);
}

/// What a line begins with: who writes it.
fn writer() -> String {
    let role = if IS_REPLICA.load(Ordering::Relaxed) { 'S' } else { 'M' };
    format!("{}:{role}", std::process::id())
}

/// Where lines go.
#[derive(Debug, Clone, Copy)]
enum Place {
    File(&'static LogFile),
    StandardOutput,
    StandardError,
}

/// Writes a panic to the log of this process as one line, if it has one and that can be
/// written. What goes to standard error has been written there.
pub(crate) fn write_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.to_string();
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let time = Moment::at_ms(clock::now_us() / 1000);
    let line = format!("{} {time} # {message}\n", writer());
    // There is nobody left to tell what fails here.
    let _ = match PLACE.get() {
        Some(Place::File(log)) => log.write_past_locks(line.as_bytes()),
        // Past the lock of the standard library.
        Some(Place::StandardOutput) => {
            rustix::io::write(io::stdout().as_fd(), line.as_bytes()).map(drop).map_err(Into::into)
        }
        Some(Place::StandardError) | None => Ok(()),
    };
}

/// Sends the log where the settings say: to a file; else to standard output if the
/// settings come from a file, as a service's do; else to standard error.
pub(crate) fn start(settings: &Settings) -> Result<LogControl, LogError> {
    let path = settings.text(Id::LogFile);
    let (place, writer) = if !path.is_empty() {
        // There is one as long as there is the process.
        let log: &'static LogFile = Box::leak(Box::new(LogFile::open(path.into())?));
        (Place::File(log), BoxMakeWriter::new(|| log.make_writer()))
    } else if settings.file().is_some() {
        (Place::StandardOutput, BoxMakeWriter::new(io::stdout))
    } else {
        (Place::StandardError, BoxMakeWriter::new(io::stderr))
    };
    let (filter, handle) = reload::Layer::new(level(settings));
    let lines = tracing_subscriber::fmt::layer()
        .event_format(RedisLine)
        .with_ansi(false)
        .with_writer(writer);
    tracing_subscriber::registry().with(filter).with(lines).try_init()?;
    // Nobody has set it: a process that has a log already gets no other.
    let _ = PLACE.set(place);
    Ok(LogControl(handle))
}

/// Whether who starts the server in a terminal sees the lines of the log there.
pub(crate) fn is_shown() -> bool {
    matches!(PLACE.get(), Some(Place::StandardOutput | Place::StandardError))
}

/// Whether the log can be written where the settings say.
pub(crate) fn check(settings: &Settings) -> Result<(), LogError> {
    let path = settings.text(Id::LogFile);
    if !path.is_empty() {
        append_to(Path::new(&path))?;
    }
    Ok(())
}

fn append_to(path: &Path) -> io::Result<File> {
    // What somebody else cuts off is not written over: lines go to the end there is.
    File::options().create(true).append(true).open(path)
}

/// The file lines go to.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: Mutex<File>,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<LogFile> {
        let file = Mutex::new(append_to(&path)?);
        Ok(LogFile { path, file })
    }

    /// Writes a line, whoever holds the file: if somebody does, it is opened once more. A
    /// line is one call, and goes to the end there is, so that both stay whole.
    fn write_past_locks(&self, line: &[u8]) -> io::Result<()> {
        let held = match self.file.try_lock() {
            Ok(file) => Some(file),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match held {
            Some(mut file) if !has_moved(&self.path, &file) => file.write_all(line),
            held => append_to(&self.path)
                .and_then(|mut file| file.write_all(line))
                // Where it cannot be made anew, the old one is better than none.
                .or_else(|error| held.map_or(Err(error), |mut file| file.write_all(line))),
        }
    }
}

/// Whether the path names another file than the open one, or none.
fn has_moved(path: &Path, file: &File) -> bool {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let (named, open) = (fs::metadata(path), file.metadata());
    named.ok().map(identity) != open.ok().map(identity)
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Where it cannot be made anew, the old one is better than none.
        if has_moved(&self.path, &file)
            && let Ok(opened) = append_to(&self.path)
        {
            *file = opened;
        }
        Line(file)
    }
}

/// What writes one line.
struct Line<'a>(MutexGuard<'a, File>);

impl io::Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn level(settings: &Settings) -> LevelFilter {
    match settings.choice(Id::LogLevel) {
        "debug" => LevelFilter::TRACE,
        "verbose" => LevelFilter::DEBUG,
        "notice" => LevelFilter::INFO,
        _ => LevelFilter::WARN,
    }
}

/// One event as one line.
struct RedisLine;

impl<S, N> FormatEvent<S, N> for RedisLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mark = match *event.metadata().level() {
            Level::TRACE => '.',
            Level::DEBUG => '-',
            Level::INFO => '*',
            Level::WARN | Level::ERROR => '#',
        };
        let time = Moment::at_ms(clock::now_us() / 1000);
        write!(writer, "{} {time} {mark} ", self::writer())?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// A moment, as the log shows it.
#[derive(Debug, Clone, Copy)]
struct Moment {
    days: i64,
    ms_of_day: i64,
}

impl Moment {
    fn at_ms(ms: i64) -> Moment {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        Moment { days: ms.div_euclid(DAY_MS), ms_of_day: ms.rem_euclid(DAY_MS) }
    }

    /// Year, month from 0 and day of the Gregorian calendar. Years begin in March here,
    /// so that the leap day is the last of its year.
    fn date(self) -> (i64, usize, i64) {
        let days = self.days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12;
        (era * 400 + year_of_era + i64::from(month < 2), month as usize, day)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (year, month, day) = self.date();
        let (seconds, ms) = (self.ms_of_day / 1000, self.ms_of_day % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{day:02} {} {year} {hour:02}:{minute:02}:{second:02}.{ms:03}", MONTHS[month])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(log: &LogFile, line: &str) {
        writeln!(log.make_writer(), "{line}").expect("a line");
    }

    #[test]
    fn a_file_that_was_moved_is_opened_anew() {
        let folder = tempfile::tempdir().expect("a directory");
        let (path, moved) = (folder.path().join("log"), folder.path().join("log.1"));
        let log = LogFile::open(path.clone()).expect("a file");
        write(&log, "first");
        fs::rename(&path, &moved).expect("logrotate moves it");
        write(&log, "second");
        fs::remove_file(&path).expect("somebody removes it");
        fs::write(&path, "theirs\n").expect("and makes another one");
        write(&log, "third");
        assert_eq!(fs::read_to_string(&moved).expect("text"), "first\n");
        assert_eq!(fs::read_to_string(&path).expect("text"), "theirs\nthird\n");
    }

    #[test]
    fn a_file_that_was_cut_off_goes_on_at_its_end() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("log");
        let log = LogFile::open(path.clone()).expect("a file");
        write(&log, "first");
        File::options().write(true).truncate(true).open(&path).expect("copytruncate");
        write(&log, "second");
        assert_eq!(fs::read_to_string(&path).expect("text"), "second\n");
    }

    #[test]
    fn a_file_that_cannot_be_made_anew_is_kept() {
        let folder = tempfile::tempdir().expect("a directory");
        let (inner, moved) = (folder.path().join("logs"), folder.path().join("gone"));
        fs::create_dir(&inner).expect("a directory");
        let log = LogFile::open(inner.join("log")).expect("a file");
        fs::rename(&inner, &moved).expect("it is moved");
        write(&log, "kept");
        assert_eq!(fs::read_to_string(moved.join("log")).expect("text"), "kept\n");
    }

    #[test]
    fn a_panic_is_written_whoever_holds_the_file() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("log");
        let log = LogFile::open(path.clone()).expect("a file");
        write(&log, "first");
        log.write_past_locks(b"second\n").expect("nobody holds it");
        let held = log.make_writer();
        log.write_past_locks(b"third\n").expect("it is opened once more");
        drop(held);
        fs::rename(&path, folder.path().join("log.1")).expect("logrotate moves it");
        log.write_past_locks(b"fourth\n").expect("it is opened anew");
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).expect("text");
        assert_eq!(text("log.1"), "first\nsecond\nthird\n");
        assert_eq!(text("log"), "fourth\n");
    }

    #[test]
    fn moments_are_dates_of_the_calendar() {
        let check = |ms, expected: &str| assert_eq!(Moment::at_ms(ms).to_string(), expected);
        check(0, "01 Jan 1970 00:00:00.000");
        check(951_782_399_999, "28 Feb 2000 23:59:59.999");
        check(951_782_400_000, "29 Feb 2000 00:00:00.000");
        check(951_868_800_000, "01 Mar 2000 00:00:00.000");
        check(1_794_725_220_123, "15 Nov 2026 06:47:00.123");
        check(4_107_542_400_000, "01 Mar 2100 00:00:00.000");
    }
}
