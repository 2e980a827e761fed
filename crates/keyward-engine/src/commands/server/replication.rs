//! SYNC, PSYNC and REPLCONF: what a replica, or a backup, says; ROLE and INFO's lines about
//! replication.
//!
//! Not here: what follows from it (`engine::following`).

use crate::commands::connection::client_list::session;
use crate::engine::context::{Ctx, Outcome};
use crate::sessions::replicas::{Part, Replica, Stage};
use crate::sessions::replication::{CannotContinue, ReplicationId};
use keyward_commands::{CommandId, WireError, args};
use keyward_lua::LogLevel;
use keyward_resp::split_words;
use keyward_store::keyspace::client_id::ClientId;
use std::fmt::Write as _;

/// An address is shorter. The number is Redis's.
const ADDRESS_BYTES: usize = 256;

pub(crate) fn sync(ctx: &mut Ctx<'_>) -> Outcome {
    // Redis answers nothing at all to one who follows already.
    if ctx.session.is_replica {
        return Ok(());
    }
    let is_psync = ctx.command.id == CommandId::PSync;
    if is_psync && ctx.args.get(3).is_some_and(|word| args::is(word, "FAILOVER")) {
        return Err(WireError::Err("PSYNC FAILOVER can't be sent to a master."));
    }
    if ctx.session.wishes.part != Part::Everything && !ctx.session.wishes.takes_mark {
        return Err(WireError::Err("Filtered replica requires EOF capability"));
    }
    // What the client changed so far is before what it follows.
    ctx.shared.feed_effects(ctx.keys);
    if is_psync {
        let next = args::integer(ctx.args.at(2))?;
        match ctx.shared.replication.check_continue(ctx.args.at(1), next) {
            Ok(has) if !ctx.session.wishes.is_last => {
                go_on(ctx, has);
                return Ok(());
            }
            Ok(_) | Err(CannotContinue::Asked) => {}
            Err(reason) => refuse_to_continue(ctx, next, reason),
        }
    }
    begin(ctx, !is_psync);
    Ok(())
}

/// A client that followed before goes on where it was.
fn go_on(ctx: &mut Ctx<'_>, has: u64) {
    let id = ctx.shared.replication.id();
    match ctx.session.wishes.takes_new_id {
        true => ctx.reply.simple(&format!("CONTINUE {id}")),
        false => ctx.reply.simple("CONTINUE"),
    }
    let replica = Replica { is_fed: true, next: has, ..replica(ctx, Stage::Online) };
    add(ctx, replica);
    ctx.shared.replicas.counters.partial += 1;
    let bytes = ctx.shared.replication.offset() - has;
    let address = ctx.host.connection(ctx.session.id).address;
    let line = format!(
        "Partial resynchronization request from {address} accepted. Sending {bytes} bytes of backlog starting from offset {}.",
        has + 1
    );
    ctx.host.log(LogLevel::Notice, line.as_bytes());
}

fn refuse_to_continue(ctx: &mut Ctx<'_>, next: i64, reason: CannotContinue) {
    ctx.shared.replicas.counters.refused += 1;
    let asked = ctx.args.at(1).escape_ascii().to_string();
    let replication = &ctx.shared.replication;
    let past = replication.past();
    let line = match reason {
        CannotContinue::Asked => return,
        CannotContinue::OtherHistory => format!(
            "Partial resynchronization not accepted: Replication ID mismatch (Replica asked for '{asked}', my replication IDs are '{}' and '{}')",
            replication.id(),
            past.map_or_else(no_id, |past| past.id.to_string()),
        ),
        CannotContinue::BeyondPast => format!(
            "Partial resynchronization not accepted: Requested offset for second ID was {next}, but I can reply up to {}",
            past.map_or(0, |past| past.until + 1)
        ),
        CannotContinue::NotKept => format!(
            "Unable to partial resync with replica {} for lack of backlog (Replica request was: {next}).",
            ctx.host.connection(ctx.session.id).address
        ),
    };
    ctx.host.log(LogLevel::Notice, line.as_bytes());
}

/// A client waits for a snapshot.
fn begin(ctx: &mut Ctx<'_>, is_silent: bool) {
    ctx.shared.replicas.counters.full += 1;
    let replica = Replica { is_silent, ..replica(ctx, Stage::Waiting) };
    if !replica.is_last && ctx.shared.replication.begin() {
        let id = ctx.shared.replication.id();
        let line = format!(
            "Replication backlog created, my new replication IDs are '{id}' and '{}'",
            no_id()
        );
        ctx.host.log(LogLevel::Notice, line.as_bytes());
        // The snapshot tells the schemas in force.
        ctx.shared.replication.schema_version = ctx.keys.schema_version();
        ctx.shared.listen(ctx.keys);
    }
    add(ctx, replica);
    ctx.host.sync_wanted();
}

