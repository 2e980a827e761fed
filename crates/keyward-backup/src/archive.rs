//! A backup on its way to disk: compressed, summed up, synced.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::folder::TEMPORARY;

/// What is worth its time: twice the speed of a disk, most of the gain.
const LEVEL: i32 = 3;

/// A SHA-256, in hexadecimal digits.
pub type Sum = String;

/// Bytes on their way, with the sum over them.
pub(crate) struct Summed<T> {
    pub(crate) inner: T,
    sum: Sha256,
    pub(crate) bytes: u64,
}

impl<T> Summed<T> {
    pub(crate) fn new(inner: T) -> Summed<T> {
        Summed { inner, sum: Sha256::new(), bytes: 0 }
    }

    pub(crate) fn sum(&self) -> Sum {
        self.sum.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn note(&mut self, bytes: &[u8]) {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<T: Write> Write for Summed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.note(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Summed<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.note(&buffer[..count]);
        Ok(count)
    }
}

/// A backup that has no name yet. Dropped, it leaves nothing behind.
pub(crate) struct NewArchive {
    encoder: zstd::Encoder<'static, Summed<NamedTempFile>>,
}

/// A backup that is whole on disk, and has no name yet.
pub struct Archive {
    pub(crate) file: NamedTempFile,
    /// Its SHA-256.
    pub sum: Sum,
}

impl Archive {
    /// Where it is for now.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

impl NewArchive {
    /// Begins one in a directory.
    pub(crate) fn begin(directory: &Path) -> io::Result<NewArchive> {
        let file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory)?;
        let mut encoder = zstd::Encoder::new(Summed::new(file), LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(NewArchive { encoder })
    }

    /// Adds bytes of the snapshot.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.encoder.write_all(bytes)
    }

    /// That was all of it.
    pub(crate) fn finish(self) -> io::Result<Archive> {
        let written = self.encoder.finish()?;
        written.inner.as_file().sync_all()?;
        Ok(Archive { sum: written.sum(), file: written.inner })
    }
}

/// Makes the names in a directory safe.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}

/// Writes a small file of this name, safely, in place of any that is there.
pub(crate) fn write_small(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(directory.join(name)).map_err(|error| error.error)?;
    Ok(())
}

/// Opens a file for reading, and tells directories from files.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}
