//! api-billing with its replica and its sentinel: the script that shows a failover.

use crate::{all, scenario};
use std::process::Command;

/// How long it may take, in seconds: it waits a minute for each thing.
const PATIENCE_S: &str = "170";

/// Runs it; what it told, which ended well.
fn fails_over(how: &str) -> String {
    let script = all().join("api-billing/sentinel/failover.py");
    let output = Command::new("timeout")
        .arg(PATIENCE_S)
        .arg(scenario::installed("python"))
        .arg(script)
        .args(["--keyward", env!("CARGO_BIN_EXE_keyward"), "--how", how])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the script is run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{}\n{told}", output.status);
    told
}

#[test]
fn api_billing_goes_on_after_its_primary_is_killed() {
    let told = fails_over("kill");
    assert!(told.contains("80 top-ups of 0.10: a balance of 8.00 in 80 transactions"), "{told}");
}

#[test]
fn api_billing_goes_on_after_its_primary_stands_still() {
    let told = fails_over("stop");
    assert!(told.contains("80 top-ups of 0.10: a balance of 8.00 in 80 transactions"), "{told}");
}
