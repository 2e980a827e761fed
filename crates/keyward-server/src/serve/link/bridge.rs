//! A connection by TLS to a server that waits, made one that the event loop can serve.
//!
//! Owns a thread for it: what is decrypted goes to one end of a pair of sockets, and what comes
//! from there is encrypted. The loop has the other end, and knows nothing of TLS. That costs a
//! copy and a wake-up per read, for one connection of the process.
//!
//! Invariant: neither way waits for the other. While the loop takes nothing, because it loads a
//! snapshot, what it says to the primary goes on its way all the same.

use keyward_tls::Client;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Bytes that are passed on at a time, no fewer than a record of TLS has.
const PART_BYTES: usize = 64 * 1024;

/// The end for the loop.
pub(super) fn bridge(client: Client) -> io::Result<UnixStream> {
    let (inner, outer) = UnixStream::pair()?;
    client.socket().set_nonblocking(true)?;
    let named = std::thread::Builder::new().name("replica-tls".to_owned());
    named.spawn(move || serve(client, inner))?;
    Ok(outer)
}

fn serve(far: impl Far, inner: UnixStream) {
    // Whichever end is over, both are; the loop notices that its own is.
    let _ = inner.set_nonblocking(true).and_then(|()| pass_on(far, &inner));
    let _ = inner.shutdown(Shutdown::Both);
}

/// The far end, of which no call waits.
trait Far: Read + Write {
    fn socket(&self) -> BorrowedFd<'_>;

    /// Whether it has taken something that its socket has not.
    fn has_unsent(&self) -> bool;
}

impl Far for Client {
    fn socket(&self) -> BorrowedFd<'_> {
        Client::socket(self).as_fd()
    }

    fn has_unsent(&self) -> bool {
        Client::has_unsent(self)
    }
}

/// Bytes on one way.
struct Way {
    part: Vec<u8>,
    /// Those that are not passed on.
    left: std::ops::Range<usize>,
}

impl Way {
    fn new() -> Way {
        Way { part: vec![0; PART_BYTES], left: 0..0 }
    }

    fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Takes bytes from one end if there are none, and gives them to the other; whether some
    /// have moved.
    fn pass(&mut self, from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
        if self.is_empty() {
            match unless_it_waits(from.read(&mut self.part))? {
                None => return Ok(false),
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(count) => self.left = 0..count,
            }
        }
        let written = unless_it_waits(to.write(&self.part[self.left.clone()]))?.unwrap_or(0);
        self.left.start += written;
        Ok(written > 0)
    }
}

/// What a call comes to; `None` if it would have to wait.
fn unless_it_waits<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(done) => Ok(Some(done)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Passes bytes on, both ways, until one side is over.
fn pass_on(mut far: impl Far, mut inner: &UnixStream) -> io::Result<()> {
    let (mut inward, mut outward) = (Way::new(), Way::new());
    loop {
        // What is decrypted already makes no socket readable: all of it moves first.
        let has_moved = inward.pass(&mut far, &mut inner)? | outward.pass(&mut inner, &mut far)?;
        unless_it_waits(far.flush())?;
        if has_moved {
            continue;
        }
        let wanted = |reads: bool, writes: bool| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, reads);
            flags.set(PollFlags::OUT, writes);
            flags
        };
        let has_unsent = far.has_unsent() || !outward.is_empty();
        let of_far = wanted(inward.is_empty(), has_unsent);
        let of_inner = wanted(outward.is_empty(), !inward.is_empty());
        let mut both =
            [PollFd::from_borrowed_fd(far.socket(), of_far), PollFd::new(inner, of_inner)];
        // An end of which nothing is wanted would tell of its hang-up again and again.
        let polled = match (of_far.is_empty(), of_inner.is_empty()) {
            (true, _) => &mut both[1..],
            (_, true) => &mut both[..1],
            _ => &mut both[..],
        };
        match poll(polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    impl Far for UnixStream {
        fn socket(&self) -> BorrowedFd<'_> {
            self.as_fd()
        }

        fn has_unsent(&self) -> bool {
            false
        }
    }

    #[test]
    fn what_is_said_goes_on_its_way_while_nothing_is_taken() {
        let (far, mut primary) = UnixStream::pair().expect("sockets");
        let (inner, mut outer) = UnixStream::pair().expect("sockets");
        far.set_nonblocking(true).expect("it is a socket");
        let thread = std::thread::spawn(move || serve(far, inner));
        primary.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
        let content: Vec<u8> = (0..4_000_000_u32).map(|at| (at % 251) as u8).collect();
        let (mut writer, sent) = (primary.try_clone().expect("a socket"), content.clone());
        let writer = std::thread::spawn(move || writer.write_all(&sent));
        // More is on its way than lies between the ends.
        let mut seen = vec![0; 500_000];
        outer.read_exact(&mut seen).expect("the beginning");
        for said in [&b"\n"[..], b"\n", b"REPLCONF ACK 0\r\n"] {
            outer.write_all(said).expect("it is taken");
            let mut heard = vec![0; said.len()];
            primary.read_exact(&mut heard).expect("it is heard meanwhile");
            assert_eq!(heard, said);
        }
        seen.resize(content.len(), 0);
        outer.read_exact(&mut seen[500_000..]).expect("the rest");
        assert!(seen == content);
        writer.join().expect("no panic").expect("all is sent");
        primary.write_all(b"last").expect("it is taken");
        drop(primary);
        let mut last = Vec::new();
        outer.read_to_end(&mut last).expect("the end");
        assert_eq!(last, b"last", "what came before the end is passed on");
        thread.join().expect("no panic");
    }
}
