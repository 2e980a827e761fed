//! Waiting until replicas have what is to be stored.

use std::time::{Duration, Instant};

use crate::following::FollowError;
use crate::source::{Source, SourceError};

/// How often the server is asked.
const PERIOD: Duration = Duration::from_millis(10);
/// How long it may take before it is told that it does.
const TOLD_AFTER: Duration = Duration::from_secs(5);

/// Waits until so many replicas have acknowledged all that the server has told so far.
pub(super) fn wait(
    source: &mut Source,
    wanted: usize,
    mut tell: impl FnMut(&str),
) -> Result<(), FollowError> {
    let mut target = None;
    let mut told_at = Instant::now();
    loop {
        let reply = source.ask("INFO", &[b"INFO", b"replication"])?;
        let text = String::from_utf8_lossy(reply.as_bytes().unwrap_or_default()).into_owned();
        let (offset, acknowledged) = parse(&text).ok_or(SourceError::Protocol)?;
        let target = *target.get_or_insert(offset);
        let count = acknowledged.iter().filter(|offset| **offset >= target).count();
        if count >= wanted {
            return Ok(());
        }
        if told_at.elapsed() > TOLD_AFTER {
            tell(&format!(
                "waiting for {wanted} replicas to have what is to be stored: {count} have"
            ));
            told_at = Instant::now();
        }
        std::thread::sleep(PERIOD);
    }
}

/// The offset of the server, and those that its replicas have acknowledged.
fn parse(info: &str) -> Option<(u64, Vec<u64>)> {
    let value = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let offset = value("master_repl_offset")?.parse().ok()?;
    let replicas = info.lines().filter(|line| {
        let number = line.strip_prefix("slave").and_then(|rest| rest.split_once(':'));
        number.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
            && line.contains("state=online")
    });
    let acknowledged = replicas.filter_map(|line| {
        let mut fields = line.trim().split([',', ':']);
        fields.find_map(|field| field.strip_prefix("offset="))?.parse().ok()
    });
    Some((offset, acknowledged.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read() {
        let info = "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n\
                    slave0:ip=::1,port=7,state=online,offset=90,lag=0\r\n\
                    slave1:ip=127.0.0.1,port=8,state=wait_bgsave,offset=0,lag=0\r\n\
                    slave_priority:5\r\nmaster_repl_offset:100\r\n";
        assert_eq!(parse(info), Some((100, vec![90])));
        assert_eq!(parse("role:master"), None);
    }
}
