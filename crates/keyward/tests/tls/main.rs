//! TLS: real clients, certificates that change, those who shake hands and those who do not.

mod tools;

use keyward_resp::{Frame, split_words};
use keyward_testkit::{Certificates, Server, call, free_port, wait_until};
use keyward_tls::rustls::ProtocolVersion;
use keyward_tls::{Client, ClientOptions, Pair};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a port for TLS.
struct Encrypted {
    server: Server,
    port: u16,
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

/// A Keyward that shows the certificate of this name.
fn keyward(files: &Certificates, name: &str, options: &[&str]) -> Encrypted {
    let port = free_port();
    let settings = files.settings(port, name);
    let settings: Vec<&str> =
        settings.iter().map(String::as_str).chain(options.iter().copied()).collect();
    Encrypted { server: Server::keyward(program(), &settings), port }
}

/// A redis-server with the same settings.
fn redis(files: &Certificates, name: &str, options: &[&str]) -> Encrypted {
    let port = free_port();
    let settings = files.settings(port, name);
    let settings: Vec<&str> =
        settings.iter().map(String::as_str).chain(options.iter().copied()).collect();
    Encrypted { server: Server::redis(&settings), port }
}

/// A connection with a certificate of this name, if any.
fn connect(files: &Certificates, port: u16, name: Option<&str>) -> io::Result<Client> {
    let file = |name: String| Some(files.file(&name));
    let pair = name.map_or_else(Pair::default, |name| Pair {
        certificate: file(format!("{name}.crt")),
        key: file(format!("{name}.key")),
    });
    let options =
        ClientOptions { authority_file: file("ca.crt".to_owned()), pair, ..Default::default() };
    let socket = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Client::shake_hands(options.read().map_err(io::Error::other)?, socket)
}

/// What comes of a PING; in TLS 1.3 a client hears only then that it is not believed.
fn ping(client: io::Result<Client>) -> io::Result<()> {
    let mut client = client?;
    client.write_all(b"PING\r\n")?;
    expect(&mut client, b"+PONG\r\n")
}

fn expect(client: &mut Client, expected: &[u8]) -> io::Result<()> {
    let mut answer = vec![0; expected.len()];
    client.read_exact(&mut answer)?;
    assert_eq!(answer.escape_ascii().to_string(), expected.escape_ascii().to_string());
    Ok(())
}

/// Runs redis-cli by TLS.
fn redis_cli(files: &Certificates, port: u16, name: Option<&str>, words: &[&str]) -> Output {
    let mut command = Command::new("redis-cli");
    command.args(["--tls", "-p", &port.to_string(), "--cacert", &files.path("ca.crt")]);
    if let Some(name) = name {
        command.args(["--cert", &files.path(&format!("{name}.crt"))]);
        command.args(["--key", &files.path(&format!("{name}.key"))]);
    }
    command.args(words).output().expect("redis-cli is needed")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// What an error says that a command must end with.
fn refused(client: &mut keyward_testkit::Client, command: &str) -> String {
    let words = split_words(command.as_bytes()).expect("tests quote well");
    let reply = client.call(words).expect("an answer");
    let Frame::Error(text) = reply else { panic!("{command}: an error, not {reply:?}") };
    String::from_utf8(text).expect("a text")
}

fn log(server: &Server) -> String {
    std::fs::read_to_string(server.directory().join("log")).expect("a log")
}

#[test]
fn redis_cli_is_served_if_it_shows_a_certificate_that_is_believed() {
    let files = Certificates::make();
    let check = |auth: &str, name: Option<&str>, is_served: bool| {
        let keyward = keyward(&files, "server", &["--tls-auth-clients", auth]);
        let output = redis_cli(&files, keyward.port, name, &["PING"]);
        assert_eq!(said(&output) == "PONG", is_served, "{auth}, {name:?}: {output:?}");
    };
    check("yes", Some("client"), true);
    check("yes", Some("stranger"), false);
    check("yes", None, false);
    check("optional", Some("client"), true);
    check("optional", Some("stranger"), false);
    check("optional", None, true);
    check("no", None, true);
    check("no", Some("stranger"), true);
}

#[test]
fn a_server_can_be_reached_by_tls_alone() {
    let files = Certificates::make();
    for name in ["server", "rsa", "old-version"] {
        let port = free_port();
        let directory = tempfile::tempdir().expect("a directory");
        let mut child = Command::new(program())
            .args(["serve", "--port", "0", "--appendonly", "no", "--dir"])
            .arg(directory.path())
            .args(files.settings(port, name))
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let answers = || said(&redis_cli(&files, port, Some("client"), &["PING"])) == "PONG";
        wait_until(answers);
        let info = redis_cli(&files, port, Some("client"), &["INFO", "server"]);
        assert!(said(&info).contains(&format!("tcp_port:{port}\r\n")), "{info:?}");
        let clients = said(&redis_cli(&files, port, Some("client"), &["CLIENT", "LIST"]));
        assert!(clients.contains(&format!("laddr=127.0.0.1:{port} ")), "{clients}");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
}

#[test]
fn versions_are_those_that_are_set() {
    let files = Certificates::make();
    let port = free_port();
    let check = |protocols: &str, expected: [(&str, bool); 2]| {
        let keyward =
            keyward(&files, "server", &["--tls-auth-clients", "no", "--tls-protocols", protocols]);
        for (version, is_served) in expected {
            let output = Command::new("openssl")
                .args(["s_client", version, "-connect", &format!("127.0.0.1:{}", keyward.port)])
                .stdin(Stdio::null())
                .output()
                .expect("openssl is needed");
            let text = String::from_utf8_lossy(&output.stdout);
            let has_cipher = text.contains("Cipher is ") && !text.contains("Cipher is (NONE)");
            assert_eq!(has_cipher, is_served, "{protocols}, {version}: {text}");
        }
    };
    check("TLSv1.2", [("-tls1_2", true), ("-tls1_3", false)]);
    check("TLSv1.3", [("-tls1_2", false), ("-tls1_3", true)]);
    check("", [("-tls1_2", true), ("-tls1_3", true)]);
    let settings = files.settings(port, "server");
    let output = Command::new(program())
        .args(["serve", "--port", "0", "--appendonly", "no", "--tls-protocols", "SSLv3"])
        .args(settings)
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("Failed to configure TLS. Check logs for more info."), "{text}");
}

/// What the server shows to who comes now.
fn shown(files: &Certificates, port: u16) -> Vec<u8> {
    let options =
        ClientOptions { authority_file: Some(files.file("ca.crt")), ..Default::default() };
    let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    let config = options.read().expect("sound files");
    let client = Client::shake_hands(config, socket).expect("a handshake");
    assert_eq!(client.version(), Some(ProtocolVersion::TLSv1_3));
    client.certificate().expect("a certificate").to_vec()
}

#[test]
fn certificates_of_version_one_are_believed_if_the_authority_signed_them() {
    let files = Certificates::make();
    for protocols in ["TLSv1.2", "TLSv1.3"] {
        let ec = keyward(&files, "server", &["--tls-protocols", protocols]);
        ping(connect(&files, ec.port, Some("old-version"))).expect("it is believed");
        // Signed by another authority than the server believes.
        assert!(ping(connect(&files, ec.port, Some("old-rsa"))).is_err(), "{protocols}");
        let output = redis_cli(&files, ec.port, Some("old-version"), &["PING"]);
        assert_eq!(said(&output), "PONG", "{output:?}");
        let authority = files.path("rsa-ca.crt");
        let options = ["--tls-protocols", protocols, "--tls-ca-cert-file", &authority];
        let rsa = keyward(&files, "old-version", &options);
        ping(connect(&files, rsa.port, Some("old-rsa"))).expect("it is believed");
        assert!(ping(connect(&files, rsa.port, Some("old-version"))).is_err(), "{protocols}");
        // A certificate that is not the key's.
        let pair = Pair {
            certificate: Some(files.file("old-version.crt")),
            key: Some(files.file("client.key")),
        };
        assert!(ClientOptions { pair, ..Default::default() }.read().is_err());
    }
    // MIGRATE to a server that shows one.
    let here = keyward(&files, "server", &["--tls-cluster", "yes"]);
    let there = redis(&files, "old-version", &["--tls-auth-clients", "no"]);
    let mut client = here.server.client();
    call(&mut client, "SET a 1");
    let migrate = format!("MIGRATE 127.0.0.1 {} a 0 5000", there.port);
    assert_eq!(call(&mut client, &migrate), Frame::Simple("OK".into()));
}

/// What openssl's client says while it sends commands and waits a little.
fn s_client(files: &Certificates, port: u16, options: &str, commands: &str) -> String {
    let script = format!(
        "(sleep 0.3; printf '{commands}'; sleep 1) | \
         openssl s_client -connect 127.0.0.1:{port} -CAfile ca.crt {options} 2>&1"
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(files.directory())
        .output()
        .expect("openssl is needed");
    said(&output)
}

#[test]
fn by_tls_1_2_too_a_certificate_is_checked_if_one_is_shown() {
    let files = Certificates::make();
    let check = |auth: &str, name: &str, is_served: bool| {
        let keyward =
            keyward(&files, "server", &["--tls-auth-clients", auth, "--tls-protocols", "TLSv1.2"]);
        let shown = match name {
            "" => String::new(),
            name => format!("-cert {name}.crt -key {name}.key"),
        };
        let text = s_client(&files, keyward.port, &shown, "PING\\r\\n");
        assert_eq!(text.contains("+PONG"), is_served, "{auth}, {name}: {text}");
    };
    check("optional", "", true);
    check("optional", "client", true);
    check("optional", "old-version", true);
    check("optional", "stranger", false);
    check("yes", "", false);
    check("yes", "client", true);
}

#[test]
fn sessions_are_resumed_if_that_is_set() {
    let files = Certificates::make();
    let check = |caching: &str, expected: bool| {
        let options = ["--tls-auth-clients", "no", "--tls-session-caching", caching];
        let keyward = keyward(&files, "server", &options);
        for version in ["-tls1_2", "-tls1_3"] {
            let first = format!("{version} -sess_out session");
            assert!(s_client(&files, keyward.port, &first, "PING\\r\\n").contains("+PONG"));
            // Without a ticket there is no session to come back with.
            let again = match files.file("session").exists() {
                true => s_client(
                    &files,
                    keyward.port,
                    &format!("{version} -sess_in session"),
                    "PING\\r\\n",
                ),
                false => String::new(),
            };
            assert_eq!(again.contains("Reused, TLS"), expected, "{caching}, {version}: {again}");
            assert!(again.is_empty() || again.contains("+PONG"), "{again}");
            let _ = std::fs::remove_file(files.file("session"));
        }
    };
    check("yes", true);
    check("no", false);
}

#[test]
fn who_wants_to_renegotiate_is_refused_and_harms_nobody() {
    let files = Certificates::make();
    let options = ["--tls-auth-clients", "no", "--tls-protocols", "TLSv1.2"];
    let keyward = keyward(&files, "server", &options);
    // A line of R has openssl's client begin another handshake.
    let text = s_client(&files, keyward.port, "", "R\\n");
    assert!(text.contains("RENEGOTIATING"), "{text}");
    assert!(!text.contains("+PONG"), "{text}");
    ping(connect(&files, keyward.port, None)).expect("others are served");
    let mut plain = keyward.server.client();
    assert_eq!(call(&mut plain, "PING"), Frame::Simple("PONG".into()));
    assert!(!log(&keyward.server).contains("panicked"));
}

#[test]
fn a_session_counts_as_memory_of_its_client() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let mut plain = keyward.server.client();
    let mut client = connect(&files, keyward.port, None).expect("a handshake");
    client.write_all(b"PING\r\n").expect("sent");
    expect(&mut client, b"+PONG\r\n").expect("an answer");
    let list = call(&mut plain, "CLIENT LIST");
    let list = String::from_utf8_lossy(list.as_bytes().expect("a text")).into_owned();
    let bytes_of = |port: u16| -> usize {
        let own = format!("laddr=127.0.0.1:{port} ");
        let line = list.lines().find(|line| line.contains(&own)).expect("it is listed");
        let (_, total) = line.split_once("tot-mem=").expect("a field");
        total.split(' ').next().expect("a value").parse().expect("a number")
    };
    let plainly = bytes_of(keyward.server.address().port());
    // The plain one has a command under way, and so a buffer.
    assert!(bytes_of(keyward.port) > 3000, "{plainly}: {list}");
}

#[test]
fn config_set_reads_certificates_anew_while_connections_go_on() {
    let files = Certificates::make();
    let options = ["--tls-auth-clients", "no"];
    let keyward = keyward(&files, "server", &options);
    let mut plain = keyward.server.client();
    let mut old = connect(&files, keyward.port, None).expect("a handshake");
    let first = shown(&files, keyward.port);
    let renew = format!(
        "CONFIG SET tls-cert-file {} tls-key-file {}",
        files.path("renewed.crt"),
        files.path("renewed.key")
    );
    assert_eq!(call(&mut plain, &renew), Frame::Simple("OK".into()));
    let second = shown(&files, keyward.port);
    assert_ne!(first, second);
    old.write_all(b"PING\r\n").expect("it is open");
    expect(&mut old, b"+PONG\r\n").expect("it goes on");
    // The same names, other files.
    for end in ["crt", "key"] {
        let (from, to) = (files.file(&format!("rsa.{end}")), files.file(&format!("renewed.{end}")));
        std::fs::copy(from, to).expect("a copy");
    }
    assert_eq!(shown(&files, keyward.port), second);
    assert_eq!(call(&mut plain, &renew), Frame::Simple("OK".into()));
    assert_ne!(shown(&files, keyward.port), second);
}

#[test]
fn config_set_of_what_cannot_be_used_is_refused_as_redis_does() {
    let files = Certificates::make();
    let servers = [keyward(&files, "server", &[]), redis(&files, "server", &[])];
    let path = |name: &str| files.path(name);
    let commands = [
        "CONFIG SET tls-cert-file /none.crt".to_owned(),
        format!("CONFIG SET tls-key-file {}", path("client.key")),
        format!("CONFIG SET maxclients 100 tls-ca-cert-file {}", path("server.key")),
        "CONFIG SET tls-ca-cert-file \"\"".to_owned(),
        "CONFIG SET tls-protocols SSLv3".to_owned(),
        "CONFIG SET tls-auth-clients perhaps".to_owned(),
        "CONFIG SET tls-port 99999".to_owned(),
        "CONFIG SET tls-session-caching perhaps".to_owned(),
    ];
    for command in commands {
        let [ours, theirs] = [0, 1].map(|at: usize| {
            let mut client = servers[at].server.client();
            let before = call(&mut client, "CONFIG GET tls-*-* maxclients");
            let refusal = refused(&mut client, &command);
            assert_eq!(call(&mut client, "CONFIG GET tls-*-* maxclients"), before, "{command}");
            refusal
        });
        assert_eq!(ours, theirs, "{command}");
    }
    let log = log(&servers[0].server);
    assert!(log.contains("Failed to load certificate: /none.crt: "), "{log}");
    ping(connect(&files, servers[0].port, Some("client"))).expect("all is as before");
}

#[test]
fn the_port_can_be_changed_and_closed_while_the_server_runs() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let mut plain = keyward.server.client();
    let mut old = connect(&files, keyward.port, None).expect("a handshake");
    let other = free_port();
    call(&mut plain, &format!("CONFIG SET tls-port {other}"));
    ping(connect(&files, other, None)).expect("it listens there");
    assert!(connect(&files, keyward.port, None).is_err());
    let taken =
        refused(&mut plain, &format!("CONFIG SET tls-port {}", keyward.server.address().port()));
    let reason = "Unable to listen on this port. Check server logs.";
    assert_eq!(
        taken,
        format!("ERR CONFIG SET failed (possibly related to argument 'tls-port') - {reason}")
    );
    ping(connect(&files, other, None)).expect("it still listens there");
    call(&mut plain, "CONFIG SET tls-port 0");
    assert!(connect(&files, other, None).is_err());
    old.write_all(b"PING\r\n").expect("it is open");
    expect(&mut old, b"+PONG\r\n").expect("connections stay");
    call(&mut plain, "CONFIG SET bind \"127.0.0.1 -::1\"");
    call(&mut plain, &format!("CONFIG SET tls-port {other}"));
    ping(connect(&files, other, None)).expect("it listens again");
}

#[test]
fn sighup_reads_certificates_anew_and_keeps_the_old_pair_where_a_file_is_bad() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let hang_up = || {
        let process = keyward.server.process_id().to_string();
        let status = Command::new("kill").args(["-HUP", &process]).status().expect("kill");
        assert!(status.success());
    };
    let mut old = connect(&files, keyward.port, None).expect("a handshake");
    let first = shown(&files, keyward.port);
    for end in ["crt", "key"] {
        let (from, to) =
            (files.file(&format!("renewed.{end}")), files.file(&format!("server.{end}")));
        std::fs::copy(from, to).expect("a copy");
    }
    hang_up();
    wait_until(|| shown(&files, keyward.port) != first);
    wait_until(|| log(&keyward.server).contains("the certificates are read"));
    let second = shown(&files, keyward.port);
    std::fs::write(files.file("server.crt"), "nothing").expect("it is written");
    hang_up();
    wait_until(|| log(&keyward.server).contains("not reloaded: everything stays as it was"));
    let text = log(&keyward.server);
    assert!(text.contains("server.crt: no certificate in PEM is in it"), "{text}");
    assert_eq!(shown(&files, keyward.port), second);
    old.write_all(b"PING\r\n").expect("it is open");
    expect(&mut old, b"+PONG\r\n").expect("connections stay");
}

