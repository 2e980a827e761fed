//! A server that keeps its port and its directory over restarts, and what is asked of it.

use keyward_resp::Frame;
use keyward_testkit::{Client, wait_for, wait_until};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A server.
pub(crate) struct Node {
    program: PathBuf,
    first: Vec<String>,
    options: Vec<String>,
    host: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) directory: TempDir,
    child: Option<Child>,
}

impl Node {
    /// A Keyward that does not wait before it sends a snapshot, and pings every second.
    pub(crate) fn keyward(options: &[&str]) -> Node {
        Node::keyward_with(&[], options)
    }

    /// The same, with these schemas.
    pub(crate) fn keyward_with(schemas: &[&str], options: &[&str]) -> Node {
        let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
        let first = [&["serve"], schemas].concat();
        let common = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];
        let soon = ["--repl-diskless-sync-delay", "0"];
        let appendonly =
            if options.contains(&"--appendonly") { vec![] } else { vec!["--appendonly", "no"] };
        Node::start(program, &first, &[&appendonly, &common[..], &soon[..], options].concat())
    }

    /// A Keyward at another address, by way of `ip` with these words before it, if there are any.
    #[cfg(feature = "network-namespaces")]
    pub(crate) fn keyward_at(host: Ipv4Addr, by: &[&str], options: &[&str]) -> Node {
        let program = env!("CARGO_BIN_EXE_keyward");
        let common = ["--enable-debug-command", "yes", "--repl-ping-replica-period", "1"];
        let soon = ["--repl-diskless-sync-delay", "0", "--appendonly", "no"];
        let options = [&common[..], &soon[..], options].concat();
        match by.is_empty() {
            true => Node::start_at(host, Path::new(program), &["serve"], &options),
            false => {
                let first = [by, &[program, "serve"]].concat();
                Node::start_at(host, Path::new("ip"), &first, &options)
            }
        }
    }

    /// A redis-server 7.0 that follows a node, and saves nothing.
    pub(crate) fn replica_of(primary: &Node, options: &[&str]) -> Node {
        let port = primary.port.to_string();
        let common = ["--save", "", "--enable-debug-command", "yes"];
        let follows = ["--replicaof", "127.0.0.1", port.as_str()];
        Node::start(Path::new("redis-server"), &[], &[&common[..], &follows[..], options].concat())
    }

    /// A redis-server 7.0 that leads, saves nothing, and does not wait before it sends a snapshot.
    pub(crate) fn redis(options: &[&str]) -> Node {
        let common = ["--save", "", "--enable-debug-command", "yes"];
        let soon = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"];
        Node::start(Path::new("redis-server"), &[], &[&common[..], &soon[..], options].concat())
    }

    /// A Valkey 9.1, as [`Node::redis`].
    pub(crate) fn valkey(options: &[&str]) -> Node {
        let program = keyward_testkit::installed_valkey().unwrap_or_else(|why| panic!("{why}"));
        let common = ["--save", "", "--enable-debug-command", "yes"];
        let soon = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"];
        Node::start(&program, &[], &[&common[..], &soon[..], options].concat())
    }

    /// A Keyward that follows a node.
    pub(crate) fn keyward_of(primary: &Node, options: &[&str]) -> Node {
        let port = primary.port.to_string();
        let follows = ["--replicaof", "127.0.0.1", port.as_str()];
        Node::keyward(&[&follows[..], options].concat())
    }

    /// Has it follow another node.
    pub(crate) fn follow(&self, primary: &Node) {
        self.follow_at(primary.port);
    }

    /// Has it follow whoever is reached at a port.
    pub(crate) fn follow_at(&self, port: u16) {
        self.follow_host("127.0.0.1", port);
    }

    /// Has it follow whoever is reached so.
    pub(crate) fn follow_host(&self, host: &str, port: u16) {
        let reply = self.call(&format!("REPLICAOF {host} {port}"));
        assert_eq!(reply, Frame::Simple(b"OK".to_vec()));
    }

    /// Has it lead.
    pub(crate) fn lead(&self) {
        assert_eq!(self.call("REPLICAOF NO ONE"), Frame::Simple(b"OK".to_vec()));
    }

    fn start(program: &Path, first: &[&str], options: &[&str]) -> Node {
        Node::start_at(Ipv4Addr::LOCALHOST, program, first, options)
    }

    fn start_at(host: Ipv4Addr, program: &Path, first: &[&str], options: &[&str]) -> Node {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("it has one").port();
        let mut node = Node {
            program: program.into(),
            first: owned(first),
            options: owned(options),
            host,
            port,
            directory: TempDir::new().expect("a directory"),
            child: None,
        };
        drop(listener);
        node.start_again();
        node
    }

    /// Starts it once more, in its directory, and waits until it serves.
    pub(crate) fn start_again(&mut self) {
        self.try_start();
        wait_for(|| match self.connect().and_then(|mut client| client.call(["PING"]).ok()) {
            Some(Frame::Error(text)) => Err(String::from_utf8_lossy(&text).into_owned()),
            Some(_) => Ok(()),
            None => Err(format!("no answer; its log:\n{}", self.log())),
        });
    }

    /// Starts it once more, in its directory.
    pub(crate) fn try_start(&mut self) {
        let log = std::fs::File::options();
        let log = log.clone().create(true).append(true).open(self.log_path()).expect("a log");
        let child = Command::new(&self.program)
            .args(&self.first)
            .args(["--port", &self.port.to_string(), "--bind", &self.host.to_string(), "--dir"])
            .arg(self.directory.path())
            .args(&self.options)
            .stdin(Stdio::null())
            .stderr(log.try_clone().expect("a log"))
            .stdout(log)
            .spawn()
            .expect("it starts");
        self.child = Some(child);
    }

    fn connect(&self) -> Option<Client> {
        Client::connect(self.address()).ok()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (self.host, self.port).into()
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub(crate) fn client(&self) -> Client {
        self.connect().expect("it listens")
    }

    pub(crate) fn call(&self, command: &str) -> Frame {
        let words = keyward_resp::split_words(command.as_bytes()).expect("quotes are closed");
        self.client().call(&words).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().expect("it runs").id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status().expect("kill runs");
        assert!(status.success(), "{name}");
    }

    /// Whether its process is there.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits until its process is gone.
    pub(crate) fn wait(&mut self) {
        wait_until(|| !self.is_running());
        self.child = None;
    }

    /// Ends it as it should be.
    pub(crate) fn end(&mut self) {
        self.signal("TERM");
        self.wait();
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.signal("KILL");
        self.wait();
    }

    /// A line of INFO.
    pub(crate) fn info(&self, name: &str) -> String {
        // A sentinel disconnects all clients of a server that it has follow another.
        let ask = || self.connect()?.call(&["INFO", "everything"]).ok();
        let info = ask().or_else(ask).expect("it serves");
        let text = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
        line.unwrap_or_default().to_owned()
    }

    /// How often somebody got everything, went on, and could not go on.
    pub(crate) fn syncs(&self) -> [String; 3] {
        ["sync_full", "sync_partial_ok", "sync_partial_err"].map(|name| self.info(name))
    }

    /// Waits until a replica follows it, and has everything.
    pub(crate) fn wait_for(&self, replica: &Node) {
        wait_for(|| match replica.info("master_link_status").as_str() {
            "up" => Ok(()),
            other => Err(format!("the link is {other}; {}\n{}", self.log(), replica.log())),
        });
        wait_for(|| {
            let (ours, theirs) =
                (self.info("master_repl_offset"), replica.info("slave_repl_offset"));
            if ours == theirs { Ok(()) } else { Err(format!("{ours} and {theirs}")) }
        });
    }

    /// Asserts that a replica has the same rows, which end at the same times.
    pub(crate) fn assert_equals(&self, replica: &Node) {
        self.wait_for(replica);
        let (mut ours, mut theirs) = (self.client(), replica.client());
        for db in 0..16 {
            let select = format!("SELECT {db}");
            for client in [&mut ours, &mut theirs] {
                keyward_testkit::call(client, &select);
            }
            // What ends soon would end between two questions.
            let none = Frame::Array(Vec::new());
            wait_until(|| keyward_testkit::call(&mut ours, "KEYS short:*") == none);
            // What is due is gone on neither before the primary has removed it.
            // Whoever is asked for everything once more says so (LOADING) until it has it.
            wait_until(|| {
                let sizes =
                    [&mut ours, &mut theirs].map(|it| it.call(["DBSIZE"]).expect("a reply"));
                matches!(sizes[0], Frame::Integer(_)) && sizes[0] == sizes[1]
            });
            let keys = keyward_testkit::call(&mut ours, "KEYS *");
            let Frame::Array(keys) = keys else { panic!("no keys: {keys:?}") };
            for key in &keys {
                let key = key.as_bytes().expect("a key");
                for command in [&b"PEXPIRETIME"[..], b"TYPE"] {
                    let words = [command, key];
                    let expected = ours.call(words).expect("a reply");
                    let name = key.escape_ascii();
                    assert_eq!(theirs.call(words).expect("a reply"), expected, "{db} {name}");
                }
            }
        }
        let digests = [&mut ours, &mut theirs].map(|it| keyward_testkit::call(it, "DEBUG DIGEST"));
        assert_eq!(digests[0], digests[1]);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Both fail only if the process is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
