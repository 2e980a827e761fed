//! What Prometheus scrapes, made of published figures.
//!
//! Owns which figure goes into which family. How many samples there are is bounded by the
//! schemas, the commands that have run, and the bounds of INFO.

use crate::board::{COMMAND_WORDS, PATTERN_WORDS, Reading};
use crate::exporter::INFO_FAMILIES;
use crate::exposition::Exposition;
use crate::families::{Id, LEVELS_US, PatternFigure, REFUSED, WARNED};
use crate::info::{Info, Parts};
use keyward_commands::COMMANDS;
use keyward_rules::Reason;
use keyward_schema::{DeclaredAlert, Keyspace, Schema};
use std::time::{SystemTime, UNIX_EPOCH};

/// The text, of what was published and of what the process says of itself now.
pub(crate) fn render(reading: &Reading, process: &str, empty: String) -> String {
    let (info, process) = (Info::read(&reading.text), Info::read(process));
    let mut out = Exposition::new(empty);
    plain(&mut out, &info, &process);
    instance(&mut out, &info);
    commands(&mut out, &info);
    databases(&mut out, &info);
    replication(&mut out, &info);
    slow(&mut out, &info);
    own(&mut out, &info, reading);
    latencies(&mut out, reading);
    let tables = tables(reading);
    keyspaces(&mut out, reading, &tables);
    patterns(&mut out, &tables);
    out.into_text()
}

/// What INFO says in one number.
fn plain(out: &mut Exposition, info: &Info<'_>, process: &Info<'_>) {
    for family in INFO_FAMILIES {
        let lines = info.lines.iter().chain(&process.lines);
        let line = lines.into_iter().find(|line| line.field == family.field);
        if let Some(value) = line.and_then(|line| family.number(line.value)) {
            let help = format!("`{}` of INFO.", family.field);
            out.plain(family.name, family.kind, &help, value);
        }
    }
}

fn one(out: &mut Exposition, id: Id, value: Option<f64>) {
    if let Some(value) = value {
        out.family(id.family()).add(&[], value);
    }
}

fn instance(out: &mut Exposition, info: &Info<'_>) {
    one(out, Id::Up, Some(1.0));
    let labels: Vec<&str> =
        Id::InstanceInfo.family().labels.iter().map(|label| info.text(label)).collect();
    out.family(Id::InstanceInfo.family()).add(&labels, 1.0);
    let version = info.text("keyward_version");
    out.family(Id::BuildInfo.family()).add(&[version], 1.0);
    let uptime = info.number("uptime_in_seconds");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as f64;
    one(out, Id::StartTime, uptime.map(|uptime| now - uptime));
    one(out, Id::ConfigMaxClients, info.number("maxclients"));
    one(out, Id::ConfigMaxMemory, info.number("maxmemory"));
}

/// A family with a sample for each line of a section.
fn each<'t>(
    out: &mut Exposition,
    id: Id,
    lines: &[(&'t str, Parts<'t>)],
    value: impl Fn(Parts<'t>) -> Option<f64>,
) {
    if lines.is_empty() {
        return;
    }
    let mut samples = out.family(id.family());
    for (name, parts) in lines {
        if let Some(value) = value(*parts) {
            samples.add(&[name], value);
        }
    }
}

fn commands(out: &mut Exposition, info: &Info<'_>) {
    let calls: Vec<_> = info.beginning("Commandstats", "cmdstat_").collect();
    each(out, Id::Commands, &calls, |parts| parts.number("calls"));
    each(out, Id::CommandsDuration, &calls, |parts| parts.number("usec").map(|us| us / 1e6));
    each(out, Id::CommandsRejected, &calls, |parts| parts.number("rejected_calls"));
    each(out, Id::CommandsFailed, &calls, |parts| parts.number("failed_calls"));
    let errors: Vec<_> = info.beginning("Errorstats", "errorstat_").collect();
    each(out, Id::Errors, &errors, |parts| parts.number("count"));
    let percentiles: Vec<_> = info.beginning("Latencystats", "latency_percentiles_usec_").collect();
    if percentiles.is_empty() {
        return;
    }
    let mut samples = out.family(Id::LatencyPercentiles.family());
    for (command, parts) in percentiles {
        let of_calls = calls.iter().find(|(name, _)| *name == command).map(|(_, parts)| *parts);
        let Some(of_calls) = of_calls else { continue };
        let quantiles = parts.each().filter_map(|(name, value)| {
            Some((name.strip_prefix('p')?, value.parse::<f64>().ok()?))
        });
        let count = of_calls.number("calls").unwrap_or(0.0);
        samples.summary(&[command], quantiles, (count, of_calls.number("usec").unwrap_or(0.0)));
    }
}