#[test]
fn what_comes_with_the_end_of_the_handshake_is_served_at_once() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let options =
        ClientOptions { authority_file: Some(files.file("ca.crt")), ..Default::default() };
    let config = options.read().expect("sound files");
    for _ in 0..20 {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, keyward.port)).expect("a connection");
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let mut client = Client::shake_hands_with(config.clone(), socket, b"PING\r\nPING\r\n")
            .expect("a handshake");
        expect(&mut client, b"+PONG\r\n+PONG\r\n").expect("answers");
    }
}

#[test]
fn pipelines_large_values_and_slow_readers_get_every_byte() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let mut client = connect(&files, keyward.port, None).expect("a handshake");
    let value: Vec<u8> =
        (0..8_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    client
        .write_all(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n", value.len()).as_bytes())
        .expect("sent");
    client.write_all(&value).expect("sent");
    client.write_all(b"\r\n").expect("sent");
    expect(&mut client, b"+OK\r\n").expect("an answer");
    let head = format!("${}\r\n", value.len());
    client.write_all(&b"GET k\r\n".repeat(3)).expect("sent");
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..3 {
        expect(&mut client, head.as_bytes()).expect("a head");
        let mut answer = vec![0; value.len()];
        client.read_exact(&mut answer).expect("a value");
        assert!(answer == value, "the value came back changed");
        expect(&mut client, b"\r\n").expect("an end");
    }
    // Replies wait while requests are written.
    let count = 50_000;
    for _ in 0..count / 100 {
        client.write_all(&b"PING\r\n".repeat(100)).expect("sent");
    }
    let mut answers = vec![0; count * 7];
    client.read_exact(&mut answers).expect("answers");
    assert!(answers == b"+PONG\r\n".repeat(count));
}

#[test]
fn messages_and_the_answers_to_blocked_clients_are_sent_by_themselves() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let mut plain = keyward.server.client();
    let mut listener = connect(&files, keyward.port, None).expect("a handshake");
    listener.write_all(b"SUBSCRIBE news\r\n").expect("sent");
    expect(&mut listener, b"*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n").expect("an answer");
    let mut blocked = connect(&files, keyward.port, None).expect("a handshake");
    blocked.write_all(b"BLPOP list 0\r\n").expect("sent");
    wait_until(|| {
        let info = call(&mut plain, "INFO clients");
        let info = info.as_bytes().unwrap_or_default();
        info.windows(17).any(|part| part == b"blocked_clients:1")
    });
    call(&mut plain, "PUBLISH news hello");
    expect(&mut listener, b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n")
        .expect("a message");
    call(&mut plain, "RPUSH list one");
    expect(&mut blocked, b"*2\r\n$4\r\nlist\r\n$3\r\none\r\n").expect("an answer");
}

#[test]
fn a_client_is_answered_while_a_script_is_slow() {
    let files = Certificates::make();
    let options = ["--tls-auth-clients", "no", "--busy-reply-threshold", "50"];
    let keyward = keyward(&files, "server", &options);
    let mut script = keyward.server.client();
    let mut other = connect(&files, keyward.port, None).expect("a handshake");
    script.send_command(["EVAL", "while true do end", "0"]).expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    let busy = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n";
    other.write_all(b"GET a\r\n").expect("sent");
    expect(&mut other, busy.as_bytes()).expect("an answer");
    // Somebody who comes meanwhile.
    let mut guest = connect(&files, keyward.port, None).expect("a handshake");
    guest.write_all(b"SCRIPT KILL\r\n").expect("sent");
    expect(&mut guest, b"+OK\r\n").expect("an answer");
    for client in [&mut other, &mut guest] {
        client.write_all(b"PING\r\n").expect("sent");
        expect(client, b"+PONG\r\n").expect("an answer");
    }
}

#[test]
fn unread_ciphertext_counts_against_the_output_limit() {
    let files = Certificates::make();
    let limit = ["--tls-auth-clients", "no", "--client-output-buffer-limit", "normal 1000000 0 0"];
    let keyward = keyward(&files, "server", &limit);
    let mut plain = keyward.server.client();
    call(&mut plain, "EVAL \"return redis.call('SET','k',string.rep('x',400000))\" 0");
    let mut client = connect(&files, keyward.port, None).expect("a handshake");
    for _ in 0..100 {
        if client.write_all(&b"GET k\r\n".repeat(10)).is_err() {
            break;
        }
    }
    wait_until(|| log(&keyward.server).contains("the output buffer limit is reached"));
    let mut rest = Vec::new();
    // The connection ends in the middle of a record or after one.
    let _ = client.read_to_end(&mut rest);
    assert!(rest.len() < 900 * 400_000, "it was sent everything");
    wait_until(
        || matches!(call(&mut plain, "CLIENT LIST"), Frame::Bulk(list) if list.iter().filter(|b| **b == b'\n').count() == 1),
    );
}

#[test]
fn a_limit_of_clients_is_told_by_tls_too() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no", "--maxclients", "1"]);
    let mut only = keyward.server.client();
    // The one that waited for the server to start may still be there.
    wait_until(|| {
        only.call(["PING"]).is_ok() || {
            only = keyward.server.client();
            false
        }
    });
    let mut second = connect(&files, keyward.port, None).expect("a handshake");
    expect(&mut second, b"-ERR max number of clients reached\r\n").expect("a reason");
    assert_eq!(second.read(&mut [0; 1]).expect("it is told that nothing follows"), 0);
}

