//! The process around the server: its command line, the service manager, the log file, the
//! background.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_until};
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);
const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");
const SCHEMA: &str = "[keyspace]\nname = \"shop\"\n\n[key.\"user:{id:uint}\"]\ntype = \"string\"\n";

fn serve(options: &[&str]) -> Server {
    Server::keyward(Path::new(PROGRAM), options)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn connect(port: u16) -> Client {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    wait_until(|| {
        let reply = Client::connect(address).and_then(|mut client| client.call(["PING"]));
        reply.is_ok_and(|reply| reply == Frame::Simple(b"PONG".to_vec()))
    });
    Client::connect(address).expect("it serves")
}

/// The value CONFIG GET gives for one setting.
fn setting(client: &mut Client, name: &str) -> String {
    let reply = client.call(["CONFIG", "GET", name]).expect("a reply");
    let Frame::Array(items) = reply else { panic!("{reply:?}") };
    let value = items.get(1).and_then(Frame::as_bytes).unwrap_or_else(|| panic!("no {name}"));
    String::from_utf8(value.to_vec()).expect("text")
}

/// A server of our own options, ended with the test.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Running {
        Running(command.stdin(Stdio::null()).spawn().expect("the binary runs"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// The command line.

/// Settings given by these arguments, as both servers show them.
fn both_show(arguments: &[&str], expected: &[(&str, &str)]) {
    let redis = Server::start(Path::new("redis-server"), arguments);
    let redis = redis.unwrap_or_else(|error| panic!("{error}"));
    for server in [redis, serve(arguments)] {
        let mut client = server.client();
        for (name, value) in expected {
            assert_eq!(setting(&mut client, name), *value, "{name} by {arguments:?}");
        }
    }
}

#[test]
fn a_name_and_its_value_may_be_one_argument() {
    both_show(
        &["--maxmemory 700mb", "--maxmemory-policy 'volatile-lru'"],
        &[("maxmemory", "734003200"), ("maxmemory-policy", "volatile-lru")],
    );
    both_show(
        &["--proc-title-template --my--title--template", "--loglevel verbose"],
        &[("proc-title-template", "--my--title--template"), ("loglevel", "verbose")],
    );
}

#[test]
fn a_value_may_begin_with_dashes() {
    both_show(
        &["--proc-title-template", "--my--title--template", "--loglevel", "verbose"],
        &[("proc-title-template", "--my--title--template"), ("loglevel", "verbose")],
    );
    both_show(
        &["--proc-title-template", "--save", "--save", "", "--loglevel", "verbose"],
        &[("proc-title-template", "--save"), ("save", ""), ("loglevel", "verbose")],
    );
}

#[test]
fn save_without_a_value_removes_the_save_points() {
    both_show(&["--save", "--loglevel", "verbose"], &[("save", ""), ("loglevel", "verbose")]);
    both_show(&["--loglevel", "verbose", "--save"], &[("save", ""), ("loglevel", "verbose")]);
}

#[test]
fn flags_of_a_shutdown_are_shown_in_the_order_of_the_table() {
    both_show(
        &["--shutdown-on-sigint", "nosave", "force", "now", "--shutdown-on-sigterm", "force save"],
        &[("shutdown-on-sigint", "nosave now force"), ("shutdown-on-sigterm", "save force")],
    );
}

/// Both refuse these arguments, and both say these words.
fn both_refuse(arguments: &[&str], words: &[&str]) {
    let folder = tempfile::tempdir().expect("a directory");
    for (program, first) in [("redis-server", None), (PROGRAM, Some("serve"))] {
        let mut command = Command::new(program);
        command.args(first).args(arguments).current_dir(folder.path());
        let output = command.output().expect("it runs");
        assert!(!output.status.success(), "{program} {arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for word in words {
            assert!(said.contains(word), "{program} {arguments:?} says {said}");
        }
    }
}

#[test]
fn what_is_wrong_is_shown_with_its_values() {
    let count = "wrong number of arguments";
    both_refuse(&["--port"], &["'port'", count]);
    both_refuse(&["--port", "6380", "--loglevel"], &["'loglevel'", count]);
    both_refuse(&["--port", "6379", "6380"], &["'port \"6379\" \"6380\"'", count]);
    both_refuse(
        &["--port", "--loglevel", "verbose"],
        &["'port \"--loglevel\" \"verbose\"'", count],
    );
    let number = "argument couldn't be parsed into an integer";
    both_refuse(&["--port", "--bla", "--loglevel", "verbose"], &["'port \"--bla\"'", number]);
    let choice = "argument(s) must be one of the following";
    both_refuse(
        &["--logfile", "--my--log--file", "--loglevel", "--bla"],
        &["'loglevel \"--bla\"'", choice],
    );
    both_refuse(&["--shutdown-on-sigint"], &["'shutdown-on-sigint'", choice]);
    both_refuse(
        &["--shutdown-on-sigint", "save nosave"],
        &["shutdown options SAVE and NOSAVE can't be used simultaneously"],
    );
}

#[test]
fn a_schema_may_stand_anywhere_on_the_line() {
    let folder = tempfile::tempdir().expect("a directory");
    let schema = folder.path().join("shop.toml");
    fs::write(&schema, SCHEMA).expect("a file");
    let (schema, data) = (schema.display().to_string(), folder.path().display().to_string());
    // The testkit gives --port, --bind, --dir and --appendonly before these.
    for options in [["--dir", &data, &schema, "--db", "3"], ["--db", "3", "--dir", &data, &schema]]
    {
        let server = serve(&options);
        let mut client = server.client();
        client.call(["SELECT", "3"]).expect("a reply");
        let shown = client.call(["KEYWARD", "SCHEMA", "SHOW"]).expect("a reply");
        assert_eq!(shown, Frame::Bulk(SCHEMA.as_bytes().to_vec()), "{options:?}");
    }
    let output = Command::new(PROGRAM).args(["serve", "--port", "0", "--db", "0"]).output();
    let said = String::from_utf8_lossy(&output.expect("it runs").stderr).into_owned();
    assert_eq!(
        said,
        "keyward: --db 0: there is no schema that could govern it; name its file too\n"
    );
}

#[test]
fn a_forced_rewrite_writes_every_setting_and_changes_none() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("redis.conf");
    fs::write(&file, "enable-debug-command yes\nhz 20\n").expect("a file");
    let file = file.display().to_string();
    let all = |server: &Server| {
        let reply = server.client().call(["CONFIG", "GET", "*"]).expect("a reply");
        let Frame::Array(items) = reply else { panic!("{reply:?}") };
        let text = |item: &Frame| {
            String::from_utf8(item.as_bytes().unwrap_or_default().to_vec()).expect("text")
        };
        let pairs = items.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1])));
        pairs.collect::<Vec<(String, String)>>()
    };
    let server = serve(&[&file]);
    let before = all(&server);
    let port = server.address().port().to_string();
    let reply = server.client().call(["DEBUG", "CONFIG-REWRITE-FORCE-ALL"]).expect("a reply");
    assert_eq!(reply, Frame::Simple(b"OK".to_vec()));
    let text = fs::read_to_string(&file).expect("the file");
    let written: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in ["port", "hz", "timeout", "io-threads", "key-load-delay", "shutdown-on-sigint"] {
        assert!(written.contains(&name), "{name} is not in {text}");
    }
    let directory = server.directory().to_owned();
    drop(server);
    fs::create_dir_all(&directory).expect("the directory it names");
    let again = Running::start({
        let mut command = Command::new(PROGRAM);
        command.args(["serve", &file]).stdout(Stdio::null());
        command
    });
    let mut client = connect(port.parse().expect("a number"));
    for (name, value) in &before {
        assert_eq!(setting(&mut client, name), *value, "{name}");
    }
    drop(again);
    fs::remove_dir_all(&directory).expect("it is ours");
    let server = serve(&["--enable-debug-command", "yes"]);
    let reply = server.client().call(["DEBUG", "CONFIG-REWRITE-FORCE-ALL"]).expect("a reply");
    let Frame::Error(text) = reply else { panic!("{reply:?}") };
    assert!(text.starts_with(b"ERR CONFIG-REWRITE-FORCE-ALL failed: "), "{text:?}");
}

