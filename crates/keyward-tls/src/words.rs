//! Why a handshake failed, in words.
//!
//! The library shows many of its reasons as the names of its own types
//! (`Other(OtherError(CaUsedAsEndEntity))`); people read a log.

use std::io;

use rustls::{CertificateError, Error};

/// What is wrong, for people.
pub fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::Other(cause)) => {
            format!("invalid peer certificate: {}", split_names(&cause.to_string()))
        }
        Error::InvalidMessage(what) => {
            format!("what came is no TLS ({})", split_names(&format!("{what:?}")))
        }
        other => split_names(&other.to_string()),
    }
}

/// An error of a connection, in words if it is the library's.
pub(crate) fn worded(error: io::Error) -> io::Error {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match own.map(in_words) {
        Some(text) => io::Error::new(error.kind(), text),
        None => error,
    }
}

/// Names of types as the words that they are made of: `UnknownIssuer` is `unknown issuer`.
fn split_names(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let is_name = word.chars().all(|c| c.is_ascii_alphanumeric())
            && word.as_bytes().windows(2).any(|two| is_border(two[0], two[1]));
        if is_name { split(word) } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_border(before: u8, after: u8) -> bool {
    before.is_ascii_lowercase() && after.is_ascii_uppercase()
}

fn split(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut words = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let begins = index == 0 || is_border(bytes[index - 1], *byte);
        if begins && index > 0 {
            words.push(' ');
        }
        // An abbreviation stays one.
        let is_short = bytes.get(index + 1).is_none_or(u8::is_ascii_uppercase);
        let lowered = if begins && !is_short { byte.to_ascii_lowercase() } else { *byte };
        words.push(char::from(lowered));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{AlertDescription, InvalidMessage, OtherError, PeerIncompatible};
    use std::sync::Arc;

    #[test]
    fn reasons_are_told_in_words() {
        let other = OtherError(Arc::new(io::Error::other("CaUsedAsEndEntity")));
        for (error, expected) in [
            (
                Error::InvalidCertificate(CertificateError::Other(other)),
                "invalid peer certificate: ca used as end entity",
            ),
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                "invalid peer certificate: unknown issuer",
            ),
            (Error::AlertReceived(AlertDescription::UnknownCA), "received fatal alert: unknown CA"),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "peer is incompatible: no cipher suites in common",
            ),
            (
                Error::InvalidMessage(InvalidMessage::InvalidContentType),
                "what came is no TLS (invalid content type)",
            ),
            (Error::NoCertificatesPresented, "peer sent no certificates"),
        ] {
            assert_eq!(in_words(&error), expected);
        }
        let told = worded(io::Error::new(io::ErrorKind::InvalidData, Error::DecryptError));
        assert_eq!(told.to_string(), "cannot decrypt peer's message");
        assert_eq!(worded(io::Error::other("UntouchedText")).to_string(), "UntouchedText");
    }
}
