//! A connection to a server by TLS that waits for what it asks: MIGRATE's, and the command
//! line's.

use crate::configuration::{self, Pair};
use crate::files::{self, TlsError};
use crate::words::worded;
use rustls::crypto::ring;
use rustls::pki_types::{IpAddr, Ipv4Addr, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a system keeps whom it believes.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// What a client of the command line says of TLS, as redis-cli takes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientOptions {
    /// A file of authorities; the system's if neither is given.
    pub authority_file: Option<PathBuf>,
    /// A directory of such files.
    pub authority_directory: Option<PathBuf>,
    /// What the client shows.
    pub pair: Pair,
}

impl ClientOptions {
    /// Reads the files that the options name.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn read(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let roots = self.authorities()?;
        let pair = match &self.pair {
            Pair { certificate: Some(certificate), key: Some(key) } => {
                Some(Arc::new(configuration::certified(certificate, key, &provider)?))
            }
            Pair { certificate: Some(_), key: None } => return Err(TlsError::NoKey),
            Pair { certificate: None, key: Some(_) } => return Err(TlsError::NoCertificate),
            Pair { certificate: None, key: None } => None,
        };
        Ok(Arc::new(configuration::client("", provider, roots, pair)?))
    }

    /// As [`ClientOptions::read`], for a server whose certificate must also be good for its
    /// name ([`Client::shake_hands_naming`]), as on the web. The client shows nothing.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn read_naming(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?;
        let config = builder.with_root_certificates(self.authorities()?).with_no_client_auth();
        Ok(Arc::new(config))
    }

    fn authorities(&self) -> Result<RootCertStore, TlsError> {
        let of_system = || SYSTEM_AUTHORITIES.iter().map(PathBuf::from).find(|file| file.exists());
        let file = match (&self.authority_file, &self.authority_directory) {
            (None, None) => of_system(),
            (file, _) => file.clone(),
        };
        files::authorities(file.as_deref(), self.authority_directory.as_deref())
    }
}

/// A connection, after the handshake.
#[derive(Debug)]
pub struct Client(StreamOwned<ClientConnection, TcpStream>);

impl Client {
    /// Shakes hands over a socket that waits, for as long as its own limits say.
    ///
    /// # Errors
    /// If the server does not speak TLS, or one of the two does not believe the other.
    pub fn shake_hands(config: Arc<ClientConfig>, socket: TcpStream) -> io::Result<Client> {
        Client::shake_hands_with(config, socket, b"")
    }

    /// As [`Client::shake_hands`]; the last that is sent of the handshake has these bytes
    /// behind it.
    ///
    /// # Errors
    /// As [`Client::shake_hands`].
    pub fn shake_hands_with(
        config: Arc<ClientConfig>,
        socket: TcpStream,
        first: &[u8],
    ) -> io::Result<Client> {
        // Nobody looks at the name.
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([0, 0, 0, 0])));
        Client::shake_hands_as(config, socket, name, first)
    }

    /// As [`Client::shake_hands`], with a server of this name or address, which its certificate
    /// must be good for. The configuration is of [`ClientOptions::read_naming`].
    ///
    /// # Errors
    /// As [`Client::shake_hands`]; if it is no name.
    pub fn shake_hands_naming(
        config: Arc<ClientConfig>,
        socket: TcpStream,
        name: &str,
    ) -> io::Result<Client> {
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        Client::shake_hands_as(config, socket, name, b"")
    }

    fn shake_hands_as(
        config: Arc<ClientConfig>,
        mut socket: TcpStream,
        name: ServerName<'static>,
        first: &[u8],
    ) -> io::Result<Client> {
        let mut session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        session.writer().write_all(first)?;
        while session.is_handshaking() || session.wants_write() {
            session.complete_io(&mut socket).map_err(worded)?;
        }
        Ok(Client(StreamOwned::new(session, socket)))
    }

    /// The version that both agreed on.
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.0.conn.protocol_version()
    }

    /// What the server has shown, its own certificate.
    pub fn certificate(&self) -> Option<&[u8]> {
        self.0.conn.peer_certificates()?.first().map(|certificate| certificate.as_ref())
    }

    /// Whether something is encrypted that the socket has not taken.
    pub fn has_unsent(&self) -> bool {
        self.0.conn.wants_write()
    }

    /// The socket below, whose limits of time count.
    pub fn socket(&self) -> &TcpStream {
        &self.0.sock
    }
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(worded)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(worded)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(worded)
    }
}
