//! What is odd or hostile: ids of a schema that was in force before, ids that are none, a server
//! that stands still or has no schema, names that turn the direction of writing, how long a
//! secret is.

use crate::Shop;
use crate::browser::get;
use crate::chromium::Chromium;
use keyward_testkit::{Server, call, free_port, wait_until};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

fn id_of(overview: &Value, pattern: &str) -> u64 {
    let patterns = overview["patterns"].as_array().expect("patterns");
    let found = patterns.iter().find(|it| it["pattern"] == pattern).expect("it is there");
    found["id"].as_u64().expect("a number")
}

#[test]
fn an_id_is_of_the_schemas_that_it_was_told_of() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    crate::metrics::fresh(&shop);
    let ask = |path: &str| get(shop.http, &format!("/api/v1/{path}"), "");
    let overview = || serde_json::from_str::<Value>(&ask("overview").body).expect("JSON");
    let before = overview();
    let (page, schemas) = (id_of(&before, "page:{name}"), &before["schemas"]);
    let schemas = schemas.as_str().expect("a text");
    let paths = ["about", "history", "keys", "misfits", "expiring"];
    for path in paths {
        let asked = format!("{path}?id={page}&schemas={schemas}");
        assert_eq!(ask(&asked).status, 200, "{asked}");
    }
    for path in ["history?id=x", "history?id=-1", "history?id=", "expiring?id=x", "about?id=x"] {
        assert_eq!(ask(path).status, 404, "{path}");
    }
    let other = crate::SHOP.replacen(
        "[key.",
        "[key.\"first:{n}\"]\ntype = \"string\"\nttl = \"1h\"\n[key.",
        1,
    );
    crate::metrics::apply(client, &other);
    wait_until(|| overview()["schemas"] != schemas);
    assert_ne!(id_of(&overview(), "page:{name}"), page);
    for path in paths {
        let asked = format!("{path}?id={page}&schemas={schemas}");
        assert_eq!(ask(&asked).status, 409, "{asked}");
        assert_eq!(ask(&format!("{path}?id={page}")).status, 200, "{path}");
    }
}

#[test]
fn a_server_that_stands_still_is_told_and_one_without_a_schema_has_no_plots() {
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let server = Server::keyward(Path::new(crate::PROGRAM), &["--http", &http.to_string()]);
    let chromium = Chromium::start(1000, 800);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.body.innerText.includes('The server has no schema')");
    let drawn = "return [document.querySelectorAll('main .plot').length, document.body.innerText.includes('Nothing has grown')]";
    assert_eq!(chromium.run(drawn), json!([0, false]));
    let signal = |name: &str| {
        let process = server.process_id().to_string();
        assert!(Command::new("kill").args([name, &process]).status().expect("kill").success());
    };
    signal("-STOP");
    chromium.wait("document.getElementById('live').className === 'dot bad'");
    chromium.wait("document.getElementById('state').textContent === 'The server does not answer.'");
    signal("-CONT");
    chromium.wait("document.getElementById('live').className === 'dot good'");
    chromium.wait("document.getElementById('state').textContent === ''");
}

#[test]
fn names_in_titles_are_harmless_and_the_length_of_a_secret_is_masked() {
    let schema = "[keyspace]\nname = \"a\"\n[key.\"token:{n}\"]\ntype = \"string\"\nttl = \"1h\"\n\
        secret =\ttrue\ngroup = \"<b>g</b>\u{202e}roup\"\n";
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("a.toml");
    std::fs::write(&file, schema).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (file, place) = (file.display().to_string(), http.to_string());
    let options = [&*file, "--http", &place, "--requirepass", "sesame"];
    let server = Server::keyward(Path::new(crate::PROGRAM), &options);
    let client = &mut server.client();
    call(client, "AUTH sesame");
    call(client, &format!("SET token:1 {}", "s".repeat(777)));
    let ask = |path: &str| get(http, path, "Authorization: Basic OnNlc2FtZQ==\r\n").body;
    wait_until(|| ask("/api/v1/overview").contains("token:{n}"));
    let keys: Value = serde_json::from_str(&ask("/api/v1/keys?id=1")).expect("JSON");
    assert_eq!(keys["keys"][0]["parts"], json!([["", "(redacted)"]]), "{keys}");
    assert_eq!(keys["keys"][0]["length"], json!(null), "{keys}");
    let chromium = Chromium::start(1000, 800);
    chromium.open(&format!("http://default:sesame@{http}/#/document"));
    chromium.wait("document.querySelector('main h2')?.textContent === '<b>g</b>\\\\u202eroup'");
    assert_eq!(chromium.run("return document.querySelectorAll('main h2 b').length"), json!(0));
    // Blanks of its text are blanks; what turns the direction of writing is not.
    chromium.run("document.querySelector('article a').click()");
    chromium.wait("document.querySelector('pre.code')?.innerText.includes('secret =    true')");
    let text = chromium.run("return document.querySelector('pre.code').innerText").to_string();
    assert!(text.contains("<b>g</b>\\\\u202eroup"), "{text}");
}
