//! A server under measurement.

use crate::clients;
use crate::connection::Connection;
use crate::load::{Load, Seen};
use anyhow::{Context, bail, ensure};
use keyward_testkit::{Certificates, within};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SERVER_CORE: &str = "0";
pub(crate) const LOAD_CORE: &str = "1";
const START_TIMEOUT: Duration = Duration::from_secs(20);
const SETTLE_TIMEOUT: Duration = Duration::from_secs(120);
const SETTLE_STEP: Duration = Duration::from_millis(200);
/// Who uses less than one part in so many of a processor does nothing.
const IDLE_SHARE: u32 = 50;

/// A running server, pinned to its core; stopped when dropped.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// What the program says of itself.
    pub(crate) version: String,
    child: Child,
    port: u16,
    /// How redis-benchmark reaches it by TLS, if that is measured.
    tls: Vec<String>,
    /// Files that it and redis-benchmark read.
    _certificates: Option<Arc<Certificates>>,
}

impl Peer {
    /// Starts a server without persistence on a free port.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        first: &[&str],
    ) -> anyhow::Result<Peer> {
        Peer::start_with(name, program, first, &["--appendonly", "no"])
    }

    /// As `start`, of a Keyward that packs rows as soon as it has leisure, in use or not.
    pub(crate) fn start_packing(
        name: &'static str,
        program: &Path,
        first: &[&str],
    ) -> anyhow::Result<Peer> {
        Peer::start_with(name, program, first, &["--appendonly", "no", "--pack-after", "0"])
    }

    /// Starts a server without save points on a free port.
    pub(crate) fn start_with(
        name: &'static str,
        program: &Path,
        first: &[&str],
        settings: &[&str],
    ) -> anyhow::Result<Peer> {
        Peer::launch(name, program, &[first, settings], None)
    }

    /// As `start`, of a server that redis-benchmark connects to by TLS.
    pub(crate) fn start_by_tls(
        name: &'static str,
        program: &Path,
        first: &[&str],
        certificates: &Arc<Certificates>,
    ) -> anyhow::Result<Peer> {
        let port = free_port()?;
        let settings = ["--appendonly", "no", "--tls-auth-clients", "no"];
        let named = certificates.settings(port, "rsa");
        let named = named.iter().map(String::as_str);
        let settings: Vec<&str> = settings.into_iter().chain(named).collect();
        let mut peer = Peer::start_with(name, program, first, &settings)?;
        let options = ["-p", &port.to_string(), "--tls", "--cacert", &certificates.path("ca.crt")];
        peer.tls = options.map(str::to_owned).to_vec();
        peer._certificates = Some(Arc::clone(certificates));
        Ok(peer)
    }

    /// Where it takes connections by TLS, if it does.
    pub(crate) fn tls_address(&self) -> Option<SocketAddr> {
        let port = self.tls.get(1)?.parse().ok()?;
        Some((Ipv4Addr::LOCALHOST, port).into())
    }

    /// As `start`, with another allocator than it was built with: a shared library.
    pub(crate) fn start_preloading(
        name: &'static str,
        program: &Path,
        allocator: &Path,
    ) -> anyhow::Result<Peer> {
        let arguments = [&[][..], &["--appendonly", "no"]];
        let mut peer = Peer::launch(name, program, &arguments, Some(allocator))?;
        // What cannot be preloaded is left out with a warning that nobody sees.
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", peer.child.id()))?;
        let file_name = allocator.file_name().and_then(|name| name.to_str()).context("a name")?;
        ensure!(maps.contains(file_name), "{name} has not loaded {}", allocator.display());
        peer.version += &format!(", {} preloaded", allocator.display());
        Ok(peer)
    }

    /// Starts a server with these arguments, the first ones before those all servers get.
    fn launch(
        name: &'static str,
        program: &Path,
        [first, settings]: &[&[&str]; 2],
        preloaded: Option<&Path>,
    ) -> anyhow::Result<Peer> {
        let version = Command::new(program)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
        let port = free_port()?;
        let child = Command::new("taskset")
            .args(["-c", SERVER_CORE])
            .arg(program)
            .args(*first)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(*settings)
            .envs(preloaded.map(|library| ("LD_PRELOAD", library)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let peer = Peer { name, version, child, port, tls: Vec::new(), _certificates: None };
        let listens = within(START_TIMEOUT, || peer.connect().ok());
        listens.with_context(|| format!("{name} does not listen"))?;
        Ok(peer)
    }

    /// Runs redis-benchmark against it from the other core; returns what that saw.
    pub(crate) fn load(&self, command: &[&str], load: &Load) -> anyhow::Result<Seen> {
        self.load_with(&self.tls, command, load)
    }

    /// As `load`, never by TLS.
    pub(crate) fn load_plainly(&self, command: &[&str], load: &Load) -> anyhow::Result<Seen> {
        self.load_with(&[], command, load)
    }

    fn load_with(&self, by: &[String], command: &[&str], load: &Load) -> anyhow::Result<Seen> {
        let output = Command::new("taskset")
            .args(["-c", LOAD_CORE, "redis-benchmark", "-p", &self.port.to_string()])
            .args(by)
            .args(load.options())
            .args(command)
            .output()
            .context("cannot run redis-benchmark")?;
        let report = String::from_utf8_lossy(&output.stdout);
        // It goes on after an error reply, which would be a fast one.
        if !output.status.success() || report.contains("Error from server") {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}: redis-benchmark {command:?}: {report}{said}", self.name);
        }
        Seen::read(&report)
    }

    /// Sets keys from this thread; returns how many a second.
    pub(crate) fn set(&self, load: &Load) -> anyhow::Result<f64> {
        let address = (Ipv4Addr::LOCALHOST, self.port).into();
        clients::set(address, load).with_context(|| self.name)
    }

    /// What it answers to a command.
    pub(crate) fn call(&self, command: &[&str]) -> anyhow::Result<String> {
        self.open()?.call(command).with_context(|| format!("{}: {command:?}", self.name))
    }

    /// Nanoseconds its threads have had a processor.
    pub(crate) fn processor_ns(&self) -> anyhow::Result<u64> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()))
            .with_context(|| format!("{} has ended", self.name))?;
        let mut sum_ns = 0;
        for task in tasks {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            sum_ns += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(sum_ns)
    }

    /// Nanoseconds that the thread which executes commands has had a processor: the first.
    pub(crate) fn core_ns(&self) -> anyhow::Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()))?;
        Ok(text.split(' ').next().unwrap_or_default().parse()?)
    }

    /// Waits until it does nothing more by itself; returns how long its threads have had
    /// a processor then.
    pub(crate) fn settle(&self) -> anyhow::Result<u64> {
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        while !self.is_idle_for(SETTLE_STEP)? {
            if Instant::now() > deadline {
                bail!("{} does not come to rest", self.name);
            }
        }
        self.processor_ns()
    }

    /// Waits for so long; returns whether it did nothing by itself meanwhile.
    pub(crate) fn is_idle_for(&self, step: Duration) -> anyhow::Result<bool> {
        let before_ns = self.processor_ns()?;
        std::thread::sleep(step);
        let spent = Duration::from_nanos(self.processor_ns()? - before_ns);
        Ok(spent * IDLE_SHARE < step)
    }

    /// The port on which it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A connection for many commands.
    pub(crate) fn open(&self) -> anyhow::Result<Connection> {
        Connection::new((Ipv4Addr::LOCALHOST, self.port).into())
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> anyhow::Result<TcpStream> {
        Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?)
    }

    /// Its resident memory.
    pub(crate) fn resident_bytes(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .with_context(|| format!("{} has ended", self.name))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u64 = line.unwrap_or_default().trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024)
    }
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
