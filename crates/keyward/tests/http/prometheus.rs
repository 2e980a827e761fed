//! A real Prometheus scrapes.

use crate::Shop;
use crate::browser::get;
use keyward_testkit::{call, free_port, wait_for};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Debian's Prometheus, with a configuration.
pub(crate) struct Prometheus {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Prometheus {
    pub(crate) fn start(folder: &Path, target: SocketAddr, more: &str) -> Prometheus {
        let config = format!(
            "global:\n  scrape_interval: 500ms\n  evaluation_interval: 500ms\n{more}\
             scrape_configs:\n- job_name: keyward\n  static_configs:\n  - targets: ['{target}']\n"
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, config).expect("the configuration is written");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus is installed (./test does that)");
        Prometheus { process, address }
    }

    /// What a query returns, as JSON.
    pub(crate) fn query(&self, query: &str) -> Result<String, String> {
        let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/api/v1/query?query={query}");
        if std::net::TcpStream::connect(self.address).is_err() {
            return Err("it does not listen yet".to_owned());
        }
        let page = get(self.address, &path, "");
        match page.status {
            200 => Ok(page.body),
            status => Err(format!("{status}: {}", page.body)),
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn prometheus_scrapes_figures_of_patterns() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    for id in 0..7 {
        call(client, &format!("HSET user:{id} email e{id}"));
    }
    let folder = tempfile::tempdir().expect("a directory");
    let prometheus = Prometheus::start(folder.path(), shop.http, "");
    let holds = |query: &str, expected: &str| {
        wait_for(|| {
            let found = prometheus.query(query)?;
            match found.contains(&format!(",\"{expected}\"]")) {
                true => Ok(()),
                false => Err(format!("{query}: {found}")),
            }
        });
    };
    holds("keyward_pattern_keys{pattern='user:{id:uint}'}", "7");
    holds("up{job='keyward'}", "1");
    // As the redis mixin asks.
    holds("redis_up", "1");
    holds("redis_connected_clients > bool 1000", "0");
    holds("count(redis_memory_used_bytes / redis_total_system_memory_bytes * 100 > 0)", "1");
    holds(
        "histogram_quantile(1, keyward_command_duration_seconds_bucket{command='hset'}) > bool 0",
        "1",
    );
}
