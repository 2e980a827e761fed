//! A server under measurement.

use crate::Arguments;
use anyhow::{Context, bail};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A running server, pinned to its core; stopped when dropped.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    child: Child,
    port: u16,
}

impl Peer {
    /// Starts a server without persistence on a free port.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        first: &[&str],
    ) -> anyhow::Result<Peer> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let child = Command::new("taskset")
            .args(["-c", SERVER_CORE])
            .arg(program)
            .args(first)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let peer = Peer { name, child, port };
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > deadline {
                bail!("{name} does not listen");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(peer)
    }

    /// Runs redis-benchmark against it from the other core.
    pub(crate) fn benchmark(
        &self,
        test: &str,
        pipeline: u32,
        requests: u64,
        arguments: &Arguments,
    ) -> anyhow::Result<()> {
        let output = Command::new("taskset")
            .args(["-c", LOAD_CORE, "redis-benchmark", "-q", "-c", "50", "-t", test])
            .args(["-p", &self.port.to_string(), "-P", &pipeline.to_string()])
            .args(["-n", &requests.to_string(), "-r", &arguments.keys.to_string()])
            .args(["-d", &arguments.value_bytes.to_string()])
            .output()
            .context("cannot run redis-benchmark")?;
        if !output.status.success() {
            bail!("redis-benchmark -t {test}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn kernel_file(&self, name: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{name}", self.child.id());
        std::fs::read_to_string(&path).with_context(|| format!("{} has ended", self.name))
    }

    /// Nanoseconds its main thread has had a processor.
    pub(crate) fn processor_ns(&self) -> anyhow::Result<u64> {
        let text = self.kernel_file("schedstat")?;
        Ok(text.split(' ').next().unwrap_or_default().parse()?)
    }

    /// Its resident memory.
    pub(crate) fn resident_mb(&self) -> anyhow::Result<u64> {
        let status = self.kernel_file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u64 = line.unwrap_or_default().trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes / 1024)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
