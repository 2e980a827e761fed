//! A Valkey with the module in it.

use std::path::PathBuf;

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, StartError, installed_valkey};

/// The server and the directory of its schema.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) schema: tempfile::TempDir,
}

/// The module, which stands beside the tests.
pub(crate) fn module() -> String {
    let tests = std::env::current_exe().expect("a test has a path");
    let module = tests.with_file_name("libkeyward_module.so");
    assert!(module.exists(), "{} is built with the tests", module.display());
    module.display().to_string()
}

/// The variable that names another server than Valkey.
const PROGRAM: &str = "KEYWARD_MODULE_SERVER";

pub(crate) fn valkey() -> PathBuf {
    if let Some(program) = std::env::var_os(PROGRAM) {
        return program.into();
    }
    installed_valkey().unwrap_or_else(|error| panic!("{error}"))
}

impl Served {
    pub(crate) fn with(schema: &str, options: &[&str]) -> Result<Served, StartError> {
        Served::in_server(&valkey(), schema, options)
    }

    pub(crate) fn in_server(
        program: &std::path::Path,
        schema: &str,
        options: &[&str],
    ) -> Result<Served, StartError> {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("shop.toml");
        std::fs::write(&file, schema).expect("the schema is written");
        let file = file.display().to_string();
        let module = module();
        let mut arguments = vec!["--save", "", "--enable-debug-command", "yes"];
        let module_arguments: Vec<&str> =
            options.iter().copied().filter(|option| option.starts_with("on-error")).collect();
        let options = options.iter().copied().filter(|option| !option.starts_with("on-error"));
        arguments.extend(options);
        arguments.extend(["--loadmodule", &module, &file]);
        arguments.extend(module_arguments);
        let server = Server::start(program, &arguments)?;
        let client = server.client();
        Ok(Served { server, client, schema: directory })
    }

    pub(crate) fn start(options: &[&str]) -> Served {
        Served::with(crate::SCHEMA, options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A reply as a short text: an error with its dash, elements between spaces.
    pub(crate) fn call(&mut self, command: &str) -> String {
        told(&mut self.client, command)
    }

    /// Runs commands, each of which is to return that.
    #[track_caller]
    pub(crate) fn check(&mut self, expected: &[(&str, &str)]) {
        for (command, reply) in expected {
            assert_eq!(self.call(command), *reply, "{command}");
        }
    }
}

pub(crate) fn told(client: &mut Client, command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let reply = client.call(&words).unwrap_or_else(|error| panic!("{command}: {error}"));
    shown(&reply)
}

/// A reply as text; the place in the schema is told without its directory.
pub(crate) fn shown(reply: &Frame) -> String {
    match reply {
        Frame::Error(text) => {
            let text = String::from_utf8_lossy(text).into_owned();
            match text.split_once(" (/") {
                Some((words, place)) => {
                    let place = place.rsplit('/').next().unwrap_or_default();
                    format!("-{words} ({place}")
                }
                None => format!("-{text}"),
            }
        }
        Frame::Array(elements) => elements.iter().map(shown).collect::<Vec<_>>().join(" "),
        Frame::Integer(number) => number.to_string(),
        Frame::NullBulk | Frame::NullArray | Frame::Null => "nil".to_owned(),
        other => {
            let bytes = other.as_bytes().unwrap_or_else(|| panic!("{other:?}"));
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}
