//! Certificates of X.509 version 1, which `openssl x509 -req` makes unless it is given
//! extensions, and which the library does not read.
//!
//! Owns reading them and checking that an authority has signed one. They have no extensions:
//! nothing says for what they may be used, so nothing is checked of it, as OpenSSL does. For
//! the same reason none of them is an authority between: an authority that is believed has
//! signed it directly, one without constraints of names, which could not be checked either.
//!
//! ```text
//! SEQUENCE
//!   SEQUENCE            what is signed, its head included
//!     INTEGER           the serial number; version 3 has [0] before it
//!     SEQUENCE          how it is signed
//!     SEQUENCE          the authority's name
//!     SEQUENCE          since when and until when it counts
//!     SEQUENCE          the subject's name
//!     SEQUENCE          the subject's key: SEQUENCE of its kind, BIT STRING
//!   SEQUENCE            how it is signed, once more
//!   BIT STRING          the signature
//! ```
//!
//! Not here: signatures themselves, which the library's ciphers check.

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// Bytes of a length, after the first; a certificate is no longer.
const LENGTH_BYTES_MAX: usize = 3;
/// Years of two digits from here on are of the century before.
const CENTURY_TURNS: u64 = 50;

/// A certificate of version 1.
#[derive(Debug)]
pub(crate) struct VersionOne<'a> {
    signed: &'a [u8],
    algorithm: &'a [u8],
    signature: &'a [u8],
    issuer: &'a [u8],
    since_s: u64,
    until_s: u64,
    /// The subject's key with its kind, its head included.
    pub(crate) key: &'a [u8],
}

