//! Who may read figures, and how much may be asked.

use crate::browser::{exchange, get};
use crate::{Shop, attempt};
use keyward_resp::Frame;
use keyward_testkit::call;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// `Authorization` of somebody.
fn basic(user: &str, password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let whole = format!("{user}:{password}");
    let text: String = whole
        .as_bytes()
        .chunks(3)
        .flat_map(|chunk| {
            let mut group = [0; 4];
            group[1..=chunk.len()].copy_from_slice(chunk);
            let group = u32::from_be_bytes(group);
            let digits: Vec<char> = (0..4)
                .map(|place| match place <= chunk.len() {
                    true => DIGITS[(group >> (18 - 6 * place)) as usize & 63].into(),
                    false => '=',
                })
                .collect();
            digits
        })
        .collect();
    format!("Authorization: Basic {text}\r\n")
}

#[test]
fn nothing_listens_unless_it_is_told_to() {
    let server = keyward_testkit::Server::keyward(std::path::Path::new(crate::PROGRAM), &[]);
    let reply = call(&mut server.client(), "CONFIG GET http");
    let words: Vec<&[u8]> =
        reply.as_elements().expect("a list").iter().filter_map(|it| it.as_bytes()).collect();
    assert_eq!(words, [&b"http"[..], b""]);
    let reply = attempt(&mut server.client(), "CONFIG SET http 127.0.0.1:1");
    assert!(matches!(reply, Frame::Error(_)), "{reply:?}");
}

#[test]
fn an_address_that_others_can_reach_is_told_at_the_start() {
    let folder = tempfile::tempdir().expect("a directory");
    for (address, is_told) in [("0.0.0.0", true), ("127.0.0.1", false)] {
        let log = folder.path().join(address).display().to_string();
        let place = format!("{address}:{}", keyward_testkit::free_port());
        let options = ["--http", &*place, "--logfile", &log];
        let server =
            keyward_testkit::Server::keyward(std::path::Path::new(crate::PROGRAM), &options);
        let text = || std::fs::read_to_string(&log).unwrap_or_default();
        keyward_testkit::wait_until(|| text().contains("The dashboard is on"));
        call(&mut server.client(), "PING");
        assert_eq!(text().contains("can be reached from other machines"), is_told, "{}", text());
    }
}

#[test]
fn a_password_is_asked_for_where_clients_need_one() {
    let shop = Shop::open(&["--requirepass", "sesame"]);
    let status = |headers: &str| get(shop.http, "/metrics", headers).status;
    let page = get(shop.http, "/metrics", "");
    assert_eq!(page.status, 401);
    assert!(page.head.contains("WWW-Authenticate: Basic"), "{page:?}");
    assert!(!page.body.contains("redis_"), "{page:?}");
    assert_eq!(status(&basic("default", "wrong")), 401);
    assert_eq!(status(&basic("default", "sesame")), 200);
    assert_eq!(status(&basic("", "sesame")), 200);
    assert_eq!(status("Authorization: Basic %%%\r\n"), 400);
    assert_eq!(status("Authorization: Bearer x\r\n"), 401);
    // What was found out goes for who said it.
    assert_eq!(status(""), 401);
    // These are open, and say nothing else.
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let page = get(shop.http, path, "");
        assert_eq!((page.status, &*page.body), (200, body));
    }
}

#[test]
fn a_user_reads_figures_who_may_send_info() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    call(client, "ACL SETUSER scraper on >s1 resetkeys +info");
    call(client, "ACL SETUSER clerk on >s2 ~* +get");
    call(client, "ACL SETUSER gone off >s3 +@all");
    call(client, "ACL SETUSER default resetpass >s4");
    let status =
        |user: &str, password: &str| get(shop.http, "/metrics", &basic(user, password)).status;
    assert_eq!(status("scraper", "s1"), 200);
    assert_eq!(status("clerk", "s2"), 403);
    assert_eq!(status("gone", "s3"), 401);
    assert_eq!(status("nobody", "s1"), 401);
    assert_eq!(get(shop.http, "/metrics", "").status, 401);
}

