//! Files of certificates and keys, in PEM.
//!
//! Owns reading them, within bounds, and what is said of those that cannot be used: Redis's
//! words where it has some, which go to the log.

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// A file of certificates or keys is no larger; the bundle of a system has 200 KB.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A directory of authorities has no more files.
const FILES_MAX: usize = 4096;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate is named.
    #[error("No tls-cert-file configured!")]
    NoCertificate,
    /// No key is named.
    #[error("No tls-key-file configured!")]
    NoKey,
    /// Certificates are to be checked, and nobody says by whom.
    #[error(
        "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or tls-auth-clients are enabled!"
    )]
    NoAuthority,
    /// A certificate cannot be used.
    #[error("Failed to load certificate: {}: {reason}", .file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A key cannot be used.
    #[error("Failed to load private key: {}: {reason}", .file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The authorities cannot be used.
    #[error("Failed to configure CA certificate(s) file/directory: {}: {reason}", .file.display())]
    Authority {
        /// The file or the directory.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No version that is named is there.
    #[error("Invalid tls-protocols specified. Use TLSv1.2, TLSv1.3 or both: '{0}'")]
    Protocols(String),
    /// No cipher that is named is there.
    #[error("Failed to configure ciphers: '{0}' names none that there is")]
    Ciphers(String),
    /// The library refuses what all of this comes to.
    #[error("Failed to configure TLS: {0}")]
    Library(#[from] rustls::Error),
}

/// The certificates of a file, that of the server or client itself first.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |reason: String| TlsError::Certificate { file: file.to_owned(), reason };
    let text = read(file).map_err(|error| failed(error.to_string()))?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| failed(error.to_string()))?;
    if found.is_empty() {
        return Err(failed("no certificate in PEM is in it".to_owned()));
    }
    Ok(found)
}

/// The first key of a file.
pub(crate) fn key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let failed = |reason: String| TlsError::Key { file: file.to_owned(), reason };
    let text = read(file).map_err(|error| failed(error.to_string()))?;
    if has_line_with(&text, b"ENCRYPTED") {
        return Err(failed("it is encrypted: store it without a pass phrase".to_owned()));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => failed("no key in PEM is in it".to_owned()),
        error => failed(error.to_string()),
    })
}

/// Whether one of the lines that frame what is encoded has a word.
fn has_line_with(text: &[u8], word: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.any(|line| line.windows(word.len()).any(|part| part == word))
}

/// Whom a file and a directory say to believe.
pub(crate) fn authorities(
    file: Option<&Path>,
    directory: Option<&Path>,
) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file
        && add_authorities(&mut roots, file)? == 0
    {
        return Err(unusable(file, "no certificate in PEM is in it"));
    }
    if let Some(directory) = directory {
        for file in files_of(directory)? {
            add_authorities(&mut roots, &file)?;
        }
    }
    Ok(roots)
}

fn unusable(file: &Path, reason: impl ToString) -> TlsError {
    TlsError::Authority { file: file.to_owned(), reason: reason.to_string() }
}

fn files_of(directory: &Path) -> Result<Vec<PathBuf>, TlsError> {
    let failed = |error| unusable(directory, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A hash that leads to the same file, or to none, is believed once.
        if path.is_file() {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            return Err(unusable(directory, format!("it has more than {FILES_MAX} files")));
        }
    }
    files.sort();
    Ok(files)
}

/// Adds the authorities of a file; how many there are. What is no certificate of an
/// authority is passed over: a system's bundle has some that nobody can use.
fn add_authorities(roots: &mut RootCertStore, file: &Path) -> Result<usize, TlsError> {
    let text = read(file).map_err(|error| unusable(file, error))?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| unusable(file, error))?;
    let (added, _) = roots.add_parsable_certificates(found);
    Ok(added)
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other("it is too large for a file of certificates"));
    }
    Ok(text)
}
