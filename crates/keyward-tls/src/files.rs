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

/// A file of a certificate or a key is no larger.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// All files of authorities together are no larger; the bundle of a system has 200 KB. They
/// are read while everybody waits where CONFIG SET names them.
const AUTHORITIES_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// A directory of authorities has no more files.
const FILES_MAX: usize = 1024;

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
    #[error(
        "Failed to configure ciphers: '{0}' names none that there is. Names stand between colons: {names}",
        names = crate::ciphers::names()
    )]
    Ciphers(String),
    /// A list of ciphers takes some away, or orders them, which only OpenSSL's lists can.
    #[error(
        "Failed to configure ciphers: '{0}' has '{1}': OpenSSL's cipher lists are not read. Name the ciphers that are wanted, between colons: {names}",
        names = crate::ciphers::names()
    )]
    CipherList(String, String),
    /// The library refuses what all of this comes to.
    #[error("Failed to configure TLS: {0}")]
    Library(#[from] rustls::Error),
}

/// The certificates of a file, that of the server or client itself first.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |reason: String| TlsError::Certificate { file: file.to_owned(), reason };
    let text = read(file, FILE_BYTES_MAX).map_err(|error| failed(error.to_string()))?;
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
    let text = read(file, FILE_BYTES_MAX).map_err(|error| failed(error.to_string()))?;
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
    let mut bytes_left = AUTHORITIES_BYTES_MAX;
    if let Some(file) = file
        && add_authorities(&mut roots, file, &mut bytes_left)? == 0
    {
        return Err(unusable(file, "no certificate in PEM is in it"));
    }
    if let Some(directory) = directory {
        for file in files_of(directory)? {
            add_authorities(&mut roots, &file, &mut bytes_left)?;
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
fn add_authorities(
    roots: &mut RootCertStore,
    file: &Path,
    bytes_left: &mut u64,
) -> Result<usize, TlsError> {
    let text = read(file, *bytes_left).map_err(|error| unusable(file, error))?;
    *bytes_left -= text.len() as u64;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| unusable(file, error))?;
    let (added, _) = roots.add_parsable_certificates(found);
    Ok(added)
}

fn read(file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write to it.
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = Vec::new();
    File::open(file)?.take(bytes_max + 1).read_to_end(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(io::Error::other("it is too large for a file of certificates"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_testkit::Certificates;

    #[test]
    fn authorities_are_bounded_in_number_and_bytes() {
        let files = Certificates::make();
        let directory = files.file("authorities");
        std::fs::create_dir(&directory).expect("a directory");
        let text = std::fs::read(files.file("ca.crt")).expect("a certificate");
        let refused = || authorities(None, Some(&directory)).err().map(|error| error.to_string());
        for number in 0..FILES_MAX {
            std::fs::write(directory.join(number.to_string()), &text).expect("a file");
        }
        assert_eq!(refused(), None);
        std::fs::write(directory.join("more"), &text).expect("a file");
        assert!(refused().is_some_and(|it| it.ends_with("it has more than 1024 files")));
        std::fs::remove_file(directory.join("more")).expect("it is there");
        let large = text.repeat(AUTHORITIES_BYTES_MAX as usize / text.len());
        std::fs::write(directory.join("1"), large).expect("a file");
        assert!(refused().is_some_and(|it| it.ends_with("too large for a file of certificates")));
    }
}
