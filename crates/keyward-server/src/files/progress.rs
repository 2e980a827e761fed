//! How far loading is, for INFO.

use crate::clock;
use crate::files::info_lines::{Fixed, Lines};

/// How far loading is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) started_s: i64,
    pub(crate) total_bytes: u64,
    pub(crate) loaded_bytes: u64,
}

impl Progress {
    /// Nothing is loaded yet, and how much there is is not known.
    pub(crate) fn begun() -> Progress {
        Progress { started_s: clock::now_us() / 1_000_000, total_bytes: 0, loaded_bytes: 0 }
    }

    /// The lines of INFO.
    pub(crate) fn info(&self, out: &mut Lines<'_>) {
        let Progress { started_s, total_bytes, loaded_bytes } = *self;
        let elapsed = (clock::now_us() / 1_000_000 - started_s).max(0) as u64;
        let eta = match elapsed {
            0 => 1,
            _ => elapsed * total_bytes.saturating_sub(loaded_bytes) / (loaded_bytes + 1),
        };
        let percent = loaded_bytes as f64 / total_bytes.max(1) as f64 * 100.0;
        out.line("loading_start_time", started_s);
        out.line("loading_total_bytes", total_bytes);
        out.line("loading_rdb_used_mem", "0");
        out.line("loading_loaded_bytes", loaded_bytes);
        out.line("loading_loaded_perc", Fixed(percent));
        out.line("loading_eta_seconds", eta);
    }
}
