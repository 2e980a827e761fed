//! A link between two servers that can be cut and stalled: a proxy of TCP on loopback.
//!
//! A cut closes connections on both sides; while the link is down none is made. A stalled link
//! keeps its connections and carries nothing, as a network does that drops packets: both sides
//! have to notice by themselves.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often it is looked whether a stalled link carries again.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
struct State {
    is_down: AtomicBool,
    is_stalled: AtomicBool,
    is_over: AtomicBool,
    carried_bytes: AtomicU64,
    sockets: Mutex<Vec<TcpStream>>,
}

/// A link.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// A link to a server.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn to(target: SocketAddr) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("it has one").port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || accept(&listener, target, &shared));
        Proxy { port, state }
    }

    /// Where to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Bytes that it has carried, in both directions.
    pub fn carried_bytes(&self) -> u64 {
        self.state.carried_bytes.load(Ordering::Relaxed)
    }

    /// Closes all connections; others can be made.
    pub fn cut(&self) {
        let mut sockets = self.state.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        for socket in sockets.drain(..) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Whether no connection can be made; those there are go.
    pub fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, Ordering::SeqCst);
        if is_down {
            self.cut();
        }
    }

    /// Whether it carries nothing, and keeps what it was given.
    pub fn set_stalled(&self, is_stalled: bool) {
        self.state.is_stalled.store(is_stalled, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.set_stalled(false);
        self.cut();
        // The thread waits for somebody to connect.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn accept(listener: &TcpListener, target: SocketAddr, state: &Arc<State>) {
    for socket in listener.incoming() {
        if state.is_over.load(Ordering::SeqCst) {
            return;
        }
        // Who cannot be connected is closed.
        if let Ok(near) = socket
            && !state.is_down.load(Ordering::SeqCst)
            && let Ok(far) = TcpStream::connect(target)
        {
            // A link that cannot be carried is closed too.
            let _ = join(&near, &far, state);
        }
    }
}

fn join(near: &TcpStream, far: &TcpStream, state: &Arc<State>) -> io::Result<()> {
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let mut sockets = state.sockets.lock().unwrap_or_else(PoisonError::into_inner);
    sockets.extend([near.try_clone()?, far.try_clone()?]);
    drop(sockets);
    for (from, to) in [(near, far), (far, near)] {
        let (from, to, state) = (from.try_clone()?, to.try_clone()?, Arc::clone(state));
        std::thread::spawn(move || {
            // Either side may close it.
            let _ = carry(&from, &to, &state);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, state: &State) -> io::Result<()> {
    let mut part = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut part)?;
        if count == 0 {
            return Ok(());
        }
        while state.is_stalled.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK);
        }
        // Before whoever gets them can say that they are there.
        state.carried_bytes.fetch_add(count as u64, Ordering::SeqCst);
        to.write_all(&part[..count])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, wait_until};

    #[test]
    fn a_link_is_cut_stalled_and_taken_down() {
        let server = Server::redis(&[]);
        let proxy = Proxy::to(server.address());
        let connect = || crate::Client::connect((Ipv4Addr::LOCALHOST, proxy.port()).into());
        let mut client = connect().expect("it listens");
        assert!(client.call(["PING"]).is_ok());
        assert!(proxy.carried_bytes() > 0);
        proxy.cut();
        assert!(client.call(["PING"]).is_err(), "it is cut");
        let mut client = connect().expect("it listens");
        assert!(client.call(["PING"]).is_ok());
        proxy.set_stalled(true);
        let before = proxy.carried_bytes();
        let asking = std::thread::spawn(move || client.call(["PING"]).is_ok());
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(proxy.carried_bytes(), before, "nothing is carried");
        proxy.set_stalled(false);
        assert!(asking.join().expect("it does not panic"), "what was said is heard");
        proxy.set_down(true);
        let is_refused = || connect().and_then(|mut client| client.call(["PING"])).is_err();
        wait_until(is_refused);
        proxy.set_down(false);
        wait_until(|| !is_refused());
    }
}