fn replica(ctx: &Ctx<'_>, stage: Stage) -> Replica {
    let wishes = &ctx.session.wishes;
    let now_ms = ctx.keys.now_ms();
    Replica {
        client: ctx.session.id,
        stage,
        takes_mark: wishes.takes_mark,
        part: wishes.part,
        is_last: wishes.is_last,
        is_silent: false,
        next: 0,
        is_fed: false,
        acknowledged: 0,
        acknowledged_ms: now_ms,
        synced: 0,
        asked_ms: now_ms,
    }
}

fn add(ctx: &mut Ctx<'_>, replica: Replica) {
    ctx.session.is_replica = true;
    ctx.shared.replicas.add(replica);
    ctx.shared.count_good_replicas(ctx.keys.now_ms());
}

pub(crate) fn replconf(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len().is_multiple_of(2) {
        return Err(WireError::Syntax);
    }
    for index in (1..ctx.args.len()).step_by(2) {
        let (option, value) = (ctx.args.at(index), ctx.args.at(index + 1));
        let wishes = &mut ctx.session.wishes;
        match option.to_ascii_lowercase().as_slice() {
            b"listening-port" => wishes.port = args::integer(value)?,
            b"ip-address" if value.len() < ADDRESS_BYTES => wishes.address = Some(value.into()),
            b"ip-address" => {
                let text = b"ERR REPLCONF ip-address provided by replica instance is too long: ";
                let length = value.len().to_string();
                return Err(WireError::line(&[text, length.as_bytes(), b" bytes"]));
            }
            b"capa" => {
                wishes.takes_mark |= args::is(value, "eof");
                wishes.takes_new_id |= args::is(value, "psync2");
            }
            // What a replica tells of its progress is not answered.
            b"ack" => {
                let synced = ctx.args.get(index + 2).filter(|word| args::is(word, "fack"));
                let synced = synced.and_then(|_| ctx.args.get(index + 3));
                acknowledge(ctx, value, synced);
                return Ok(());
            }
            b"getack" => return Ok(()),
            b"rdb-only" => wishes.is_last = args::integer_within(value, 0, 1)? == 1,
            b"rdb-filter-only" => wishes.part = part(value)?,
            // Which version it is, of Redis or Valkey.
            b"version" => {}
            _ => return Err(WireError::line(&[b"ERR Unrecognized REPLCONF option: ", option])),
        }
    }
    ctx.reply.ok();
    Ok(())
}

/// What is wanted of a snapshot.
fn part(filters: &[u8]) -> Result<Part, WireError> {
    let words = split_words(filters);
    let words = words.ok_or(WireError::Err("Missing rdb-filter-only values"))?;
    let is_known = |word: &&Vec<u8>| args::is(word, "functions");
    match words.iter().find(|word| !is_known(word)) {
        Some(word) => Err(WireError::line(&[b"ERR Unsupported rdb-filter-only option: ", word])),
        None if words.is_empty() => Ok(Part::Nothing),
        None => Ok(Part::Libraries),
    }
}

/// A replica says how far it is.
fn acknowledge(ctx: &mut Ctx<'_>, offset: &[u8], synced: Option<&[u8]>) {
    let now_ms = ctx.keys.now_ms();
    let Some(replica) = ctx.shared.replicas.get_mut(ctx.session.id) else { return };
    let number = |text| args::integer(text).ok().and_then(|number| u64::try_from(number).ok());
    let Some(offset) = number(offset) else { return };
    replica.acknowledged = replica.acknowledged.max(offset);
    replica.synced = replica.synced.max(synced.and_then(number).unwrap_or(0));
    replica.acknowledged_ms = now_ms;
    // It knows where its snapshot ended.
    replica.is_fed |= replica.stage == Stage::Online && !replica.is_last;
    if !ctx.shared.replicas.waits.is_empty() {
        ctx.shared.serve_acknowledged(ctx.keys, ctx.host);
    }
}

/// The id of no history.
fn no_id() -> String {
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
    // Writing to a string cannot fail.
    let _ = write!(text, "role:master\r\nconnected_slaves:{}\r\n", replicas.count());
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
    let replication = &ctx.shared.replication;
    let past = replication.past();
    let second = past.map_or(-1, |past| past.until as i64 + 1);
    let (is_on, first, len) = match replication.backlog() {
        Some(backlog) => (1, backlog.start() + 1, backlog.len()),
        None => (0, 0, 0),
    };
    let _ = write!(
        text,
        "master_failover_state:no-failover\r\nmaster_replid:{}\r\nmaster_replid2:{}\r\n\
         master_repl_offset:{}\r\nsecond_repl_offset:{second}\r\nrepl_backlog_active:{is_on}\r\n\
         repl_backlog_size:{}\r\nrepl_backlog_first_byte_offset:{first}\r\n\
         repl_backlog_histlen:{len}\r\n",
        replication.id(),
        past.map_or(ReplicationId::NONE, |past| past.id),
        replication.offset(),
        settings.backlog_bytes,
    );
}
