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

/// What `sslmode` of an address is called.
const MODE: &str = "sslmode=";

/// How a connection is guarded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mode {
    /// Whether it is encrypted, where somebody insists.
    pub(super) is_encrypted: Option<bool>,
    /// Whether the certificate has to be for the host.
    pub(super) checks_name: bool,
}

/// The address without its `sslmode`, and what that says; where it has none, what `PGSSLMODE` says.
///
/// # Errors
/// A sentence, if it is none of libpq's.
pub(super) fn mode_of(address: &str, environment: Option<&str>) -> Result<(String, Mode), String> {
    let begins_word = |at: usize| {
        at == 0 || address[..at].ends_with(|c: char| c == '?' || c == '&' || c.is_whitespace())
    };
    let found = address.match_indices(MODE).find(|(at, _)| begins_word(*at));
    let (rest, said, word) = match found {
        None => (address.to_owned(), "PGSSLMODE", environment.unwrap_or_default()),
        Some((at, _)) => {
            let behind = &address[at + MODE.len()..];
            let end = behind.find(|c: char| c == '&' || c.is_whitespace());
            let (word, tail) = behind.split_at(end.unwrap_or(behind.len()));
            // What stands between two parameters stands once.
            let tail = tail.strip_prefix('&').unwrap_or(tail);
            (format!("{}{tail}", &address[..at]), "sslmode", word)
        }
    };
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
    Ok((rest, Mode { is_encrypted, checks_name }))
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
    /// Believes the authorities of the file that `PGSSLROOTCERT` names, or the system's.
    pub(super) fn of_environment(checks_name: bool) -> Result<Tls, String> {
        let authority_file = std::env::var_os("PGSSLROOTCERT").map(PathBuf::from);
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
    fn the_address_says_how_a_connection_is_guarded_or_else_the_environment() {
        let check = |address: &str, environment, rest: &str, is_encrypted, checks_name| {
            let mode = Mode { is_encrypted, checks_name };
            assert_eq!(mode_of(address, environment), Ok((rest.to_owned(), mode)), "{address}");
        };
        let url = "postgres://h/d?a=b&sslmode=verify-full";
        check(url, None, "postgres://h/d?a=b&", Some(true), true);
        check("postgres://h/d?sslmode=require&a=b", None, "postgres://h/d?a=b", Some(true), false);
        check("host=h sslmode=verify-full port=5", None, "host=h  port=5", Some(true), true);
        check("host=h sslmode=verify-ca", None, "host=h ", Some(true), false);
        check("host=h sslmode=disable", Some("require"), "host=h ", Some(false), false);
        check("host=h", Some("verify-full"), "host=h", Some(true), true);
        check("host=h", Some("require"), "host=h", Some(true), false);
        check("host=h", Some("prefer"), "host=h", None, false);
        check("host=xsslmode=require", None, "host=xsslmode=require", None, false);
        assert!(mode_of("host=h sslmode=none", None).is_err());
        assert!(mode_of("host=h", Some("verify_full")).is_err());
    }
}
