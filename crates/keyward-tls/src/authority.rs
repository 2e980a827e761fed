//! Whose certificates are believed.
//!
//! Owns the checks that are made of a peer's certificate: as Redis does, that a known
//! authority has signed it, and not which name it bears. What the library does not read, of
//! X.509 version 1, is checked by `version_one`, all else by the library.

use crate::version_one::VersionOne;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, ServerName, SubjectPublicKeyInfoDer, TrustAnchor, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};
use std::sync::Arc;

/// Believes the servers whom an authority has signed, whatever their names.
#[derive(Debug)]
pub(crate) struct Servers {
    roots: RootCertStore,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Servers {
    pub(crate) fn new(roots: RootCertStore, provider: &CryptoProvider) -> Servers {
        Servers { roots, algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for Servers {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Servers { roots, algorithms } = self;
        let verified = match VersionOne::read(end_entity) {
            Some(old) => old.verify(roots, algorithms, now),
            None => verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(end_entity)?,
                roots,
                intermediates,
                now,
                algorithms.all,
            ),
        };
        match verified {
            Err(error) if !(is_of_authority(&error) && is_believed(roots, end_entity)) => {
                Err(error)
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_12(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_13(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether a certificate was refused for being that of an authority, which the library finds out
/// after it has looked at its time.
fn is_of_authority(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(cause)) => {
            cause.0.to_string() == "CaUsedAsEndEntity"
        }
        _ => false,
    }
}

/// Whether a certificate is that of an authority which is believed itself, by its name and its
/// key: who signs a certificate himself and hands it out as the authority shows it as a server
/// too, which OpenSSL lets pass.
fn is_believed(roots: &RootCertStore, certificate: &CertificateDer<'_>) -> bool {
    let mut own = RootCertStore::empty();
    own.add(certificate.clone().into_owned()).is_ok()
        && own.roots.first().is_some_and(|own| {
            let is_it = |root: &TrustAnchor<'_>| {
                root.subject == own.subject
                    && root.subject_public_key_info == own.subject_public_key_info
            };
            roots.roots.iter().any(is_it)
        })
}

/// Believes the clients whom an authority has signed.
#[derive(Debug)]
pub(crate) struct Clients {
    /// The library's, for certificates of version 3; it says who has to show one, too.
    library: Arc<dyn ClientCertVerifier>,
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Clients {
    pub(crate) fn new(
        library: Arc<dyn ClientCertVerifier>,
        roots: Arc<RootCertStore>,
        provider: &CryptoProvider,
    ) -> Clients {
        Clients { library, roots, algorithms: provider.signature_verification_algorithms }
    }
}

impl ClientCertVerifier for Clients {
    fn offer_client_auth(&self) -> bool {
        self.library.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.library.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.library.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let Some(old) = VersionOne::read(end_entity) else {
            return self.library.verify_client_cert(end_entity, intermediates, now);
        };
        old.verify(&self.roots, &self.algorithms, now)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_12(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_13(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.library.supported_verify_schemes()
    }
}

/// Whether who shows a certificate has its key, in TLS 1.2.
fn verify_12(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let Some(old) = VersionOne::read(certificate) else {
        return verify_tls12_signature(message, certificate, signature, algorithms);
    };
    let mut of_scheme = algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signature.scheme);
    match of_scheme.any(|(_, known)| old.has_signed(message, signature.signature(), known)) {
        true => Ok(HandshakeSignatureValid::assertion()),
        false => Err(Error::InvalidCertificate(CertificateError::BadSignature)),
    }
}

/// As [`verify_12`], in TLS 1.3, where fewer kinds of signatures will do.
fn verify_13(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    match VersionOne::read(certificate) {
        Some(old) => {
            let key = SubjectPublicKeyInfoDer::from(old.key);
            verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
        }
        None => verify_tls13_signature(message, certificate, signature, algorithms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_testkit::Certificates;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;
    use std::time::Duration;

    #[test]
    fn a_server_may_show_the_authority_that_is_believed_as_long_as_it_is_valid() {
        let files = Certificates::make();
        let certificate =
            |name: &str| CertificateDer::from_pem_file(files.file(name)).expect("a certificate");
        let shown = certificate("alone.crt");
        let verify = |authority: &str, now: UnixTime| {
            let mut roots = RootCertStore::empty();
            roots.add(certificate(authority)).expect("an authority");
            let servers = Servers::new(roots, &ring::default_provider());
            let name = ServerName::try_from("localhost").expect("a name");
            servers.verify_server_cert(&shown, &[], &name, &[], now).map(drop)
        };
        assert_eq!(verify("alone.crt", UnixTime::now()), Ok(()));
        assert!(verify("ca.crt", UnixTime::now()).is_err());
        // One by the same name has another key.
        assert!(verify("alone-too.crt", UnixTime::now()).is_err());
        let year = Duration::from_secs(365 * 86_400);
        let late =
            UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) + year);
        let Err(Error::InvalidCertificate(why)) = verify("alone.crt", late) else {
            panic!("it is over")
        };
        assert!(matches!(why, CertificateError::ExpiredContext { .. }), "{why:?}");
    }
}
