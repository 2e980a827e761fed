//! SYNC, PSYNC and REPLCONF: what a replica, or a backup, says.
//!
//! Not here: what follows from it (`engine::following`), ROLE and INFO (`role`), being a replica
//! (`replicaof`).

use crate::commands::server::replicaof::log_role;
use crate::commands::server::role::no_id;
use crate::engine::context::{Ctx, Outcome};
use crate::sessions::replicas::{LACKS_SCHEMAS, Part, Replica, Stage, TELLS_SCHEMAS};
use crate::sessions::replication::CannotContinue;
use keyward_commands::{CommandId, WireError, args};
use keyward_lua::LogLevel;
use keyward_resp::split_words;

/// An address is shorter. The number is Redis's.
const ADDRESS_BYTES: usize = 256;

pub(crate) fn sync(ctx: &mut Ctx<'_>) -> Outcome {
    // Redis answers nothing at all to one who follows already.
    if ctx.session.is_replica {
        return Ok(());
    }
    let is_psync = ctx.command.id == CommandId::PSync;
    if is_psync && ctx.args.get(3).is_some_and(|word| args::is(word, "FAILOVER")) {
        take_over(ctx)?;
    }
    if ctx.shared.failover.is_some() {
        let text = b"NOMASTERLINK Can't SYNC while failing over";
        return Err(WireError::line(&[text]));
    }
    if ctx.session.wishes.part != Part::Everything && !ctx.session.wishes.takes_mark {
        return Err(WireError::Err("Filtered replica requires EOF capability"));
    }
    // What a server without its primary has nobody is to follow.
    if ctx.shared.primary.as_ref().is_some_and(|primary| !primary.is_up()) {
        let text = b"NOMASTERLINK Can't SYNC while not connected with my master";
        return Err(WireError::line(&[text]));
    }
    log_wish(ctx, "asks for synchronization");
    // What the client changed so far is before what it follows.
    ctx.shared.feed_effects(ctx.keys);
    if is_psync {
        let next = args::integer(ctx.args.at(2)).inspect_err(|_| {
            log_wish(ctx, "asks for synchronization but with a wrong offset");
        })?;
        let can_continue = ctx.shared.replication.check_continue(ctx.args.at(1), next);
        let lacks = ctx.session.wishes.lacks_schemas && ctx.shared.has_told_schemas(ctx.keys);
        match can_continue {
            Ok(_) if lacks => refuse_to_continue(ctx, next, CannotContinue::LacksSchemas),
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

/// The name or address that a client is reached by, and the port that it listens on, if it has
/// told one.
fn name(ctx: &Ctx<'_>) -> Option<(Box<[u8]>, i64)> {
    let wishes = &ctx.session.wishes;
    let address = wishes.address.clone().unwrap_or_else(|| {
        let whole = ctx.host.connection(ctx.session.id).address;
        whole.rsplit_once(':').map_or(whole.as_str(), |(address, _)| address).as_bytes().into()
    });
    (wishes.port > 0).then_some((address, wishes.port))
}

fn log_wish(ctx: &mut Ctx<'_>, wish: &str) {
    let name = match name(ctx) {
        Some((address, port)) => format!("{}:{port}", address.escape_ascii()),
        None => format!("client id #{}", ctx.session.id.0),
    };
    ctx.host.log(LogLevel::Notice, format!("Replica {name} {wish}").as_bytes());
}

/// The server that this one follows wants to follow it.
fn take_over(ctx: &mut Ctx<'_>) -> Outcome {
    let id = ctx.args.at(1);
    let line = format!("Failover request received for replid {}.", id.escape_ascii());
    ctx.host.log(LogLevel::Warning, line.as_bytes());
    if ctx.shared.primary.is_none() {
        return Err(WireError::Err("PSYNC FAILOVER can't be sent to a master."));
    }
    if !id.eq_ignore_ascii_case(ctx.shared.replication.id().to_string().as_bytes()) {
        return Err(WireError::Err("PSYNC FAILOVER replid must match my replid."));
    }
    ctx.shared.lead(ctx.keys, ctx.host);
    log_role(ctx, "MASTER MODE enabled (failover request");
    Ok(())
}

/// A client that followed before goes on where it was.
fn go_on(ctx: &mut Ctx<'_>, has: u64) {
    let id = ctx.shared.replication.id();
    let wishes = &ctx.session.wishes;
    match wishes.takes_new_id {
        true if wishes.hears_schemas && ctx.shared.tells_schemas() => {
            ctx.reply.simple(&format!("CONTINUE {id} {TELLS_SCHEMAS}"));
        }
        true => ctx.reply.simple(&format!("CONTINUE {id}")),
        false => ctx.reply.simple("CONTINUE"),
    }
    let replica = Replica { is_fed: true, next: has, begun: has, ..replica(ctx, Stage::Online) };
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
        CannotContinue::LacksSchemas => format!(
            "Partial resynchronization not accepted: the replica {} does not know the schemas \
             of its rows",
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
        ctx.shared.replication.told_version = ctx.keys.told_version();
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
        name: name(ctx),
        stage,
        takes_mark: wishes.takes_mark,
        hears_schemas: wishes.hears_schemas,
        part: wishes.part,
        is_last: wishes.is_last,
        is_silent: false,
        next: 0,
        begun: 0,
        is_fed: false,
        acknowledged: 0,
        is_heard: false,
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
                wishes.hears_schemas |= args::is(value, TELLS_SCHEMAS);
                wishes.lacks_schemas |= args::is(value, LACKS_SCHEMAS);
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
    // What is said while a snapshot is on its way is not about its rows.
    replica.is_heard |= replica.stage == Stage::Online;
    replica.synced = replica.synced.max(synced.and_then(number).unwrap_or(0));
    replica.acknowledged_ms = now_ms;
    // It knows where its snapshot ended.
    replica.is_fed |= replica.stage == Stage::Online && !replica.is_last;
    if !ctx.shared.replicas.waits.is_empty() {
        ctx.shared.serve_acknowledged(ctx.keys, ctx.host);
    }
}
