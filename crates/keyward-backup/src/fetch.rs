//! A snapshot from a running server to disk.

use std::io;
use std::path::Path;

use crate::address::Address;
use crate::archive::{Archive, NewArchive};
use crate::progress::Progress;
use crate::snapshot::{Contents, Snapshot, SnapshotError, TalkError};
use crate::stop::Stop;

/// Why there is no snapshot on disk.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server sends none.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The server broke off.
    #[error("{place}: {problem}")]
    Cut {
        /// The server.
        place: String,
        /// What the system says.
        problem: io::Error,
    },
    /// The server has sent nothing.
    #[error("{place} has sent an empty snapshot")]
    Empty {
        /// The server.
        place: String,
    },
    /// The disk does not take it.
    #[error("cannot write to {directory}: {problem}")]
    Write {
        /// Where it was to be.
        directory: String,
        /// What the system says.
        problem: io::Error,
    },
}

impl FetchError {
    /// Whether the server broke off while it had been reached.
    fn is_cut(&self) -> bool {
        let problem = match self {
            FetchError::Cut { problem, .. } => problem,
            FetchError::Snapshot(SnapshotError::Talk {
                problem: TalkError::Io(problem), ..
            }) => problem,
            _ => return false,
        };
        use io::ErrorKind::{ConnectionReset, UnexpectedEof};
        matches!(problem.kind(), UnexpectedEof | ConnectionReset)
    }
}

/// Takes a snapshot from a server to a file in a directory, which has no name of a backup
/// yet: it is to be checked first.
///
/// Valkey breaks off where rows do not fit a snapshot that Redis reads, too (fields of hashes
/// with lifetimes). Then it is asked for one with everything that it has, so that who checks it
/// can name the rows.
///
/// # Errors
/// If the server does not send all of one, or the disk does not take it.
pub fn fetch(
    address: &Address,
    directory: &Path,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Archive, FetchError> {
    match attempt((address, Contents::Common), directory, stop, progress) {
        // If that does not help, what went wrong first is told.
        Err(error) if error.is_cut() => {
            attempt((address, Contents::All), directory, stop, progress).map_err(|_| error)
        }
        outcome => outcome,
    }
}

fn attempt(
    (address, contents): (&Address, Contents),
    directory: &Path,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Archive, FetchError> {
    let unwritten =
        |problem| FetchError::Write { directory: directory.display().to_string(), problem };
    let mut archive = NewArchive::begin(directory).map_err(unwritten)?;
    progress.begin("waiting", None);
    let snapshot = Snapshot::request(address, contents, stop);
    progress.end();
    let mut snapshot = snapshot?;
    progress.begin("receiving", snapshot.bytes());
    let received = receive(&mut snapshot, address, |chunk, bytes| {
        archive.write(chunk).map_err(unwritten)?;
        progress.reached(bytes);
        Ok(())
    });
    progress.end();
    if received? == 0 {
        return Err(FetchError::Empty { place: address.to_string() });
    }
    archive.finish().map_err(unwritten)
}

/// Hands each piece on with how many bytes there are so far; how many there are in all.
fn receive(
    snapshot: &mut Snapshot,
    address: &Address,
    mut keep: impl FnMut(&[u8], u64) -> Result<(), FetchError>,
) -> Result<u64, FetchError> {
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    loop {
        let more = snapshot.next(&mut chunk);
        let cut = |problem| FetchError::Cut { place: address.to_string(), problem };
        if !more.map_err(cut)? {
            return Ok(bytes);
        }
        bytes += chunk.len() as u64;
        keep(&chunk, bytes)?;
    }
}