fn databases(out: &mut Exposition, info: &Info<'_>) {
    let databases: Vec<_> = info
        .lines
        .iter()
        .filter(|line| line.section == "Keyspace")
        .map(|line| (line.field, Parts(line.value)))
        .collect();
    each(out, Id::DbKeys, &databases, |parts| parts.number("keys"));
    each(out, Id::DbKeysExpiring, &databases, |parts| parts.number("expires"));
    each(out, Id::DbAvgTtl, &databases, |parts| parts.number("avg_ttl").map(|ms| ms / 1000.0));
}

fn replication(out: &mut Exposition, info: &Info<'_>) {
    let is_place = |place: &str| !place.is_empty() && place.bytes().all(|it| it.is_ascii_digit());
    let replicas: Vec<Parts<'_>> = info
        .beginning("Replication", "slave")
        .filter(|(place, _)| is_place(place))
        .map(|(_, parts)| parts)
        .collect();
    let labels = |parts: Parts<'_>| ["ip", "port", "state"].map(|name| parts.text(name).to_owned());
    for (id, name) in [(Id::SlaveOffset, "offset"), (Id::SlaveLag, "lag")] {
        if replicas.is_empty() {
            continue;
        }
        let mut samples = out.family(id.family());
        for replica in &replicas {
            let [ip, port, state] = labels(*replica);
            samples.add(&[&ip, &port, &state], replica.number(name).unwrap_or(0.0));
        }
    }
    if info.text("role") == "slave" {
        let primary @ [host, port] = [info.text("master_host"), info.text("master_port")];
        let read_only = info.text("slave_read_only");
        out.family(Id::SlaveInfo.family()).add(&[host, port, read_only], 1.0);
        let is_up = f64::from(u8::from(info.text("master_link_status") == "up"));
        out.family(Id::MasterLinkUp.family()).add(&primary, is_up);
        for (id, field) in [
            (Id::MasterLastIo, "master_last_io_seconds_ago"),
            (Id::MasterSync, "master_sync_in_progress"),
            (Id::SlaveReplOffset, "slave_repl_offset"),
        ] {
            out.family(id.family()).add(&primary, info.number(field).unwrap_or(0.0));
        }
        one(out, Id::SlavePriority, info.number("slave_priority"));
    }
    one(out, Id::ReplicationLag, replication_lag(info));
}

/// The greatest lag of all replicas; of a replica, how far it is behind its primary.
pub(crate) fn replication_lag(info: &Info<'_>) -> Option<f64> {
    if info.text("role") == "slave" {
        return Some(info.number("replica_lag_s").unwrap_or(0.0));
    }
    let replicas = info.beginning("Replication", "slave");
    replicas.filter_map(|(_, parts)| parts.number("lag")).reduce(f64::max)
}

fn slow(out: &mut Exposition, info: &Info<'_>) {
    one(out, Id::SlowlogLength, info.number("slowlog_length"));
    one(out, Id::SlowlogLast, info.number("slowlog_last_id"));
    one(out, Id::LastSlow, info.number("slowlog_last_usec").map(|us| us / 1e6));
    one(out, Id::SlowCommands, info.number("slow_commands"));
    let events: Vec<_> = info.beginning("Keyward", "latency_event_").collect();
    each(out, Id::SpikeLast, &events, |parts| parts.number("time"));
    each(out, Id::SpikeDuration, &events, |parts| parts.number("ms").map(|ms| ms / 1000.0));
}

fn own(out: &mut Exposition, info: &Info<'_>, reading: &Reading) {
    one(out, Id::FiguresAge, Some(reading.age.as_secs_f64()));
    one(out, Id::SchemaChanging, info.number("schema_changing"));
    one(out, Id::RebuildPending, info.number("rebuild_left"));
    one(out, Id::RebuildCommands, info.number("rebuild_commands"));
    one(out, Id::LargeEndsPending, info.number("large_ends_pending"));
    one(out, Id::LargeEnds, info.number("large_ends"));
    one(out, Id::FollowUpsFailed, info.number("follow_ups_failed"));
}

