//! The hosts of an address, one after the other.
//!
//! Each address of each of them is tried for as long as it may take, as libpq does: one that lets
//! nobody in, or says nothing, does not keep others from being tried.

use std::net::IpAddr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts};

use super::service::merge;

/// Where PostgreSQL listens unless somebody says otherwise.
const PORT: u16 = 5432;

/// How to connect to each host of an address, by each of its addresses; hosts that cannot be found
/// are left out, as long as any is found.
///
/// # Errors
/// A sentence, if none is.
pub(super) async fn each_of(config: &Config) -> Result<Vec<Config>, String> {
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let count = hosts.len().max(addresses.len());
    let is_even = |listed: usize| listed <= 1 || listed == count;
    let are_paired = hosts.is_empty() || addresses.is_empty() || hosts.len() == addresses.len();
    if !are_paired || !is_even(config.get_ports().len()) {
        return Err("its address has other numbers of hosts, addresses and ports".to_owned());
    }
    // Which one is to be first is the library's to choose.
    if config.get_load_balance_hosts() != LoadBalanceHosts::Disable {
        return Ok(vec![config.clone()]);
    }
    let (mut all, mut failed) = (Vec::new(), None);
    for at in 0..count {
        let (host, address) = (hosts.get(at), addresses.get(at).copied());
        let ports = config.get_ports();
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(PORT);
        match (host, address) {
            (Some(Host::Tcp(name)), None) => match tokio::net::lookup_host((&**name, port)).await {
                Ok(found) => {
                    all.extend(found.map(|found| one(config, host, Some(found.ip()), port)));
                }
                Err(error) => failed = Some(error.to_string()),
            },
            _ => all.push(one(config, host, address, port)),
        }
    }
    match failed {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// The same connection to one host alone.
fn one(config: &Config, host: Option<&Host>, address: Option<IpAddr>, port: u16) -> Config {
    let mut one = Config::new();
    match host {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = address {
        one.hostaddr(address);
    }
    one.port(port).ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    merge(&mut one, config);
    one
}