#[test]
fn a_name_that_is_not_its_own_is_not_served() {
    let shop = Shop::open(&["--http-hosts", "metrics.example, other.example"]);
    let status = |path: &str, host: &str| get(shop.http, path, &format!("Host: {host}\r\n")).status;
    for path in ["/metrics", "/healthz", "/readyz", "/"] {
        assert_eq!(status(path, "evil.example"), 421, "{path}");
    }
    for host in ["metrics.example", "other.example:9121", "localhost", "127.0.0.1:80", "[::1]"] {
        assert_eq!(status("/metrics", host), 200, "{host}");
    }
    let page = exchange(shop.http, b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(page.status, 421, "a request without a Host");
}

#[test]
fn what_is_no_request_is_refused_and_hurts_nobody() {
    let shop = Shop::open(&[]);
    let status = |request: &[u8]| exchange(shop.http, request).status;
    assert_eq!(status(b"PUT /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
    assert_eq!(status(b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), 411);
    assert_eq!(
        status(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        404
    );
    assert_eq!(status(b"PING\r\n\r\n"), 400);
    assert_eq!(status(b"\x16\x03\x01\x02\x00\r\n\r\n"), 400);
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(20_000));
    assert_eq!(status(long.as_bytes()), 431);
    let body = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n";
    assert_eq!(status(body), 413);
    let head = exchange(
        shop.http,
        b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((head.status, &*head.body), (200, ""));
    assert_eq!(get(shop.http, "/metrics", "").status, 200);
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let shop = Shop::open(&[]);
    // Figures of a start may be of before rows are loaded.
    keyward_testkit::wait_until(|| get(shop.http, "/readyz", "").status == 200);
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..4 {
        // Some say nothing, some begin a request.
        for number in 0..50 {
            let mut stream = TcpStream::connect(shop.http).expect("it listens");
            if number % 2 == 0 {
                stream.write_all(b"GET /healthz HTTP/1.1\r\n").expect("it takes them");
            }
            idle.push(stream);
        }
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(get(shop.http, path, "").status, 200, "{path} beside {}", idle.len());
        }
    }
    // Clients are served all the while.
    assert_eq!(call(&mut shop.server.client(), "PING").as_bytes(), Some(&b"PONG"[..]));
}

#[test]
fn who_says_nothing_or_dawdles_is_cut_off() {
    let shop = Shop::open(&[]);
    let begun = Instant::now();
    let mut silent = TcpStream::connect(shop.http).expect("it listens");
    silent.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let mut slow = TcpStream::connect(shop.http).expect("it listens");
    slow.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    while slow.write_all(b"x").is_ok() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(silent.read(&mut [0; 64]).expect("an end"), 0);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// Memory of a process that is resident, in bytes.
fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn memory_of_http_is_bounded_with_a_thousand_patterns() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("many.toml");
    std::fs::write(&file, crate::many(1000)).expect("the schema is written");
    let http = std::net::SocketAddr::from(([127, 0, 0, 1], keyward_testkit::free_port()));
    let (file, place) = (file.display().to_string(), http.to_string());
    let options = [&*file, "--http", &place];
    let server = keyward_testkit::Server::keyward(std::path::Path::new(crate::PROGRAM), &options);
    keyward_testkit::wait_until(|| get(http, "/metrics", "").body.contains("many999"));
    let before = resident_bytes(server.process_id());
    let mut most = before;
    // Everybody asks for what is largest, again and again as figures change, and reads nothing.
    let mut greedy: Vec<TcpStream> = Vec::new();
    for round in 0..10 {
        for _ in 0..8 {
            let mut stream = TcpStream::connect(http).expect("it listens");
            let path = ["/metrics", "/api/v1/overview"][greedy.len() % 2];
            let request = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\n\r\n");
            let _ = stream.write_all(request.as_bytes());
            greedy.push(stream);
        }
        std::thread::sleep(Duration::from_millis(200));
        most = most.max(resident_bytes(server.process_id()));
        assert_eq!(get(http, "/healthz", "").status, 200, "round {round}");
    }
    // History grows for an hour: 240 samples of 20 bytes for each of 1,001 tables.
    let history = (240 * 20 * 1001) >> 10;
    let grown = (most - before) >> 10;
    assert!(grown + history < 16 << 10, "{grown} kB more, and history");
    drop(greedy);
    keyward_testkit::wait_until(|| get(http, "/metrics", "").status == 200);
}

#[test]
fn a_server_that_loads_is_not_ready() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().display().to_string();
    {
        let server = keyward_testkit::Server::keyward(
            std::path::Path::new(crate::PROGRAM),
            &["--dir", &dir],
        );
        let client = &mut server.client();
        for chunk in 0..200 {
            let pairs = (0..1000).flat_map(|n| [format!("k{chunk}-{n}"), "v".repeat(50)]);
            let words: Vec<String> = std::iter::once("MSET".to_owned()).chain(pairs).collect();
            client.call(&words).expect("they are set");
        }
        call(client, "SAVE");
    }
    let http = std::net::SocketAddr::from(([127, 0, 0, 1], keyward_testkit::free_port()));
    let port = keyward_testkit::free_port().to_string();
    let mut child = std::process::Command::new(crate::PROGRAM)
        .args([
            "serve",
            "--dir",
            &dir,
            "--port",
            &port,
            "--appendonly",
            "no",
            "--http",
            &http.to_string(),
        ])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    keyward_testkit::wait_until(|| TcpStream::connect(http).is_ok());
    let mut statuses = Vec::new();
    keyward_testkit::wait_until(|| {
        statuses.push(get(http, "/readyz", "").status);
        statuses.last() == Some(&200)
    });
    child.kill().expect("it ends");
    child.wait().expect("it has ended");
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    assert_eq!(statuses.first(), Some(&503), "{statuses:?}");
}

#[test]
fn a_right_that_is_withdrawn_is_gone_at_once() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    crate::metrics::fresh(&shop);
    call(client, "ACL SETUSER default resetpass >sesame");
    call(client, "ACL SETUSER scraper on >s1 resetkeys +info");
    let who = "Authorization: Basic c2NyYXBlcjpzMQ==\r\n";
    for _ in 0..3 {
        assert_eq!(get(shop.http, "/metrics", who).status, 200);
        call(client, "ACL SETUSER scraper -info");
        assert_eq!(get(shop.http, "/metrics", who).status, 403);
        call(client, "ACL SETUSER scraper +info");
        assert_eq!(get(shop.http, "/metrics", who).status, 200);
        call(client, "ACL SETUSER scraper resetpass >s2");
        assert_eq!(get(shop.http, "/metrics", who).status, 401);
        call(client, "ACL SETUSER scraper resetpass >s1");
    }
    call(client, "ACL DELUSER scraper");
    assert_eq!(get(shop.http, "/metrics", who).status, 401);
}

#[test]
fn who_receives_nothing_for_ten_seconds_or_says_nothing_for_thirty_is_cut_off() {
    let shop = Shop::open(&[]);
    keyward_testkit::wait_until(|| get(shop.http, "/readyz", "").status == 200);
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", shop.http);
    let bytes = exchange(
        shop.http,
        request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes(),
    );
    let (one, count) = (bytes.head.len() + 4 + bytes.body.len(), 1000);
    // More than the sockets hold is asked for, and nothing of it read.
    let mut deaf = TcpStream::connect(shop.http).expect("it listens");
    deaf.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    deaf.write_all(request.repeat(count).as_bytes()).expect("it takes them");
    let mut silent = TcpStream::connect(shop.http).expect("it listens");
    silent.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    silent.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it takes it");
    assert!(silent.read(&mut [0; 1024]).expect("a response") > 0);
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(13));
    let mut received = Vec::new();
    let _ = deaf.read_to_end(&mut received);
    assert!(received.len() < one * count / 2, "{} of {}", received.len(), one * count);
    assert_eq!(silent.read(&mut [0; 64]).expect("an end"), 0);
    let silence = begun.elapsed();
    assert!((Duration::from_secs(29)..Duration::from_secs(45)).contains(&silence), "{silence:?}");
}
