//! TLS to PostgreSQL, by rustls as everywhere else.
//!
//! A server's certificate is checked by its authority; with `sslmode=verify-full` also by the
//! name or address that is connected to, as libpq does. `verify-ca` is what `require` does here.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use keyward_tls::ClientOptions;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Session;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::{IpAddr, Ipv4Addr, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;

/// How a connection is guarded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mode {
    /// Whether it is encrypted, where somebody insists.
    pub(super) is_encrypted: Option<bool>,
    /// Whether the certificate has to be for the host.
    pub(super) checks_name: bool,
}

/// What an `sslmode` says; `said` is where it stands.
///
/// # Errors
/// A sentence, if it is none of libpq's.
pub(super) fn mode_of(word: &str, said: &str) -> Result<Mode, String> {
    let (is_encrypted, checks_name) = match word {
        // Nobody insists on it.
        "" | "allow" | "prefer" => (None, false),
        "disable" => (Some(false), false),
        "require" | "verify-ca" => (Some(true), false),
        "verify-full" => (Some(true), true),
        _ => {
            return Err(format!(
                "{said} is disable, allow, prefer, require, verify-ca or verify-full"
            ));
        }
    };
    Ok(Mode { is_encrypted, checks_name })
}

/// Shakes hands with servers.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    checks_name: bool,
    /// Whom a connection is made to.
    name: String,
}

impl Tls {
    /// Believes the authorities of a file, or the system's.
    pub(super) fn new(authority_file: Option<PathBuf>, checks_name: bool) -> Result<Tls, String> {
        let options = ClientOptions { authority_file, ..ClientOptions::default() };
        let config = options.read().map_err(|error| error.to_string())?;
        let connector = TlsConnector::from(Arc::clone(&config));
        Ok(Tls { connector, checks_name, name: String::new() })
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Tls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Tls> {
        Ok(Tls { name: domain.to_owned(), ..self.clone() })
    }
}

impl TlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        // The handshake looks at no name.
        let nobody = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([0, 0, 0, 0])));
        Box::pin(async move {
            let session = self.connector.connect(nobody, socket).await?;
            if self.checks_name {
                check_name(&session, &self.name)?;
            }
            Ok(Encrypted(session))
        })
    }
}

/// Whether the server's certificate is for this name or address.
fn check_name(session: &Session<Socket>, name: &str) -> io::Result<()> {
    let other = || {
        let text = format!("the certificate of the database is not for {name}");
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    let shown = session.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let certificate = shown.and_then(|shown| ParsedCertificate::try_from(shown).ok());
    let wanted = ServerName::try_from(name.to_owned()).ok();
    let (Some(certificate), Some(wanted)) = (certificate, wanted) else { return Err(other()) };
    verify_server_name(&certificate, &wanted).map_err(|_| other())
}

/// A connection, after the handshake.
pub(super) struct Encrypted(Session<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_says_how_a_connection_is_guarded() {
        let check = |word: &str, is_encrypted, checks_name| {
            assert_eq!(mode_of(word, "sslmode"), Ok(Mode { is_encrypted, checks_name }), "{word}");
        };
        check("verify-full", Some(true), true);
        check("verify-ca", Some(true), false);
        check("require", Some(true), false);
        check("disable", Some(false), false);
        ["", "allow", "prefer"].iter().for_each(|word| check(word, None, false));
        let told = mode_of("always", "PGSSLMODE").expect_err("no mode");
        assert!(told.starts_with("PGSSLMODE is disable, "), "{told}");
    }
}
