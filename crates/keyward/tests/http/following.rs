//! How far a replica is behind, by its own figures.

use crate::browser::{get, metrics, sample};
use keyward_testkit::{Server, call, free_port, wait_until};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

const LAG: &str = "redis_replication_lag_seconds";

#[test]
fn a_replica_on_a_quiet_link_is_not_behind_and_one_without_a_link_is_ever_more() {
    let primary = Server::keyward(Path::new(crate::PROGRAM), &[]);
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (place, port) = (http.to_string(), primary.address().port().to_string());
    let options = ["--http", &place, "--replicaof", &format!("127.0.0.1 {port}")];
    let replica = Server::keyward(Path::new(crate::PROGRAM), &options);
    wait_until(|| get(http, "/readyz", "").status == 200);
    call(&mut primary.client(), "SET a 1");
    std::thread::sleep(Duration::from_millis(300));
    // Longer than the primary's PINGs are apart.
    let begun = Instant::now();
    let mut quiet = Vec::new();
    while begun.elapsed() < Duration::from_secs(13) {
        quiet.push(sample(&metrics(http), LAG).expect("it is always there"));
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(quiet.iter().all(|lag| *lag == 0.0), "{quiet:?}");
    drop(primary);
    wait_until(|| get(http, "/readyz", "").status == 503);
    let mut lags = Vec::new();
    wait_until(|| {
        lags.push(sample(&metrics(http), LAG).expect("it is always there"));
        lags.last().is_some_and(|lag| *lag >= 4.0)
    });
    assert!(lags.is_sorted(), "{lags:?}");
    drop(replica);
}
