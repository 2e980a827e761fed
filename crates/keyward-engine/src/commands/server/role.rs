//! ROLE, and INFO's lines about replication.

use crate::commands::connection::client_list::session;
use crate::engine::context::{Ctx, Outcome};
use crate::sessions::failover::FailoverStage;
use crate::sessions::primary::{LinkStage, Primary};
use crate::sessions::replicas::Stage;
use keyward_store::keyspace::client_id::ClientId;
use std::fmt::Write as _;

/// The id of no history.
pub(super) fn no_id() -> String {
    "0".repeat(40)
}

/// The address of a client that follows, and the port that it listens on.
fn address(ctx: &Ctx<'_>, client: ClientId) -> (String, i64) {
    let wishes = session(ctx, client).map(|session| &session.wishes);
    let told = wishes.and_then(|wishes| wishes.address.as_deref());
    let address = told.map(|told| String::from_utf8_lossy(told).into_owned());
    let address = address.unwrap_or_else(|| {
        let whole = ctx.host.connection(client).address;
        whole.rsplit_once(':').map_or(whole.clone(), |(address, _)| address.to_owned())
    });
    (address, wishes.map_or(0, |wishes| wishes.port))
}

pub(crate) fn role(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.feed_effects(ctx.keys);
    if let Some(primary) = &ctx.shared.primary {
        let offset = if primary.is_up() { ctx.shared.replication.offset() as i64 } else { -1 };
        ctx.reply.array(5);
        ctx.reply.bulk(b"slave");
        ctx.reply.bulk(&primary.host);
        ctx.reply.integer(primary.port.into());
        ctx.reply.bulk(primary.stage.name().as_bytes());
        ctx.reply.integer(offset);
        return Ok(());
    }
    ctx.reply.array(3);
    ctx.reply.bulk(b"master");
    ctx.reply.integer(ctx.shared.replication.offset() as i64);
    let online = ctx.shared.replicas.real().filter(|replica| replica.stage == Stage::Online);
    let online: Vec<(ClientId, u64)> =
        online.map(|replica| (replica.client, replica.acknowledged)).collect();
    ctx.reply.array(online.len());
    for (client, acknowledged) in online {
        let (address, port) = address(ctx, client);
        ctx.reply.array(3);
        ctx.reply.bulk(address.as_bytes());
        ctx.reply.bulk_integer(port);
        ctx.reply.bulk_integer(acknowledged as i64);
    }
    Ok(())
}

/// INFO's lines about replication.
pub(crate) fn info(ctx: &mut Ctx<'_>, text: &mut String) {
    ctx.shared.feed_effects(ctx.keys);
    let now_ms = ctx.keys.now_ms();
    let replicas = &ctx.shared.replicas;
    let settings = &ctx.shared.tunables.replicating;
    match &ctx.shared.primary {
        None => text.push_str("role:master\r\n"),
        Some(primary) => primary_lines(ctx, primary, text),
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "connected_slaves:{}\r\n", replicas.count());
    if settings.replicas_min > 0 && settings.lag_s_max > 0 {
        let good = replicas.good(now_ms, settings.lag_s_max);
        let _ = write!(text, "min_slaves_good_slaves:{good}\r\n");
    }
    for (index, replica) in replicas.real().enumerate() {
        let (address, port) = address(ctx, replica.client);
        let lag_s = match replica.stage {
            Stage::Online => now_ms / 1000 - replica.acknowledged_ms / 1000,
            Stage::Waiting | Stage::Receiving | Stage::ReceivingFile => 0,
        };
        let _ = write!(
            text,
            "slave{index}:ip={address},port={port},state={},offset={},lag={lag_s}\r\n",
            replica.stage.name(),
            replica.acknowledged,
        );
    }
    match ctx.shared.observing_since_promotion(ctx.keys) {
        0 => {}
        count => {
            let _ = write!(text, "schemas_observing_since_promotion:{count}\r\n");
        }
    }
    let replication = &ctx.shared.replication;
    let past = replication.past();
    let second = past.map_or(-1, |past| past.until as i64 + 1);
    let (is_on, first, len) = match replication.backlog() {
        Some(backlog) => (1, backlog.start() + 1, backlog.len()),
        None => (0, 0, 0),
    };
    let _ = write!(
        text,
        "master_failover_state:{}\r\nmaster_replid:{}\r\nmaster_replid2:{}\r\n\
         master_repl_offset:{}\r\nsecond_repl_offset:{second}\r\nrepl_backlog_active:{is_on}\r\n\
         repl_backlog_size:{}\r\nrepl_backlog_first_byte_offset:{first}\r\n\
         repl_backlog_histlen:{len}\r\n",
        FailoverStage::name(ctx.shared.failover_stage()),
        replication.id(),
        past.map_or_else(no_id, |past| past.id.to_string()),
        replication.offset(),
        settings.backlog_bytes,
    );
}

/// INFO's lines about the server that this one follows.
fn primary_lines(ctx: &Ctx<'_>, primary: &Primary, text: &mut String) {
    let now_s = ctx.keys.now_ms() / 1000;
    let settings = &ctx.shared.tunables.replicating;
    let seconds_since = |ms: i64| now_s - ms / 1000;
    let (status, heard_s) = match primary.is_up() {
        true => ("up", seconds_since(primary.heard_ms)),
        false => ("down", -1),
    };
    let offset = match ctx.shared.replication.is_on() {
        true => ctx.shared.replication.offset(),
        false => 1,
    };
    let is_copying = primary.stage == LinkStage::Transfer;
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "role:slave\r\nmaster_host:{}\r\nmaster_port:{}\r\nmaster_link_status:{status}\r\n\
         master_last_io_seconds_ago:{heard_s}\r\nmaster_sync_in_progress:{}\r\n\
         slave_read_repl_offset:{}\r\nslave_repl_offset:{offset}\r\n",
        String::from_utf8_lossy(&primary.host),
        primary.port,
        u8::from(is_copying),
        offset + (primary.unit.len() + primary.waiting.len()) as u64,
    );
    if is_copying {
        let (total, read) = (primary.transfer.total_bytes, primary.transfer.read_bytes);
        let shown = total.map_or(-1, |total| total as i64);
        let left = total.map_or(-1, |total| total.saturating_sub(read) as i64);
        let percent = total.map_or(0.0, |total| read as f64 * 100.0 / total.max(1) as f64);
        let _ = write!(
            text,
            "master_sync_total_bytes:{shown}\r\nmaster_sync_read_bytes:{read}\r\n\
             master_sync_left_bytes:{left}\r\nmaster_sync_perc:{percent:.2}\r\n\
             master_sync_last_io_seconds_ago:{}\r\n",
            seconds_since(primary.heard_ms),
        );
    }
    if !primary.is_up() {
        let down_s = match primary.down_since_ms {
            0 => -1,
            since_ms => seconds_since(since_ms),
        };
        let _ = write!(text, "master_link_down_since_seconds:{down_s}\r\n");
    }
    for (name, count) in
        [("master_commands_skipped", primary.skipped), ("master_commands_failed", primary.failures)]
    {
        if count > 0 {
            let _ = write!(text, "{name}:{count}\r\n");
        }
    }
    let _ = write!(
        text,
        "slave_priority:{}\r\nslave_read_only:{}\r\nreplica_announced:{}\r\n",
        settings.priority,
        u8::from(settings.is_read_only),
        u8::from(settings.is_announced),
    );
}
