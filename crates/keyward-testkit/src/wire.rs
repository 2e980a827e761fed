//! Wire scripts: commands and expected replies, run on Keyward and on Redis.
//!
//! A script is text that reads like a session of redis-cli:
//!
//! ```text
//! # A comment.
//! > SET greeting "hello\r\n"
//! OK
//! > LRANGE nothing 0 -1
//! (empty array)
//! > GET nothing
//! (nil)
//! ```
//!
//! A line with `>` is a command, split and unquoted as redis-cli does. What
//! follows up to the next command or blank line is the expected reply in
//! redis-cli's notation. Where RESP3 differs, lines that begin with `3| ` tell
//! the reply in RESP3. Without any expectation the servers need only agree.
//!
//! What stands before the `>` names a connection (`b> PING`); the script's own
//! has no name. What stands after it changes the comparison:
//!
//! - `>~ KEYS *`: elements may come in any order;
//! - `>? TIME`: answers differ by nature and need only be of the same kind;
//! - `b>& BLPOP l 0`: do not wait for the reply (it is awaited that the client is
//!   blocked); a line `b=` then takes the reply, with its expectation below.
//!
//! Every script starts on empty databases. Each reply must be the same bytes from both
//! servers and must read as expected, in RESP2 and in RESP3.

mod render;
mod script;

pub use render::{quoted, text};

