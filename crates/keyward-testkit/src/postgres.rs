//! A PostgreSQL of a test's own.
//!
//! Owns a cluster in a directory of its own that is reached by a socket there, and the process
//! that serves it. Dropping a [`Postgres`] kills the process and removes the directory. Where
//! tests run as root, which PostgreSQL refuses, it runs as the user that Debian's package makes.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::certificates::Certificates;
use crate::server::free_port;
use crate::waiting::within;

/// Where Debian puts each version's programs.
const VERSIONS: &str = "/usr/lib/postgresql";
/// How long it may take until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    child: Child,
    directory: tempfile::TempDir,
    programs: PathBuf,
    /// Where it listens, if it is reached by TLS.
    port: Option<u16>,
    /// How large its small disk is, if it has one, as mount takes it.
    disk: Option<&'static str>,
}

impl Postgres {
    /// As [`Postgres::start`], reached on the loopback interface by TLS alone, with the
    /// certificate of this name.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    pub fn start_with_tls(certificates: &Certificates, name: &str) -> Postgres {
        Postgres::start_so(Some((certificates, name)), None)
    }

    /// As [`Postgres::start`], with a file system of this size (`16m`) besides, which
    /// [`Postgres::disk`] names, for a tablespace. It is in a mount namespace of the server's own
    /// and ends with it.
    ///
    /// # Panics
    /// As [`Postgres::start`], and where a process may have no such namespace.
    pub fn start_with_disk(size: &'static str) -> Postgres {
        Postgres::start_so(None, Some(size))
    }

    /// The directory of the small disk, as the server sees it.
    pub fn disk(&self) -> PathBuf {
        self.directory.path().join("disk")
    }

    /// The same directory, as others see it.
    pub fn disk_from_outside(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.child.id()));
        root.join(self.disk().strip_prefix("/").expect("an absolute path"))
    }

    /// Makes a cluster and serves it.
    ///
    /// # Panics
    /// If PostgreSQL is not on this machine, or does not start: a test that needs it must
    /// fail then.
    pub fn start() -> Postgres {
        Postgres::start_so(None, None)
    }

    fn start_so(
        certificates: Option<(&Certificates, &str)>,
        disk: Option<&'static str>,
    ) -> Postgres {
        let programs = programs().expect("PostgreSQL is not installed; these tests need it");
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        std::fs::create_dir(&data).expect("a directory for the cluster");
        if let Some((user, group)) = other_user() {
            for path in [directory.path(), &data] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).expect("its directory");
            }
        }
        // Others than its user look for the socket in there.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).expect("its directory");
        let mut command = as_its_user(&programs.join("initdb"));
        command.args(["-U", "keyward", "-A", "trust", "-E", "UTF8", "--locale", "C", "-N", "-D"]);
        let made = command.arg(&data).output().expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = certificates.map(|(certificates, name)| {
            for ending in ["crt", "key"] {
                let file = data.join(format!("server.{ending}"));
                let own = certificates.file(&format!("{name}.{ending}"));
                std::fs::copy(own, &file).expect("a certificate");
                let own = std::fs::Permissions::from_mode(0o600);
                std::fs::set_permissions(&file, own).expect("a certificate");
                if let Some((user, group)) = other_user() {
                    std::os::unix::fs::chown(&file, Some(user), Some(group)).expect("its file");
                }
            }
            let rules = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
            std::fs::write(data.join("pg_hba.conf"), rules).expect("who may connect");
            free_port()
        });
        std::fs::create_dir(directory.path().join("disk")).expect("a place for a disk");
        let child = serve(&programs, directory.path(), port, disk).expect("postgres runs");
        let postgres = Postgres { child, directory, programs, port, disk };
        postgres.wait();
        postgres
    }

    /// What reaches it, as `--postgres` takes it.
    pub fn url(&self) -> String {
        let port = self.port.map_or(String::new(), |port| format!(" port={port}"));
        format!("host={} user=keyward dbname=postgres{port}", self.directory.path().display())
    }

    /// What reaches it by TLS.
    ///
    /// # Panics
    /// If it was not started so.
    pub fn tls_url(&self) -> String {
        let port = self.port.expect("it was started with TLS");
        format!("postgres://keyward@127.0.0.1:{port}/postgres?sslmode=require")
    }

    /// One of PostgreSQL's programs, such as `psql`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// What a statement returns: a line for each row, `|` between its columns.
    ///
    /// # Panics
    /// If it fails.
    pub fn query(&self, statement: &str) -> String {
        let output = self.psql(statement);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {error}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Ends it as a power cut would (SIGKILL of every process), and serves the cluster anew.
    ///
    /// # Panics
    /// If it does not start again.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        // What is left of it would keep the next one away.
        let pid_file = self.directory.path().join("data/postmaster.pid");
        std::fs::remove_file(pid_file).expect("the file of the process id");
        let serving = serve(&self.programs, self.directory.path(), self.port, self.disk);
        self.child = serving.expect("postgres runs");
        self.wait();
    }

    /// Kills it, and whoever serves its connections.
    fn kill(&mut self) {
        // It cannot start others once it is stopped.
        let own = self.child.id();
        signal("-STOP", &[own]);
        let all: Vec<u32> = [own].into_iter().chain(children_of(own)).collect();
        signal("-KILL", &all);
        let _ = self.child.wait();
        // Their memory is in use as long as one of them is there.
        let are_gone = || all.iter().all(|pid| !is_running(*pid)).then_some(());
        within(START_TIMEOUT, are_gone).expect("its processes end");
    }

    fn psql(&self, statement: &str) -> Output {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]).arg(self.url());
        command.args(["-c", statement]).output().expect("psql runs")
    }

    fn wait(&self) {
        let is_ready = || self.psql("SELECT 1").status.success().then_some(());
        within(START_TIMEOUT, is_ready).unwrap_or_else(|| {
            let log = std::fs::read_to_string(self.directory.path().join("log"));
            panic!("PostgreSQL does not answer; its log:\n{}", log.unwrap_or_default())
        });
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(
    programs: &Path,
    directory: &Path,
    port: Option<u16>,
    disk: Option<&str>,
) -> io::Result<Child> {
    let log = std::fs::File::options().create(true).append(true).open(directory.join("log"))?;
    let program = programs.join("postgres");
    let mut command = match disk {
        Some(size) => with_disk(&program, &directory.join("disk"), size),
        None => as_its_user(&program),
    };
    command.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    command.args(["-c", "fsync=off", "-c", "max_connections=20"]);
    match port {
        Some(port) => {
            let port = format!("port={port}");
            command.args(["-c", "listen_addresses=127.0.0.1", "-c", &port, "-c", "ssl=on"]);
        }
        None => {
            command.args(["-c", "listen_addresses="]);
        }
    }
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
}

fn signal(signal: &str, processes: &[u32]) {
    let processes = processes.iter().map(u32::to_string);
    let _ = Command::new("kill").arg(signal).args(processes).stderr(Stdio::null()).status();
}

/// The processes that a process has started.
fn children_of(process: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_child = |pid: &u32| state_and_parent(*pid).is_some_and(|(_, parent)| parent == process);
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_child).collect()
}

