//! The dashboard for Grafana: every query returns data.

use crate::prometheus::Prometheus;
use crate::{Shop, attempt};
use keyward_testkit::wait_for;
use std::process::Command;

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
    let prometheus = Prometheus::start(folder.path(), shop.http, "");
    let client = &mut shop.server.client();
    for query in queries {
        let query = query.replace("$__rate_interval", "30s").replace("$instance", ".*");
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
