//! What files and settings come to: one configuration for those who connect to a server, and
//! one for when it connects to another.
//!
//! Owns the pairing of certificates with keys, and which of the library's knobs each
//! setting turns.

use crate::authority::{Clients, Servers};
use crate::ciphers;
use crate::files::{self, TlsError};
use crate::resumption::Store;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, StoresServerSessions, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, Error, InconsistentKeys, RootCertStore, ServerConfig,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Tickets that a client gets by which it may resume its session. One is enough for a client
/// that keeps its connection.
const TICKETS: usize = 1;

/// Whether clients have to show a certificate (`tls-auth-clients`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientAuth {
    /// They have to.
    #[default]
    Yes,
    /// If they show one it is checked.
    Optional,
    /// None is asked for.
    No,
}

/// A certificate, with those that lead to its authority behind it, and its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pair {
    /// The file of certificates.
    pub certificate: Option<PathBuf>,
    /// The file of the key.
    pub key: Option<PathBuf>,
}

/// How long sessions can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sessions {
    /// How many are kept.
    pub count_max: usize,
    /// How long each is.
    pub seconds: u64,
}

/// What redis.conf says of TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// What the server shows.
    pub pair: Pair,
    /// What it shows when it connects to another; the same if this is empty.
    pub client_pair: Pair,
    /// A file of authorities.
    pub authority_file: Option<PathBuf>,
    /// A directory of such files.
    pub authority_directory: Option<PathBuf>,
    /// Whether clients have to show a certificate.
    pub clients: ClientAuth,
    /// Whether the server connects to others by TLS.
    pub connects: bool,
    /// `tls-protocols`.
    pub protocols: String,
    /// `tls-ciphers`.
    pub ciphers: String,
    /// `tls-ciphersuites`.
    pub suites: String,
    /// Whether the server's order of ciphers counts, and not the client's.
    pub prefers_own_order: bool,
    /// Which sessions can be resumed, if any.
    pub sessions: Option<Sessions>,
}

/// What is in force.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// For those who connect to the server.
    pub server: Arc<ServerConfig>,
    /// For when it connects to another.
    pub client: Arc<ClientConfig>,
}

impl Configuration {
    /// Reads the files that the options name.
    ///
    /// # Errors
    /// If one of them cannot be used, or they do not belong together.
    pub fn read(options: &Options) -> Result<Configuration, TlsError> {
        let certificate = options.pair.certificate.as_ref().ok_or(TlsError::NoCertificate)?;
        let key = options.pair.key.as_ref().ok_or(TlsError::NoKey)?;
        let Options { authority_file, authority_directory, clients, .. } = options;
        let has_authority = authority_file.is_some() || authority_directory.is_some();
        if !has_authority && (*clients != ClientAuth::No || options.connects) {
            return Err(TlsError::NoAuthority);
        }
        let roots = files::authorities(authority_file.as_deref(), authority_directory.as_deref())?;
        let provider = Arc::new(CryptoProvider {
            cipher_suites: ciphers::suites(&options.ciphers, &options.suites)?,
            ..ring::default_provider()
        });
        let pair = Arc::new(certified(certificate, key, &provider)?);
        let client_pair = match &options.client_pair {
            Pair { certificate: Some(certificate), key: Some(key) } => {
                Arc::new(certified(certificate, key, &provider)?)
            }
            Pair { certificate: Some(_), key: None } => return Err(TlsError::NoKey),
            _ => Arc::clone(&pair),
        };
        Ok(Configuration {
            server: Arc::new(server(options, &provider, &roots, pair)?),
            client: Arc::new(client(&options.protocols, provider, roots, Some(client_pair))?),
        })
    }
}

fn server(
    options: &Options,
    provider: &Arc<CryptoProvider>,
    roots: &RootCertStore,
    pair: Arc<CertifiedKey>,
) -> Result<ServerConfig, TlsError> {
    let versions = ciphers::versions(&options.protocols)?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&versions)?;
    let builder = match options.clients {
        ClientAuth::No => builder.with_no_client_auth(),
        auth => {
            let roots = Arc::new(roots.clone());
            let verifier = WebPkiClientVerifier::builder_with_provider(
                Arc::clone(&roots),
                Arc::clone(provider),
            );
            let verifier = match auth {
                ClientAuth::Optional => verifier.allow_unauthenticated(),
                ClientAuth::Yes | ClientAuth::No => verifier,
            };
            let file = options.authority_file.as_ref().or(options.authority_directory.as_ref());
            let verifier = verifier.build().map_err(|error| {
                let file = file.cloned().unwrap_or_default();
                TlsError::Authority { file, reason: error.to_string() }
            })?;
            builder.with_client_cert_verifier(Arc::new(Clients::new(verifier, roots, provider)))
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.ignore_client_order = options.prefers_own_order;
    config.session_storage = match options.sessions {
        Some(Sessions { count_max, seconds }) => {
            let store = Store::new(count_max, Duration::from_secs(seconds));
            Arc::new(store) as Arc<dyn StoresServerSessions>
        }
        None => Arc::new(NoServerSessionStorage {}),
    };
    config.send_tls13_tickets = if options.sessions.is_some() { TICKETS } else { 0 };
    Ok(config)
}

pub(crate) fn client(
    protocols: &str,
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    pair: Option<Arc<CertifiedKey>>,
) -> Result<ClientConfig, TlsError> {
    let verifier = Arc::new(Servers::new(roots, &provider));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&ciphers::versions(protocols)?)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match pair {
        Some(pair) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair))),
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    // No name is checked, so none is sent: what is given may be an address.
    config.enable_sni = false;
    Ok(config)
}