// The service manager.

/// What the manager hears until a message has this line.
fn hear_until(manager: &UnixDatagram, line: &str) -> Vec<String> {
    let mut heard = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let count = manager.recv(&mut bytes).unwrap_or_else(|error| panic!("{heard:?}: {error}"));
        let text = String::from_utf8(bytes[..count].to_vec()).expect("text");
        let is_it = text.lines().any(|said| said == line);
        heard.extend(text.lines().map(str::to_owned));
        if is_it {
            return heard;
        }
    }
}

fn supervised(
    manager: &UnixDatagram,
    place: &str,
    mode: &str,
) -> (Running, u16, tempfile::TempDir) {
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let folder = tempfile::tempdir().expect("a directory");
    let port = free_port();
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--bind", "127.0.0.1", "--appendonly", "no", "--supervised", mode]);
    // As Debian's unit has it, whose settings say `daemonize yes`.
    command.args(["--daemonize", "yes", "--port", &port.to_string(), "--dir"]).arg(folder.path());
    command.env("NOTIFY_SOCKET", place).stderr(Stdio::null());
    (Running::start(command), port, folder)
}

#[test]
fn systemd_is_told_of_loading_readiness_and_the_end() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    let (mut server, port, _data) = supervised(&manager, &path.display().to_string(), "systemd");
    let heard = hear_until(&manager, "READY=1");
    assert_eq!(heard[0], "STATUS=Keyward is loading...");
    assert!(heard.contains(&"STATUS=Ready to accept connections".to_owned()), "{heard:?}");
    // Ready means ready: the first attempt succeeds.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut client = Client::connect(address).expect("it listens");
    assert_eq!(client.call(["PING"]).expect("a reply"), Frame::Simple(b"PONG".to_vec()));
    let info = client.call(["INFO", "server"]).expect("a reply");
    let info = String::from_utf8_lossy(info.as_bytes().expect("text")).into_owned();
    assert!(info.contains("process_supervised:systemd\r\n"), "{info}");
    assert!(info.contains(&format!("process_id:{}\r\n", server.0.id())), "it went away: {info}");
    signal(server.0.id(), "TERM");
    let heard = hear_until(&manager, "STOPPING=1");
    assert!(!heard.contains(&"READY=1".to_owned()), "{heard:?}");
    assert!(server.0.wait().expect("it ends").success());
    // All that it sent is there, and nothing is said twice.
    manager.set_nonblocking(true).expect("a socket");
    let mut bytes = [0; 1000];
    while let Ok(count) = manager.recv(&mut bytes) {
        let said = String::from_utf8_lossy(&bytes[..count]).into_owned();
        assert!(!said.contains("STOPPING=1"), "{said}");
    }
}

