//! SIGTERM and SIGINT as a wish to stop.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

use keyward_backup::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// From now on signals are heard here, and end the process no more.
pub(crate) fn stop_on_signals() -> io::Result<Stop> {
    let (mut came, handler) = UnixStream::pair()?;
    pipe::register(SIGTERM, handler.try_clone()?)?;
    pipe::register(SIGINT, handler)?;
    let stop = Stop::default();
    let told = stop.clone();
    std::thread::spawn(move || {
        // The handlers stay for ever, and so does their end: there is no other error.
        let _ = came.read_exact(&mut [0]);
        told.set();
    });
    Ok(stop)
}
