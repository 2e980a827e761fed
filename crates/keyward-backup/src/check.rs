//! Whether a backup can be relied on: it is loaded.
//!
//! A file is read once, from its first byte to its last: its SHA-256 is taken, it is
//! decompressed, every row and library is loaded as a server would load it, and rows are
//! counted and compared with what the snapshot says it has. What is decompressed can be
//! kept on the way, so that a restore keeps exactly what was checked.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::rc::Rc;

use keyward_engine::{LoadError, TrialLoad};

use crate::archive::{Sum, Summed, open};
use crate::folder::sum_path;
use crate::progress::Progress;
use crate::stop::Stop;

/// What a compressed file begins with.
const COMPRESSED_MARK: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// More databases than servers are set up with.
const DATABASES: usize = 1024;
/// The longest file with a sum that is looked at.
const SUM_FILE_BYTES_MAX: u64 = 4096;

/// What a sound backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its rows.
    pub rows: u64,
    /// The bytes of the snapshot itself.
    pub snapshot_bytes: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// The file's SHA-256.
    pub sum: Sum,
}

/// Why a backup cannot be relied on, or could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It is damaged, or holds what is not served.
    #[error("{file} cannot be used: {}", problems.join("; "))]
    Unusable {
        /// The backup.
        file: String,
        /// A sentence about each problem.
        problems: Vec<String>,
    },
    /// A file cannot be read or written. No source of the error: the text has all of it.
    #[error("cannot {action} {file}: {problem}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        file: String,
        /// What the system says.
        problem: io::Error,
    },
    /// Before it was known.
    #[error("told to stop")]
    Stopped,
}

/// The sum a backup should have; `None` if nobody has said.
pub fn expected_sum(backup: &Path) -> Result<Option<Sum>, CheckError> {
    let path = sum_path(backup);
    let failed = |problem| CheckError::Io { action: "read", file: shown(&path), problem };
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let mut text = Vec::new();
    file.take(SUM_FILE_BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    let sum = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let problems = vec!["expected a SHA-256, 64 hexadecimal digits, at byte 0".to_owned()];
        return Err(CheckError::Unusable { file: shown(&path), problems });
    }
    Ok(Some(sum))
}

/// Loads a backup, or any RDB file, and compares it with the sum it should have. The
/// snapshot itself is written to `copy`.
pub fn check(
    path: &Path,
    expected: Option<&Sum>,
    copy: &mut dyn Write,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Contents, CheckError> {
    let failed = |problem| CheckError::Io { action: "read", file: shown(path), problem };
    let file = open(path).map_err(failed)?;
    let total = file.metadata().map_err(failed)?.len();
    progress.begin("checking", Some(total));
    let position = Rc::new(Cell::new(0));
    let mut source = Source::new(file, Rc::clone(&position)).map_err(failed)?;
    let mut tee = Tee { source: &mut source, copy, bytes: 0, failure: None };
    let mut outcome = load(&mut tee, || {
        progress.reached(position.get());
        !stop.is_set()
    });
    let Tee { bytes: snapshot_bytes, failure, .. } = tee;
    progress.end();
    if let Some(problem) = failure {
        return Err(CheckError::Io { action: "write the snapshot of", file: shown(path), problem });
    }
    if stop.is_set() {
        return Err(CheckError::Stopped);
    }
    if let Ok((_, end)) = outcome
        && end != snapshot_bytes
    {
        outcome = Err(Problem::Goes { end, bytes: snapshot_bytes });
    }
    let read_to = source.offset();
    let mut problems = Vec::new();
    match &outcome {
        Err(Problem::Load(LoadError::File(keyward_rdb::Error::Io(error)))) => {
            if error.raw_os_error().is_some() {
                let source = io::Error::new(error.kind(), error.to_string());
                return Err(failed(source));
            }
            problems.push(format!("at byte {read_to} of {total}: {error}"));
        }
        Err(problem) => problems.push(problem.to_string()),
        Ok(_) => {}
    }
    // The sum is that of all bytes, those behind the damage too.
    io::copy(source.summed(), &mut io::sink()).map_err(failed)?;
    let summed = source.summed();
    let (sum, bytes) = (summed.sum(), summed.bytes);
    if let Some(expected) = expected.filter(|expected| **expected != sum) {
        problems.push(format!("its SHA-256 is {sum}, expected {expected}"));
    }
    match outcome {
        Ok((rows, _)) if problems.is_empty() => Ok(Contents { rows, snapshot_bytes, bytes, sum }),
        _ => Err(CheckError::Unusable { file: shown(path), problems }),
    }
}

/// What is wrong with a snapshot.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the snapshot has {found} keys, expected {told}")]
    Count { found: u64, told: u64 },
    #[error("the snapshot ends at byte {end}, but there are {bytes}")]
    Goes { end: u64, bytes: u64 },
}

/// Loads a snapshot to its end, and reads on to that of the source; returns how many rows
/// there are, and where the snapshot ended. Gives up when `goes_on` says so.
fn load(source: &mut impl Read, mut goes_on: impl FnMut() -> bool) -> Result<(u64, u64), Problem> {
    let mut trial = TrialLoad::new(&mut *source, DATABASES)?;
    while trial.step()? && goes_on() {}
    let (loaded, end) = (trial.loaded(), trial.offset());
    drop(trial);
    let found = loaded.rows + loaded.empty;
    if loaded.told > 0 && loaded.told != found {
        return Err(Problem::Count { found, told: loaded.told });
    }
    let rest = io::copy(source, &mut io::sink());
    rest.map_err(|error| LoadError::File(error.into()))?;
    Ok((loaded.rows, end))
}

/// A file, decompressed if need be.
enum Source {
    Compressed(Box<zstd::Decoder<'static, BufReader<Summed<Counted>>>>),
    Plain(BufReader<Summed<Counted>>),
}

impl Source {
    fn new(file: File, position: Rc<Cell<u64>>) -> io::Result<Source> {
        let mut reader = BufReader::new(Summed::new(Counted { file, position }));
        if reader.fill_buf()?.starts_with(&COMPRESSED_MARK) {
            return Ok(Source::Compressed(Box::new(zstd::Decoder::with_buffer(reader)?)));
        }
        Ok(Source::Plain(reader))
    }

    fn reader(&self) -> &BufReader<Summed<Counted>> {
        match self {
            Source::Compressed(decoder) => decoder.get_ref(),
            Source::Plain(reader) => reader,
        }
    }

    /// How many bytes of the file were made use of.
    fn offset(&self) -> u64 {
        let reader = self.reader();
        reader.get_ref().bytes - reader.buffer().len() as u64
    }

    /// The file itself, behind what was read ahead.
    fn summed(&mut self) -> &mut Summed<Counted> {
        match self {
            Source::Compressed(decoder) => decoder.get_mut().get_mut(),
            Source::Plain(reader) => reader.get_mut(),
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Compressed(decoder) => decoder.read(buffer),
            Source::Plain(reader) => reader.read(buffer),
        }
    }
}

/// A file that tells how far it was read.
struct Counted {
    file: File,
    position: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position.set(self.position.get() + count as u64);
        Ok(count)
    }
}

/// What is read is written too.
struct Tee<'a> {
    source: &'a mut Source,
    copy: &'a mut dyn Write,
    bytes: u64,
    /// Why it could not be written.
    failure: Option<io::Error>,
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes += count as u64;
        if let Err(error) = self.copy.write_all(&buffer[..count]) {
            self.failure = Some(error);
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(count)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
