//! The settings of a system's document: `redis.conf` beside its schema.
//!
//! The first command of the README must take the file, and a server started by that
//! command must have the document's settings. The documents of calls-bot and social name
//! none.

use crate::{System, all};
use keyward_resp::Frame;
use keyward_testkit::Server;
use std::path::Path;

#[test]
fn events_has_the_settings_of_its_document() {
    check(
        "events",
        &[
            ("maxmemory", "4294967296"),
            ("maxmemory-policy", "allkeys-lru"),
            ("save", "900 1 300 10 60 10000"),
            ("appendonly", "no"),
            ("tcp-keepalive", "300"),
            ("timeout", "300"),
        ],
    );
}

#[test]
fn telegram_gateway_has_the_settings_of_its_document() {
    check(
        "telegram-gateway",
        &[
            ("maxmemory", "1073741824"),
            ("maxmemory-policy", "allkeys-lru"),
            ("save", ""),
            ("appendonly", "no"),
        ],
    );
}

#[test]
fn api_billing_has_the_settings_of_its_document() {
    check(
        "api-billing",
        &[
            ("save", "900 1 300 10 60 10000"),
            ("dbfilename", "dump.rdb"),
            ("appendonly", "yes"),
            ("appendfilename", "appendonly.aof"),
            ("appendfsync", "everysec"),
        ],
    );
}

/// Its `dir /data` is left to `--dir`, which every server of these tests is started with.
#[test]
fn api_billing_keeps_its_files_where_dir_says() {
    let server = serve("api-billing");
    let mut client = server.client();
    client.call(["SELECT", "2"]).expect("an answer");
    let reply = client.call(["SET", "webhook:paddle:ptx_123", "processed"]).expect("an answer");
    assert_eq!(reply, Frame::Simple(b"OK".to_vec()));
    client.call(["SAVE"]).expect("an answer");
    for file in ["dump.rdb", "appendonlydir"] {
        assert!(server.directory().join(file).exists(), "{file}");
    }
}

/// A server by the first command of a system's README.
fn serve(name: &str) -> Server {
    let files = files_of_first_command(name);
    assert!(files.iter().any(|file| file.ends_with("redis.conf")), "{files:?}");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    Server::keyward_as_set(Path::new(env!("CARGO_BIN_EXE_keyward")), &files)
}

fn check(name: &str, document: &[(&str, &str)]) {
    let server = serve(name);
    let mut client = server.client();
    for (setting, value) in document {
        let reply = client.call(["CONFIG", "GET", setting]).expect("an answer");
        let found: Vec<_> = reply.as_elements().expect("a list").iter().collect();
        let found: Vec<_> = found.into_iter().filter_map(Frame::as_bytes).collect();
        assert_eq!(found, [setting.as_bytes(), value.as_bytes()], "{setting}");
    }
}

/// The files that the first command of the README serves, from the root of the repository.
fn files_of_first_command(name: &str) -> Vec<String> {
    let page = System::read(name).text("README.md");
    let block = page.split("```sh\n").nth(1).expect("a block of commands");
    let command = block.lines().next().expect("a command").split('#').next().unwrap_or_default();
    let words = command.strip_prefix("keyward serve ").expect("it serves the system");
    let root = all().join("..");
    words.split_whitespace().map(|file| root.join(file).display().to_string()).collect()
}
