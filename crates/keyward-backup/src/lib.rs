//! Backups: snapshots of a running server in files of their own.
//!
//! A backup is taken over the wire as a replica would ask for it (`snapshot`), compressed
//! and summed up on the way to disk (`archive`, `fetch`), loaded again as it is there
//! (`check`), and only then takes its name beside the older ones (`folder`). The same check
//! stands before a restore, which puts the snapshot where a server finds it
//! (`data_directory`).
//!
//! Invariants: a file that bears the name of a backup is whole and has been loaded;
//! nothing else is left behind, whatever ends the process short of `kill -9`; nothing is
//! removed but backups of the same name that are too old, after a newer one is there.
//! Not here: arguments, words, signals and bars that show progress, which are the command
//! line's; the server's side of a snapshot (`keyward-server`).

mod address;
mod archive;
mod check;
mod data_directory;
mod fetch;
mod folder;
mod progress;
mod snapshot;
mod stop;

pub use address::{Address, Line, UrlError};
pub use archive::{Archive, Sum};
pub use check::{CheckError, Contents, check, expected_sum};
pub use data_directory::DataDirectory;
pub use fetch::{FetchError, fetch};
pub use folder::{Backup, Folder, is_name};
pub use keyward_tls::{ClientOptions, Pair};
pub use progress::Progress;
pub use snapshot::{SnapshotError, TalkError};
pub use stop::Stop;
