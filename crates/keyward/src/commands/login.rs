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
    /// The server's host, in place of an address
    #[arg(long)]
    host: Option<String>,
    /// The server's port, in place of an address
    #[arg(long)]
    port: Option<u16>,
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
    /// Where the server is and who asks, by an address, if one is given, and these options.
    pub(super) fn address(&self, given: Option<&str>) -> anyhow::Result<Address> {
        self.complete(self.place(given)?)
    }

    /// Where the server is.
    pub(super) fn place(&self, given: Option<&str>) -> anyhow::Result<Address> {
        match given {
            Some(_) if self.host.is_some() || self.port.is_some() => {
                bail!("name the server by an address, or by --host and --port")
            }
            Some(text) => Address::parse(text).with_context(|| without_login(text)),
            None => {
                let host = self.host.as_deref().unwrap_or("127.0.0.1");
                Ok(Address::of_host(host, self.port.unwrap_or(6379)))
            }
        }
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

/// The command that says who asks, if anybody in particular does.
pub(super) fn login_words(address: &Address) -> Option<Vec<String>> {
    let password = address.password.clone()?;
    let user = address.user.clone();
    Some(["AUTH".to_owned()].into_iter().chain(user).chain([password]).collect())
}

/// An address without what may be a password.
fn without_login(text: &str) -> String {
    text.rsplit_once('@').map_or(text, |(_, place)| place).to_owned()
}
