//! The systems of `systems/`: each is served as it lies there and tried whole.
//!
//! - `functions`: its functions, on Keyward and on a stock Redis;
//! - `scenario`: its scenario, by a client of the language its document shows, and what of it
//!   a stock Redis does not keep;
//! - `table`: the table in its README that names a test for each statement of its document;
//! - `tour`: the commands of its README, with the replies that are printed there;
//! - `settings`: the settings of its document, by the first command of its README;
//! - `failures`: what its README says of limits that are full and of fan-out;
//! - `sentinel`: its failover under a sentinel, where its document has one;
//! - `archive`: its rows in a PostgreSQL, where its document has one, to the end of their
//!   retention;
//! - `figures`: what `figures.py` measures, on a small scale.

mod archive;
mod failures;
mod figures;
mod functions;
mod replies;
mod scenario;
mod sentinel;
mod settings;
mod table;
mod tour;

use keyward_resp::Frame;
use keyward_schema::Schema;
use keyward_testkit::{Client, Server};
use std::path::{Path, PathBuf};

/// The tests of each system.
macro_rules! systems {
    ($($module:ident: $name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($name),*];

        $(mod $module {
            use super::{System, functions, scenario, table, tour};

            #[test]
            fn functions_answer_the_same_on_redis() {
                functions::answer_the_same_on_redis(&System::read($name));
            }

            #[test]
            fn functions_are_all_tried_and_fail_as_declared() {
                functions::are_all_tried_and_fail_as_declared(&System::read($name));
            }

            #[test]
            fn functions_answer_what_is_declared() {
                functions::answer_what_is_declared(&System::read($name));
            }

            #[test]
            fn functions_that_refuse_leave_nothing_behind() {
                functions::refuse_without_a_trace(&System::read($name));
            }

            #[test]
            fn functions_that_break_off_leave_nothing_behind() {
                functions::break_off_without_a_trace(&System::read($name));
            }

            #[test]
            fn scenario_runs_to_its_end_and_keeps_what_redis_does_not() {
                scenario::runs_to_its_end_and_keeps_what_redis_does_not(&System::read($name));
            }

            #[test]
            fn scenario_does_not_take_keyward_for_redis() {
                scenario::does_not_take_keyward_for_redis(&System::read($name));
            }

            #[test]
            fn table_names_tests_that_exist() {
                table::names_tests_that_exist(&System::read($name));
            }

            #[test]
            fn tour_is_true() {
                tour::is_true(&System::read($name));
            }
        })*
    };
}

systems! {
    api_billing: "api-billing",
    calls_bot: "calls-bot",
    events: "events",
    social: "social",
    telegram_gateway: "telegram-gateway",
}

/// A system as it lies in its folder.
struct System {
    folder: PathBuf,
    schema: Schema,
    /// The libraries of functions: what stands in the files.
    libraries: Vec<String>,
}

impl System {
    fn read(name: &str) -> System {
        let folder = all().join(name);
        let bytes = std::fs::read(folder.join("keyward.toml")).expect("the schema is there");
        let schema = keyward_schema::check(name, &bytes).schema.expect("the schema is clean");
        let libraries = files_in(&folder.join("functions"));
        assert!(!libraries.is_empty(), "{name} has a library of functions");
        let libraries = libraries.iter().map(|path| text_of(path)).collect();
        System { folder, schema, libraries }
    }

    fn text(&self, file: &str) -> String {
        text_of(&self.folder.join(file))
    }

    /// Serves it.
    fn on_keyward(&self) -> Server {
        let schema = self.folder.join("keyward.toml");
        let schema = schema.to_str().expect("the path is text");
        let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
        Server::keyward(program, &[schema, "--save", "", "--enable-debug-command", "yes"])
    }

    /// A stock Redis with its functions.
    fn on_redis(&self) -> Server {
        let redis = Server::redis(&[]);
        self.libraries.iter().for_each(|library| load(&mut redis.client(), library));
        redis
    }

    /// A connection to its database.
    fn client(&self, server: &Server) -> Client {
        let mut client = server.client();
        let db = self.schema.keyspace.db.to_string();
        let reply = client.call(["SELECT", &db]).expect("an answer");
        assert_eq!(reply, Frame::Simple(b"OK".to_vec()));
        client
    }
}

/// Loads a library in place of the one of its name.
fn load(client: &mut Client, library: &str) {
    let reply = client.call(["FUNCTION", "LOAD", "REPLACE", library]).expect("an answer");
    assert!(!matches!(reply, Frame::Error(_)), "{reply:?} of\n{library}");
}

/// The folder of all systems.
fn all() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems")
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[test]
fn no_system_is_left_out() {
    let folders = files_in(&all()).into_iter().filter(|path| path.is_dir());
    let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(folders.map(name).collect::<Vec<_>>(), names);
}
