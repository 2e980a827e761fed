//! TLS to PostgreSQL, by rustls as everywhere else.
//!
//! As of clients of Keyward, a server's certificate is checked by its authority, not by its
//! name.

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
use tokio_rustls::rustls::pki_types::{IpAddr, Ipv4Addr, ServerName};

/// Shakes hands with servers.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Believes the authorities of the file that `PGSSLROOTCERT` names, or the system's.
    pub(super) fn of_environment() -> Result<Tls, String> {
        let authority_file = std::env::var_os("PGSSLROOTCERT").map(PathBuf::from);
        let options = ClientOptions { authority_file, ..ClientOptions::default() };
        let config = options.read().map_err(|error| error.to_string())?;
        Ok(Tls(TlsConnector::from(Arc::clone(&config))))
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Tls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _domain: &str) -> io::Result<Tls> {
        Ok(self.clone())
    }
}

impl TlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        // Nobody looks at the name.
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([0, 0, 0, 0])));
        Box::pin(async move { Ok(Encrypted(self.0.connect(name, socket).await?)) })
    }
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