/// Sends bytes to the port and waits until the server has closed the connection.
fn send_and_lose(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
    // The server may close it before all is sent.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut rest = Vec::new();
    if let Err(error) = socket.read_to_end(&mut rest) {
        assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "it stays open");
    }
    rest
}

#[test]
fn whatever_comes_before_and_after_a_handshake_harms_nobody() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let mut plain = keyward.server.client();
    let hello = first_flight(&files);
    // Who does not speak TLS could not read an alert, and gets none, as from Redis.
    assert_eq!(send_and_lose(keyward.port, b"PING\r\n"), b"");
    assert_eq!(send_and_lose(keyward.port, b"*1\r\n$4\r\nPING\r\n"), b"");
    send_and_lose(keyward.port, b"");
    send_and_lose(keyward.port, &[0x16, 3, 1, 0xff, 0xff]);
    send_and_lose(keyward.port, &[0x17, 3, 3, 0, 5, 1, 2, 3, 4, 5]);
    for cut in (0..hello.len()).step_by(7) {
        send_and_lose(keyward.port, &hello[..cut]);
        let mut changed = hello.clone();
        changed[cut] ^= 0x55;
        send_and_lose(keyward.port, &changed);
    }
    for garbage in [
        &b"garbage"[..],
        &[0x17, 3, 3, 0, 30],
        &[0x17, 3, 3, 0, 0],
        &[0x16, 3, 3, 0x40, 1, 1],
        &[0; 40_000],
    ] {
        let mut client = connect(&files, keyward.port, None).expect("a handshake");
        client.write_all(b"PING\r\n").expect("sent");
        expect(&mut client, b"+PONG\r\n").expect("an answer");
        // Below the session: what is no record, or one cut off, or not of its keys.
        let mut socket = client.socket();
        let _ = socket.write_all(garbage);
        let _ = socket.shutdown(Shutdown::Write);
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    }
    assert_eq!(call(&mut plain, "PING"), Frame::Simple("PONG".into()));
    wait_until(
        || matches!(call(&mut plain, "CLIENT LIST"), Frame::Bulk(list) if list.iter().filter(|b| **b == b'\n').count() == 1),
    );
    let log = log(&keyward.server);
    assert!(!log.contains("panicked"), "{log}");
}

