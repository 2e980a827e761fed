//! LATENCY DOCTOR: the series in words, and advice, in Redis's words.

use crate::sessions::latency::{Latency, Series};
use crate::tunables::Tunables;
use std::fmt::Write as _;

/// The whole report.
pub(crate) fn report(latency: &Latency, tunables: &Tunables, now_s: i64) -> String {
    if latency.events.is_empty() {
        let text = if tunables.latency_ms_min == 0 { DISABLED } else { CALM };
        return text.to_owned();
    }
    let mut text = SPIKES.to_owned();
    for (number, (name, series)) in latency.events.iter().enumerate() {
        describe(&mut text, number + 1, name, series, now_s);
    }
    let advice = advice(latency, tunables);
    if advice.is_empty() {
        text.push_str(NO_ADVICE);
    } else {
        text.push_str("\nI have a few advices for you:\n\n");
        text.push_str(&advice.concat());
    }
    text
}

fn describe(text: &mut String, number: usize, name: &str, series: &Series, now_s: i64) {
    let samples = &series.samples;
    let count = samples.len() as u64;
    let mean = samples.iter().map(|sample| sample.ms).sum::<u64>() / count.max(1);
    let deviations = samples.iter().map(|sample| sample.ms.abs_diff(mean));
    let deviation = deviations.sum::<u64>() / count.max(1);
    let first_s = samples.front().map_or(now_s, |sample| sample.time_s);
    let period = (now_s - first_s).max(1) as f64 / count.max(1) as f64;
    let worst = series.ms_max;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{number}. {name}: {count} latency spikes (average {mean}ms, mean deviation {deviation}ms, period {period:.2} sec). Worst all time event {worst}ms."
    );
}

/// What may help against the events there are.
fn advice(latency: &Latency, tunables: &Tunables) -> Vec<String> {
    let has = |event: &str| latency.events.contains_key(event);
    let threshold_ms = tunables.latency_ms_min;
    let threshold_us = threshold_ms.saturating_mul(1000);
    let mut advice = Vec::new();
    if has("command") {
        match tunables.slow_log_us_min {
            None => advice.push(format!("- There are latency issues with potentially slow commands you are using. Try to enable the Slow Log Redis feature using the command 'CONFIG SET slowlog-log-slower-than {threshold_us}'. If the Slow log is disabled Redis is not able to log slow commands execution for you.\n")),
            Some(us) if us / 1000 > threshold_ms => advice.push(format!("- Your current Slow Log configuration only logs events that are slower than your configured latency monitor threshold. Please use 'CONFIG SET slowlog-log-slower-than {threshold_us}'.\n")),
            Some(_) => {}
        }
        advice.push(INSPECT.to_owned());
    }
    if has("fast-command") {
        advice.push(SCHEDULER.to_owned());
    }
    if has("command") || has("expire-cycle") || has("eviction-del") {
        advice.push(LARGE_OBJECTS.to_owned());
    }
    if has("eviction-cycle") {
        advice.push(MASS_EVICTION.to_owned());
    }
    advice
}

const DISABLED: &str = "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we weren't in a deep space mission I'd suggest to take a look at https://redis.io/topics/latency-monitor.\n";
const CALM: &str = "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the slightest bit. I honestly think you ought to sit down calmly, take a stress pill, and think things over.\n";
const SPIKES: &str = "Dave, I have observed latency spikes in this Redis instance. You don't mind talking about it, do you Dave?\n\n";
const NO_ADVICE: &str = "\nWhile there are latency events logged, I'm not able to suggest any easy fix. Please use the Redis community to get some help, providing this report in your help request.\n";
const INSPECT: &str = "- Check your Slow Log to understand what are the commands you are running which are too slow to execute. Please check https://redis.io/commands/slowlog for more information.\n";
const SCHEDULER: &str = "- The system is slow to execute Redis code paths not containing system calls. This usually means the system does not provide Redis CPU time to run for long periods. You should try to:\n  1) Lower the system load.\n  2) Use a computer / VM just for Redis if you are running other software in the same system.\n  3) Check if you have a \"noisy neighbour\" problem.\n  4) Check with 'redis-cli --intrinsic-latency 100' what is the intrinsic latency in your system.\n";
const LARGE_OBJECTS: &str = "- Deleting, expiring or evicting (because of maxmemory policy) large objects is a blocking operation. If you have very large objects that are often deleted, expired, or evicted, try to fragment those objects into multiple smaller objects.\n";
const MASS_EVICTION: &str = "- Sudden changes to the 'maxmemory' setting via 'CONFIG SET', or allocation of large objects via sets or sorted sets intersections, STORE option of SORT, Redis Cluster large keys migrations (RESTORE command), may create sudden memory pressure forcing the server to block trying to evict keys. \n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_tells_what_was_seen_and_what_may_help() {
        let tunables = Tunables { latency_ms_min: 100, ..Tunables::default() };
        let mut latency = Latency::default();
        assert_eq!(report(&latency, &Tunables::default(), 0), DISABLED);
        assert_eq!(report(&latency, &tunables, 0), CALM);
        latency.add("command", 100, 200);
        latency.add("command", 110, 400);
        let text = report(&latency, &tunables, 120);
        let line = "1. command: 2 latency spikes (average 300ms, mean deviation 100ms, period 10.00 sec). Worst all time event 400ms.\n";
        let expected =
            [SPIKES, line, "\nI have a few advices for you:\n\n", INSPECT, LARGE_OBJECTS];
        assert_eq!(text, expected.concat());
    }
}