use crate::{Client, Server, within};
use keyward_resp::Frame;
use script::{Comparison, Script, Step};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long a blocking command may take until its client is seen to wait.
const BLOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs every script of a directory on both servers.
///
/// # Panics
/// With all differences of all scripts, if there is one; or if there is no script.
pub fn run_directory(directory: &Path, keyward: &Server, redis: &Server) {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wire"));
    paths.sort();
    assert!(!paths.is_empty(), "no scripts in {}", directory.display());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        failures.extend(run(&name, &text, keyward, redis));
    }
    assert!(failures.is_empty(), "{} differences:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Runs one script in both protocols; returns the differences.
pub fn run(name: &str, text: &str, keyward: &Server, redis: &Server) -> Vec<String> {
    let script = Script::parse(text).unwrap_or_else(|error| panic!("{name}:{error}"));
    let protocols = ["2", "3"];
    protocols
        .into_iter()
        .flat_map(|protocol| Run::new(keyward, redis, protocol).all(name, &script))
        .collect()
}

/// A command of a script.
#[derive(Debug)]
pub struct Told {
    /// Where it stands.
    pub line: usize,
    /// Its words.
    pub command: Vec<Vec<u8>>,
    /// The reply in RESP2 that the script tells, if it does.
    pub reply: Option<String>,
}

/// The commands of a script, for those who run it in another way.
///
/// # Errors
/// With the line that cannot be read.
pub fn commands(text: &str) -> Result<Vec<Told>, String> {
    let told = |step: Step| {
        let reply = step.expected("2");
        step.command.map(|command| Told { line: step.line, command, reply })
    };
    Ok(Script::parse(text)?.steps.into_iter().filter_map(told).collect())
}

/// A session as it is printed in documentation, `> COMMAND` and replies in turn, with the
/// replies that this server gives now.
///
/// # Panics
/// If a command cannot be read, or is not answered.
pub fn replay(session: &str, client: &mut Client) -> String {
    let mut out = String::with_capacity(session.len());
    for line in session.lines() {
        let Some(command) = line.strip_prefix("> ") else { continue };
        let words = keyward_resp::split_words(command.as_bytes());
        let words = words.unwrap_or_else(|| panic!("a quote is not closed: {command}"));
        let reply = client.call(&words).unwrap_or_else(|error| panic!("{command}: {error}"));
        out.push_str(&format!("{line}\n{}\n", text(&reply)));
    }
    out
}

/// One pass over a script in one protocol.
struct Run<'a> {
    servers: [&'a Server; 2],
    protocol: &'static str,
    /// Connections by name, Keyward's and Redis's.
    clients: BTreeMap<String, [Client; 2]>,
    blocked_count: usize,
}

impl<'a> Run<'a> {
    fn new(keyward: &'a Server, redis: &'a Server, protocol: &'static str) -> Run<'a> {
        let servers = [keyward, redis];
        for server in servers {
            let reply = server.client().call(["FLUSHALL"]);
            assert_eq!(reply.expect("FLUSHALL is answered"), Frame::Simple(b"OK".to_vec()));
        }
        Run { servers, protocol, clients: BTreeMap::new(), blocked_count: 0 }
    }

    fn all(mut self, name: &str, script: &Script) -> Vec<String> {
        let mut failures = Vec::new();
        for step in &script.steps {
            if let Err(difference) = self.step(step) {
                let (line, shown, protocol) = (step.line, &step.text, self.protocol);
                failures.push(format!("{name}:{line} (RESP{protocol})\n  {shown}\n{difference}"));
            }
        }
        failures
    }

    fn clients(&mut self, name: &str) -> &mut [Client; 2] {
        let (servers, protocol) = (self.servers, self.protocol);
        self.clients.entry(name.to_owned()).or_insert_with(|| {
            servers.map(|server| {
                let mut client = server.client();
                if protocol == "3" {
                    client.call(["HELLO", "3"]).expect("HELLO is answered");
                }
                client
            })
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if let Some(command) = &step.command {
            for client in self.clients(&step.connection) {
                client.send_command(command).map_err(|error| format!("  cannot send: {error}"))?;
            }
        }
        if step.comparison == Comparison::Later {
            self.blocked_count += 1;
            return self.await_blocked();
        }
        if step.command.is_none() {
            self.blocked_count = self.blocked_count.saturating_sub(1);
        }
        let mut replies = Vec::new();
        for client in self.clients(&step.connection) {
            replies.push(client.receive_raw().map_err(|error| format!("  no reply: {error}"))?);
        }
        let [(ours, our_bytes), (theirs, their_bytes)] =
            replies.try_into().expect("both servers were asked");
        let (ours, theirs, is_same) = match step.comparison {
            Comparison::Exact | Comparison::Later => (ours, theirs, our_bytes == their_bytes),
            Comparison::AnyOrder => {
                let (ours, theirs) = (render::sorted(ours), render::sorted(theirs));
                let is_same = ours == theirs;
                (ours, theirs, is_same)
            }
            Comparison::Kind => {
                let is_same = std::mem::discriminant(&ours) == std::mem::discriminant(&theirs);
                (ours, theirs, is_same)
            }
        };
        let (ours, theirs) = (render::text(&ours), render::text(&theirs));
        if !is_same {
            return Err(format!("  Keyward: {}\n  Redis:   {}", indent(&ours), indent(&theirs)));
        }
        let expected = step.expected(self.protocol);
        match expected {
            Some(expected) if expected != ours && step.comparison != Comparison::Kind => {
                Err(format!("  both:     {}\n  expected: {}", indent(&ours), indent(&expected)))
            }
            _ => Ok(()),
        }
    }

    /// Waits until both servers say that as many clients are blocked as should be.
    fn await_blocked(&self) -> Result<(), String> {
        let wanted = format!("blocked_clients:{}\r\n", self.blocked_count);
        for server in self.servers {
            let mut client = server.client();
            let mut text = String::new();
            let blocked = within(BLOCK_TIMEOUT, || match client.call(["INFO", "clients"]) {
                Ok(info) => {
                    text = String::from_utf8_lossy(info.as_bytes().unwrap_or_default()).into();
                    text.contains(&wanted).then_some(Ok(()))
                }
                Err(error) => Some(Err(error.to_string())),
            });
            let never = || Err(format!("  {} clients never blocked:\n{text}", self.blocked_count));
            blocked.unwrap_or_else(never)?;
        }
        Ok(())
    }
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n            ")
}
