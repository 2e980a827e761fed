//! Versions and ciphers, as redis.conf names them.
//!
//! Owns the names, which are OpenSSL's. Of its language of cipher lists only names are
//! known: of what else it can say, `DEFAULT` and `ALL` mean all there are. As in OpenSSL, a name that nobody knows
//! is passed over, and a list that names nothing is an error.

use crate::files::TlsError;
use rustls::crypto::ring;
use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion, version};

/// OpenSSL's names of the ciphers of TLS 1.2; those of 1.3 are the standard's.
const NAMES: [(&str, CipherSuite); 9] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];
const EVERYTHING: [&str; 2] = ["DEFAULT", "ALL"];

/// The names of all ciphers, as messages tell them.
pub(crate) fn names() -> String {
    NAMES.map(|(name, _)| name).join(":")
}

/// The versions of `tls-protocols`; both if it is empty.
pub(crate) fn versions(text: &str) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let invalid = || TlsError::Protocols(text.to_owned());
    let (mut has_12, mut has_13) = (text.trim().is_empty(), text.trim().is_empty());
    for word in text.split_whitespace() {
        match word.to_ascii_lowercase().as_str() {
            "tlsv1.2" => has_12 = true,
            "tlsv1.3" => has_13 = true,
            // Redis takes them where OpenSSL still does.
            "tlsv1" | "tlsv1.1" => {}
            _ => return Err(invalid()),
        }
    }
    let versions: Vec<_> = [(has_13, &version::TLS13), (has_12, &version::TLS12)]
        .into_iter()
        .filter_map(|(is_on, version)| is_on.then_some(version))
        .collect();
    if versions.is_empty() { Err(invalid()) } else { Ok(versions) }
}

/// The ciphers of `tls-ciphers` (TLS 1.2) and `tls-ciphersuites` (TLS 1.3), in their order.
pub(crate) fn suites(of_12: &str, of_13: &str) -> Result<Vec<SupportedCipherSuite>, TlsError> {
    let is_13 = |suite: &SupportedCipherSuite| suite.tls13().is_some();
    let all = ring::ALL_CIPHER_SUITES;
    let of_13 = named(of_13, all.iter().copied().filter(is_13))?;
    let of_12 = named(of_12, all.iter().copied().filter(|suite| !is_13(suite)))?;
    Ok([of_13, of_12].concat())
}

fn named(
    list: &str,
    all: impl Iterator<Item = SupportedCipherSuite> + Clone,
) -> Result<Vec<SupportedCipherSuite>, TlsError> {
    let words: Vec<&str> = list.split([':', ',', ' ']).filter(|word| !word.is_empty()).collect();
    let is_everything = words.iter().any(|word| EVERYTHING.contains(word));
    // What takes something away cannot be passed over.
    if let Some(word) = words.iter().find(|word| word.starts_with(['!', '-', '+', '@'])) {
        return Err(TlsError::CipherList(list.to_owned(), (*word).to_owned()));
    }
    if words.is_empty() || is_everything {
        return Ok(all.collect());
    }
    let known = words.iter().filter_map(|word| {
        let (_, suite) = NAMES.iter().find(|(name, _)| name == word)?;
        all.clone().find(|other| other.suite() == *suite)
    });
    let known: Vec<SupportedCipherSuite> = known.collect();
    if known.is_empty() { Err(TlsError::Ciphers(list.to_owned())) } else { Ok(known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_has_a_name() {
        for suite in ring::ALL_CIPHER_SUITES {
            assert!(NAMES.iter().any(|(_, named)| *named == suite.suite()), "{suite:?}");
        }
    }

    #[test]
    fn a_list_names_ciphers_in_its_order() {
        let check = |list: (&str, &str), expected: Option<&[CipherSuite]>| {
            let found = suites(list.0, list.1).ok();
            let found = found.map(|suites| suites.iter().map(|s| s.suite()).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{list:?}");
        };
        let (aes, chacha) =
            (CipherSuite::TLS13_AES_128_GCM_SHA256, CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
        let rsa = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        let rsa_only = "AES128-SHA:ECDHE-RSA-AES128-GCM-SHA256";
        let both = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
        check((rsa_only, both), Some(&[chacha, aes, rsa]));
        check(("AES128-SHA", ""), None);
        check(("DEFAULT:!ECDHE-RSA-AES128-GCM-SHA256", ""), None);
        assert_eq!(suites("DEFAULT", "").map(|all| all.len()).ok(), Some(9));
    }

    #[test]
    fn versions_are_those_that_are_named() {
        let check = |text: &str, expected: Option<usize>| {
            assert_eq!(versions(text).ok().map(|versions| versions.len()), expected, "{text}");
        };
        check("", Some(2));
        check("TLSv1.2", Some(1));
        check("tlsv1.3  TLSv1.2", Some(2));
        check("TLSv1.1 TLSv1.2", Some(1));
        check("TLSv1.1", None);
        check("SSLv3", None);
    }
}
