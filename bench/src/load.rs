//! The load: redis-benchmark, and what it says of a run.
//!
//! Its latencies are read from its report for people, since its CSV has no p99.9.
//! There the distribution comes in steps; p99.9 is the first step at or above it,
//! which redis-benchmark gives as 99.902 %.

use crate::arguments::Arguments;
use anyhow::Context;

pub(crate) const CLIENTS: u32 = 50;

/// How much is sent, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) pipeline: u32,
    pub(crate) requests: u64,
    pub(crate) keys: u64,
    pub(crate) value_bytes: u32,
}

impl Load {
    /// What the arguments say, one command at a time.
    pub(crate) fn new(arguments: &Arguments) -> Load {
        let Arguments { requests, keys, value_bytes, .. } = *arguments;
        Load { pipeline: 1, requests, keys, value_bytes }
    }

    /// As arguments of redis-benchmark.
    pub(crate) fn options(&self) -> Vec<String> {
        let Load { pipeline, requests, keys, value_bytes } = self;
        format!("-c {CLIENTS} -P {pipeline} -n {requests} -r {keys} -d {value_bytes}")
            .split(' ')
            .map(str::to_owned)
            .collect()
    }
}

/// What redis-benchmark saw: commands per second, and how long they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seen {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) p999_ms: f64,
}

impl Seen {
    /// From the report on one test.
    pub(crate) fn read(report: &str) -> anyhow::Result<Seen> {
        let per_second = report
            .lines()
            .find_map(|line| line.trim().strip_prefix("throughput summary: "))
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .with_context(|| format!("redis-benchmark tells no throughput: {report}"))?;
        let (p50_ms, p99_ms) = read_summary(report).context("redis-benchmark has no summary")?;
        let steps = report.lines().skip_while(|line| !line.starts_with("Latency by"));
        let steps = steps.take_while(|line| !line.starts_with("Cumulative"));
        let (_, p999_ms) = steps
            .filter_map(read_step)
            .find(|(percent, _)| *percent >= 99.9)
            .context("redis-benchmark tells no latencies")?;
        Ok(Seen { per_second, p50_ms, p99_ms, p999_ms })
    }
}

/// `99.902% <= 14.015 milliseconds (cumulative count 19981)`.
fn read_step(line: &str) -> Option<(f64, f64)> {
    let (percent, rest) = line.split_once("% <= ")?;
    let (latency_ms, _) = rest.split_once(' ')?;
    Some((percent.parse().ok()?, latency_ms.parse().ok()?))
}

/// The p50 and p99 below the heading `avg min p50 p95 p99 max`.
fn read_summary(report: &str) -> Option<(f64, f64)> {
    let mut lines = report.lines().skip_while(|line| !line.trim().starts_with("avg "));
    let figures = lines.nth(1)?.split_whitespace().map(str::parse);
    let figures: Vec<f64> = figures.collect::<Result<_, _>>().ok()?;
    Some((*figures.get(2)?, *figures.get(4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
====== SET ======
  20000 requests completed in 0.24 seconds

Latency by percentile distribution:
0.000% <= 0.023 milliseconds (cumulative count 1)
50.000% <= 0.303 milliseconds (cumulative count 10080)
99.805% <= 13.895 milliseconds (cumulative count 19962)
99.902% <= 14.015 milliseconds (cumulative count 19981)
100.000% <= 14.119 milliseconds (cumulative count 20000)

Cumulative distribution of latencies:
99.985% <= 14.103 milliseconds (cumulative count 19997)

Summary:
  throughput summary: 82644.62 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.423     0.016     0.303     0.479     5.519    14.119
";

    #[test]
    fn a_report_is_read() {
        let seen = Seen::read(REPORT).expect("a whole report");
        let expected = Seen { per_second: 82644.62, p50_ms: 0.303, p99_ms: 5.519, p999_ms: 14.015 };
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_report_without_its_figures_is_an_error() {
        for missing in ["throughput", "avg", "Latency by"] {
            let lines: Vec<&str> = REPORT.lines().filter(|line| !line.contains(missing)).collect();
            assert!(Seen::read(&lines.join("\n")).is_err(), "without {missing}");
        }
    }
}
