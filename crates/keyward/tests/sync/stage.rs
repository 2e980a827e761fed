//! A server, a database and what carries changes from one to the other.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use keyward_testkit::{Client, Postgres, Server, call};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");

/// What becomes of the server's files.
#[derive(Clone, Copy)]
pub(crate) enum Aside {
    Put,
    Bring,
}

/// A schema, the files of its server, and a database with its tables.
pub(crate) struct Stage {
    pub(crate) postgres: Postgres,
    directory: TempDir,
}

impl Stage {
    pub(crate) fn new(schema: &str) -> Stage {
        Stage::on(Postgres::start(), schema)
    }

    /// The same, on this database.
    pub(crate) fn on(postgres: Postgres, schema: &str) -> Stage {
        let stage = Stage { postgres, directory: TempDir::new().expect("a directory") };
        std::fs::create_dir(stage.data()).expect("a directory for data");
        std::fs::write(stage.schema(), schema).expect("the schema is written");
        let url = stage.postgres.url();
        let made = run(&["sql", "--check", &url, "--apply", stage.schema_text()]);
        assert!(made.status.success(), "{made:?}");
        stage
    }

    pub(crate) fn schema(&self) -> PathBuf {
        self.directory.path().join("keyward.toml")
    }

    pub(crate) fn schema_text(&self) -> &'static str {
        // A test makes few of them.
        Box::leak(self.schema().display().to_string().into_boxed_str())
    }

    /// Puts the server's files aside, or brings those that were put aside back.
    pub(crate) fn swap_data(&self, what: Aside) {
        let aside = self.directory.path().join("aside");
        let (from, to) = match what {
            Aside::Put => (self.data(), aside),
            Aside::Bring => (aside, self.data()),
        };
        let _ = std::fs::remove_dir_all(&to);
        let copied = Command::new("cp").arg("-a").args([&from, &to]).status().expect("cp runs");
        assert!(copied.success());
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A server on what the last one left.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// The same, with more options.
    pub(crate) fn serve_with(&self, more: &[&str]) -> Server {
        let data = self.data().display().to_string();
        let options = [self.schema_text(), "--dir", &data, "--appendonly", "yes"];
        Server::keyward(Path::new(PROGRAM), &[&options[..], more].concat())
    }

    /// A server of the schema that keeps nothing.
    pub(crate) fn serve_only(&self, more: &[&str]) -> Server {
        let options = [self.schema_text(), "--appendonly", "no"];
        Server::keyward(Path::new(PROGRAM), &[&options[..], more].concat())
    }

    /// Loads a server from the tables.
    pub(crate) fn fill(&self, server: &Server, options: &[&str]) -> Output {
        let source = server.address().to_string();
        let url = self.postgres.url();
        let most = ["fill", "--postgres", &url, "--source", &source, self.schema_text()];
        run(&[&most[..], options].concat())
    }

    /// Takes all files of the server away.
    pub(crate) fn empty_data(&self) {
        std::fs::remove_dir_all(self.data()).expect("the files go");
        std::fs::create_dir(self.data()).expect("a directory for data");
    }

    /// Writes another schema, and makes the tables that it wants.
    pub(crate) fn change_schema(&self, schema: &str) {
        std::fs::write(self.schema(), schema).expect("the schema is written");
        let url = self.postgres.url();
        let made = run(&["sql", "--check", &url, "--apply", self.schema_text()]);
        assert!(made.status.success(), "{made:?}");
    }

    /// Has a server take the schema that is written.
    pub(crate) fn apply(&self, client: &mut Client) {
        let text = std::fs::read(self.schema()).expect("the schema");
        let plan = client.call([&b"KEYWARD"[..], b"SCHEMA", b"PLAN", &text]).expect("a plan");
        let elements = plan.as_elements().unwrap_or_else(|| panic!("{plan:?}"));
        let id = elements[1].as_bytes().expect("its name").to_vec();
        let applied = client.call([&b"KEYWARD"[..], b"SCHEMA", b"APPLY", &id]).expect("a reply");
        assert!(applied.as_elements().is_some(), "{applied:?}");
    }

    /// Stores what there is to store.
    pub(crate) fn sync_once(&self, server: &Server) -> Output {
        self.sync_with(server, &["--once"])
    }

    /// Stores changes with these options.
    pub(crate) fn sync_with(&self, server: &Server, options: &[&str]) -> Output {
        let source = server.address().to_string();
        let url = self.postgres.url();
        let most = ["sync", "--postgres", &url, "--source", &source, self.schema_text()];
        run(&[&most[..], options].concat())
    }

    /// Stores changes with these options; the most memory that it had, in kB.
    pub(crate) fn sync_peak_kb(&self, server: &Server, options: &[&str]) -> u64 {
        let source = server.address().to_string();
        let url = self.postgres.url();
        let most = ["sync", "--postgres", &url, "--source", &source, self.schema_text()];
        let mut child = Command::new(PROGRAM)
            .args([&most[..], options].concat())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        loop {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = peak.max(now.unwrap_or(0));
            if let Some(status) = child.try_wait().expect("it can be asked") {
                assert!(status.success() && peak > 0, "{status} {peak}");
                return peak;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// What comparing both sides says.
    pub(crate) fn verify(&self, server: &Server) -> String {
        let source = server.address().to_string();
        let url = self.postgres.url();
        let output = run(&["verify", "--postgres", &url, "--source", &source, self.schema_text()]);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        format!("exit {}\n{text}", output.status.code().unwrap_or(-1))
    }

    /// Goes on storing until it is dropped, which kills it.
    pub(crate) fn sync(&self, source: &str) -> Syncing {
        self.sync_as(source, &[])
    }

    /// As [`Stage::sync`], with these options.
    pub(crate) fn sync_as(&self, source: &str, options: &[&str]) -> Syncing {
        let url = self.postgres.url();
        let log = self.directory.path().join("sync.log");
        let file = std::fs::File::create(&log).expect("a file for what it says");
        let child = Command::new(PROGRAM)
            .args(["sync", "--postgres", &url, "--source", source, self.schema_text()])
            .args(options)
            .stdout(Stdio::null())
            .stderr(file)
            .spawn();
        Syncing { child: child.expect("the binary runs"), log }
    }

    #[track_caller]
    pub(crate) fn check(&self, query: &str, expected: &str) {
        assert_eq!(self.postgres.query(query), expected, "{query}");
    }
}

/// A stage, its server, and a client of it that has sent these commands.
pub(crate) fn begun(schema: &str, commands: &str) -> (Stage, Server, Client) {
    let stage = Stage::new(schema);
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, commands);
    (stage, server, client)
}

/// What carries changes, as long as it is let live.
pub(crate) struct Syncing {
    child: Child,
    log: PathBuf,
}

impl Syncing {
    /// What it has said so far.
    pub(crate) fn told(&self) -> String {
        std::fs::read_to_string(&self.log).expect("what it says")
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the binary runs")
}

/// What a command said, which is to have succeeded.
#[track_caller]
pub(crate) fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Sends commands, a line each, which are to succeed.
pub(crate) fn call_all(client: &mut Client, commands: &str) {
    for command in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
        call(client, command);
    }
}

/// Has the database's clock be ahead of the machine's.
pub(crate) fn advance_database(stage: &Stage, days: u64) {
    stage.postgres.query(&format!(
        "CREATE OR REPLACE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS \
         $$ SELECT pg_catalog.now() + interval '{days} days' $$; \
         ALTER DATABASE postgres SET search_path = public, pg_catalog"
    ));
}
