//! Backups: snapshots of a running server in files of their own.
//!
//! A backup is taken over the wire as a replica would ask for it (`server`), compressed
//! and summed up on the way to disk (`archive`), loaded again as it is there (`check`),
//! and only then takes its name beside the older ones (`folder`). The same check stands
//! before a restore, which puts the snapshot where a server finds it (`data_directory`).
//!
//! Invariants: a file that bears the name of a backup is whole and has been loaded;
//! nothing else is left behind, whatever ends the process short of `kill -9`; nothing is
//! removed but backups of the same name that are too old, after a newer one is there.
//! Not here: arguments and words (`commands::backup`, `commands::restore`).

mod archive;
mod check;
mod data_directory;
mod folder;
mod progress;
mod server;
mod stop;

pub(crate) use archive::{Archive, NewArchive};
pub(crate) use check::{CheckError, Contents, check, expected_sum};
pub(crate) use data_directory::DataDirectory;
pub(crate) use folder::{Folder, is_name};
pub(crate) use progress::Progress;
pub(crate) use server::{Address, Snapshot};
pub(crate) use stop::Stop;