/// What a client sends first.
fn first_flight(files: &Certificates) -> Vec<u8> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut flight = vec![0; 4096];
        let count = socket.read(&mut flight).expect("bytes");
        flight.truncate(count);
        flight
    });
    connect(files, port, None).expect_err("nobody answers");
    heard.join().expect("a flight")
}

/// Nanoseconds that the thread which executes commands has had a processor.
fn core_ns(server: &Server) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/schedstat", server.process_id()))
        .expect("figures");
    text.split(' ').next().expect("a figure").parse().expect("a number")
}

#[test]
fn handshakes_that_stall_hold_up_nobody_and_cost_the_core_nothing() {
    let files = Certificates::make();
    let keyward = keyward(&files, "server", &["--tls-auth-clients", "no"]);
    let mut plain = keyward.server.client();
    let hello = first_flight(&files);
    let before_ns = core_ns(&keyward.server);
    let stalled: Vec<TcpStream> = (0..500)
        .map(|count| {
            let mut socket =
                TcpStream::connect((Ipv4Addr::LOCALHOST, keyward.port)).expect("a connection");
            // Silent at once, in the middle of the first record, or after it.
            socket.write_all(&hello[..hello.len() * (count % 3) / 2]).expect("sent");
            socket
        })
        .collect();
    let began = Instant::now();
    ping(connect(&files, keyward.port, None)).expect("others are served");
    // That is when the first of those who are silent are sent away.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(call(&mut plain, "PING"), Frame::Simple("PONG".into()));
    let spent = Duration::from_nanos(core_ns(&keyward.server) - before_ns);
    // Their share of the handshakes takes longer, without optimisation; it is not the core's.
    assert!(spent < Duration::from_millis(100), "the core has spent {spent:?}");
    let info = call(&mut plain, "INFO clients");
    let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    assert!(
        info.contains("connected_clients:1\r\n") || info.contains("connected_clients:2\r\n"),
        "{info}"
    );
    // In time each of them is closed.
    for mut socket in stalled {
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let mut rest = Vec::new();
        if let Err(error) = socket.read_to_end(&mut rest) {
            assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "it stays open");
        }
    }
}

