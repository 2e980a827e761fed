//! Alerts of a real server: by Prometheus and by itself, on a real fault.

use crate::browser::get;
use crate::prometheus::Prometheus;
use keyward_testkit::{Certificates, Client, Server, call, free_port, markdown, wait_for};
use keyward_tls::rustls::crypto::ring;
use keyward_tls::rustls::pki_types::pem::PemObject;
use keyward_tls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use keyward_tls::rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WATCHED: &str = r#"
[keyspace]
name = "shop"
max_memory = "64mb"

[key."page:{name}"]
type = "string"
ttl = "1h"
alert.hit_ratio = { when = "< 70%", for = "1s", over = "1m", severity = "critical", say = "Look at {{it}}." }
alert.keys = { when = "> 1000000", for = "1s" }
"#;

/// A receiver of webhooks: the messages that it took.
fn receiver() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let taken: Arc<Mutex<Vec<String>>> = Arc::default();
    let of_thread = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            while !bytes.ends_with(b"]}") {
                match stream.read(&mut buffer) {
                    Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            of_thread.lock().expect("nobody panicked").push(text);
        }
    });
    (address, taken)
}

fn read(client: &mut Client, key: &str) {
    (0..200).for_each(|_| drop(call(client, &format!("GET {key}"))));
}

#[test]
fn prometheus_and_the_server_itself_agree_on_a_fault() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml").display().to_string();
    std::fs::write(&file, WATCHED).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (hook, taken) = receiver();
    let (place, hook) = (http.to_string(), format!("http://{hook}/hook"));
    let options = [&*file, "--http", &place, "--alert-webhook", &hook];
    let server = Server::keyward(Path::new(crate::PROGRAM), &options);
    let output = Command::new(crate::PROGRAM).args(["alerts", &file]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    std::fs::write(folder.path().join("rules.yml"), &output.stdout).expect("the rules are written");
    let prometheus = Prometheus::start(folder.path(), http, "rule_files: [rules.yml]\n");
    let client = &mut server.client();
    call(client, "SET page:there 1");
    let state = |wanted: &str| {
        let page = get(prometheus.address, "/api/v1/alerts", "");
        let is_firing = page.body.contains("\"state\":\"firing\"");
        let told = taken.lock().expect("nobody panicked");
        let last = told.last().cloned().unwrap_or_default();
        let itself = match (last.contains("\"firing\""), last.contains("\"resolved\"")) {
            (true, _) => "firing",
            (_, true) => "resolved",
            _ => "silent",
        };
        let both = format!("{} {itself}", if is_firing { "firing" } else { "silent" });
        if both == wanted { Ok(page.body) } else { Err(format!("{both}: {}", page.body)) }
    };
    wait_for(|| {
        prometheus
            .query("up{job='keyward'}")?
            .contains(",\"1\"]")
            .then_some(())
            .ok_or("not up".to_owned())
    });
    read(client, "page:there");
    state("silent silent").expect("all is well");
    // A fault: nothing is found any more.
    let body = wait_for(|| {
        read(client, "page:gone");
        state("firing firing")
    });
    for text in ["KeywardHitRatio", "page:{name}", "critical", "Look at {{it}}."] {
        assert!(body.contains(text), "{text} is not in {body}");
        let told = taken.lock().expect("nobody panicked").concat();
        assert!(told.contains(text), "{text} is not in {told}");
    }
    assert!(!body.contains("KeywardKeys"), "{body}");
    wait_for(|| {
        read(client, "page:there");
        state("silent resolved")
    });
    let told = taken.lock().expect("nobody panicked").clone();
    assert_eq!(told.len(), 2, "each is told once: {told:#?}");
}

/// A receiver by TLS that shows a certificate: the messages that it took.
fn encrypted(files: &Certificates, name: &str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(files.file(&format!("{name}.crt")))
            .expect("a file")
            .collect();
    let key = PrivateKeyDer::from_pem_file(files.file(&format!("{name}.key"))).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain.expect("certificates"), key)
        .expect("a pair");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let taken: Arc<Mutex<Vec<String>>> = Arc::default();
    let of_thread = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = StreamOwned::new(session, stream);
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            while !bytes.ends_with(b"]}") {
                match stream.read(&mut buffer) {
                    Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            of_thread.lock().expect("nobody panicked").push(text);
        }
    });
    (address, taken)
}