/// A certificate with the key that belongs to it.
pub(crate) fn certified(
    certificate: &std::path::Path,
    key: &std::path::Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let chain = files::certificates(certificate)?;
    let failed = |reason: String| TlsError::Key { file: key.to_owned(), reason };
    let signer = provider.key_provider.load_private_key(files::key(key)?);
    // The library says of every key that it does not use that it cannot be read.
    let unusable = "it is no key that can be used here: RSA of 2048 to 4096 bits, ECDSA on P-256 \
                    or P-384, or Ed25519";
    let pair = CertifiedKey::new(chain, signer.map_err(|_| failed(unusable.to_owned()))?);
    match pair.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(pair),
        Err(Error::InconsistentKeys(_)) => {
            Err(failed("it does not belong to the certificate".to_owned()))
        }
        // The library reads certificates of version 3 alone; one of version 1, which openssl
        // makes unless it is told otherwise, can be shown all the same.
        Err(Error::InvalidCertificate(CertificateError::Other(_))) if has_key(&pair) => Ok(pair),
        Err(error) => {
            let (file, reason) = (certificate.to_owned(), error.to_string());
            Err(TlsError::Certificate { file, reason })
        }
    }
}

/// Whether the certificate has the key's public half somewhere in it.
fn has_key(pair: &CertifiedKey) -> bool {
    let key = pair.key.public_key();
    key.zip(pair.cert.first()).is_some_and(|(key, certificate)| {
        let key: &[u8] = key.as_ref();
        certificate.windows(key.len()).any(|part| part == key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_testkit::Certificates;

    #[test]
    fn what_cannot_be_used_is_named_as_redis_names_it() {
        let files = Certificates::make();
        let options = |certificate: &str, key: &str| Options {
            pair: Pair { certificate: Some(files.file(certificate)), key: Some(files.file(key)) },
            authority_file: Some(files.file("ca.crt")),
            ..Options::default()
        };
        let check = |options: Options, expected: &str| {
            let outcome =
                Configuration::read(&options).map(drop).map_err(|error| error.to_string());
            let error = outcome.err().unwrap_or_default();
            let error = error.replace(&*files.directory().to_string_lossy(), "");
            assert!(error.starts_with(expected), "{error}");
            assert_eq!(error.is_empty(), expected.is_empty(), "{error}");
        };
        for name in ["server", "rsa", "old-version"] {
            check(options(&format!("{name}.crt"), &format!("{name}.key")), "");
        }
        check(options("none.crt", "server.key"), "Failed to load certificate: /none.crt: No such");
        check(options("server.key", "server.key"), "Failed to load certificate: /server.key: no c");
        check(options("server.crt", "server.crt"), "Failed to load private key: /server.crt: no k");
        let other =
            "Failed to load private key: /client.key: it does not belong to the certificate";
        check(options("server.crt", "client.key"), other);
        check(options("old-version.crt", "client.key"), "Failed to load certificate: /old-version");
        let encrypted = "Failed to load private key: /encrypted.key: it is encrypted";
        check(options("server.crt", "encrypted.key"), encrypted);
        let unusable = "Failed to load private key: /p521.key: it is no key that can be used here";
        check(options("server.crt", "p521.key"), unusable);
        check(options("server.crt", "short.key"), &unusable.replace("p521", "short"));
        let whole = || options("server.crt", "server.key");
        let listed = "Failed to configure ciphers: 'DEFAULT:!MEDIUM' has '!MEDIUM': OpenSSL's";
        check(Options { ciphers: "DEFAULT:!MEDIUM".to_owned(), ..whole() }, listed);
        let unknown = "Failed to configure ciphers: 'AES128-SHA' names none that there is. Names";
        check(Options { ciphers: "AES128-SHA".to_owned(), ..whole() }, unknown);
        check(Options { pair: Pair::default(), ..whole() }, "No tls-cert-file configured!");
        check(Options { authority_file: None, ..whole() }, "Either tls-ca-cert-file or");
        check(Options { authority_file: None, clients: ClientAuth::No, ..whole() }, "");
        let authority_file = Some(files.file("server.key"));
        check(Options { authority_file, ..whole() }, "Failed to configure CA certificate(s) file");
        let authority_directory = Some(files.directory().to_owned());
        check(Options { authority_directory, authority_file: None, ..whole() }, "");
        check(Options { protocols: "SSLv3".to_owned(), ..whole() }, "Invalid tls-protocols");
    }
}
