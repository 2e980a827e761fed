//! How our tools come to a server: as whom, and by which certificates.
//!
//! Owns the options that all of them take beside an address, and what they make of it.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use keyward_backup::{Address, ClientOptions, Pair};

/// Options of every command that talks to a server.
#[derive(Args, Debug, Default)]
pub(crate) struct Login {
    /// The user to log in as; the password is in the URL or in REDISCLI_AUTH
    #[arg(long)]
    user: Option<String>,
    /// Connect by TLS
    #[arg(long)]
    tls: bool,
    /// The file of the authorities that the server's certificate is to come from, in PEM; the
    /// system's if neither this nor --cacertdir is given
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// A directory of such files
    #[arg(long, value_name = "DIR")]
    cacertdir: Option<PathBuf>,
    /// The certificate to show to the server
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

impl Login {
    /// Reads `HOST[:PORT]` or a URL, and completes it.
    pub(super) fn address(&self, text: &str) -> anyhow::Result<Address> {
        self.complete(read(text)?)
    }

    /// An address with what these options and the environment say.
    pub(super) fn complete(&self, mut address: Address) -> anyhow::Result<Address> {
        if address.socket.is_some() || (!self.tls && address.tls.is_none()) {
            self.refuse_certificates()?;
        } else {
            address.tls = Some(ClientOptions {
                authority_file: self.cacert.clone(),
                authority_directory: self.cacertdir.clone(),
                pair: Pair { certificate: self.cert.clone(), key: self.key.clone() },
            });
        }
        let (user, password) = self.credentials(address.user.take(), address.password.take())?;
        Ok(Address { user, password, ..address })
    }

    /// The command that says who asks, if anybody in particular does: of an address that is
    /// complete, or where there is none, as of a Unix socket.
    pub(super) fn words(&self, address: Option<&Address>) -> anyhow::Result<Option<Vec<String>>> {
        let (user, password) = match address {
            Some(address) => (address.user.clone(), address.password.clone()),
            None => {
                self.refuse_certificates()?;
                self.credentials(None, None)?
            }
        };
        let words = |password| ["AUTH".to_owned()].into_iter().chain(user).chain([password]);
        Ok(password.map(|password| words(password).collect()))
    }

    /// Certificates are for TLS: who names them does not mean to send a password in plain.
    fn refuse_certificates(&self) -> anyhow::Result<()> {
        let given = [
            ("--cacert", self.cacert.is_some()),
            ("--cacertdir", self.cacertdir.is_some()),
            ("--cert", self.cert.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => {
                bail!("{name} is for TLS: add --tls, or write rediss:// for redis://")
            }
            None => Ok(()),
        }
    }

    fn credentials(
        &self,
        user: Option<String>,
        password: Option<String>,
    ) -> anyhow::Result<(Option<String>, Option<String>)> {
        let user = self.user.clone().or(user);
        let password = password.or_else(|| env::var("REDISCLI_AUTH").ok());
        match (&user, &password) {
            (Some(user), None) => bail!("a password is needed for {user}: set REDISCLI_AUTH"),
            _ => Ok((user, password)),
        }
    }
}

/// Reads `HOST[:PORT]` or a URL.
fn read(text: &str) -> anyhow::Result<Address> {
    if text.contains("://") {
        return Address::from_url(text).with_context(|| without_login(text));
    }
    if text.is_empty() || text.contains('@') {
        let text = without_login(text);
        bail!("\"{text}\": write HOST:PORT, redis://[[user:]password@]host[:port] or a path");
    }
    // An IPv6 address by itself has more than one colon.
    let text = match text.matches(':').count() > 1 && !text.starts_with('[') {
        true => format!("[{text}]"),
        false => text.to_owned(),
    };
    Address::from_url(&format!("redis://{text}")).with_context(|| text)
}

/// An address without what may be a password.
pub(super) fn without_login(text: &str) -> String {
    text.rsplit_once('@').map_or(text, |(_, place)| place).to_owned()
}