fn latencies(out: &mut Exposition, reading: &Reading) {
    let first = reading.words.len().saturating_sub(COMMANDS.len() * COMMAND_WORDS);
    let words = reading.words.get(first..).unwrap_or_default();
    let used: Vec<(&str, (u64, u64), &[u64])> = COMMANDS
        .iter()
        .zip(words.chunks_exact(COMMAND_WORDS))
        .filter_map(|(command, words)| match words {
            [calls, ns, levels @ ..] if *calls > 0 => Some((command.name, (*calls, *ns), levels)),
            _ => None,
        })
        .collect();
    if used.is_empty() {
        return;
    }
    let families = [(Id::CommandsLatencies, 1.0, 1000.0), (Id::CommandDuration, 1e6, 1e9)];
    for (id, of_us, of_ns) in families {
        let mut samples = out.family(id.family());
        for (command, (calls, ns), levels) in &used {
            let bounds = LEVELS_US.iter().map(|us| *us as f64 / of_us);
            let steps = bounds.zip(levels.iter().copied());
            samples.histogram(&[command], steps, (*calls, *ns as f64 / of_ns));
        }
    }
}

/// A table with its labels and its words.
pub(crate) struct TableRow<'r> {
    /// The number of its database.
    pub(crate) number: usize,
    pub(crate) db: String,
    pub(crate) keyspace: String,
    /// Which keyspace of the database; none for keys without a pattern.
    pub(crate) place: Option<usize>,
    pub(crate) pattern: &'r str,
    pub(crate) group: &'r str,
    /// Its type.
    pub(crate) data: &'r str,
    pub(crate) expected: Option<u64>,
    pub(crate) words: &'r [u64],
}

impl TableRow<'_> {
    fn labels(&self) -> [&str; 3] {
        [&self.db, &self.keyspace, self.pattern]
    }

    /// Whether an alert is about it.
    pub(crate) fn is_of(&self, db: usize, declared: &DeclaredAlert<'_>) -> bool {
        self.number == db
            && *self.keyspace == *declared.keyspace.name
            && declared.pattern.is_none_or(|pattern| pattern == self.pattern)
    }

    pub(crate) fn figure(&self, figure: PatternFigure) -> u64 {
        self.words.get(figure as usize).copied().unwrap_or(0)
    }

    /// What was refused and what was warned of, by reason.
    pub(crate) fn by_reason(&self) -> (&[u64], &[u64]) {
        let words = self.words.get(PatternFigure::COUNT..).unwrap_or_default();
        words.split_at_checked(Reason::COUNT).unwrap_or_default()
    }
}

/// All names of a database's keyspaces.
fn names(schema: &Schema) -> String {
    schema.keyspaces().map(|keyspace| &*keyspace.name).collect::<Vec<_>>().join("+")
}

/// The tables of all databases under a schema.
pub(crate) fn tables(reading: &Reading) -> Vec<TableRow<'_>> {
    let mut rows = reading.words.chunks_exact(PATTERN_WORDS);
    let mut found = Vec::new();
    for (db, book) in &reading.layout.books {
        let schema = book.schema();
        let declared = schema.ids().map(Some);
        for id in std::iter::once(None).chain(declared) {
            let Some(words) = rows.next() else { return found };
            let key = id.map(|id| schema.key(id));
            found.push(TableRow {
                number: *db,
                db: format!("db{db}"),
                keyspace: match id {
                    Some(id) => schema.keyspace_of(id).name.to_string(),
                    None => names(schema),
                },
                place: key.map(|key| key.keyspace),
                pattern: key.map_or("", |key| key.pattern.text()),
                group: key.and_then(|key| key.group.as_deref()).unwrap_or_default(),
                data: key.map_or("", |key| key.data.name()),
                expected: key.and_then(|key| key.expect),
                words,
            });
        }
    }
    found
}

