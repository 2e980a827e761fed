//! What work takes of the processor, others on the machine aside.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Processor time of this thread while it does something.
pub fn processor_time(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    };
    let start = now();
    work();
    now() - start
}
