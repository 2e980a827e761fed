//! TLS: the same workloads over it, and what handshakes cost those who are connected.
//!
//! Certificates have RSA keys of 2,048 bits, as most have. Handshakes are measured by the processor time of the thread that executes commands, with
//! and without a thousand handshakes at once, half of which fall silent; the load itself is
//! without TLS, so that nothing but the handshakes differs.

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use anyhow::Context;
use keyward_testkit::Certificates;
use keyward_tls::ClientOptions;
use keyward_tls::rustls::pki_types::ServerName;
use keyward_tls::rustls::{ClientConfig, ClientConnection};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Those of a thousand who fall silent; as many shake hands, driven by a few threads: all
/// are connected, then all have sent their first flight, before any of them goes on.
const STALLED: usize = 500;
const THREADS: usize = 4;

/// Starts Keyward and redis-server, both with TLS.
pub(crate) fn start(arguments: &Arguments) -> anyhow::Result<Vec<Peer>> {
    let certificates = Arc::new(Certificates::make());
    let redis = "redis-server".as_ref();
    Ok(vec![
        Peer::start_by_tls("Keyward", &arguments.keyward, &["serve"], &certificates)?,
        Peer::start_by_tls("Redis", redis, &[], &certificates)?,
    ])
}

/// Measures what handshakes cost who is connected.
pub(crate) fn run_handshakes(arguments: &Arguments) -> anyhow::Result<()> {
    let certificates = Arc::new(Certificates::make());
    let keyward = &arguments.keyward;
    let peer = Peer::start_by_tls("Keyward", keyward, &["serve"], &certificates)?;
    let address = peer.tls_address().context("it has a port for TLS")?;
    let authority_file = Some(certificates.file("ca.crt"));
    let client = ClientOptions { authority_file, ..ClientOptions::default() }.read()?;
    let load = Load::new(arguments);
    let mut out = std::io::stdout().lock();
    writeln!(out, "| round | alone, \u{b5}s | with handshakes, \u{b5}s | ratio | handshakes |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    let mut ratios = Vec::new();
    for round in 0..arguments.rounds {
        let alone = core_us(&peer, &load)?;
        let crowd = Crowd::gather(address, &client)?;
        let crowded = core_us(&peer, &load)?;
        let made = crowd.disperse();
        ratios.push(crowded / alone);
        writeln!(out, "| {round} | {alone:.3} | {crowded:.3} | {:.3} | {made} |", crowded / alone)?;
    }
    ratios.sort_by(f64::total_cmp);
    writeln!(out, "\nmedian: {:.3}", ratios[ratios.len() / 2])?;
    Ok(())
}

/// Microseconds of the core per command of a load that is not encrypted.
fn core_us(peer: &Peer, load: &Load) -> anyhow::Result<f64> {
    let before_ns = peer.core_ns()?;
    peer.load_plainly(&["-t", "get"], load)?;
    Ok((peer.core_ns()? - before_ns) as f64 / 1000.0 / load.requests as f64)
}

/// Those who shake hands, or begin to.
struct Crowd {
    stalled: Vec<TcpStream>,
    must_end: Arc<AtomicBool>,
    made: Arc<AtomicUsize>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// Somebody who has sent the first flight and has not read what came.
struct Begun(ClientConnection, TcpStream);

impl Crowd {
    /// Everybody connects and sends what comes first; then those who do not fall silent go on.
    fn gather(address: SocketAddr, client: &Arc<ClientConfig>) -> anyhow::Result<Crowd> {
        let mut stalled = Vec::new();
        let mut begun = Vec::new();
        for _ in 0..STALLED {
            let mut socket = TcpStream::connect(address)?;
            // The head of a record whose rest never comes.
            socket.write_all(&[0x16, 3, 1, 1, 0])?;
            stalled.push(socket);
            // No handshake before all are connected: their hellos follow.
            begun.push(TcpStream::connect(address)?);
        }
        let (must_end, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut threads = Vec::new();
        while !begun.is_empty() {
            let some = begun.split_off(begun.len().saturating_sub(STALLED.div_ceil(THREADS)));
            let (must_end, made) = (Arc::clone(&must_end), Arc::clone(&made));
            let client = Arc::clone(client);
            threads.push(std::thread::spawn(move || {
                let begun = some.into_iter().filter_map(|socket| begin(&client, socket).ok());
                let begun: Vec<Begun> = begun.collect();
                let mut open = Vec::new();
                for Begun(mut session, mut socket) in begun {
                    while session.is_handshaking() || session.wants_write() {
                        if session.complete_io(&mut socket).is_err() {
                            break;
                        }
                    }
                    if !session.is_handshaking() {
                        made.fetch_add(1, Ordering::Relaxed);
                        open.push((session, socket));
                    }
                }
                while !must_end.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }));
        }
        Ok(Crowd { stalled, must_end, made, threads })
    }

    /// Lets everybody go; how many have shaken hands.
    fn disperse(self) -> usize {
        self.must_end.store(true, Ordering::Relaxed);
        drop(self.stalled);
        for thread in self.threads {
            // One that has failed has made fewer handshakes, which is told.
            let _ = thread.join();
        }
        self.made.load(Ordering::Relaxed)
    }
}

/// Sends the first flight.
fn begin(client: &Arc<ClientConfig>, mut socket: TcpStream) -> anyhow::Result<Begun> {
    socket.set_nodelay(true)?;
    let name = ServerName::try_from("localhost")?;
    let mut session = ClientConnection::new(Arc::clone(client), name)?;
    while session.wants_write() {
        session.write_tls(&mut socket)?;
    }
    Ok(Begun(session, socket))
}