impl<'a> VersionOne<'a> {
    /// Reads one; nothing if it is not of version 1, or makes no sense.
    pub(crate) fn read(certificate: &'a CertificateDer<'_>) -> Option<VersionOne<'a>> {
        let mut rest: &[u8] = certificate.as_ref();
        let mut parts = take(&mut rest, SEQUENCE)?;
        let before = parts;
        let mut fields = take(&mut parts, SEQUENCE)?;
        let signed = &before[..before.len() - parts.len()];
        let algorithm = take(&mut parts, SEQUENCE)?;
        let signature = bits(&mut parts)?;
        take(&mut fields, INTEGER)?;
        let same_algorithm = take(&mut fields, SEQUENCE)?;
        let issuer = take(&mut fields, SEQUENCE)?;
        let mut validity = take(&mut fields, SEQUENCE)?;
        let (since_s, until_s) = (time_s(&mut validity)?, time_s(&mut validity)?);
        take(&mut fields, SEQUENCE)?;
        let key = fields;
        take(&mut fields, SEQUENCE)?;
        let ends = [rest, parts, fields, validity];
        let is_whole = ends.iter().all(|end| end.is_empty()) && algorithm == same_algorithm;
        is_whole.then_some(VersionOne {
            signed,
            algorithm,
            signature,
            issuer,
            since_s,
            until_s,
            key,
        })
    }

    /// Whether it counts now, and one of these authorities has signed it.
    pub(crate) fn verify(
        &self,
        roots: &RootCertStore,
        algorithms: &WebPkiSupportedAlgorithms,
        now: UnixTime,
    ) -> Result<(), Error> {
        let failed = |error| Err(Error::InvalidCertificate(error));
        if now.as_secs() < self.since_s {
            return failed(CertificateError::NotValidYet);
        }
        if now.as_secs() > self.until_s {
            return failed(CertificateError::Expired);
        }
        let mut issuers = roots
            .roots
            .iter()
            .filter(|root| root.subject.as_ref() == self.issuer && root.name_constraints.is_none());
        match issuers.any(|root| self.is_signed_by(root, algorithms.all)) {
            true => Ok(()),
            false => failed(CertificateError::UnknownIssuer),
        }
    }

    fn is_signed_by(
        &self,
        root: &TrustAnchor<'_>,
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> bool {
        let Some((kind, key)) = key_parts(root.subject_public_key_info.as_ref()) else {
            return false;
        };
        let fitting = algorithms.iter().filter(|algorithm| {
            algorithm.signature_alg_id().as_ref() == self.algorithm
                && algorithm.public_key_alg_id().as_ref() == kind
        });
        let mut verified =
            fitting.map(|algorithm| algorithm.verify_signature(key, self.signed, self.signature));
        verified.any(|outcome| outcome.is_ok())
    }

    /// Whether the subject's key has signed a message in one of these ways.
    pub(crate) fn has_signed(
        &self,
        message: &[u8],
        signature: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> bool {
        let mut whole = self.key;
        let Some((kind, key)) = take(&mut whole, SEQUENCE).and_then(key_parts) else {
            return false;
        };
        let mut fitting =
            algorithms.iter().filter(|algorithm| algorithm.public_key_alg_id().as_ref() == kind);
        fitting.any(|algorithm| algorithm.verify_signature(key, message, signature).is_ok())
    }
}

/// The kind of a key, and its bytes.
fn key_parts(mut key: &[u8]) -> Option<(&[u8], &[u8])> {
    let kind = take(&mut key, SEQUENCE)?;
    let bits = bits(&mut key)?;
    key.is_empty().then_some((kind, bits))
}

/// Takes what is of this kind from the front; what is in it.
fn take<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&found, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..0x80 => (usize::from(first), rest),
        _ => {
            let count = usize::from(first & 0x7f);
            if !(1..=LENGTH_BYTES_MAX).contains(&count) || count > rest.len() {
                return None;
            }
            let (digits, rest) = rest.split_at(count);
            let length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            // There is one way to write a length.
            if digits.first() == Some(&0) || length < 0x80 {
                return None;
            }
            (length, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some(content)
}

/// Takes whole bytes of bits.
fn bits<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (unused, bits) = take(input, BIT_STRING)?.split_first()?;
    (*unused == 0).then_some(bits)
}

/// Takes a time: seconds since 1970.
fn time_s(input: &mut &[u8]) -> Option<u64> {
    let tag = *input.first()?;
    let text = take(input, tag)?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year = number(year)?;
            (if year < CENTURY_TURNS { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (number(year)?, rest)
        }
        _ => return None,
    };
    let (digits, end) = rest.split_at_checked(10)?;
    let mut pairs = digits.chunks(2).map(number);
    let mut next = || pairs.next().flatten();
    let (month, day, hour, minute, second) = (next()?, next()?, next()?, next()?, next()?);
    let is_sound = end == b"Z"
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    // What ended before 1970 has ended.
    let days = if is_sound { days_since_1970(year, month, day) } else { return None };
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn number(digits: &[u8]) -> Option<u64> {
    let mut sum = 0;
    for digit in digits {
        sum = sum * 10 + u64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(sum)
}

/// Days of the Gregorian calendar, in which years begin with March.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    /// Days from the first of March of the year 0 to 1970.
    const DAYS_TO_1970: u64 = 719_468;
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.max(1) - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.saturating_sub(DAYS_TO_1970)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use keyward_testkit::Certificates;
    use rustls::crypto::ring;
    use std::time::Duration;

    fn now() -> UnixTime {
        UnixTime::now()
    }

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn verify(
        files: &Certificates,
        der: &CertificateDer<'_>,
        ca: &str,
        now: UnixTime,
    ) -> Result<(), Error> {
        let roots = files::authorities(Some(&files.file(ca)), None).expect("an authority");
        let algorithms = ring::default_provider().signature_verification_algorithms;
        VersionOne::read(der).expect("version 1").verify(&roots, &algorithms, now)
    }

    fn of(files: &Certificates, name: &str) -> CertificateDer<'static> {
        files::certificates(&files.file(name)).expect("a certificate").remove(0)
    }

    #[test]
    fn it_is_believed_if_the_authority_signed_it_and_it_is_in_time() {
        let files = Certificates::make();
        for (name, authority) in [("old-version", "ca.crt"), ("old-rsa", "rsa-ca.crt")] {
            let der = of(&files, &format!("{name}.crt"));
            let check = |ca: &str, now: UnixTime, expected: Result<(), CertificateError>| {
                let expected = expected.map_err(Error::InvalidCertificate);
                assert_eq!(verify(&files, &der, ca, now), expected, "{name}, {ca}");
            };
            check(authority, now(), Ok(()));
            check("other-ca.crt", now(), Err(CertificateError::UnknownIssuer));
            // An authority of the same name, and another key.
            check("namesake.crt", now(), Err(CertificateError::UnknownIssuer));
            let day = 24 * 60 * 60;
            let now_s = now().as_secs();
            check(authority, at(now_s - day), Err(CertificateError::NotValidYet));
            check(authority, at(now_s + 3 * day), Err(CertificateError::Expired));
        }
    }

    #[test]
    fn a_changed_or_cut_one_is_not_believed() {
        let files = Certificates::make();
        let whole = of(&files, "old-version.crt");
        let roots = files::authorities(Some(&files.file("ca.crt")), None).expect("an authority");
        let algorithms = ring::default_provider().signature_verification_algorithms;
        let is_believed = |bytes: Vec<u8>| {
            let der = CertificateDer::from(bytes);
            let read = VersionOne::read(&der);
            read.is_some_and(|old| old.verify(&roots, &algorithms, now()).is_ok())
        };
        assert!(is_believed(whole.to_vec()));
        for at in 0..whole.len() {
            assert!(!is_believed(whole[..at].to_vec()), "cut at {at}");
            for bit in 0..8 {
                let mut changed = whole.to_vec();
                changed[at] ^= 1 << bit;
                assert!(!is_believed(changed), "bit {bit} of byte {at}");
            }
        }
        let mut longer = whole.to_vec();
        longer.push(0);
        assert!(!is_believed(longer));
    }

    #[test]
    fn version_three_is_left_to_the_library() {
        let files = Certificates::make();
        for name in ["server.crt", "client.crt", "rsa.crt"] {
            assert!(VersionOne::read(&of(&files, name)).is_none(), "{name}");
        }
    }

    #[test]
    fn times_are_read_as_the_calendar_has_them() {
        let check = |tag: u8, text: &str, expected: Option<u64>| {
            let bytes = [&[tag, text.len() as u8], text.as_bytes()].concat();
            assert_eq!(time_s(&mut &bytes[..]), expected, "{text}");
        };
        check(UTC_TIME, "700101000000Z", Some(0));
        check(UTC_TIME, "000229123456Z", Some(951_827_696));
        check(UTC_TIME, "491231235959Z", Some(2_524_607_999));
        check(UTC_TIME, "500101000000Z", Some(0));
        check(GENERALIZED_TIME, "20500101000000Z", Some(2_524_608_000));
        check(GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799));
        check(GENERALIZED_TIME, "00000101000000Z", Some(0));
        for bad in ["7001010000Z", "701301000000Z", "70010100000aZ", "700101000000+0000", ""] {
            check(UTC_TIME, bad, None);
        }
    }
}
