//! Where the server listens unless told otherwise, what guards it there, and asking it
//! (`keyward ping`).

use keyward_resp::Frame;
use keyward_testkit::{Client, wait_until};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with exactly these options and a port, in a directory of its own.
struct Running {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Running {
    /// Starts `keyward serve ARGUMENTS --port PORT`; files stand in the directory it runs in.
    fn start(files: &[(&str, &str)], arguments: &[&str]) -> Running {
        let folder = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        let port = free_port();
        let log = fs::File::create(folder.path().join("server.log")).expect("a file");
        let child = Command::new(PROGRAM)
            .arg("serve")
            .args(arguments)
            .args(["--port", &port.to_string()])
            .current_dir(folder.path())
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        let mut running = Running { child, port, folder };
        wait_until(|| {
            let ended = running.child.try_wait().expect("a child");
            assert!(ended.is_none(), "it ended: {}", running.log());
            running.log().contains("Ready to accept connections")
        });
        running
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("server.log")).expect("a log")
    }

    /// What the log says of a guard, without its head. Who is answered is so after all of it.
    fn guard(&self) -> Vec<String> {
        self.call(&["PING"]);
        let is_it = |line: &&str| line.contains(" On ") || line.contains("Nothing guards");
        let told = |line: &str| line.split_once(['*', '#']).expect("a level").1.trim().to_owned();
        self.log().lines().filter(is_it).map(told).collect()
    }

    fn client(&self) -> Client {
        Client::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).expect("it listens")
    }

    fn call(&self, words: &[&str]) -> Frame {
        self.client().call(words).expect("a reply")
    }

    fn bind(&self) -> String {
        let reply = self.call(&["CONFIG", "GET", "bind"]);
        let items = reply.as_elements().expect("a list");
        String::from_utf8(items[1].as_bytes().expect("text").to_vec()).expect("text")
    }

    fn connect_from_elsewhere(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect_timeout(&SocketAddr::new(outer_address(), self.port), PATIENCE)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// An address of this machine that is not loopback; nothing is sent to find it.
fn outer_address() -> IpAddr {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a socket");
    socket.connect("192.0.2.77:9").expect("a machine with a network besides loopback");
    let address = socket.local_addr().expect("an address").ip();
    assert!(!address.is_loopback(), "{address}");
    address
}

#[test]
fn without_a_file_of_settings_only_this_machine_is_listened_to() {
    let server = Running::start(&[], &[]);
    assert_eq!(server.bind(), "127.0.0.1 -::1");
    let error = server.connect_from_elsewhere().expect_err("nobody listens there");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(server.guard(), Vec::<String>::new());
}

#[test]
fn a_file_of_settings_that_is_silent_means_what_it_means_to_redis() {
    let server = Running::start(&[("redis.conf", "save \"\"\n")], &["redis.conf"]);
    assert_eq!(server.bind(), "* -::*");
    server.connect_from_elsewhere().expect("it listens there");
    let guard = server.guard();
    assert_eq!(guard.len(), 1, "{guard:?}");
    let place = format!("On 0.0.0.0:{}", server.port);
    assert!(guard[0].starts_with(&place), "{guard:?}");
    assert!(guard[0].contains("protected mode turns away who is not of this machine"), "{guard:?}");
}

/// What somebody elsewhere is told who sends `request`. Who is turned away is so before a word,
/// and a word that arrives at a closed connection takes what was told with it.
fn told_elsewhere(server: &Running, request: &[u8]) -> String {
    let mut stream = server.connect_from_elsewhere().expect("it listens there");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request).expect("it is taken");
    let mut bytes = [0; 4096];
    let count = stream.read(&mut bytes).expect("an answer");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn the_banner_says_what_guards_other_addresses_and_that_is_so() {
    let any = ["--bind", "0.0.0.0"];
    let server = Running::start(&[], &any);
    assert!(server.guard()[0].contains("protected mode"), "{:?}", server.guard());
    let told = told_elsewhere(&server, b"");
    assert!(told.starts_with("-DENIED Redis is running in protected mode"), "{told}");
    assert_eq!(server.call(&["PING"]), Frame::Simple(b"PONG".to_vec()), "of this machine");

    let server = Running::start(&[], &[&any[..], &["--requirepass", "secret"]].concat());
    let place = format!("On 0.0.0.0:{} clients are served who give a password", server.port);
    assert_eq!(server.guard(), [place]);
    assert_eq!(told_elsewhere(&server, b"PING\r\n"), "-NOAUTH Authentication required.\r\n");

    let server = Running::start(&[], &[&any[..], &["--protected-mode", "no"]].concat());
    assert!(server.guard()[0].starts_with("Nothing guards 0.0.0.0:"), "{:?}", server.guard());
    assert_eq!(told_elsewhere(&server, b"PING\r\n"), "+PONG\r\n");

    // Named users do not lift it, only a password of `default` does.
    let users = ["--user ann on >secret allcommands allkeys"];
    let server = Running::start(&[], &[&any[..], &users].concat());
    let told = &server.guard()[0];
    assert!(told.contains("whatever user they name, until the user default"), "{told}");
    assert!(told_elsewhere(&server, b"").starts_with("-DENIED"));

    // The default user is off: protected mode is not asked, and nobody is served as it.
    let users = ["--user default off nopass", "--user ann on >secret allcommands allkeys"];
    let off = [&any[..], &["--protected-mode", "no"], &users].concat();
    let server = Running::start(&[], &off);
    assert!(server.guard()[0].ends_with("clients are served who give a password"));
    assert_eq!(told_elsewhere(&server, b"PING\r\n"), "-NOAUTH Authentication required.\r\n");

    // Nor does a password guard whom a name alone admits.
    let users = ["--user default off nopass", "--user bob on nopass allcommands allkeys"];
    let server = Running::start(&[], &[&any[..], &["--protected-mode", "no"], &users].concat());
    let told = &server.guard()[0];
    assert!(
        told.ends_with("clients are served who name a user; without a password: bob"),
        "{told}"
    );
}

const SHOP: &str =
    "[keyspace]\nname = \"shop\"\n\n[key.\"user:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\n";
const BLOG: &str = "[keyspace]\nname = \"blog\"\ndb = 1\n\n[key.\"post:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\n";

#[test]
fn directories_are_served_by_the_schemas_in_them() {
    let library = "#!lua name=shop\nredis.register_function('answer', function() return 42 end)\n";
    let files = [
        ("shop/keyward.toml", SHOP),
        ("blog/keyward.toml", BLOG),
        ("shop/functions/shop.lua", library),
    ];
    for arguments in [&["shop/", "blog"][..], &["shop", "--save", "", "./blog/"]] {
        let server = Running::start(&files, arguments);
        assert!(server.log().contains("shop in 0, blog in 1"), "{}", server.log());
        assert_eq!(server.call(&["FCALL", "answer", "0"]), Frame::Integer(42), "{arguments:?}");
        let Frame::Error(refusal) = server.call(&["SET", "user:x", "1"]) else { panic!() };
        assert!(String::from_utf8_lossy(&refusal).starts_with("SCHEMA"), "{refusal:?}");
    }
}

// `keyward ping`.

fn ping(arguments: &[&str], password: Option<&str>) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("ping").args(arguments).env_remove("REDISCLI_AUTH");
    command.envs(password.map(|password| ("REDISCLI_AUTH", password)));
    command.output().expect("the binary runs")
}

