//! HTTP of a real server: figures for Prometheus, who may read them, and limits.

mod access;
mod alerts;
mod browser;
mod chromium;
mod crowds;
mod dashboard;
mod documented;
mod first_page;
mod following;
mod grafana;
mod hostile;
mod living;
mod metrics;
mod prometheus;
mod views;

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, free_port};
use std::net::SocketAddr;
use std::path::Path;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");

/// A schema with something to count.
const SHOP: &str = r#"
[keyspace]
name = "shop"
max_memory = "64mb"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
expect = 1000
[key."user:{id:uint}".fields]
email = "str"
age = "int?"

[key."users:by_email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }

[key."page:{name}"]
type = "string"
ttl = "1h"
max_size = "1kb"

[key."draft:{name}"]
type = "string"
ttl = "5m"
mode = "warn"
max_size = "1kb"
"#;

/// A schema of many patterns.
fn many(count: usize) -> String {
    let mut text = String::from("[keyspace]\nname = \"many\"\n");
    for number in 0..count {
        text.push_str(&format!("[key.\"many{number}:{{id}}\"]\ntype = \"string\"\nttl = \"1h\"\n"));
    }
    text
}

/// Sends a command that may be refused.
fn attempt(client: &mut Client, command: &str) -> Frame {
    let words: Vec<&str> = command.split(' ').collect();
    client.call(&words).unwrap_or_else(|error| panic!("{command}: {error}"))
}

/// A server of that schema with HTTP, and where that is.
struct Shop {
    server: Server,
    http: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Shop {
    fn open(settings: &[&str]) -> Shop {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("shop.toml");
        std::fs::write(&file, SHOP).expect("the schema is written");
        let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let (file, place) = (file.display().to_string(), http.to_string());
        let options = [&[&*file, "--http", &place], settings].concat();
        let server = Server::keyward(Path::new(PROGRAM), &options);
        Shop { server, http, _folder: folder }
    }
}
