//! The way of the fuzzer (`fuzz/src/http.rs`) to whatever reads bytes from outside.

use crate::access::{Credentials, Hosts};
use crate::info::Info;
use crate::request::Request;

/// Reads bytes as everything that a client can send: a request, and what its headers say.
/// Whether they were a request for this server.
pub fn read_anything(bytes: &[u8]) -> bool {
    // A text of INFO holds names that clients chose.
    let text = String::from_utf8_lossy(bytes);
    let info = Info::read(&text);
    for line in info.beginning("Replication", "slave") {
        let _ = line.1.number("lag");
    }
    let Ok(request) = Request::parse(bytes) else { return false };
    let _ = Credentials::read(request.header("authorization"));
    Hosts::new(["a.example".to_owned()]).admits(request.header("host"))
}