#[test]
fn migrate_moves_keys_by_tls_and_checks_the_authority_alone() {
    let files = Certificates::make();
    let cluster = ["--tls-cluster", "yes"];
    let (keyward, redis) = (keyward(&files, "server", &cluster), redis(&files, "renewed", &[]));
    let (mut here, mut there) = (keyward.server.client(), redis.server.client());
    call(&mut here, "SET a 1");
    let to = |port: u16| format!("MIGRATE 127.0.0.1 {port} a 0 5000");
    assert_eq!(call(&mut here, &to(redis.port)), Frame::Simple("OK".into()));
    assert_eq!(call(&mut there, "GET a"), Frame::Bulk(b"1".into()));
    call(&mut here, "SET a 2");
    // Plaintext where TLS is expected, and an authority that is not known.
    let failed = "IOERR error or timeout ";
    assert!(refused(&mut here, &to(redis.server.address().port())).starts_with(failed));
    call(&mut here, &format!("CONFIG SET tls-ca-cert-file {}", files.path("other-ca.crt")));
    assert!(refused(&mut here, &to(redis.port)).starts_with(failed));
    assert_eq!(call(&mut here, "GET a"), Frame::Bulk(b"2".into()));
    call(&mut here, "CONFIG SET tls-cluster no");
    let plain = format!("{} REPLACE", to(redis.server.address().port()));
    assert_eq!(call(&mut here, &plain), Frame::Simple("OK".into()));
}

