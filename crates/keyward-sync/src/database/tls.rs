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

/// An address whose `sslmode` the library reads, and whether it says that names are checked.
pub(super) fn mode_of(address: &str) -> (String, bool) {
    let begins_word = |at: usize| {
        at == 0 || address[..at].ends_with(|c: char| c == '?' || c == '&' || c.is_whitespace())
    };
    for (word, checks_name) in [("sslmode=verify-full", true), ("sslmode=verify-ca", false)] {
        let found = address.match_indices(word).find(|(at, _)| begins_word(*at));
        if let Some((at, _)) = found {
            let rest = &address[at + word.len()..];
            return (format!("{}sslmode=require{rest}", &address[..at]), checks_name);
        }
    }
    (address.to_owned(), false)
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
    fn modes_that_check_more_are_read() {
        let check = |address: &str, expected: &str, checks_name: bool| {
            assert_eq!(mode_of(address), (expected.to_owned(), checks_name), "{address}");
        };
        check("postgres://h/d?a=b&sslmode=verify-full", "postgres://h/d?a=b&sslmode=require", true);
        check("host=h sslmode=verify-full port=5", "host=h sslmode=require port=5", true);
        check("host=h sslmode=verify-ca", "host=h sslmode=require", false);
        check("host=h sslmode=require", "host=h sslmode=require", false);
        check("host=xsslmode=verify-full", "host=xsslmode=verify-full", false);
    }
}
