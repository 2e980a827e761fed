//! Dashboards for Grafana: every query returns data.

use crate::prometheus::Prometheus;
use crate::{Shop, attempt};
use keyward_testkit::wait_for;
use std::process::Command;

/// Runs queries on a Prometheus that scrapes a server with users, until each has returned data.
fn return_data(shop: &Shop, queries: impl IntoIterator<Item = String>) {
    let folder = tempfile::tempdir().expect("a directory");
    let prometheus = Prometheus::start(folder.path(), shop.http, "");
    let client = &mut shop.server.client();
    for query in queries {
        wait_for(|| {
            for number in 0..20 {
                attempt(client, &format!("HSET user:{number} email e{number}"));
                attempt(client, &format!("SET page:{number} text"));
                attempt(client, &format!("GET page:{number}"));
                attempt(client, "SET nowhere 1");
            }
            let found = prometheus.query(&query)?;
            let is_there = found.contains("\"value\":[") && !found.contains("\"result\":[]");
            let has_numbers =
                found.split("\"value\":[").skip(1).any(|part| !part.contains("\"NaN\"]"));
            if is_there && has_numbers { Ok(()) } else { Err(format!("{query}: {found}")) }
        });
    }
}

#[test]
fn every_query_of_the_dashboard_returns_data_under_load() {
    let shop = Shop::open(&[]);
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, crate::SHOP).expect("the schema is written");
    let output =
        Command::new(crate::PROGRAM).arg("dashboards").arg(&file).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let dashboard: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let queries: Vec<&str> =
        panels.iter().filter_map(|panel| panel["targets"][0]["expr"].as_str()).collect();
    assert_eq!(queries.len(), 15, "{queries:?}");
    let filled = |query: &str| query.replace("$__rate_interval", "30s").replace("$instance", ".*");
    return_data(&shop, queries.into_iter().map(filled));
}

/// What the usual dashboard for redis_exporter (763) and the redis mixin ask.
const USUAL: &[&str] = &[
    "max(max_over_time(redis_uptime_in_seconds{instance=~'.*'}[1m]))",
    "sum(redis_connected_clients{instance=~'.*'})",
    "sum(100 * (redis_memory_used_bytes / redis_memory_max_bytes))",
    "sum(rate(redis_commands_total[1m])) by (cmd)",
    "irate(redis_keyspace_hits_total[5m])",
    "irate(redis_keyspace_misses_total[5m])",
    "sum(rate(redis_net_input_bytes_total[5m]))",
    "sum(rate(redis_net_output_bytes_total[5m]))",
    "sum(redis_db_keys{instance=~'.*'}) by (db, instance)",
    "sum(redis_db_keys) by (instance) - sum(redis_db_keys_expiring) by (instance)",
    "sum(redis_db_keys_expiring) by (instance)",
    "sum(rate(redis_expired_keys_total[5m])) by (instance)",
    "sum(rate(redis_evicted_keys_total[5m])) by (instance)",
    "topk(5, irate(redis_commands_total[1m]))",
    "sum(irate(redis_commands_duration_seconds_total[1m])) by (cmd) / sum(irate(redis_commands_total[1m])) by (cmd)",
    "sum(redis_blocked_clients)",
    "redis_up",
    "redis_memory_used_bytes / redis_total_system_memory_bytes * 100",
    "redis_connected_clients / redis_config_maxclients * 100",
    "increase(redis_rejected_connections_total[1m]) + 1",
    "time() - redis_rdb_last_save_timestamp_seconds",
    "changes(redis_connected_slaves[1m]) + 1",
    "count(redis_instance_info{role='master'})",
];

#[test]
fn queries_for_redis_exporter_return_data_under_load() {
    let shop = Shop::open(&["--maxmemory", "1gb"]);
    return_data(&shop, USUAL.iter().map(|query| (*query).to_owned()));
}
