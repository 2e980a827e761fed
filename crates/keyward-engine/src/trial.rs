//! Asking an engine of one's own what a command would do.
//!
//! Owns an engine without rows and a host that has nothing, for programs that have
//! a schema and no server.

use crate::engine::{Engine, EngineOptions};
use crate::host::{ConfigRefusal, Connection, Facts, Host, Section};
use crate::session::ClientId;
use crate::tunables::Tunables;
use keyward_resp::{Frame, FrameLimits, FrameParser};
use keyward_schema::Schema;

/// What a command would do on an empty keyspace under a schema, and why, as
/// KEYWARD EXPLAIN tells it at that time, in microseconds since the epoch.
///
/// # Errors
/// What is wrong with the command, in Redis's words.
pub fn explain(schema: Schema, now_us: i64, command: &[&[u8]]) -> Result<Vec<String>, String> {
    let options = EngineOptions { seed: 0, databases: 1, tunables: Tunables::default() };
    let mut engine = Engine::new(options);
    engine.set_time(now_us);
    engine.govern(0, schema);
    let words = [&[b"KEYWARD".as_slice(), b"EXPLAIN"], command].concat();
    let reply = engine.call_trusted(&mut Nobody, &words);
    let frame = FrameParser::new(FrameLimits::default()).next(&reply);
    let frame = frame.ok().flatten().expect("the engine answers one whole reply");
    let text =
        |frame: &Frame| String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned();
    match frame.as_elements() {
        Some(lines) => Ok(lines.iter().map(text).collect()),
        None => Err(text(&frame)),
    }
}

/// A host that has nothing.
struct Nobody;

impl Host for Nobody {
    fn config_get(&mut self, _patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    fn config_set(
        &mut self,
        _client: ClientId,
        _pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal> {
        Err("there are no settings".to_owned())
    }

    fn config_rewrite(&mut self) -> Result<(), ConfigRefusal> {
        Err("there are no settings".to_owned())
    }

    fn reset_stats(&mut self) {}

    fn info(&mut self, _section: Section, _facts: &Facts, _out: &mut String) {}

    fn connection(&self, _client: ClientId) -> Connection {
        Connection::default()
    }
}
