//! How far it is, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keyward_backup::Progress;

const TICK: Duration = Duration::from_millis(120);
const WITH_END: &str = "{msg:>9} [{wide_bar}] {bytes} of {total_bytes}, {eta} left";
const WITHOUT_END: &str = "{msg:>9} {spinner} {bytes}, {bytes_per_sec}";

/// A line that tells how far something is.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine { bar: ProgressBar::hidden() }
    }
}

impl Progress for ProgressLine {
    fn begin(&mut self, what: &'static str, bytes: Option<u64>) {
        let (template, length) = match bytes {
            Some(bytes) => (WITH_END, Some(bytes)),
            None => (WITHOUT_END, None),
        };
        // Where stderr is no terminal nothing is drawn.
        self.bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template).expect("the template is sound");
        self.bar.set_style(style.progress_chars("=> "));
        self.bar.set_message(what);
        self.bar.enable_steady_tick(TICK);
    }

    fn reached(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// Its line goes.
    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