/// Whether a process has not ended yet, reaped or not.
fn is_running(process: u32) -> bool {
    state_and_parent(process).is_some_and(|(state, _)| !matches!(state.as_str(), "Z" | "X"))
}

fn state_and_parent(process: u32) -> Option<(String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // They stand behind the name, which may hold anything.
    let mut behind = stat.rsplit_once(')')?.1.split_whitespace();
    Some((behind.next()?.to_owned(), behind.next()?.parse().ok()?))
}

/// The programs of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?.flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let programs = version.path().join("bin");
            let number = version.file_name().to_str()?.parse().ok()?;
            programs.join("initdb").exists().then_some((number, programs))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, programs)| programs)
}

/// The user and group that serve it, where the tests run as root.
fn other_user() -> Option<(u32, u32)> {
    let id = |of: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(of).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    id(&["-u", "postgres"]).zip(id(&["-g", "postgres"]))
}

/// A program that runs as its user, with a file system of this size in a mount namespace.
fn with_disk(program: &Path, place: &Path, size: &str) -> Command {
    let id = |of: &str| -> u32 {
        let output = Command::new("id").arg(of).output().expect("id runs");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
    };
    // Root gives its rights up; anybody else is root of a namespace, and himself of the next.
    let (outer, (user, group), inner, owner) = match other_user() {
        Some(other) => {
            ("", other, "setpriv --clear-groups --reuid=$2 --regid=$3", ",uid=$2,gid=$3")
        }
        None => {
            let own = (id("-u"), id("-g"));
            ("--map-root-user", own, "unshare --user --map-user=$2 --map-group=$3", "")
        }
    };
    let script = format!(
        "mount -t tmpfs -o size={size},mode=0700{owner} tmpfs \"$0\" && program=$1 && run=\"{inner}\" \
         && shift 3 && exec $run \"$program\" \"$@\""
    );
    let mut command = Command::new("unshare");
    command.args((!outer.is_empty()).then_some(outer)).args(["--mount", "sh", "-c", &script]);
    command.arg(place).arg(program).args([user.to_string(), group.to_string()]);
    command.current_dir("/");
    command
}

fn as_its_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = other_user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/");
    command
}
