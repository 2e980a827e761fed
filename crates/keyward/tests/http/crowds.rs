//! Many who ask at once: texts that make room for one another, and health beside an attack.

use crate::browser::{Page, exchange, get};
use crate::chromium::Chromium;
use keyward_testkit::{Server, free_port};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A server of a thousand patterns.
fn thousand(settings: &[&str]) -> (Server, SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("many.toml").display().to_string();
    std::fs::write(&file, crate::many(1000)).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let options = [&[&*file, "--http", &place], settings].concat();
    let server = Server::keyward(Path::new(crate::PROGRAM), &options);
    keyward_testkit::wait_until(|| get(http, "/readyz", "").status == 200);
    (server, http, folder)
}

const SESAME: &str = "Authorization: Basic OnNlc2FtZQ==\r\n";

#[test]
fn scrapes_and_the_overview_make_room_for_each_other() {
    for paths in [["/metrics", "/api/v1/overview"], ["/api/v1/overview", "/metrics"]] {
        let (_server, http, _folder) = thousand(&[]);
        keyward_testkit::wait_until(|| get(http, paths[0], "").body.contains("many999"));
        for round in 0..4 {
            for path in paths {
                let page = get(http, path, "");
                let Page { status, body, .. } = &page;
                assert_eq!(*status, 200, "{path} in round {round}: {body:.100}");
                assert!(body.contains("many999"), "{path}");
            }
            std::thread::sleep(Duration::from_millis(150));
        }
    }
}

#[test]
fn prometheus_scrapes_beside_an_open_dashboard() {
    let (_server, http, _folder) = thousand(&[]);
    let chromium = Chromium::start(1200, 900);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelectorAll('tbody tr').length === 1001");
    chromium.run(
        "const state = document.getElementById('state');
         window.complaints = [];
         new MutationObserver(() => { if (state.textContent) complaints.push(state.textContent); })
             .observe(state, { childList: true, characterData: true, subtree: true })",
    );
    for round in 0..10 {
        let page = get(http, "/metrics", "");
        assert_eq!(page.status, 200, "round {round}: {:.100}", page.body);
        std::thread::sleep(Duration::from_millis(900));
    }
    assert_eq!(chromium.run("return complaints"), serde_json::json!([]));
}

/// Asks for figures over and over on one connection, and reads what comes, or not.
fn attack(http: SocketAddr, is_deaf: bool, is_over: &AtomicBool) {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {http}\r\n{SESAME}\r\n").repeat(50);
    let mut buffer = vec![0; 1 << 16];
    while !is_over.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(http) else { continue };
        let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
        let _ = stream.write_all(request.as_bytes());
        let begun = Instant::now();
        while !is_over.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(4) {
            match is_deaf {
                true => std::thread::sleep(Duration::from_millis(50)),
                false => match stream.read(&mut buffer) {
                    Ok(0) => break,
                    Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
                    _ => {}
                },
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn health_is_told_beside_a_hundred_who_pipeline_scrapes_and_all_is_well_afterwards() {
    let (_server, http, _folder) = thousand(&["--requirepass", "sesame"]);
    keyward_testkit::wait_until(|| get(http, "/metrics", SESAME).body.contains("many999"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..100 {
            let is_over = &is_over;
            scope.spawn(move || attack(http, number % 2 == 0, is_over));
        }
        let begun = Instant::now();
        let mut told = Vec::new();
        while begun.elapsed() < Duration::from_secs(12) {
            for path in ["/healthz", "/readyz"] {
                let asked = Instant::now();
                let status = get(http, path, "").status;
                told.push((path, status, asked.elapsed().as_millis()));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        is_over.store(true, Ordering::Relaxed);
        let wrong: Vec<_> = told.iter().filter(|(_, status, _)| *status != 200).collect();
        assert!(wrong.is_empty(), "{wrong:?} of {}", told.len());
        let slow: Vec<_> = told.iter().filter(|(_, _, ms)| *ms > 8000).collect();
        assert!(slow.is_empty(), "{slow:?} of {}", told.len());
    });
    keyward_testkit::wait_until(|| get(http, "/metrics", SESAME).status == 200);
    for _ in 0..3 {
        for path in ["/metrics", "/api/v1/overview", "/api/v1/ties", "/healthz", "/readyz"] {
            assert_eq!(get(http, path, SESAME).status, 200, "{path}");
        }
    }
}

#[test]
fn health_needs_no_host() {
    let shop = crate::Shop::open(&[]);
    keyward_testkit::wait_until(|| get(shop.http, "/readyz", "").status == 200);
    for path in ["/healthz", "/readyz"] {
        for version in ["HTTP/1.0\r\n", "HTTP/1.1\r\nConnection: close\r\n"] {
            let page = exchange(shop.http, format!("GET {path} {version}\r\n").as_bytes());
            assert_eq!(page.status, 200, "{path} {version}: {page:?}");
        }
        // Names that disagree are no missing name.
        let two = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(exchange(shop.http, two.as_bytes()).status, 421, "{path}");
    }
    let page = exchange(shop.http, b"GET /metrics HTTP/1.0\r\n\r\n");
    assert_eq!(page.status, 421, "figures do");
}