#[test]
fn a_manager_may_listen_in_the_abstract_namespace_and_be_found_by_itself() {
    let name = format!("keyward-test-{}", std::process::id());
    let address = UnixAddress::from_abstract_name(&name).expect("a name");
    let manager = UnixDatagram::bind_addr(&address).expect("a socket");
    let (server, port, _data) = supervised(&manager, &format!("@{name}"), "auto");
    hear_until(&manager, "READY=1");
    let reply = connect(port).call(["SHUTDOWN", "NOSAVE"]);
    assert!(reply.is_err(), "{reply:?}");
    hear_until(&manager, "STOPPING=1");
    drop(server);
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn a_minus_sign_has_the_settings_read_from_the_standard_input() {
    let folder = tempfile::tempdir().expect("a directory");
    for (program, first) in [("redis-server", None), (PROGRAM, Some("serve"))] {
        let port = free_port();
        let mut command = Command::new(program);
        command.args(first).args(["-", "--maxmemory", "700mb"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Running(command.spawn().expect("the binary runs"));
        let dir = folder.path().display();
        let text =
            format!("port {port}\nbind 127.0.0.1\nmaxmemory 1mb\nappendonly no\ndir {dir}\n");
        let mut input = running.0.stdin.take().expect("a pipe");
        input.write_all(text.as_bytes()).expect("it reads");
        drop(input);
        let mut client = connect(port);
        assert_eq!(setting(&mut client, "maxmemory"), "734003200", "{program}");
        // There is no file to write to.
        let reply = client.call(["CONFIG", "REWRITE"]).expect("a reply");
        let told = b"ERR The server is running without a config file".to_vec();
        assert_eq!(reply, Frame::Error(told), "{program}");
    }
}

#[test]
fn whom_to_follow_is_a_name_and_a_port() {
    let refused = |arguments: &[&str], reason: &str| {
        let output = Command::new(PROGRAM).arg("serve").args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(reason), "{said}");
    };
    refused(&["--replicaof", "127.0.0.1"], "wrong number of arguments");
    refused(&["--slaveof", "127.0.0.1", "x"], "Invalid master port");
    both_show(&["--replicaof", "127.0.0.1", "1"], &[("replicaof", "127.0.0.1 1")]);
    both_show(&["--replicaof", "127.0.0.1 1"], &[("replicaof", "127.0.0.1 1")]);
    // As Debian's file has it: nothing is asked for.
    both_show(&["--replicaof", "no", "one"], &[("replicaof", "")]);
}

// The log file.

#[test]
fn a_log_file_that_was_moved_is_opened_anew() {
    let folder = tempfile::tempdir().expect("a directory");
    let (log, moved) = (folder.path().join("log"), folder.path().join("log.1"));
    let path = log.display().to_string();
    let server = serve(&["--logfile", &path, "--enable-debug-command", "yes"]);
    let mut client = server.client();
    let mut say = |line: &str| {
        client.call(["DEBUG", "LOG", line]).expect("a reply");
    };
    say("before logrotate");
    fs::rename(&log, &moved).expect("logrotate moves it");
    say("after logrotate");
    let (old, new) = (fs::read_to_string(&moved), fs::read_to_string(&log));
    let (old, new) = (old.expect("the old file"), new.expect("a new file"));
    assert!(old.contains("before logrotate") && !old.contains("after logrotate"), "{old}");
    assert!(new.contains("after logrotate"), "{new}");
    fs::copy(&log, &moved).expect("copytruncate copies it");
    fs::File::options().write(true).truncate(true).open(&log).expect("and cuts it off");
    say("after copytruncate");
    let new = fs::read(&log).expect("the file");
    let new = String::from_utf8(new).expect("no hole");
    assert!(new.contains("after copytruncate") && !new.contains('\0'), "{new}");
    assert!(!new.contains("after logrotate"), "{new}");
}

/// What a server logs from the demand that it end, without process ids, times and its name.
/// Redis writes what its signal handler says without a level.
fn last_lines(server: Server, log: &Path, name: &str, end: impl FnOnce(&Server)) -> Vec<String> {
    server.client().call(["SET", "k", "v"]).expect("a reply");
    let seen = fs::read_to_string(log).expect("a log").lines().count();
    end(&server);
    assert!(server.wait(PATIENCE).success());
    let text = fs::read_to_string(log).expect("text");
    let lines = text.lines().skip(seen).map(|line| {
        let begin = line.find("Received SIG").or_else(|| line.find(['*', '#']));
        line[begin.unwrap_or_else(|| panic!("no level: {line}"))..].replace(name, "The server")
    });
    lines.collect()
}

#[test]
fn the_last_lines_of_the_log_are_those_of_redis_in_its_order() {
    for (save, demand) in [
        ("3600 1", "SHUTDOWN"),
        ("3600 1", "SHUTDOWN NOSAVE"),
        ("", "SHUTDOWN SAVE"),
        ("3600 1", "TERM"),
        ("", "INT"),
    ] {
        let end = |server: &Server| match demand {
            "TERM" | "INT" => signal(server.process_id(), demand),
            _ => {
                let words: Vec<&str> = demand.split(' ').collect();
                assert!(server.client().call(&words).is_err(), "{demand} is not answered");
            }
        };
        let folder = tempfile::tempdir().expect("a directory");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let [log, pid, socket] = ["server.log", "server.pid", "socket"].map(path);
        let files = ["--logfile", &log, "--pidfile", &pid, "--unixsocket", &socket];
        let settings = [&files[..], &["--save", save]].concat();
        let ours = last_lines(serve(&settings), Path::new(&log), "Keyward", end);
        let theirs = last_lines(Server::redis(&settings), Path::new(&log), "Redis", end);
        assert!(theirs.len() > 1, "{theirs:?}");
        assert_eq!(ours, theirs, "{demand} with save \"{save}\"");
    }
}

// The background.

/// Debian's own file, as redis-server's package installs it.
const DEBIAN_CONF: &str = "/etc/redis/redis.conf";

#[test]
fn debians_configuration_is_served_whole_and_in_the_background() {
    assert!(Path::new(DEBIAN_CONF).exists(), "redis-server's package brings {DEBIAN_CONF}");
    let folder = tempfile::tempdir().expect("a directory");
    let (pid, log) = (folder.path().join("server.pid"), folder.path().join("server.log"));
    let port = free_port();
    let starter = Command::new(PROGRAM)
        .args(["serve", DEBIAN_CONF, "--port", &port.to_string(), "--dir"])
        .arg(folder.path())
        .arg("--pidfile")
        .arg(&pid)
        .arg("--logfile")
        .arg(&log)
        .env_remove("NOTIFY_SOCKET")
        .output()
        .expect("the binary runs");
    assert!(starter.status.success(), "{starter:?}");
    assert!(starter.stdout.is_empty() && starter.stderr.is_empty(), "{starter:?}");
    let mut client = connect(port);
    assert_eq!(setting(&mut client, "daemonize"), "yes");
    let written = fs::read_to_string(&pid).expect("a pid file");
    let process: u32 = written.trim().parse().expect("a number");
    let info = client.call(["INFO", "server"]).expect("a reply");
    let info = String::from_utf8_lossy(info.as_bytes().expect("text")).into_owned();
    assert!(info.contains(&format!("process_id:{process}\r\n")), "{info}");
    // It leads a session of its own, without a terminal.
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    assert_eq!(fields[3], process.to_string(), "its session: {stat}");
    for stream in 0..3 {
        let target = fs::read_link(format!("/proc/{process}/fd/{stream}")).expect("a stream");
        assert_eq!(target, Path::new("/dev/null"));
    }
    assert!(client.call(["SHUTDOWN", "NOSAVE"]).is_err());
    wait_until(|| !Path::new(&format!("/proc/{process}")).exists());
    assert!(!pid.exists(), "the pid file is left");
    let log = fs::read_to_string(&log).expect("a log");
    assert!(log.contains("Ready to accept connections"), "{log}");
}

#[test]
fn every_line_of_debians_configuration_is_accepted_by_itself() {
    let text = fs::read_to_string(DEBIAN_CONF).expect("redis-server's package brings it");
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("line.conf");
    let mut accepted = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let name = line.split_whitespace().next().expect("a word");
        // Those of this machine's files and of the process are tried together, above.
        if ["dir", "logfile", "daemonize"].contains(&name) {
            continue;
        }
        fs::write(&file, format!("{line}\n")).expect("a file");
        let mut arguments = vec!["serve".to_owned(), file.display().to_string()];
        // It ends before it serves: there is no such directory.
        arguments.extend(["--dir".to_owned(), "missing".to_owned()]);
        let output = Command::new(PROGRAM).args(arguments).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("'dir \"missing\"': No such file"), "{line}: {said}");
        accepted += 1;
    }
    assert!(accepted > 50, "{accepted}");
}