fn keyspaces(out: &mut Exposition, reading: &Reading, tables: &[TableRow<'_>]) {
    let all: Vec<(String, usize, &Keyspace)> = reading
        .layout
        .books
        .iter()
        .flat_map(|(db, book)| {
            let keyspaces = book.schema().keyspaces().enumerate();
            keyspaces.map(move |(place, keyspace)| (format!("db{db}"), place, keyspace))
        })
        .collect();
    if all.is_empty() {
        return;
    }
    let mut samples = out.family(Id::SchemaInfo.family());
    for (db, _, keyspace) in &all {
        samples.add(&[db, &keyspace.name, keyspace.mode.name()], 1.0);
    }
    for (id, figure) in
        [(Id::KeyspaceBytes, PatternFigure::Bytes), (Id::KeyspaceKeys, PatternFigure::Keys)]
    {
        let mut samples = out.family(id.family());
        for (db, place, keyspace) in &all {
            let own = tables.iter().filter(|row| row.db == *db && row.place == Some(*place));
            let sum: u64 = own.map(|row| row.figure(figure)).sum();
            samples.add(&[db, &keyspace.name], sum as f64);
        }
    }
    let mut samples = out.family(Id::KeyspaceBytesMax.family());
    for (db, _, keyspace) in &all {
        if let Some(bytes) = keyspace.max_memory {
            samples.add(&[db, &keyspace.name], bytes as f64);
        }
    }
}

fn patterns(out: &mut Exposition, tables: &[TableRow<'_>]) {
    if tables.is_empty() {
        return;
    }
    for figure in PatternFigure::ALL {
        let mut samples = out.family(&figure.family());
        for row in tables {
            let word = match figure {
                PatternFigure::Expected => row.expected,
                // Of none there is no average.
                PatternFigure::RemainingMs if row.figure(PatternFigure::Expiring) == 0 => None,
                figure => Some(row.figure(*figure)),
            };
            if let Some(word) = word {
                samples.add(&row.labels(), word as f64 / figure.unit());
            }
        }
    }
    for (family, is_refused) in [(REFUSED, true), (WARNED, false)] {
        let mut samples = out.family(&family);
        for row in tables {
            let (refused, warned) = row.by_reason();
            let counts = Reason::ALL.iter().zip(if is_refused { refused } else { warned });
            // Zeros too: a rate needs something to begin with.
            for (reason, count) in counts {
                let is_possible =
                    row.place.is_some() != matches!(reason, Reason::Unknown | Reason::Call);
                if *count > 0 || is_possible {
                    let [db, keyspace, pattern] = row.labels();
                    samples.add(&[db, keyspace, pattern, reason.name()], *count as f64);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Board;

    fn rendered(text: &str) -> String {
        let (board, mut publisher) = Board::new();
        publisher.publish(|writer| writer.text.push_str(text));
        let reading = board.last().expect("it was published");
        render(&reading, "# CPU\r\nused_cpu_sys:1.250000\r\n", String::new())
    }

    #[test]
    fn replicas_and_their_lag_are_told_as_by_the_exporter() {
        let text = rendered(
            "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n\
             slave0:ip=10.0.0.2,port=6379,state=online,offset=17,lag=0\r\n\
             slave1:ip=10.0.0.3,port=6379,state=online,offset=11,lag=4\r\n",
        );
        for line in [
            "redis_connected_slaves 2",
            "redis_connected_slave_offset_bytes{slave_ip=\"10.0.0.3\",slave_port=\"6379\",slave_state=\"online\"} 11",
            "redis_connected_slave_lag_seconds{slave_ip=\"10.0.0.2\",slave_port=\"6379\",slave_state=\"online\"} 0",
            "redis_replication_lag_seconds 4",
            "redis_cpu_sys_seconds_total 1.25",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("redis_master_link_up"));
    }

    #[test]
    fn a_replica_tells_of_its_link() {
        let text = rendered(
            "# Replication\r\nrole:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n\
             master_link_status:down\r\nmaster_last_io_seconds_ago:-1\r\n\
             master_sync_in_progress:0\r\nslave_repl_offset:5\r\nslave_priority:100\r\nslave_read_only:1\r\n\
             # Keyward\r\nreplica_lag_s:7\r\n",
        );
        for line in [
            "redis_master_link_up{master_host=\"10.0.0.1\",master_port=\"6379\"} 0",
            "redis_master_last_io_seconds_ago{master_host=\"10.0.0.1\",master_port=\"6379\"} -1",
            "redis_slave_info{master_host=\"10.0.0.1\",master_port=\"6379\",read_only=\"1\"} 1",
            "redis_slave_priority 100",
            "redis_replication_lag_seconds 7",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn commands_have_percentiles_and_errors_their_codes() {
        let text = rendered(
            "# Commandstats\r\ncmdstat_config|get:calls=4,usec=2000000,usec_per_call=1.00,\
             rejected_calls=1,failed_calls=2\r\n# Errorstats\r\nerrorstat_ERR:count=3\r\n\
             # Latencystats\r\nlatency_percentiles_usec_config|get:p50=0.001,p99.9=4.015\r\n\
             # Keyspace\r\ndb3:keys=5,expires=2,avg_ttl=1500\r\n",
        );
        for line in [
            "redis_commands_total{cmd=\"config|get\"} 4",
            "redis_commands_duration_seconds_total{cmd=\"config|get\"} 2",
            "redis_commands_rejected_calls_total{cmd=\"config|get\"} 1",
            "redis_commands_failed_calls_total{cmd=\"config|get\"} 2",
            "redis_latency_percentiles_usec{cmd=\"config|get\",quantile=\"99.9\"} 4.015",
            "redis_latency_percentiles_usec_count{cmd=\"config|get\"} 4",
            "redis_errors_total{err=\"ERR\"} 3",
            "redis_db_keys{db=\"db3\"} 5",
            "redis_db_avg_ttl_seconds{db=\"db3\"} 1.5",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }
}