fn check(output: Output, code: i32, said: &str) {
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("text");
    assert_eq!((output.status.code(), text.as_str()), (Some(code), said));
}

#[test]
fn ping_answers_whether_a_server_serves() {
    let folder = tempfile::tempdir().expect("a directory");
    let socket: PathBuf = folder.path().join("socket");
    let socket = socket.to_str().expect("a path in UTF-8");
    let server = Running::start(&[], &["--unixsocket", socket]);
    let place = format!("127.0.0.1:{}", server.port);
    check(ping(&[&place], None), 0, "PONG\n");
    check(ping(&[socket], None), 0, "PONG\n");
    server.call(&["CONFIG", "SET", "requirepass", "secret"]);
    let refused = format!("keyward: {place} answers NOAUTH Authentication required.\n");
    check(ping(&[&place], None), 1, &refused);
    check(ping(&[&place], Some("secret")), 0, "PONG\n");
    check(ping(&[socket], Some("secret")), 0, "PONG\n");
    check(ping(&[&format!("redis://:secret@{place}")], None), 0, "PONG\n");
    let wrong = ping(&[&place], Some("wrong"));
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    drop(server);
    let gone = format!("keyward: {place}: Connection refused (os error 111)\n");
    check(ping(&[&place], None), 1, &gone);
    assert_eq!(ping(&["nobody@here"], None).status.code(), Some(2));
}

#[test]
fn our_tools_take_a_server_in_every_form_and_say_by_2_that_they_cannot_ask() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let socket = path("socket");
    let lines = "[keyspace]\nname = \"shop\"\n[key.\"user:{id}\"]\ntype = \"string\"\n";
    let server = Running::start(&[("shop.toml", lines)], &["shop.toml", "--unixsocket", &socket]);
    let port = server.port.to_string();
    let (place, url) = (format!("127.0.0.1:{port}"), format!("redis://127.0.0.1:{port}"));
    let mut runs = 0;
    let mut run = |tool: &[&str], form: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(tool).args(form);
        if tool[0] == "backup" {
            // Two of one second would have the same name.
            runs += 1;
            command.arg("--to").arg(path(&runs.to_string()));
        }
        let output = command.output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let top = ["top", "--once", "--interval", "10ms"];
    for tool in [&["ping"][..], &top, &["backup"]] {
        for form in [
            &[place.as_str()][..],
            &[&url],
            &[&socket],
            &["--port", &port],
            &["--host", "localhost", "--port", &port],
        ] {
            let (code, said) = run(tool, form);
            assert_eq!(code, Some(0), "{tool:?} {form:?}: {said}");
        }
        for form in [
            &[place.as_str(), "--port", &port][..],
            &["http://h"],
            &[&place, "--cacert", "nope"],
            &[&place, "--tls", "--cacert", "nope"],
        ] {
            let (code, said) = run(tool, form);
            assert_eq!(code, Some(2), "{tool:?} {form:?}: {said}");
        }
    }
}

#[test]
fn ping_waits_no_longer_than_it_is_told_to() {
    // Whoever connects is kept waiting by the kernel: nobody accepts, nobody answers.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let place = silent.local_addr().expect("an address").to_string();
    let output = ping(&[&place, "--within", "200ms"], None);
    check(output, 1, &format!("keyward: {place}: no answer in time\n"));
}