#[test]
fn settings_of_tls_are_written_back_to_their_file() {
    let files = Certificates::make();
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("keyward.conf");
    std::fs::write(&file, "appendonly no\n").expect("it is written");
    let server = Server::keyward_as_set(program(), &[file.to_str().expect("a text")]);
    let mut client = server.client();
    let port = free_port();
    let set = format!(
        "CONFIG SET tls-port {port} tls-cert-file {} tls-key-file {} tls-auth-clients no",
        files.path("server.crt"),
        files.path("server.key")
    );
    assert_eq!(call(&mut client, &set), Frame::Simple("OK".into()));
    ping(connect(&files, port, None)).expect("it is served");
    let words = split_words(b"CONFIG REWRITE").expect("words");
    assert_eq!(client.call(words).expect("an answer"), Frame::Simple("OK".into()));
    let text = std::fs::read_to_string(&file).expect("a file");
    assert!(text.contains(&format!("tls-port {port}\n")), "{text}");
    assert!(text.contains("tls-auth-clients no\n"), "{text}");
}

#[test]
fn the_page_about_tls_shows_what_happens() {
    let page = include_str!("../../../../docs/tls.md");
    let (_, block) = page.split_once("```console\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let port = free_port().to_string();
    let block = block.replace("7443", &port);
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let expected: Vec<&str> = block.lines().filter(|line| !line.starts_with("$ ")).collect();
    // The server is asked once it answers, and ended in the end.
    let waits = format!(
        "for try in $(seq 600); do redis-cli --tls --cacert ca.crt -p {port} PING >/dev/null 2>&1 && break; sleep 0.1; done"
    );
    let mut script = String::new();
    for command in commands {
        script.push_str(command);
        script.push('\n');
        if command.ends_with('&') {
            script.push_str(&format!("server=$!\n{waits}\n"));
        }
    }
    script.push_str("kill $server\n");
    let directory = tempfile::tempdir().expect("a directory");
    let folder = program().parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").expect("a path"));
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&directory)
        .env("PATH", path)
        .output()
        .expect("a shell");
    let shown = said(&output);
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected, "{output:?}");
}
