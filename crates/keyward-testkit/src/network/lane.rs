//! One direction of a connection.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

/// What flies, and what lies there unread.
#[derive(Debug)]
pub(super) struct Lane {
    capacity: usize,
    /// With the time of their arrival, which never goes back.
    flying: VecDeque<(u64, Vec<u8>)>,
    last_arrival_ns: u64,
    arrived: VecDeque<u8>,
    /// Bytes that fly or lie there.
    bytes: usize,
    /// When the end arrives.
    end_ns: Option<u64>,
    is_ended: bool,
    is_reset: bool,
    /// Nobody reads it any more.
    is_refused: bool,
    /// The sender was told to wait for room.
    wants_room: bool,
}

impl Lane {
    pub(super) fn new(capacity: usize) -> Lane {
        Lane {
            capacity,
            flying: VecDeque::new(),
            last_arrival_ns: 0,
            arrived: VecDeque::new(),
            bytes: 0,
            end_ns: None,
            is_ended: false,
            is_reset: false,
            is_refused: false,
            wants_room: false,
        }
    }

    /// Whether the reader can know that nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended || self.is_reset
    }

    /// Bytes that can be sent now; if none, the sender is told when.
    pub(super) fn room(&mut self) -> io::Result<usize> {
        if self.is_reset {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if self.is_refused || self.end_ns.is_some() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        match self.capacity - self.bytes.min(self.capacity) {
            0 => {
                self.wants_room = true;
                Err(ErrorKind::WouldBlock.into())
            }
            room => Ok(room),
        }
    }

    /// Sends; returns when it arrives.
    pub(super) fn send(&mut self, arrival_ns: u64, bytes: &[u8]) -> u64 {
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
        self.bytes += bytes.len();
        self.flying.push_back((self.last_arrival_ns, bytes.to_vec()));
        self.last_arrival_ns
    }

    /// Nothing more is sent; returns when that is known.
    pub(super) fn end(&mut self, arrival_ns: u64) -> u64 {
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
        *self.end_ns.get_or_insert(self.last_arrival_ns)
    }

    /// Whether anything has arrived.
    pub(super) fn deliver(&mut self, now_ns: u64) -> bool {
        if self.is_reset {
            return false;
        }
        let mut has_come = false;
        while let Some((arrival_ns, _)) = self.flying.front()
            && *arrival_ns <= now_ns
        {
            self.arrived.extend(self.flying.pop_front().expect("it is there").1);
            has_come = true;
        }
        let is_ended = self.flying.is_empty() && self.end_ns.is_some_and(|end| end <= now_ns);
        has_come |= is_ended && !self.is_ended;
        self.is_ended = is_ended;
        has_come
    }

    /// The bytes that have arrived, as many as there is room for; none at the end.
    pub(super) fn look(&self, room: usize) -> io::Result<Vec<u8>> {
        if self.is_reset {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if self.arrived.is_empty() && !self.is_ended {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(self.arrived.iter().take(room).copied().collect())
    }

    /// Takes bytes; whether a sender waits for the room.
    pub(super) fn take(&mut self, count: usize) -> bool {
        self.arrived.drain(..count);
        self.bytes -= count;
        count > 0 && std::mem::take(&mut self.wants_room)
    }

    /// Nobody reads any more.
    pub(super) fn refuse(&mut self) {
        self.is_refused = true;
    }

    pub(super) fn reset(&mut self) {
        self.is_reset = true;
        self.flying.clear();
        self.arrived.clear();
    }
}