#[test]
fn a_webhook_by_https_takes_alerts_if_its_certificate_is_good_for_its_name() {
    const FIRES: &str = "[keyspace]\nname = \"shop\"\n\
        alert.clients = { when = \">= 0\", for = \"1s\", say = \"Somebody.\" }\n\
        [key.a]\ntype = \"string\"\nttl = \"1h\"\n";
    let files = Certificates::make();
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml").display().to_string();
    std::fs::write(&file, FIRES).expect("the schema is written");
    let start = |name: &str| {
        let (hook, taken) = encrypted(&files, name);
        let (hook, authorities) = (format!("https://{hook}/hook"), files.path("ca.crt"));
        let options =
            [&*file, "--alert-webhook", &hook, "--alert-webhook-ca-cert-file", &authorities];
        (Server::keyward(Path::new(crate::PROGRAM), &options), taken)
    };
    let begun = Instant::now();
    let (_misnamed, none) = start("misnamed");
    let (_named, some) = start("named");
    wait_for(|| {
        let taken = some.lock().expect("nobody panicked");
        let is_told = taken.iter().any(|text| text.contains("Somebody."));
        is_told.then_some(()).ok_or_else(|| format!("{taken:?}"))
    });
    // A schema that comes while nothing is watched is looked at by the next step.
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
    let told = none.lock().expect("nobody panicked").concat();
    assert!(!told.contains("Somebody."), "{told}");
}

#[test]
fn an_address_that_is_none_stops_the_start() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, WATCHED).expect("the schema is written");
    let port = free_port().to_string();
    let output = Command::new(crate::PROGRAM)
        .arg("serve")
        .arg(&file)
        .args(["--port", &port, "--appendonly", "no", "--alert-webhook", "mailto:me"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("alerts are told to an address such as"), "{said}");
}

#[test]
fn promtool_proves_the_rules_of_every_system_and_of_every_figure() {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let folder = tempfile::tempdir().expect("a directory");
    let every = folder.path().join("every.toml");
    let mut of_keyspace = String::new();
    let mut of_key = String::new();
    for figure in keyward_schema::AlertFigure::ALL {
        let when = |units: &[keyward_schema::AlertUnit]| {
            units.first().map(|unit| match unit {
                keyward_schema::AlertUnit::Share => "< 70%",
                keyward_schema::AlertUnit::Count => "> 5",
                keyward_schema::AlertUnit::Bytes => ">= 1mb",
                keyward_schema::AlertUnit::Time => "> 1s",
            })
        };
        for (text, when) in
            [(&mut of_keyspace, when(figure.of_keyspace())), (&mut of_key, when(figure.of_key()))]
        {
            text.extend(when.map(|when| format!("alert.{} = \"{when}\"\n", figure.name())));
        }
    }
    let text = format!(
        "[keyspace]\nname = \"every\"\nmax_memory = \"1gb\"\n{of_keyspace}\
         [key.\"{{{{tag:{{id}}}}}}:x\"]\ntype = \"string\"\nttl = \"1h\"\nexpect = 10\n\
         sink = {{ archive = \"every\" }}\n{of_key}"
    );
    std::fs::write(&every, text).expect("the schema is written");
    let files = ["events", "telegram-gateway"].map(|name| systems.join(name).join("keyward.toml"));
    let output = Command::new(crate::PROGRAM)
        .args(["alerts", "--test"])
        .args(files.iter().chain([&every]))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let cases: usize = said.split(' ').nth(2).and_then(|word| word.parse().ok()).expect("a count");
    assert!(cases > 40, "{said}");
}

#[test]
fn the_page_lists_every_figure() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/alerts.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let renewed = markdown::renew(&page, |part| match part.kind {
        "figures" => Some(keyward_http::figures_markdown()),
        "toml" => {
            let checked = keyward_schema::check("shop.toml", part.text.as_bytes());
            assert!(checked.schema.is_some(), "{:?}", checked.diagnostics);
            None
        }
        _ => None,
    });
    assert!(renewed.contains("| `hit_ratio` |"));
    markdown::keep(&path, &page, &renewed);
}
