//! Memory as the allocator and the kernel count it.
//!
//! Owns the figures behind `maxmemory`, INFO and MEMORY. How much is in use is
//! asked before every command while there is a limit, so it is read from
//! jemalloc's counters of this thread: two loads. What other threads allocate and
//! free is added whenever `look` asks jemalloc for the true total.
//!
//! Without jemalloc as the global allocator all figures but the resident memory
//! are about zero, and `maxmemory` limits nothing.

mod purge;

pub(crate) use purge::{purge, without_thread_cache};

use std::io::Read as _;
use tikv_jemalloc_ctl::{background_thread, epoch, stats, stats_print, thread};

/// Milliseconds between looks at the true total.
const LOOK_EVERY_MS: i64 = 100;

/// The allocator's total counts what threads have freed and keep in their caches; by
/// less than this it may differ from what is in use without anybody's doing.
const CACHE_BYTES_MAX: u64 = 4 << 20;

/// The counters, and what was seen of them.
pub(crate) struct Memory {
    allocated: Option<thread::ThreadLocal<u64>>,
    freed: Option<thread::ThreadLocal<u64>>,
    /// What the true total had beyond this thread's counters.
    beyond_thread: i64,
    looked_ms: i64,
    /// What the last look saw.
    seen: Allocator,
    peak: u64,
    startup: u64,
    /// A thread gives free pages back.
    is_purged_elsewhere: bool,
}

/// What the allocator holds, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Allocator {
    /// Allocations.
    pub(crate) allocated: u64,
    /// Pages with allocations on them.
    pub(crate) active: u64,
    /// Pages that take physical memory.
    pub(crate) resident: u64,
}

impl Memory {
    /// Begins counting on this thread: what is in use now is the server's own.
    pub(crate) fn new() -> Memory {
        let mut memory = Memory {
            allocated: thread::allocatedp::read().ok(),
            freed: thread::deallocatedp::read().ok(),
            beyond_thread: 0,
            looked_ms: 0,
            seen: Allocator::default(),
            peak: 0,
            startup: 0,
            is_purged_elsewhere: false,
        };
        memory.look();
        memory.startup = memory.used();
        memory
    }

    /// Bytes in use.
    #[inline]
    pub(crate) fn used(&self) -> u64 {
        u64::try_from(self.beyond_thread + self.of_thread()).unwrap_or(0)
    }

    fn of_thread(&self) -> i64 {
        let count = |counter: Option<thread::ThreadLocal<u64>>| counter.map_or(0, |c| c.get());
        count(self.allocated).cast_signed() - count(self.freed).cast_signed()
    }

    /// Takes in what other threads did; returns the allocator's figures.
    pub(crate) fn look(&mut self) -> Allocator {
        let allocator = Allocator::read();
        let beyond_thread = allocator.allocated.cast_signed() - self.of_thread();
        if beyond_thread.abs_diff(self.beyond_thread) > CACHE_BYTES_MAX || self.startup == 0 {
            self.beyond_thread = beyond_thread;
        }
        self.peak = self.peak.max(self.used());
        self.seen = allocator;
        allocator
    }

    /// The allocator's figures as they were a moment ago.
    pub(crate) fn seen(&self) -> Allocator {
        self.seen
    }

    /// Has free pages given back to the system by a thread, or by this one: that takes
    /// milliseconds after much was freed.
    pub(crate) fn purge_on_thread(&mut self, is_wanted: bool) {
        let is_set = background_thread::write(is_wanted).is_ok();
        self.is_purged_elsewhere = is_wanted && is_set;
    }

    /// As `look`, if the last one was some time ago; then free pages go back to the
    /// system too, as time demands, unless a thread sees to that.
    pub(crate) fn look_at_times(&mut self, now_ms: i64) {
        if now_ms - self.looked_ms >= LOOK_EVERY_MS {
            self.looked_ms = now_ms;
            self.look();
            if !self.is_purged_elsewhere {
                purge::decay();
            }
        }
    }

    /// The most that was ever seen in use.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// What was in use when counting began.
    pub(crate) fn startup(&self) -> u64 {
        self.startup
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("used", &self.used()).finish_non_exhaustive()
    }
}

impl Allocator {
    /// The figures of this moment; zero if they cannot be read.
    fn read() -> Allocator {
        let read = || -> tikv_jemalloc_ctl::Result<Allocator> {
            epoch::advance()?;
            Ok(Allocator {
                allocated: stats::allocated::read()? as u64,
                active: stats::active::read()? as u64,
                resident: stats::resident::read()? as u64,
            })
        };
        read().unwrap_or_default()
    }
}

/// jemalloc's own report.
pub(crate) fn allocator_statistics() -> String {
    let mut text = Vec::new();
    // Writing to a vector cannot fail.
    let _ = stats_print::stats_print(&mut text, stats_print::Options::default());
    String::from_utf8_lossy(&text).into_owned()
}

/// Bytes of physical memory, as the kernel counts them.
pub(crate) fn resident_bytes() -> u64 {
    let mut buffer = [0; 128];
    let statm = read_start("/proc/self/statm", &mut buffer);
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// The beginning of a small file of the kernel, as much as there is room for; nothing if it
/// cannot be read.
pub(crate) fn read_start<'b>(path: &str, buffer: &'b mut [u8]) -> &'b str {
    let read = std::fs::File::open(path).and_then(|mut file| file.read(buffer));
    std::str::from_utf8(&buffer[..read.unwrap_or(0)]).unwrap_or_default()
}