#[test]
fn what_is_wrong_is_said_before_the_server_goes_to_the_background() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("broken.toml"), "keyspace = 1\n").expect("a file");
    for (arguments, said) in [
        (["--daemonize", "yes", "--port", "x"].as_slice(), "couldn't be parsed into an integer"),
        (&["--daemonize", "yes", "--logfile", "missing/log"], "the log: No such file"),
        (&["--daemonize", "yes", "broken.toml"], "broken.toml is not sound"),
    ] {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").args(arguments).current_dir(folder.path());
        let output = command.env_remove("NOTIFY_SOCKET").output().expect("the binary runs");
        let heard = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && heard.contains(said), "{arguments:?}: {heard}");
    }
}

/// Which keyspaces do not enforce their schema is said where the server says that it is ready, and
/// CONFIG REWRITE does not make a choice for one start one for all.
#[test]
fn a_start_that_observes_says_so_and_is_not_written_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("a file");
        file.display().to_string()
    };
    let schema = |name: &str, db: usize, more: &str| {
        let key = "[key.\"a:{id:uint}\"]\ntype = \"string\"\nttl = \"1h\"\n";
        let text = format!("[keyspace]\nname = \"{name}\"\ndb = {db}\n{more}{key}");
        write(&format!("{name}.toml"), &text)
    };
    let files = [
        write("redis.conf", "save \"\"\n"),
        schema("one", 0, ""),
        schema("two", 1, "mode = \"observe\"\n"),
        schema("three", 2, "mode = \"warn\"\n"),
    ];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ready = |options: &[&str]| {
        let server = Server::keyward(Path::new(PROGRAM), &[&files, options].concat());
        let rewritten = server.client().call(["CONFIG", "REWRITE"]).expect("a reply");
        assert_eq!(rewritten, Frame::Simple(b"OK".to_vec()));
        let written = std::fs::read_to_string(files[0]).expect("the file");
        assert!(!written.contains("observe") && !written.contains("accept"), "{written}");
        // The directory of the server is gone with it.
        write("redis.conf", "save \"\"\n");
        let log = std::fs::read_to_string(server.directory().join("log")).expect("the log");
        let line = log.lines().find(|line| line.contains("Ready to accept")).expect("it is ready");
        line.split("databases, ").last().expect("text behind it").to_owned()
    };
    assert_eq!(ready(&[]), "one in 0, two in 1 (only observes), three in 2 (only warns)");
    let observed = "one in 0 (only observes), two in 1 (only observes), three in 2 (only observes)";
    assert_eq!(ready(&["--observe", "--accept", "5d41402abc4b"]), observed);
}
