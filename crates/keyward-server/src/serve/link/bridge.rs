//! A connection by TLS to a server that waits, made one that the event loop can serve.
//!
//! Owns a thread for it: what is decrypted goes to one end of a pair of sockets, and what comes
//! from there is encrypted. The loop has the other end, and knows nothing of TLS. That costs a
//! copy and a wake-up per read, for one connection of the process.

use keyward_tls::Client;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// Bytes that are passed on at a time, no fewer than a record of TLS has.
const PART_BYTES: usize = 64 * 1024;

/// The end for the loop.
pub(super) fn bridge(client: Client) -> io::Result<UnixStream> {
    let (inner, outer) = UnixStream::pair()?;
    client.socket().set_read_timeout(None)?;
    let named = std::thread::Builder::new().name("replica-tls".to_owned());
    named.spawn(move || {
        // Whichever end is over, both are; the loop notices that its own is.
        let _ = pass_on(client, &inner);
        let _ = inner.shutdown(Shutdown::Both);
    })?;
    Ok(outer)
}

/// Passes bytes on, both ways, until one side is over.
fn pass_on(mut client: Client, mut inner: &UnixStream) -> io::Result<()> {
    let mut part = vec![0; PART_BYTES];
    loop {
        let (from_client, from_inner) = {
            let mut both =
                [PollFd::new(client.socket(), PollFlags::IN), PollFd::new(inner, PollFlags::IN)];
            match poll(&mut both, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            (!both[0].revents().is_empty(), !both[1].revents().is_empty())
        };
        if from_client {
            let count = client.read(&mut part)?;
            if count == 0 {
                return Ok(());
            }
            inner.write_all(&part[..count])?;
        }
        if from_inner {
            let count = inner.read(&mut part)?;
            if count == 0 {
                return Ok(());
            }
            client.write_all(&part[..count])?;
            client.flush()?;
        }
    }
}
